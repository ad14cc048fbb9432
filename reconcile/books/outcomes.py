"""How importing files ends: some refused is partly done, all refused is nothing done."""

from collections.abc import Sequence
from typing import Protocol

from consumer.facts.terminal import Exit

REJECT_KEYS = ("line", "column", "value", "reason")


class FileOutcome(Protocol):
    """What every import says of one file."""

    @property
    def accepted(self) -> bool: ...


def status_of(outcomes: Sequence[FileOutcome]) -> Exit:
    """Some refused: partly done; all refused: nothing done."""
    refused = sum(not outcome.accepted for outcome in outcomes)
    if not refused:
        return Exit.DONE
    return Exit.NOTHING_DONE if refused == len(outcomes) else Exit.PARTLY_DONE
