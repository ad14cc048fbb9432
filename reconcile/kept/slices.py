"""One page of what a run keeps, without unpacking more than the chunks it lies in."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
import sqlalchemy as sa
from sqlmodel import Session, col

from reconcile.kept import chunks
from reconcile.kept.pieces import Piece
from reconcile.tables import ResultChunk, Run


@dataclass(frozen=True, slots=True)
class Stretch:
    """The rows of one chunk that were asked for: of payouts where the kind is lines, of a range of days."""

    run: Run
    kind: str
    number: int
    rows: int
    since: date | None
    until: date | None


def is_kept(session: Session, run: Run, kind: str) -> bool:
    asked = sa.select(col(ResultChunk.number)).where(*_of(run, kind)).limit(1)
    return session.scalar(asked) is not None


def _of(run: Run, kind: str) -> tuple[sa.ColumnElement[bool], ...]:
    of_run = (col(ResultChunk.connection) == run.connection, col(ResultChunk.run_id) == run.id)
    return (*of_run, col(ResultChunk.kind) == kind)


def stretches(
    session: Session, run: Run, kind: str, *, since: date | None = None, until: date | None = None
) -> list[Stretch]:
    """Count what a range holds, chunk by chunk; only chunks at its ends are looked into."""
    chunk = ResultChunk
    columns = (col(chunk.number), col(chunk.rows), col(chunk.since), col(chunk.until), col(chunk.undated))
    asked = sa.select(*columns).where(*_of(run, kind), *chunks.of_days(since, until)).order_by(col(chunk.number))
    found = []
    for number, rows, first, last, undated in session.execute(asked):
        stretch = Stretch(run, kind, number, rows, since, until)
        is_within = first is not None and (since is None or first >= since) and (until is None or last <= until)
        is_whole = (is_within and not undated) or (since is until is None and kind != chunks.LINE)
        found.append(stretch if is_whole else _counted(session, stretch))
    return found


def _counted(session: Session, stretch: Stretch) -> Stretch:
    names = [chunks.DAY_OF[stretch.kind], *(["payout_id"] if stretch.kind == chunks.LINE else [])]
    rows = _kept(_read(session, stretch, names), stretch).num_rows
    return Stretch(stretch.run, stretch.kind, stretch.number, rows, stretch.since, stretch.until)


def page(session: Session, found: Sequence[Stretch], skip: int, size: int) -> list[tuple[Run, pa.Table]]:
    """Read some rows of all that was found, each part beside its run."""
    parts, wanted = [], size
    for stretch in found:
        if wanted > 0 and skip < stretch.rows:
            part = _kept(_read(session, stretch), stretch).slice(skip, wanted)
            parts.append((stretch.run, chunks.as_in_file(part) if stretch.kind == chunks.LINE else part))
            wanted -= part.num_rows
        skip = max(0, skip - stretch.rows)
    return parts


def silent(session: Session, found: Sequence[Stretch]) -> set[str]:
    """Name the columns that say nothing in any of the runs, whatever the range."""
    first = {stretch.run.connection: stretch for stretch in reversed(found) if stretch.rows}
    known = [_piece(session, stretch).metadata() for stretch in first.values()]
    words = [set(metadata.get(chunks.SILENT, b"").decode().split()) for metadata in known]
    return set.intersection(*words) if words else set()


def _kept(table: pa.Table, stretch: Stretch) -> pa.Table:
    day = table[chunks.DAY_OF[stretch.kind]] if stretch.kind in chunks.DAY_OF else None
    masks = [] if day is None else chunks.is_between(day, stretch.since, stretch.until)
    if stretch.kind == chunks.LINE:
        masks.append(chunks.is_of_file(table))
    return chunks.kept(table, masks)


def _read(session: Session, stretch: Stretch, names: Sequence[str] | None = None) -> pa.Table:
    return _piece(session, stretch).read(names)


def _piece(session: Session, stretch: Stretch) -> Piece:
    mine = (*_of(stretch.run, stretch.kind), col(ResultChunk.number) == stretch.number)
    content = session.scalar(sa.select(col(ResultChunk.content)).where(*mine))
    return Piece(stretch.run, stretch.kind, stretch.number, content)
