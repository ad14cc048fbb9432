"""Time and memory of telling a large scenario: bench_sandbox_scale.py [payments] [--scenario NAME].

Four walks, each in a process of its own so that each has its own peak: all happenings as the provider tells them, the
merchant's books, the truth at the end, and a sandbox that serves it, with what some lists and gets take.
"""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from sandbox.scenarios import provide
from sandbox.serve import create_sandbox
from sandbox.state.happening import Happening, Scenario

START = datetime(2026, 10, 1, 3, tzinfo=UTC)
END = START + timedelta(days=34)
PER_SCALE = 699  # payments that succeed in a busy month of scale 1, rounded down so that a million is a million


def walk_happenings(scenario: Scenario) -> str:
    count = paid = 0
    for happening in scenario.happenings:
        count += 1
        paid += _is_payment(happening)
    return f"{count} happenings, {paid} of them payments that succeeded"


def _is_payment(happening: Happening) -> bool:
    return happening.event == "payment_intent.succeeded"


def walk_documents(scenario: Scenario) -> str:
    return f"{_count(scenario.documents)} documents"


def walk_truth(scenario: Scenario) -> str:
    return f"{_count(scenario.truth(END))} rows"


def walk_served(scenario: Scenario) -> str:
    started = time.perf_counter()
    client = create_sandbox(scenario).test_client()
    shown = [f"history laid in {time.perf_counter() - started:.1f} s"]

    def ask(address: str) -> list[dict[str, Any]]:
        before = time.perf_counter()
        answer = client.get(address, headers={"Authorization": "sk_test_sandbox"})
        found: list[dict[str, Any]] = answer.get_json()
        shown.append(
            f"  {1000 * (time.perf_counter() - before):8.1f} ms  {address.partition('?')[0]}, {len(found)} rows"
        )
        return found

    first, *_ = [ask(f"/v1/payment_intents?per_page=300&page={page}") for page in (1, 2, 100)]
    ask(f"/v1/payment_intents/{first[0]['id']}")
    ask("/v1/payment_intents?since=2026-09-20&until=2026-09-21&per_page=300")
    events = ask("/v2/events?limit=300")
    ask(f"/v2/events?limit=300&starting_after={events[-1]['id']}")
    ask("/v2/events?type=refund.failed&limit=300")
    payout = ask("/v1/payouts")[3]["id"]
    ask(f"/v1/payouts/{payout}/resources?resource_type=payment_intent&per_page=300&page=3")
    return "\n".join(shown)


def _count(things: Iterable[object]) -> int:
    return sum(1 for _ in things)


WALKS: dict[str, Callable[[Scenario], str]] = {
    "happenings": walk_happenings,
    "documents": walk_documents,
    "truth": walk_truth,
    "served": walk_served,
}


def measure(walk: str, payments: int, name: str) -> None:
    started, worked = time.perf_counter(), time.process_time()
    scenario = provide(name, seed=1, scale=payments / PER_SCALE, start=START)
    found = WALKS[walk](scenario)
    seconds, cpu = time.perf_counter() - started, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    sys.stdout.write(f"{walk:<11} {found}: {seconds:.1f} s ({cpu:.1f} s of processor), peak {peak} MB\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("payments", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--scenario", default="busy-month")
    parser.add_argument("--walk", choices=WALKS, help="one walk, in this process")
    given = parser.parse_args()
    if given.walk:
        measure(given.walk, given.payments, given.scenario)
        return
    for walk in WALKS:
        arguments = [str(given.payments), "--scenario", given.scenario, "--walk", walk]
        subprocess.run([sys.executable, __file__, *arguments], check=True)


if __name__ == "__main__":
    main()
