"""The way through the whole product that journeys share: a sandbox, a receiver on a real port, and the commands."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from werkzeug.serving import make_server

import app
from consumer.commands.working import start_worker
from cuadre import cli
from reports.alarms import find_signals
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from sandbox.state.events import TYPES
from tests.ports import free_port

TARIFF = """
[tariff]
vat_bps = 1900
refund = { flat = 514 }
bank_transfer = { bps = 135 }
"""
TWO_DAYS = 2 * 24 * 60 * 60
AS_OF = "2026-10-02"


@dataclass(frozen=True, slots=True)
class Demo:
    """A demo that has played its month and serves its pages."""

    summary: dict[str, Any]
    shown: str
    address: str


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The demo as anybody runs it: one for every test that looks at it and changes nothing."""
    port, folder = free_port(), tmp_path_factory.mktemp("demo")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CUADRE_")}
    command = [sys.executable, "-m", "cuadre", "demo", "--json", "--port", str(port)]
    environ = {**clean, "CUADRE_DATA_DIR": str(folder / "data"), "PYTHONUNBUFFERED": "1"}
    with (
        (folder / "shown").open("wb") as shown,
        subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=shown) as process,
    ):
        assert process.stdout is not None
        summary = process.stdout.readline()
        said = (folder / "shown").read_text(encoding="utf-8")
        assert summary, f"the demo ended before it served: {said}"
        yield Demo(json.loads(summary), said, f"http://127.0.0.1:{port}")
        process.send_signal(signal.SIGTERM)
        process.wait(120)


@contextmanager
def _receiving(port: int) -> Iterator[None]:
    """The receiver and the pages on a real port, and the worker beside them."""
    installation = app.open_installation()
    server = make_server("127.0.0.1", port, app.create_app(installation), threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    worker = start_worker(installation, signals=find_signals)
    yield
    server.shutdown()
    server.server_close()
    thread.join()
    worker.stop()
    installation.store.close()


@pytest.fixture
def receiving() -> Callable[[int], object]:
    return _receiving


@pytest.fixture
def cuadre() -> Callable[..., bytes]:
    """Run a command as a person would and insist that it did all it should."""

    def run(*arguments: str) -> bytes:
        result = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout_bytes

    return run


@pytest.fixture
def live_two_days(
    cuadre: Callable[..., bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, float], int]:
    """Live through the quiet scenario up to a reconciliation; answers the port the receiver had."""

    def live(database_url: str, lost: float) -> int:
        port = free_port()
        (tmp_path / "cuadre.toml").write_text(TARIFF, encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        with RunningSandbox("quiet", seed=1) as running, Steer(running.url) as steer:
            secret = steer.create_endpoint(f"http://127.0.0.1:{port}/webhooks", list(TYPES))["secret"]
            for name, value in {
                "PROVIDER_URL": running.url,
                "API_KEY": "sk_test_sandbox",
                "COUNTRY": "cl",
                "WEBHOOK_SECRETS": secret,
                "DATABASE_URL": database_url,
                "DATA_DIR": str(tmp_path / "data"),
                "SECRET_KEY": "a key that only tests know",
                "RATE_LIMIT": "1000",
            }.items():
                monkeypatch.setenv(f"CUADRE_{name}", value)
            if lost:
                steer.switch_on("drop", lost)
            with _receiving(port):
                steer.advance(TWO_DAYS)
                cuadre("backfill")
            cuadre("pull", "all")
            (tmp_path / "invoices.csv").write_bytes(steer.invoices())
        cuadre("invoices", "import", str(tmp_path / "invoices.csv"))
        cuadre("reconcile", "--as-of", AS_OF)
        return port

    return live
