"""Imports that are killed or that meet: a file is there whole or not at all, and nothing is there twice."""

import subprocess
import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlmodel import func, select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.store import Store
from reconcile.books.invoices import ImportOutcome, import_invoices
from reconcile.tables.books import InvoiceFile, LocalInvoice, LocalInvoiceChange
from tests.merchant import start_apart
from tests.thoroughness import for_run

ROWS = 2_000
HEADER = "doc_type,folio,issue_date,total,order_ref"


def _books(path: Path, *, total: int) -> Path:
    rows = (f"33,{folio},2026-09-01,{total},PED-{folio}" for folio in range(1, ROWS + 1))
    path.write_text("\n".join([HEADER, *rows, ""]), encoding="utf-8")
    return path


def _start(database_url: str, folder: Path, books: Path) -> subprocess.Popen[bytes]:
    return start_apart("-m", "cuadre", "invoices", "import", str(books), database_url=database_url, data_dir=folder)


def _counts(store: Store) -> tuple[int, int, int]:
    with store.reading() as session:
        tables = (InvoiceFile, LocalInvoice, LocalInvoiceChange)
        files, documents, changes = (session.exec(select(func.count()).select_from(table)).one() for table in tables)
    return files, documents, changes


@pytest.mark.parametrize("wait", for_run(short=[0.4], full=[0.05, 0.4]))
def test_a_killed_import_leaves_all_of_a_file_or_nothing(
    store: Store, migrated_url: str, tmp_path: Path, wait: float
) -> None:
    """The process dies while it writes; the same command afterwards makes it whole, once."""
    books = _books(tmp_path / "books.csv", total=1190)
    process = _start(migrated_url, tmp_path / "data", books)
    deadline = time.monotonic() + 180
    # Its data folder appears once it has read its settings: the import itself follows within a second.
    while process.poll() is None and not (tmp_path / "data").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(wait)
    process.kill()
    process.wait()
    assert _counts(store) in {(0, 0, 0), (1, ROWS, 0)}
    assert _start(migrated_url, tmp_path / "data", books).wait(timeout=300) == 0
    assert _counts(store) == (1, ROWS, 0)


def test_two_imports_of_one_file_at_once_are_one(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """Both say it is in, and it is there once."""
    books = _books(tmp_path / "books.csv", total=1190)
    outcomes = _together(installation, main, books, books)
    assert [outcome.accepted for outcome in outcomes] == [True, True]
    assert sorted(outcome.added for outcome in outcomes) == [0, ROWS]
    assert _counts(installation.store) == (1, ROWS, 0)


def test_two_files_about_the_same_documents_at_once_take_turns(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """One brings the documents, the other changes them, with a line of history for each."""
    first, second = _books(tmp_path / "one.csv", total=1190), _books(tmp_path / "two.csv", total=1200)
    outcomes = _together(installation, main, first, second)
    assert sorted((outcome.added, outcome.changed) for outcome in outcomes) == [(0, ROWS), (ROWS, 0)]
    assert _counts(installation.store) == (2, ROWS, ROWS)


@pytest.mark.both_databases
def test_documents_that_change_alike_are_written_at_once(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """A file that changes thousands costs a few statements, and each document has its new total."""
    asked: list[str] = []
    import_invoices(installation, main, _books(tmp_path / "one.csv", total=1190))
    sa.event.listen(installation.store.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    assert import_invoices(installation, main, _books(tmp_path / "two.csv", total=1200)).changed == ROWS
    assert len([text for text in asked if text.startswith("UPDATE")]) == 1
    with installation.store.reading() as session:
        assert session.exec(select(LocalInvoice.total).distinct()).all() == [1200]


def _together(installation: Installation, connection: Connection, *paths: Path) -> list[ImportOutcome]:
    outcomes: list[ImportOutcome] = []
    threads = [
        threading.Thread(target=lambda path=path: outcomes.append(import_invoices(installation, connection, path)))
        for path in paths
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes
