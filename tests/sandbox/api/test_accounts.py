"""Entities, accounts, account numbers and statements."""

import httpx

from sandbox.state.happening import Happening
from tests.sandbox.conftest import START, Open, entity, event_types, make, open_account, read, receive, refusal, trade

HOUR = 3600


def statement(id_: str, start: str, end: str) -> Happening:
    found = {
        "id": id_,
        "object": "account_statement",
        "mode": "test",
        "start_date": start,
        "end_date": end,
        "_account": "acc_1",
        "created_at": f"{end}T09:00:00Z",
    }
    return Happening(START, "account_statements", found)


def test_entities_are_made_once_per_holder(bank: httpx.Client) -> None:
    """The second with the same tax id in another writing is a conflict."""
    made = make(bank, "/v2/entities", holder_id="77.111.222-3", holder_name="Otra", country_code="cl")

    assert (made["status"], made["is_root"]) == ("draft", False)
    again = bank.post("/v2/entities", json={"holder_id": "77111222-3", "holder_name": "Otra"})
    assert refusal(again) == (409, "entity_holder_id_already_exists_for_organization", "holder_id")


def test_entities_are_listed_on_both_paths_with_filters(bank: httpx.Client) -> None:
    """Tax ids in any writing, one or more states, the root flag."""
    make(bank, "/v2/entities", holder_id="77.111.222-3", holder_name="Otra", country_code="cl")

    def found(query: str) -> set[str]:
        rows = read(bank, f"/v1/entities?{query}")
        assert rows == read(bank, f"/v2/entities?{query}")
        return {row["holder_id"] for row in rows}

    assert found("holder_id=076.543.210-3") == {"765432103"}
    assert found("holder_id=%20atp190301kx8") == {"ATP190301KX8"}
    assert found("status=draft") == {"771112223"}
    assert found("status=draft&status=operational") == {"771112223", "765432103", "ATP190301KX8"}
    assert found("is_root=true") == {"765432103", "ATP190301KX8"}
    assert refusal(bank.get("/v1/entities?status=lost")) == (400, "invalid_enum", "status")
    assert refusal(bank.get("/v1/entities?is_root=yes")) == (400, "invalid_boolean", "is_root")


def test_an_account_comes_with_its_root_number(bank: httpx.Client) -> None:
    """A Mexican number is a CLABE whose last figure checks."""
    account = open_account(bank, "mx")
    number = read(bank, f"/v2/account_numbers/{account['root_account_number_id']}")

    assert (account["currency"], account["available_balance"], account["entity"]["id"]) == ("MXN", 0, "ent_mx")
    assert (number["is_root"], number["account_id"], len(number["number"])) == (True, account["id"], 18)
    weights = (3, 7, 1) * 6
    weighed = [int(figure) * weight % 10 for figure, weight in zip(number["number"][:17], weights, strict=False)]
    assert int(number["number"][-1]) == -sum(weighed) % 10


def test_accounts_are_listed_on_both_paths(bank: httpx.Client) -> None:
    """Of every entity, or of one."""
    first, second = open_account(bank, "cl")["id"], open_account(bank, "mx")["id"]

    assert [row["id"] for row in read(bank, "/v1/transfers/accounts")] == [second, first]
    assert [row["id"] for row in read(bank, "/v2/accounts?entity_id=ent_cl")] == [first]


def test_an_account_changes_its_description_only(bank: httpx.Client) -> None:
    """Anything else is refused."""
    path = f"/v2/accounts/{open_account(bank, 'cl')['id']}"

    assert bank.patch(path, json={"description": "New"}).json()["description"] == "New"
    assert refusal(bank.patch(path, json={"currency": "MXN"}))[:2] == (400, "invalid_params")
    assert read(bank, path)["currency"] == "CLP"


def test_an_entity_under_review_has_no_account(open_sandbox: Open) -> None:
    """Only operational entities may open one."""
    client = open_sandbox(trade(entity("ent_1", "cl", "1-9", status="under_review")))

    answer = client.post("/v2/accounts", json={"entity_id": "ent_1"})

    assert refusal(answer) == (403, "entity_not_operational", "entity_id")


def test_numbers_change_and_are_deleted_in_mexico(bank: httpx.Client) -> None:
    """Never the root, once is enough, and not in Chile."""
    account = open_account(bank, "mx")
    made = make(bank, "/v2/account_numbers", account_id=account["id"], description="Ana", metadata={"c": "1"})
    path = f"/v2/account_numbers/{made['id']}"
    assert bank.patch(path, json={"status": "disabled", "options": {"max_amount": 5}}).json()["status"] == "disabled"
    assert refusal(bank.patch(path, json={"options": {"min_amount": 9, "max_amount": 5}}))[1] == "invalid_amount"

    first, second = bank.delete(path).json(), bank.delete(path).json()

    assert first == second
    assert first["deleted_at"] == "2026-10-01T03:00:00.000Z"
    assert event_types(bank, made["id"]) == ["account_number.deleted"]
    root = f"/v2/account_numbers/{account['root_account_number_id']}"
    assert refusal(bank.delete(root)) == (409, "operation_not_allowed", "id")
    chilean = make(bank, "/v2/account_numbers", account_id=open_account(bank, "cl")["id"])
    assert refusal(bank.delete(f"/v2/account_numbers/{chilean['id']}")) == (422, "not_supported_country", "id")
    assert refusal(bank.patch(path, json={}))[0] == 409


def test_idle_numbers_are_found_in_mexico(bank: httpx.Client) -> None:
    """Those without an inbound transfer since the date, and those that never had one."""
    account = open_account(bank, "mx")
    idle = make(bank, "/v2/account_numbers", account_id=account["id"])["id"]
    open_account(bank, "cl")
    receive(bank, account, 100)

    def found(query: str) -> list[str]:
        return [row["id"] for row in read(bank, f"/v2/account_numbers?{query}")]

    assert found("no_transfers_since=2026-10-01") == [idle]
    assert set(found("no_transfers_since=2026-10-02")) == {idle, account["root_account_number_id"]}
    assert set(found(f"account_id={account['id']}")) == {idle, account["root_account_number_id"]}
    for text in ("soon", "2026-10-01T00:00:00Z", "2026-02-30"):
        answer = bank.get("/v2/account_numbers", params={"no_transfers_since": text})
        assert refusal(answer) == (400, "invalid_date", "no_transfers_since")


def test_statements_are_the_accounts_months(open_sandbox: Open) -> None:
    """Since and until choose months; the sandbox's own fields do not show."""
    account = {"id": "acc_1", "object": "account", "mode": "test", "currency": "CLP", "entity": {"id": "ent_1"}}
    client = open_sandbox(
        trade(
            Happening(START, "accounts", account),
            statement("acst_8", "2026-08-01", "2026-08-31"),
            statement("acst_9", "2026-09-01", "2026-09-30"),
        )
    )
    path = "/v2/accounts/acc_1/account_statements"

    assert [row["id"] for row in read(client, path)] == ["acst_9", "acst_8"]
    assert [row["id"] for row in read(client, f"{path}?since=2026-09-01")] == ["acst_9"]
    assert [row["id"] for row in read(client, f"{path}?until=2026-08-31")] == ["acst_8"]
    assert "_account" not in read(client, path)[0]
