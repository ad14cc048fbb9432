"""Large files on order: made in a background thread, with their progress, and kept in the archive."""

import json
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.messages import RefusalError
from consumer.facts.store import Turn, take_turn
from reconcile.kept.chunks import DamagedRowsError
from reports import archive
from reports.making import catalogue
from reports.making.catalogue import NoRunError
from reports.output.export import Format
from reports.output.files import Shape
from reports.output.workbook import TooManyRowsError
from reports.queries import frames
from reports.queries.query import Query
from reports.shapes.build import Report
from reports.tables import ReportOrder

# What a browser waits for without wondering; a workbook takes twenty times the time of a text.
MOST_ROWS = {Format.CSV: 200_000, Format.PARQUET: 200_000, Format.XLSX: 20_000}
_OF_LINES = frozenset(
    {
        "payout-detail",
        "payout-summary",
        "receivables",
        "in-transit",
        "cash-application",
        "clearing-rollforward",
        "control",
        "journal",
    }
)
# Each holds a report in memory and a core for minutes; the pages must still answer.
MOST_AT_ONCE = 2
# A thread without progress for so long is dead, with its process.
_SILENCE = timedelta(minutes=10)
_EVERY = timedelta(seconds=1)
_LOOK_EVERY = 1000


class State(StrEnum):
    MAKING = "making"
    DONE = "done"
    FAILED = "failed"


class TooManyOrdersError(RefusalError):
    """Enough large files are being made; one more would starve them and the pages."""


def rows_of(session: Session, query: Query) -> int:
    """Say about how many rows a report reads, without reading them."""
    if query.name not in _OF_LINES or query.payout_id is not None:
        return 0
    names = [connection.name for connection in query.connections]
    runs = frames.latest_runs(session, names, today=query.today, as_of=query.as_of, span=query.span)
    return frames.count_lines(session, runs, query.span)


def is_large(rows: int, shape: Shape) -> bool:
    return rows > MOST_ROWS[shape.format]


def order(installation: Installation, query: Query, shape: Shape, *, who: str, rows: int, now: datetime) -> int:
    """Begin a large file, or find the one that is being made for the same question, and return its number."""
    asked = to_text(query, shape)
    with installation.store.transaction() as session:
        take_turn(session, Turn.ORDERS)
        is_alive = (col(ReportOrder.state) == State.MAKING, col(ReportOrder.seen_at) > now - _SILENCE)
        making = {row.asked: row.id for row in session.scalars(sa.select(ReportOrder).where(*is_alive))}
        running = making.get(asked)
        if running is not None:
            return running
        if len(making) >= MOST_AT_ONCE:
            raise TooManyOrdersError("reports.too_many_orders", count=len(making))
        row = ReportOrder(who=who, asked=asked, state=State.MAKING, rows_total=rows, ordered_at=now, seen_at=now)
        session.add(row)
        session.flush()
        assert row.id is not None
        number = row.id
    threading.Thread(
        target=_make, args=(installation, query, shape, number), name=f"report order {number}", daemon=True
    ).start()
    return number


def to_text(query: Query, shape: Shape) -> str:
    """Write down what was asked, so that the same question finds the same order."""
    span = (query.span.since, query.span.until, query.as_of)
    words = {
        "name": query.name,
        "connections": [connection.name for connection in query.connections],
        "days": [day.isoformat() if day else None for day in span],
        "shape": [shape.format.value, shape.profile, shape.language],
    }
    return json.dumps(words, sort_keys=True)


def _make(installation: Installation, query: Query, shape: Shape, number: int) -> None:
    progress = _Progress(installation, number)
    try:
        make = catalogue.make_sheets if shape.format is Format.XLSX else _alone
        made = make(installation, query, progress.count)
        kept = archive.keep(installation, made, shape, now=utc_now(), on_bytes=progress.tell)
    except (NoRunError, TooManyRowsError, DamagedRowsError, archive.NotWritableError) as error:
        progress.end(State.FAILED, error=str(error))
    except BaseException as error:
        progress.end(State.FAILED, error=type(error).__name__)
        raise
    else:
        progress.end(State.DONE, file_id=kept.id)


def _alone(installation: Installation, query: Query, on_rows: Callable[[int], None]) -> Sequence[Report]:
    return [catalogue.make(installation, query, on_rows)]


class _Progress:
    """Write the progress of an order to its row, at most once a second."""

    def __init__(self, installation: Installation, number: int) -> None:
        self._installation, self._number = installation, number
        self._rows, self._written_at = 0, utc_now()

    def count(self, rows: int) -> None:
        before, self._rows = self._rows, self._rows + rows
        if before // _LOOK_EVERY != self._rows // _LOOK_EVERY:
            self.tell(0)

    def tell(self, _bytes: int) -> None:
        now = utc_now()
        if now - self._written_at >= _EVERY:
            self._written_at = now
            self._write({"rows_done": self._rows, "seen_at": now})

    def end(self, state: State, *, file_id: int | None = None, error: str = "") -> None:
        now = utc_now()
        ending = {"state": state, "file_id": file_id, "error": error, "finished_at": now, "seen_at": now}
        self._write({**ending, "rows_done": self._rows})

    def _write(self, values: dict[str, object]) -> None:
        with self._installation.store.transaction() as session:
            session.execute(sa.update(ReportOrder).where(col(ReportOrder.id) == self._number).values(values))


def find(session: Session, number: int, *, now: datetime) -> ReportOrder | None:
    """Find an order; one whose process died meanwhile has failed, even if its row says otherwise."""
    row = session.get(ReportOrder, number)
    if row is not None and row.state == State.MAKING and row.seen_at <= now - _SILENCE:
        session.expunge(row)
        row.state, row.error = State.FAILED, "the process that made it has ended: order it again"
    return row
