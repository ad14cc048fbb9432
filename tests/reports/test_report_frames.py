"""What the reports ask of results: which run is shown, the last payment of a document, how many lines there are."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.installation import Installation
from reconcile.kept import chunks, extracts
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import ResultChunk
from reports.queries import frames
from reports.shapes.spans import WHOLE, Span

TODAY = date(2026, 10, 8)


def shown(installation: Installation, as_of: date | None = None) -> list[int]:
    with installation.store.reading() as session:
        return [run.number for run in frames.latest_runs(session, ["main"], today=TODAY, as_of=as_of)]


def test_a_run_of_days_to_come_is_not_what_pages_show(reconciled: Installation, keep_run: Callable[..., None]) -> None:
    """Who asks what will be due at the end of the year does not change what everybody sees today."""
    with reconciled.store.transaction() as session:
        keep_run(session, run_id="run-9", number=99, as_of=date(2026, 12, 31))
    assert shown(reconciled) == [42]
    assert shown(reconciled, as_of=date(2026, 12, 31)) == [99]


def test_a_demo_ahead_of_the_clock_is_shown(installation: Installation, keep_run: Callable[..., None]) -> None:
    """Where every run is of days to come, the latest of them is better than nothing."""
    with installation.store.transaction() as session:
        keep_run(session, run_id="run-1", number=1, as_of=date(2026, 11, 1))
        keep_run(session, run_id="run-2", number=2, as_of=date(2026, 11, 2))
    assert shown(installation) == [2]


def test_lines_are_counted_by_whole_chunks(reconciled: Installation) -> None:
    """A range that meets no chunk holds no line."""
    with reconciled.store.reading() as session:
        runs = frames.latest_runs(session, ["main"], today=TODAY)
        assert frames.count_lines(session, runs, WHOLE) == 4
        assert frames.count_lines(session, runs, Span(date(2027, 1, 1), None)) == 0


@pytest.fixture
def doubled(reconciled: Installation) -> Installation:
    """The made-up run where every line is followed by a further one, as of a second document."""
    with reconciled.store.transaction() as session:
        chunk = session.scalars(sa.select(ResultChunk).where(col(ResultChunk.kind) == chunks.LINE)).one()
        first = pq.read_table(pa.BufferReader(chunk.content))
        place = first.column_names.index("line")
        second = first.set_column(place, "line", pa.array([2] * first.num_rows, first["line"].type))
        sink = pa.BufferOutputStream()
        pq.write_table(pa.concat_tables([first, second]), sink)
        chunk.content = sink.getvalue().to_pybytes()
        session.add(chunk)
    return reconciled


def test_a_second_document_of_an_item_adds_no_money(doubled: Installation) -> None:
    """Further lines of an item carry documents, not amounts: neither the balance nor the totals count them."""
    with doubled.store.reading() as session:
        runs = frames.latest_runs(session, ["main"], today=TODAY)
        waiting = extracts.read(session, runs[0], chunks.TRANSIT).to_pylist()
        figures = list(frames.figure_rows(session, runs, WHOLE))
    assert [(item["resource_id"], item["amount_signed"]) for item in waiting] == [("pi_3", 30_000)]
    assert {row["name"]: row["amount"] for row in figures if row["source"] == "payout-detail"} == {
        "payment_intent": 150_000,
        "refund": -10_000,
    }


@pytest.mark.parametrize(
    ("opened", "resolved", "is_shown"),
    [
        (date(2026, 9, 1), None, True),
        (date(2026, 9, 1), date(2026, 9, 30), False),
        (date(2026, 9, 1), date(2026, 10, 1), True),
        (date(2026, 10, 31), date(2026, 11, 3), True),
        (date(2026, 11, 2), date(2026, 11, 3), False),
        (date(2026, 11, 9), None, True),
        (date(2026, 11, 9), date(2026, 11, 10), False),
    ],
)
def test_exceptions_of_a_range(installation: Installation, opened: date, resolved: date | None, is_shown: bool) -> None:  # noqa: FBT001 - pytest names it
    """Opening or closing inside the range, open on the day or still open; nothing that came and went after that day."""
    span = Span(date(2026, 10, 1), date(2026, 10, 31))
    row: dict[str, Any] = {"connection": "main", "id": "e1", "opened_on": opened, "resolved_on": resolved}
    words: tuple[str, ...] = ("code", "severity", "subject", "title", "currency", "state", "run_first", "run_last")
    row |= dict.fromkeys(words, "x")
    with installation.store.transaction() as session:
        session.add(ExceptionRow(**row, last_seen_on=opened, amount_at_risk=1))
        session.flush()
        shown = frames.exceptions_shown(["main"], span, date(2026, 11, 8))
        assert [found["exception_id"] for found in frames.exception_rows(session, shown)] == ["e1"] * is_shown
