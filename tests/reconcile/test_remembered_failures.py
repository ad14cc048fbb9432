"""Files of remembered tables that are damaged, dropped or never finished, and processes that die: the run is right."""

import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from consumer.config import Connection
from consumer.facts import changes
from consumer.facts.house import House
from reconcile.reading.memories import remembering
from reconcile.reading.remembered import EDITION, Draft, ForgottenError, Place, Remembered
from reconcile.runs import run
from reconcile.threads import second_thread
from tests.reconcile.remembering import (
    AS_OF,
    EVERYTHING,
    compare,
    folders,
    read,
    remember,
    token_of,
    whole_tables,
    write,
)
from tests.thoroughness import for_run

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.usefixtures("large_trade")
def test_a_damaged_file_is_never_believed(house: House, main: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of one byte, whichever, or a file cut anywhere: the table is not believed."""
    if not house.store.is_sqlite:
        return
    remember(house, main)
    token = str(token_of(house))
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


@pytest.mark.usefixtures("large_trade")
def test_a_damaged_table_is_forgotten_and_remembered_anew(
    house: House, main: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that meets it reads that table whole, the next one everything, and the one after that is quick again."""
    remember(house, main)
    path = house.settings.data_dir / "remembered" / "main" / str(token_of(house)) / "charge.arrow"
    path.write_bytes(path.read_bytes()[:-1])
    told: list[list[str]] = []
    for _ in range(3):
        with whole_tables(monkeypatch) as names:
            run(house, main, as_of=AS_OF)
        told.append(sorted(names))
    assert told == [["charge"], EVERYTHING, []]
    assert compare(house, main, monkeypatch) == []


@pytest.mark.parametrize("dropped", ["remembered", "remembered/main"])
@pytest.mark.usefixtures("large_trade")
def test_the_files_may_be_dropped_at_any_time(
    house: House, main: Connection, monkeypatch: pytest.MonkeyPatch, dropped: str
) -> None:
    """Nobody needs them: the next run reads everything and remembers it."""
    remember(house, main)
    shutil.rmtree(house.settings.data_dir / dropped)
    assert sorted(compare(house, main, monkeypatch)) == EVERYTHING
    run(house, main, as_of=AS_OF)
    assert compare(house, main, monkeypatch) == []


@pytest.mark.usefixtures("large_trade")
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
    assert folders(house) == []
    assert sorted(compare(house, main, monkeypatch)) == EVERYTHING


def _read_and_fail(house: House, main: Connection) -> None:
    with second_thread() as beside, remembering(house, main, beside) as memory:
        read(house, main, memory)
        raise LookupError


@pytest.mark.usefixtures("large_trade")
def test_a_run_that_fails_remembers_nothing(house: House, main: Connection) -> None:
    """What was written of it goes; a draft that a killed process left goes a day later, and what is named stays."""
    with pytest.raises(LookupError):
        _read_and_fail(house, main)
    assert (folders(house), token_of(house)) == ([], None)
    remember(house, main)
    left = [house.settings.data_dir / "remembered" / "main" / name for name in ("new.x.draft", "f" * 64)]
    for path in left:
        path.mkdir()
        os.utime(path, (0, 0))
    young = left[0].with_name("new.y.draft")
    young.mkdir()
    remember(house, main)
    assert folders(house) == sorted([str(token_of(house)), young.name])


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


@pytest.mark.usefixtures("large_trade")
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
        write(house.store, f"UPDATE charge SET amount = {1_000 + left}")  # noqa: S608 - a number
        before = token_of(house)
        command = [sys.executable, "-c", _KILLED_AT, str(left), EDITION]
        done = subprocess.run(command, cwd=ROOT, env=foreign | own, capture_output=True, text=True, check=False)
        assert done.returncode in {0, -9}, done.stderr
        ends.append(done.returncode)
        # Either the old tables with what was touched since, or the new ones.
        assert compare(house, main, monkeypatch) == []
        assert (token_of(house) != before) or ends[-1] == -9
        write(house.store, "UPDATE charge SET amount = 7")
        assert compare(house, main, monkeypatch) == []
    assert (ends[0], ends[-1]) == (-9, 0)
