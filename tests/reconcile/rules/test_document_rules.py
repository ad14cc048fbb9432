"""How documents stand, what the gate withholds, what events in conflict say, and what finance reads."""

from datetime import date
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from reconcile.rules.inputs import DOCUMENT_RESULTS, DOCUMENTS, LINES, SUMMARY, FrameError, to_types
from reconcile.rules.outcomes import Code

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA = "11111111-1"
KEY = '{"order_ref": "PED-1"}'


def test_a_document_not_yet_due_is_open(case: "Case") -> None:
    """On its due date it is still expected, not missing."""
    case.invoice("1", 50_000, due_date=date(2026, 10, 6))
    run = case.run()
    assert run.document("cl:33::1", "outcome", "balance", "payments") == ("open_not_due", 50_000, 0)
    assert run.found() == set()


def test_a_document_is_overdue_the_day_after_its_due_date(case: "Case") -> None:
    """Its exception is of the balance, also where a part was paid."""
    case.invoice("1", 50_000, due_date=date(2026, 10, 5))
    case.payment("pi_1", 20_000, metadata=KEY)
    run = case.run()
    assert run.document("cl:33::1", "outcome", "balance", "exception_code") == ("overdue", 30_000, "INVOICE_NO_PAYMENT")
    assert run.found() == {("INVOICE_NO_PAYMENT", "document:cl:33::1", 30_000)}
    assert run.finding("INVOICE_NO_PAYMENT").evidence["paid"] == 20_000


@pytest.mark.parametrize(("issued", "outcome"), [(date(2026, 9, 6), "open_not_due"), (date(2026, 9, 5), "overdue")])
def test_due_missing_is_thirty_days_after_issue(case: "Case", issued: date, outcome: str) -> None:
    """A document without due date is overdue on the thirty-first day."""
    case.invoice("1", 50_000, issue_date=issued, due_date=None)
    assert case.match().document("cl:33::1", "outcome", "due_date") == (outcome, None)


def test_notes_that_cover_part_only_lower_the_balance(case: "Case") -> None:
    """What is left is still asked for."""
    case.invoice("1", 50_000)
    case.note("9", "1", 20_000)
    assert case.match().document("cl:33::1", "outcome", "credited", "balance") == ("open_not_due", 20_000, 30_000)


def test_notes_that_cover_all_of_it_make_a_document_credited(case: "Case") -> None:
    """A called-off sale is not overdue."""
    case.invoice("1", 50_000, due_date=date(2026, 10, 2))
    case.note("9", "1", 50_000)
    run = case.run()
    assert run.document("cl:33::1", "outcome", "balance") == ("credited", 0)
    assert run.found() == set()


@pytest.mark.parametrize("status", ["void", "Anulada", "cancelado", "cancelled"])
def test_words_for_void(case: "Case", status: str) -> None:
    """Every word for a cancelled document is understood, and it is never overdue."""
    case.invoice("1", 50_000, status=status, due_date=date(2026, 10, 2))
    run = case.run()
    assert run.document("cl:33::1", "outcome", "balance") == ("void", 0)
    assert run.found() == set()


def test_delivery_notes_and_totals_claim_nothing(case: "Case") -> None:
    """Documents that are no claim are neither matched nor overdue."""
    case.invoice("1", 50_000, doc_key="cl:52::1", doc_type="52", due_date=date(2026, 10, 2))
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    matched = case.match()
    assert matched.document("cl:52::1", "outcome", "balance") == ("paid", 0)
    assert matched.line("pi_1", "outcome") == ("no_document",)


def test_a_folio_of_two_series_is_told_apart_by_the_notes_customer(case: "Case") -> None:
    """A note refers to the document of its own customer."""
    case.invoice("1", 50_000, doc_key="cl:33:A:1", series="A", customer_tax_id="22222222-2")
    case.invoice("1", 50_000, doc_key="cl:33:B:1", series="B")
    case.note("9", "1", 20_000)
    matched = case.match()
    assert matched.document("cl:33:A:1", "credited") == (0,)
    assert matched.document("cl:33:B:1", "credited") == (20_000,)


def _gap(case: "Case", stream: str, since: str | None, until: str | None) -> None:
    case.add("gaps", stream=stream, since=since, until=until, reason="a page failed")


def test_incomplete_data_gives_one_data_gap_per_stream_and_withholds_missing(case: "Case") -> None:
    """Nothing that could be untrue tomorrow is called missing; what is there is still judged."""
    case.as_of = date(2026, 10, 30)
    case.invoice("1", 50_000, due_date=date(2026, 10, 5))
    case.payment("pi_1", 40_000)
    _gap(case, "events", "2026-10-05T00:00:00Z", "2026-10-05T01:00:00Z")
    _gap(case, "events", "2026-10-06T00:00:00Z", "2026-10-06T01:00:00Z")
    _gap(case, "refunds", None, None)
    run = case.run()
    assert run.found() == {
        ("DATA_GAP", "stream:events", 0),
        ("DATA_GAP", "stream:refunds", 0),
        ("PAYMENT_NO_INVOICE", "resource:pi_1", 40_000),
    }
    assert run.result.complete is False
    assert run.document("cl:33::1", "outcome", "exception_code") == ("overdue", None)


def test_payouts_touched_by_a_gap_show_incomplete(case: "Case") -> None:
    """A payout whose window lies elsewhere keeps its standing."""
    case.payment("pi_1", 50_000, payout_id="po_1", occurred_at="2026-09-28T15:00:00Z")
    case.payout("po_1", 49_000, created_at="2026-09-28T17:20:00Z", succeeded_at="2026-09-28T18:00:00Z")
    case.payment("pi_2", 50_000, payout_id="po_2")
    case.payout("po_2", 49_000)
    _gap(case, "events", "2026-10-05T12:00:00Z", "2026-10-05T13:00:00Z")
    run = case.run()
    assert run.payout("po_1", "status_recon") == ("no_bank",)
    assert run.payout("po_2", "status_recon") == ("incomplete",)


def test_complete_data_says_so(case: "Case") -> None:
    """Without gaps the run is complete."""
    assert case.run().result.complete is True


def test_events_in_conflict_are_named_once_each(case: "Case") -> None:
    """Two versions of one event are one exception, of the amount where it is known."""
    case.add("conflicts", event_id="evt_1", resource_id="pi_1", amount=5_000)
    case.add("conflicts", event_id="evt_1", resource_id="pi_1", amount=5_000)
    case.add("conflicts", event_id="evt_2", resource_id=None, amount=None)
    assert case.run().found() == {("EVENT_CONFLICT", "event:evt_1", 5_000), ("EVENT_CONFLICT", "event:evt_2", 0)}


def test_nothing_in_is_nothing_out(case: "Case") -> None:
    """Empty frames give empty frames of the contract's columns and types."""
    result = case.run().result
    assert [*result.payouts.dtypes.astype(str).items()] == [*SUMMARY.items()]
    assert [*result.lines.dtypes.astype(str).items()] == [*LINES.items()]
    assert [*result.documents.dtypes.astype(str).items()] == [*DOCUMENT_RESULTS.items()]
    assert (len(result.payouts), len(result.lines), len(result.documents), result.findings) == (0, 0, 0, ())


def test_a_frame_without_a_column_is_refused_by_name() -> None:
    """The missing column is said."""
    with pytest.raises(FrameError, match="the frame lacks total, currency"):
        to_types(pd.DataFrame(columns=[name for name in DOCUMENTS if name not in {"total", "currency"}]), DOCUMENTS)


def test_nothing_is_not_the_word_none() -> None:
    """Missing text stays missing, whatever type it came in."""
    row = dict.fromkeys(DOCUMENTS) | {"doc_key": "cl:33::1"}
    frame = to_types(pd.DataFrame([row]), DOCUMENTS)
    assert frame["series"].isna().all()


def test_every_code_has_words() -> None:
    """No exception reaches a person without severity, title and what to do."""
    from reconcile.rules.findings import About, to_finding  # noqa: PLC0415 - only here

    for code in Code:
        finding = to_finding(code, About("stream:x", "CLP"), at_risk=0)
        assert finding.severity in {"high", "medium", "low", "info"}
        assert finding.title
        assert finding.suggested_action


def test_findings_are_sorted_by_severity_code_and_subject(case: "Case") -> None:
    """High first, then by code and subject."""
    case.payment("pi_2", 1_000)
    case.payment("pi_1", 1_000)
    case.payout("po_1", 5_000)
    assert [(finding.code, finding.subject) for finding in case.run().result.findings] == [
        ("PAYOUT_IDENTITY", "payout:po_1"),
        ("PAYMENT_NO_INVOICE", "resource:pi_1"),
        ("PAYMENT_NO_INVOICE", "resource:pi_2"),
    ]


def test_a_short_list_of_one_payout_leaves_its_neighbours_alone(case: "Case") -> None:
    """A gap that names a payout concerns that one, whatever else was alive at its moment."""
    for number in (1, 2):
        case.payment(f"pi_{number}", 50_000, payout_id=f"po_{number}")
        case.payout(f"po_{number}", 49_000)
    moment = "2026-10-05T17:20:00Z"
    case.add("gaps", stream="payout-items", since=moment, until=moment, reason="po_2: short", payout_id="po_2")
    run = case.run()
    assert run.payout("po_1", "status_recon") == ("no_bank",)
    assert run.payout("po_2", "status_recon") == ("incomplete",)


def test_a_year_whose_bank_days_nobody_knows_is_said(case: "Case") -> None:
    """Dates outside the calendar are judged by weekends alone, and each such year is one piece of information."""
    case.invoice("1", 50_000, due_date=date(2206, 10, 30))
    case.invoice("2", 50_000, issue_date=date(2014, 3, 3), due_date=date(2026, 10, 30))
    run = case.run()
    assert run.found() == {("CALENDAR_GAP", "calendar:cl:2014", 0), ("CALENDAR_GAP", "calendar:cl:2206", 0)}
    assert {finding.severity for finding in run.result.findings} == {"info"}


def test_a_note_on_several_documents_gives_each_its_part(case: "Case") -> None:
    """By their totals, to the unit; a note that names one the books do not know lowers none."""
    case.invoice("1", 60_000)
    case.invoice("2", 30_000)
    case.invoice("3", 30_001)
    case.note("9", "1 2 3", 100)
    case.note("10", "1 77", 60_000)
    run = case.run()
    assert [run.document(f"cl:33::{folio}", "credited") for folio in (1, 2, 3)] == [(50,), (25,), (25,)]


def test_a_note_that_takes_several_paid_documents_back_is_one_exception(case: "Case") -> None:
    """Its amount at risk is all that was not given back."""
    for folio, amount in (("1", 60_000), ("2", 40_000)):
        case.invoice(folio, amount)
        case.payment(f"pi_{folio}", amount, metadata=f'{{"order_ref": "PED-{folio}"}}')
    case.note("9", "1 2", 100_000, ref_type="33 33", issue_date=date(2026, 10, 6))
    found = case.run().found()
    assert ("CREDIT_NOTE_NO_REFUND", "document:cl:61::9", 100_000) in found
