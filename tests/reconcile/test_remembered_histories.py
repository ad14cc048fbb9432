"""What is remembered is believed only where it is proved: backups, copies, damage, deaths, races are read whole."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from click.testing import Result as Answer

from consumer.config import Connection
from consumer.facts.house import House
from consumer.facts.terminal import Exit
from reconcile.reading.memories import remembering
from reconcile.reading.recall import Recall
from reconcile.reading.remembered import Place
from reconcile.runs import run
from reconcile.threads import second_thread
from tests.reconcile.remembering import (
    AS_OF,
    EVERYTHING,
    add_fee,
    compare,
    folders,
    read,
    remember,
    token_of,
    whole_tables,
    write,
)

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.usefixtures("large_trade")
def test_a_second_run_reads_only_what_was_touched(
    house: House, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run remembers, the next read only keys; few changes leave the remembered tables as they are."""
    with whole_tables(monkeypatch) as names:
        run(house, main, as_of=AS_OF)
    assert sorted(names) == EVERYTHING
    kept = folders(house)
    assert kept == [token_of(house)]
    write(house.store, "UPDATE local_invoice SET total = 900")
    with whole_tables(monkeypatch) as names:
        assert run(house, main, as_of=AS_OF).is_new
    assert names == []
    assert folders(house) == kept
    assert compare(house, main, monkeypatch) == []


@pytest.mark.usefixtures("large_trade")
def test_many_changes_are_remembered_anew(house: House, main: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past a share of the rows the tables are written again, their predecessors go, and so does the log."""
    monkeypatch.setattr("reconcile.reading.recall._FEW", 4)
    remember(house, main)
    before = folders(house)
    for number in range(2, 8):
        add_fee(house.store, f"po_{number}")
    # Five of a few are too many to be read by key, so everything is read.
    with whole_tables(monkeypatch) as names:
        run(house, main, as_of=AS_OF)
    assert sorted(names) == EVERYTHING
    assert folders(house) != before
    assert len(folders(house)) == 1
    with house.store.reading() as session:
        assert session.scalar(sa.text("SELECT count(*) FROM fact_change")) == 0
    assert compare(house, main, monkeypatch) == []


@pytest.mark.usefixtures("large_trade")
def test_who_only_looks_remembers_nothing(house: House, main: Connection) -> None:
    """A dry run and a preview leave no file and no token; what is remembered they use."""
    run(house, main, as_of=AS_OF, dry_run=True)
    read(house, main)
    assert (folders(house), token_of(house)) == ([], None)


@pytest.mark.parametrize("table", EVERYTHING)
@pytest.mark.usefixtures("large_trade")
def test_a_trigger_that_notes_nothing_is_found_out(
    house: House, main: Connection, call: Callable[..., Answer], table: str
) -> None:
    """Must fail: were a table's changes not noted, a remembered reading would be wrong, and a full one says so."""
    store, column = house.store, {"customer": "name", "event": "type"}.get(table, "currency")
    column = "fee_total" if table == "provider_fee" else column
    if table == "customer":
        write(store, "INSERT INTO customer (connection, id, mode, version_at, version_rank, version_event, body) "
                      "SELECT connection, 'cus_1', mode, version_at, 0, '', '{}' FROM charge")  # fmt: skip
    name = f"noted_{table}_altered"
    if store.is_sqlite:
        write(store, f"DROP TRIGGER {name}")
        write(store, f"CREATE TRIGGER {name} AFTER UPDATE ON {table} BEGIN SELECT 1; END")
    else:
        write(store, f"DROP TRIGGER {name} ON {table}")
        write(store, f"CREATE TRIGGER {name} AFTER UPDATE ON {table} FOR EACH ROW WHEN (false) "
                      f"EXECUTE FUNCTION noted_{table}_row()")  # fmt: skip
        write(store, f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}")
    run(house, main, as_of=AS_OF)
    value = {"provider_fee": "7", "event": "'refund.succeeded'"}.get(table, "'USD'")
    if table == "event":
        value = "'payout.created'"
    write(store, f"UPDATE {table} SET {column} = {value}")  # noqa: S608 - names from above
    answer = call("reconcile", "--full", "--as-of", AS_OF)
    assert answer.exit_code == Exit.PARTLY_DONE
    assert f"{table} was remembered otherwise than it is" in answer.stderr
    # It was remembered anew.
    again = call("reconcile", "--full", "--as-of", AS_OF).stderr
    assert "remembered otherwise" not in again
    assert "8 remembered tables are as they were remembered" in again


@pytest.mark.usefixtures("large_trade")
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
    write(house.store, "DELETE FROM payout_item WHERE resource_id = 'pi_2'")
    assert compare(house, main, monkeypatch) == []


@pytest.mark.usefixtures("large_trade")
def test_a_late_commit_is_read(house: House, main: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL: a writer that began before the tables were remembered and committed after it is not passed by."""
    if house.store.is_sqlite:
        return
    with house.store.engine.connect() as slow, slow.begin() as open_one:
        slow.execute(sa.text("UPDATE payment_intent SET amount = 999 WHERE id = 'pi_1'"))
        write(house.store, "UPDATE charge SET amount = 91")
        assert remember(house, main) == []
        slow.execute(sa.text("UPDATE refund SET amount = 31"))
        write(house.store, "UPDATE local_invoice SET total = 901")
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


@pytest.mark.usefixtures("large_trade")
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
    write(house.store, "UPDATE local_invoice SET total = 900")
    remember(house, main)
    write(house.store, "UPDATE local_invoice SET total = 800")
    house.store.close()
    shutil.copy(_sqlite_file(house), late)
    write(house.store, "UPDATE charge SET amount = 80")

    _restored(house, late)
    assert compare(house, main, monkeypatch) == []
    write(house.store, "UPDATE local_invoice SET total = 700")
    assert compare(house, main, monkeypatch) == []
    _restored(house, early)
    assert sorted(compare(house, main, monkeypatch)) == EVERYTHING


@pytest.mark.usefixtures("large_trade")
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


@pytest.mark.usefixtures("large_trade")
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
        write(house.store, "CREATE INDEX by_hand ON charge (status)")
        assert sorted(compare(house, main, monkeypatch)) == EVERYTHING


def _place_of_other_code(place: Place, connection: str, mode: str, watch: str) -> None:
    for name, value in {"connection": connection, "mode": mode, "watch": watch, "edition": "other"}.items():
        object.__setattr__(place, name, value)


@pytest.mark.usefixtures("large_trade")
def test_of_two_that_read_at_once_one_remembers(
    house: House, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that ends second finds another token than it saw, and leaves no file behind."""
    remember(house, main)
    with second_thread() as one, second_thread() as two, remembering(house, main, one, is_full=True) as slow:
        read(house, main, slow)
        write(house.store, "UPDATE charge SET amount = 80")
        with remembering(house, main, two, is_full=True) as quick:
            read(house, main, quick)
        token = token_of(house)
    assert folders(house) == [token]
    assert token_of(house) == token
    assert compare(house, main, monkeypatch) == []
