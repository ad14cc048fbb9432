"""How right a reconciliation is, on trade whose truth is known; writes docs/accuracy.md.

python tests/benchmarks/accuracy/bench_accuracy.py [--seeds 20] [--held-out 1001-1005] [--no-peers]
[--resume] [--out PATH]
"""

import argparse
import pickle
import subprocess
import sys
import time
import venv
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from consumer.facts.clock import local_date
from reconcile.rules.pipeline import reconcile
from reconcile.runs import judge, take_snapshot
from reconcile.snapshots import Scope
from tests.benchmarks.accuracy import account, noise
from tests.benchmarks.accuracy.baselines import JOINS, Graded, invoices_of, payments_of, run_join, run_peer
from tests.benchmarks.accuracy.merchant import START, Merchant, merchant_of
from tests.benchmarks.accuracy.peer_matchers import PEERS
from tests.benchmarks.accuracy.scoring import Score, score

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[3]
# Scenario, whether its rates are the base or the stress ones, and the days after the clock's start it is judged on.
TRADES = (
    ("busy-month", "base", (13, 34)),
    ("month-end", "base", (13, 34)),
    ("mexico", "base", (13, 34)),
    ("chaos", "stress", (34,)),
    ("stress", "stress", (34,)),
)
PEER_TRADE, PEER_SEEDS = "month-end", (1, 2)
KEPT = ROOT / "build" / "accuracy.pickle"
PACKAGES = ("reconcile-mcp==0.0.7", "splink==5.0.0")


@dataclass
class Measured:
    """Everything the account is written from."""

    by_seed: dict[tuple[str, int, str], Score] = field(default_factory=dict)
    by_trade: dict[str, Score] = field(default_factory=dict)
    peers: dict[str, list[Graded]] = field(default_factory=dict)
    noise: dict[str, Score] = field(default_factory=dict)
    no_peers: str = ""
    seconds: float = 0
    done: list[str] = field(default_factory=list)


def judge_at(merchant: Merchant, days: int, label: str) -> tuple[Score, float]:
    at = START + timedelta(days=days)
    merchant.live_until(at)
    on = local_date(at, merchant.connection.country.zone)
    with merchant.house.store.reading() as session:
        snapshot = take_snapshot(session, merchant.house, merchant.connection, as_of=on, scope=Scope())
    started = time.perf_counter()
    result = judge(snapshot)
    seconds = time.perf_counter() - started
    return score(result, snapshot.inputs, merchant.scenario.truth(at), f"{label} day {days}"), seconds


def measure_trade(measured: Measured, trade: tuple[str, str, tuple[int, ...]], seeds: list[int], kind: str) -> None:
    name, rates, days = trade
    for seed in seeds:
        with merchant_of(name, seed) as merchant:
            for day in days:
                found, _ = judge_at(merchant, day, f"{name} seed {seed}")
                measured.by_seed.setdefault((kind, seed, rates), Score()).add(found)
                measured.by_trade.setdefault(f"{kind} {rates} {name}", Score()).add(found)
        sys.stderr.write(f"{kind} {name} seed {seed}\n")


def measure_noise(measured: Measured, seeds: list[int]) -> None:
    at = START + timedelta(days=34)
    for seed in seeds:
        with merchant_of("month-end", seed) as merchant:
            merchant.live_until(at)
            inputs, truth = merchant.inputs(at), list(merchant.scenario.truth(at))
            for name, damage in noise.DAMAGES.items():
                spoiled = noise.damaged(inputs, damage, seed)
                found = score(reconcile(spoiled), spoiled, truth, f"{name} seed {seed}")
                measured.noise.setdefault(name, Score()).add(found)


def measure_peers(measured: Measured) -> None:
    python, measured.no_peers = peers_python()
    at = START + timedelta(days=34)
    for seed in PEER_SEEDS:
        with merchant_of(PEER_TRADE, seed) as merchant, TemporaryDirectory() as name:
            folder = Path(name)
            merchant.live_until(at)
            inputs, truth = merchant.inputs(at), list(merchant.scenario.truth(at))
            payments_of(inputs).to_csv(folder / "payments.csv", index=False)
            invoices_of(inputs).to_csv(folder / "invoices.csv", index=False)
            found, seconds = judge_at(merchant, 34, "peers")
            ours = Graded(found.automatic_pairs, found.right_pairs, found.true_pairs, found.utility, seconds)
            measured.peers.setdefault("Cuadre", []).append(ours)
            for title, join in JOINS.items():
                measured.peers.setdefault(title, []).append(run_join(join, folder, truth))
            for title in PEERS if python else ():
                assert python is not None
                measured.peers.setdefault(title, []).append(run_peer(python, title, folder, truth))
                sys.stderr.write(f"{title} seed {seed}\n")


def peers_python() -> tuple[Path | None, str]:
    """An environment with the peers, made where there is none; why not, where it cannot be made."""
    folder = ROOT / "build" / "peers"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", *PACKAGES], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1]
    return python, ""


def _kept() -> Measured:
    kept: Measured = pickle.loads(KEPT.read_bytes())  # noqa: S301 - our own file
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--held-out", default="1001-1005")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--resume", action="store_true", help="go on with the last measurement that was broken off")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "accuracy.md")
    asked = parser.parse_args()
    first, last = map(int, asked.held_out.split("-"))
    seeds = list(range(1, asked.seeds + 1))
    measured = _kept() if asked.resume and KEPT.exists() else Measured()
    phases: dict[str, Callable[[Measured], None]] = {
        f"{kind} {trade[0]}": partial(measure_trade, trade=trade, seeds=some, kind=kind)
        for kind, some in (("dev", seeds), ("held out", list(range(first, last + 1))))
        for trade in TRADES
    }
    phases |= {"noise": partial(measure_noise, seeds=seeds[:5]), "peers": measure_peers}
    for name, measure in phases.items():
        if name in measured.done or (name == "peers" and asked.no_peers):
            continue
        started = time.perf_counter()
        measure(measured)
        measured.seconds += time.perf_counter() - started
        measured.done.append(name)
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_bytes(pickle.dumps(measured))
        asked.out.write_text(account.write(measured, asked.held_out), encoding="utf-8")
    sys.stdout.write(f"{asked.out}: {measured.seconds:.0f} s\n")


if __name__ == "__main__":
    main()
