"""A run that was published before a column existed is still reported: its cells of that column are empty."""

import io
import json
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.installation import Installation
from reconcile.kept import chunks, records
from reconcile.tables.runs import PayoutResult, ResultChunk, Run
from reports.making import catalogue, windows
from reports.queries import standing
from reports.queries.query import Query

TODAY = date(2026, 10, 8)


def drop_column(session: Session, kind: str, name: str) -> None:
    """Leave the chunks of a run as they were published before a column existed."""
    for chunk in session.scalars(sa.select(ResultChunk).where(col(ResultChunk.kind) == kind)):
        table = pq.read_table(io.BytesIO(chunk.content))
        sink = pa.BufferOutputStream()
        pq.write_table(table.drop_columns([name]), sink)
        chunk.content = sink.getvalue().to_pybytes()
        session.add(chunk)


@pytest.mark.parametrize(
    ("report", "kind", "name"),
    [
        ("payout-summary", chunks.PAYOUT, "fee_rate_pct"),
        ("payout-summary", chunks.PAYOUT, "expected_arrival"),
        ("payout-detail", chunks.LINE, "order_ref"),
        ("payout-detail", chunks.LINE, "doc_total"),
        ("documents", chunks.DOCUMENT, "payments"),
        ("receivables", chunks.RECEIVABLE, "customer_name"),
        ("in-transit", chunks.TRANSIT, "resource_type"),
        ("clearing-rollforward", chunks.ROLLFORWARD, "disputes"),
    ],
)
def test_a_column_the_run_was_published_without_is_empty(
    reconciled: Installation, report: str, kind: str, name: str
) -> None:
    """The file and the page have all other cells, and the page leaves the column out as one that says nothing."""
    query = Query(report, reconciled.connections(None), TODAY)
    before = catalogue.make(reconciled, query).table
    with reconciled.store.transaction() as session:
        drop_column(session, kind, name)
    after = catalogue.make(reconciled, query).table
    assert before.num_rows > 0
    assert after.schema == before.schema
    assert after[name].null_count == after.num_rows == before.num_rows
    assert after.drop_columns([name]).sort_by("connection") == before.drop_columns([name]).sort_by("connection")
    window = windows.find(reconciled, query, 0, 100)
    assert window.report.table[name].null_count == before.num_rows
    assert name in window.silent


def test_a_payout_is_shown_and_explained_without_the_column(reconciled: Installation) -> None:
    """Its page finds the cell empty, and explaining leaves out what is not known."""
    with reconciled.store.transaction() as session:
        row = session.scalars(sa.select(PayoutResult)).one()
        row.columns = json.dumps({key: value for key, value in json.loads(row.columns).items() if key != "fee_net"})
        session.add(row)
    with reconciled.store.reading() as session:
        run = session.scalars(sa.select(Run)).one()
        payout = standing.find_payout(session, [run], "po_1")
        facts = {fact.name for fact in records.explanation(session, run, "po_1")}
    assert payout is not None
    assert payout["fee_net"] is None
    assert "fee_total" in facts
    assert "fee_net" not in facts
