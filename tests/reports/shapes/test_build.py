"""Rows become report tables: typed, filtered, aged in bank days."""

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from consumer.facts.bankdays import calendar_of
from reports.shapes import build
from reports.shapes.build import BuildError
from reports.shapes.definitions import CATALOGUE

CALENDARS = {"main": calendar_of("cl")}
RUN_DIFF = {"kind": "line", "subject": "pi_1", "before": None, "after": "matched", "cause": None, "connection": "main"}


def exception(**changes: Any) -> dict[str, Any]:
    row = {
        "connection": "main",
        "opened_on": date(2026, 12, 31),
        "fact_on": date(2026, 10, 2),
        "resolved_on": None,
        "state": "open",
        "resolution": "",
    }
    return row | changes


def test_a_missing_column_is_refused() -> None:
    """A row that lacks a column stops the report instead of showing a blank."""
    row = {name: value for name, value in RUN_DIFF.items() if name != "cause"}
    with pytest.raises(BuildError, match="run-diff: a row has no cause"):
        build.to_table(CATALOGUE["run-diff"], [row], currency=lambda _: "CLP")


@pytest.mark.parametrize("value", ["12", 1.5, True])
def test_money_that_is_no_integer_is_refused(value: object) -> None:
    """Amounts are integers of minor units; nothing else is guessed into one."""
    row = dict.fromkeys(CATALOGUE["control"].names, "x") | {"amount": value, "currency": "CLP"}
    with pytest.raises(BuildError, match="control: amount cannot be"):
        build.to_table(CATALOGUE["control"], [row], currency=lambda _: "CLP")


def test_rows_sort_whatever_order_they_came_in() -> None:
    """The same rows in another order make the same table."""
    rows = [{**RUN_DIFF, "subject": subject} for subject in ("b", "a", "c")]
    table = build.to_table(CATALOGUE["run-diff"], rows, currency=lambda _: "CLP")
    assert table.column("subject").to_pylist() == ["a", "b", "c"]


def test_an_instant_with_an_offset_becomes_utc() -> None:
    """Times are kept in UTC whatever offset they were written with."""
    row = dict.fromkeys(CATALOGUE["in-transit"].names) | {"occurred_at_utc": "2026-10-05T16:30:00-03:00"}
    table = build.to_table(CATALOGUE["in-transit"], [row], currency=lambda _: "CLP")
    assert table.column("occurred_at_utc").to_pylist() == [datetime(2026, 10, 5, 19, 30, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("as_of", "age", "bucket"),
    [
        (date(2026, 10, 2), 0, "0-1"),
        (date(2026, 10, 5), 1, "0-1"),
        (date(2026, 10, 7), 3, "2-3"),
        (date(2026, 10, 14), 7, "4-7"),
        (date(2026, 10, 15), 8, "8-30"),
        (date(2026, 12, 15), 50, "over 30"),
    ],
)
def test_exceptions_age_in_bank_days(as_of: date, age: int, bucket: str) -> None:
    """Weekends, 12 October and 8 December do not make an exception older."""
    rows = list(build.exceptions([exception()], CALENDARS, as_of=as_of))
    assert [(row["age_business_days"], row["age_bucket"]) for row in rows] == [(age, bucket)]


def test_an_exception_resolved_later_was_open_on_the_day() -> None:
    """Asked as of an earlier day, the list shows what a person saw then."""
    row = exception(resolved_on=date(2026, 10, 9), state="resolved", resolution="paid twice, refunded")
    shown = list(build.exceptions([row], CALENDARS, as_of=date(2026, 10, 8)))
    assert [(r["state"], r["resolved_on"], r["resolution"]) for r in shown] == [("open", None, "")]


def aged(balance: int, outcome: str, issue: str, due: str | None, due_days: int) -> list[tuple[int, str, str]]:
    """Age one document on 8 October."""
    days = {"issue_date": date.fromisoformat(issue), "due_date": due and date.fromisoformat(due)}
    schema = pa.schema(
        {"issue_date": pa.date32(), "due_date": pa.date32(), "balance": pa.int64(), "outcome": pa.string()}
    )
    table = pa.Table.from_pylist([{**days, "balance": balance, "outcome": outcome}], schema=schema)
    rows = build.receivables(table, due_days, as_of=date(2026, 10, 8)).to_pylist()
    return [(row["days_overdue"], row["bucket"], row["state"]) for row in rows]


@pytest.mark.parametrize(
    ("due", "days", "bucket"),
    [("2026-10-08", 0, "not due"), ("2026-10-07", 1, "1-30"), ("2026-08-09", 60, "31-60"),
     ("2026-07-09", 91, "over 90"), (None, 19, "1-30")],
)  # fmt: skip
def test_receivables_by_days_overdue(due: str | None, days: int, bucket: str) -> None:
    """Overdue counts from the due date, or thirty days after issue where there is none."""
    assert aged(100, "overdue", "2026-08-20", due, 30) == [(days, bucket, "overdue")]


def test_a_document_becomes_overdue_on_the_day_that_is_asked() -> None:
    """What was not due or partly paid in the run is overdue once its day is past."""
    assert aged(100, "partly_paid", "2026-08-20", "2026-10-07", 30) == [(1, "1-30", "overdue")]
    assert aged(100, "open_not_due", "2026-08-20", "2026-10-08", 30) == [(0, "not due", "open_not_due")]


def test_a_credit_balance_is_no_age_of_what_is_owed() -> None:
    """However long ago the document was due: the merchant owes it, and no day of it is overdue."""
    assert aged(-100, "overpaid", "2026-08-01", "2026-08-09", 30) == [(0, "credit", "overpaid")]


def test_the_agreed_days_decide_where_no_due_date_is() -> None:
    """`due_days` of the rules counts for receivables too: ten days after issue, not thirty."""
    assert aged(100, "overdue", "2026-09-20", None, 10)[0][0] == 8


def test_what_waits_is_aged_and_told_when_to_expect_it() -> None:
    """In Chile a payment of Friday is expected on its bank day and is one bank day old on Monday."""
    friday = pa.array([date(2026, 10, 2)])
    items = pa.table({"resource_id": ["pi_1"], "local_date": friday, "bank_day": friday})
    rows = build.in_transit(items, calendar_of("cl"), as_of=date(2026, 10, 5)).to_pylist()
    assert [(r["age_business_days"], r["expected_payout_day"]) for r in rows] == [(1, date(2026, 10, 2))]


def test_what_waits_without_a_day_is_named() -> None:
    """An item whose age cannot be told is no item of today."""
    nothing = pa.nulls(1, pa.date32())
    items = pa.table({"resource_id": ["pi_1"], "local_date": nothing, "bank_day": nothing})
    with pytest.raises(build.BuildError, match="item pi_1 waits and has no local_date"):
        build.in_transit(items, calendar_of("cl"), as_of=date(2026, 10, 5))
