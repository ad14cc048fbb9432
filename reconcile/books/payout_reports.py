"""The provider's own CSV of a payout: what each resource cost; a file goes in whole or not at all.

The file names no payout, so its rows do: they must be exactly the items of one payout we know.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message, RefusalError, Value
from consumer.facts.store import Turn, take_turn
from consumer.facts.tables.provider import PayoutItem
from consumer.facts.work import Completion
from reconcile.books.cells import Row, Sheet, SheetError, to_text
from reconcile.books.documents import NO_LINE, Reject
from reconcile.books.headers import normalise
from reconcile.books.sheets import read_sheets
from reconcile.tables.books import PayoutReport, ProviderFee

COLUMNS = ("id", "amount", "fee", "resource_type")
# Longer ones are slips of the keyboard, and a payout full of them would add up to more than 63 bits hold.
_WHOLE = re.compile(r"-?[0-9]{1,15}")
_FIRST_ROWS = 2
REFUND, ADJUSTMENT = "refund", "refund_adjustment"


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One resource; `amount` is signed as the provider writes it, refunds below zero."""

    line: int
    resource_type: str
    resource_id: str
    amount: int
    fee: int
    cells: str = "{}"


@dataclass(frozen=True, slots=True)
class Replaced:
    """The report of the same payout that was kept before, and what its fees added up to."""

    sha256: str
    name: str
    imported_at: datetime
    fee_total: int


@dataclass(frozen=True, slots=True)
class ReportOutcome:
    """What became of one report, or would; `stale` says why a look at it does not hold any longer."""

    name: str
    sha256: str
    payout_id: str = ""
    currency: str = ""
    rows: int = 0
    fee_total: int = 0
    kept: bool = False
    earlier: Message | None = None
    replaced: Replaced | None = None
    stale: Message | None = None
    rejects: tuple[Reject, ...] = ()

    @property
    def accepted(self) -> bool:
        return not self.rejects and not self.stale

    @property
    def note(self) -> Message | None:
        """Say which report these fees take the place of."""
        if self.replaced is None:
            return None
        values: dict[str, Value] = {
            "name": self.replaced.name,
            "at": self.replaced.imported_at,
            "payout": self.payout_id,
        }
        return Message("books.takes_place_of", values)

    @property
    def status(self) -> Completion:
        return Completion.DONE if self.accepted else Completion.NOTHING_DONE


class ReportError(RefusalError):
    """A report that cannot be used as a whole."""


def import_payout_report(
    installation: Installation, connection: Connection, path: Path, *, payout_id: str | None = None,
    seen: str | None = None, dry_run: bool = False,
) -> ReportOutcome:  # fmt: skip
    """Keep one report's fees in one transaction; a later report of the same payout replaces them.

    `seen` is the digest of the report that it was to replace when a person looked, empty for none; where another one
    has come in since, the file is refused.
    """
    outcome = ReportOutcome(path.name, "", payout_id or "")
    try:
        content = path.read_bytes()
        rows, rejects = read_report(content)
    except OSError as error:
        reason = Message("books.file_unreadable", {"reason": str(error.strerror)})
        return replace(outcome, rejects=(Reject(NO_LINE, "", "", reason),))
    except (SheetError, ReportError) as error:
        return replace(outcome, rejects=(Reject(NO_LINE, "", "", error.message),))
    if rejects:
        return replace(outcome, rows=len(rows), rejects=rejects)
    outcome = replace(outcome, sha256=hashlib.sha256(content).hexdigest(), rows=len(rows))
    try:
        with installation.store.transaction() as session:
            return keep_report(session, connection, outcome, rows, seen=seen, at=None if dry_run else utc_now())
    except ReportError as error:
        return replace(outcome, rejects=(Reject(NO_LINE, "", "", error.message),))


def read_report(content: bytes) -> tuple[tuple[ReportRow, ...], tuple[Reject, ...]]:
    """Read rows by header name; further columns are ignored; pure."""
    for sheet in read_sheets(content):
        found = _find_names(sheet)
        if found is None:
            continue
        first, names = found
        doubled = sorted(name for name in COLUMNS if names.count(name) > 1)
        if doubled:
            raise ReportError("books.columns_called_same", name=doubled[0])
        rejects: list[Reject] = []
        body = [row for row in sheet.rows[first + 1 :] if not row.is_blank]
        if not body:
            raise ReportError("books.report_empty")
        uneven = tuple(_find_uneven(sheet, body, names))
        if uneven:
            return (), uneven
        read = [_read_row(row.line, dict(zip(names, map(to_text, row.cells), strict=False)), rejects) for row in body]
        return tuple(row for row in read if row is not None), tuple(rejects)
    raise ReportError("books.not_a_payout_report", columns=", ".join(COLUMNS))


def _find_names(sheet: Sheet) -> tuple[int, list[str]] | None:
    """The header is the first row, or the second below the line with which spreadsheets name the separator."""
    for place, row in enumerate(sheet.rows[:_FIRST_ROWS]):
        names = [normalise(to_text(cell)).replace(" ", "_") for cell in row.cells]
        if set(COLUMNS) <= set(names):
            return place, names
    return None


def _find_uneven(sheet: Sheet, body: Sequence[Row], names: Sequence[str]) -> Iterator[Reject]:
    """Yield rows with too few or too many cells, whose fee and amount may have moved; one more in each row is fine."""
    ends_alike = all(len(row.cells) == len(names) + 1 for row in body)
    for row in body:
        is_short = bool(sheet.separator) and len(row.cells) < len(names)
        is_long = bool(sheet.separator) and len(row.cells) > len(names) and not ends_alike
        if is_short or is_long or any(to_text(cell) for cell in row.cells[len(names) :]):
            yield _refuse_uneven(row, names)


def _refuse_uneven(row: Row, names: Sequence[str]) -> Reject:
    reason = Message("books.row_width", {"cells": len(row.cells), "header": len(names)})
    return Reject(row.line, "", "", reason)


def _read_row(line: int, cells: Mapping[str, str], rejects: list[Reject]) -> ReportRow | None:
    numbers: dict[str, int] = {}
    for name in ("amount", "fee"):
        text = cells.get(name, "")
        if _WHOLE.fullmatch(text):
            numbers[name] = int(text)
        else:
            rejects.append(Reject(line, name, text, Message("books.not_minor_units")))
    if not cells.get("id"):
        rejects.append(Reject(line, "id", "", Message("books.empty")))
    if len(numbers) < len(("amount", "fee")) or not cells.get("id"):
        return None
    kind = cells.get("resource_type", "")
    if kind == REFUND and numbers["amount"] > 0:
        kind = ADJUSTMENT
    written = json.dumps(cells, ensure_ascii=False, sort_keys=True)
    return ReportRow(line, kind, cells["id"], numbers["amount"], numbers["fee"], written)


def keep_report(
    session: Session, connection: Connection, outcome: ReportOutcome, rows: Sequence[ReportRow], *,
    seen: str | None, at: datetime | None,
) -> ReportOutcome:  # fmt: skip
    """Find the payout of these rows if it is not named, compare amounts, replace its fees.

    Without a moment no row is written.
    """
    take_turn(session, Turn.BOOKS)
    found = outcome.payout_id or _find_payout(session, connection, rows)
    items = _items(session, connection, found)
    rejects = tuple(_differences(rows, items, found))
    outcome = replace(outcome, payout_id=found, rejects=rejects)
    if rejects:
        return outcome
    known = session.get(PayoutReport, (connection.name, found))
    if known is not None and known.sha256 == outcome.sha256:
        earlier = Message("books.report_imported_before", {"at": known.imported_at, "payout": found})
        return replace(outcome, earlier=earlier)
    # A refund that came back carries no fee, and may share its id with the refund itself.
    charged = [row for row in rows if row.resource_type != ADJUSTMENT]
    currency = next(iter(items.values())).currency
    replaced = None if known is None else _describe_replaced(session, known)
    outcome = replace(outcome, currency=currency, fee_total=sum(row.fee for row in charged), replaced=replaced)
    if seen is not None and known is not None and seen != known.sha256:
        return replace(outcome, stale=Message("books.replaced_meanwhile", {"name": known.name, "payout": found}))
    if at is None:
        return outcome
    report = PayoutReport(
        connection=connection.name, payout_id=found, sha256=outcome.sha256, name=outcome.name, imported_at=at,
        rows=len(rows),
    )  # fmt: skip
    _replace_fees(session, report, charged)
    return replace(outcome, kept=True)


def _replace_fees(session: Session, report: PayoutReport, charged: Sequence[ReportRow]) -> None:
    session.execute(sa.delete(ProviderFee).where(*_fees_of(report)))
    session.add_all(
        ProviderFee(
            connection=report.connection,
            payout_id=report.payout_id,
            resource_id=row.resource_id,
            fee_total=row.fee,
            cells=row.cells,
        )
        for row in charged
    )
    session.merge(report)


def _fees_of(report: PayoutReport) -> tuple[sa.ColumnElement[bool], ...]:
    return col(ProviderFee.connection) == report.connection, col(ProviderFee.payout_id) == report.payout_id


def _describe_replaced(session: Session, known: PayoutReport) -> Replaced:
    fees = session.scalar(sa.select(sa.func.sum(col(ProviderFee.fee_total))).where(*_fees_of(known))) or 0
    return Replaced(known.sha256, known.name, known.imported_at, int(fees))


def _find_payout(session: Session, connection: Connection, rows: Sequence[ReportRow]) -> str:
    """The one payout that carries all of these resources and no other."""
    mine = select(PayoutItem.payout_id).where(PayoutItem.connection == connection.name)
    candidates = session.exec(mine.where(PayoutItem.resource_id == rows[0].resource_id)).unique().all()
    wanted = {(row.resource_type, row.resource_id) for row in rows}
    fitting = [one for one in sorted(candidates) if _items(session, connection, one).keys() == wanted]
    if len(fitting) != 1:
        raise ReportError("books.payout_unclear", rows=len(rows), payouts=len(fitting))
    return fitting[0]


def _items(session: Session, connection: Connection, payout_id: str) -> dict[tuple[str, str], PayoutItem]:
    mine = PayoutItem.connection == connection.name, PayoutItem.payout_id == payout_id
    return {(row.resource_type, row.resource_id): row for row in session.exec(select(PayoutItem).where(*mine))}


def _differences(
    rows: Sequence[ReportRow], items: Mapping[tuple[str, str], PayoutItem], payout_id: str
) -> Iterator[Reject]:
    seen: set[tuple[str, str]] = set()
    for row in rows:
        key = (row.resource_type, row.resource_id)
        item = items.get(key)
        if key in seen:
            yield Reject(row.line, "id", row.resource_id, Message("books.there_twice"))
        elif item is None:
            yield Reject(row.line, "id", row.resource_id, Message("books.not_of_payout", {"payout": payout_id}))
        elif abs(row.amount) != item.amount:
            yield Reject(row.line, "amount", str(row.amount), Message("books.api_says", {"amount": item.amount}))
        seen.add(key)
    for _, resource_id in sorted(items.keys() - seen):
        yield Reject(NO_LINE, "id", resource_id, Message("books.missing_of_payout", {"payout": payout_id}))
