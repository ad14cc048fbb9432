"""The archive: a night's files, whole and recorded with what they were made from."""

import hashlib
import io
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import openpyxl
import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import col

from consumer.facts.installation import Installation
from consumer.facts.tables.jobs import SharedFile
from consumer.facts.work import Completion
from reconcile.tables.closing import Period
from reconcile.tables.desk import ExceptionRow
from reports import archive
from reports.queries.listing import Wanted
from reports.tables import ReportFile

NOW = datetime(2026, 10, 9, 6, 30, tzinfo=UTC)
DAY = date(2026, 10, 8)


def test_a_night_keeps_files_for_programs_and_for_people(reconciled: Installation) -> None:
    """Each report is kept as CSV and as XLSX in the country's shape, and the record's digest is the file's."""
    night = archive.night(reconciled, reconciled.settings.connection("main"), on=DAY, now=NOW)
    assert (night.status, night.lines) == (Completion.DONE, ["main: report: 14 files of 2026-10-08"])
    with reconciled.store.reading() as session:
        kept = archive.list_files(session, Wanted(["main"]))
    assert {(row.name, row.profile) for row in kept} == {
        (name, profile) for name in archive.NIGHTLY for profile in ("machine", "cl")
    }
    for row in kept:
        path = archive.open_kept(reconciled, row)
        assert hashlib.sha256(path.read_bytes()).hexdigest() == row.sha256
        assert row.run_ids == "main:run-1"
    paths = {row.path for row in kept}
    assert "reports/2026-10-08/machine-en/receivables_2026-10-08_cl_main_r0042.csv" in paths


def test_the_same_night_again_replaces_its_own_files(reconciled: Installation) -> None:
    """A rerun leaves one record and the same bytes."""
    connection = reconciled.settings.connection("main")
    first = {row.path: row.sha256 for row in archive.keep_nightly(reconciled, connection, on=DAY, now=NOW)}
    again = {row.path: row.sha256 for row in archive.keep_nightly(reconciled, connection, on=DAY, now=NOW)}
    assert first == again
    with reconciled.store.reading() as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(ReportFile)) == 14


def test_a_night_of_an_earlier_day_lists_what_is_open(reconciled: Installation, keep_run: Callable[..., None]) -> None:
    """Whatever opened only in the run of a later day is still open, so it is in the file; what came and went is not."""
    day = date(2026, 10, 6)
    with reconciled.store.transaction() as session:
        keep_run(session, "main", "run-0", number=43, as_of=day)
        session.execute(sa.update(ExceptionRow).values(opened_on=DAY))
        wanted = set(session.scalars(sa.select(col(ExceptionRow.id)).where(col(ExceptionRow.resolved_on).is_(None))))
    kept = archive.keep_nightly(reconciled, reconciled.settings.connection("main"), on=day, now=NOW)
    (row,) = (row for row in kept if row.name == "exceptions" and row.format == "csv")
    lines = archive.open_kept(reconciled, row).read_text("utf-8").splitlines()
    assert (len(wanted), {line.partition(",")[0] for line in lines[1:]}) == (2, wanted)


def test_a_workbook_of_payouts_carries_what_explains_them(reconciled: Installation) -> None:
    """Summary, detail, exceptions, totals and parameters are sheets of one file."""
    kept = archive.keep_nightly(reconciled, reconciled.settings.connection("main"), on=date(2026, 10, 8), now=NOW)
    (row,) = (row for row in kept if row.name == "payout-summary" and row.format == "xlsx")
    book = openpyxl.load_workbook(io.BytesIO(archive.open_kept(reconciled, row).read_bytes()))
    assert book.sheetnames == [
        "Liquidaciones",
        "Detalle de liquidaciones",
        "Excepciones",
        "Control de totales",
        "Parámetros",
    ]
    book.close()


def test_a_night_without_a_run_makes_nothing(installation: Installation) -> None:
    """No run is nothing done, in one line."""
    night = archive.night(installation, installation.settings.connection("main"), on=DAY, now=NOW)
    assert night.status is Completion.NOTHING_DONE
    assert night.lines == [
        "main: report: there is no finished run of 2026-10-08 or before: cuadre reconcile, or a later day"
    ]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (Path.unlink, "cannot be read in the archive: No such file or directory"),
        (lambda path: path.write_bytes(b"figure,amount\r\n"), "was changed after it was made: make the report again"),
    ],
    ids=["gone", "changed"],
)
def test_a_file_that_is_no_longer_what_was_written_is_not_sent(
    reconciled: Installation,
    make_app: Callable[[Installation], Flask],
    login: Callable[[Flask], FlaskClient],
    damage: Callable[[Path], object],
    sentence: str,
) -> None:
    """The digest of the record is held against the file at every download; a wrong file is named, never sent."""
    row = archive.keep_nightly(reconciled, reconciled.settings.connection("main"), on=DAY, now=NOW)[0]
    client = login(make_app(reconciled))
    assert client.get(f"/reports/archive/{row.id}", buffered=True).status_code == 200
    damage(reconciled.settings.data_dir / row.path)
    answer = client.get(f"/reports/archive/{row.id}")
    assert (answer.status_code, answer.get_data(as_text=True)) == (409, f"{Path(row.path).name} {sentence}\n")


def test_a_data_folder_that_takes_no_file_is_named(reconciled: Installation) -> None:
    """A night says which file could not be written and why, and leaves no record of it."""
    reconciled.settings.data_dir.mkdir(parents=True, exist_ok=True)
    (reconciled.settings.data_dir / "reports").write_bytes(b"in the way")
    night = archive.night(reconciled, reconciled.settings.connection("main"), on=DAY, now=NOW)
    name = "reports/2026-10-08/machine-en/payout-summary_2026-10-08_2026-10-08_cl_main_r0042.csv"
    assert night.status is Completion.NOTHING_DONE
    assert night.lines == [f"main: report: {name} cannot be written in the data folder: Not a directory"]
    with reconciled.store.reading() as session:
        assert not archive.list_files(session, Wanted(["main"]))


@pytest.mark.both_databases
def test_files_past_their_time_go_but_evidence_of_closed_periods(
    reconciled: Installation, keep_run: Callable[..., None]
) -> None:
    """Six years keep any file, a closed period its own for ever; one that a crash took before its row is no matter."""
    connection, years = reconciled.settings.connection("main"), timedelta(days=2_200)
    standing = archive.keep_nightly(reconciled, connection, on=DAY, now=NOW)
    with reconciled.store.transaction() as session:
        keep_run(session, "main", "run-2", number=43, as_of=date(2026, 10, 9))
        session.add(Period(connection="main", until=DAY, ends_at=NOW, run_id="run-1", reason="month end",
                           closed_by="ana", closed_at=NOW))  # fmt: skip
    other = archive.keep_nightly(reconciled, connection, on=date(2026, 10, 9), now=NOW)
    assert {row.run_ids for row in standing} == {"main:run-1"}
    assert {row.run_ids for row in other} == {"main:run-2"}
    (reconciled.settings.files_dir / other[0].path).unlink()

    assert archive.forget_old(reconciled, now=NOW + years) == 0
    assert archive.forget_old(reconciled, now=NOW + years + timedelta(seconds=1)) == len(other)
    with reconciled.store.reading() as session:
        left = {row.path for row in archive.list_files(session, Wanted(["main"]))}
        assert session.scalar(sa.select(sa.func.count()).select_from(SharedFile).where(
            col(SharedFile.path).in_([row.path for row in other]))) == 0  # fmt: skip
    assert left == {row.path for row in standing}
    assert [(reconciled.settings.files_dir / row.path).exists() for row in (*standing, *other)] == (
        [True] * len(standing) + [False] * len(other)
    )
