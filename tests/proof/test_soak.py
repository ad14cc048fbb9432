"""`cuadre serve` under trade, nights, readers and kills for long: no event is lost, memory and handles stay flat.

CUADRE_TEST_SOAK_MINUTES says how long; `make proof-soak` takes two hours, the usual run a moment.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from zoneinfo import ZoneInfo

import httpx
import pytest
from sqlmodel import func, select

from consumer.facts import schema
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from reports.access import people
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from sandbox.state.events import TYPES
from tests.ports import free_port

MINUTES = float(os.environ.get("CUADRE_TEST_SOAK_MINUTES", "0.2"))
KILLS = max(1, round(MINUTES / 30))
HOUR = 3600
PAGES = ("/", "/payouts", "/exceptions", "/books", "/operation", "/operation/runs", "/reports/payout-summary.csv")
EMAIL, PASSWORD = "soak@merchant.test", "a password for the soak"
SANTIAGO = ZoneInfo("America/Santiago")
# Within one life of the process, after its first quarter.
MOST_GROWTH, MOST_HANDLES = 1.10, 16


@dataclass
class Life:
    """What one process and its children held, from its start to its end."""

    bytes_held: list[int] = field(default_factory=list)
    handles: list[int] = field(default_factory=list)

    def growth(self) -> tuple[float, int]:
        """Compare the last quarter with the second: as a ratio of memory, and in handles."""
        quarter = len(self.bytes_held) // 4
        early, late = slice(quarter, 2 * quarter), slice(3 * quarter, None)
        ratio = median(self.bytes_held[late]) / median(self.bytes_held[early])
        return ratio, round(median(self.handles[late]) - median(self.handles[early]))


def family(pid: int) -> list[int]:
    """List a process and all below it that serve; nights come and go, and are none of them."""
    found = [pid]
    with suppress(OSError):
        if b"work_for_parent" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return []
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text(encoding="ascii").split()):
                found += family(child)
    return found


def held_by(pids: list[int]) -> tuple[int, int]:
    """Measure the memory of processes that is not shared, and their open handles."""
    memory = handles = 0
    for pid in pids:
        with suppress(OSError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
            memory += 1024 * sum(map(int, re.findall(r"^Private_(?:Clean|Dirty): +(\d+)", text, re.MULTILINE)))
            handles += len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return memory, handles


class Soak:
    """One installation in the processes that a merchant runs, and those who ask it."""

    def __init__(self, folder: Path, environ: dict[str, str], port: int) -> None:
        self.folder, self.environ, self.port = folder, environ, port
        self.url = f"http://127.0.0.1:{port}"
        self.lives: list[Life] = []
        self.start()

    def start(self) -> None:
        """Start the server and wait until it is ready."""
        with (self.folder / "serve.log").open("ab") as log:
            command = [sys.executable, "-m", "cuadre", "serve", "--no-nights", "--port", str(self.port)]
            self.process = subprocess.Popen(command, env=self.environ, cwd=self.folder, stdout=log, stderr=log)
        self.lives.append(Life())
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            with suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError((self.folder / "serve.log").read_text(encoding="utf-8")[-2000:])

    def kill(self, *, whole: bool) -> None:
        """Kill the process that serves, which its parent replaces, or everything, which is started anew."""
        pids = family(self.process.pid)
        for pid in pids if whole else pids[1:]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if whole:
            self.process.wait()
            self.start()
        else:
            self.lives.append(Life())
            self.wait_until_ready()

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the program as a person would while everything serves."""
        called = [sys.executable, "-m", "cuadre", *command]
        return subprocess.run(called, env=self.environ, cwd=self.folder, capture_output=True, text=True, check=False)

    def read_pages(self) -> dict[str, int]:
        """Log in, look at every page once, log out; answer what each page said."""
        with httpx.Client(base_url=self.url, follow_redirects=False, timeout=60) as client:
            token = csrf_of(client.get("/login").text)
            client.post("/login", data={"csrf_token": token, "email": EMAIL, "password": PASSWORD})
            said = {page: client.get(page).status_code for page in PAGES}
            client.post("/logout", data={"csrf_token": csrf_of(client.get("/").text)})
        return said

    def sample(self) -> None:
        memory, handles = held_by(family(self.process.pid))
        self.lives[-1].bytes_held.append(memory)
        self.lives[-1].handles.append(handles)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def csrf_of(page: str) -> str:
    found = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', page)
    assert found is not None, page[:500]
    return found.group(1)


@pytest.fixture
def provider() -> Iterator[RunningSandbox]:
    with RunningSandbox("busy-month", seed=3) as running:
        yield running


@pytest.fixture
def soak(provider: RunningSandbox, tmp_path: Path) -> Iterator[Soak]:
    """The installation, subscribed at the provider, with a person who may log in and the books of the month."""
    port = free_port()
    with Steer(provider.url) as steer:
        secret = steer.create_endpoint(f"http://127.0.0.1:{port}/webhooks", list(TYPES))["secret"]
        (tmp_path / "invoices.csv").write_bytes(steer.invoices())
    settings = {
        "PROVIDER_URL": provider.url,
        "API_KEY": "sk_test_sandbox",
        "COUNTRY": "cl",
        "WEBHOOK_SECRETS": secret,
        "DATA_DIR": str(tmp_path / "data"),
        "RATE_LIMIT": "1000",
    }
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CUADRE_")}
    (tmp_path / "data").mkdir()
    store = Store(f"sqlite:///{tmp_path}/data/cuadre.db")
    schema.upgrade(store)
    people.ensure_user(store, EMAIL, PASSWORD, people.Role.ADMIN)
    store.close()
    made = Soak(tmp_path, clean | {f"CUADRE_{name}": value for name, value in settings.items()}, port)
    try:
        for command in (("invoices", "import", "invoices.csv"), ("pull", "all"), ("backfill",)):
            done = made.run(*command)
            assert done.returncode == 0, done.stderr
        yield made
    finally:
        made.stop()


def events_stored(folder: Path) -> int:
    store = Store(f"sqlite:///{folder}/data/cuadre.db")
    with store.reading() as session:
        found = session.exec(select(func.count()).select_from(Event)).one()
    store.close()
    return found


def local_day(moment: str) -> datetime:
    return datetime.fromisoformat(moment).astimezone(SANTIAGO)


def test_long_trade_with_nights_readers_and_kills(soak: Soak, provider: RunningSandbox) -> None:
    """Every event is there in the end, every page answered, and no life of the process grew."""
    began = time.monotonic()
    ends = began + MINUTES * 60
    kills = [began + (number + 0.5) * MINUTES * 60 / KILLS for number in range(KILLS)]
    nights: list[int] = []
    with Steer(provider.url) as steer:
        day = local_day(steer.now()).date() - timedelta(days=1)
        today, due = day, began
        # A night of a day that has not come yet by this machine's clock is refused.
        hours = max(24, (datetime.now(SANTIAGO).date() - day).days * 24 - 48)
        while time.monotonic() < ends or not nights:
            if time.monotonic() >= due:
                today, due = local_day(steer.advance(HOUR)).date(), due + MINUTES * 60 / hours
            if today > day:
                nights.append(soak.run("nightly", "--date", day.isoformat()).returncode)
                day += timedelta(days=1)
            said = soak.read_pages()
            assert said == dict.fromkeys(PAGES, 200)
            soak.sample()
            if kills and time.monotonic() > kills[0]:
                soak.kill(whole=len(kills) % 2 == 0)
                del kills[0]
        steer.advance(HOUR)
        assert soak.run("backfill").returncode == 0
        happened = len(provider.world.logs["test"])
    assert events_stored(soak.folder) == happened > 100
    shown = [(len(life.bytes_held), *life.growth()) for life in soak.lives if len(life.bytes_held) >= 40]
    print(f"{len(nights)} nights, lives (samples, growth of memory, of handles): {shown}")  # noqa: T201 - the proof's figures
    assert set(nights) <= {0, 3}
    assert all(growth <= MOST_GROWTH and handles <= MOST_HANDLES for _, growth, handles in shown)
