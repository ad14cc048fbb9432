"""What a page shows of the taxes of one period: as a tie-out found it, kept so that it is not reckoned for each reader.

A night keeps the months it looked at. Where nothing came in since, the page shows that. Where something did, a period
of few rows is tied out anew, and one of many is shown as it was kept, with what came in since. A month or year that
was not kept is tied out for its reader where little is read for it, and else only once someone asks for it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import chain, groupby, islice

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, SQLModel, col

from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection
from consumer.facts.store import put
from consumer.facts.tables.provider import TaxInvoice, TaxReturn, TaxStatement
from consumer.facts.tables.types import core_of
from reconcile.fiscal.calendar import Lever, find_levers
from reconcile.fiscal.collecting import VoucherDay, voucher_days
from reconcile.fiscal.comparing import Part, Tie, count_cancelled, count_missing
from reconcile.fiscal.reading import read_world
from reconcile.fiscal.tie_out import tie_out
from reconcile.fiscal.witnesses import Terms, World
from reconcile.kept.records import last_run, read_summary
from reconcile.tables.books import InvoiceFile, RemovedFile
from reconcile.tables.fiscal import DeclaredFigure, KeptTieOut, RegisterFile

MOST_CAUSES = 200
# A period of more documents and payments is not tied out while a reader waits, nor one that is looked for in more rows.
_AT_ONCE, _LOOKED_THROUGH = 5_000, 50_000
_MONTH = len("2026-10")
# Grows when the same rows would be shown otherwise.
_VERSION = "3"
_OF_PROVIDER = ("version_at", "gone_at")
# What is read of a period, and the columns that grow with a change of it, besides how many there are.
_TABLES: Mapping[str, tuple[tuple[type[SQLModel], tuple[str, ...]], ...]] = {
    "books": ((InvoiceFile, ("imported_at",)), (RemovedFile, ("removed_at",))),
    "register": ((RegisterFile, ("imported_at", "as_of")),),
    "register_link": ((TaxInvoice, _OF_PROVIDER),),
    "declared": ((DeclaredFigure, ("at",)), (TaxStatement, _OF_PROVIDER), (TaxReturn, _OF_PROVIDER)),
}
# What may have come in since, as the page names it.
INPUTS = ("version", "run", "settings", *_TABLES)


@dataclass(frozen=True, slots=True)
class Overview:
    """Every tie, with the causes of each added up, and the first causes one by one with their figures."""

    ties: Sequence[Tie]
    causes: Sequence[tuple[str, Part]]
    total: int
    levers: Sequence[Lever]
    # Documents of the register whose XML is missing, and all of them.
    missing: tuple[int, int]
    cancelled: int
    has_xml: bool
    # Whether any register, tax document or declared figure is here.
    knows: bool
    vouchers: Sequence[VoucherDay]
    rows: int


@dataclass(frozen=True, slots=True)
class Shown:
    """An overview, when it was reckoned, and what came in since; one that is still to be reckoned has no time."""

    overview: Overview
    at: datetime | None
    since: Sequence[str] = ()


def look_at(world: World, period: str, ties: Sequence[Tie]) -> Overview:
    """Return what a page shows of ties; pure."""
    causes = ((tie.figure, part) for tie in ties for part in tie.parts)
    is_month = len(period) == _MONTH
    rows = chain.from_iterable(said.papers for said in (world.books, world.register, world.link, world.xml))
    return Overview(
        [_condense(tie) for tie in ties], list(islice(causes, MOST_CAUSES)), sum(len(tie.parts) for tie in ties),
        find_levers(ties), count_missing(world.register.papers, world.xml.papers, period), count_cancelled(ties),
        world.xml.is_known, world.register.is_known or world.xml.is_known or bool(world.declared),
        voucher_days(world.payments, period) if is_month and world.terms.country == "cl" else [],
        sum(one.period == period for one in rows) + sum(one.period == period for one in world.payments),
    )  # fmt: skip


def _condense(tie: Tie) -> Tie:
    """Return a tie with at most three parts of a cause, above zero, below and of nothing: its sums stay."""
    parts = (
        Part(cause, sum(part.amount for part in group))
        for (cause, _), group in groupby(sorted(tie.parts, key=_sign_of), _sign_of)
    )
    return replace(tie, parts=tuple(parts))


def _sign_of(part: Part) -> tuple[str, int]:
    return part.cause, (part.amount > 0) - (part.amount < 0)


def show(session: Session, connection: Connection, period: str, *, today: date) -> Shown:
    """Return what there is to show of a period, reckoned here where nothing is kept or it costs little."""
    mark = _mark(session, connection, today)
    kept = session.get(KeptTieOut, (connection.name, period))
    if kept is not None:
        before = msgspec.json.decode(kept.mark, type=dict[str, str])
        since = [name for name, text in mark.items() if before.get(name) != text]
        if not since or kept.rows > _AT_ONCE:
            with suppress(msgspec.ValidationError):  # what an older version kept may have another form
                return Shown(msgspec.json.decode(kept.body, type=Overview), kept.at, since)
    if _count_read(session, connection, today) > _LOOKED_THROUGH:
        return Shown(look_at(World(Terms(connection.country_code)), "", ()), None)
    return Shown(reckon(session, connection, period, today=today)[0], utc_now())


def _count_read(session: Session, connection: Connection, today: date) -> int:
    """Return in about how many rows the documents and payments of a period are looked for."""
    run = last_run(session, connection.name, today=today)
    counts = (
        session.scalar(sa.select(sa.func.sum(col(table.rows))).where(col(table.connection) == connection.name))
        for table in (InvoiceFile, RegisterFile)
    )
    return (read_summary(run)["items"] if run else 0) + sum(int(count or 0) for count in counts)


def keep(session: Session, connection: Connection, found: Mapping[str, Overview], mark: str) -> None:
    """Keep overviews by their periods, in the caller's transaction; `mark` is of before they were read."""
    for period, overview in found.items():
        row = {
            "connection": connection.name, "period": period, "at": utc_now(), "mark": mark, "rows": overview.rows,
            "body": msgspec.json.encode(overview).decode(),
        }  # fmt: skip
        put(session.connection(), KeptTieOut, row, keys=("connection", "period"))


def mark_inputs(session: Session, connection: Connection, *, today: date) -> str:
    """Name what a tie-out reads as it is now."""
    return msgspec.json.encode(_mark(session, connection, today)).decode()


def _mark(session: Session, connection: Connection, today: date) -> dict[str, str]:
    run = last_run(session, connection.name, today=today)
    terms = (connection.voucher_model, connection.note_months, connection.income_by, connection.provider_tax_id)
    return {"version": _VERSION, "run": run.id if run else "", "settings": repr(terms)} | {
        name: " ".join(_mark_table(session, connection.name, table, columns) for table, columns in tables)
        for name, tables in _TABLES.items()
    }


def _mark_table(session: Session, connection: str, table: type[SQLModel], names: Sequence[str]) -> str:
    columns = core_of(table).c
    asked = sa.select(sa.func.count(), *(sa.func.max(columns[name]) for name in names))
    return " ".join(map(str, session.execute(asked.where(columns["connection"] == connection)).one()))


def reckon(session: Session, connection: Connection, period: str, *, today: date) -> tuple[Overview, str]:
    """Tie a period out anew; return what it comes to, and the mark of what it read."""
    mark = mark_inputs(session, connection, today=today)
    world = read_world(session, connection, today=today, periods=[period])
    return look_at(world, period, tie_out(world, period)), mark
