"""The embedded database: which versions may run WAL, what a file's journal becomes under each, and damage."""

import platform
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from consumer.facts import embedded
from consumer.facts.embedded import UnsafeJournalError, driver, find_damage, is_wal_safe
from consumer.facts.store import Store
from consumer.facts.tables.sync import Checkpoint

# Python's own SQLite, as where no other can be had; were it a newer one, it is held for the one of Debian 12.
OUTDATED = """
import sys
sys.modules["pysqlite3"] = None
from consumer.facts import embedded
embedded.VERSION, embedded.LEAVE_SECONDS = (3, 40, 1), {patience}
from consumer.facts.store import Store
store = Store(sys.argv[1])
def read_pragmas():
    with store.connection() as connection:
        rows = connection.exec_driver_sql("SELECT count(*) FROM checkpoint").scalar_one()
        full = connection.exec_driver_sql("PRAGMA synchronous").scalar_one()
        return embedded.journal_of(connection), full, rows
"""
REFUSED = (
    "SQLite 3.40.1 can lose commits of a database in WAL mode, and {path} is in that mode and held by another process: "
    "install pysqlite3 0.6.1 or newer, or a Python whose SQLite is 3.51.3 or newer, or stop every other process that "
    "uses the file and start again\n"
)


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 6, 23), False), ((3, 7, 0), False), ((3, 7, 15), False), ((3, 34, 1), False), ((3, 40, 1), False),
        ((3, 43, 2), False), ((3, 44, 0), False), ((3, 44, 5), False), ((3, 44, 6), True), ((3, 44, 7), True),
        ((3, 45, 0), False), ((3, 45, 3), False), ((3, 46, 1), False), ((3, 49, 2), False), ((3, 50, 0), False),
        ((3, 50, 4), False), ((3, 50, 6), False), ((3, 50, 7), True), ((3, 50, 12), True), ((3, 51, 0), False),
        ((3, 51, 1), False), ((3, 51, 2), False), ((3, 51, 3), True), ((3, 51, 4), True), ((3, 52, 0), True),
        ((3, 53, 4), True), ((3, 54, 1), True), ((4, 0, 0), True),
    ],
)  # fmt: skip
def test_versions_with_the_fault_do_not_run_wal(version: tuple[int, int, int], *, safe: bool) -> None:
    """From 3.7.0 to 3.51.2 two connections can lose a commit, but for the lines that bear the fix: 3.50.7+, 3.44.6+."""
    assert is_wal_safe(version) is safe


@pytest.mark.skipif(
    (sys.platform, platform.machine()) not in {("linux", "x86_64"), ("darwin", "arm64")}, reason="no wheel for this"
)
def test_the_bundled_sqlite_is_the_one_in_use(store_url: str) -> None:
    """Where there is a wheel the file is opened by a SQLite without the fault, in WAL mode and fully synchronised."""
    store = Store(store_url)
    with store.connection() as connection:
        asked = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "mmap_size")
        found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in asked}
        version = connection.exec_driver_sql("SELECT sqlite_version()").scalar_one()
    store.close()

    assert driver.__name__ == "pysqlite3.dbapi2"
    assert tuple(int(part) for part in version.split(".")) >= (3, 53, 4)
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1, "mmap_size": 0}


@pytest.fixture
def path(migrated_sqlite: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(migrated_sqlite, tmp_path / "cuadre.db"))


@pytest.fixture
def store_url(path: Path) -> str:
    return f"sqlite:///{path}"


def write(store: Store, stream: str) -> None:
    with store.connection() as connection:
        row = {"connection": "main", "stream": stream, "pulled_at": datetime(2026, 10, 1, tzinfo=UTC)}
        connection.execute(sa.insert(Checkpoint), [row])


def outdated(url: str, code: str, *, patience: float = 30.0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", OUTDATED.format(patience=patience) + code, url]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_new_file_gets_a_rollback_journal_from_an_outdated_sqlite(tmp_path: Path) -> None:
    """Nothing is in WAL mode, and a commit waits until the folder has forgotten its journal (EXTRA, 3)."""
    shown = outdated(
        f"sqlite:///{tmp_path / 'new.db'}",
        "from consumer.facts import schema\nschema.upgrade(store)\nprint(*read_pragmas())",
    )

    assert (shown.stdout, shown.stderr) == ("delete 3 0\n", "")


def test_a_file_in_wal_mode_is_taken_out_of_it_with_every_row(path: Path, store_url: str, tmp_path: Path) -> None:
    """Rows that are only in the log yet are in the file afterwards, and the log is gone."""
    store = Store(store_url)
    write(store, "payouts")
    left = tmp_path / "left by a killed process" / "cuadre.db"
    left.parent.mkdir()
    for one in (path, Path(f"{path}-wal")):
        shutil.copy(one, left.with_name(one.name))
    store.close()
    assert left.with_name("cuadre.db-wal").stat().st_size > 0

    assert outdated(f"sqlite:///{left}", "print(*read_pragmas())").stdout == "delete 3 1\n"
    assert [one.name for one in left.parent.iterdir()] == ["cuadre.db"]


def test_a_file_that_another_process_holds_is_refused(path: Path, store_url: str) -> None:
    """While another process has it open in WAL mode it is not changed, and one sentence says what to install."""
    store = Store(store_url)
    write(store, "payouts")
    code = "try: read_pragmas()\nexcept embedded.UnsafeJournalError as error: print(error)\n"

    refused = outdated(store_url, code, patience=0.1)
    write(store, "refunds")
    with store.connection() as connection:
        mode = embedded.journal_of(connection)
    store.close()

    assert (refused.stdout, refused.stderr) == (REFUSED.format(path=path), "")
    assert mode == "wal"
    assert outdated(store_url, "print(*read_pragmas())").stdout == "delete 3 2\n"


def test_many_outdated_connections_that_start_together_all_get_in(store_url: str) -> None:
    """Two processes of four threads each open a file in WAL mode at once: one takes it out, none is refused."""
    store = Store(store_url)
    write(store, "payouts")
    store.close()
    code = """
import threading
found = []
threads = [threading.Thread(target=lambda: found.append(read_pragmas())) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), *set(found))
"""
    answers: list[str] = []
    starts = [threading.Thread(target=lambda: answers.append(outdated(store_url, code).stdout)) for _ in range(2)]
    for start in starts:
        start.start()
    for start in starts:
        start.join()

    assert answers == ["4 ('delete', 3, 1)\n"] * 2


def test_many_connections_that_start_together_all_find_wal(tmp_path: Path) -> None:
    """A file that does not exist yet, opened by sixteen connections at once, is in WAL mode for each of them."""
    stores = [Store(f"sqlite:///{tmp_path / 'new.db'}") for _ in range(16)]
    modes: list[str] = []

    def open_one(store: Store) -> None:
        with store.connection() as connection:
            modes.append(embedded.journal_of(connection))

    threads = [threading.Thread(target=open_one, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.close()

    assert modes == ["wal"] * 16


def test_a_new_file_that_another_writes_is_asked_for_wal_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite refuses WAL at once, not after its time-out, while another connection holds the file to write it."""
    path = tmp_path / "new.db"
    with closing(driver.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE kept (number INTEGER)")
        other.execute("BEGIN IMMEDIATE")
        refusals: list[bool] = []

        def end_the_other() -> None:
            refusals.append(bool(other.in_transaction))
            other.execute("COMMIT")

        monkeypatch.setattr(embedded, "_pause", end_the_other)
        store = Store(f"sqlite:///{path}")
        with store.connection() as connection:
            assert embedded.journal_of(connection) == "wal"
        store.close()

    assert refusals == [True]


def test_wal_that_a_newer_program_switches_on_meanwhile_stops_writes(path: Path, store_url: str) -> None:
    """A connection that was opened under a rollback journal writes nothing once the file is in WAL mode."""
    code = """
print(*read_pragmas(), flush=True)
sys.stdin.readline()
try: read_pragmas()
except embedded.UnsafeJournalError as error: print(error)
"""
    command = [sys.executable, "-c", OUTDATED.format(patience=30) + code, store_url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stdout.readline() == "delete 3 0\n"
        store = Store(store_url)
        write(store, "payouts")
        running.stdin.write("\n")
        running.stdin.flush()
        assert running.stdout.read() == REFUSED.format(path=path)
    store.close()


def test_the_refusal_is_an_error_of_the_database() -> None:
    """Who waits for a database that is away, such as the receiver, waits for this one too."""
    assert issubclass(UnsafeJournalError, sa.exc.SQLAlchemyError)


def damage_a_page(path: Path) -> None:
    """Overwrite the third page of the file."""
    with path.open("r+b") as file:
        file.seek(2 * 4096)
        file.write(b"\xff" * 4096)


def change_behind_an_index(path: Path, change: str) -> None:
    """Change a row while SQLite does not know of its index, as a lost page of the index would leave it."""
    with closing(driver.connect(path, isolation_level=None)) as raw:
        raw.executescript("CREATE TABLE notes (note TEXT); CREATE INDEX notes_of ON notes (note)")
        raw.execute("INSERT INTO notes VALUES ('kept')")
        wanted = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = 'notes_of'"
        hidden = raw.execute(wanted).fetchone()
        raw.executescript("PRAGMA writable_schema=ON; DELETE FROM sqlite_master WHERE name = 'notes_of'")
    with closing(driver.connect(path, isolation_level=None)) as raw:
        raw.executescript(f"{change}; PRAGMA writable_schema=ON")
        raw.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", hidden)


def lose_an_entry(path: Path) -> None:
    change_behind_an_index(path, "INSERT INTO notes VALUES ('lost')")


def keep_a_stale_entry(path: Path) -> None:
    change_behind_an_index(path, "UPDATE notes SET note = 'other'")


@pytest.mark.parametrize(
    ("damage", "found_by"),
    [
        (lambda _path: None, set()),
        (damage_a_page, {"quick", "whole"}),
        (lose_an_entry, {"quick", "whole"}),
        (keep_a_stale_entry, {"whole"}),
        (lambda path: path.write_bytes(b"not SQLite at all" * 1000), {"quick", "whole"}),
    ],
    ids=["none", "a page", "an entry", "a stale entry", "no database"],
)
def test_damage_is_found(damage: Callable[[Path], Any], found_by: set[str], path: Path, store_url: str) -> None:
    """The quick check finds pages that make no sense and indexes of another length, the whole one each stale entry."""
    damage(path)
    store = Store(store_url)
    checks = {"quick": False, "whole": True}
    found = {name for name, whole in checks.items() if find_damage(store.engine, whole=whole)}
    store.close()

    assert found == found_by


def test_a_copy_of_the_file_alone_loses_what_is_in_the_log(path: Path, store_url: str, tmp_path: Path) -> None:
    """What docs/operate.md warns of: rows that were committed are not in a copy of `cuadre.db` without its log."""
    store, copy = Store(store_url), tmp_path / "copy.db"
    for stream in ("payouts", "refunds", "charges", "disputes", "events"):
        write(store, stream)

    shutil.copy(path, copy)

    alone = Store(f"sqlite:///{copy}")
    counts = []
    for one in (store, alone):
        with one.reading() as session:
            counts.append(session.connection().exec_driver_sql("SELECT count(*) FROM checkpoint").scalar_one())
        one.close()
    assert counts == ([5, 0] if is_wal_safe(embedded.VERSION) else [5, 5])
