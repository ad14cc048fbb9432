"""Runs of many connections by engine: seconds, memory, stages, and the same answer; then simulated workers.

python tests/benchmarks/scale/bench_engine.py [--connections 200] [--payments 10000] [--rounds 5]
    [--engines local,processes:1,processes:2,processes:3,processes:7,dask:1,dask:2]

A task is what a night does after its pulls: read, rules, keep, publish. `local` does them one after another in one
process, as `cuadre nightly` does; `processes:N` each in a process of its own, N at a time, begun in another order each
time; `dask:N` the same two at a time, with their rules on N worker processes over TCP. Each begins with a copy of one
SQLite file, on one machine. Stages are in processor seconds of the night's process, which neighbours disturb least;
what the workers of a cluster spend is not among them. The simulation hands the tasks of `processes:1`, and of no other
engine, to 1 to 64 workers with a core each.
"""

import argparse
import contextlib
import hashlib
import heapq
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

# What a night's process loads before it begins.
import sqlalchemy as sa

import app  # noqa: F401 - for what it loads
from consumer.config import load
from consumer.facts import schema
from consumer.facts.engines import Engine
from consumer.facts.installation import Installation
from consumer.facts.messages import Message
from consumer.facts.store import Store
from reconcile.reading.process import save_memory
from reconcile.runs.cluster import ClusterRules
from reconcile.runs.run import run
from tests.benchmarks.reconcile import trade

ROOT = Path(__file__).resolve().parents[3]
STAGES = ("read", "rules", "keep", "publish")
ENGINES = "local,processes:1,processes:2,processes:3,processes:7,dask:1,dask:2"
SIMULATED = (1, 2, 4, 8, 16, 32, 64)
# One night at a time, each in a process of its own: what a worker with a core of its own would take.
OF_SIMULATION = "processes:1"
# As many nights as are simulated, of the measured ones in turn.
NIGHTS = 200
# How many nights wait for a cluster at a time.
WAITING = 2
_OPTIONS = {"DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "1h", "PYTHONPATH": str(ROOT)}


@dataclass(frozen=True, slots=True)
class Task:
    """One connection's run: its stages in processor seconds, and its start, its peak of memory in MB."""

    run_id: str
    stages: dict[str, float]
    peak: int

    @property
    def seconds(self) -> float:
        return sum(self.stages.values())


@dataclass(frozen=True, slots=True)
class Round:
    """All connections once: wall seconds, what each took, and the digest of everything published."""

    seconds: float
    tasks: list[Task]
    digest: str


def names_of(count: int) -> list[str]:
    return ["main", *(f"c{number:03}" for number in range(1, count))]


def open_at(folder: Path, count: int) -> Installation:
    url = f"sqlite:///{folder}/cuadre.db"
    more = {name: {"api_key": "sk_test_sandbox", "country": "cl"} for name in names_of(count)[1:]}
    settings = load({
        "CUADRE_DATABASE_URL": url, "CUADRE_COUNTRY": "cl", "CUADRE_PROVIDER_URL": "http://127.0.0.1:1",
        "CUADRE_API_KEY": "sk_test_sandbox", "CUADRE_DATA_DIR": str(folder),
        "CUADRE_SECRET_KEY": "a key that only tests know",
    }, folder=folder, overrides={"tariff": trade.TARIFF, "connections": more})  # fmt: skip
    return Installation(settings, Store(url))


def fill(folder: Path, count: int, payments: int) -> None:
    """One merchant's month, and the same again under the name of every other connection."""
    store = open_at(folder, count).store
    schema.upgrade(store)
    trade.fill(store, payments)
    tables = sa.MetaData()
    with store.connection() as database:
        tables.reflect(database)
        for table in tables.sorted_tables:
            if "connection" not in table.c or not database.scalar(sa.select(sa.func.count()).select_from(table)):
                continue
            # A number that the database gives is given anew.
            names = [one.name for one in table.c if one.name != "connection" and not is_numbered(one)]
            mine = [table.c[name] for name in names]
            for name in names_of(count)[1:]:
                copied = sa.select(sa.literal(name), *mine).where(table.c.connection == "main")
                database.execute(sa.insert(table).from_select(["connection", *names], copied))
    store.close()


def is_numbered(column: "sa.Column[object]") -> bool:
    return column.primary_key and isinstance(column.type, sa.Integer) and len(column.table.primary_key) == 1


def work(installation: Installation, name: str, began: float) -> Task:
    """Run one connection by its steps; `began` is what the process had spent before."""
    times = [began]

    def watch(_step: Message) -> None:
        times.append(time.process_time())

    cluster = ClusterRules(installation) if installation.settings.engine.cluster else None
    connection = installation.settings.connection(name)
    outcome = run(installation, connection, as_of=trade.AS_OF, rules_of=cluster.of if cluster else None, watch=watch)
    times.append(time.process_time())
    assert outcome.is_new
    assert cluster is None or not cluster.lines, cluster.lines
    spans = [after - before for before, after in itertools.pairwise(times)]
    return Task(outcome.run_id, dict(zip(("start", *STAGES), spans, strict=True)), peak())


def peak() -> int:
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024


def child(arguments: Sequence[str]) -> list[Task]:
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [Task(**one) for one in json.loads(done.stdout.splitlines()[-1])]


def measure(engine: str, folder: Path, names: Sequence[str]) -> Round:
    kind, _, number = engine.partition(":")
    own = ["--folder", str(folder), "--connections", str(len(names))]
    with contextlib.ExitStack() as until_the_end:
        if kind == "dask":
            own += ["--cluster", until_the_end.enter_context(cluster_of(int(number), folder))]
        began = time.perf_counter()
        if kind == "local":
            tasks = child([*own, "--work", ",".join(names)])
        else:
            with ThreadPoolExecutor(int(number) if kind == "processes" else WAITING) as pool:
                tasks = [task for one in pool.map(lambda name: child([*own, "--work", name]), names) for task in one]
        seconds = time.perf_counter() - began
    return Round(seconds, tasks, digest_of(folder))


def digest_of(folder: Path) -> str:
    """Digest what was published, each run by its id; not when, nor in which order."""
    store, digest = Store(f"sqlite:///{folder}/cuadre.db"), hashlib.sha256()
    with store.connection() as database:
        for what, order in (
            ("connection, run_id, kind, number, content FROM result_chunk", "1, 2, 3, 4"),
            ("connection, run_id, payout_id, columns FROM payout_result", "1, 2, 3"),
            ("connection, run_id, exception_id, code, amount_at_risk FROM run_finding", "1, 2, 3"),
        ):
            for row in database.execute(sa.text(f"SELECT {what} ORDER BY {order}")):
                digest.update(repr(tuple(row)).encode())
    store.close()
    return digest.hexdigest()


@contextlib.contextmanager
def cluster_of(workers: int, folder: Path) -> Iterator[str]:
    """A scheduler and workers, each in a folder of its own, until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    commands = [["scheduler", "--host", "127.0.0.1", "--port", str(port)]]
    one = ["worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1"]
    commands += [one] * workers
    processes = []
    for number, (what, *options) in enumerate(commands):
        place = folder / f"machine {number}"
        place.mkdir()
        command = [sys.executable, "-P", "-m", f"distributed.cli.dask_{what}", *options, "--no-dashboard"]
        with (place / "log").open("wb") as log:
            processes.append(subprocess.Popen(command, cwd=place, env=os.environ | _OPTIONS, stdout=log, stderr=log))
    try:
        wait_for_workers(f"127.0.0.1:{port}", workers)
        yield f"127.0.0.1:{port}"
    finally:
        for process in processes:
            process.kill()
            process.wait()


def wait_for_workers(address: str, workers: int) -> None:
    from distributed import Client  # noqa: PLC0415 - for these engines alone

    with Client(f"tcp://{address}", set_as_default=False, timeout=60) as client:
        client.wait_for_workers(workers, timeout=60)


def simulate(tasks: Sequence[Task], workers: int, *, has_one_writer: bool) -> float:
    """Return the seconds that many workers would take; with one writer what is published waits for its turn."""
    free, ready, left, end = [0.0] * workers, list[tuple[float, float]](), list(tasks), 0.0
    written = 0.0
    while left or ready:
        # The next to happen: a worker begins a task, or a task that is ready is published.
        if left and (not ready or (free and free[0] <= ready[0][0])):
            task = left.pop()
            at = heapq.heappop(free)
            heapq.heappush(ready, (at + task.seconds - task.stages["publish"], task.stages["publish"]))
            continue
        at, writing = heapq.heappop(ready)
        done = (max(at, written) if has_one_writer else at) + writing
        written = done
        heapq.heappush(free, done)
        end = max(end, done)
    return end


def show(engine: str, rounds: Sequence[Round], count: int, payments: int, first: str) -> None:
    kind, _, number = engine.partition(":")
    peaks = [max(task.peak for task in one.tasks) for one in rounds]
    at_once = {"local": 1, "processes": int(number or 1), "dask": WAITING}[kind]
    walls = [one.seconds for one in rounds]
    spread = f"{median(walls):.1f} ({min(walls):.1f}–{max(walls):.1f})"
    middles = (
        f"{name} {median(task.stages[name] for one in rounds for task in one.tasks):.2f}" for name in ("start", *STAGES)
    )
    identical = "yes" if {one.digest for one in rounds} == {first} else "NO"
    rows = f"{count} × {payments:,}"
    cells = (engine, rows, spread, f"{at_once} × {median(peaks):.0f} MB", identical, ", ".join(middles))
    print(f"| {' | '.join(cells)} |")


def show_simulation(tasks: Sequence[Task]) -> None:
    serial = sum(task.stages["publish"] for task in tasks) / sum(task.seconds for task in tasks)
    times = sorted(task.seconds for task in tasks)
    spread = f"{median(times):.2f} ({times[0]:.2f}–{times[-1]:.2f})"
    print(f"\nA night of {OF_SIMULATION}: {spread} processor s, of which {serial:.0%} publish\n")
    print(
        "| workers | s, one writer at a time | speed-up | s, writers side by side | speed-up |\n|---|---|---|---|---|"
    )
    nights = list(itertools.islice(itertools.cycle(tasks), NIGHTS))
    for workers in SIMULATED:
        both = [simulate(nights, workers, has_one_writer=is_one) for is_one in (True, False)]
        alone = [simulate(nights, 1, has_one_writer=is_one) for is_one in (True, False)]
        cells = (f"{wall:.1f} | {one / wall:.1f}" for wall, one in zip(both, alone, strict=True))
        print(f"| {workers} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--payments", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default=ENGINES)
    parser.add_argument("--work")
    parser.add_argument("--cluster")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.work:
        work_here(asked.folder, asked.connections, asked.work.split(","), asked.cluster)
        return
    found: dict[str, list[Round]] = {engine: [] for engine in asked.engines.split(",")}
    with TemporaryDirectory() as name:
        source = Path(name) / "source"
        source.mkdir()
        fill(source, asked.connections, asked.payments)
        for number in range(asked.rounds):
            for engine, rounds in found.items():
                folder = Path(name) / "again"
                shutil.copytree(source, folder)
                names = names_of(asked.connections)
                Random(f"{engine} {number}").shuffle(names)  # noqa: S311 - another order each time
                rounds.append(measure(engine, folder, names))
                shutil.rmtree(folder)
    first = next(iter(found.values()))[0].digest
    print("| engine | rows | seconds | memory | identical | processor s of a night, median |")
    print("|---|---|---|---|---|---|")
    for engine, rounds in found.items():
        show(engine, rounds, asked.connections, asked.payments, first)
    if OF_SIMULATION in found:
        show_simulation([task for one in found[OF_SIMULATION] for task in one.tasks])
    else:
        print(f"\nNothing is simulated: {OF_SIMULATION} is not among the engines.")


def work_here(folder: Path, count: int, names: Sequence[str], cluster: str | None) -> None:
    save_memory()
    began = 0.0
    installation = open_at(folder, count)
    if cluster:
        settings = installation.settings.model_copy(update={"engine": Engine(cluster=cluster)})
        installation = Installation(settings, installation.store)
    tasks = []
    for name in names:
        tasks.append(work(installation, name, began))
        began = time.process_time()
    print(json.dumps([{"run_id": one.run_id, "stages": one.stages, "peak": one.peak} for one in tasks]))


if __name__ == "__main__":
    main()
