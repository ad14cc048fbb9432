"""How a piece of work ended, why it could not be done, and the errands that pages offer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum, auto

from consumer.facts.alarms import AlarmDesk
from consumer.facts.disputes import DisputeDesk
from consumer.facts.installation import Connection
from consumer.facts.messages import RefusalError

# The job whose tick marks a database as a demo's.
DEMO = "demo"


class Completion(Enum):
    """How far a piece of work came."""

    DONE = auto()
    PARTLY_DONE = auto()
    NOTHING_DONE = auto()
    MISUSED = auto()  # asked for in a way that cannot be


@dataclass(frozen=True, slots=True)
class Proof:
    """One thing that a backup drill looked at."""

    name: str
    found: str
    is_good: bool


class WorkError(Exception):
    """Work that was not done; the message is one sentence for people that says why and what to do."""

    def __init__(self, message: str, completion: Completion = Completion.NOTHING_DONE) -> None:
        super().__init__(message)
        self.message = message
        self.completion = completion


def run_job(connection: str) -> str:
    """Return the name under which a run that a person asked for is seen among the jobs."""
    return f"reconcile:{connection}"


def closing_job(connection: str) -> str:
    """Return the name under which a closing that a person asked for is seen among the jobs."""
    return f"closing:{connection}"


class ErrandRefusedError(RefusalError):
    """An errand that was not started; the message says why in one sentence."""


@dataclass(frozen=True, slots=True)
class Errands:
    """`replay` returns a line an event; `pull` and `backfill` start in a thread of their own, seen among the jobs.

    Each takes the name of who asked. `reconcile` starts a run in a process of its own, and `cancel` ends it.
    """

    replay: Callable[[Sequence[tuple[str, str]], str], list[dict[str, object]]]
    pull: Callable[[Connection, str, str], None]
    backfill: Callable[[Connection, str], None]
    streams: tuple[str, ...]
    alarms: AlarmDesk | None = None
    disputes: DisputeDesk | None = None
    reconcile: Callable[[Connection, date, str], None] | None = None
    cancel: Callable[[Connection, str], bool] | None = None
    # Keeps what is to be closed once nothing else is, and has another process close it.
    close: Callable[[Connection, Callable[[], None], str], None] | None = None
    # Says of work whose process was killed that it is over.
    end_dead_work: Callable[[], None] = lambda: None
