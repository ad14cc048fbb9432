"""Pages of reports: the same rows as the file, whether they were taken out when the run was published or not."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import sqlalchemy as sa

from consumer.facts.installation import Installation
from reconcile.kept import chunks, extracts
from reconcile.rules.inputs import Result
from reconcile.tables.runs import ResultChunk
from reports.making import catalogue, columnar, windows
from reports.pages.views import add_up_ages, sides
from reports.queries import frames
from reports.queries.query import Query
from reports.shapes.spans import WHOLE, Span

TODAY, NOW = date(2026, 10, 8), datetime(2026, 10, 8, 15, tzinfo=UTC)
OCTOBER = Span(date(2026, 10, 1), date(2026, 10, 31))
NAMES = ("payout-summary", "payout-detail", "documents", "receivables", "in-transit", "exceptions")
WHOLE_LISTS = ("payout-summary", "documents", "receivables", "in-transit")
OF_RUNS = (*NAMES, "clearing-rollforward", "control")


def query(installation: Installation, name: str, span: Span = WHOLE) -> Query:
    return Query(name, installation.connections(None), TODAY, span)


def rows_of(installation: Installation, name: str, span: Span = WHOLE) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = catalogue.make(installation, query(installation, name, span)).table.to_pylist()
    return rows


@pytest.mark.parametrize("span", [WHOLE, OCTOBER, Span(date(2026, 11, 1), None)], ids=["whole", "october", "later"])
@pytest.mark.parametrize("name", OF_RUNS)
def test_what_was_taken_out_says_what_the_lines_say(
    reconciled: Installation, request: pytest.FixtureRequest, name: str, span: Span
) -> None:
    """A run published before and one published today make the same report."""
    today = rows_of(reconciled, name, span)
    assert rows_of(request.getfixturevalue("as_before"), name, span) == today


@pytest.mark.parametrize("span", [WHOLE, OCTOBER, Span(None, date(2026, 9, 30))], ids=["whole", "october", "before"])
@pytest.mark.parametrize("name", NAMES)
def test_pages_together_are_the_report(reconciled: Installation, name: str, span: Span) -> None:
    """One row a page, page after page: every row once, in the order of the file, and the total on every page."""
    whole = rows_of(reconciled, name, span)
    found = [windows.find(reconciled, query(reconciled, name, span), start, 1) for start in range(len(whole) + 1)]
    assert {window.total for window in found} == {len(whole)}
    assert [row for window in found for row in window.report.table.to_pylist()] == whole


def test_columns_without_a_word_are_named(reconciled: Installation) -> None:
    """A page leaves out what says nothing in any row, not only in those it shows."""
    found = windows.find(reconciled, query(reconciled, "documents"), 0, 1)
    assert {"series", "uuid"} <= found.silent
    assert not {"doc_key", "total"} & found.silent


def test_lists_of_the_newest_run_are_there_before_they_are_opened(reconciled: Installation) -> None:
    """What a page opens needs none of the run's pieces any more; a second look reads nothing."""
    columnar.read_ahead(reconciled, NOW)
    with reconciled.store.transaction() as session:
        [run] = frames.latest_runs(session, ["main"], today=TODAY)
        session.execute(sa.delete(ResultChunk))
        columnar.read_ahead(reconciled, NOW)

    asked = (Query(name, reconciled.connections(None), TODAY, as_of=run.as_of) for name in WHOLE_LISTS)
    assert [columnar.read(reconciled, one).table.num_rows for one in asked] == [1, 2, 1, 1]


def test_a_damaged_run_is_read_ahead_once(reconciled: Installation) -> None:
    """It is said once in the log, not at every look; its reader is told on the page."""
    with reconciled.store.transaction() as session:
        session.execute(sa.update(ResultChunk).values(content=b"no chunk"))
    with pytest.raises(chunks.DamagedRowsError):
        columnar.read_ahead(reconciled, NOW)
    columnar.read_ahead(reconciled, NOW)


def test_what_is_owed_adds_up_by_age(reconciled: Installation) -> None:
    """The picture of receivables adds up every row, whichever page is shown."""
    assert add_up_ages(columnar.read(reconciled, query(reconciled, "receivables"))) == {"CLP": {"1-30": 50_000}}


def test_credit_balances_stand_apart_from_what_is_owed(
    reconciled: Installation, take_out: Callable[[Installation], None], keep_credits: Callable[[Installation], None]
) -> None:
    """100,000 paid too much lower neither the age of what is owed nor its total; each side ties to the documents."""
    keep_credits(reconciled)
    take_out(reconciled)
    owed, too_much = sides(columnar.read(reconciled, query(reconciled, "receivables")))
    assert add_up_ages(owed) == {"CLP": {"1-30": 50_000}}
    assert [(row["balance"], row["bucket"]) for row in too_much.table.to_pylist()] == [
        (-60_000, "credit"),
        (-40_000, "credit"),
    ]
    totals = {
        row["figure"]: (row["amount"], row["other_amount"], row["verdict"]) for row in rows_of(reconciled, "control")
    }
    assert totals["receivables"] == (50_000, 50_000, "ties")
    assert totals["credit balances of customers"] == (-100_000, -100_000, "ties")


def test_one_payout_ties_by_itself(reconciled: Installation) -> None:
    """The totals of a workbook of one payout are of that payout, and the receivables of all."""
    made = catalogue.make(reconciled, Query("control", reconciled.connections(None), TODAY, payout_id="po_1"))
    totals = {row["figure"]: (row["amount"], row["verdict"]) for row in made.table.to_pylist()}
    assert totals["items"] == (140_000, "ties")
    assert totals["receivables"] == (50_000, "ties")


def test_a_balance_that_cannot_be_counted_stops_no_run(reconciled: Installation) -> None:
    """An item without a day is told to who asks for the balance; everything else is kept."""
    with reconciled.store.reading() as session:
        run = frames.latest_runs(session, ["main"], today=TODAY)[0]
        kinds = (chunks.LINE, chunks.PAYOUT, chunks.DOCUMENT)
        parts = (pa.concat_tables(chunks.tables(session, run, kind)) for kind in kinds)
        lines, payouts, documents = (part.to_pandas(types_mapper=pd.ArrowDtype) for part in parts)
    lines["local_date"] = pd.Series([None] * len(lines), dtype=lines["local_date"].dtype)
    packed = extracts.pack(Result(payouts, lines, documents, (), complete=True))
    assert {chunk["kind"] for chunk in packed} == {"payout", "receivable", "transit", "figure", "bank", "fee"}
