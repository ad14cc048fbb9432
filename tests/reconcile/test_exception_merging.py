"""Exceptions across runs, and their age."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest

from consumer.facts.bankdays import calendar_of
from reconcile.exceptions import Seen, age_bucket, age_in_bank_days, exception_id, merge
from reconcile.rules.inputs import Finding
from reconcile.tables import ExceptionRow

AT = datetime(2026, 9, 11, 6, tzinfo=UTC)


def _seen(*findings: Finding, as_of: date = date(2026, 9, 11), complete: bool = True) -> Seen:
    return Seen("main", "run2", as_of, AT, complete, findings)


def _row(**values: Any) -> ExceptionRow:
    fixed: dict[str, Any] = {
        "connection": "main", "id": exception_id("main", "AMOUNT_DIFF", "resource:pi_1"), "code": "AMOUNT_DIFF",
        "severity": "medium", "subject": "resource:pi_1", "title": "t", "opened_on": date(2026, 9, 1),
        "last_seen_on": date(2026, 9, 10), "amount_at_risk": 100, "currency": "CLP", "resource_id": "pi_1",
        "evidence": '{"seen": 100}', "suggested_action": "look", "state": "open", "owner": "ana", "note": "asked",
        "run_first": "run0", "run_last": "run1", "version": 3,
    }  # fmt: skip
    return ExceptionRow(**(fixed | values))


def test_the_identity_is_a_short_hash_of_connection_code_and_subject() -> None:
    """The id never changes, so that sheets and links to it keep working."""
    assert exception_id("main", "AMOUNT_DIFF", "resource:pi_1") == "8cfb70d4c48c4130"


def test_seen_again_keeps_owner_note_and_version(finding: Callable[..., Finding]) -> None:
    """A run that sees the same again moves only the last day and run, so nobody's edit becomes stale."""
    row = _row()
    merged = merge([row], _seen(finding("AMOUNT_DIFF", "resource:pi_1", resource_id="pi_1")), in_scope={row.id: True})
    assert merged.changed == {row.id: {"last_seen_on": date(2026, 9, 11), "run_last": "run2"}}
    assert (merged.opened, merged.history) == ([], [])


def test_another_amount_is_remembered_and_ages_edits(finding: Callable[..., Finding]) -> None:
    """A changed amount at risk is history, and whoever looked before must look again."""
    row = _row()
    found = finding("AMOUNT_DIFF", "resource:pi_1", 70, resource_id="pi_1")
    merged = merge([row], _seen(found), in_scope={row.id: True})
    assert merged.changed[row.id]["amount_at_risk"] == 70
    assert merged.changed[row.id]["version"] == 4
    assert [(change["before"], change["after"]) for change in merged.history] == [("100", "70")]


@pytest.mark.parametrize(("at_risk", "state"), [(100, None), (70, "open")])
def test_what_a_person_closed_stays_closed_while_it_is_the_same(
    finding: Callable[..., Finding], at_risk: int, state: str | None
) -> None:
    """An accepted difference opens again only when what is at risk changes."""
    row = _row(state="resolved", resolution="rounding", resolved_on=date(2026, 9, 9))
    found = finding("AMOUNT_DIFF", "resource:pi_1", at_risk, resource_id="pi_1")
    found.evidence["seen"] = 100
    assert merge([row], _seen(found), in_scope={}).changed[row.id].get("state") == state


def test_a_data_gap_closes_even_when_others_remain() -> None:
    """An incomplete run may say that one stream is whole again, and nothing else."""
    gap = _row(id="a" * 16, code="DATA_GAP", subject="stream:refunds", resource_id=None)
    other = _row()
    merged = merge([gap, other], _seen(complete=False), in_scope={gap.id: True, other.id: True})
    assert merged.changed == {
        "a" * 16: {"state": "resolved", "resolved_on": date(2026, 9, 11), "resolution": "gone", "version": 4}
    }


def test_no_run_touches_what_was_seen_on_a_later_day(finding: Callable[..., Finding]) -> None:
    """A run of an earlier day neither moves nor resolves it."""
    row = _row(last_seen_on=date(2026, 9, 20))
    found = finding("AMOUNT_DIFF", "resource:pi_1", 5, resource_id="pi_1")
    assert merge([row], _seen(found), in_scope={row.id: True}).changed == {}
    assert merge([row], _seen(), in_scope={row.id: True}).changed == {}


@pytest.mark.parametrize(
    ("on", "age", "bucket"),
    [
        (date(2026, 9, 16), 0, "0-1"),
        (date(2026, 9, 17), 1, "0-1"),
        (date(2026, 9, 21), 2, "2-3"),
        (date(2026, 9, 28), 7, "4-7"),
        (date(2026, 11, 30), 51, "over 30"),
    ],
)
def test_exceptions_age_in_bank_days(on: date, age: int, bucket: str) -> None:
    """Weekends and the holidays of September do not age anything."""
    found = age_in_bank_days(date(2026, 9, 16), on, calendar_of("cl"))
    assert (found, age_bucket(found)) == (age, bucket)
