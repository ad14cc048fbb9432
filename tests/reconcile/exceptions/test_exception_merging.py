"""Exceptions across runs, and their age."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from consumer.facts.bankdays import calendar_of
from reconcile.exceptions.life import OPENED, ExceptionState, Seen, build_opened_rows, by_identity, exception_id, merge
from reconcile.rules.findings import count_bank_days
from reconcile.rules.inputs import Finding
from reconcile.rules.outcomes import to_age_bucket

AT = datetime(2026, 9, 11, 6, tzinfo=UTC)


def _seen(*findings: Finding, as_of: date = date(2026, 9, 11), complete: bool = True) -> Seen:
    return Seen("main", "run2", as_of, AT, complete, by_identity("main", findings))


def _whole(_row: ExceptionState) -> bool:
    return True


def _row(**values: Any) -> ExceptionState:
    fixed: dict[str, Any] = {
        "id": exception_id("main", "AMOUNT_DIFF", "resource:pi_1"), "code": "AMOUNT_DIFF", "severity": "medium",
        "subject": "resource:pi_1", "title": "t", "amount_at_risk": 100, "currency": "CLP", "payout_id": None,
        "resource_id": "pi_1", "doc_key": None, "evidence": '{"seen": 100}', "suggested_action": "look",
        "fact_on": None, "due_on": None, "customer_name": None, "state": "open", "resolution": "",
        "resolved_on": None, "last_seen_on": date(2026, 9, 10), "version": 3,
    }  # fmt: skip
    return ExceptionState(**(fixed | values))


def test_the_identity_is_a_short_hash_of_connection_code_and_subject() -> None:
    """The id never changes, so that sheets and links to it keep working."""
    assert exception_id("main", "AMOUNT_DIFF", "resource:pi_1") == "8cfb70d4c48c4130"


def test_seen_again_keeps_owner_note_and_version(finding: Callable[..., Finding]) -> None:
    """A run that sees the same again moves only the last day and run, so no edit becomes stale."""
    row = _row()
    merged = merge([row], _seen(finding("AMOUNT_DIFF", "resource:pi_1", resource_id="pi_1")), could_find=_whole)
    assert merged.seen_again == [row.id]
    assert (merged.changed, merged.opened, merged.history) == ({}, {}, [])


def test_an_exception_of_before_learns_its_day_and_customer_without_a_new_version(
    finding: Callable[..., Finding],
) -> None:
    """What a run knows now of an old exception is completed; no open form becomes stale by it."""
    shown = {"fact_on": date(2026, 9, 1), "due_on": date(2026, 9, 30), "customer_name": "Ana"}
    found = replace(finding("AMOUNT_DIFF", "resource:pi_1", resource_id="pi_1"), **shown)
    merged = merge([_row()], _seen(found), could_find=_whole)
    assert merged.changed == {
        _row().id: {"last_seen_on": date(2026, 9, 11), "run_last": "run2", **shown},
    }
    assert merged.history == []


def test_a_gap_keeps_its_last_day_when_a_run_of_an_earlier_day_sees_it(finding: Callable[..., Finding]) -> None:
    """A run ahead of the data and then the night before it: the day on which a gap was last seen does not go back."""
    gap = finding("DATA_GAP", "stream:refunds")
    row = _row(id=exception_id("main", "DATA_GAP", "stream:refunds"), code="DATA_GAP", last_seen_on=date(2026, 9, 21))
    merged = merge([row], _seen(gap, as_of=date(2026, 9, 20), complete=False), could_find=_whole)
    assert merged.seen_again == []
    assert merged.changed[row.id]["last_seen_on"] == date(2026, 9, 21)
    gone = merge([row], _seen(as_of=date(2026, 9, 20)), could_find=_whole)
    assert gone.changed[row.id]["resolved_on"] == date(2026, 9, 21)


def test_another_amount_is_remembered_and_ages_edits(finding: Callable[..., Finding]) -> None:
    """A changed amount at risk is history, and whoever looked before must look again."""
    row = _row()
    found = finding("AMOUNT_DIFF", "resource:pi_1", 70, resource_id="pi_1")
    merged = merge([row], _seen(found), could_find=_whole)
    assert merged.changed[row.id]["amount_at_risk"] == 70
    assert merged.changed[row.id]["version"] == 4
    assert [(change.before, change.after) for change in merged.history] == [("100", "70")]


@pytest.mark.parametrize(("at_risk", "state"), [(100, None), (70, "open")])
def test_what_a_person_closed_stays_closed_while_it_is_the_same(
    finding: Callable[..., Finding], at_risk: int, state: str | None
) -> None:
    """An accepted difference opens again only when what is at risk changes."""
    row = _row(state="resolved", resolution="rounding", resolved_on=date(2026, 9, 9))
    found = finding("AMOUNT_DIFF", "resource:pi_1", at_risk, resource_id="pi_1")
    found.evidence["seen"] = 100
    merged = merge([row], _seen(found), could_find=_whole)
    assert merged.changed.get(row.id, {}).get("state") == state
    assert merged.seen_again == ([row.id] if state is None else [])


def test_a_data_gap_closes_even_when_others_remain() -> None:
    """An incomplete run may say that one stream is whole again, and nothing else."""
    gap = _row(id="a" * 16, code="DATA_GAP", resource_id=None)
    other = _row()
    merged = merge([gap, other], _seen(complete=False), could_find=_whole)
    assert merged.changed == {
        "a" * 16: {"state": "resolved", "resolved_on": date(2026, 9, 11), "resolution": "gone", "version": 4}
    }


def test_no_run_touches_what_was_seen_on_a_later_day(finding: Callable[..., Finding]) -> None:
    """A run of an earlier day neither moves nor resolves it."""
    row = _row(last_seen_on=date(2026, 9, 20))
    found = finding("AMOUNT_DIFF", "resource:pi_1", 5, resource_id="pi_1")
    assert merge([row], _seen(found), could_find=_whole).changed == {}
    assert merge([row], _seen(), could_find=_whole).changed == {}


def test_what_a_run_could_not_find_stays_open() -> None:
    """A run of one payout says nothing about another's exceptions."""
    assert merge([_row()], _seen(), could_find=lambda _: False).changed == {}


def test_two_findings_of_one_identity_are_refused(finding: Callable[..., Finding]) -> None:
    """One would hide the other, and what is at risk would be counted once."""
    with pytest.raises(ValueError, match="same code and subject"):
        _seen(finding("AMOUNT_DIFF", "resource:pi_1", 1), finding("AMOUNT_DIFF", "resource:pi_1", 2))


def test_evidence_is_text_whose_order_says_nothing(finding: Callable[..., Finding]) -> None:
    """The same evidence in another order is the same; letters of any language stay readable."""
    found = finding("AMOUNT_DIFF", "resource:pi_1", resource_id="pi_1")
    found.evidence.update({"seen": 100, "customer": "Ñandú", "before": [1, None]})
    seen = _seen(found)
    (row,) = build_opened_rows(merge([], seen, could_find=_whole))
    assert dict(zip(OPENED, row, strict=True))["evidence"] == '{"before": [1, null], "customer": "Ñandú", "seen": 100}'


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
    found = count_bank_days(date(2026, 9, 16), on, calendar_of("cl"))
    assert (found, to_age_bucket(found)) == (age, bucket)
