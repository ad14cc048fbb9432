"""What is remembered is believed only where it is proved: backups, copies, damage, deaths, races are read whole."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from click.testing import Result as Answer

from consumer.config import Connection
from consumer.facts import changes
from consumer.facts.house import House
from consumer.facts.store import Store
from consumer.facts.terminal import Exit
from reconcile.reading.large_tables import LARGE
from reconcile.reading.memories import remembering
from reconcile.reading.recall import Recall
from reconcile.reading.remembered import EDITION, Draft, ForgottenError, Place, Remembered
from reconcile.runs import run
from reconcile.tables import ProviderFee
from reconcile.threads import second_thread
from tests.reconcile.remembering import AS_OF, compare, read, remember, whole_tables
from tests.thoroughness import for_run

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = sorted(LARGE)


@pytest.fixture
def trade(world: "World") -> "World":
    """A few rows of each large table."""
    world.payment("pi_1", 1000, body={"metadata": {"order_ref": "PED-1"}})
    world.payment("pi_2", 500, status="failed")
    world.charge("ch_1", 90)
    world.refund("re_1", 30, "pi_1")
    world.payout("po_1", 1090, ("payment_intent", "pi_1", 1000), ("charge", "ch_1", 90))
    world.event("evt_1", "payment_intent.succeeded", "pi_1")
    world.invoice("7", 1000)
    _fee(world.store, "po_1")
    return world


def _write(store: Store, statement: str) -> None:
    with store.connection() as database:
        database.execute(sa.text(statement))


def _fee(store: Store, payout: str) -> None:
    with store.transaction() as session:
        session.add(ProviderFee(connection="main", payout_id=payout, resource_id="pi_1", fee_total=3))


def _folders(house: House) -> list[str]:
    folder = house.settings.data_dir / "remembered" / "main"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _token(house: House) -> str | None:
    with house.store.reading() as session:
        return changes.read_token(session.connection(), "main")


@pytest.mark.usefixtures("trade")
def test_a_second_run_reads_only_what_was_touched(
    house: House, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run remembers, the next read only keys; few changes leave the remembered tables as they are."""
    with whole_tables(monkeypatch) as names:
        run(house, main, as_of=AS_OF)
    assert sorted(names) == EVERYTHING
    kept = _folders(house)
    assert kept == [_token(house)]
    _write(house.store, "UPDATE local_invoice SET total = 900")
    with whole_tables(monkeypatch) as names:
        assert run(house, main, as_of=AS_OF).is_new
    assert names == []
    assert _folders(house) == kept
    assert compare(house, main, monkeypatch) == []


@pytest.mark.usefixtures("trade")
def test_many_changes_are_remembered_anew(house: House, main: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past a share of the rows the tables are written again, their predecessors go, and so does the log."""
    monkeypatch.setattr("reconcile.reading.recall._FEW", 4)
    remember(house, main)
    before = _folders(house)
    for number in range(2, 8):
        _fee(house.store, f"po_{number}")
    # Five of a few are too many to be read by key, so everything is read.
    with whole_tables(monkeypatch) as names:
        run(house, main, as_of=AS_OF)
    assert sorted(names) == EVERYTHING
    assert _folders(house) != before
    assert len(_folders(house)) == 1
    with house.store.reading() as session:
        assert session.scalar(sa.text("SELECT count(*) FROM fact_change")) == 0
    assert compare(house, main, monkeypatch) == []


@pytest.mark.usefixtures("trade")
def test_who_only_looks_remembers_nothing(house: House, main: Connection) -> None:
    """A dry run and a preview leave no file and no token; what is remembered they use."""
    run(house, main, as_of=AS_OF, dry_run=True)
    read(house, main)
    assert (_folders(house), _token(house)) == ([], None)


@pytest.mark.parametrize("table", EVERYTHING)
@pytest.mark.usefixtures("trade")
def test_a_trigger_that_notes_nothing_is_found_out(
    house: House, main: Connection, call: Callable[..., Answer], table: str
) -> None:
    """Must fail: were a table's changes not noted, a remembered reading would be wrong, and a full one says so."""
    store, column = house.store, {"customer": "name", "event": "type"}.get(table, "currency")
    column = "fee_total" if table == "provider_fee" else column
    if table == "customer":
        _write(store, "INSERT INTO customer (connection, id, mode, version_at, version_rank, version_event, body) "
                      "SELECT connection, 'cus_1', mode, version_at, 0, '', '{}' FROM charge")  # fmt: skip
    name = f"noted_{table}_altered"
    if store.is_sqlite:
        _write(store, f"DROP TRIGGER {name}")
        _write(store, f"CREATE TRIGGER {name} AFTER UPDATE ON {table} BEGIN SELECT 1; END")
    else:
        _write(store, f"DROP TRIGGER {name} ON {table}")
        _write(store, f"CREATE TRIGGER {name} AFTER UPDATE ON {table} FOR EACH ROW WHEN (false) "
                      f"EXECUTE FUNCTION noted_{table}_row()")  # fmt: skip
        _write(store, f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}")
    run(house, main, as_of=AS_OF)
    value = {"provider_fee": "7", "event": "'refund.succeeded'"}.get(table, "'USD'")
    if table == "event":
        value = "'payout.created'"
    _write(store, f"UPDATE {table} SET {column} = {value}")  # noqa: S608 - names from above
    answer = call("reconcile", "--full", "--as-of", AS_OF)
    assert answer.exit_code == Exit.PARTLY_DONE
    assert f"{table} was remembered otherwise than it is" in answer.stderr
    # It was remembered anew.
    again = call("reconcile", "--full", "--as-of", AS_OF).stderr
    assert "remembered otherwise" not in again
    assert "8 remembered tables are as they were remembered" in again


@pytest.mark.usefixtures("trade")
def test_a_payment_is_read_when_a_payout_comes_to_list_it(
    house: House, main: Connection, world: "World", monkeypatch: pytest.MonkeyPatch
) -> None:
    """A payment that failed is none of ours until a payout lists it; must fail where only its own row counts."""
    remember(house, main)
    world.item("po_1", "payment_intent", "pi_2", 500)
    assert compare(house, main, monkeypatch) == []
    with monkeypatch.context() as patched:
        patched.setattr(Recall, "_touched_of", lambda recall, name: recall._touched.get(name, frozenset()))
        assert remember(house, main) == ["payment_intent"]
    _write(house.store, "DELETE FROM payout_item WHERE resource_id = 'pi_2'")
    assert compare(house, main, monkeypatch) == []


@pytest.mark.usefixtures("trade")
def test_a_late_commit_is_read(house: House, main: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL: a writer that began before the tables were remembered and committed after it is not passed by."""
    if house.store.is_sqlite:
        return
    with house.store.engine.connect() as slow, slow.begin() as open_one:
        slow.execute(sa.text("UPDATE payment_intent SET amount = 999 WHERE id = 'pi_1'"))
        _write(house.store, "UPDATE charge SET amount = 91")
        assert remember(house, main) == []
        slow.execute(sa.text("UPDATE refund SET amount = 31"))
        _write(house.store, "UPDATE local_invoice SET total = 901")
        assert compare(house, main, monkeypatch) == []
        open_one.commit()
    assert compare(house, main, monkeypatch) == []
    amounts = read(house, main).inputs.items.set_index("resource_id")["amount"]
    assert [int(amounts[name]) for name in ("pi_1", "ch_1", "re_1")] == [1000, 90, 31]


def _sqlite_file(house: House) -> Path:
    return Path(str(house.store.url.database))


def _restored(house: House, backup: Path) -> None:
    house.store.close()
    for path in _sqlite_file(house).parent.glob(f"{_sqlite_file(house).name}-*"):
        path.unlink()
    shutil.copy(backup, _sqlite_file(house))


@pytest.mark.usefixtures("trade")
def test_a_database_from_a_backup_is_not_the_one_remembered(
    house: House, main: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Restored to before the tables were remembered, everything is read; to after it, what the backup's log says."""
    if not house.store.is_sqlite:
        return
    early, late = tmp_path / "early.db", tmp_path / "late.db"
    remember(house, main)
    house.store.close()
    shutil.copy(_sqlite_file(house), early)
    _write(house.store, "UPDATE local_invoice SET total = 900")
    remember(house, main)
    _write(house.store, "UPDATE local_invoice SET total = 800")
    house.store.close()
    shutil.copy(_sqlite_file(house), late)
    _write(house.store, "UPDATE charge SET amount = 80")

    _restored(house, late)
    assert compare(house, main, monkeypatch) == []
    _write(house.store, "UPDATE local_invoice SET total = 700")
    assert compare(house, main, monkeypatch) == []
    _restored(house, early)
    assert sorted(compare(house, main, monkeypatch)) == EVERYTHING


@pytest.mark.usefixtures("trade")
def test_a_copy_of_the_files_ends_with_the_token(
    house: House, main: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second machine's copy serves until either remembers anew: from then on the other reads everything."""
    remember(house, main)
    shutil.copytree(house.settings.data_dir, tmp_path / "copy")
    other = replace(house, settings=house.settings.model_copy(update={"data_dir": tmp_path / "copy"}))
    assert compare(other, main, monkeypatch) == []
    remember(house, main)
    assert sorted(compare(other, main, monkeypatch)) == EVERYTHING
    remember(other, main)
    assert sorted(compare(house, main, monkeypatch)) == EVERYTHING


@pytest.mark.usefixtures("trade")
def test_another_schema_or_program_reads_everything(
    house: House, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So does another mode; a table altered, a trigger made anew and code that changed are all seen."""
    remember(house, main)
    with monkeypatch.context() as patched:
        patched.setattr(Place, "__init__", _place_of_other_code)
        assert sorted(compare(house, main, monkeypatch)) == EVERYTHING
    assert compare(house, main, monkeypatch) == []
    assert sorted(compare(house, main.model_copy(update={"mode": "live"}), monkeypatch)) == EVERYTHING
    if house.store.is_sqlite:
        _write(house.store, "CREATE INDEX by_hand ON charge (status)")
        assert sorted(compare(house, main, monkeypatch)) == EVERYTHING


def _place_of_other_code(place: Place, connection: str, mode: str, watch: str) -> None:
    for name, value in {"connection": connection, "mode": mode, "watch": watch, "edition": "other"}.items():
        object.__setattr__(place, name, value)


@pytest.mark.usefixtures("trade")
def test_of_two_that_read_at_once_one_remembers(
    house: House, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that ends second finds another token than it saw, and leaves no file behind."""
    remember(house, main)
    with second_thread() as one, second_thread() as two, remembering(house, main, one, is_full=True) as slow:
        read(house, main, slow)
        _write(house.store, "UPDATE charge SET amount = 80")
        with remembering(house, main, two, is_full=True) as quick:
            read(house, main, quick)
        token = _token(house)
    assert _folders(house) == [token]
    assert _token(house) == token
    assert compare(house, main, monkeypatch) == []


@pytest.mark.usefixtures("trade")
def test_a_damaged_file_is_never_believed(house: House, main: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of one byte, whichever, or a file cut anywhere: the table is not believed."""
    if not house.store.is_sqlite:
        return
    remember(house, main)
    token = str(_token(house))
    with house.store.reading() as session:
        place = Place("main", main.mode, str(changes.watch_of(session.connection())))
    folder = house.settings.data_dir / "remembered" / "main" / token
    found = {path.stem: path.read_bytes() for path in folder.iterdir()}
    assert sorted(found) == sorted([*EVERYTHING, "tables"])
    for name, content in found.items():
        path = next(folder.glob(f"{name}.*"))
        damages = [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in range(0, len(content), 3)]
        for damaged in [*damages, *(content[:at] for at in range(0, len(content), 97)), content + b"\0"]:
            path.write_bytes(damaged)
            with pytest.raises(ForgottenError):
                Remembered.open(house.settings.data_dir, token, place).read(name)
        # In a whole reading that table alone, or all of them.
        assert sorted(compare(house, main, monkeypatch)) == (EVERYTHING if name == "tables" else [name])
        path.write_bytes(content)
    assert compare(house, main, monkeypatch) == []


@pytest.mark.usefixtures("trade")
def test_a_damaged_table_is_forgotten_and_remembered_anew(
    house: House, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that meets it reads that table whole, the next one everything, and the one after that is quick again."""
    remember(house, main)
    path = house.settings.data_dir / "remembered" / "main" / str(_token(house)) / "charge.arrow"
    path.write_bytes(path.read_bytes()[:-1])
    told: list[list[str]] = []
    for _ in range(3):
        with whole_tables(monkeypatch) as names:
            run(house, main, as_of=AS_OF)
        told.append(sorted(names))
    assert told == [["charge"], EVERYTHING, []]
    assert compare(house, main, monkeypatch) == []


@pytest.mark.parametrize("dropped", ["remembered", "remembered/main"])
@pytest.mark.usefixtures("trade")
def test_the_files_may_be_dropped_at_any_time(
    house: House, main: Connection, monkeypatch: pytest.MonkeyPatch, dropped: str
) -> None:
    """Nobody needs them: the next run reads everything and remembers it."""
    remember(house, main)
    shutil.rmtree(house.settings.data_dir / dropped)
    assert sorted(compare(house, main, monkeypatch)) == EVERYTHING
    run(house, main, as_of=AS_OF)
    assert compare(house, main, monkeypatch) == []


@pytest.mark.usefixtures("trade")
def test_a_run_that_cannot_remember_is_a_run(house: House, main: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """No place for the files, or a disk that fails as they are written: published all the same, later read whole."""
    place = house.settings.data_dir / "remembered"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"")
    assert run(house, main, as_of=AS_OF).is_new
    place.unlink()
    assert sorted(compare(house, main, monkeypatch)) == EVERYTHING

    def fail(*_given: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Draft, "write", fail)
        run(house, main, as_of=AS_OF + timedelta(days=1))
    assert _folders(house) == []
    assert sorted(compare(house, main, monkeypatch)) == EVERYTHING


def _read_and_fail(house: House, main: Connection) -> None:
    with second_thread() as beside, remembering(house, main, beside) as memory:
        read(house, main, memory)
        raise LookupError


@pytest.mark.usefixtures("trade")
def test_a_run_that_fails_remembers_nothing(house: House, main: Connection) -> None:
    """What was written of it goes; a draft that a killed process left goes a day later, and what is named stays."""
    with pytest.raises(LookupError):
        _read_and_fail(house, main)
    assert (_folders(house), _token(house)) == ([], None)
    remember(house, main)
    left = [house.settings.data_dir / "remembered" / "main" / name for name in ("new.x.draft", "f" * 64)]
    for path in left:
        path.mkdir()
        os.utime(path, (0, 0))
    young = left[0].with_name("new.y.draft")
    young.mkdir()
    remember(house, main)
    assert _folders(house) == sorted([str(_token(house)), young.name])


_KILLED_AT = """
import os, signal, sys
from datetime import date
from app import open_house
from consumer.facts import changes
from reconcile.reading import memories, remembered
from reconcile.runs import run

left = int(sys.argv[1])
# Both processes are of one version, also while somebody edits the code.
remembered.Place.__init__.__defaults__ = (sys.argv[2],)

def step(done):
    def counted(*given, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done(*given, **named)
    return counted

os.fsync = step(os.fsync)
remembered.Draft.settle = step(remembered.Draft.settle)
changes.replace_token = step(changes.replace_token)
memories.sweep = step(memories.sweep)
house = open_house()
run(house, house.settings.connection("main"), as_of=date(2026, 9, 11), full=True)
"""


@pytest.mark.usefixtures("trade")
def test_a_process_killed_at_any_step_of_remembering_harms_nothing(
    house: House, main: Connection, migrated_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is left of it, the next reading is right; a proof takes every step, else some among them."""
    foreign = {name: text for name, text in os.environ.items() if not name.startswith("CUADRE_")}
    own = {
        "CUADRE_DATABASE_URL": migrated_url, "CUADRE_DATA_DIR": str(house.settings.data_dir), "CUADRE_COUNTRY": "cl",
        "CUADRE_PROVIDER_URL": "http://provider.test", "CUADRE_API_KEY": "sk_test_sandbox",
        "CUADRE_SECRET_KEY": "k" * 40,
    }  # fmt: skip
    remember(house, main)
    ends: list[int] = []
    for left in for_run(short=(24, 99), full=(*range(1, 40), 99)):
        _write(house.store, f"UPDATE charge SET amount = {1_000 + left}")  # noqa: S608 - a number
        before = _token(house)
        command = [sys.executable, "-c", _KILLED_AT, str(left), EDITION]
        done = subprocess.run(command, cwd=ROOT, env=foreign | own, capture_output=True, text=True, check=False)
        assert done.returncode in {0, -9}, done.stderr
        ends.append(done.returncode)
        # Either the old tables with what was touched since, or the new ones.
        assert compare(house, main, monkeypatch) == []
        assert (_token(house) != before) or ends[-1] == -9
        _write(house.store, "UPDATE charge SET amount = 7")
        assert compare(house, main, monkeypatch) == []
    assert (ends[0], ends[-1]) == (-9, 0)
