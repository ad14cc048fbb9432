"""Closing a period from start to end: make the run it rests on, check that no facts came in meanwhile, keep figures."""

from datetime import date, timedelta

from consumer.facts.clock import local_date
from consumer.facts.installation import Connection, Installation
from reconcile.closing import periods
from reconcile.closing.periods import PeriodError
from reconcile.desk.decisions import Signature
from reconcile.runs.run import run
from reconcile.tables import Period

# What pages and commands use.
__all__ = ["PeriodError", "close_period", "reopen_period"]


def close_period(
    installation: Installation, connection: Connection, *, until: date, as_of: date | None, signed: Signature
) -> Period:
    """Close every day up to one that is over, on a run of `as_of` (default today) over everything that is known."""
    today = local_date(signed.at, connection.country.zone)
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
        return periods.close(session, connection, seen.result, run_id=kept.run_id, until=until, signed=signed)


def reopen_period(installation: Installation, connection: Connection, signed: Signature) -> Period:
    """Open the newest closed period again; the closing stays in the history."""
    with installation.store.transaction() as session:
        return periods.reopen(session, connection.name, signed)
