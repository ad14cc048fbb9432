"""Links, their accounts and movements, refreshes, fiscal documents, institutions."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from sandbox.state.happening import Happening
from tests.sandbox.conftest import START, Object, Open, advance, event_types, make, read, refusal, trade

TOKEN = "link_one_token"
QUERY = f"link_token={TOKEN}"


def put(collection: str, id_: str, kind: str, **fields: Any) -> Happening:
    found = {"id": id_, "object": kind, "mode": "test", **fields}
    return Happening(START, collection, found)


def link(id_: str, token: str) -> Happening:
    return put("links", id_, "link", link_token=token, accounts=None, active=True, created_at="2026-09-01T00:00:00Z")


def movement(id_: str, day: str, status: str = "confirmed", account: str = "acc_1") -> Happening:
    return put(
        "link_movements",
        id_,
        "movement",
        amount=-5,
        status=status,
        post_date=f"{day}T00:00:00.000Z",
        _account=account,
        _link="link_1",
    )


def invoice(
    id_: str, day: str, issue_type: str = "issued", status: str = "registered", owner: str = "link_1"
) -> Happening:
    return put(
        "tax_invoices",
        id_,
        "invoice",
        date=f"{day}T00:00:00.000Z",
        issue_type=issue_type,
        institution_invoice={"invoice_status": status},
        _link=owner,
    )


@pytest.fixture
def linked(open_sandbox: Open) -> httpx.Client:
    """Two links; the first with an account, movements and fiscal documents."""
    return open_sandbox(
        trade(
            link("link_1", TOKEN),
            link("link_2", "link_two_token"),
            put("link_accounts", "acc_1", "account", _link="link_1"),
            put("link_accounts", "acc_2", "account", _link="link_2"),
            movement("mov_1", "2026-09-01"),
            movement("mov_2", "2026-09-03"),
            movement("mov_3", "2026-09-02", "pending"),
            movement("mov_4", "2026-09-04", "reversed"),
            invoice("inv_1", "2026-09-01"),
            invoice("inv_2", "2026-09-10", "received"),
            invoice("inv_3", "2026-09-05", status="pending"),
            invoice("inv_9", "2026-09-05", owner="link_2"),
            put("tax_returns", "taxret_1", "tax_return", fiscal_year="2024", _link="link_1"),
            put("tax_returns", "taxret_2", "tax_return", fiscal_year="2025", _link="link_1"),
            put("tax_statements", "taxstmt_1", "tax_statement", fiscal_year=2026, period="09", _link="link_1"),
            put("tax_statements", "taxstmt_2", "tax_statement", fiscal_year=2026, period="10", _link="link_1"),
            put("tax_statements", "taxstmt_3", "tax_statement", fiscal_year=2025, period="12", _link="link_1"),
            put("institutions", "cl_banco_estado", "institution", country="cl"),
            put("institutions", "mx_stp", "institution", country="mx"),
        )
    )


def ids(rows: list[Object]) -> list[str]:
    return [row["id"] for row in rows]


def test_listed_links_hide_their_token_and_accounts(linked: httpx.Client) -> None:
    """The token is never shown; the accounts only for one link, found by its token."""
    listed = read(linked, "/v1/links")
    one = read(linked, f"/v1/links/{TOKEN}")

    assert ids(listed) == ["link_2", "link_1"]
    assert {(row["link_token"], row["accounts"]) for row in listed} == {(None, None)}
    assert one["link_token"] is None
    assert ids(one["accounts"]) == ["acc_1"]
    assert refusal(linked.get("/v1/links/none")) == (404, "missing_resource", "link_token")
    assert TOKEN in read(linked, "/_sandbox/credentials")["link_tokens"]


def test_only_active_can_be_changed(linked: httpx.Client) -> None:
    """A link that is not active is not refreshed; a deleted one is gone."""
    path = f"/v1/links/{TOKEN}"
    assert refusal(linked.patch(path, json={"username": "x"}))[:2] == (400, "invalid_params")
    assert refusal(linked.patch(path, json={})) == (400, "missing_parameter", "active")

    assert linked.patch(path, json={"active": False}).json()["active"] is False

    assert refusal(linked.post(f"/v1/refresh_intents?{QUERY}"))[1] == "on_demand_policy_required"
    assert linked.delete(path).json()["object"] == "link"
    assert linked.get(path).status_code == 404


def test_a_link_that_the_trade_tells_again_can_be_deleted_again(open_sandbox: Open) -> None:
    """The second deletion works as the first."""
    again = Happening(START + timedelta(minutes=1), "links", link("link_1", TOKEN).object)
    client = open_sandbox(trade(link("link_1", TOKEN), again))

    first = client.delete(f"/v1/links/{TOKEN}")
    advance(client, 60)
    second = client.delete(f"/v1/links/{TOKEN}")

    assert (first.status_code, second.status_code) == (200, 200)
    assert client.get(f"/v1/links/{TOKEN}").status_code == 404


def test_link_routes_need_the_links_own_token(linked: httpx.Client) -> None:
    """Missing, unknown and foreign tokens see nothing."""
    for path in ("/v1/accounts", "/v1/invoices", "/v1/tax_returns", "/v1/tax_statements", "/v1/refresh_intents"):
        assert refusal(linked.get(path)) == (400, "missing_parameter", "link_token")
        assert refusal(linked.get(f"{path}?link_token=x")) == (400, "invalid_link_token", "link_token")
    other = "link_token=link_two_token"
    for path in (
        "/v1/accounts/acc_1",
        "/v1/accounts/acc_1/movements",
        "/v1/invoices/inv_1",
        "/v1/tax_returns/taxret_1",
        "/v1/tax_statements/taxstmt_1",
    ):
        assert linked.get(f"{path}?{other}").status_code == 404
        assert linked.get(f"{path}?{QUERY}").status_code == 200


def test_movements_are_confirmed_ones_unless_asked(linked: httpx.Client) -> None:
    """`confirmed_only=false` shows pending and reversed ones; dates are of posting."""
    path = f"/v1/accounts/acc_1/movements?{QUERY}"

    assert ids(read(linked, path)) == ["mov_2", "mov_1"]
    assert ids(read(linked, f"{path}&confirmed_only=false")) == ["mov_4", "mov_2", "mov_3", "mov_1"]
    assert ids(read(linked, f"{path}&since=2026-09-02&until=2026-09-03")) == ["mov_2"]
    assert refusal(linked.get(f"{path}&confirmed_only=2")) == (400, "invalid_boolean", "confirmed_only")
    assert read(linked, f"/v1/accounts/acc_1/movements/mov_1?{QUERY}")["amount"] == -5
    assert "_link" not in read(linked, path)[0]
    assert ids(read(linked, f"/v1/accounts?{QUERY}")) == ["acc_1"]


def test_the_next_link_repeats_the_token(linked: httpx.Client) -> None:
    """Whoever stores that address stores a secret."""
    answer = linked.get(f"/v1/accounts/acc_1/movements?{QUERY}&per_page=1")

    assert f"link_token={TOKEN}" in answer.links["next"]["url"]


def test_a_refresh_ends_with_an_event(linked: httpx.Client) -> None:
    """One at a time; older versions name its object in another way."""
    made = make(linked, f"/v1/refresh_intents?{QUERY}")
    assert refusal(linked.post(f"/v1/refresh_intents?{QUERY}"))[:2] == (422, "refresh_intent_in_progress")

    advance(linked, 30)

    assert event_types(linked, made["id"]) == ["link.refresh_intent.succeeded"]
    path = f"/v1/refresh_intents/{made['id']}?{QUERY}"
    assert (read(linked, path)["status"], read(linked, path)["public_error"]) == ("succeeded", None)
    assert ids(read(linked, f"/v1/refresh_intents?{QUERY}")) == [made["id"]]
    older = linked.get(path, headers={"Fintoc-Version": "2023-11-15"}).json()
    assert older["refreshedObjectId"] == "link_1"


def test_fiscal_invoices_come_by_document_date(linked: httpx.Client) -> None:
    """Newest date first, filtered by dates, type and state; the oldest version leaves the last day out."""
    path = f"/v1/invoices?{QUERY}"

    assert ids(read(linked, path)) == ["inv_2", "inv_3", "inv_1"]
    assert ids(read(linked, f"{path}&since=2026-09-05&until=2026-09-10")) == ["inv_2", "inv_3"]
    assert ids(read(linked, f"{path}&issue_type=received")) == ["inv_2"]
    assert ids(read(linked, f"{path}&invoice_status=pending")) == ["inv_3"]
    older = linked.get(f"{path}&until=2026-09-10", headers={"Fintoc-Version": "2023-11-15"})
    assert ids(older.json()) == ["inv_3", "inv_1"]
    assert refusal(linked.get(f"{path}&issue_type=sent")) == (400, "invalid_enum", "issue_type")


def test_statements_and_returns_are_newest_first(linked: httpx.Client) -> None:
    """By year and period, whatever order they came in."""
    assert ids(read(linked, f"/v1/tax_statements?{QUERY}")) == ["taxstmt_2", "taxstmt_1", "taxstmt_3"]
    assert ids(read(linked, f"/v1/tax_returns?{QUERY}")) == ["taxret_2", "taxret_1"]


def test_institutions_are_listed_by_country(linked: httpx.Client) -> None:
    """On both paths, and one by one."""
    assert ids(read(linked, "/v1/institutions?country=cl")) == ["cl_banco_estado"]
    assert len(read(linked, "/v2/institutions")) == 2
    assert read(linked, "/v1/institutions/mx_stp") == read(linked, "/v2/institutions/mx_stp")


def test_events_can_be_triggered_in_test_mode(linked: httpx.Client) -> None:
    """A made-up object, with fields of one's own; live keys and unknown types are refused."""
    made = make(linked, "/v1/events/trigger", type="link.credentials_changed", overrides={"holder": "Ana"})

    assert made["data"] == {"id": "link_00000000", "object": "link", "holder": "Ana", "mode": "test"}
    assert read(linked, f"/v2/events/{made['id']}") == made
    assert refusal(linked.post("/v1/events/trigger", json={"type": "x"})) == (400, "invalid_enum", "type")
    live = linked.post("/v1/events/trigger", json={}, headers={"Authorization": "sk_live_sandbox"})
    assert live.status_code == 403
