"""Closed periods: who closed which days, their figures, and what later facts add to them.

A closed period refuses decisions about its payments and documents. Facts are never refused: if a later complete run
finds a closed payout, item or document changed, it adds an adjustment line and the closed figure stays.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime, timedelta
from itertools import chain
from typing import TypeAlias

import msgspec
import pandas as pd
import sqlalchemy as sa
from pandas import DataFrame
from sqlmodel import Session, col, select

from consumer.facts.bulk import insert_rows
from consumer.facts.clock import day_start
from consumer.facts.installation import Connection
from consumer.facts.messages import RefusalError
from consumer.facts.store import Turn, batches, one_of, take_turn, to_ids
from consumer.facts.tables.types import core_of
from reconcile.closing.figures import KEYS, Moved, figures_of, find_moved
from reconcile.desk.decisions import Signature
from reconcile.kept.records import last_closed, read_closed_periods
from reconcile.rules.inputs import Result
from reconcile.tables.closing import EXCEPTION, ClosedFigure, Period, PeriodAdjustment
from reconcile.tables.desk import ExceptionRow

_DAY = timedelta(days=1)
# The kind of a figure and what it is of.
Subject: TypeAlias = tuple[str, str]


class PeriodError(RefusalError):
    """A period that cannot be closed or reopened; the message says why in one sentence."""


def history(session: Session, connection: str) -> Sequence[Period]:
    """Return every closing, newest first, reopened ones too."""
    return session.exec(select(Period).where(Period.connection == connection).order_by(col(Period.id).desc())).all()


def close(
    session: Session, connection: Connection, result: Result, *, run_id: str, until: date, signed: Signature
) -> Period:
    """Close every day up to one, with the figures of the run it rests on."""
    take_turn(session, Turn.PERIODS)
    if not result.complete:
        raise PeriodError("closing.newest_run_incomplete")
    since = find_first_day(session, connection, until, signed)
    period = Period(
        connection=connection.name, since=since, until=until, ends_at=day_start(until + _DAY, connection.country.zone),
        run_id=run_id, reason=signed.reason.strip(), closed_by=signed.author.strip(), closed_at=signed.at,
    )  # fmt: skip
    session.add(period)
    session.flush()
    rows = figures_of(result, since, until)[KEYS].itertuples(index=False, name=None)
    both = chain(rows, _list_exceptions(session, connection.name, since))
    insert_rows(session.connection(), core_of(ClosedFigure), KEYS, both, alike={"period_id": period.id})
    return period


def _list_exceptions(session: Session, connection: str, since: date | None) -> Iterator[tuple[str, str, str]]:
    """Yield the work list as it stands: what is open, and what was resolved since the first day of the period."""
    table = core_of(ExceptionRow)
    mine = sa.select(table).where(table.c.connection == connection)
    if since is not None:
        mine = mine.where(sa.or_(table.c.resolved_on.is_(None), table.c.resolved_on >= since))
    for row in session.execute(mine.order_by(table.c.id)).mappings():
        yield EXCEPTION, row["id"], msgspec.json.encode(dict(row)).decode()


def find_first_day(session: Session, connection: Connection, until: date, signed: Signature) -> date | None:
    """Return the first day that closing up to `until` would close; None for all there are."""
    _check_signature(signed)
    before = last_closed(session, connection.name)
    if before is not None and until <= before.until:
        raise PeriodError("closing.closed_already", until=before.until)
    return before.until + _DAY if before is not None else None


def reopen(session: Session, connection: str, signed: Signature) -> Period:
    """Open the newest closed period again; the closing stays on record."""
    take_turn(session, Turn.PERIODS)
    _check_signature(signed)
    period = last_closed(session, connection)
    if period is None:
        raise PeriodError("closing.none_closed")
    period.reopened_by, period.reopened_for = signed.author.strip(), signed.reason.strip()
    period.reopened_at = signed.at
    session.add(period)
    session.flush()
    return period


def find_adjustments(
    session: Session, connection: str, result: Result, *, as_of: date, gone: Collection[Subject] | None = None
) -> Iterator[tuple[Period, list[Moved]]]:
    """Compare each closed period, with the adjustments it has, with a result of a day after it.

    A result without the rows that closed days settled is compared by its own subjects and those that are `gone`.
    """
    for period in read_closed_periods(session, connection):
        if not result.complete or as_of < period.until:
            continue
        after = figures_of(result, period.since, period.until)
        subjects = None if gone is None else {*gone, *zip(after["kind"], after["subject"], strict=True)}
        found = list(find_moved(_standing(session, period, subjects), after))
        if found:
            yield period, found


def adjust(  # noqa: PLR0913 - which run says it, of what, and when
    session: Session, connection: str, result: Result, *, run_id: str, as_of: date, at: datetime,
    gone: Collection[Subject] | None = None,
) -> int:  # fmt: skip
    """Write what a run found otherwise in closed periods; give how many lines that are."""
    count = 0
    for period, found in find_adjustments(session, connection, result, as_of=as_of, gone=gone):
        session.add_all(
            PeriodAdjustment(
                period_id=period.id or 0, run_id=run_id, kind=one.kind, subject=one.subject, before=one.before,
                after=one.after, found_at=at,
            )
            for one in found
        )  # fmt: skip
        count += len(found)
    session.flush()
    return count


def adjustments(session: Session, period: Period) -> Sequence[PeriodAdjustment]:
    """Return the adjustment lines of a period, oldest first."""
    mine = select(PeriodAdjustment).where(PeriodAdjustment.period_id == period.id)
    return session.exec(mine.order_by(col(PeriodAdjustment.id))).all()


def _standing(session: Session, period: Period, subjects: Collection[Subject] | None) -> DataFrame:
    """Return the closed figures, of all or of some subjects, each as its newest adjustment has it."""
    wanted = select(ClosedFigure.kind, ClosedFigure.subject, ClosedFigure.words)
    compared = ClosedFigure.period_id == period.id, ClosedFigure.kind != EXCEPTION
    asked = [wanted.where(*compared)]
    if subjects is not None:
        dialect, column = session.connection().dialect.name, core_of(ClosedFigure).c.subject
        names = sorted({subject for _, subject in subjects})
        asked = [asked[0].where(one_of(column, dialect, to_ids(some))) for some in batches(names)]
    found = (tuple(row) for one in asked for row in session.exec(one))
    frozen = DataFrame([row for row in found if subjects is None or row[:2] in subjects], columns=KEYS)
    changed = ((row.kind, row.subject, row.after) for row in adjustments(session, period))
    later = DataFrame([row for row in changed if subjects is None or row[:2] in subjects], columns=KEYS)
    both = pd.concat([frozen, later], ignore_index=True).astype("str")
    standing = both.drop_duplicates(["kind", "subject"], keep="last")
    return DataFrame(standing[standing["words"] != ""])


def _check_signature(signed: Signature) -> None:
    if not signed.author.strip():
        raise PeriodError("closing.needs_author")
    if not signed.reason.strip():
        raise PeriodError("closing.needs_reason")
