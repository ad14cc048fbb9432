"""Suggestions without a tax id: where the window has several documents, the one of the payment's own day."""

from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case


def test_the_document_of_the_payments_own_day_is_suggested(case: "Case") -> None:
    """Of two documents of one amount the one issued on the day of the payment is suggested, and not matched."""
    case.invoice("1", 50_000, issue_date=date(2026, 10, 1))
    case.invoice("2", 50_000, issue_date=date(2026, 10, 5))
    case.payment("pi_1", 50_000)
    run = case.run()
    assert run.line("pi_1", "outcome", "match_rule") == ("suggested", "suggestion:amount+day")
    assert run.finding("PAYMENT_NO_INVOICE").evidence["suggestion"] == "cl:33::2"
    assert run.finding("PAYMENT_NO_INVOICE").evidence["candidates"] == 2
    assert run.document("cl:33::2", "paid") == (0,)


def test_two_documents_of_that_day_suggest_nothing(case: "Case") -> None:
    """A day that has two such documents decides nothing."""
    case.invoice("1", 50_000, issue_date=date(2026, 10, 5))
    case.invoice("2", 50_000, issue_date=date(2026, 10, 5))
    case.payment("pi_1", 50_000)
    assert case.match().line("pi_1", "outcome", "match_rule") == ("no_document", "none:amount_only")


def test_two_payments_of_that_day_suggest_nothing(case: "Case") -> None:
    """Nor does one that has two such payments."""
    case.invoice("1", 50_000, issue_date=date(2026, 10, 1))
    case.invoice("2", 50_000, issue_date=date(2026, 10, 5))
    case.payment("pi_1", 50_000)
    case.payment("pi_2", 50_000, occurred_at="2026-10-05T16:00:00Z")
    matched = case.match()
    assert matched.line("pi_1", "outcome") == matched.line("pi_2", "outcome") == ("no_document",)


def test_each_day_has_its_own_suggestion(case: "Case") -> None:
    """Equal sales of two days, each paid on its day, are distinguished."""
    case.as_of = date(2026, 10, 7)
    case.invoice("1", 50_000, issue_date=date(2026, 10, 5))
    case.invoice("2", 50_000, issue_date=date(2026, 10, 6))
    case.payment("pi_1", 50_000)
    case.payment("pi_2", 50_000, occurred_at="2026-10-06T15:00:00Z")
    findings = [item for item in case.run().result.findings if item.code == "PAYMENT_NO_INVOICE"]
    found = {item.resource_id: item.evidence["suggestion"] for item in findings}
    assert found == {"pi_1": "cl:33::1", "pi_2": "cl:33::2"}
