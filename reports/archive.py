"""The archive of report files: written once they are whole, each with its digest and the runs it was made from."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts import shared_files
from consumer.facts.durable import digest_file
from consumer.facts.installation import Connection, Installation
from consumer.facts.money import format_decimal
from consumer.facts.store import Turn, take_turn
from consumer.facts.work import Completion
from reconcile.kept.chunks import DamagedRowsError
from reconcile.kept.records import read_closed_periods
from reports.making import catalogue
from reports.making.catalogue import NoRunError
from reports.output import files
from reports.output.export import Format
from reports.output.files import Shape
from reports.output.workbook import sums
from reports.queries.listing import Statement, Wanted
from reports.queries.query import Query
from reports.shapes.build import Report
from reports.shapes.spans import Span
from reports.tables import ReportFile

NIGHTLY = ("payout-summary", "payout-detail", "exceptions", "documents", "receivables", "in-transit", "control")


class NotWritableError(RuntimeError):
    """The data folder takes no file; the message names the file and says why."""


class ChangedFileError(RuntimeError):
    """A file of the archive is gone or is no longer what was written; the message says which."""


def keep(
    installation: Installation,
    made: Sequence[Report],
    shape: Shape,
    *,
    now: datetime,
    on_bytes: Callable[[int], None] = lambda _count: None,
) -> ReportFile:
    """Write a report, with its further sheets, into the archive; the same file again replaces its own record."""
    report = made[0]
    name = files.name_of(report, shape.format)
    folder = Path("reports") / report.as_of.isoformat() / f"{shape.profile}-{shape.language}"
    try:
        digest = files.write(
            installation.settings.files_dir / folder / name, files.pieces(made, shape), on_bytes=on_bytes
        )
    except OSError as error:
        raise NotWritableError(f"{folder / name} cannot be written in the data folder: {error.strerror}") from error
    shared_files.publish(installation, installation.settings.files_dir / folder / name, now=now)
    row = ReportFile(
        name=report.definition.name,
        format=shape.format.value,
        profile=shape.profile,
        language=shape.language,
        path=str(folder / name),
        run_ids=report.facts["runs"],
        row_count=report.table.num_rows,
        sha256=digest,
        made_at=now,
        since=report.span.since,
        until=report.span.until,
        as_of=report.as_of,
        zones=report.facts["zones"],
        calendars=report.facts["calendars"],
        sums=json.dumps(sums_of(report)),
        connections=" ".join(connections_of(report)),
    )
    with installation.store.transaction() as session:
        take_turn(session, Turn.FILES)
        session.execute(sa.delete(ReportFile).where(col(ReportFile.path) == row.path))
        session.add(row)
    return row


def connections_of(report: Report) -> list[str]:
    """Name the connections that a report was asked of, with a run or without; none where no run is needed."""
    if report.definition.name in catalogue.WITHOUT_RUN:
        return []
    with_run = {run.partition(":")[0] for run in report.facts["runs"].split()}
    return sorted(with_run.union(report.facts["missing"].split()))


def sums_of(report: Report) -> dict[str, str]:
    """Add up every money column by currency, in major units: what a reader checks a file against."""
    return {f"{name} {currency}": format_decimal(amount, currency) for name, currency, amount in sums(report)}


@dataclass(frozen=True, slots=True)
class Night:
    """What the nightly step of reports did: its exit status and its lines for people."""

    status: Completion
    lines: list[str]


def night(installation: Installation, connection: Connection, *, on: date, now: datetime) -> Night:
    """Make the day's files, and say whether the run they show is whole."""
    try:
        kept = keep_nightly(installation, connection, on=on, now=now)
    except (NoRunError, NotWritableError, DamagedRowsError) as error:
        return Night(Completion.NOTHING_DONE, [f"{connection.name}: report: {error}"])
    gone = forget_old(installation, now=now)
    older = f", {gone} older ones deleted" if gone else ""
    return Night(Completion.DONE, [f"{connection.name}: report: {len(kept)} files of {on}{older}"])


def forget_old(installation: Installation, *, now: datetime) -> int:
    """Delete files that are past CUADRE_ARCHIVE_DAYS; those of a run that a closed period stands on stay for ever.

    A file goes before its row, so that what a crash leaves is found again.
    """
    before = now - timedelta(days=installation.settings.archive_days)
    with installation.store.reading() as session:
        names = [own.name for own in installation.settings.all_connections]
        standing = {f"{name}:{period.run_id}" for name in names for period in read_closed_periods(session, name)}
        old = session.scalars(sa.select(ReportFile).where(col(ReportFile.made_at) < before)).all()
    gone = [file for file in old if standing.isdisjoint(file.run_ids.split())]
    for file in gone:
        path = installation.settings.files_dir / file.path
        path.unlink(missing_ok=True)
        shared_files.withdraw(installation, path)
        with installation.store.transaction() as session:
            session.execute(
                sa.delete(ReportFile).where(col(ReportFile.id) == file.id, col(ReportFile.made_at) < before)
            )
    return len(gone)


def keep_nightly(installation: Installation, connection: Connection, *, on: date, now: datetime) -> list[ReportFile]:
    """Keep the files of one business day: machine CSV for programs and XLSX in the country's own shape for people."""
    country = connection.country
    people = Shape(Format.XLSX, country.profile, country.language)
    kept: list[ReportFile] = []
    for name in NIGHTLY:
        # Payouts of the day; lists of what is open cover everything.
        span = Span(on, on) if name.startswith("payout-") else Span()
        query = Query(name, (connection,), today=on, span=span, as_of=on)
        made = catalogue.make_sheets(installation, query)
        kept.extend(keep(installation, made, shape, now=now) for shape in (Shape(), people))
    return kept


def list_files(session: Session, wanted: Wanted, *, limit: int = 200) -> Sequence[ReportFile]:
    return session.scalars(select_files(wanted).limit(limit)).all()


def select_files(wanted: Wanted) -> Statement:
    """Select the files made of one of the connections asked for or of exactly these, newest first."""
    files = sa.select(ReportFile).order_by(col(ReportFile.made_at).desc(), col(ReportFile.id).desc())
    of_these = col(ReportFile.connections).in_([*wanted.connections, " ".join(sorted(wanted.connections))])
    return files if wanted.is_whole else files.where(of_these)


def open_kept(installation: Installation, file: ReportFile) -> Path:
    """Find a kept file, whole and as it was written: what is sent is what its digest says."""
    path = installation.settings.files_dir / file.path
    try:
        if not path.exists() or digest_file(path) != file.sha256:
            shared_files.fetch(installation, path, is_stale=True)
        found = digest_file(path)
    except OSError as error:
        raise ChangedFileError(f"{path.name} cannot be read in the archive: {error.strerror}") from None
    if found != file.sha256:
        raise ChangedFileError(f"{path.name} was changed after it was made: make the report again")
    return path
