"""The way through the whole product that journeys share: a sandbox, a receiver on a real port, and the commands."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser
from werkzeug.serving import make_server

import app
from consumer.commands.working import start_worker
from cuadre import cli
from reports.alarms import find_signals
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from sandbox.state.events import TYPES
from tests.journeys.hand import Hand, open_hand
from tests.ports import free_port
from tests.reconcile.conftest import World

TARIFF = """
[tariff]
vat_bps = 1900
refund = { flat = 514 }
bank_transfer = { bps = 135 }
"""
TWO_DAYS = 2 * 24 * 60 * 60
AS_OF = "2026-10-02"
EMAIL, PASSWORD = "ana@tienda.example", "una clave bien larga"


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


@pytest.fixture
def sit_down(
    browser: Browser, migrated_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuadre: Callable[..., bytes]
) -> Iterator[Callable[..., Hand]]:
    """Reconcile a small merchant's two days, the 19th and the 20th of September 2026, and open Today for its admin."""
    with ExitStack() as open_still:

        def sit(before: Callable[[World], None], fill: Callable[[World], None], look: str) -> Hand:
            monkeypatch.chdir(tmp_path)
            for name, value in {
                "PROVIDER_URL": "http://127.0.0.1:9", "API_KEY": "sk_test_x", "COUNTRY": "cl",
                "DATABASE_URL": migrated_url, "DATA_DIR": str(tmp_path / "instance"),
                "SECRET_KEY": "a key that only tests know",
            }.items():  # fmt: skip
                monkeypatch.setenv(f"CUADRE_{name}", value)
            for day, fill_day in ((19, before), (20, fill)):
                installation = app.open_installation()
                world = World(installation.store)
                fill_day(world)
                world.complete(datetime(2026, 9, day + 1, 6, tzinfo=UTC))
                installation.store.close()
                cuadre("reconcile", "--as-of", f"2026-09-{day}")
            (tmp_path / "password").write_text(PASSWORD, encoding="utf-8")
            cuadre("users", "add", EMAIL, "--role", "admin", "--password-file", str(tmp_path / "password"))
            port = free_port()
            open_still.enter_context(_receiving(port))
            return open_still.enter_context(open_hand(browser, look, f"http://127.0.0.1:{port}", EMAIL, PASSWORD))

        yield sit
