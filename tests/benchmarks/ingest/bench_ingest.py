"""How many webhooks a second are received durably, beside a route that keeps nothing, a naive one and two peers.

python tests/benchmarks/ingest/bench_ingest.py [--rounds 5] [--seconds 3] [--no-peers] prints Markdown tables. Load
comes from wrk over loopback, 32 connections, on the same machine: every request is another event of about 1.5 kB,
really signed. All servers stand ready before the first round, each round takes them in another order, and after all
of it every acknowledged id is looked for in its store. A second, shorter run adds 2 ms to every fsync.
"""

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.benchmarks.ingest import contenders
from tests.benchmarks.ingest.cluster import Cluster, postgresql
from tests.benchmarks.ingest.contenders import Contender
from tests.benchmarks.ingest.load import COMMANDS, Load
from tests.benchmarks.ingest.processes import machine_cpu, tree_cpu
from tests.benchmarks.ingest.trade import signed

SQLITE, POSTGRESQL = "SQLite, 1 process", "PostgreSQL, 2 processes"
_MOST_A_SECOND = 14_000
_NUMBERS = count(1)
_ORDER = random.Random(20261121)  # noqa: S311 - an order of rounds, not a secret


@dataclass(frozen=True, slots=True)
class Cell:
    """One contender in one round."""

    rate: float
    p50: float
    p99: float
    cpu: float
    database_cpu: float
    others: float
    errors: int


class Bench:
    """Loads one contender after another and remembers what each acknowledged."""

    def __init__(self, folder: Path, load: Load, cluster: Cluster | None) -> None:
        self._folder = folder
        self._seconds = load.seconds
        self._command = load.command
        self._cluster = cluster
        self._rates: dict[int, float] = {}
        self.cells: dict[int, list[Cell]] = defaultdict(list)
        self.acknowledged: dict[int, list[tuple[range, int]]] = defaultdict(list)
        self.refused: dict[int, int] = defaultdict(int)

    def warm(self, contender: Contender) -> None:
        seconds = min(1.0, self._seconds)
        self._load(contender, seconds, int(_MOST_A_SECOND // 2 * seconds))

    def measure(self, contender: Contender) -> None:
        most = int(min(self._rates[contender.port] * 2 + 300, _MOST_A_SECOND) * self._seconds)
        self.cells[contender.port].append(self._load(contender, self._seconds, most))

    def _load(self, contender: Contender, seconds: float, most: int) -> Cell:
        first = next(_NUMBERS)
        path = self._folder / "requests"
        with path.open("wb") as file:
            at = int(time.time())
            for number in (first, *(next(_NUMBERS) for _ in range(most - 1))):
                file.write(_piece(contender, number, at))
        assert contender.process is not None
        database = [self._cluster.pid] if self._cluster else []
        before = (machine_cpu(), tree_cpu([contender.process.pid]), tree_cpu(database))
        began = time.monotonic()
        loading = subprocess.Popen(
            self._command(contender.port, contender.path, path, seconds),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        loaded = loading.communicate()[1]
        while not contender.is_settled():
            time.sleep(0.1)
        took = time.monotonic() - began
        after = (machine_cpu(), tree_cpu([contender.process.pid]), tree_cpu(database))
        line = next(line for line in loaded.splitlines() if line.startswith("LOAD "))
        handed, answered, active, p50, p99, bad, broken = map(float, line.split()[1:])
        self._rates[contender.port] = handed / active
        self.refused[contender.port] += int(bad + broken)
        self.acknowledged[contender.port].append((range(first, first + int(handed)), int(answered - bad)))
        machine, server, database_cpu = (late - early for late, early in zip(after, before, strict=True))
        others = (machine - server - database_cpu) / took
        return Cell(
            handed / active,
            p50,
            p99,
            server / handed * 1e6,
            database_cpu / handed * 1e6,
            others,
            int(bad + broken + handed - answered),
        )


def _piece(contender: Contender, number: int, at: int) -> bytes:
    body = contender.make(number)
    head = (
        f"POST {contender.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"{contender.header}: {signed(body, at)}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    request = head.encode() + body
    return f"{len(request)}\n".encode() + request


@contextmanager
def standing(some: Sequence[Contender], folder: Path) -> Iterator[None]:
    """Start every server, and stop them at the end whatever happens."""
    try:
        for contender in some:
            contender.start(folder)
        yield
    finally:
        for contender in some:
            contender.stop()


def missing(bench: Bench, contender: Contender) -> str:
    """Say how many ids were acknowledged and how many of them are not in the store."""
    if contender.kept is None:
        return "–"
    stored = contender.stored()
    answered = lost = 0
    for numbers, acknowledged in bench.acknowledged[contender.port]:
        answered += acknowledged
        lost += max(0, acknowledged - sum(contender.named.format(number) in stored for number in numbers))
    return f"{answered:,}, {lost} missing"


def print_table(bench: Bench, some: Sequence[Contender]) -> None:
    """One row a contender, each beside the bare route of its own store and process count."""
    names = (
        *("store", "server", "events/s, median (min–max)", "of the bare route", "p50 ms", "p99 ms (min–max)"),
        *("server CPU µs/event", "database CPU µs/event", "other cores", "errors", "acknowledged"),
    )
    floors = {one.store: _middle(bench, one, lambda cell: cell.rate) for one in some if one.kept is None}
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for one in some:
        cells = bench.cells[one.port]
        rate = _middle(bench, one, lambda cell: cell.rate)
        row = (
            one.store,
            one.name,
            _spread([cell.rate for cell in cells]),
            f"{rate / floors[one.store]:.2f}" if one.store in floors else "–",
            f"{_middle(bench, one, lambda cell: cell.p50):.1f}",
            _spread([cell.p99 for cell in cells], places=1),
            _spread([cell.cpu for cell in cells]),
            f"{_middle(bench, one, lambda cell: cell.database_cpu):.0f}",
            f"{_middle(bench, one, lambda cell: cell.others):.2f}",
            str(bench.refused[one.port]),
            missing(bench, one),
        )
        print(f"| {' | '.join(row)} |", flush=True)


def _spread(values: Sequence[float], *, places: int = 0) -> str:
    middle, least, most = (f"{value:,.{places}f}" for value in (statistics.median(values), min(values), max(values)))
    return f"{middle} ({least}–{most})"


def _middle(bench: Bench, contender: Contender, what: Callable[[Cell], float]) -> float:
    return statistics.median(what(cell) for cell in bench.cells[contender.port])


def print_targets(bench: Bench, some: Sequence[Contender]) -> None:
    """The ratios that were promised, of medians of this run."""
    print("\n| target | needed | measured | |\n|---|---|---|---|")
    for store in (SQLITE, POSTGRESQL):
        named = {
            one.name.split(" ")[0].strip(":,"): one for one in some if one.store == store and "serve" not in one.name
        }
        mine = named["ours"]

        def ratio(other: str, what: Callable[[Cell], float], named: dict[str, Contender] = named) -> float:
            return _middle(bench, named["ours"], what) / _middle(bench, named[other], what)

        _print_target(f"{store}: events/s, of the bare route", ratio("bare", lambda c: c.rate), at_least=0.70)
        _print_target(f"{store}: events/s, of the naive insert", ratio("naive", lambda c: c.rate), at_least=4)
        for peer, times in (("stripe-sync-engine", 2), ("dj-stripe", 15)):
            if peer in named:
                _print_target(f"{store}: events/s, of {peer}", ratio(peer, lambda c: c.rate), at_least=times)
        _print_target(f"{store}: p99, of the bare route's", ratio("bare", lambda c: c.p99), at_most=2)
        _print_target(f"{store}: server CPU µs per durable event", _middle(bench, mine, lambda c: c.cpu), at_most=250)


def _print_target(name: str, value: float, *, at_least: float | None = None, at_most: float | None = None) -> None:
    if at_least is not None:
        print(f"| {name} | ≥ {at_least:g} | {value:.2f} | {'met' if value >= at_least else 'missed'} |")
    elif at_most is not None:
        print(f"| {name} | ≤ {at_most:g} | {value:.2f} | {'met' if value <= at_most else 'missed'} |")


def gather(cluster: Cluster, folder: Path, *, peers: bool) -> list[Contender]:
    """Prepare everybody; a peer that does not install is left out aloud."""

    def lite(name: str) -> str:
        return f"sqlite:///{folder / name}.db"

    some = [
        contenders.bare(SQLITE, 1),
        contenders.naive(SQLITE, lite("naive"), 1),
        contenders.ours(SQLITE, lite("web")),
        contenders.ours(SQLITE, lite("serve"), serve=True),
        contenders.bare(POSTGRESQL, 2),
        contenders.naive(POSTGRESQL, cluster.database("naive"), 2),
        contenders.ours(POSTGRESQL, cluster.database("ours")),
    ]
    for make, name in ((contenders.djstripe, "djstripe"), (contenders.stripe_sync, "stripe_sync")) if peers else ():
        try:
            some.append(make(POSTGRESQL, cluster.database(name)))
        except OSError as problem:
            print(f"{name} is not measured: {problem}\n", flush=True)
    return some


def compare(load: Load, rounds: int, *, peers: bool) -> None:
    """Everybody against everybody, on the disk as it is."""
    with tempfile.TemporaryDirectory(prefix="cuadre-bench-") as name, postgresql() as cluster:
        folder = Path(name)
        some = gather(cluster, folder, peers=peers)
        bench = Bench(folder, load, cluster)
        with standing(some, folder):
            run(bench, some, rounds)
            print_table(bench, some)
            print_targets(bench, some)


def compare_slow(load: Load, rounds: int) -> None:
    """Ours alone, where every fsync takes 2 ms longer."""
    compiler = shutil.which("cc")
    if compiler is None:
        print("\nno C compiler (cc) here, so slow disks are not imitated: install the package gcc")
        return
    with tempfile.TemporaryDirectory(prefix="cuadre-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        preload = folder / "slow_fsync.so"
        source = Path(__file__).with_name("slow_fsync.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", preload, source, "-ldl"], check=True)
        with postgresql(preload=preload, slower_us=2_000) as cluster:
            some = [
                contenders.ours(SQLITE, f"sqlite:///{folder / 'slow'}.db", preload=preload),
                contenders.ours(POSTGRESQL, cluster.database("slow")),
            ]
            bench = Bench(folder, load, cluster)
            with standing(some, folder):
                run(bench, some, rounds)
                print("\nWith 2 ms added to every fsync:\n")
                print_table(bench, some)
                print("\n| target | needed | measured | |\n|---|---|---|---|")
                for one in some:
                    tail = _middle(bench, one, lambda cell: cell.p99)
                    _print_target(f"{one.store}: p99 ms with 2 ms added to every fsync", tail, at_most=20)


def run(bench: Bench, some: Sequence[Contender], rounds: int) -> None:
    for contender in some:
        bench.warm(contender)
    for _ in range(rounds):
        for contender in _ORDER.sample(some, len(some)):
            bench.measure(contender)


def main() -> None:
    parser = argparse.ArgumentParser(description="Webhooks a second, durably.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--only", choices=("fast", "slow"))
    parser.add_argument("--load", choices=tuple(COMMANDS), default="wrk", help="python is too slow for figures")
    given = parser.parse_args()
    if given.load == "wrk" and shutil.which("wrk") is None:
        raise SystemExit("the load comes from wrk, which is not here: install the package wrk")
    load = Load(COMMANDS[given.load], given.seconds)
    if given.only != "slow":
        compare(load, given.rounds, peers=not given.no_peers)
    if given.only != "fast":
        compare_slow(load, given.rounds)


if __name__ == "__main__":
    main()
