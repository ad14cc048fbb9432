"""How payouts and exceptions stand in the newest runs: filtered, searched and one page at a time."""

import json
import operator
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import reduce
from typing import Any, TypeAlias, cast

import sqlalchemy as sa
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from consumer.facts.columns import to_columns
from consumer.facts.tables.provider import Institution
from consumer.facts.tables.types import core_of
from reconcile.kept.records import EXCEPTION_KEYS, read_summary
from reconcile.rules.at_risk import Stake, add_up_risks
from reconcile.rules.outcomes import PAYOUT_COLUMNS, SEVERITIES, Code
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import PayoutResult, Run, RunFinding
from reports.queries import run_cache
from reports.queries.asking import fold
from reports.queries.frames import decode, exception_rows, of_runs
from reports.queries.listing import Listing, Statement, Wanted, ask, fold_cell
from reports.shapes.spans import Row

# What the work list shows: the columns of its report, but ages by name, and what an exception is about.
WORK_COLUMNS = tuple(
    column
    for column in to_columns((*EXCEPTION_KEYS, "subject", "note"))
    if column.name not in {"age_bucket", "evidence", "title"}
)
# Tables that name exceptions: those of the work list, those one run found.
Findings: TypeAlias = type[ExceptionRow] | type[RunFinding]
Sums: TypeAlias = dict[str, dict[str, int]]
_RANKS = {severity: rank for rank, severity in enumerate(SEVERITIES)}
_ITEM_OF_A_PAYOUT = "resource:%@%"


@dataclass(frozen=True, slots=True)
class CodeTotal:
    """Exceptions of one code in one currency; `oldest` is the day of the oldest fact where it was asked for."""

    code: str
    severity: str
    currency: str
    count: int
    at_risk: int
    oldest: date | None


@dataclass(frozen=True, slots=True)
class ExceptionFilter:
    code: str = ""
    state: str = "open"
    severity: str = ""
    search: str = ""
    owner: str | None = None
    opened_from: date | None = None
    closed_from: date | None = None
    payout_id: str = ""
    # Those whose titles, as the reader sees them, hold what is searched.
    codes: tuple[str, ...] = ()
    # Those that a decision which waits will open again: they stand among what is open.
    reopening: tuple[str, ...] = ()
    # Rows that such a decision will open: no table has them yet.
    opening: tuple[Row, ...] = ()
    # Of the database, which is given them in its own way.
    dialect: str = "sqlite"


@dataclass(frozen=True, slots=True)
class Later:
    """What will become of exceptions in a list of one state: columns that change by id."""

    state: str
    changed: Mapping[str, Mapping[str, Mapping[str, Any]]]

    def find(self, connection: str, identity: str, stake: Stake) -> Stake | None:
        """Return an exception as it will be; None if it leaves the list."""
        moved = self.changed.get(connection, {}).get(identity, {})
        is_closed = moved.get("resolved_on") is not None
        if "resolved_on" in moved and self.state != "all" and is_closed == (self.state == "open"):
            return None
        return stake._replace(**{name: moved[name] for name in moved.keys() & set(Stake._fields)})


def newest_payouts(session: Session, runs: Sequence[Run], number: int) -> list[Row]:
    """Read the newest payouts; those that have no date yet are the newest."""
    order = (col(PayoutResult.payout_date).desc().nulls_first(), col(PayoutResult.payout_id).desc())
    query = sa.select(col(PayoutResult.connection), col(PayoutResult.columns)).where(of_runs(PayoutResult, runs))
    return [_to_payout(*row) for row in session.execute(query.order_by(*order).limit(number))]


def work_list(asked: ExceptionFilter) -> Listing:
    """Return the work list as a list: gravest first, then by what is at risk."""
    table = _with_opening(asked.opening, asked.dialect) if asked.opening else ExceptionRow
    rank = sa.case(_RANKS, value=col(table.severity))
    since = sa.func.coalesce(col(table.fact_on), col(table.opened_on))
    until = sa.func.coalesce(col(table.resolved_on), col(table.last_seen_on))

    def select(wanted: Wanted) -> Statement:
        query = sa.select(table).where(*_exception_conditions(wanted.connections, asked, table))
        return query.order_by(rank, col(table.amount_at_risk).desc(), col(table.opened_on), col(table.id))

    return Listing(
        "exceptions",
        WORK_COLUMNS,
        select,
        _show_exception,
        ("open", "closed", "all"),
        by={"exception_id": col(table.id), "fact_on": since},
        sorts={"severity": rank, "age_business_days": _count_days(until) - _count_days(since)},
        amounts=("amount_at_risk",),
    )


def _with_opening(rows: Sequence[Row], dialect: str) -> type[ExceptionRow]:
    """Return the table with rows that no run has written yet, given as one value whatever their number."""
    table = core_of(ExceptionRow)
    text = json.dumps([{one.name: row.get(one.name) for one in table.c} for row in rows], default=date.isoformat)
    if dialect == "sqlite":
        each = sa.func.json_each(text).table_valued("value")
        # SQLite keeps days as texts.
        given = [
            sa.cast(sa.func.json_extract(each.c.value, f"$.{one.name}"), _plain(one.type)).label(one.name)
            for one in table.c
        ]
    else:
        named = (sa.column(one.name, one.type) for one in table.c)
        records = sa.func.json_to_recordset(sa.cast(text, sa.Text).op("::")(sa.text("json")))
        given = [*records.table_valued(*named).render_derived(with_types=True).c]
    both = sa.union_all(sa.select(table), sa.select(*given)).subquery("shown")
    return cast("type[ExceptionRow]", aliased(ExceptionRow, both))


def _plain(kind: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any]:
    return sa.String() if isinstance(kind, sa.Date) else kind


def _count_days(on: sa.ColumnElement[date]) -> sa.ColumnElement[int]:
    """Return a number that grows with the day: what is open ends on one day, so that its ages grow with it."""
    year, month, day = (sa.extract(part, on) for part in ("year", "month", "day"))
    return year * 372 + month * 31 + day


def _show_exception(row: ExceptionRow) -> Row:
    shown = row.model_dump(exclude={"evidence"})
    return shown | {"exception_id": row.id, "fact_on": row.aged_from, "age_business_days": None}


def total_at_risk(session: Session, listing: Listing, wanted: Wanted, later: Later | None = None) -> tuple[Sums, int]:
    """Add up what is at risk in a filtered work list by currency, each peso once; return the number of its rows too.

    With `later` it is as it will be.
    """
    stakes: dict[str, list[Stake]] = defaultdict(list)
    asked = ask(session, listing, wanted).order_by(None)
    columns = asked.selected_columns
    asked = asked.with_only_columns(*(columns[name] for name in (*Stake._fields, "connection", "id")))
    # Tens of thousands of rows: plain ones, without the object layer.
    for *row, connection, identity in session.connection().execute(asked).all():
        stake = Stake._make(row) if later is None else later.find(connection, identity, Stake._make(row))
        if stake is not None:
            stakes[connection].append(stake)
    sums: dict[str, int] = defaultdict(int)
    for own in stakes.values():
        for currency, total in add_up_risks(own).items():
            sums[currency] += total.amount
    at_risk = {currency: {"amount_at_risk": amount} for currency, amount in sorted(sums.items())}
    return at_risk, sum(map(len, stakes.values()))


def find_versions(session: Session, listing: Listing, wanted: Wanted, *, most: int) -> list[tuple[str, str, int]]:
    """Return connection, id and version of the exceptions that a filter shows, at most so many."""
    key = (col(ExceptionRow.connection), col(ExceptionRow.id), col(ExceptionRow.version))
    query = ask(session, listing, wanted).with_only_columns(*key).order_by(None).order_by(*key[:2]).limit(most)
    return [(row[0], row[1], row[2]) for row in session.execute(query)]


def find_keys(session: Session, listing: Listing, wanted: Wanted, *, most: int) -> list[tuple[str, str]]:
    """Return connection and id of the exceptions that a filter shows, in the order of its list, at most so many."""
    key = (col(ExceptionRow.connection), col(ExceptionRow.id))
    return [
        (row[0], row[1]) for row in session.execute(ask(session, listing, wanted).with_only_columns(*key).limit(most))
    ]


def _exception_conditions(
    connections: Sequence[str], asked: ExceptionFilter, table: type[ExceptionRow] = ExceptionRow
) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = [col(table.connection).in_(connections)]
    if asked.code:
        conditions.append(col(table.code) == asked.code)
    if asked.severity:
        conditions.append(col(table.severity) == asked.severity)
    if asked.state == "open":
        is_open = col(table.resolved_on).is_(None)
        again = [col(table.id).in_(asked.reopening)] if asked.reopening else []
        conditions.append(sa.or_(is_open, *again))
    elif asked.state == "closed":
        conditions.append(col(table.resolved_on).is_not(None))
    if asked.owner is not None:
        conditions.append(col(table.owner) == asked.owner)
    if asked.opened_from:
        conditions.append(col(table.opened_on) >= asked.opened_from)
    if asked.closed_from:
        conditions.append(col(table.resolved_on) >= asked.closed_from)
    if asked.payout_id:
        conditions.append(col(table.payout_id) == asked.payout_id)
    if asked.search:
        ids = (col(getattr(table, name)) for name in ("subject", "owner", "id", "payout_id", "doc_key", "title"))
        # One long text is looked through in half the time of six, and no search has a line break.
        together = reduce(operator.add, (sa.func.coalesce(one, "") + "\n" for one in ids))
        inside = together.icontains(asked.search, autoescape=True)
        customer = fold_cell(sa.func.coalesce(col(table.customer_name), "")).contains(
            fold(asked.search), autoescape=True
        )
        conditions.append(sa.or_(inside, customer, col(table.code).in_(asked.codes)))
    return conditions


def only_gaps(run: Run) -> bool:
    """Return True if the list took only DATA_GAPs of a run: its day lies ahead of the data."""
    summary = read_summary(run)
    return not run.complete and (summary["ahead_of_data"] or set(summary["exceptions"]) == {Code.DATA_GAP})


def has_seen_more(session: Session, connection: str) -> bool:
    mine = (col(ExceptionRow.connection) == connection, col(ExceptionRow.code) != Code.DATA_GAP)
    return session.scalar(sa.select(col(ExceptionRow.id)).where(*mine).limit(1)) is not None


def owners(session: Session, connections: Sequence[str]) -> list[str]:
    """Name everybody who has an exception."""
    mine = (col(ExceptionRow.connection).in_(connections), col(ExceptionRow.owner) != "")
    owner = col(ExceptionRow.owner)
    return list(session.scalars(sa.select(owner).where(*mine).distinct().order_by(owner)))


def exceptions_of(session: Session, connection: str, payout_id: str) -> list[Row]:
    table = core_of(ExceptionRow)
    query = sa.select(table).where(table.c.connection == connection, table.c.payout_id == payout_id)
    rank = sa.case(_RANKS, value=table.c.severity)
    ordered = query.order_by(table.c.resolved_on.is_not(None), rank, table.c.amount_at_risk.desc(), table.c.id)
    return list(exception_rows(session, ordered))


def find_payout(session: Session, runs: Sequence[Run], payout_id: str) -> Row | None:
    query = sa.select(col(PayoutResult.connection), col(PayoutResult.columns)).where(
        of_runs(PayoutResult, runs), col(PayoutResult.payout_id) == payout_id
    )
    row = session.execute(query).first()
    return None if row is None else _to_payout(*row)


def find_payouts(session: Session, runs: Sequence[Run], ids: Collection[str]) -> dict[str, Row]:
    """Find some payouts by their ids."""
    query = sa.select(col(PayoutResult.connection), col(PayoutResult.columns)).where(
        of_runs(PayoutResult, runs), col(PayoutResult.payout_id).in_(ids)
    )
    rows = (_to_payout(connection, columns) for connection, columns in session.execute(query))
    return {row["payout_id"]: row for row in rows}


def _to_payout(connection: str, stored: str) -> Row:
    """Return a stored payout with every column of today; what a run was published without is empty."""
    return {**dict.fromkeys(column.name for column in PAYOUT_COLUMNS), **decode(stored), "connection": connection}


@dataclass(frozen=True, slots=True)
class StatusCount:
    """Payouts that stand alike: what they miss and what is over are added up apart, so that neither hides the other."""

    connection: str
    status: str
    payouts: int
    short: int = 0
    over: int = 0

    def move(self, difference: int, sign: int) -> "StatusCount":
        """Return the count with one payout more or, with a negative sign, one less."""
        return replace(
            self,
            payouts=self.payouts + sign,
            short=self.short + sign * min(difference, 0),
            over=self.over + sign * max(difference, 0),
        )


def payouts_by_status(session: Session, runs: Sequence[Run]) -> list[StatusCount]:
    difference = col(PayoutResult.difference)
    short, over = (sa.func.sum(sa.case((one, difference), else_=0)) for one in (difference < 0, difference > 0))
    query = (
        sa.select(col(PayoutResult.connection), col(PayoutResult.status_recon), sa.func.count(), short, over)
        .where(of_runs(PayoutResult, runs))
        .group_by(col(PayoutResult.connection), col(PayoutResult.status_recon))
        .order_by(col(PayoutResult.connection), col(PayoutResult.status_recon))
    )
    return run_cache.of_runs(
        session,
        "payouts by status",
        runs,
        lambda: [
            StatusCount(own, status, count, int(low), int(high))
            for own, status, count, low, high in session.execute(query)
        ],
    )


def open_by_code(session: Session, connections: Sequence[str]) -> list[CodeTotal]:
    """Count what is open by code and currency, gravest and dearest first."""
    since = sa.func.coalesce(col(ExceptionRow.fact_on), col(ExceptionRow.opened_on))
    return totals_by_code(session, ExceptionRow, _exception_conditions(connections, ExceptionFilter()), since)


def bank_names(session: Session) -> dict[str, str]:
    """Name the banks of the provider's directory by their ids."""
    bodies = (decode(body) for body in session.scalars(sa.select(col(Institution.body))))
    return {body["id"]: body["name"] for body in bodies if body.get("name")}


def totals_by_code(
    session: Session,
    table: Findings,
    conditions: Sequence[sa.ColumnElement[bool]],
    oldest: sa.ColumnElement[date] | sa.Null,
) -> list[CodeTotal]:
    """Sum up exceptions by code, each subject once.

    Subjects of one code differ from each other but where an item is in several payouts, so that the database may add
    up all other codes: tens of thousands of rows would have to be read for each look otherwise.
    """
    keys = (col(table.severity), col(table.code), col(table.currency))
    several = sa.func.sum(sa.case((col(table.subject).like(_ITEM_OF_A_PAYOUT), 1), else_=0))
    counted = sa.select(*keys, sa.func.count(), sa.func.sum(col(table.amount_at_risk)), sa.func.min(oldest), several)
    rows = session.execute(counted.where(*conditions).group_by(*keys)).all()
    once = _read_once(session, table, conditions, sorted({row[1] for row in rows if row[6]}))
    found = [
        CodeTotal(code, severity, currency, count, once.get((severity, code, currency), int(amount)), first)
        for severity, code, currency, count, amount, first, _ in rows
    ]
    return sorted(found, key=lambda one: (_RANKS[one.severity], -one.at_risk, one.code))


def _read_once(
    session: Session,
    table: Findings,
    conditions: Sequence[sa.ColumnElement[bool]],
    codes: Sequence[str],
) -> dict[tuple[str, str, str], int]:
    """Add up the codes of which one item may stand in several rows; connections share no item."""
    stakes: dict[tuple[str, str], list[Stake]] = defaultdict(list)
    place = (col(table.connection), col(table.severity))
    stake = (col(table.code), col(table.subject), col(table.currency), col(table.amount_at_risk))
    asked = sa.select(*place, *stake).where(*conditions, col(table.code).in_(codes))
    for connection, severity, *row in session.execute(asked):
        stakes[connection, severity].append(Stake(*row))
    sums: dict[tuple[str, str, str], int] = defaultdict(int)
    for (_, severity), rows in stakes.items():
        for code in {one.code for one in rows}:
            for currency, total in add_up_risks(one for one in rows if one.code == code).items():
                sums[severity, code, currency] += total.amount
    return sums
