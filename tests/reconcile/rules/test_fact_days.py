"""The day each finding's age counts from: the payment's, the due date, the expected arrival; its customer."""

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from reconcile.rules.findings import FACTS
from reconcile.rules.outcomes import Code

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case


def _told(case: "Case", code: str) -> tuple[date | None, date | None, str | None]:
    finding = case.run().finding(code)
    return finding.fact_on, finding.due_on, finding.customer_name


def test_a_payment_without_a_document_counts_from_the_local_day_of_the_payment(case: "Case") -> None:
    """Half past two in the morning in Greenwich is still the day before in Santiago."""
    case.as_of = date(2026, 10, 20)
    case.payment("pi_1", 777, occurred_at="2026-10-02T02:30:00Z", customer_name="Ana")
    found = {finding.code: finding for finding in case.run().result.findings}
    assert (found["PAYMENT_NO_INVOICE"].fact_on, found["PAYMENT_NO_INVOICE"].due_on) == (date(2026, 10, 1), None)
    assert found["PAYMENT_NO_INVOICE"].customer_name == "Ana"
    assert found["ITEM_IN_NO_PAYOUT"].fact_on == date(2026, 10, 1)


def test_an_overdue_document_counts_from_its_due_date(case: "Case") -> None:
    """An unpaid document is as old as it is overdue, however late it was imported; it names its customer."""
    case.as_of = date(2026, 10, 20)
    case.invoice("1", 1190, due_date=date(2026, 10, 9), customer_name="Ana Ltda")
    assert _told(case, "INVOICE_NO_PAYMENT") == (date(2026, 10, 9), date(2026, 10, 9), "Ana Ltda")


def test_a_document_that_states_no_due_date_counts_from_the_day_the_rule_gives_it(case: "Case") -> None:
    """Thirty days after its issue; what the document does not say is not put into its mouth."""
    case.as_of = date(2026, 11, 20)
    case.invoice("1", 1190, due_date=None)
    assert _told(case, "INVOICE_NO_PAYMENT") == (date(2026, 10, 31), None, None)


def test_a_payment_that_differs_from_its_document_names_the_due_date_of_the_document(case: "Case") -> None:
    """The payment gives the day and its payer, the document its due date."""
    case.invoice("1", 1000, customer_name="Ana Ltda")
    case.payment("pi_1", 1500, metadata='{"order_ref": "PED-1"}', customer_name="Ana")
    assert _told(case, "AMOUNT_DIFF") == (date(2026, 10, 5), date(2026, 10, 30), "Ana")


def test_the_document_names_the_customer_of_a_payment_whose_payer_has_no_name(case: "Case") -> None:
    """It was applied to that document, so the document's customer is meant."""
    case.invoice("1", 1000, customer_name="Ana Ltda")
    case.payment("pi_1", 1500, metadata='{"order_ref": "PED-1"}')
    assert _told(case, "AMOUNT_DIFF") == (date(2026, 10, 5), date(2026, 10, 30), "Ana Ltda")


@pytest.mark.parametrize("name", ["Ana", None])
def test_a_document_that_a_payment_was_not_applied_to_names_no_customer_and_no_day(
    case: "Case", name: str | None
) -> None:
    """Ana's payment of another amount names Bruno's document: what is to be done is to be done with Ana."""
    case.invoice("1", 1000, customer_tax_id="22222222-2", customer_name="Bruno")
    case.payment("pi_1", 777, metadata='{"order_ref": "PED-1"}', sender_tax_id="11111111-1", customer_name=name)
    found = case.run().finding("PAYMENT_NO_INVOICE")
    assert (found.doc_key, found.fact_on, found.due_on, found.customer_name) == (
        "cl:33::1", date(2026, 10, 5), None, name,
    )  # fmt: skip


def test_a_second_payment_of_a_document_names_who_paid(case: "Case") -> None:
    """The document was paid by the first payment, so its due date says nothing of this one."""
    case.invoice("1", 1000, customer_name="Ana Ltda")
    case.payment("pi_1", 1000, metadata='{"order_ref": "PED-1"}', customer_name="Ana")
    case.payment("pi_2", 1000, metadata='{"order_ref": "PED-1"}', customer_name="Carla")
    assert _told(case, "DUPLICATE_PAYMENT") == (date(2026, 10, 5), None, "Carla")


def test_a_refund_without_a_credit_note_counts_from_the_refund(case: "Case") -> None:
    """The day the money was given back, not the day of the sale nor that of a return of the refund."""
    case.invoice("1", 1000)
    case.payment("pi_1", 1000, metadata='{"order_ref": "PED-1"}', occurred_at="2026-10-01T15:00:00Z")
    case.refund("re_1", "pi_1", 1000, occurred_at="2026-10-05T15:00:00Z")
    assert _told(case, "REFUND_NO_CREDIT_NOTE")[0] == date(2026, 10, 5)


def test_a_credit_note_without_a_refund_counts_from_its_issue(case: "Case") -> None:
    """The note is the fact; the payment was before it."""
    case.as_of = date(2026, 10, 20)
    case.invoice("1", 1000)
    case.payment("pi_1", 1000, metadata='{"order_ref": "PED-1"}', occurred_at="2026-10-01T15:00:00Z")
    case.note("9", "1", 1000, issue_date=date(2026, 10, 7))
    assert _told(case, "CREDIT_NOTE_NO_REFUND")[0] == date(2026, 10, 7)


@pytest.mark.parametrize(
    ("code", "payout", "fact_on"),
    [
        ("PAYOUT_LATE", {"status": "in_progress", "succeeded_at": None}, date(2026, 10, 5)),
        ("PAYOUT_RETURNED", {"status": "returned", "ended_at": "2026-10-08T14:00:00Z"}, date(2026, 10, 8)),
        ("PAYOUT_RETURNED", {"status": "returned"}, date(2026, 10, 5)),
        ("PAYOUT_IDENTITY", {"amount": 5_000}, date(2026, 10, 5)),
    ],
)
def test_a_payout_counts_from_the_day_it_was_expected_came_back_or_was_made(
    case: "Case", code: str, payout: dict[str, Any], fact_on: date
) -> None:
    """What is late counts from the expected arrival, what came back from that day, what is wrong from its making."""
    case.as_of = date(2026, 10, 20)
    case.payout("po_1", **{"amount": 1_000, **payout})
    case.payment("pi_1", 1_000, payout_id="po_1")
    assert _told(case, code)[0] == fact_on


def test_a_payout_the_bank_never_showed_counts_from_its_expected_arrival(case: "Case") -> None:
    """And one that came with another amount from the day it came."""
    case.as_of = date(2026, 10, 20)
    case.payout("po_1", 1_000)
    case.payout("po_2", 5_000_000)
    case.payment("pi_1", 1_000, payout_id="po_1")
    case.payment("pi_2", 5_000_000, payout_id="po_2")
    line = {"account_last4": "0001", "currency": "CLP"}
    case.add("bank", movement_id="mov_1", amount=4_999_000, booked_on=date(2026, 10, 6), text="po_2", **line)
    found = {finding.code: finding.fact_on for finding in case.run().result.findings}
    assert (found["PAYOUT_NOT_IN_BANK"], found["BANK_AMOUNT_DIFF"]) == (date(2026, 10, 5), date(2026, 10, 6))


def test_a_gap_counts_from_its_first_day_and_one_without_a_beginning_from_none(case: "Case") -> None:
    """Where a stream was never read, the list falls back to the day that was first seen."""
    case.add("gaps", stream="events", since="2026-10-03T12:00:00Z", until="2026-10-04T12:00:00Z")
    case.add("gaps", stream="events", since="2026-10-02T02:00:00Z", until="2026-10-02T12:00:00Z")
    case.add("gaps", stream="payouts", since=None, until=None)
    found = {finding.subject: finding.fact_on for finding in case.run().result.findings if finding.code == "DATA_GAP"}
    assert found == {"stream:events": date(2026, 10, 1), "stream:payouts": None}


def test_every_code_that_counts_from_another_day_than_the_payments_is_known() -> None:
    """A code misspelled there would silently count from another day."""
    assert set(FACTS) <= set(Code)
