"""Runs that are killed while they publish: a run is there whole or not at all, and the next makes it whole, once."""

import subprocess
import time
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from sqlmodel import SQLModel, col

from consumer.facts.store import Store
from reconcile.tables.books import LocalInvoice
from reconcile.tables.desk import ExceptionChange, ExceptionRow
from reconcile.tables.runs import ResultChunk, Run, RunFinding
from tests.merchant import start_apart
from tests.thoroughness import for_run

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

DOCUMENTS = 2_000
WHOLE = (1, DOCUMENTS, DOCUMENTS, DOCUMENTS)


@pytest.fixture
def overdue(world: "World") -> "World":
    """Unpaid documents: each is an exception with its history."""
    rows = (
        LocalInvoice(
            connection="main", doc_key=f"cl:33::{folio}", country="cl", doc_type="33", folio=str(folio),
            issue_date=date(2026, 7, 1), total=1190 + folio, currency="CLP", status="valid", file_sha256="0" * 64,
            updated_at=datetime(2026, 7, 1, tzinfo=UTC),
        )
        for folio in range(DOCUMENTS)
    )  # fmt: skip
    world.keep(*rows)
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    return world


def _start(database_url: str, folder: Path) -> subprocess.Popen[bytes]:
    return start_apart("-m", "cuadre", "reconcile", "--as-of", "2026-09-11", database_url=database_url, data_dir=folder)


def _counts(store: Store) -> tuple[int, ...]:
    with store.reading() as session:
        tables: tuple[type[SQLModel], ...] = (Run, RunFinding, ExceptionRow, ExceptionChange)
        return tuple(session.scalar(sa.select(sa.func.count()).select_from(table)) or 0 for table in tables)


@pytest.mark.parametrize(
    ("there", "wait"),
    for_run(short=[("its inputs", 0.1)], full=[("a draft", 0.0), *(("its inputs", 0.05 * step) for step in range(10))]),
)
@pytest.mark.usefixtures("overdue")
def test_a_killed_run_leaves_everything_or_nothing(
    store: Store, migrated_url: str, tmp_path: Path, there: str, wait: float
) -> None:
    """The process dies while its inputs are written beside the rules, or as it publishes; the same command afterwards
    gives one run with each exception once.
    """
    process = _start(migrated_url, tmp_path / "data")
    kept, deadline = tmp_path / "data" / "runs" / "main", time.monotonic() + 180
    # A draft of its inputs is there as long as the rules run, and gets its name right before they are published.
    while process.poll() is None and time.monotonic() < deadline:
        if kept.is_dir() and any(path.name.endswith(".draft") == (there == "a draft") for path in kept.iterdir()):
            break
        time.sleep(0.002)
    time.sleep(wait)
    process.kill()
    process.wait()
    # Findings may be staged; without a run no reader looks for them.
    assert _counts(store) in {(0, 0, 0, 0), (0, DOCUMENTS, 0, 0), WHOLE}
    assert _start(migrated_url, tmp_path / "data").wait(timeout=300) == 0
    assert _counts(store) == WHOLE


@pytest.mark.both_databases
@pytest.mark.usefixtures("overdue")
def test_two_processes_at_one_run_make_it_once(store: Store, migrated_url: str, tmp_path: Path) -> None:
    """Both end well; there is one run, with its rows once."""
    processes = [_start(migrated_url, tmp_path / "data") for _ in range(2)]
    assert [process.wait(timeout=300) for process in processes] == [0, 0]
    assert _counts(store) == WHOLE
    with store.reading() as session:
        kinds = session.execute(sa.select(col(ResultChunk.kind), col(ResultChunk.number))).all()
    assert len(kinds) == len(set(kinds))
