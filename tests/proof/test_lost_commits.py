"""Writers and checkpointers of several processes on one SQLite file: what was acknowledged is there, the file whole."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from consumer.facts.embedded import find_damage
from consumer.facts.store import Store
from tests.thoroughness import for_run

HERE = Path(__file__).parent
WRITERS, CHECKPOINTERS = 3, 2
# A count in the short form, so that any machine does the same work; half an hour in the proof.
COMMITS = for_run(short=25, full=0)
SECONDS = float(os.environ.get("CUADRE_TEST_DISK_SECONDS", "1800"))
# As where the fault is and nothing else can be had: Python's own SQLite, whatever its version, held for an old one.
OUTDATED = """
import runpy, sys
sys.modules["pysqlite3"] = None
from consumer.facts import embedded
embedded.VERSION = (3, 40, 1)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
PROGRAMS = {"bundled": [sys.executable], "outdated": [sys.executable, "-c", OUTDATED]}


@pytest.fixture
def file(migrated_sqlite: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(migrated_sqlite, tmp_path / "cuadre.db"))


@pytest.fixture
def start() -> Iterator[list[subprocess.Popen[bytes]]]:
    """What was started; killed at the end, whatever became of the test."""
    running: list[subprocess.Popen[bytes]] = []
    yield running
    for process in running:
        process.kill()
        process.wait()


def rival(program: str, *words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*PROGRAMS[program], HERE / "rivals.py", *map(str, words)], cwd=HERE)


def missing(file: Path, acknowledged: Path) -> set[str]:
    """The ids that a writer was told were kept and that the file does not hold."""
    store = Store(f"sqlite:///{file}")
    with store.reading() as session:
        kept = set(session.connection().execute(sa.text("SELECT id FROM event")).scalars())
    store.close()
    return set(acknowledged.read_text(encoding="ascii").split()) - kept


@pytest.mark.parametrize("program", for_run(short=["bundled"], full=[*PROGRAMS]))
def test_no_acknowledged_commit_is_lost(
    program: str, file: Path, tmp_path: Path, start: list[subprocess.Popen[bytes]]
) -> None:
    """Whoever writes and checkpoints beside them, every id whose commit returned is there and the file is whole."""
    acknowledged = tmp_path / "acknowledged"
    # The half hour goes to the SQLite that most run; the other has no log that could be reset.
    seconds = SECONDS if program == "bundled" else SECONDS / 30
    start += [rival(program, "checkpoint", file) for _ in range(CHECKPOINTERS)]
    writers = [rival(program, "write", file, acknowledged, name, COMMITS, seconds) for name in range(WRITERS)]
    start += writers

    assert [writer.wait() for writer in writers] == [0] * WRITERS
    assert [process.poll() for process in start[:CHECKPOINTERS]] == [None] * CHECKPOINTERS
    for process in start:
        process.kill()
        process.wait()

    noted = len(acknowledged.read_text(encoding="ascii").split())
    assert noted == WRITERS * 2 * COMMITS if COMMITS else noted > 1000
    assert missing(file, acknowledged) == set()
    store = Store(f"sqlite:///{file}")
    assert find_damage(store.engine, whole=True) == []
    store.close()


def test_a_receiver_that_acknowledges_too_early_is_found_out(file: Path, tmp_path: Path) -> None:
    """An id noted before its commit, whose process then dies, is missing: so the comparison above can fail."""
    acknowledged = tmp_path / "acknowledged"

    assert rival("bundled", "boast", file, acknowledged).wait() == 9

    assert missing(file, acknowledged) == {"evt_boasted"}
