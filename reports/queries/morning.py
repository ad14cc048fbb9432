"""What Today answers: what to look at first, what to answer, and what changed since a person last looked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from consumer.facts.store import count_rows
from consumer.facts.tables.types import core_of
from reconcile.rules.outcomes import Code, Severity
from reconcile.tables.books import BankFile, InvoiceFile
from reconcile.tables.closing import Period, PeriodAdjustment
from reconcile.tables.desk import Decision, ExceptionRow
from reconcile.tables.runs import PayoutResult, Run
from reports.queries import run_cache
from reports.queries.frames import exception_rows
from reports.shapes.spans import Row
from reports.tables import SeenMark

FIRST_ROWS = 8
# So many of the largest of each currency are among them, however new.
_LARGEST = 3
# Beyond each of these ages what is older comes first, whatever it is worth; of one age the larger one does.
_OLD = (timedelta(days=30), timedelta(days=7))
# What a payout became, in the order in which its news is told.
_ARRIVALS = (
    "payout_closed", "payout_open", "payout_returned", "payout_canceled", "payout_no_bank", "payout_incomplete",
    "payout_not_due",
)  # fmt: skip
_SAID = {Code.INVOICE_NO_PAYMENT: "overdue", Code.PAYMENT_NO_INVOICE: "unplaced"}


@dataclass(frozen=True, slots=True)
class Change:
    """One cause and how many it moved; `cause` names its sentence, `code` the exception it is about."""

    cause: str
    count: int
    code: str = ""


@dataclass(frozen=True, slots=True)
class News:
    """What changed on one connection since a moment: that of the mark, or of the run of an earlier day."""

    connection: str
    before: Run
    run: Run
    seen_at: datetime | None
    changes: Sequence[Change] = field(default_factory=tuple)


def find_first(session: Session, connections: Sequence[str], today: date) -> list[Row]:
    """Find what must be looked at first: by age in steps, and within a step by money; the largest are always there."""
    table = core_of(ExceptionRow)
    since = sa.func.coalesce(table.c.fact_on, table.c.opened_on)
    step = sa.case(*((since <= today - age, place) for place, age in enumerate(_OLD)), else_=len(_OLD))
    mine = (table.c.connection.in_(connections), table.c.resolved_on.is_(None), table.c.severity != Severity.INFO)
    by_amount = (table.c.amount_at_risk.desc(), since, table.c.id)
    # Amounts of two currencies do not compare.
    place = sa.func.row_number().over(partition_by=table.c.currency, order_by=by_amount)
    ranked = sa.select(table.c.connection, table.c.id, place.label("place")).where(*mine).subquery()
    same = sa.and_(ranked.c.connection == table.c.connection, ranked.c.id == table.c.id)
    wanted = sa.select(table.c.connection, table.c.id).join(ranked, same)
    chosen = wanted.order_by(ranked.c.place > _LARGEST, step, *by_amount).limit(FIRST_ROWS).subquery()
    same = sa.and_(chosen.c.connection == table.c.connection, chosen.c.id == table.c.id)
    return list(exception_rows(session, sa.select(table).join(chosen, same).order_by(step, *by_amount)))


def find_to_answer(session: Session, connections: Sequence[str]) -> list[Row]:
    """Find the disputes that wait for an answer, the nearest deadline first."""
    table = core_of(ExceptionRow)
    mine = (table.c.connection.in_(connections), table.c.resolved_on.is_(None), table.c.code == Code.DISPUTE_OPEN)
    waits = (table.c.severity != Severity.INFO,)
    order = (table.c.due_on.is_(None), table.c.due_on, table.c.amount_at_risk.desc())
    return list(exception_rows(session, sa.select(table).where(*mine, *waits).order_by(*order)))


def mark_seen(session: Session, person_id: int, runs: Sequence[Run], *, now: datetime) -> None:
    """Remember the newest runs as those this person has seen."""
    for run in runs:
        mark = session.get(SeenMark, (person_id, run.connection)) or SeenMark(
            person_id=person_id, connection=run.connection, run_number=0, seen_at=now
        )
        # Of two windows the one that shows the later run decides.
        mark.run_number, mark.seen_at = max(mark.run_number, run.number), now
        session.add(mark)


def find_news(session: Session, runs: Sequence[Run], person_id: int | None) -> list[News]:
    """Compare each newest run with the one the person saw last, or without a mark with that of an earlier day."""
    found = (_find_news(session, run, person_id) for run in runs)
    return [one for one in found if one is not None]


def _find_news(session: Session, run: Run, person_id: int | None) -> News | None:
    mark = session.get(SeenMark, (person_id, run.connection)) if person_id is not None else None
    before = _find_before(session, run, mark)
    if before is None:
        return None
    since = mark.seen_at if mark is not None else before.finished_at
    seen_at = mark.seen_at if mark is not None else None
    return News(run.connection, before, run, seen_at, list(_list_changes(session, before, run, since)))


def _find_before(session: Session, run: Run, mark: SeenMark | None) -> Run | None:
    """Find the run to compare with; of one whose rows were dropped the next one that has its rows."""
    mine = [col(Run.connection) == run.connection, col(Run.number) <= run.number, col(Run.pruned_at).is_(None)]
    mine += [col(name).is_(None) for name in (Run.scope_from, Run.scope_to, Run.scope_payout)]
    if mark is not None:
        seen = sa.select(Run).where(*mine, col(Run.number) >= mark.run_number)
        return session.scalar(seen.order_by(col(Run.number)).limit(1))
    # An incomplete run withholds what is missing: against it everything would be new.
    earlier = sa.select(Run).where(*mine, col(Run.as_of) < run.as_of, col(Run.complete))
    return session.scalar(earlier.order_by(col(Run.as_of).desc(), col(Run.number).desc()).limit(1))


def _list_changes(session: Session, before: Run, run: Run, since: datetime) -> Iterator[Change]:
    yield from _count_payouts(session, before, run)
    if before.number != run.number:
        yield from _count_exceptions(session, before, run)
    own = run.connection
    invoices, banks = (
        count_rows(session, table, col(table.connection) == own, col(table.imported_at) > since)
        for table in (InvoiceFile, BankFile)
    )
    decided = count_rows(session, Decision, col(Decision.connection) == own, col(Decision.at) > since)
    late = session.scalar(
        sa.select(sa.func.count())
        .select_from(PeriodAdjustment)
        .join(Period, col(Period.id) == PeriodAdjustment.period_id)
        .where(col(Period.connection) == own, col(PeriodAdjustment.found_at) > since)
    )
    counts = {"late": late or 0, "files": invoices + banks, "decisions": decided}
    yield from (Change(cause, count) for cause, count in counts.items() if count)


def _count_payouts(session: Session, before: Run, run: Run) -> Iterator[Change]:
    """Count the payouts that stand otherwise than before, by what they became."""
    if before.number == run.number:
        return
    new, old = aliased(PayoutResult), aliased(PayoutResult)
    same = sa.and_(old.connection == new.connection, old.run_id == before.id, old.payout_id == new.payout_id)  # type: ignore[arg-type]  # columns of an alias
    mine = (col(new.connection) == run.connection, col(new.run_id) == run.id)
    moved = sa.or_(col(old.status_recon).is_(None), col(old.status_recon) != col(new.status_recon))
    query = sa.select(col(new.status_recon), sa.func.count()).select_from(new).outerjoin(old, same)
    query = query.where(*mine, moved).group_by(col(new.status_recon))
    counts = run_cache.of_runs(
        session,
        "payouts that moved",
        (before, run),
        lambda: {f"payout_{row[0]}": row[1] for row in session.execute(query)},
    )
    yield from (Change(cause, counts[cause]) for cause in _ARRIVALS if cause in counts)


def _count_exceptions(session: Session, before: Run, run: Run) -> Iterator[Change]:
    """Count what opened and closed after the run before, by its cause; the two may look at the same day."""
    row = ExceptionRow
    later = sa.select(col(Run.id)).where(col(Run.connection) == run.connection, col(Run.number) > before.number)
    begun = sa.or_(col(row.opened_on) > before.as_of, col(row.run_first).in_(later))
    same_day = sa.and_(col(row.resolved_on) == before.as_of, col(row.run_last) == before.id)
    ended = sa.or_(col(row.resolved_on) > before.as_of, same_day if run.as_of == before.as_of else sa.false())
    mine = (col(row.connection) == run.connection,)
    opened = sa.select(col(row.code), sa.func.count(), sa.func.sum(col(row.amount_at_risk)))
    fresh = opened.where(*mine, begun, col(row.resolved_on).is_(None)).group_by(row.code)
    for code, count, _ in sorted(session.execute(fresh), key=lambda found: -found[2]):
        yield Change(_SAID.get(code, "opened"), count, code)
    closed = count_rows(session, row, *mine, ended)
    if closed:
        yield Change("closed", closed)
