"""Business accounts: entities, onboardings, accounts, numbers, transfers, movements, statements, verifications."""

import base64
import json
import time
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from sandbox.happening import Happening
from tests.sandbox.conftest import PDF, START, Object, Open, advance, make, read, refusal, told, trade

HOUR = 3600
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def entity(id_: str, country: str, holder_id: str, **fields: Any) -> Happening:
    found = {
        "id": id_,
        "object": "entity",
        "mode": "test",
        "country_code": country,
        "holder_id": holder_id,
        "holder_name": "Tres Puentes",
        "status": "operational",
        "is_root": True,
        **fields,
    }
    return Happening(START, "entities", found)


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


@pytest.fixture
def bank(open_sandbox: Open) -> httpx.Client:
    """Two operational entities, one in each country."""
    return open_sandbox(trade(entity("ent_cl", "cl", "765432103"), entity("ent_mx", "mx", "ATP190301KX8")))


def open_account(client: httpx.Client, country: str) -> Object:
    return make(client, "/v2/accounts", entity_id=f"ent_{country}", description="Main")


def receive(client: httpx.Client, account: Object, amount: int, **fields: Any) -> Object:
    number = fields.pop("number", account["root_account_number_id"])
    return make(
        client,
        "/v2/simulate/receive_transfer",
        account_number_id=number,
        amount=amount,
        counterparty_holder_name="Ana",
        counterparty_holder_id="1-9",
        **fields,
    )


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


DATA: Object = {
    "company_information": {"name": "Otra"},
    "legal_representatives": [{"name": "Ana"}],
    "business_activity": "books",
}


def onboard(client: httpx.Client, **data: Any) -> tuple[str, Object]:
    """An entity in draft and its onboarding with one document."""
    made = make(client, "/v2/entities", holder_id="77.111.222-3", holder_name="Otra", country_code="cl")
    path = f"/v2/entities/{made['id']}/onboardings"
    onboarding = make(client, path, type="account_holder", data={**DATA, **data})
    path = f"{path}/{onboarding['id']}"
    answer = client.post(f"{path}/documents", data={"slot_key": "bylaws"}, files={"file": ("a.pdf", PDF)})
    assert answer.status_code == 201, answer.text
    return path, onboarding


@pytest.mark.parametrize(
    ("activity", "status", "events"),
    [
        ("books", "approved", ["entity.onboarding.approved"]),
        ("illegal", "rejected", ["entity.onboarding.rejected"]),
        ("suspicious", "submitted", []),
        ("Illegal", "approved", ["entity.onboarding.approved"]),
    ],
)
def test_the_simulated_review_follows_the_activity(
    bank: httpx.Client, activity: str, status: str, events: list[str]
) -> None:
    """Exactly `illegal` is rejected, exactly `suspicious` waits, anything else is approved."""
    path, onboarding = onboard(bank, business_activity=activity)
    assert bank.post(f"{path}/submit").json()["status"] == "submitted"

    advance(bank, 60)

    assert read(bank, path)["status"] == status
    assert told(bank, onboarding["id"]) == events


def test_a_submitted_onboarding_is_closed(bank: httpx.Client) -> None:
    """Neither documents nor a second submission are taken."""
    path, _ = onboard(bank)
    bank.post(f"{path}/submit")

    upload = bank.post(f"{path}/documents", data={"slot_key": "bylaws"}, files={"file": ("a.pdf", PDF)})
    assert refusal(upload) == (409, "invalid_onboarding_status", "id")
    assert refusal(bank.post(f"{path}/submit")) == (409, "invalid_onboarding_status", "id")


def test_documents_go_into_slots(bank: httpx.Client) -> None:
    """A second file replaces the first of its slot; people have slots of their own."""
    path, _ = onboard(bank)
    file = {"file": ("b.pdf", PDF)}
    bank.post(f"{path}/documents", data={"slot_key": "bylaws"}, files=file)
    bank.post(f"{path}/legal_representatives/0/documents", files=file)
    bank.post(f"{path}/shareholders/1/documents", files=file)

    found = [(row["slot_key"], row["filename"]) for row in read(bank, path)["documents"]]

    assert found == [("bylaws", "b.pdf"), ("legal_representatives.0", "b.pdf"), ("shareholders.1", "b.pdf")]
    bad = bank.post(f"{path}/documents", data={"slot_key": "bylaws"}, files={"file": ("b.txt", b"text")})
    assert refusal(bad) == (422, "invalid_document", "file")
    assert refusal(bank.post(f"{path}/documents", files=file)) == (400, "missing_parameter", "slot_key")


def test_what_an_onboarding_needs(bank: httpx.Client) -> None:
    """Type and data at creation; its own entity; complete data and documents to submit."""
    path = "/v2/entities/ent_cl/onboardings"
    assert refusal(bank.post(path, json={"data": DATA})) == (400, "missing_parameter", "type")
    assert refusal(bank.post(path, json={"type": "account_holder"})) == (400, "missing_parameter", "data")
    assert refusal(bank.post(path, json={"type": "friend", "data": DATA})) == (400, "invalid_enum", "type")
    bare = make(bank, path, type="account_holder", data={"company_information": {"name": "x"}})

    assert refusal(bank.post(f"{path}/{bare['id']}/submit"))[2] == "data.legal_representatives"
    full = make(bank, path, type="account_holder", data=DATA)
    assert refusal(bank.post(f"{path}/{full['id']}/submit"))[2] == "documents"
    assert refusal(bank.get(f"/v2/entities/ent_mx/onboardings/{bare['id']}"))[0] == 404
    assert [row["id"] for row in read(bank, path)] == [full["id"], bare["id"]]


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
    assert told(bank, made["id"]) == ["account_number.deleted"]
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


def test_a_simulated_transfer_arrives(bank: httpx.Client) -> None:
    """Balance, movement, event, the number's last transfer."""
    account = open_account(bank, "cl")

    made = receive(bank, account, 7000)

    assert (made["status"], made["direction"], made["currency"]) == ("succeeded", "inbound", "CLP")
    assert read(bank, f"/v2/accounts/{account['id']}")["available_balance"] == 7000
    (movement,) = read(bank, f"/v2/accounts/{account['id']}/movements?direction=inbound&since=2026-10-01")
    assert (movement["amount"], movement["balance"], movement["resource_id"]) == (7000, 7000, made["id"])
    assert read(bank, f"/v2/accounts/{account['id']}/movements/{movement['id']}") == movement
    assert told(bank, made["id"]) == ["transfer.inbound.succeeded"]
    assert read(bank, f"/v2/account_numbers/{account['root_account_number_id']}")["last_transfer_at"] is not None


def test_a_transfer_can_be_simulated_with_a_test_key_only(bank: httpx.Client) -> None:
    """A live key is refused."""
    headers = {"Authorization": "sk_live_sandbox"}

    answer = bank.post("/v2/simulate/receive_transfer", json={}, headers=headers)

    assert refusal(answer)[:2] == (403, "invalid_mode")


def test_an_amount_out_of_range_is_rejected_by_itself(bank: httpx.Client) -> None:
    """Below, above, or to a disabled number."""
    account = open_account(bank, "cl")
    number = make(bank, "/v2/account_numbers", account_id=account["id"], options={"min_amount": 10, "max_amount": 20})

    for amount, status in ((9, "rejected"), (10, "succeeded"), (20, "succeeded"), (21, "rejected")):
        assert receive(bank, account, amount, number=number["id"])["status"] == status

    (rejected,) = read(bank, "/v2/events?type=transfer.inbound.rejected&limit=1")
    assert rejected["data"]["reject_reason"] == "recipient_account_credit_restricted"


TO: Object = {
    "holder_id": "1-9",
    "holder_name": "Ana",
    "account_number": "123",
    "account_type": "checking",
    "institution_id": "cl_banco_estado",
}


def send(client: httpx.Client, account: Object, amount: int = 1000, **fields: Any) -> httpx.Response:
    currency = account["currency"]
    body = {"account_id": account["id"], "amount": amount, "currency": currency, "counterparty": TO, **fields}
    return client.post("/v2/transfers", json=body)


@pytest.mark.parametrize(
    ("wish", "status", "events", "balance"),
    [
        ({}, "succeeded", ["succeeded"], 4000),
        ({"sandbox_outcome": "failed"}, "failed", ["failed"], 5000),
        ({"sandbox_outcome": "returned"}, "returned", ["succeeded", "returned"], 5000),
        ({"sandbox_outcome": "reversed"}, "reversed", ["succeeded", "reversed"], 5000),
    ],
)
def test_a_transfer_goes_out(
    bank: httpx.Client, wish: dict[str, str], status: str, events: list[str], balance: int
) -> None:
    """Pending first, then what its metadata wishes; the balance follows the money."""
    account = open_account(bank, "cl")
    receive(bank, account, 5000)
    made = send(bank, account, metadata=wish).json()
    assert made["status"] == "pending"

    advance(bank, 2 * HOUR)

    assert read(bank, f"/v2/transfers/{made['id']}")["status"] == status
    assert read(bank, f"/v2/accounts/{account['id']}")["available_balance"] == balance
    assert told(bank, made["id"]) == [f"transfer.outbound.{event}" for event in events]
    movements = read(bank, f"/v2/accounts/{account['id']}/movements")
    assert movements[0]["balance"] == balance


def test_an_older_version_words_a_return_differently(bank: httpx.Client) -> None:
    """The code is the same, the text is not."""
    account = open_account(bank, "cl")
    receive(bank, account, 5000)
    made = send(bank, account, metadata={"sandbox_outcome": "returned"}).json()
    advance(bank, 2 * HOUR)

    reasons = [
        bank.get(f"/v2/transfers/{made['id']}", headers={"Fintoc-Version": version}).json()
        for version in ("2023-11-15", "2026-02-01")
    ]

    assert [row["return_reason"] for row in reasons] == ["non_existent_account", "non_existing_account"]
    assert {row["return_reason_code"] for row in reasons} == {"01"}


def test_what_a_transfer_needs(bank: httpx.Client) -> None:
    """Enough money, the account's currency, and in Chile the whole counterparty."""
    account = open_account(bank, "cl")
    receive(bank, account, 5000)

    assert refusal(send(bank, account, 5001)) == (409, "insufficient_balance", "amount")
    assert refusal(send(bank, account, currency="MXN")) == (400, "currency_mismatch", "currency")
    bare = send(bank, account, counterparty={"account_number": "1"})
    assert refusal(bare) == (400, "missing_parameter", "holder_id")
    mexican = open_account(bank, "mx")
    receive(bank, mexican, 5000)
    assert send(bank, mexican, currency="mxn", counterparty={"account_number": "646180157000000004"}).status_code == 201


def test_transfers_are_listed_on_both_paths_with_filters(bank: httpx.Client) -> None:
    """By account, number, direction, states, tracking key and date."""
    chilean, mexican = open_account(bank, "cl"), open_account(bank, "mx")
    first, second = receive(bank, chilean, 5000), receive(bank, mexican, 6000)

    def found(query: str) -> list[str]:
        rows = read(bank, f"/v1/transfers?{query}")
        assert rows == read(bank, f"/v2/transfers?{query}")
        return [row["id"] for row in rows]

    assert found("") == [second["id"], first["id"]]
    assert found(f"account_id={chilean['id']}") == [first["id"]]
    assert found(f"account_number_id={mexican['root_account_number_id']}") == [second["id"]]
    assert found(f"tracking_key={second['tracking_key']}") == [second["id"]]
    assert found("direction=outbound") == []
    assert found("status=reversed&status=reverse_pending") == []
    assert found("since=2026-10-02") == []
    assert found("transfer_batch_id=trbatch_1") == []
    assert refusal(bank.get("/v1/transfers?direction=up")) == (400, "invalid_enum", "direction")
    assert read(bank, f"/v1/transfers/{first['id']}") == first


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


def sign(body: bytes, **claims: Any) -> str:
    """A signature made as the provider's own clients make it."""

    def encode(raw: bytes) -> str:
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    header = {"alg": "RS256", "nonce": "n" * 32, "ts": int(time.time()), "crit": ["ts", "nonce"], **claims}
    protected = encode(json.dumps(header).encode())
    signed = f"{protected}.{encode(body)}".encode()
    return f"{protected}.{encode(KEY.sign(signed, padding.PKCS1v15(), hashes.SHA256()))}"


@pytest.fixture
def signing(bank: httpx.Client) -> httpx.Client:
    """The bank's client, its public key known to the provider."""
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    pem = KEY.public_key().public_bytes(serialization.Encoding.PEM, kind).decode()
    assert bank.put("/_sandbox/jws_key", json={"public_key": pem}).status_code == 200
    return bank


def post_signed(client: httpx.Client, path: str, body: Object, signature: str | None = None) -> httpx.Response:
    raw = json.dumps(body).encode()
    return client.post(path, content=raw, headers={"Fintoc-JWS-Signature": signature or sign(raw)})


def test_an_inbound_mexican_transfer_is_returned(signing: httpx.Client) -> None:
    """Return pending first, returned later; the money has left."""
    account = open_account(signing, "mx")
    made = receive(signing, account, 900)

    assert (
        post_signed(signing, "/v2/transfers/return", {"transfer_id": made["id"]}).json()["status"] == "return_pending"
    )
    advance(signing, 10)

    assert read(signing, f"/v2/transfers/{made['id']}")["return_reason_code"] == "01"
    assert told(signing, made["id"]) == ["transfer.inbound.succeeded", "transfer.inbound.returned"]
    assert read(signing, f"/v2/accounts/{account['id']}")["available_balance"] == 0


def test_a_return_may_fail_or_be_impossible(signing: httpx.Client) -> None:
    """A refused return leaves the transfer as it was; Chilean transfers cannot be returned."""
    mexican = receive(signing, open_account(signing, "mx"), 900, metadata={"sandbox_outcome": "return_failed"})
    chilean = receive(signing, open_account(signing, "cl"), 900)

    post_signed(signing, "/v2/transfers/return", {"transfer_id": mexican["id"]})
    advance(signing, 10)

    assert read(signing, f"/v2/transfers/{mexican['id']}")["status"] == "succeeded"
    assert told(signing, mexican["id"])[-1] == "transfer.inbound.return_failed"
    raw = json.dumps({"transfer_id": chilean["id"]}).encode()
    answer = signing.post(
        "/v2/transfers/return", content=raw, headers={"Fintoc-JWS-Signature": sign(raw, nonce="m" * 32)}
    )
    assert refusal(answer) == (409, "invalid_transfer_direction", "transfer_id")


@pytest.mark.parametrize(("number", "status"), [("646180157000000004", "succeeded"), ("000000000000000000", "failed")])
def test_an_account_is_verified(signing: httpx.Client, number: str, status: str) -> None:
    """Half a minute later it is proved, or does not exist."""
    made = post_signed(signing, "/v2/account_verifications", {"account_number": number}).json()
    assert made["status"] == "pending"

    advance(signing, 30)

    assert read(signing, f"/v2/account_verifications/{made['id']}")["status"] == status
    assert told(signing, made["id"]) == [f"account_verification.{status}"]
    path = "/v2/account_verifications"
    assert len(read(signing, f"{path}?account_number={number}&transfer_id={made['transfer_id']}&since=2026-10-01")) == 1
    assert read(signing, f"{path}?account_number=7") == []


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"alg": "HS256"}, "invalid_jws_signature_algorithm"),
        ({"crit": ["ts"]}, "invalid_jws_signature_header"),
        ({"nonce": "short"}, "invalid_jws_signature_nonce"),
        ({"ts": "now"}, "invalid_jws_signature_timestamp_format"),
        ({"ts": 1}, "invalid_jws_signature_timestamp_value"),
    ],
)
def test_a_signature_with_wrong_claims_is_refused(signing: httpx.Client, claims: dict[str, Any], code: str) -> None:
    """Each claim has its own error."""
    body = {"account_number": "1"}

    answer = post_signed(signing, "/v2/account_verifications", body, sign(json.dumps(body).encode(), **claims))

    assert refusal(answer)[:2] == (401, code)


@pytest.mark.parametrize("signature", ["x", "a.b.c", "e30.AAAA", "!!.!!"])
def test_an_unreadable_signature_is_refused(signing: httpx.Client, signature: str) -> None:
    """Never a 500, whatever comes."""
    answer = post_signed(signing, "/v2/account_verifications", {"account_number": "1"}, signature)

    assert answer.status_code == 401


def test_a_signature_fits_one_body_once(signing: httpx.Client) -> None:
    """Another body, a used nonce and a missing header are refused."""
    body = {"account_number": "1"}
    signature = sign(json.dumps(body).encode())
    path = "/v2/account_verifications"

    assert refusal(post_signed(signing, path, {"account_number": "2"}, signature))[1] == "invalid_jws_signature_header"
    assert post_signed(signing, path, body, signature).status_code == 201
    assert refusal(post_signed(signing, path, body, signature))[1] == "jws_nonce_already_used"
    assert refusal(signing.post(path, json=body))[1] == "missing_jws_signature_header"


def test_without_a_public_key_nothing_is_verified(bank: httpx.Client) -> None:
    """The organization must have uploaded one, and it must be readable."""
    answer = post_signed(bank, "/v2/account_verifications", {"account_number": "1"})

    assert refusal(answer)[1] == "missing_active_jws_public_key"
    for pem in ("", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "no", None):
        assert bank.put("/_sandbox/jws_key", json={"public_key": pem}).status_code == 400
