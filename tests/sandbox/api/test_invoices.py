"""Billing invoices: lines in draft, then final, paid or void."""

from typing import Any

import httpx
import pytest

from tests.sandbox.conftest import Object, advance, event_types, make, read, refusal

HOUR = 3600
DAY = 24 * HOUR


LINE = {"amount": 500, "quantity": 3, "description": "Boxes"}


INVOICE: Object = {"customer": "cus_1", "currency": "CLP", "default_payment_method": "pm_active", "lines": [LINE]}


def test_an_invoice_is_drafted_finalized_and_charged(billing: httpx.Client) -> None:
    """Only its owner finalizes it; then it is charged right away."""
    made = make(billing, "/v2/invoices", **INVOICE)
    advance(billing, 40 * DAY)
    assert (made["status"], made["total"]) == ("draft", 1500)
    assert read(billing, f"/v2/invoices/{made['id']}")["status"] == "draft"

    assert billing.post(f"/v2/invoices/{made['id']}/finalize").json()["status"] == "open"
    assert refusal(billing.post(f"/v2/invoices/{made['id']}/void")) == (409, "invalid_invoice_status", "id")
    advance(billing, 10)

    assert read(billing, f"/v2/invoices/{made['id']}")["status"] == "paid"
    assert refusal(billing.post(f"/v2/invoices/{made['id']}/void")) == (409, "invalid_invoice_status", "id")
    assert refusal(billing.post(f"/v2/invoices/{made['id']}/finalize")) == (409, "invalid_invoice_status", "id")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"customer": None}, (400, "missing_parameter", "customer")),
        ({"customer": "cus_x"}, (404, "missing_resource", "id")),
        ({"default_payment_method": None}, (400, "missing_parameter", "default_payment_method")),
        ({"currency": "MXN"}, (400, "invalid_currency", "currency")),
        ({"lines": [{**LINE, "currency": "MXN"}]}, (400, "currency_mismatch", "currency")),
        ({"lines": [{"quantity": 1}]}, (400, "missing_parameter", "amount")),
        ({"lines": {}}, (400, "invalid_array", "lines")),
    ],
)
def test_what_an_invoice_needs(billing: httpx.Client, change: dict[str, Any], expected: tuple[int, str, str]) -> None:
    """A customer, a method where it is charged, pesos, and lines in them."""
    assert refusal(billing.post("/v2/invoices", json={**INVOICE, **change})) == expected


def test_lines_change_in_draft_all_or_nothing(billing: httpx.Client) -> None:
    """The total follows; one bad line spoils the whole request; afterwards lines are fixed."""
    made = make(billing, "/v2/invoices", **INVOICE)
    path = f"/v2/invoices/{made['id']}"
    bad = billing.post(f"{path}/add_lines", json={"lines": [{"amount": 1}, {"amount": -1}]})
    assert refusal(bad) == (400, "invalid_amount", "amount")
    added = make(billing, f"{path}/add_lines", lines=[{"amount": 10}, {"amount": 20}])
    assert (added["total"], len(added["lines"])) == (1530, 3)

    line = added["lines"][1]["id"]
    assert billing.post(f"{path}/lines/{line}", json={"quantity": 4}).json()["total"] == 1560
    unknown = billing.post(f"{path}/remove_lines", json={"lines": [line, "il_none"]})
    assert refusal(unknown) == (404, "missing_resource", "lines")
    assert billing.post(f"{path}/remove_lines", json={"lines": [line]}).json()["total"] == 1520
    assert refusal(billing.post(f"{path}/lines/il_none", json={})) == (404, "missing_resource", "id")
    billing.post(f"{path}/finalize")

    assert refusal(billing.post(f"{path}/add_lines", json={"lines": [LINE]})) == (409, "invalid_invoice_status", "id")


def test_an_open_invoice_is_paid_once(billing: httpx.Client) -> None:
    """By an active method of its own customer, or outside the service; never by both."""
    made = make(billing, "/v2/invoices", **{**INVOICE, "collection_method": "send_invoice"})
    path = f"/v2/invoices/{made['id']}"
    assert refusal(billing.post(f"{path}/pay", json={})) == (409, "invalid_invoice_status", "id")
    assert billing.post(f"{path}/finalize").json()["payments"] == []

    both = billing.post(f"{path}/pay", json={"payment_method": "pm_active", "external_payment": True})
    assert refusal(both)[:2] == (400, "mutually_exclusive_params")
    assert refusal(billing.post(f"{path}/pay", json={"payment_method": "pm_foreign"})) == (
        400,
        "invalid_params",
        "payment_method",
    )
    assert refusal(billing.post(f"{path}/pay", json={"payment_method": "pm_expired"}))[1] == "payment_method_inactive"
    assert billing.post(f"{path}/pay", json={}).json()["payments"][0]["status"] == "in_progress"
    advance(billing, 10)

    assert read(billing, path)["status"] == "paid"
    assert refusal(billing.post(f"{path}/pay", json={"external_payment": True})) == (
        409,
        "invalid_invoice_status",
        "id",
    )


def test_a_payment_outside_the_service_is_noted_at_once(billing: httpx.Client) -> None:
    """No payment is created; the invoice says so."""
    made = make(billing, "/v2/invoices", **{**INVOICE, "collection_method": "send_invoice"})
    billing.post(f"/v2/invoices/{made['id']}/finalize")

    found = billing.post(f"/v2/invoices/{made['id']}/pay", json={"external_payment": True}).json()

    assert (found["status"], found["external_payment"], found["payments"]) == ("paid", True, [])
    assert event_types(billing, made["id"])[-1] == "invoice.paid"


def test_voiding_twice_changes_nothing(billing: httpx.Client) -> None:
    """A void invoice is returned as it is, and announced once."""
    made = make(billing, "/v2/invoices", **INVOICE)
    path = f"/v2/invoices/{made['id']}/void"

    assert billing.post(path).json()["status"] == billing.post(path).json()["status"] == "void"

    assert event_types(billing, made["id"]).count("invoice.voided") == 1
