"""Mandates of Mexican direct debit: documents, confirmation, expiry."""

import httpx
import pytest

from tests.sandbox.conftest import PDF, advance, event_types, read, refusal

HOUR = 3600
DAY = 24 * HOUR


FIELDS = {
    "customer": "cus_1",
    "type": "mx_direct_debit",
    "mx_direct_debit[account_number]": "646180157000000004",
    "mx_direct_debit[account_holder_id]": "ATP190301KX8",
    "mx_direct_debit[max_amount]": "500000",
}


DOCUMENTS = "mx_direct_debit[consent_documents][]"


def enrol(client: httpx.Client, *contents: bytes, **fields: str) -> httpx.Response:
    files = [(DOCUMENTS, (f"{n}.pdf", content)) for n, content in enumerate(contents)]
    return client.post("/v2/payment_methods", data={**FIELDS, **fields}, files=files)


def test_a_mandate_is_pending_until_the_bank_confirms_it(billing: httpx.Client) -> None:
    """A day later it is active, and can be charged."""
    answer = enrol(billing, PDF, PDF, PDF, PDF)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert made["mx_direct_debit"] == {
        "status": "pending",
        "institution": {"id": "90646", "country": "mx", "name": "STP"},
        "account_number_last4": "0004",
        "max_amount": 500_000,
        "account_holder_id": "ATP190301KX8",
    }
    charge = {"amount": 5, "currency": "MXN", "payment_method": made["id"]}
    assert refusal(billing.post("/v2/payment_intents", json=charge))[1] == "payment_method_inactive"

    advance(billing, DAY)

    assert read(billing, f"/v2/payment_methods/{made['id']}")["mx_direct_debit"]["status"] == "active"
    assert event_types(billing, made["id"]) == ["payment_method.activated"]
    assert billing.post("/v2/payment_intents", json=charge).status_code == 201
    assert len(read(billing, "/v2/payment_methods?customer=cus_1")) == 4


def test_a_mandate_without_an_answer_expires(billing: httpx.Client) -> None:
    """After seven days it is canceled, and cannot be charged."""
    made = enrol(billing, PDF, PDF, PDF, PDF, **{"metadata[sandbox_outcome]": "expired"}).json()

    advance(billing, 7 * DAY)

    assert read(billing, f"/v2/payment_methods/{made['id']}")["mx_direct_debit"]["status"] == "expired"
    assert event_types(billing, made["id"]) == ["payment_method.canceled"]


@pytest.mark.parametrize(
    "contents",
    [[PDF, PDF, PDF], [PDF, PDF, PDF, PDF[:99]], [PDF, PDF, PDF, b"x" * 200], [PDF, PDF, PDF, PDF + bytes(10_000_000)]],
    ids=["three", "tiny", "text", "huge"],
)
def test_a_bad_document_creates_nothing(billing: httpx.Client, contents: list[bytes]) -> None:
    """Four documents of 100 bytes to 10 MB that are PDF, JPEG or PNG, or 422."""
    before = len(read(billing, "/v2/payment_methods"))

    assert enrol(billing, *contents).status_code == 422

    assert len(read(billing, "/v2/payment_methods")) == before


def test_what_a_mandate_needs(billing: httpx.Client) -> None:
    """A customer, a CLABE and documents."""
    assert refusal(enrol(billing, PDF, customer=""))[1:] == ("missing_parameter", "customer")
    bad = enrol(billing, PDF, **{"mx_direct_debit[account_number]": "12"})
    assert refusal(bad) == (400, "invalid_clabe", "account_number")
    assert refusal(enrol(billing))[:2] == (400, "missing_parameter")


def test_an_older_version_has_the_former_names(billing: httpx.Client) -> None:
    """The mandate's fields bear the names they had."""
    made = enrol(billing, PDF, PDF, PDF, PDF).json()

    older = billing.get(f"/v2/payment_methods/{made['id']}", headers={"Fintoc-Version": "2023-11-15"}).json()

    assert older["mx_direct_debit"] == {
        "status": "pending",
        "account_holder_id": "ATP190301KX8",
        "institution_id": "90646",
        "last_four_digits": "0004",
        "max_amount_cents": 500_000,
        "max_amount_currency": "MXN",
    }
