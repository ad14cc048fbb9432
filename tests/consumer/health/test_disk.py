"""The disk check: which night looks how closely, and what everybody hears of a damaged file until it is whole again."""

import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
import structlog
from click.testing import CliRunner
from prometheus_client import CollectorRegistry

from consumer.commands.operating import database_commands, doctor_command
from consumer.commands.refusals import to_refusal
from consumer.facts.embedded import UnsafeJournalError
from consumer.facts.installation import Installation
from consumer.facts.schema import upgrade
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.work import Completion
from consumer.health import disk
from consumer.health.causes import Watch
from consumer.health.disk import (
    Check,
    DiskCheck,
    DiskGauge,
    Verdict,
    check_database,
    check_disk,
    check_night,
    is_whole_on,
    last_check,
)
from tests.consumer.facts.test_embedded import damage_a_page

SATURDAY, SUNDAY, MONDAY = date(2026, 11, 21), date(2026, 11, 22), date(2026, 11, 23)
ADVICE = (
    "stop every cuadre process, move the data folder elsewhere, and bring the newest good backup back with cuadre "
    "restore; docs/operate.md says how"
)


@pytest.fixture
def path(migrated_sqlite: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(migrated_sqlite, tmp_path / "cuadre.db"))


@pytest.fixture
def file(path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{path}")
    yield store
    store.close()


def restore(path: Path, backup: Path) -> None:
    for one in path.parent.glob("cuadre.db-*"):
        one.unlink()
    shutil.copy(backup, path)


def test_one_night_a_week_looks_at_everything() -> None:
    """The night of a Sunday's business makes the whole check, the others the quick one."""
    assert [is_whole_on(day) for day in (SATURDAY, SUNDAY, MONDAY)] == [False, True, False]


def test_a_night_keeps_what_it_found(file: Store) -> None:
    """Of a whole file the night says nothing, and the doctor says which check was made."""
    assert list(check_disk(file)) == [
        Check("", "disk", Verdict.OK, "not checked yet: each night does, and cuadre db check")
    ]
    for day, kind in ((SUNDAY, "whole"), (MONDAY, "quick")):
        found = check_night(file, day)
        assert (found.status, found.lines) == (Completion.DONE, [])
        (shown,) = check_disk(file)
        assert shown.verdict is Verdict.OK
        assert shown.found.startswith(f"the {kind} check of 20")
        assert shown.found.endswith(" found nothing wrong")


def test_a_damaged_file_is_told_everywhere_until_it_is_whole(
    path: Path, file: Store, settings: Settings, migrated_sqlite: Path
) -> None:
    """The night refuses with what to do; log, metric and doctor say so until a check finds the file whole."""
    installation = Installation(settings, file)
    metrics = CollectorRegistry()
    metrics.register(DiskGauge(file))

    def metric() -> float | None:
        return metrics.get_sample_value("cuadre_database_damaged")

    assert metric() is None
    alarms = Watch(installation)
    file.close()
    damage_a_page(path)
    with structlog.testing.capture_logs() as lines:
        night = check_night(file, MONDAY)
        alarms.look()
        alarms.look()
        assert metric() == 1.0
        (shown,) = check_disk(file)
        file.close()
        restore(path, migrated_sqlite)
        assert check_night(file, MONDAY).status is Completion.DONE
        alarms.look()
        assert metric() == 0.0

    assert night.status is Completion.PARTLY_DONE
    assert len(night.lines) == 1
    assert night.lines[0].startswith(f"{path} is damaged: ")
    assert night.lines[0].endswith(f": {ADVICE}")
    assert (shown.verdict, shown.advice) == (Verdict.FAILURE, ADVICE)
    said = [(one["event"], one["cause"]) for one in lines if one.get("cause") == "disk"]
    # The file that was put in its place knows of no alarm.
    assert said == [("alarm", "disk")]


def test_db_check_looks_at_the_whole_file(path: Path, migrated_sqlite: Path) -> None:
    """By hand the file is checked whole at once; damage is one sentence, exit 1, and a restored file ends it."""
    group = database_commands(lambda: Store(f"sqlite:///{path}"))

    def check() -> tuple[int, str]:
        answer = CliRunner().invoke(group, ["check"], catch_exceptions=True)
        refusal = to_refusal(answer.exception) if isinstance(answer.exception, Exception) else None
        return (answer.exit_code, answer.output) if refusal is None else (refusal.exit_code, refusal.message)

    assert check() == (0, "the database is at this version\n")
    damage_a_page(path)
    status, said = check()
    assert (status, said.startswith(f"{path} is damaged: "), said.endswith(ADVICE)) == (1, True, True)
    restore(path, migrated_sqlite)
    assert check() == (0, "the database is at this version\n")
    kept = last_check(Store(f"sqlite:///{path}"))
    assert kept is not None
    assert (kept.whole, kept.damage) == (True, [])


def test_a_command_on_a_damaged_file_refuses_in_one_sentence(path: Path) -> None:
    """What SQLite says of a file that makes no sense is no traceback."""
    path.write_bytes(b"not SQLite at all" * 1000)
    store = Store(f"sqlite:///{path}")
    with pytest.raises(sa.exc.DatabaseError) as caught, store.reading() as session:
        session.connection()
    store.close()
    refusal = to_refusal(caught.value)

    assert refusal is not None
    assert refusal.message == f"the database file is damaged: file is not a database: {ADVICE}"


def test_the_doctor_names_version_and_journal(file: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Green with a SQLite that is safe in WAL mode, red with an outdated one."""
    found = check_database(file)
    monkeypatch.setattr("consumer.facts.embedded.VERSION", (3, 40, 1))
    outdated = check_database(file)

    assert found.verdict is Verdict.OK
    assert found.found.startswith("SQLite 3.5")
    assert found.found.endswith(", journal mode wal, migrated")
    assert outdated == Check(
        "", "database", Verdict.FAILURE,
        "SQLite 3.40.1, journal mode wal, migrated: this version can lose commits",
        "install pysqlite3 0.6.1 or newer, or a Python whose SQLite is 3.51.3 or newer",
    )  # fmt: skip


def test_the_doctor_warns_of_an_outdated_sqlite_without_wal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be lost under a rollback journal, but everybody waits, and newer programs cure it."""
    monkeypatch.setattr("consumer.facts.embedded.VERSION", (3, 40, 1))
    store = Store(f"sqlite:///{tmp_path / 'old.db'}")
    found = check_database(store)
    store.close()

    assert found == Check(
        "", "database", Verdict.WARNING,
        "SQLite 3.40.1, journal mode delete, migrated: this version can lose commits in WAL mode, so readers and "
        "writers wait for each other",
        "install pysqlite3 0.6.1 or newer, or a Python whose SQLite is 3.51.3 or newer",
    )  # fmt: skip


def test_the_doctor_is_red_where_the_file_is_refused() -> None:
    """The doctor cannot open what every command refuses, and says so as a failure, exit 1."""

    def refuse() -> Installation:
        raise UnsafeJournalError("SQLite 3.40.1 can lose commits")

    answer = CliRunner().invoke(doctor_command(), [], obj=refuse)

    assert answer.exit_code == 1
    assert answer.output.startswith("failure  database: SQLite 3.40.1 can lose commits\n")
    refusal = to_refusal(UnsafeJournalError("SQLite 3.40.1 can lose commits"))
    assert refusal is not None
    assert (refusal.message, refusal.exit_code) == ("SQLite 3.40.1 can lose commits", 1)


def test_the_log_says_once_that_the_sqlite_is_outdated(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that works says so when it starts, and not every minute."""
    monkeypatch.setattr("consumer.facts.embedded.VERSION", (3, 40, 1))
    installation = Installation(settings, Store(f"sqlite:///{tmp_path / 'old.db'}"))
    upgrade(installation.store)
    alarms = Watch(installation)
    with structlog.testing.capture_logs() as lines:
        alarms.look()
        alarms.look()
    installation.store.close()

    assert [line["found"][:13] for line in lines if line["cause"] == "database"] == ["SQLite 3.40.1"]


@pytest.mark.parametrize(
    ("mounts", "verdict"),
    [
        ("disk / ext4 rw 0 0\n", Verdict.OK),
        ("disk / ext4 rw 0 0\nserver:/x {folder} nfs4 rw 0 0\n", Verdict.WARNING),
        ("server:/x / nfs4 rw 0 0\ndisk {folder} ext4 rw 0 0\n", Verdict.OK),
        ("disk / ext4 rw 0 0\nserver:/x {folder}else nfs4 rw 0 0\n", Verdict.OK),
    ],
    ids=["local", "network", "local within network", "another folder"],
)
def test_the_doctor_warns_of_a_network_file_system(path: Path, file: Store, mounts: str, verdict: Verdict) -> None:
    """Locks are not reliable there; the innermost mount above the file decides."""
    table = path.with_name("mounts")
    table.write_text(mounts.format(folder=path.parent.resolve()), encoding="utf-8")

    assert check_database(file, mounts=table).verdict is verdict
    assert check_database(file, mounts=path.with_name("no such file")).verdict is Verdict.OK


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_postgresql_looks_after_its_own_files(store: Store) -> None:
    """There the night checks nothing, and the doctor names the database alone."""
    assert (check_night(store, SUNDAY).status, list(check_disk(store))) == (Completion.DONE, [])
    disk.refuse_damaged(store)
    assert check_database(store) == Check("", "database", Verdict.OK, "PostgreSQL, migrated")


def test_a_record_that_nobody_can_read_is_none(path: Path, file: Store) -> None:
    """A record cut in the middle is as if no check had been made, and the next one replaces it."""
    Path(f"{path}.check").write_bytes(b'{"checked_at": "2026')
    assert last_check(file) is None
    assert disk.examine(file, whole=False, now=datetime(2026, 11, 22, 6, 15, tzinfo=UTC)) == last_check(file)
    assert last_check(file) == DiskCheck(datetime(2026, 11, 22, 6, 15, tzinfo=UTC), whole=False, damage=[])
