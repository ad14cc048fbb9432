"""The demo's month: a day at a time, with webhooks dropped, doubled and out of order on their way to the merchant."""

from collections import Counter
from collections.abc import Iterator

from sandbox.steer import Steer

DAYS = 31
FAULTS = {"drop": 0.1, "duplicate": 0.05, "reorder": 0.1}
_DAY_SECONDS = 24 * 60 * 60


def play_month(steer: Steer, *, seed: int) -> Iterator[str]:
    """Let a month pass and yield the provider's moment after each day; deliveries are tried before a day ends."""
    for name, probability in FAULTS.items():
        steer.switch_on(name, probability, seed=seed)
    for _ in range(DAYS):
        yield steer.advance(_DAY_SECONDS)
    steer.switch_off()


def planted(steer: Steer) -> dict[str, int]:
    """Count, by code, the exceptions that a right reconciliation must find as of the provider's moment."""
    return dict(sorted(Counter(code for row in steer.truth() for code in row.exceptions).items()))
