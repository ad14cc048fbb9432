"""What one kind of provider object is: its table, the names it goes by, its state graph and its columns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from consumer.facts.tables.provider import ProviderObject
from consumer.provider.rows.fields import Data

Columns = Callable[[Data], dict[str, Any]]


class Observation(msgspec.Struct, frozen=True):
    """Where and when an object was seen: in an event (its id and created_at) or in a read (the answer's Date)."""

    connection: str
    mode: str
    seen_at: datetime
    event_id: str = ""
    account_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reached:
    """A column that says when an object first reached one of these states; `named` is the object's own field for it."""

    named: tuple[str, ...]
    states: frozenset[str]


@dataclass(frozen=True, slots=True)
class Kind:
    """`steps` orders the states: those of a later step can follow those of an earlier one, and win a tie in time.

    A state reached from `succeeded`, such as returned, stands behind it; states nobody documented rank before all.
    """

    table: type[ProviderObject]
    columns: Columns
    objects: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...] = ()
    reached: Mapping[str, Reached] = field(default_factory=dict)
    _ranks: dict[str | None, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._ranks.update((state, place) for place, states in enumerate(self.steps, start=1) for state in states)

    def rank(self, status: str | None) -> int:
        return self._ranks.get(status, 0)
