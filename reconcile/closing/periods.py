"""Closed periods: who closed which days, what stood then, and what later facts add beside it.

A closed period refuses decisions about its payments and documents. Facts are never refused: where a later complete
run finds a closed payout, item or document otherwise, it writes one adjustment line and the closed figure stays.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import pandas as pd
import sqlalchemy as sa
from pandas import DataFrame
from sqlmodel import Session, col, select

from consumer.facts.clock import day_start
from consumer.facts.installation import Connection
from consumer.facts.messages import RefusalError
from consumer.facts.store import Turn, take_turn
from reconcile.closing.figures import KEYS, Moved, figures_of, moved
from reconcile.kept.records import closed_periods, last_closed
from reconcile.rules.inputs import Result
from reconcile.tables import ClosedFigure, Period, PeriodAdjustment

_AT_ONCE = 20_000
_DAY = timedelta(days=1)


class PeriodError(RefusalError):
    """A period that cannot be closed or reopened; the message says why in one sentence."""


def history(session: Session, connection: str) -> Sequence[Period]:
    """Every closing there was, newest first, reopened ones too."""
    return session.exec(select(Period).where(Period.connection == connection).order_by(col(Period.id).desc())).all()


def close(  # noqa: PLR0913 - what is closed, by whom, why, when
    session: Session, connection: Connection, result: Result, *, run_id: str, until: date, author: str, reason: str,
    at: datetime,
) -> Period:  # fmt: skip
    """Close every day up to one, with the figures of the run that stands for it."""
    take_turn(session, Turn.PERIODS)
    _check_words(author, reason)
    if not result.complete:
        raise PeriodError("closing.newest_run_incomplete")
    before = last_closed(session, connection.name)
    if before is not None and until <= before.until:
        raise PeriodError("closing.closed_already", until=before.until)
    since = before.until + _DAY if before is not None else None
    period = Period(
        connection=connection.name, since=since, until=until, ends_at=day_start(until + _DAY, connection.country.zone),
        run_id=run_id, reason=reason.strip(), closed_by=author.strip(), closed_at=at,
    )  # fmt: skip
    session.add(period)
    session.flush()
    rows = figures_of(result, since, until).assign(period_id=period.id).to_dict("records")
    for start in range(0, len(rows), _AT_ONCE):
        some: list[dict[str, Any]] = [{str(name): row[name] for name in row} for row in rows[start:][:_AT_ONCE]]
        session.execute(sa.insert(ClosedFigure), some)
    return period


def reopen(session: Session, connection: str, *, author: str, reason: str, at: datetime) -> Period:
    """Open the newest closed period again; that it was closed, and how, stays written."""
    take_turn(session, Turn.PERIODS)
    _check_words(author, reason)
    period = last_closed(session, connection)
    if period is None:
        raise PeriodError("closing.none_closed")
    period.reopened_by, period.reopened_for, period.reopened_at = author.strip(), reason.strip(), at
    session.add(period)
    session.flush()
    return period


def find_adjustments(
    session: Session, connection: str, result: Result, *, as_of: date
) -> Iterator[tuple[Period, list[Moved]]]:
    """Compare each closed period, with the adjustments it has, with a result of a day after it."""
    for period in closed_periods(session, connection):
        if not result.complete or as_of < period.until:
            continue
        found = list(moved(_standing(session, period), figures_of(result, period.since, period.until)))
        if found:
            yield period, found


def adjust(session: Session, connection: str, result: Result, *, run_id: str, as_of: date, at: datetime) -> int:
    """Write what a run found otherwise in closed periods; give how many lines that are."""
    count = 0
    for period, found in find_adjustments(session, connection, result, as_of=as_of):
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
    """The adjustment lines of a period, oldest first."""
    mine = select(PeriodAdjustment).where(PeriodAdjustment.period_id == period.id)
    return session.exec(mine.order_by(col(PeriodAdjustment.id))).all()


def _standing(session: Session, period: Period) -> DataFrame:
    """The closed figures with the newest adjustment of each on top."""
    wanted = select(ClosedFigure.kind, ClosedFigure.subject, ClosedFigure.words)
    frozen = DataFrame(
        [tuple(row) for row in session.exec(wanted.where(ClosedFigure.period_id == period.id))], columns=KEYS
    )
    later = DataFrame([(row.kind, row.subject, row.after) for row in adjustments(session, period)], columns=KEYS)
    both = pd.concat([frozen, later], ignore_index=True).astype("str")
    standing = both.drop_duplicates(["kind", "subject"], keep="last")
    return DataFrame(standing[standing["words"] != ""])


def _check_words(author: str, reason: str) -> None:
    if not author.strip():
        raise PeriodError("closing.needs_author")
    if not reason.strip():
        raise PeriodError("closing.needs_reason")
