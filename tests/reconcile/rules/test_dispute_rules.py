"""Disputes: a lost one opens its document again, an open one tells its deadline."""

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from reconcile.rules.at_risk import Total, add_up_risks
from tests.reconcile.rules.conftest import ANA

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

PED_1 = '{"order_ref": "PED-1"}'
LOST_AT = "2026-10-06T12:00:00Z"
AFTER = "2026-10-06T15:00:00Z"
FREE = {"vat_bps": 1900, "bank_transfer": {"bps": 0}}


def _sale(case: "Case", *, paid: int = 100_000, **given: Any) -> None:
    case.invoice("1", 100_000, **given)
    case.payment("pi_1", paid, metadata=PED_1)


def _dispute(case: "Case", amount: int = 100_000, **given: Any) -> None:
    row = {"dispute_id": "dp_1", "resource_id": "pi_1", "amount": amount, "currency": "CLP", "status": "lost",
           "ended_at": LOST_AT}  # fmt: skip
    case.add("disputes", **(row | given))


@pytest.mark.parametrize("status", ["lost", "expired"])
def test_a_lost_dispute_opens_its_document_again(case: "Case", status: str) -> None:
    """What its payment paid is owed once more, and the dispute is at risk with its amount."""
    _sale(case)
    _dispute(case, status=status)
    run = case.run()
    assert run.document("cl:33::1", "outcome", "paid", "balance") == ("open_not_due", 0, 100_000)
    assert run.line("pi_1", "outcome", "doc_key", "applied_amount", "doc_balance_after", "note") == (
        "matched", "cl:33::1", 100_000, 100_000, "note.lost_dispute",
    )  # fmt: skip
    found = run.finding("DISPUTE_LOST")
    assert (found.severity, found.subject, found.amount_at_risk) == ("high", "dispute:dp_1", 100_000)
    assert (found.resource_id, found.doc_key, found.payout_id) == ("pi_1", "cl:33::1", None)
    assert found.fact_on == date(2026, 10, 6)
    assert found.evidence == {
        "payment": "pi_1", "amount": 100_000, "dispute_state": status, "ended_on": "2026-10-06",
        "documents": ["cl:33::1"], "taken_back": 100_000, "still_open": 100_000,
    }  # fmt: skip
    assert len(run.found()) == 1


def test_a_payment_without_a_document_and_its_lost_dispute_are_at_risk_once(case: "Case") -> None:
    """Two exceptions tell of the same 500; of one that was short the rest and what may go back are two amounts."""
    case.payment("pi_1", 500)
    _dispute(case, 500)
    run = case.run()
    assert run.found() == {("PAYMENT_NO_INVOICE", "resource:pi_1", 500), ("DISPUTE_LOST", "dispute:dp_1", 500)}
    assert add_up_risks(run.result.findings) == {"CLP": Total(500, 2)}
    short = type(case)()
    short.invoice("1", 100)
    short.payment("pi_1", 90, metadata=PED_1)
    _dispute(short, 90, status="in_review", ended_at=None)
    run = short.run()
    assert run.found() == {("AMOUNT_DIFF", "resource:pi_1", 10), ("DISPUTE_OPEN", "dispute:dp_1", 90)}
    assert add_up_risks(run.result.findings) == {"CLP": Total(100, 2)}


def test_a_document_of_a_lost_dispute_is_overdue_when_due(case: "Case") -> None:
    """It is chased like any other that was not paid."""
    _sale(case, due_date=date(2026, 10, 5))
    _dispute(case)
    run = case.run()
    assert run.document("cl:33::1", "outcome", "exception_code") == ("overdue", "INVOICE_NO_PAYMENT")
    assert run.found() == {
        ("DISPUTE_LOST", "dispute:dp_1", 100_000), ("INVOICE_NO_PAYMENT", "document:cl:33::1", 100_000),
    }  # fmt: skip


def test_a_dispute_in_a_payout_opens_the_document_as_one_before_its_payout_does(case: "Case") -> None:
    """Being taken off a payout is another axis; its line names the exception, and the exception its payout."""
    case.tariff = FREE
    _sale(case)
    case.payment("pi_2", 150_000, payout_id="po_1", occurred_at=AFTER)
    case.payout("po_1", 50_000, created_at="2026-10-06T17:20:00Z", succeeded_at="2026-10-06T18:00:00Z")
    _dispute(case)
    run = case.run()
    assert run.document("cl:33::1", "outcome", "paid", "balance") == ("open_not_due", 0, 100_000)
    assert run.payout("po_1", "disputes", "difference", "exceptions") == (100_000, 0, 2)
    assert run.line("dp_1", "payout_id", "amount_signed", "exception_code") == ("po_1", -100_000, "DISPUTE_LOST")
    assert run.finding("DISPUTE_LOST").payout_id == "po_1"


def test_a_lost_dispute_waits_for_its_payout_as_items_do(case: "Case") -> None:
    """Until a living payout was made after it, its line stands without one."""
    _sale(case)
    case.payout("po_1", 0, status="canceled", created_at="2026-10-06T17:20:00Z", succeeded_at=None)
    _dispute(case)
    waiting = (None, "dispute", -100_000, "2026-10-06", "adjustment", "DISPUTE_LOST")
    names = ("payout_id", "resource_type", "amount_signed", "local_date", "outcome", "exception_code")
    assert case.run().lines("dp_1", *names) == [waiting]
    case.payout("po_2", 0, created_at="2026-10-06T18:20:00Z", succeeded_at="2026-10-06T19:00:00Z")
    assert case.run().lines("dp_1", *names) == []


def test_a_won_dispute_changes_nothing(case: "Case") -> None:
    """The document stays paid."""
    _sale(case)
    _dispute(case, status="won")
    run = case.run()
    assert run.document("cl:33::1", "outcome", "paid", "balance") == ("paid", 100_000, 0)
    assert run.found() == set()
    assert run.lines("dp_1", "payout_id") == []


def test_a_part_of_a_payment_is_disputed(case: "Case") -> None:
    """Only that part is owed again."""
    _sale(case)
    _dispute(case, 30_000)
    run = case.run()
    assert run.document("cl:33::1", "outcome", "paid", "balance") == ("partly_paid", 70_000, 30_000)
    assert run.found() == {("DISPUTE_LOST", "dispute:dp_1", 30_000)}


def test_several_disputes_of_one_payment_each_take_their_part(case: "Case") -> None:
    """A credit note over one of them leaves the other."""
    _sale(case)
    _dispute(case, 30_000)
    _dispute(case, 50_000, dispute_id="dp_2", ended_at="2026-10-06T13:00:00Z")
    run = case.run()
    assert run.document("cl:33::1", "paid", "balance") == (20_000, 80_000)
    assert run.found() == {("DISPUTE_LOST", "dispute:dp_1", 30_000), ("DISPUTE_LOST", "dispute:dp_2", 50_000)}
    case.note("9", "1", 50_000, issue_date=date(2026, 10, 6))
    run = case.run()
    assert run.document("cl:33::1", "paid", "credited", "balance") == (20_000, 50_000, 30_000)
    assert run.found() == {("DISPUTE_LOST", "dispute:dp_1", 30_000)}


def test_a_payment_of_several_documents_is_taken_back_in_their_order(case: "Case") -> None:
    """Thirty of a hundred and sixty come off the first document, what is more off the next."""
    case.invoice("1", 70_300)
    case.invoice("2", 90_100)
    case.payment("pi_1", 160_400, customer_tax_id=ANA)
    _dispute(case, 80_000)
    run = case.run()
    assert {line[0] for line in run.lines("pi_1", "outcome")} == {"set"}
    assert run.document("cl:33::1", "paid", "balance") == (0, 70_300)
    assert run.document("cl:33::2", "paid", "balance") == (80_400, 9_700)
    found = run.finding("DISPUTE_LOST")
    assert (found.amount_at_risk, found.doc_key) == (80_000, None)
    assert found.evidence["documents"] == ["cl:33::1", "cl:33::2"]


def test_a_refund_and_a_dispute_never_take_back_more_than_was_paid(case: "Case") -> None:
    """What the merchant lost beyond the payment is no document's: a person resolves it."""
    _sale(case)
    case.refund("re_1", "pi_1", 40_000, occurred_at="2026-10-05T16:00:00Z")
    _dispute(case)
    run = case.run()
    assert run.document("cl:33::1", "paid", "balance") == (0, 100_000)
    lost = ("DISPUTE_LOST", "dispute:dp_1", 100_000)
    assert run.found() == {("REFUND_NO_CREDIT_NOTE", "resource:re_1", 40_000), lost}
    assert run.finding("DISPUTE_LOST").evidence["taken_back"] == 60_000
    case.note("9", "1", 100_000, issue_date=date(2026, 10, 6))
    assert case.run().found() == {("DISPUTE_LOST", "dispute:dp_1", 40_000)}


def test_a_credit_note_covers_a_lost_dispute(case: "Case") -> None:
    """The sale is off: the document is credited at zero, and neither note nor dispute asks for more."""
    _sale(case)
    _dispute(case)
    case.note("9", "1", 100_000, issue_date=date(2026, 10, 6))
    run = case.run()
    assert run.document("cl:33::1", "outcome", "paid", "credited", "balance") == ("credited", 0, 100_000, 0)
    assert run.found() == set()


def test_a_payment_after_a_lost_dispute_pays_the_document(case: "Case") -> None:
    """The same key is no second payment then, and what was lost is made up for."""
    _sale(case)
    _dispute(case)
    case.payment("pi_2", 100_000, metadata=PED_1, occurred_at=AFTER)
    run = case.run()
    assert run.line("pi_1", "outcome") == ("matched",)
    assert run.line("pi_2", "outcome", "match_rule") == ("matched", "key:order_ref")
    assert run.document("cl:33::1", "outcome", "paid", "balance", "payments") == ("paid", 100_000, 0, 2)
    assert run.found() == set()


def test_a_part_paid_after_a_lost_dispute_lowers_what_is_at_risk(case: "Case") -> None:
    """Sixty thousand of a hundred are still to be had."""
    _sale(case)
    _dispute(case)
    case.payment("pi_2", 40_000, metadata=PED_1, occurred_at=AFTER)
    run = case.run()
    assert run.line("pi_2", "outcome") == ("partial",)
    assert run.document("cl:33::1", "outcome", "balance") == ("partly_paid", 60_000)
    assert run.found() == {("DISPUTE_LOST", "dispute:dp_1", 60_000)}


@pytest.mark.parametrize(("given", "outcome"), [
    ({"metadata": PED_1}, "duplicate"),
    ({"customer_tax_id": ANA}, "no_document"),
])  # fmt: skip
def test_a_payment_before_the_end_of_a_dispute_found_the_document_paid(
    case: "Case", given: dict[str, str], outcome: str
) -> None:
    """That it is open again does not make what came before its payment, by a key or by its customer."""
    _sale(case)
    _dispute(case)
    case.payment("pi_2", 100_000, occurred_at="2026-10-05T16:00:00Z", **given)
    run = case.run()
    assert run.line("pi_2", "outcome") == (outcome,)
    assert run.document("cl:33::1", "balance") == (100_000,)
    assert ("DISPUTE_LOST", "dispute:dp_1", 100_000) in run.found()


@pytest.mark.parametrize(("accepted", "balance", "at_risk"), [
    ({"amount": 25_000, "decided_at": "2026-10-06T16:00:00Z"}, 75_000, {75_000}),
    ({"amount": 100_000, "decided_at": "2026-10-06T16:00:00Z"}, 0, set()),
    ({"decided_at": "2026-10-06T16:00:00Z"}, 0, set()),
    ({"decided_at": "2026-10-06T11:00:00Z"}, 100_000, {100_000}),
])  # fmt: skip
def test_a_write_off_covers_a_lost_dispute(
    case: "Case", accepted: dict[str, Any], balance: int, at_risk: set[int]
) -> None:
    """By its amount, or whole; whoever accepted the rest of a document before it was lost did not mean this."""
    _sale(case)
    _dispute(case)
    case.add("decisions", kind="adjust", doc_key="cl:33::1", decision_id=1, **accepted)
    run = case.run()
    assert run.document("cl:33::1", "balance") == (balance,)
    assert {found[2] for found in run.found()} == at_risk


def test_a_rest_accepted_before_a_dispute_stays_accepted(case: "Case") -> None:
    """Of a document short by two hundred, what the dispute took is owed again, and not the two hundred."""
    _sale(case, paid=99_800)
    _dispute(case, 99_800)
    case.add("decisions", kind="adjust", doc_key="cl:33::1", decision_id=1, decided_at="2026-10-06T11:00:00Z")
    run = case.run()
    assert run.document("cl:33::1", "paid", "credited", "balance") == (0, 200, 99_800)
    assert run.found() == {("DISPUTE_LOST", "dispute:dp_1", 99_800)}
    case.payment("pi_2", 99_800, metadata=PED_1, occurred_at=AFTER)
    run = case.run()
    assert run.document("cl:33::1", "paid", "credited", "balance") == (99_800, 200, 0)
    assert run.found() == set()


@pytest.mark.parametrize("given", [{"resource_id": "pi_9"}, {"resource_id": None}, {}, {"currency": "USD"}])
def test_a_lost_dispute_without_a_document_waits_for_a_person(case: "Case", given: dict[str, Any]) -> None:
    """Of a payment that has none, of an unknown one, or in another currency: no document moves."""
    case.invoice("1", 100_000, **({} if given else {"order_ref": None, "customer_tax_id": None}))
    case.payment("pi_1", 100_000 if given else 55_000, metadata=PED_1)
    _dispute(case, **given)
    run = case.run()
    assert run.document("cl:33::1", "balance") == (0 if given else 100_000,)
    found = run.finding("DISPUTE_LOST")
    assert (found.amount_at_risk, found.doc_key, found.evidence["documents"]) == (100_000, None, [])


def test_a_dispute_whose_end_nobody_stated_counts_and_lets_no_later_payment_in(case: "Case") -> None:
    """No payment is known to have come after it."""
    _sale(case)
    _dispute(case, ended_at=None)
    case.payment("pi_2", 100_000, metadata=PED_1, occurred_at=AFTER)
    matched = case.match()
    assert matched.line("pi_2", "outcome") == ("duplicate",)
    assert matched.document("cl:33::1", "balance") == (100_000,)
    assert matched.lines("dp_1", "payout_id") == []


@pytest.mark.parametrize(("due_at", "severity", "due_on", "days_left"), [
    ("2026-10-15T03:30:00Z", "medium", "2026-10-15", 6),  # half past midnight in Santiago
    ("2026-10-15T02:59:00Z", "high", "2026-10-14", 5),
    ("2026-10-07T15:00:00Z", "high", "2026-10-07", 1),
    ("2026-10-05T15:00:00Z", "high", "2026-10-05", -1),
    (None, "high", None, None),
])  # fmt: skip
def test_a_dispute_that_waits_for_documents_is_urgent_near_its_deadline(
    case: "Case", due_at: str | None, severity: str, due_on: str | None, days_left: int | None
) -> None:
    """From five bank days before it, or where none is stated; Monday 12 October is a holiday."""
    _sale(case)
    _dispute(case, 20_000, status="waiting_documentation", due_at=due_at, ended_at=None)
    run = case.run()
    assert run.document("cl:33::1", "outcome", "balance") == ("paid", 0)
    found = run.finding("DISPUTE_OPEN")
    assert (found.severity, found.subject, found.amount_at_risk) == (severity, "dispute:dp_1", 20_000)
    assert (found.resource_id, found.doc_key) == ("pi_1", "cl:33::1")
    assert found.due_on == (date(2026, 10, 30) if due_on is None else date.fromisoformat(due_on))
    assert found.evidence == {
        "payment": "pi_1", "amount": 20_000, "dispute_state": "waiting_documentation", "due_on": due_on,
        "bank_days_left": days_left,
    }  # fmt: skip


@pytest.mark.parametrize(("status", "severity"), [("in_review", "info"), ("needs_response", "high")])
def test_a_dispute_in_review_is_told_and_an_unknown_state_waits(case: "Case", status: str, severity: str) -> None:
    """The one cannot be helped; of the other it is unknown."""
    _sale(case)
    _dispute(case, status=status, ended_at=None)
    found = case.run().finding("DISPUTE_OPEN")
    assert (found.severity, found.amount_at_risk) == (severity, 100_000)


def test_the_days_before_a_deadline_are_a_setting(case: "Case") -> None:
    """Ten bank days instead of five."""
    case.rules = {"days_to_deadline": 10}
    _sale(case)
    _dispute(case, status="waiting_documentation", due_at="2026-10-16T15:00:00Z", ended_at=None)
    assert case.run().finding("DISPUTE_OPEN").severity == "high"
