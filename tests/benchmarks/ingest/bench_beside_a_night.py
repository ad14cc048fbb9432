"""How quickly `cuadre serve` answers while a night's run works beside it in a process of its own.

python tests/benchmarks/ingest/bench_beside_a_night.py [--rows 100000] [--rounds 5] [--seconds 20] prints a Markdown
table. Webhooks come a hundred a second and a page is asked for twenty times a second, each measured from the moment it
was due, in rounds with and without a night. The night reconciles books of so many documents again and again, each time
as of another day, as `cuadre nightly` does in its child; what it fetches before costs little, and needs a provider.
"""

import argparse
import http.client
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from consumer.facts import schema
from consumer.facts.store import Store
from tests.benchmarks.ingest.cluster import free_port, postgresql
from tests.benchmarks.ingest.processes import wait_for_port
from tests.benchmarks.ingest.trade import SECRET, payment_event, signed
from tests.benchmarks.reconcile import trade

ROOT = Path(__file__).resolve().parents[3]
WEBHOOKS_A_SECOND, PAGES_A_SECOND = 100, 20
ALONE, BESIDE = "alone", "beside a night"
HEAD = "| store | serve | webhook p50 ms (min–max) | webhook p99 | page p50 | page p99 |\n|---|---|---|---|---|---|\n"


@dataclass(slots=True)
class Times:
    """Milliseconds of each answer of one round."""

    webhooks: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)


class Nights:
    """Reconciles one day after the other in processes of their own, until told to stop."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._environ = environ
        self._days = count()
        self.published = 0

    def run(self, until: threading.Event) -> None:
        while not until.is_set():
            on = trade.AS_OF + timedelta(days=next(self._days))
            command = [sys.executable, "-m", "cuadre", "reconcile", "--as-of", on.isoformat(), "--json"]
            night = subprocess.Popen(command, env=self._environ, cwd=ROOT, stdout=subprocess.DEVNULL)
            while night.poll() is None and not until.wait(0.05):
                pass
            self.published += night.poll() in {0, 3}
            night.kill()
            night.wait()


def keep_asking(
    ask: Callable[[http.client.HTTPConnection], int], port: int, a_second: int, seconds: float
) -> list[float]:
    """Ask at an even pace on one connection; an answer that is late makes the next ones late, as for a sender."""
    took = []
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        began = time.perf_counter()
        for number in range(max(2, int(a_second * seconds))):
            due = began + number / a_second
            time.sleep(max(0.0, due - time.perf_counter()))
            status = ask(connection)
            assert status == 200, status
            took.append(1000 * (time.perf_counter() - due))
    return took


def measure(port: int, numbers: Iterator[int], seconds: float) -> Times:
    def send(connection: http.client.HTTPConnection) -> int:
        body = payment_event(next(numbers))
        connection.request("POST", "/webhooks", body, {"Fintoc-Signature": signed(body, int(time.time()))})
        answer = connection.getresponse()
        answer.read()
        return answer.status

    def look(connection: http.client.HTTPConnection) -> int:
        connection.request("GET", "/login")
        answer = connection.getresponse()
        answer.read()
        return answer.status

    times = Times()
    looking = threading.Thread(target=lambda: times.pages.extend(keep_asking(look, port, PAGES_A_SECOND, seconds)))
    looking.start()
    times.webhooks = keep_asking(send, port, WEBHOOKS_A_SECOND, seconds)
    looking.join()
    return times


@contextmanager
def serving(environ: dict[str, str], log: Path) -> Iterator[tuple[int, int]]:
    """Run `cuadre serve` on a port of its own; yields the port and the process."""
    port = free_port()
    command = [sys.executable, "-m", "cuadre", "serve", "--no-nights", "--port", str(port)]
    with log.open("wb") as file, subprocess.Popen(command, env=environ, cwd=ROOT, stderr=file) as server:
        try:
            wait_for_port(port, server)
            yield port, server.pid
        finally:
            server.terminate()


def measure_store(url: str, folder: Path, rows: int, rounds: int, seconds: float) -> tuple[dict[str, list[Times]], int]:
    """Measure rounds of both kinds in turn on one database; also tell how many runs were published beside."""
    store = Store(url)
    schema.upgrade(store)
    trade.fill(store, rows)
    store.close()
    environ = {
        **os.environ,
        "CUADRE_PROVIDER_URL": "http://127.0.0.1:9",
        "CUADRE_API_KEY": "sk_test_bench",
        "CUADRE_COUNTRY": "cl",
        "CUADRE_WEBHOOK_SECRETS": SECRET,
        "CUADRE_DATABASE_URL": url,
        "CUADRE_DATA_DIR": str(folder),
        "CUADRE_SECRET_KEY": "a key that only tests know",
    }
    found: dict[str, list[Times]] = {ALONE: [], BESIDE: []}
    nights, numbers = Nights(environ), count(10_000_000)
    with serving(environ, folder / "serve.log") as (port, _pid):
        measure(port, numbers, min(1.0, seconds))
        for _ in range(rounds):
            found[ALONE].append(measure(port, numbers, seconds))
            over = threading.Event()
            working = threading.Thread(target=nights.run, args=(over,))
            working.start()
            found[BESIDE].append(measure(port, numbers, seconds))
            over.set()
            working.join()
    return found, nights.published


def spread(values: list[float]) -> str:
    return f"{median(values):.1f} ({min(values):.1f}–{max(values):.1f})"


def print_rows(store: str, found: dict[str, list[Times]]) -> None:
    for situation, rounds in found.items():
        cells = []
        for times in ([one.webhooks for one in rounds], [one.pages for one in rounds]):
            cells += [spread([median(each) for each in times]), spread([quantiles(each, n=100)[98] for each in times])]
        sys.stdout.write(f"| {store} | {situation} | {' | '.join(cells)} |\n")
        sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    chosen = parser.parse_args()
    sys.stdout.write(HEAD)
    published = {}
    with ExitStack() as stack:
        cluster = stack.enter_context(postgresql())
        for store in ("SQLite", "PostgreSQL"):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            url = f"sqlite:///{folder}/cuadre.db" if store == "SQLite" else cluster.database("beside")
            found, published[store] = measure_store(url, folder, chosen.rows, chosen.rounds, chosen.seconds)
            print_rows(store, found)
    shown = ", ".join(f"{count} on {store}" for store, count in published.items())
    sys.stdout.write(f"\nBooks of {chosen.rows:,} documents; runs that ended during the rounds: {shown}.\n")


if __name__ == "__main__":
    main()
