"""Closing a period from start to end: make the run it rests on, check that no facts came in meanwhile, keep figures."""

import hashlib
from datetime import date, datetime, timedelta

from sqlmodel import Session

from consumer.facts.approvals import ApprovalNeededError, Deed, Wish, is_approved, use
from consumer.facts.bankdays import read_calendar
from consumer.facts.clock import local_date
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from reconcile.closing import periods
from reconcile.closing.checklist import Check, Frozen, find_checks, find_frozen
from reconcile.closing.figures import KEYS, figures_of
from reconcile.closing.periods import PeriodError
from reconcile.desk.decisions import Signature
from reconcile.kept.records import last_closed, last_run
from reconcile.rules.inputs import Result
from reconcile.runs.pending import count_waiting
from reconcile.runs.run import Seal, Watch, ignore_step, run
from reconcile.tables.closing import Period

# What pages and commands use.
__all__ = ["Check", "Frozen", "PeriodError", "close_period", "look_before_closing", "reopen_period"]


def look_before_closing(
    session: Session, installation: Installation, connection: Connection, *, until: date, now: datetime
) -> tuple[list[Check], Frozen]:
    """Return what to look at before closing the days up to one, and what that freezes; PeriodError if it cannot be."""
    if until >= (today := local_date(now, connection.country.zone)):
        raise PeriodError("closing.not_over", until=until, latest=today - timedelta(days=1))
    before = last_closed(session, connection.name)
    if before is not None and until <= before.until:
        raise PeriodError("closing.closed_already", until=before.until)
    since = before.until + timedelta(days=1) if before is not None else None
    calendar = read_calendar(installation.settings.files_dir, connection.country_code)
    newest = last_run(session, connection.name, today=today)
    waiting = count_waiting(session, installation, connection, newest, now=now)
    checks = find_checks(session, connection, until, calendar=calendar, waiting=waiting, now=now)
    return checks, find_frozen(session, connection.name, newest, since, until)


def close_period(  # noqa: PLR0913 - what may be closed is two days, and `watch` and `seal` are those of its runs
    installation: Installation,
    connection: Connection,
    *,
    until: date,
    as_of: date | None,
    signed: Signature,
    watch: Watch = ignore_step,
    seal: Seal = ignore_step,
) -> Period:
    """Close every day up to one that is over, on a run of `as_of` (default today) over everything that is known.

    `seal` may refuse the transaction that closes.
    """
    today = local_date(signed.at, connection.country.zone)
    day = as_of or today
    if until >= today:
        raise PeriodError("closing.not_over", until=until, latest=today - timedelta(days=1))
    if day < until:
        raise PeriodError("closing.run_too_old", as_of=day, latest=day)
    seen = run(installation, connection, as_of=day, dry_run=True, watch=watch)
    # Published, an incomplete run would be the newest one that everybody sees.
    if not seen.complete and as_of is None:
        raise PeriodError("closing.today_incomplete")
    if not seen.complete:
        raise PeriodError("closing.data_incomplete", day=day)
    needs_second = installation.settings.approvals.closing
    if needs_second and seen.result is not None:
        with installation.store.reading() as session:
            wish = _to_wish(session, connection, seen.result, until=until, as_of=day, signed=signed)
            if not is_approved(session, wish, now=signed.at):
                raise ApprovalNeededError(wish)
    kept = run(installation, connection, as_of=day, watch=watch)
    watch(Message("closing.freezing"))
    if seen.result is None or seen.run_id != kept.run_id:
        raise PeriodError("closing.facts_came_in")
    with installation.store.transaction() as session:
        seal(session)
        if needs_second:
            use(session, wish, now=signed.at)
        return periods.close(session, connection, seen.result, run_id=kept.run_id, until=until, signed=signed)


def _to_wish(
    session: Session, connection: Connection, result: Result, *, until: date, as_of: date, signed: Signature
) -> Wish:
    """Return what a second person approves: the days, and the very figures that would be closed."""
    since = periods.find_first_day(session, connection, until, signed)
    figures = figures_of(result, since, until)[KEYS].sort_values(KEYS).itertuples(index=False, name=None)
    terms = {"until": until.isoformat(), "as_of": as_of.isoformat()}
    return Wish(
        Deed.CLOSING,
        connection.name,
        until.isoformat(),
        terms,
        Message("approvals.closing", terms),
        basis=hashlib.sha256(repr((since, *figures)).encode()).hexdigest(),
    )


def reopen_period(installation: Installation, connection: Connection, signed: Signature) -> Period:
    """Open the newest closed period again; the closing stays in the history."""
    with installation.store.transaction() as session:
        return periods.reopen(session, connection.name, signed)
