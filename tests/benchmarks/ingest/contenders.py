"""Who is measured: how each is prepared, started, addressed and asked afterwards what it kept."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from consumer.facts import schema
from consumer.facts.store import Store
from consumer.facts.tables.types import core_of
from tests.benchmarks.ingest.cluster import free_port
from tests.benchmarks.ingest.processes import wait_for_port
from tests.benchmarks.ingest.servers import NaiveEvent
from tests.benchmarks.ingest.trade import SECRET, payment_event, stripe_event

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PEERS = ROOT / "build" / "peers"
DJSTRIPE = "dj-stripe==2.11.0"
STRIPE_SYNC = "@supabase/stripe-sync-engine@0.48.5"

Make = Callable[[int], bytes]


@dataclass(slots=True)
class Contender:
    """One server under load; `kept` is the query for the ids it stored, `named` how a number becomes such an id."""

    name: str
    store: str
    command: Sequence[str]
    port: int
    path: str = "/webhooks"
    header: str = "Fintoc-Signature"
    make: Make = payment_event
    environ: dict[str, str] = field(default_factory=dict)
    database_url: str | None = None
    kept: str | None = None
    named: str = "evt_{:032x}"
    settles: bool = False
    process: "subprocess.Popen[bytes] | None" = None

    def start(self, folder: Path) -> None:
        log = (folder / f"{self.port}.log").open("wb")
        environ = {name: text for name, text in os.environ.items() if not name.startswith("CUADRE_")}
        self.process = subprocess.Popen(
            self.command, cwd=folder, env=environ | self.environ, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            wait_for_port(self.port, self.process)
        except OSError:
            raise SystemExit(
                f"{self.name} did not start:\n{(folder / f'{self.port}.log').read_text()[-2000:]}"
            ) from None

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def stored(self) -> set[str]:
        assert self.database_url is not None
        assert self.kept is not None
        return {row[0] for row in self._ask(self.kept)}

    def is_settled(self) -> bool:
        return not self.settles or not self._ask("SELECT 1 FROM event WHERE state = 'waiting' LIMIT 1")

    def _ask(self, query: str) -> list[Any]:
        engine = sa.create_engine(str(self.database_url))
        with engine.connect() as connection:
            rows = list(connection.execute(sa.text(query)))
        engine.dispose()
        return rows


def bare(store: str, processes: int) -> Contender:
    port = free_port()
    command = (sys.executable, str(HERE / "serve.py"), "bare", str(port), str(processes))
    return Contender("bare route: verify and parse", store, command, port)


def naive(store: str, database_url: str, processes: int) -> Contender:
    engine = Store(database_url).engine
    NaiveEvent.metadata.create_all(engine, tables=[core_of(NaiveEvent)])
    engine.dispose()
    port = free_port()
    command = (sys.executable, str(HERE / "serve.py"), "naive", str(port), str(processes))
    return Contender(
        "naive: one ORM insert a request",
        store,
        command,
        port,
        environ={"BENCH_DATABASE_URL": database_url},
        database_url=database_url,
        kept=f"SELECT id FROM {NaiveEvent.__tablename__}",  # noqa: S608 - our own name
    )


def ours(store: str, database_url: str, *, serve: bool = False, preload: Path | None = None) -> Contender:
    """Cuadre as it is really served: the receiver alone, or with the worker that applies in the same process."""
    fresh = Store(database_url)
    schema.upgrade(fresh)
    fresh.close()
    port = free_port()
    what = ("serve", "--no-nights") if serve else ("web",)
    environ = {
        "CUADRE_PROVIDER_URL": "http://127.0.0.1:9",
        "CUADRE_API_KEY": "sk_test_bench",
        "CUADRE_COUNTRY": "cl",
        "CUADRE_WEBHOOK_SECRETS": SECRET,
        "CUADRE_DATABASE_URL": database_url,
        "CUADRE_DATA_DIR": "instance",
        "CUADRE_SECRET_KEY": "a key that lives as long as the benchmark",
        "PYTHONPATH": str(ROOT),
    }
    return Contender(
        "ours, and applied at once (cuadre serve)" if serve else "ours (cuadre web)",
        store,
        (sys.executable, "-m", "cuadre", *what, "--port", str(port)),
        port,
        environ=environ | ({"LD_PRELOAD": str(preload), "SLOW_FSYNC_US": "2000"} if preload else {}),
        database_url=database_url,
        kept="SELECT id FROM event",
        settles=serve,
    )


def djstripe(store: str, database_url: str) -> Contender:
    """dj-stripe on gunicorn, 2 processes of 8 threads; a type without a handler, so that it only keeps the event."""
    home = PEERS / "djstripe"
    python = home / "bin" / "python"
    if not (home / "bin" / "gunicorn").exists():
        _run(sys.executable, "-m", "venv", str(home))
        _run(str(python), "-m", "pip", "install", "-q", DJSTRIPE, "gunicorn", "psycopg2-binary")
    at = database_url.replace("postgresql+psycopg://", "postgresql://")
    environ = {"BENCH_DATABASE_URL": at, "PYTHONPATH": str(HERE / "peers")}
    uuid = _run(str(python), str(HERE / "peers" / "djstripe_prepare.py"), SECRET, environ=environ).strip()
    port = free_port()
    command = (
        *(str(home / "bin" / "gunicorn"), "-w", "2", "-k", "gthread", "--threads", "8", "--log-level", "error"),
        *("-b", f"127.0.0.1:{port}", "djstripe_wsgi:application"),
    )
    return Contender(
        "dj-stripe 2.11.0",
        store,
        command,
        port,
        path=f"/stripe/webhook/{uuid}/",
        header="Stripe-Signature",
        make=lambda number: stripe_event(number, kind="reporting.report_type.updated"),
        environ=environ,
        database_url=database_url,
        kept="SELECT id FROM djstripe_event",
    )


def stripe_sync(store: str, database_url: str) -> Contender:
    """The npm library behind the least HTTP server, one Node process; it keeps the charge and no event."""
    home = PEERS / "sse"
    if not (home / "node_modules" / "@supabase").exists():
        home.mkdir(parents=True, exist_ok=True)
        _run("npm", "install", "--silent", "--prefix", str(home), STRIPE_SYNC, "stripe@20", "pg")
    port = free_port()
    at = database_url.replace("postgresql+psycopg://", "postgresql://")
    command = ("node", str(HERE / "peers" / "stripe_sync_engine.cjs"), str(home), at, str(port), SECRET)
    return Contender(
        "stripe-sync-engine 0.48.5",
        store,
        command,
        port,
        header="Stripe-Signature",
        make=stripe_event,
        database_url=database_url,
        kept="SELECT id FROM stripe.charges",
        named="ch_{:024x}",
    )


def _run(*command: str, environ: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, env=os.environ | (environ or {}), capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        raise OSError(f"{Path(command[0]).name} ended with {done.returncode}: {lines[-1]}")
    return done.stdout
