"""The table of jobs: what happens when, for each connection at its own local time."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, time, timedelta
from pathlib import Path

from consumer.alarms import outbox
from consumer.alarms.states import Change, Kind, list_standing
from consumer.alarms.targets import read_targets
from consumer.alarms.wording import content_of
from consumer.facts import disputes
from consumer.facts.bankdays import CalendarError, calendar_of, read_calendar
from consumer.facts.clock import utc_now
from consumer.facts.durable import drop_old
from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.health.disk import Verdict
from consumer.health.doctor import check_endpoint
from consumer.inbox.record import prune
from consumer.jobs import ticks
from consumer.jobs.processes import Ended
from consumer.jobs.schedule import HourlyJob, Job, JobIncompleteError, TroubleFoundError
from consumer.sync.pull import pull

RETENTION = "retention"
RETENTION_AT = time(4, 30)
# Payouts of the day's window are made after the 14:00 cut.
CUT_AT = time(15, 30)
CUT_GRACE = timedelta(hours=8)
FISCAL_AT = time(12, 30)
ENDPOINT_MINUTE = time(0, 7)
SEARCH_MINUTE = time(0, 37)
# Later it would be no news of the morning.
DIGEST_GRACE = timedelta(hours=2)
# An hourly look without a finding is of no interest for long.
_HOURS_KEPT = timedelta(days=7)
# What waits there for its reader, or was left by a process that was killed.
_WAITING_LASTS = timedelta(days=1)
# Issuers close a month's sales register until the 20th, and the F29 is filed between the 10th and the 28th.
_REGISTER_DAYS = range(1, 22)
_STATEMENT_DAYS = range(10, 29)
_MONDAY = 0


Night = Callable[[Installation, Connection, date], Ended]
# The lines of the morning, as messages are stored.
Headline = Callable[[Installation], Sequence[str]]


# Brings what is new of one connection into the search; returns how many rows.
Fill = Callable[[Installation, Connection], int]


def has_no_headline(_installation: Installation) -> Sequence[str]:
    return ()


def job_table(
    installation: Installation, *, night: Night, cut: Night, backup: Night, headline: Headline = has_no_headline,
    fill: Fill | None = None,
) -> list[Job]:  # fmt: skip
    """List every job of the installation; nights, cuts, backups, headline and search reach into rooms above this one.

    | job | when |
    | --- | --- |
    | nightly | every night at the configured local time, for the day before |
    | banking-cut | Chilean bank days at 15:30, for the running day |
    | fiscal | at 12:30 on the days the Chilean tax office moves its books; Mondays all of it |
    | endpoint | every hour |
    | search | every hour: facts that were applied and files that were kept since can be found |
    | retention | every night at 04:30 |
    | backup | every night at the configured local time, where a folder for it is set |
    | digest | every day at the configured local time, where one is |
    """
    jobs = [_retention(installation), *_backup(installation, backup)]
    if installation.settings.alert_digest_at is not None:
        jobs.append(_digest(installation, installation.settings.alert_digest_at, headline))
    for connection in installation.settings.all_connections:
        jobs += _of(installation, connection, night=night, cut=cut)
        if fill is not None:
            jobs.append(_search(installation, connection, fill))
    return jobs


def _of(installation: Installation, connection: Connection, *, night: Night, cut: Night) -> list[Job]:
    zone = connection.country.zone

    def by(work: Night) -> Callable[[date], str]:
        return lambda on: _outcome_of(work(installation, connection, on))

    def fiscal(on: date) -> str:
        return _outcome_of(pull(installation, connection, fiscal_streams(on)))

    jobs = [
        Job(f"nightly:{connection.name}", installation.settings.nightly_at, zone, by(night), is_heavy=True),
        HourlyJob(
            _endpoint_name(connection), ENDPOINT_MINUTE, zone, lambda _on: _look_at_endpoint(installation, connection)
        ),
    ]
    if connection.country_code == "cl":
        is_bank_day = bank_days_of(installation.settings.files_dir, "cl")
        name = f"banking-cut:{connection.name}"
        jobs.append(Job(name, CUT_AT, zone, by(cut), is_bank_day, days_back=0, grace=CUT_GRACE, is_heavy=True))
        if connection.link_tokens:
            jobs.append(Job(f"fiscal:{connection.name}", FISCAL_AT, zone, fiscal, is_fiscal_day, days_back=0))
    return jobs


def _search(installation: Installation, connection: Connection, fill: Fill) -> Job:
    zone = connection.country.zone
    return HourlyJob(
        _search_name(connection), SEARCH_MINUTE, zone, lambda _on: f"{fill(installation, connection)} rows"
    )


def _search_name(connection: Connection) -> str:
    return f"search:{connection.name}"


def _outcome_of(ended: Ended) -> str:
    if not ended.complete:
        raise JobIncompleteError("; ".join(ended.lines))
    return "; ".join(ended.lines)


def _endpoint_name(connection: Connection) -> str:
    return f"endpoint:{connection.name}"


def _look_at_endpoint(installation: Installation, connection: Connection) -> str:
    check = check_endpoint(installation, connection)
    if check.verdict is not Verdict.OK:
        raise TroubleFoundError(f"{connection.name}: {check.check}: {check.found}; {check.advice}")
    return f"{connection.name}: {check.check}: {check.found}"


def _backup(installation: Installation, work: Night) -> Iterator[Job]:
    settings = installation.settings
    if settings.backup_dir is not None:
        main = settings.connection("main")
        yield Job("backup", settings.backup_at, main.country.zone, lambda on: _outcome_of(work(installation, main, on)))


def _retention(installation: Installation) -> Job:
    def run(_on: date) -> str:
        now = utc_now()
        dropped = prune(installation.store, installation.settings, now=now)
        outbox.forget(installation.store, now=now)
        for waiting in ("uploads", "judged"):
            drop_old((installation.settings.files_dir / waiting).glob("*"), before=now - _WAITING_LASTS)
        disputes.FILES.sweep(installation, before=now - _WAITING_LASTS)
        for connection in installation.settings.all_connections:
            for name in (_endpoint_name(connection), _search_name(connection)):
                ticks.forget(installation.store, name, before=now - _HOURS_KEPT)
        return f"{dropped} bodies dropped"

    zone = installation.settings.connection("main").country.zone
    return Job(RETENTION, RETENTION_AT, zone, run)


def _digest(installation: Installation, at: time, headline: Headline) -> Job:
    def run(_on: date) -> str:
        lines, channels = headline(installation), read_targets(installation.settings)
        with installation.store.transaction() as session:
            standing = [Change(Kind.RAISED, alarm) for alarm in list_standing(session)]
            outbox.put_in(session, channels, content_of("digest", standing, headline=lines), now=utc_now())
        return f"{len(standing)} alarms stand; {len(channels)} messages"

    zone = installation.settings.connection("main").country.zone
    return Job("digest", at, zone, run, days_back=0, grace=DIGEST_GRACE)


def bank_days_of(data_dir: Path, country: str) -> Callable[[date], bool]:
    """Return what tells bank days by the merchant's own file, read each time: laws move days within weeks."""

    def is_bank_day(on: date) -> bool:
        try:
            calendar = read_calendar(data_dir, country)
        except CalendarError:
            # The job must still wake: its run refuses the file, and the tick then says what is wrong with it.
            calendar = calendar_of(country)
        return calendar.is_bank_day(on)

    return is_bank_day


def fiscal_streams(on: date) -> tuple[str, ...]:
    """Name the fiscal streams to read on a day: in season daily, and all of them on Mondays for what was rectified."""
    if on.weekday() == _MONDAY:
        return ("tax-invoices", "tax-returns", "tax-statements")
    register = ("tax-invoices",) if on.day in _REGISTER_DAYS else ()
    return register + (("tax-statements",) if on.day in _STATEMENT_DAYS else ())


def is_fiscal_day(on: date) -> bool:
    return bool(fiscal_streams(on))
