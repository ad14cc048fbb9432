"""How fast a backfill stores events, what bounds it, how much of the budget it uses, whether its memory stays flat.

python tests/benchmarks/backfill/bench_backfill.py [--rounds 5] [--scale 1] reads a log from a bare list server with a
fixed latency, each reading in a process of its own, the variants interleaved, and prints a Markdown table.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import sqlalchemy as sa

from consumer.config import load
from consumer.facts import schema
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.provider.client import open_provider
from consumer.sync import backfill
from tests.benchmarks.backfill.list_server import NOW, REQUESTS, STEP, serving

LIFTED = 100_000.0


@dataclass(frozen=True, slots=True)
class Variant:
    """A log of so many events, read by so many windows at a time, within a budget of requests a second."""

    name: str
    events: int
    latency: float
    windows: int
    budget: float = LIFTED


@dataclass(frozen=True, slots=True)
class Reading:
    """What one reading took: wall and processor seconds, memory, and the busiest second at the server."""

    seconds: float
    cpu: float
    requests: int
    memory_mb: int
    steady_rate: float
    busiest_second: int


SPEED = (
    Variant("20 ms, 8 windows", 60_000, 0.02, 8),
    Variant("20 ms, 1 window", 30_000, 0.02, 1),
    Variant("100 ms, 8 windows", 24_000, 0.1, 8),
    Variant("100 ms, 1 window", 24_000, 0.1, 1),
    Variant("20 ms, budget 25", 30_000, 0.02, 8, budget=25.0),
    Variant("memory, 10,000", 10_000, 0.0, 8),
)
LARGE = Variant("memory, 1,000,000", 1_000_000, 0.0, 8)


def read(variant: Variant) -> Reading:
    """Read one log into an empty SQLite file."""
    backfill.WORKERS = variant.windows
    with serving(variant.events, variant.latency) as address, tempfile.TemporaryDirectory() as folder:
        environ = {
            "CUADRE_PROVIDER_URL": address,
            "CUADRE_API_KEY": "sk_test_bench",
            "CUADRE_COUNTRY": "cl",
            "CUADRE_DATA_DIR": folder,
            "CUADRE_RATE_LIMIT": str(variant.budget),
        }
        settings = load(environ, folder=Path(folder))
        store = Store(settings.database_url)
        schema.upgrade(store)
        with open_provider(Installation(settings, store), settings.connection("main")) as provider:
            started, cpu = time.monotonic(), time.process_time()
            outcome = backfill.read_log(Installation(settings, store), provider, since=NOW - variant.events * STEP)
            seconds, cpu = time.monotonic() - started, time.process_time() - cpu
        with store.reading() as session:
            stored = session.execute(sa.select(sa.func.count()).select_from(Event)).scalar_one()
        store.close()
        if not outcome.complete or stored != variant.events:
            raise SystemExit(f"{variant.name}: {stored} of {variant.events} events, {outcome.lines}")
        asked = _asked(address)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    # The first second lays out the budget's places and starts the windows.
    steady = [at for at in asked if at >= asked[0] + 1]
    rate = (len(steady) - 1) / (steady[-1] - steady[0]) if len(steady) > 1 else 0.0
    return Reading(seconds, cpu, len(asked), memory, rate, _busiest(asked))


def _asked(address: str) -> list[float]:
    connection = HTTPConnection(urlsplit(address).netloc)
    connection.request("GET", REQUESTS)
    asked: list[float] = json.loads(connection.getresponse().read())
    connection.close()
    return sorted(asked)


def _busiest(asked: Sequence[float]) -> int:
    """Count the most requests in any one second, wherever it begins."""
    most = first = 0
    for last, at in enumerate(asked):
        while at - asked[first] >= 1:
            first += 1
        most = max(most, last - first + 1)
    return most


def _read_apart(variant: Variant) -> Reading:
    command = [sys.executable, __file__, "--one", json.dumps(asdict(variant))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Reading(**json.loads(done.stdout))


def _spread(values: Sequence[float], form: str) -> str:
    middle, least, most = statistics.median(values), min(values), max(values)
    return f"{middle:{form}} ({least:{form}}–{most:{form}})"


def _row(variant: Variant, readings: Sequence[Reading]) -> str:
    rates = [variant.events / one.seconds for one in readings]
    cells = [
        variant.name,
        f"{variant.events:,}",
        _spread(rates, ",.0f"),
        _spread([one.cpu / variant.events * 1e6 for one in readings], ".0f"),
        _spread([one.cpu / one.seconds * 100 for one in readings], ".0f"),
        _spread([one.steady_rate for one in readings], ".1f"),
        str(max(one.busiest_second for one in readings)),
        str(max(one.memory_mb for one in readings)),
    ]
    return f"| {' | '.join(cells)} |"


def measure(rounds: int, scale: float) -> None:
    *speed, large = (replace(one, events=max(1, round(one.events * scale))) for one in (*SPEED, LARGE))
    found: dict[Variant, list[Reading]] = {variant: [] for variant in (*speed, large)}
    for _ in range(rounds):
        for variant in speed:
            found[variant].append(_read_apart(variant))
    found[large].append(_read_apart(large))
    titles = [
        "reading",
        "events",
        "events/s",
        "CPU µs an event",
        "% of a core",
        "requests/s",
        "busiest second",
        "peak MB",
    ]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    lines += [_row(variant, readings) for variant, readings in found.items()]
    pairs = zip(found[speed[3]], found[speed[2]], strict=True)
    times = _spread([one.seconds / eight.seconds for one, eight in pairs], ".1f")
    lines.append(f"\nEight windows against one at 100 ms: {times} times, round by round.")
    sys.stdout.write("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="how many times the events of each log")
    parser.add_argument("--one")
    asked = parser.parse_args()
    if asked.one:
        sys.stdout.write(json.dumps(asdict(read(Variant(**json.loads(asked.one))))))
        return
    measure(asked.rounds, asked.scale)


if __name__ == "__main__":
    main()
