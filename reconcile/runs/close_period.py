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
        raise PeriodError(f"{until} is not over yet: close up to {today - timedelta(days=1)} at the latest")
    if day < until:
        raise PeriodError(f"a run as of {day} stands for no later day: close up to {day} at the latest")
    seen = run(installation, connection, as_of=day, dry_run=True)
    # Published, an incomplete run would be the newest one that everybody sees.
    if not seen.complete and as_of is None:
        raise PeriodError(
            "the data is not complete up to today (DATA_GAP): complete it, or close with --as-of an earlier day that is"
        )
    if not seen.complete:
        raise PeriodError(f"the data of {day} is incomplete (DATA_GAP): a period is closed on complete data only")
    kept = run(installation, connection, as_of=day)
    if seen.result is None or seen.run_id != kept.run_id:
        raise PeriodError("facts came in while the period was being closed: close it again")
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
