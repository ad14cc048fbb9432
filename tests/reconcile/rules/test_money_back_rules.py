"""Refunds, credit notes and disputes: what each wants, and what it does to documents and payouts."""

from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

PED_1 = '{"order_ref": "PED-1"}'
LATER = "2026-10-05T16:00:00Z"


def _sale(case: "Case", *, paid: int = 100_000) -> None:
    case.invoice("1", 100_000)
    case.payment("pi_1", paid, metadata=PED_1)


def test_a_refund_reopens_what_its_payment_closed(case: "Case") -> None:
    """Without a credit note the document asks for its money again, and the refund for its note."""
    _sale(case)
    case.refund("re_1", "pi_1", 100_000, occurred_at=LATER)
    run = case.run()
    assert run.line("re_1", "amount_signed", "outcome", "expected_doc") == (-100_000, "refund", "credit_note")
    assert run.document("cl:33::1", "outcome", "paid", "balance") == ("open_not_due", 0, 100_000)
    assert run.found() == {("REFUND_NO_CREDIT_NOTE", "resource:re_1", 100_000)}


def test_a_refund_with_a_credit_note_leaves_the_document_credited(case: "Case") -> None:
    """The note takes back what the refund gave back."""
    _sale(case)
    case.refund("re_1", "pi_1", 100_000, occurred_at=LATER)
    case.note("9", "1", 100_000, issue_date=date(2026, 10, 5))
    run = case.run()
    assert run.document("cl:33::1", "outcome", "paid", "credited", "balance") == ("credited", 0, 100_000, 0)
    assert run.document("cl:61::9", "outcome", "balance") == ("paid", 0)
    assert run.found() == set()


def test_a_part_given_back_with_a_note_over_that_part(case: "Case") -> None:
    """The document stays paid by the rest."""
    _sale(case)
    case.refund("re_1", "pi_1", 30_000, occurred_at=LATER)
    case.note("9", "1", 30_000, issue_date=date(2026, 10, 6))
    run = case.run()
    assert run.document("cl:33::1", "outcome", "paid", "credited", "balance") == ("paid", 70_000, 30_000, 0)
    assert run.found() == set()


def test_a_second_refund_needs_a_second_note(case: "Case") -> None:
    """One note explains one of two refunds."""
    _sale(case)
    case.refund("re_1", "pi_1", 20_000, occurred_at="2026-10-05T15:30:00Z")
    case.refund("re_2", "pi_1", 30_000, occurred_at=LATER)
    case.note("9", "1", 30_000, issue_date=date(2026, 10, 6))
    assert case.run().found() == {("REFUND_NO_CREDIT_NOTE", "resource:re_1", 20_000)}


def test_giving_back_what_was_paid_too_much_needs_no_note(case: "Case") -> None:
    """The sale itself stands."""
    _sale(case, paid=120_000)
    case.refund("re_1", "pi_1", 20_000, occurred_at=LATER)
    run = case.run()
    assert run.document("cl:33::1", "outcome", "balance") == ("paid", 0)
    assert "REFUND_NO_CREDIT_NOTE" not in {code for code, _, _ in run.found()}


def test_a_refund_of_a_payment_without_document_needs_no_note(case: "Case") -> None:
    """Nothing was invoiced, so nothing is credited."""
    case.payment("pi_1", 100_000)
    case.refund("re_1", "pi_1", 100_000)
    assert {code for code, _, _ in case.run().found()} == {"PAYMENT_NO_INVOICE"}


def test_a_refund_that_has_not_succeeded_changes_no_document(case: "Case") -> None:
    """Money on its way back is a line in transit and no more."""
    _sale(case)
    case.refund("re_1", "pi_1", 100_000, status="in_progress")
    matched = case.match()
    assert matched.line("re_1", "outcome", "payout_id") == ("refund", None)
    assert matched.document("cl:33::1", "outcome") == ("paid",)


def test_a_document_paid_again_after_its_refund_is_no_duplicate(case: "Case") -> None:
    """The refund had opened it."""
    _sale(case)
    case.refund("re_1", "pi_1", 100_000, occurred_at="2026-10-05T15:30:00Z")
    case.payment("pi_2", 100_000, metadata=PED_1, occurred_at=LATER)
    matched = case.match()
    assert matched.line("pi_2", "outcome") == ("matched",)
    assert matched.document("cl:33::1", "outcome", "paid", "payments") == ("paid", 100_000, 2)


def test_a_sale_paid_again_after_its_refund_still_lacks_the_note_of_the_refund(case: "Case") -> None:
    """What was given back was the invoiced sale; what came later makes of it nothing that was paid too much."""
    _sale(case)
    case.refund("re_1", "pi_1", 100_000, occurred_at="2026-10-05T15:30:00Z")
    case.payment("pi_2", 100_000, metadata=PED_1, occurred_at=LATER)
    run = case.run()
    assert run.found() == {("REFUND_NO_CREDIT_NOTE", "resource:re_1", 100_000)}
    assert run.document("cl:33::1", "outcome", "balance") == ("paid", 0)


def test_a_part_given_back_and_paid_again_lacks_its_note(case: "Case") -> None:
    """The customer paid by halves; the first was given back and came again."""
    _sale(case, paid=50_000)
    case.refund("re_1", "pi_1", 50_000, occurred_at="2026-10-05T15:30:00Z")
    case.payment("pi_2", 50_000, metadata=PED_1, occurred_at=LATER)
    case.payment("pi_3", 50_000, metadata=PED_1, occurred_at="2026-10-05T17:00:00Z")
    assert case.run().found() == {("REFUND_NO_CREDIT_NOTE", "resource:re_1", 50_000)}


def test_a_sale_paid_twice_at_once_and_given_back_once_needs_no_note(case: "Case") -> None:
    """The second payment was no part of the sale."""
    _sale(case)
    case.payment("pi_2", 100_000, metadata=PED_1, occurred_at="2026-10-05T15:20:00Z")
    case.refund("re_1", "pi_2", 100_000, occurred_at=LATER)
    assert "REFUND_NO_CREDIT_NOTE" not in {code for code, _, _ in case.run().found()}


def test_credit_note_on_a_paid_document_without_a_refund(case: "Case") -> None:
    """The customer is owed the note."""
    _sale(case)
    case.note("9", "1", 40_000, issue_date=date(2026, 10, 6))
    run = case.run()
    assert run.found() == {("CREDIT_NOTE_NO_REFUND", "document:cl:61::9", 40_000)}
    assert run.document("cl:61::9", "exception_code") == ("CREDIT_NOTE_NO_REFUND",)
    assert run.document("cl:33::1", "outcome", "balance") == ("overpaid", -40_000)


def test_a_void_credit_note_credits_nothing(case: "Case") -> None:
    """A note that was itself cancelled leaves its document alone."""
    _sale(case)
    case.note("9", "1", 40_000, status="void", issue_date=date(2026, 10, 6))
    run = case.run()
    assert run.found() == set()
    assert run.document("cl:33::1", "credited") == (0,)


def test_a_mexican_note_names_the_uuid_of_its_document(mexican_case: "Case") -> None:
    """The referred document is found by UUID, whatever the relation's code."""
    case = mexican_case
    case.invoice("1", 100, doc_key="mx:uuid:aa-1", doc_type="I", uuid="aa-1", order_ref="PED-1")
    case.invoice("2", 100, doc_key="mx:uuid:bb-2", doc_type="E", uuid="bb-2", ref_type="01", ref_number="AA-1")
    assert case.match().document("mx:uuid:aa-1", "outcome", "credited") == ("credited", 100)


def test_a_failed_refund_comes_back_as_an_adjustment_and_the_original_line_stays(case: "Case") -> None:
    """Both lines count in their payouts and the document stays paid."""
    case.tariff = {"vat_bps": 1900, "bank_transfer": {"bps": 0}, "refund": {"flat": 514}}
    _sale(case)
    case.payment("pi_2", 900_000, payout_id="po_1")
    case.payment("pi_3", 900_000, payout_id="po_2")
    case.payout("po_1", 799_388)
    case.payout("po_2", 1_000_000, created_at="2026-10-06T17:20:00Z", succeeded_at="2026-10-06T18:00:00Z")
    case.item("refund", "re_1", 100_000, parent_id="pi_1", status="failed", payout_id="po_1", resource_subtype=None)
    case.item(
        "refund_adjustment", "re_1", 100_000, parent_id="pi_1", status="failed", payout_id="po_2", resource_subtype=None
    )
    run = case.run()
    assert run.lines("re_1", "payout_id", "resource_type", "amount_signed", "fee_total", "outcome") == [
        ("po_1", "refund", -100_000, 612, "refund"),
        ("po_2", "refund_adjustment", 100_000, 0, "adjustment"),
    ]
    assert run.payout("po_1", "refunds_gross", "difference") == (100_000, 0)
    assert run.payout("po_2", "refund_adjustments", "difference") == (100_000, 0)
    assert run.document("cl:33::1", "outcome") == ("paid",)


def _dispute(case: "Case", status: str, *, ended_at: str | None = "2026-10-05T12:00:00Z") -> None:
    case.add(
        "disputes",
        dispute_id="dp_1",
        resource_id="pi_1",
        amount=20_000,
        currency="CLP",
        status=status,
        ended_at=ended_at,
    )


def test_a_lost_dispute_is_a_line_of_the_first_later_payout_when_that_closes_the_identity(case: "Case") -> None:
    """The payout is short by exactly the dispute."""
    case.tariff = {"vat_bps": 1900, "bank_transfer": {"bps": 0}}
    case.payment("pi_1", 100_000, payout_id="po_1")
    case.payout("po_1", 80_000)
    _dispute(case, "lost")
    run = case.run()
    assert run.payout("po_1", "disputes", "computed_amount", "difference") == (20_000, 80_000, 0)
    assert run.line("dp_1", "payout_id", "resource_type", "amount_signed", "outcome") == (
        "po_1",
        "dispute",
        -20_000,
        "adjustment",
    )


def test_a_lost_dispute_that_does_not_close_the_identity_is_no_line(case: "Case") -> None:
    """Another shortage stays an exception of its own size."""
    case.tariff = {"vat_bps": 1900, "bank_transfer": {"bps": 0}}
    case.payment("pi_1", 100_000, payout_id="po_1")
    case.payout("po_1", 85_000)
    _dispute(case, "expired")
    run = case.run()
    assert run.payout("po_1", "disputes", "difference") == (0, -15_000)
    assert run.lines("dp_1", "payout_id") == []


def test_with_residual_fees_a_lost_dispute_is_a_line_when_it_brings_the_rate_into_the_band(case: "Case") -> None:
    """What looked like a fee of 22 % was a dispute and a fee of 2 %."""
    case.payment("pi_1", 100_000, payout_id="po_1")
    case.payout("po_1", 78_000)
    _dispute(case, "lost")
    run = case.run()
    assert run.payout("po_1", "disputes", "fee_total", "fee_rate_pct", "difference") == (20_000, 2_000, "2.00", 0)
    assert "FEE_OUT_OF_BAND" not in {code for code, _, _ in run.found()}


def test_a_dispute_that_ended_after_the_payout_is_not_its_line(case: "Case") -> None:
    """Only payouts created after the end can hold it."""
    case.payment("pi_1", 100_000, payout_id="po_1")
    case.payout("po_1", 78_000)
    _dispute(case, "lost", ended_at="2026-10-05T19:00:00Z")
    assert case.run().payout("po_1", "disputes", "fee_total") == (0, 22_000)


def test_an_open_dispute_is_a_note(case: "Case") -> None:
    """It is said on the payment and moves no money."""
    case.payment("pi_1", 100_000)
    _dispute(case, "needs_response", ended_at=None)
    assert case.match().line("pi_1", "note") == ("note.open_dispute",)
