"""What one process measures on its own: a scenario and seed, on the days asked for, damaged too, or over HTTP."""

import sys
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from consumer.facts.clock import local_date
from reconcile.kept.snapshots import Scope
from reconcile.rules.pipeline import reconcile
from reconcile.runs.run import judge
from tests.benchmarks.accuracy.baselines import JOINS, Graded, invoices_of, payments_of, run_join, run_peer
from tests.benchmarks.accuracy.damages import TABLES
from tests.benchmarks.accuracy.merchant import START, Merchant, merchant_of
from tests.benchmarks.accuracy.noise import Judged, spoiled, trade_of
from tests.benchmarks.accuracy.noise import judge as judge_pairs
from tests.benchmarks.accuracy.peer_matchers import PEERS
from tests.benchmarks.accuracy.scoring import Score, score
from tests.benchmarks.accuracy.through_http import read_over_http
from tests.observing import take_snapshot

LAST_DAY = 34


@dataclass(frozen=True)
class Task:
    """One scenario and seed; `kind` is who looked at the seed, `noises` the table of damages to do besides."""

    kind: str
    rates: str
    name: str
    seed: int
    days: tuple[int, ...] = (LAST_DAY,)
    noises: str = ""
    is_over_http: bool = False


@dataclass
class Found:
    """What a task gives back."""

    task: Task
    score: Score = field(default_factory=Score)
    noise: dict[tuple[str, str], Judged] = field(default_factory=dict)
    seconds: float = 0


def run_task(task: Task) -> Found:
    started, found = time.perf_counter(), Found(task)
    if task.is_over_http:
        with read_over_http(task.name, task.seed, days=task.days[-1]) as (snapshot, truth):
            found.score.add(score(judge(snapshot), snapshot.inputs, truth, f"{task.name} seed {task.seed} over HTTP"))
    else:
        with merchant_of(task.name, task.seed) as merchant:
            for day in task.days:
                found.score.add(judge_at(merchant, day, f"{task.name} seed {task.seed}")[0])
            if task.noises:
                found.noise = _noises(merchant, task)
    found.seconds = time.perf_counter() - started
    return found


def judge_at(merchant: Merchant, days: int, label: str) -> tuple[Score, float]:
    at = START + timedelta(days=days)
    merchant.live_until(at)
    on = local_date(at, merchant.connection.country.zone)
    with merchant.installation.store.reading() as session:
        snapshot = take_snapshot(session, merchant.installation, merchant.connection, as_of=on, scope=Scope())
    started = time.perf_counter()
    result = judge(snapshot)
    seconds = time.perf_counter() - started
    return score(result, snapshot.inputs, merchant.scenario.truth(at), f"{label} day {days}"), seconds


def _noises(merchant: Merchant, task: Task) -> dict[tuple[str, str], Judged]:
    at = START + timedelta(days=task.days[-1])
    inputs, truth = merchant.inputs(at), list(merchant.scenario.truth(at))
    found = {}
    for name, noise in TABLES.items():
        trade = trade_of(inputs, truth, task.seed)
        noise(trade)
        label = f"{name}, {task.name} seed {task.seed}"
        found[name, task.noises] = judge_pairs(reconcile(spoiled(inputs, trade)), trade, label)
    return found


def measure_peers(name: str, seeds: tuple[int, ...], python: Path | None) -> dict[str, list[Graded]]:
    """Give every matcher the same two files, one after the other in each round."""
    peers: dict[str, list[Graded]] = {}
    at = START + timedelta(days=LAST_DAY)
    for seed in seeds:
        with merchant_of(name, seed) as merchant, TemporaryDirectory() as place:
            folder = Path(place)
            merchant.live_until(at)
            inputs, truth = merchant.inputs(at), list(merchant.scenario.truth(at))
            payments_of(inputs).to_csv(folder / "payments.csv", index=False)
            invoices_of(inputs).to_csv(folder / "invoices.csv", index=False)
            found, seconds = judge_at(merchant, LAST_DAY, "peers")
            ours = Graded(found.automatic_pairs, found.right_pairs, found.true_pairs, found.utility, seconds)
            peers.setdefault("Cuadre", []).append(ours)
            for title, join in JOINS.items():
                peers.setdefault(title, []).append(run_join(join, folder, truth))
            for title in PEERS if python else ():
                assert python is not None
                peers.setdefault(title, []).append(run_peer(python, title, folder, truth, patience=40))
                sys.stderr.write(f"{title} seed {seed}\n")
    return peers
