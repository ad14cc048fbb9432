"""How right a reconciliation is, on trade whose truth is known; writes docs/accuracy.md.

python tests/benchmarks/accuracy/bench_accuracy.py [--seeds 20] [--held-out 1001-1005] [--processes 2] [--no-peers]
[--only TEXT] [--resume] [--out PATH] [--kept PATH]
"""

import argparse
import pickle
import subprocess
import sys
import time
import venv
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.benchmarks.accuracy import account, learned_payers, tax
from tests.benchmarks.accuracy.baselines import Graded
from tests.benchmarks.accuracy.measuring import Found, Task, measure_peers, run_task

ROOT = Path(__file__).resolve().parents[3]
# Scenario, whether its rates are the base or the stress ones, and the days after the clock's start it is judged on.
TRADES = (
    ("busy-month", "base", (13, 34)),
    ("month-end", "base", (13, 34)),
    ("mexico", "base", (13, 34)),
    ("chaos", "stress", (34,)),
    ("stress", "stress", (34,)),
)
OVER_HTTP = (("busy-month", 1), ("mexico", 2), ("busy-month", 1001))
NOISY_TRADE, NOISY_SEEDS, FRESH_SEEDS = "month-end", (1, 2, 3), (11, 12, 13, 1002, 1003, 1004)
PEER_TRADE, PEER_SEEDS = "month-end", (1, 2)
KEPT = ROOT / "build" / "accuracy.pickle"
PACKAGES = ("reconcile-mcp==0.0.7", "splink==5.0.0", "pandas>=2")


@dataclass
class Measured:
    """Everything the account is written from; what was measured before a break is kept."""

    found: dict[Task, Found] = field(default_factory=dict)
    peers: dict[str, list[Graded]] = field(default_factory=dict)
    no_peers: str = ""
    seconds: float = 0


def tasks_of(seeds: list[int], held_out: list[int]) -> list[Task]:
    """List what is to be measured, the longest first so that both processes end together."""
    tasks = [Task("over HTTP", "base", name, seed, is_over_http=True) for name, seed in OVER_HTTP]
    for kind, some in (("dev", seeds), ("held out", held_out)):
        for name, rates, days in sorted(TRADES, key=lambda trade: trade[0] != NOISY_TRADE):
            for seed in some:
                noises = ""
                if name == NOISY_TRADE:
                    noises = (
                        "looked at"
                        if seed in NOISY_SEEDS
                        else "fresh"
                        if seed in FRESH_SEEDS or kind == "held out"
                        else ""
                    )
                tasks.append(Task(kind, rates, name, seed, days, noises))
    return sorted(tasks, key=lambda task: not task.noises)


def measure(measured: Measured, tasks: list[Task], *, processes: int, kept: Path) -> None:
    left = [task for task in tasks if task not in measured.found]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(run_task, task) for task in left]):
            found = done.result()
            measured.found[found.task] = found
            kept.parent.mkdir(exist_ok=True)
            kept.write_bytes(pickle.dumps(measured))
            wrong = len(found.score.misses) + sum(len(judged.misses) for judged in found.noise.values())
            sys.stderr.write(f"{found.task.kind} {found.task.name} seed {found.task.seed}: {wrong} wrong\n")


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


def _read_kept(path: Path) -> Measured:
    kept: Measured = pickle.loads(path.read_bytes())  # noqa: S301 - our own file
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--held-out", default="1001-1005")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--only", default="", help="measure only scenarios whose name holds this")
    parser.add_argument("--resume", action="store_true", help="go on with the last measurement that was broken off")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "accuracy.md")
    parser.add_argument("--kept", type=Path, default=KEPT, help="what was measured, for --resume")
    parser.add_argument("--merchants", type=int, default=learned_payers.SEEDS, help="seeds of payers' rules")
    asked = parser.parse_args()
    first, last = map(int, asked.held_out.split("-"))
    measured = _read_kept(asked.kept) if asked.resume and asked.kept.exists() else Measured()
    tasks = tasks_of(list(range(1, asked.seeds + 1)), list(range(first, last + 1)))
    started = time.perf_counter()
    some = [task for task in tasks if asked.only in task.name]
    measure(measured, some, processes=asked.processes, kept=asked.kept)
    if not asked.no_peers:
        python, measured.no_peers = peers_python()
        measured.peers = measure_peers(PEER_TRADE, PEER_SEEDS, python)
    measured.seconds += time.perf_counter() - started
    asked.kept.write_bytes(pickle.dumps(measured))
    of_payers = learned_payers.measure(asked.merchants)
    of_tax = tax.write([tax.judge_tax(name, seed) for name in tax.NAMES for seed in tax.SEEDS])
    asked.out.write_text(account.write(measured, asked.held_out, of_payers) + of_tax, encoding="utf-8")
    sys.stdout.write(f"{asked.out}: {measured.seconds:.0f} s\n")


if __name__ == "__main__":
    main()
