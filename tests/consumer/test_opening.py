"""Opening an installation: whose data the database holds, and which provider is meant."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from consumer import opening
from consumer.facts.addresses import is_on_this_machine
from consumer.facts.store import Store
from consumer.facts.work import DEMO
from consumer.jobs import ticks
from cuadre import cli

AT = datetime(2026, 10, 1, 3, tzinfo=UTC)


@pytest.fixture
def environ(migrated_url: str, tmp_path: Path) -> Mapping[str, str]:
    """The settings of a real provider, on a database that a demo has marked."""
    store = Store(migrated_url)
    assert ticks.claim(store, DEMO, AT, worker=DEMO, now=AT)
    store.close()
    return {
        "CUADRE_PROVIDER_URL": "https://api.provider.example",
        "CUADRE_API_KEY": "sk_live_real",
        "CUADRE_COUNTRY": "cl",
        "CUADRE_DATABASE_URL": migrated_url,
        "CUADRE_DATA_DIR": str(tmp_path / "instance"),
        "CUADRE_SECRET_KEY": "a key that only tests know",
    }


def test_a_real_provider_is_not_mixed_with_the_demo_s_month(environ: Mapping[str, str]) -> None:
    """Any command refuses in one sentence what to do; the demo's own sandbox stays open to all of them."""
    real = CliRunner().invoke(cli, ["gaps"], env=environ)
    made_up = CliRunner().invoke(cli, ["gaps"], env={**environ, "CUADRE_PROVIDER_URL": "http://127.0.0.1:8000"})

    assert (real.exit_code, made_up.exit_code) == (2, 0)
    assert (
        "this database holds the demo's month, which api.provider.example knows nothing of: choose another "
        "CUADRE_DATA_DIR (with PostgreSQL another database)"
    ) in " ".join(real.stderr.split())


@pytest.mark.parametrize(
    ("url", "is_near"),
    [
        ("http://127.0.0.1:8700", True),
        ("http://[::1]:8700", True),
        ("http://localhost:8700", True),
        ("https://10.0.0.7", False),
        ("https://localhost.example", False),
    ],
)
def test_an_address_is_of_this_machine_or_not(url: str, *, is_near: bool) -> None:
    """Loopback in both families and by its name; a private network is another machine."""
    assert is_on_this_machine(url) is is_near


def test_counters_of_killed_servers_go_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of a process that is gone is removed; one that lives keeps its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv(opening.COUNTERS, raising=False)
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    dead, alive = tmp_path / f"cuadre-counters-{gone.pid}-x", tmp_path / f"cuadre-counters-{os.getpid()}-y"
    dead.mkdir()
    alive.mkdir()
    monkeypatch.setattr("consumer.opening.atexit.register", lambda *_work, **_more: None)
    monkeypatch.setenv(opening.COUNTERS, "")
    del os.environ[opening.COUNTERS]
    opening.share_counters()
    assert (dead.exists(), alive.exists()) == (False, True)
    assert Path(os.environ[opening.COUNTERS]).is_dir()
