"""Closing a period from start to end: the run that stands for it, proof that nothing came in meanwhile, the figures."""

from datetime import date, datetime, timedelta

from consumer.facts.clock import local_date
from consumer.facts.installation import Connection, Installation
from reconcile.closing import periods
from reconcile.closing.periods import PeriodError
from reconcile.runs.run import run
from reconcile.tables import Period

# The face that pages and commands see.
__all__ = ["PeriodError", "close_period", "reopen_period"]


def close_period(  # noqa: PLR0913 - what is closed, by whom, why, when
    installation: Installation,
    connection: Connection,
    *,
    until: date,
    as_of: date | None,
    author: str,
    reason: str,
    at: datetime,
) -> Period:
    """Close every day up to one that is over, on a run of `as_of` (default today) over everything that is known."""
    today = local_date(at, connection.country.zone)
    day = as_of or today
    if until >= today:
        raise PeriodError("closing.not_over", until=until, latest=today - timedelta(days=1))
    if day < until:
        raise PeriodError("closing.run_too_old", as_of=day, latest=day)
    seen = run(installation, connection, as_of=day, dry_run=True)
    # Published, an incomplete run would be the newest one that everybody sees.
    if not seen.complete and as_of is None:
        raise PeriodError("closing.today_incomplete")
    if not seen.complete:
        raise PeriodError("closing.data_incomplete", day=day)
    kept = run(installation, connection, as_of=day)
    if seen.result is None or seen.run_id != kept.run_id:
        raise PeriodError("closing.facts_came_in")
    with installation.store.transaction() as session:
        return periods.close(
            session, connection, seen.result, run_id=kept.run_id, until=until, author=author, reason=reason, at=at
        )


def reopen_period(
    installation: Installation, connection: Connection, *, author: str, reason: str, at: datetime
) -> Period:
    """Open the newest closed period again; the closing stays in the history."""
    with installation.store.transaction() as session:
        return periods.reopen(session, connection.name, author=author, reason=reason, at=at)
