"""What a person at a page may set going in rooms the pages cannot see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from consumer.facts.installation import Connection
from consumer.facts.messages import RefusalError


class ErrandRefusedError(RefusalError):
    """An errand that was not started; the message says why in one sentence."""


@dataclass(frozen=True, slots=True)
class Errands:
    """`replay` answers with a line an event; `pull` and `backfill` start beside the page and are seen among the jobs.

    Each takes the name of who asked.
    """

    replay: Callable[[Sequence[tuple[str, str]], str], list[dict[str, object]]]
    pull: Callable[[Connection, str, str], None]
    backfill: Callable[[Connection, str], None]
    streams: tuple[str, ...]
