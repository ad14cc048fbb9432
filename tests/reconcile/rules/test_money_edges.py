"""Money given back, notes and parts at their edges: one unit, the same day, the same moment, exactly nothing left."""

from datetime import date
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case, Run

PED_1 = '{"order_ref": "PED-1"}'
OCT_1, OCT_2, OCT_5 = "2026-10-01T15:00:00Z", "2026-10-02T15:00:00Z", "2026-10-05T15:00:00Z"
LATER = "2026-10-05T16:00:00Z"


def _of_the_books(run: "Run") -> set[tuple[str, str, int]]:
    """Leave out what is only said of payments because these cases have no payouts."""
    return {row for row in run.found() if row[0] != "ITEM_IN_NO_PAYOUT"}


def test_a_part_says_what_is_missing(case: "Case") -> None:
    """The line bears the difference to the balance it found, below zero."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 60_000, metadata=PED_1)
    shown = ("outcome", "applied_amount", "difference", "doc_balance_after")
    assert case.match().line("pi_1", *shown) == ("partial", 60_000, -40_000, 40_000)


def test_a_note_that_leaves_nothing_owed_wants_no_refund(case: "Case") -> None:
    """Sixty were paid and forty credited: there is no amount to give back."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 60_000, metadata=PED_1, occurred_at=OCT_1)
    case.note("9", "1", 40_000, issue_date=date(2026, 10, 2))
    run = case.run()
    assert _of_the_books(run) == set()
    assert run.document("cl:33::1", "outcome", "paid", "credited", "balance") == ("paid", 60_000, 40_000, 0)


def test_a_note_after_the_first_of_two_payments_wants_its_refund(case: "Case") -> None:
    """What counts is whether anything was paid when it was written, and not when the last payment came."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 50_000, metadata=PED_1, occurred_at=OCT_1)
    case.note("9", "1", 40_000, issue_date=date(2026, 10, 2))
    case.payment("pi_2", 50_000, metadata=PED_1, occurred_at=OCT_5)
    run = case.run()
    assert _of_the_books(run) == {
        ("AMOUNT_DIFF", "resource:pi_2", 40_000),
        ("CREDIT_NOTE_NO_REFUND", "document:cl:61::9", 40_000),
    }
    assert run.document("cl:33::1", "outcome", "balance") == ("overpaid", -40_000)


@pytest.mark.parametrize(("amount", "left"), [(70_000, -5_000), (65_000, 0)])
def test_a_payment_equals_what_the_notes_of_its_day_or_all_of_them_leave(case: "Case", amount: int, left: int) -> None:
    """An earlier note counts once, beside one of the payment's own day and beside a later one."""
    case.invoice("1", 100_000)
    case.note("7", "1", 10_000, issue_date=date(2026, 10, 1))
    case.note("8", "1", 20_000, issue_date=date(2026, 10, 5))
    case.note("9", "1", 5_000, issue_date=date(2026, 10, 6))
    case.payment("pi_1", amount, metadata=PED_1, occurred_at=OCT_5)
    assert case.match().line("pi_1", "outcome", "applied_amount", "doc_balance_after") == ("matched", amount, left)


def test_a_refund_of_one_unit_opens_its_document_by_one(case: "Case") -> None:
    """There is no amount too small to be owed."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 100_000, metadata=PED_1, occurred_at=OCT_1)
    case.refund("re_1", "pi_1", 1, occurred_at=OCT_2)
    run = case.run()
    assert run.document("cl:33::1", "paid", "balance") == (99_999, 1)
    assert _of_the_books(run) == {("REFUND_NO_CREDIT_NOTE", "resource:re_1", 1)}


def test_a_refund_opens_the_documents_of_a_set_once_all_told(case: "Case") -> None:
    """A hundred and fifty of a hundred and eighty: all of the first document and what is left of the second."""
    case.invoice("1", 100_000, order_ref=None)
    case.invoice("2", 80_000, order_ref=None)
    case.payment("pi_1", 180_000, sender_tax_id="11111111-1", occurred_at=OCT_2)
    case.refund("re_1", "pi_1", 150_000, occurred_at=OCT_5)
    run = case.run()
    assert run.lines("pi_1", "outcome") == [("set",), ("set",)]
    balances = {key: run.document(key, "balance") for key in ("cl:33::1", "cl:33::2")}
    assert balances == {"cl:33::1": (100_000,), "cl:33::2": (50_000,)}
    assert _of_the_books(run) == {("REFUND_NO_CREDIT_NOTE", "resource:re_1", 150_000)}


def test_what_was_too_much_and_came_at_the_moment_it_was_given_back_needs_no_note(case: "Case") -> None:
    """A payment and its refund of one moment: the payment was first."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 110_000, metadata=PED_1, occurred_at=OCT_5)
    case.refund("re_1", "pi_1", 10_000, occurred_at=OCT_5)
    assert "REFUND_NO_CREDIT_NOTE" not in {code for code, _, _ in case.run().found()}


@pytest.mark.parametrize(
    ("decided", "found"), [((), {("REFUND_NO_CREDIT_NOTE", "resource:re_1", 20_000)}), (("cl:33::1",), set())]
)
def test_a_rest_that_was_accepted_counts_as_paid_when_money_is_given_back(
    case: "Case", decided: tuple[str, ...], found: set[tuple[str, str, int]]
) -> None:
    """Ten too much came and twenty went back; where the ten that lack are accepted, no part of the sale went back."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 110_000, metadata=PED_1)
    case.refund("re_1", "pi_1", 20_000, occurred_at=LATER)
    for number, document in enumerate(decided):
        case.add("decisions", kind="adjust", resource_id=None, doc_key=document, decision_id=number)
    assert {row for row in case.run().found() if row[0] == "REFUND_NO_CREDIT_NOTE"} == found


def test_a_document_issued_anew_twice_is_followed_to_the_end(case: "Case") -> None:
    """The first and the second were cancelled; the third stands in their place."""
    case.invoice("1", 100_000, status="void")
    case.invoice("2", 100_000, status="void", order_ref=None, ref_type="33", ref_number="1")
    case.invoice("3", 100_000, order_ref=None, ref_type="33", ref_number="2")
    case.payment("pi_1", 100_000, metadata=PED_1)
    run = case.run()
    assert run.line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::3")
    assert _of_the_books(run) == set()


def test_every_kind_of_item_counts_beside_every_other(case: "Case") -> None:
    """Three ids, each borne by one item of every kind: none is taken for another."""
    for number in (1, 2, 3):
        case.payment(f"id_{number}", 100_000, payout_id="po_1")
        case.item("charge", f"id_{number}", 10_000, payout_id="po_1")
        case.refund(f"id_{number}", "pi_0", 1_000, payout_id="po_1")
        back = {"payout_id": "po_1", "status": "failed", "resource_subtype": None}
        case.item("refund_adjustment", f"id_{number}", 100, **back)
    case.payout("po_1", 320_000)
    run = case.run()
    names = ("payments_gross", "charges_gross", "refunds_gross", "refund_adjustments", "fee_total")
    assert run.payout("po_1", *names) == (300_000, 30_000, 3_000, 300, 7_300)
    assert run.payout("po_1", "payments_count", "charges_count", "refunds_count") == (3, 3, 3)


@pytest.mark.parametrize(
    ("given", "due", "overdue_on"),
    [(date(2026, 9, 30), "2026-09-30", date(2026, 10, 1)), (None, "2026-10-01", date(2026, 10, 2))],
)
def test_an_overdue_document_says_whether_its_day_was_written_or_reckoned(
    case: "Case", given: date | None, due: str, overdue_on: date
) -> None:
    """Without a due date it is thirty days after the issue; it is overdue from the day after, not on the day itself."""
    case.as_of = overdue_on
    case.invoice("1", 100_000, issue_date=date(2026, 9, 1), due_date=given)
    evidence = case.run().finding("INVOICE_NO_PAYMENT").evidence
    assert (evidence["due"], evidence["due_date_given"]) == (due, given is not None)
    case.as_of = date.fromisoformat(due)
    assert case.run().found() == set()
