"""Two machines on one database: what one of them keeps in files is reached from the other."""

import errno
import hashlib
import io
import os
import shutil
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs
from werkzeug.datastructures import FileStorage

from consumer.facts import shared_files
from consumer.facts.bankdays import read_calendar
from consumer.facts.installation import Installation, Settings
from consumer.facts.store import Store
from consumer.facts.tables.jobs import SharedFile
from consumer.opening import open_installation
from reconcile.books import headers, intake
from reconcile.kept import snapshots
from reports import archive
from reports.pages import staging
from reports.tables import ReportFile
from tests.merchant import environ_of

NOW = datetime(2026, 10, 3, 12, tzinfo=UTC)


# One file of SQLite is one machine's; there both mount a folder. On PostgreSQL the database itself holds the files.
pytestmark = pytest.mark.both_databases


@pytest.fixture
def machines(settings: Settings, store: Store, tmp_path: Path) -> tuple[Installation, Installation]:
    """Two installations with data folders of their own."""
    shared = None
    if store.is_sqlite:
        shared = tmp_path / "shared"
        shared.mkdir()

    def machine(name: str) -> Installation:
        changes = {"data_dir": tmp_path / name, "shared_dir": shared}
        return Installation(settings.model_copy(update=changes), store)

    return machine("one"), machine("other")


def test_a_file_shown_by_one_machine_is_kept_by_the_other(machines: tuple[Installation, Installation]) -> None:
    """The browser's next request may go to the other machine behind the proxy."""
    one, other = machines
    given = FileStorage(io.BytesIO(b"x"), filename="a.csv")
    upload = staging.stage_upload(one, given, who="ana", now=NOW, terms={})
    found = staging.find_upload(other, upload.key, who="ana")
    assert found is not None
    assert found.path.read_bytes() == b"x"
    staging.change(other, found, {"columns": "a"}, who="ana", now=NOW)
    changed = staging.find_upload(one, upload.key, who="ana")
    assert changed is not None
    assert changed.content == {"name": "a.csv", "columns": "a"}
    staging.drop(one, changed)
    assert staging.find_upload(other, upload.key, who="ana") is None
    assert not found.path.exists()
    assert staging.find_upload(other, "0" * 32, who="ana") is None
    with other.store.reading() as session:
        assert session.scalars(sa.select(SharedFile)).all() == []


def test_an_archived_file_is_sent_by_either_machine(machines: tuple[Installation, Installation]) -> None:
    """In parts where it is large, and anew where the other machine made it again; a changed one is still refused."""
    one, other = machines
    path = one.settings.files_dir / "reports" / "a.csv"
    words = dict.fromkeys(("name", "format", "profile", "language", "run_ids", "sha256"), "")
    row = ReportFile.model_validate({**words, "path": "reports/a.csv", "row_count": 0, "made_at": NOW})
    for content in (b"x" * 9_000_000, b"made again"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        shared_files.publish(one, path, now=NOW)
        row.sha256 = hashlib.sha256(content).hexdigest()
        assert archive.open_kept(other, row).read_bytes() == content
    row.sha256 = "0" * 64
    with pytest.raises(archive.ChangedFileError):
        archive.open_kept(other, row)


def test_inputs_of_runs_are_reached_from_both(machines: tuple[Installation, Installation]) -> None:
    """A rerun on either machine reads the same files, and what one of them drops is gone for both."""
    one, other = machines
    kept, wanted = (snapshots.folder_of(each.settings.files_dir, "main", "r") for each in machines)
    kept.mkdir(parents=True)
    for name in ("run.json", "items.parquet"):
        (kept / name).write_text(name, encoding="utf-8")
    shared_files.publish_folder(one, kept, now=NOW)
    shared_files.fetch_folder(other, wanted)
    assert {path.name: path.read_text("utf-8") for path in wanted.iterdir()} == {
        "run.json": "run.json",
        "items.parquet": "items.parquet",
    }
    shared_files.withdraw(one, kept)
    shutil.rmtree(wanted)
    shared_files.fetch_folder(other, wanted)
    assert not wanted.exists()


def test_mappings_and_calendars_are_those_written_last(machines: tuple[Installation, Installation]) -> None:
    """A file written on either machine counts on both; the newest one does, and what is older changes nothing."""
    one, other = machines
    kept, wanted = (each.settings.files_dir / "mappings" / "erp.toml" for each in machines)
    kept.parent.mkdir(parents=True)
    kept.write_text('total = "Importe"\n', encoding="utf-8")
    os.utime(kept, (2_000_000_000, 2_000_000_000))
    assert intake.mappings(one) == intake.mappings(other) == ["erp"]
    assert headers.read_mapping(other, "erp") == {"total": "Importe"}
    if one.store.is_sqlite:
        return
    wanted.write_text('total = "Monto"\n', encoding="utf-8")
    os.utime(wanted, (2_000_000_001, 2_000_000_001))
    assert headers.read_mapping(other, "erp") == {"total": "Monto"}
    assert headers.read_mapping(one, "erp") == {"total": "Monto"}
    kept.write_text('total = "Antiguo"\n', encoding="utf-8")
    os.utime(kept, (1_000_000_000, 1_000_000_000))
    assert headers.read_mapping(one, "erp") == headers.read_mapping(other, "erp") == {"total": "Monto"}


def test_a_process_begins_with_the_calendar_of_the_other_machine(migrated_url: str, tmp_path: Path) -> None:
    """Nights count the same bank days wherever they run."""
    # A file of SQLite is opened by one machine.
    folders = [tmp_path / "one", tmp_path / ("one" if migrated_url.startswith("sqlite") else "other")]
    path = folders[0] / "instance" / "calendars" / "cl.toml"
    path.parent.mkdir(parents=True)
    path.write_text('[[add]]\non = 2026-10-05\nreason = "elecciones"\n', encoding="utf-8")
    for folder in folders:
        given = {"database_url": migrated_url, "secret_key": "a key that only tests know"}
        installation = open_installation(environ_of("http://provider.test", folder, **given), check=lambda _: None)
        assert date(2026, 10, 5) in read_calendar(installation.settings.files_dir, "cl").add
        installation.store.close()


def test_a_folder_that_takes_no_file_leaves_the_machine_its_own(
    machines: tuple[Installation, Installation], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full or read-only disk is logged, and pages that need the file go on with what is there."""
    one, other = machines
    if one.store.is_sqlite:
        shared_files.agree(one)
        return
    path = one.settings.files_dir / "mappings" / "erp.toml"
    path.parent.mkdir(parents=True)
    path.write_text('total = "Importe"\n', encoding="utf-8")
    shared_files.agree(one)

    def refuse(*_given: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(shared_files, "write_durably", refuse)
    with capture_logs() as logs:
        assert intake.mappings(other) == []
    assert [line["event"] for line in logs] == ["mappings and calendars are not those of other machines"]
