"""How fast a backlog of stored events is applied, with what CPU and memory.

python tests/benchmarks/ingest/bench_drain.py [--events 100000] [--rounds 3] stores the events first, outside the time,
drains them in a process of its own and prints a Markdown table.
"""

import argparse
import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from consumer.config import load
from consumer.facts import schema
from consumer.facts.clock import utc_now
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.inbox.apply import drain
from consumer.inbox.record import read_arrival, record_all
from tests.benchmarks.ingest.cluster import Cluster, postgresql
from tests.benchmarks.ingest.trade import SECRET, month_of_events

_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Drained:
    """What one drain took."""

    seconds: float
    cpu: float
    applied: int
    memory_before: int
    memory_after: int


def settings_of(database_url: str, folder: Path) -> Settings:
    environ = {
        "CUADRE_PROVIDER_URL": "http://127.0.0.1:9",
        "CUADRE_API_KEY": "sk_test_bench",
        "CUADRE_COUNTRY": "cl",
        "CUADRE_WEBHOOK_SECRETS": SECRET,
        "CUADRE_DATA_DIR": str(folder),
        "CUADRE_DATABASE_URL": database_url,
        "CUADRE_SECRET_KEY": "a key that lives as long as the benchmark",
    }
    return load(environ, folder=folder)


def fill(database_url: str, folder: Path, count: int) -> None:
    """Store the backlog as the receiver would."""
    settings, store = settings_of(database_url, folder), Store(database_url)
    schema.upgrade(store)
    connection, bodies = settings.connection("main"), month_of_events(count)
    while some := list(islice(bodies, _AT_ONCE)):
        now = utc_now()
        arrivals = [read_arrival(body, connection=connection, source="webhook", received_at=now) for body in some]
        with store.connection() as writing:
            record_all(writing, arrivals)
    store.close()


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def _drain(database_url: str, folder: Path, answer: "multiprocessing.Queue[Drained]") -> None:
    settings, store = settings_of(database_url, folder), Store(database_url)
    with store.reading() as session:
        session.execute(sa.text("SELECT 1"))
    memory, cpu, started = _memory(), time.process_time(), time.monotonic()
    outcome = drain(store, settings, worker="bench")
    took = time.monotonic() - started
    answer.put(Drained(took, time.process_time() - cpu, outcome.applied, memory, _memory()))
    store.close()


def run_alone(database_url: str, folder: Path) -> Drained:
    """Drain in a fresh process, so that nothing of another round is warm."""
    context = multiprocessing.get_context("spawn")
    answer: multiprocessing.Queue[Drained] = context.Queue()
    process = context.Process(target=_drain, args=(database_url, folder, answer))
    process.start()
    drained = answer.get(timeout=600)
    process.join()
    return drained


def _databases(kind: str, folder: Path, rounds: int, cluster: Cluster) -> Iterator[str]:
    for place in range(rounds):
        yield f"sqlite:///{folder / str(place)}.db" if kind == "SQLite" else cluster.database(f"drain_{place}")


def measure(kind: str, count: int, rounds: int, cluster: Cluster) -> None:
    """Print one row of the table for one kind of store."""
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for url in _databases(kind, folder, rounds, cluster):
            fill(url, folder, count)
            results.append(run_alone(url, folder))
    if {one.applied for one in results} != {count}:
        raise SystemExit(f"{kind}: not all of the {count} events were applied: {results}")
    rates = [count / one.seconds for one in results]
    cpu = [one.cpu / count * 1e6 for one in results]
    before = max(one.memory_before for one in results) >> 20
    after = max(one.memory_after for one in results) >> 20
    print(
        f"| {kind} | {count:,} | {statistics.median(rates):,.0f} ({min(rates):,.0f}–{max(rates):,.0f}) "
        f"| {statistics.median(cpu):.0f} ({min(cpu):.0f}–{max(cpu):.0f}) | {before} → {after} | {rounds} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Applied events a second, from a backlog.")
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("SQLite", "PostgreSQL"))
    given = parser.parse_args()
    print("| store | backlog | events/s, median (min–max) | worker CPU µs/event | memory MiB | rounds |")
    print("|---|---|---|---|---|---|", flush=True)
    with postgresql() as cluster:
        for kind in (given.only,) if given.only else ("SQLite", "PostgreSQL"):
            measure(kind, given.events, given.rounds, cluster)


if __name__ == "__main__":
    main()
