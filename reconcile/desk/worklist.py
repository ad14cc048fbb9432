"""The work list as a sheet: out for finance to fill in, and back row by row."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeAlias

from sqlmodel import Session

from consumer.facts.messages import Message, RefusalError
from consumer.facts.store import Store
from consumer.facts.texts import defuse, restore, shorten
from reconcile.books.cells import SheetError, to_text
from reconcile.books.sheets import read_sheets
from reconcile.desk import decisions
from reconcile.desk.decisions import DecisionError, Kind, Pair, Signature
from reconcile.exceptions.life import State
from reconcile.kept.records import EXCEPTION_KEYS
from reconcile.tables.desk import ExceptionRow

# The document to match by hand with the payment of the row.
MATCH = "match_to"
# The report's columns, then those that only a returned sheet needs.
COLUMNS = (*EXCEPTION_KEYS, MATCH, "note", "version")
NEEDED = ("exception_id", "owner", "state", "resolution", "note", "version")


# Raises DecisionError if the owner of the second name may not see to an exception of the connection; the last is now.
CheckOwner: TypeAlias = Callable[[Session, str, str, str], None]


class WorklistError(RefusalError):
    """A file that is not an exported work list."""


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """What became of one row of a returned sheet; `refused` is None if it was taken, or was as before."""

    line: int
    exception_id: str
    changed: tuple[str, ...]
    refused: Message | None = None


def to_csv(rows: Iterable[Mapping[str, object]]) -> str:
    """Write the sheet; `None` is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows([_to_cell(row[name]) for name in COLUMNS] for row in rows)
    return out.getvalue()


def _to_cell(value: object) -> str:
    return "" if value is None else defuse(shorten(str(value)))


def read_sheet(content: bytes, *, labels: Mapping[str, str] | None = None) -> list[tuple[int, dict[str, str]]]:
    """Read a returned sheet, CSV with any separator or XLSX; `labels` are other headings."""
    known = labels or {}
    try:
        for sheet in read_sheets(content):
            header = [to_text(cell) for cell in sheet.rows[0].cells] if sheet.rows else []
            names = [known.get(name, name) for name in header]
            if set(NEEDED) <= set(names):
                body = [row for row in sheet.rows[1:] if not row.is_blank]
                texts = ((row.line, [restore(to_text(cell)) for cell in row.cells]) for row in body)
                return [(line, dict(zip(names, cells, strict=False))) for line, cells in texts]
    except SheetError as error:
        raise WorklistError(error.message) from None
    raise WorklistError("desk.not_the_sheet", columns=", ".join(NEEDED))


def take_back(  # noqa: PLR0913 - a sheet, and what is done in whose name
    store: Store, connection: str, rows: Iterable[tuple[int, dict[str, str]]], *, author: str, on: date, at: datetime,
    check_owner: CheckOwner,
) -> Iterator[RowOutcome]:  # fmt: skip
    """Apply each row in its own transaction: owner, note, a resolution with its reason, a match by hand."""
    for line, cells in rows:
        identity = cells.get("exception_id", "")
        try:
            with store.transaction() as session:
                check_owner(session, connection, cells.get("owner", ""), _owner_now(session, connection, identity))
                changed = _apply(session, connection, cells, author=author, on=on, at=at)
        except DecisionError as error:
            yield RowOutcome(line, identity, (), error.message)
            continue
        yield RowOutcome(line, identity, changed)


def _owner_now(session: Session, connection: str, exception_id: str) -> str:
    row = session.get(ExceptionRow, (connection, exception_id))
    return row.owner if row is not None else ""


def _apply(
    session: Session, connection: str, cells: Mapping[str, str], *, author: str, on: date, at: datetime
) -> tuple[str, ...]:
    missing = [name for name in NEEDED if name not in cells]
    if missing:
        raise DecisionError("desk.row_ends_early", column=missing[0])
    row = session.get(ExceptionRow, (connection, cells["exception_id"]))
    if row is None:
        raise DecisionError("desk.no_exception", exception=cells["exception_id"], connection=connection)
    pair = _pair(session, connection, row, cells.get(MATCH, "").strip())
    changed = tuple(name for name in ("owner", "note", "state") if cells[name] != getattr(row, name))
    if "state" not in changed and not cells.get(MATCH, "").strip():
        _check_unresolved(row, cells["resolution"].strip())
    if not changed and pair is None:
        return ()
    # Rows that were not filled in are left out above: a run may have changed them meanwhile.
    if _version(cells["version"]) != row.version:
        raise DecisionError("desk.changed_since_export", exception=row.id, version=row.version)
    signed = Signature(author, "filled in the sheet", at)
    _edit(session, row, cells, signed, on=on)
    if pair is None:
        return changed
    decisions.match(session, pair, Signature(author, cells["resolution"].strip() or signed.reason, at))
    return (*changed, MATCH)


def _check_unresolved(row: ExceptionRow, resolution: str) -> None:
    """Refuse a resolution without its state: it would be dropped, and the row count as untouched."""
    if resolution and resolution != row.resolution.strip():
        raise DecisionError("desk.resolution_while_open", exception=row.id, state=row.state)


def _edit(session: Session, row: ExceptionRow, cells: Mapping[str, str], signed: Signature, *, on: date) -> None:
    """Take what differs of the row, each edit on top of the one before."""
    key, version, state = (session, row.connection, row.id), row.version, row.state
    if cells["owner"] != row.owner:
        version = decisions.assign(*key, signed, owner=cells["owner"], version=version).version
    if cells["note"] != row.note:
        version = decisions.note(*key, signed, text=cells["note"], version=version).version
    if cells["state"] == state:
        return
    if cells["state"] == State.RESOLVED:
        decisions.resolve(*key, Signature(signed.author, cells["resolution"], signed.at), on=on, version=version)
    elif cells["state"] == State.OPEN:
        decisions.reopen(*key, signed, version=version)
    else:
        raise DecisionError("desk.unknown_state", state=cells["state"])


def _pair(session: Session, connection: str, row: ExceptionRow, doc_key: str) -> Pair | None:
    """Name the payment and the document to match; None where none is asked for or they are matched already."""
    if not doc_key:
        return None
    if row.resource_id is None:
        raise DecisionError("desk.about_no_payment", exception=row.id, column=MATCH)
    pair = Pair(connection, row.resource_id, doc_key)
    stands = any(found.kind == Kind.MATCH and found.doc_key == doc_key for found in decisions.standing(session, pair))
    return None if stands else pair


def _version(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DecisionError("desk.bad_version", version=text) from None
