"""The demo never mixes made-up trade with a merchant's own data."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlmodel import SQLModel

from app import _claim_demo
from consumer.commands.terminal import CommandError
from consumer.facts.installation import Installation
from consumer.facts.tables.sync import Checkpoint, Window
from reconcile.tables.books import InvoiceFile
from sandbox.demo import alone_in, write_settings
from tests.ports import free_port


def _books() -> InvoiceFile:
    at = datetime(2026, 10, 1, tzinfo=UTC)
    return InvoiceFile(connection="main", sha256="0" * 64, name="ours.csv", imported_at=at, rows=1, added=1, changed=0)


AT = datetime(2026, 10, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "row",
    [
        _books(),
        Checkpoint(connection="main", stream="payouts", pulled_at=AT),
        Window(connection="main", stream="events", until=AT, state="open", opened_at=AT),
    ],
    ids=["imported books", "a pulled list", "a backfill that began"],
)
def test_a_database_with_data_of_its_own_is_refused(installation: Installation, row: SQLModel) -> None:
    """What a merchant imported, pulled or began to read is never mixed with made-up trade."""
    with installation.store.transaction() as session:
        session.add(row)
    with pytest.raises(CommandError, match="choose another CUADRE_DATA_DIR"):
        _claim_demo(installation)


def test_the_demo_comes_back_to_its_own_database(installation: Installation) -> None:
    """An empty database becomes the demo's, and stays it once the demo has filled it."""
    _claim_demo(installation)
    with installation.store.transaction() as session:
        session.add(_books())
    assert _claim_demo(installation).tzinfo is not None


def test_a_second_demo_of_one_folder_is_refused(tmp_path: Path) -> None:
    """While one runs the next says so at once and touches nothing; the lock goes with its holder."""
    data = tmp_path / "data"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CUADRE_")}
    with alone_in(data):
        second = subprocess.run(
            [sys.executable, "-m", "cuadre", "demo", "--once"], cwd=tmp_path, capture_output=True, text=True,
            env=clean | {"CUADRE_DATA_DIR": str(data)}, check=False,
        )  # fmt: skip
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr == (
        f"Error: a demo is running in {data} already: stop it first, or give this one another CUADRE_DATA_DIR"
        " and --port\n"
    )
    assert sorted(path.name for path in data.iterdir()) == ["demo.lock", "secret_key"]
    with alone_in(data):
        assert data.exists()


def test_a_demo_of_another_country_is_refused(tmp_path: Path) -> None:
    """The folder of Chile's demo takes no month of Mexico: the sentence names it, and nothing in it changes."""
    data = tmp_path / "data"
    write_settings(data / "demo.toml", {"country": "cl"})
    before = (data / "demo.toml").read_bytes()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CUADRE_")}
    refused = subprocess.run(
        [sys.executable, "-m", "cuadre", "demo", "--once", "--scenario", "mexico", "--port", str(free_port())],
        cwd=tmp_path, capture_output=True, text=True, env=clean | {"CUADRE_DATA_DIR": str(data)}, check=False,
    )  # fmt: skip
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.splitlines()[-1] == (
        f"Error: {data} holds a demo of Chile: choose another CUADRE_DATA_DIR for one of Mexico (with PostgreSQL"
        " another database too), or delete that folder"
    )
    assert (data / "demo.toml").read_bytes() == before
    assert sorted(path.name for path in data.iterdir()) == ["demo.lock", "demo.toml", "secret_key"]
