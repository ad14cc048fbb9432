"""Large files on order: made in the background, shown how far they are, found again, and dead with their process."""

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from consumer.facts.installation import Installation
from consumer.facts.store import Turn, take_turn
from reports import archive, orders
from reports.orders import State, TooManyOrdersError
from reports.output.export import Format
from reports.output.files import Shape
from reports.queries.query import Query
from reports.tables import ReportFile, ReportOrder

NOW = datetime(2026, 10, 8, 12, 0, tzinfo=UTC)


def asked(installation: Installation, name: str = "payout-detail") -> Query:
    return Query(name, installation.connections(None), today=date(2026, 10, 8))


def wait(installation: Installation, number: int) -> ReportOrder:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with installation.store.reading() as session:
            row = orders.find(session, number, now=NOW)
        assert row is not None
        if row.state != State.MAKING:
            return row
        time.sleep(0.02)
    raise AssertionError("the order was never done")


def test_an_order_ends_in_the_archive(reconciled: Installation) -> None:
    """The file is the report's, with its runs, window, zone, calendar, rows, sums and digest beside it."""
    number = orders.order(reconciled, asked(reconciled), Shape(), who="ana", rows=4, now=NOW)
    row = wait(reconciled, number)
    assert (row.state, row.rows_done, row.rows_total, row.error) == ("done", 3, 4, "")
    with reconciled.store.reading() as session:
        file = session.get(ReportFile, row.file_id)
    assert file is not None
    assert (file.row_count, file.run_ids, file.as_of) == (3, "main:run-1", date(2026, 10, 8))
    assert (file.zones, file.calendars, file.since) == ("America/Santiago", "holidays cl", None)
    assert '"amount_signed CLP": "140000"' in file.sums
    whole = archive.open_kept(reconciled, file).read_bytes()
    assert (len(whole.splitlines()), file.sha256) == (4, hashlib.sha256(whole).hexdigest())


def test_a_failure_is_told(installation: Installation) -> None:
    """Without a run there is no file, and the order says why."""
    row = wait(installation, orders.order(installation, asked(installation), Shape(), who="ana", rows=0, now=NOW))
    assert (row.state, row.error) == ("failed", "there is no finished run to report on: cuadre reconcile")


def test_the_same_order_is_not_made_twice(reconciled: Installation) -> None:
    """Who asks again while it is being made gets the same number; another question gets its own."""
    with reconciled.store.transaction() as session:
        query, shape = asked(reconciled), Shape()
        row = ReportOrder(who="luz", asked=orders.to_text(query, shape), state="making", ordered_at=NOW, seen_at=NOW)
        session.add(row)
    assert orders.order(reconciled, query, shape, who="ana", rows=4, now=NOW) == row.id
    other = orders.order(reconciled, query, Shape(Format.PARQUET), who="ana", rows=4, now=NOW)
    assert wait(reconciled, other).state == "done"


def test_only_two_are_made_at_once(reconciled: Installation) -> None:
    """A third question waits until one is done; two whose process died ten minutes ago hold no other back."""
    with reconciled.store.transaction() as session:
        for place in ("one", "another"):
            session.add(ReportOrder(who="luz", asked=place, state="making", ordered_at=NOW, seen_at=NOW))
    query, shape = asked(reconciled), Shape()
    with pytest.raises(TooManyOrdersError, match="2 large files are being made"):
        orders.order(reconciled, query, shape, who="ana", rows=4, now=NOW + timedelta(minutes=9))
    later = orders.order(reconciled, query, shape, who="ana", rows=4, now=NOW + timedelta(minutes=10))
    assert wait(reconciled, later).state == "done"


def test_asked_twice_in_one_moment_it_is_made_once(reconciled: Installation) -> None:
    """Who asks while the same order is being written down waits for it and gets its number, on every database."""
    query, shape = asked(reconciled), Shape()
    with ThreadPoolExecutor(1) as pool:
        with reconciled.store.transaction() as session:
            take_turn(session, Turn.ORDERS)
            text = orders.to_text(query, shape)
            first = ReportOrder(who="luz", asked=text, state="making", ordered_at=NOW, seen_at=NOW)
            session.add(first)
            session.flush()
            second = pool.submit(orders.order, reconciled, query, shape, who="ana", rows=4, now=NOW)
            with pytest.raises(TimeoutError):
                second.result(0.5)
        assert second.result(120) == first.id


def test_an_order_dies_with_its_process(reconciled: Installation) -> None:
    """After ten silent minutes an order has failed and may be given again."""
    with reconciled.store.transaction() as session:
        row = ReportOrder(who="luz", asked="{}", state="making", ordered_at=NOW, seen_at=NOW)
        session.add(row)
    with reconciled.store.reading() as session:
        found = orders.find(session, row.id or 0, now=NOW + timedelta(minutes=10))
    assert found is not None
    assert (found.state, found.error) == ("failed", "the process that made it has ended: order it again")
    with reconciled.store.reading() as session:
        assert session.scalars(sa.select(ReportOrder)).one().state == "making"


@pytest.mark.parametrize(
    ("rows", "shape", "is_large"),
    [
        (200_000, Shape(), False),
        (200_001, Shape(), True),
        (20_001, Shape(), False),
        (20_001, Shape(Format.XLSX), True),
    ],
)
def test_what_is_large_depends_on_the_format(rows: int, shape: Shape, *, is_large: bool) -> None:
    """A workbook takes longer than a text of the same rows."""
    assert orders.is_large(rows, shape) is is_large


def test_lines_are_counted_without_being_read(reconciled: Installation) -> None:
    """Reports of lines are sized by the run's chunks; one payout, and reports without lines, are small."""
    with reconciled.store.reading() as session:
        assert orders.rows_of(session, asked(reconciled)) == 4
        assert orders.rows_of(session, asked(reconciled, "exceptions")) == 0


def test_the_archive_lies_in_the_data_folder(reconciled: Installation) -> None:
    """An ordered file is where the nightly ones are."""
    row = wait(reconciled, orders.order(reconciled, asked(reconciled), Shape(), who="ana", rows=4, now=NOW))
    with reconciled.store.reading() as session:
        file = session.get(ReportFile, row.file_id)
    assert file is not None
    assert Path(file.path).parts[:2] == ("reports", "2026-10-08")
