"""A range of local business dates, as reports are asked for, and the plain rows they are made of."""

from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

# A row of a report or a list; the types of its cells are those of its columns.
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """Local business dates, both included; None is no limit."""

    since: date | None = None
    until: date | None = None

    def overlaps(self, first: date, last: date) -> bool:
        """Return True if any day of a stretch lies inside."""
        return (self.since is None or last >= self.since) and (self.until is None or first <= self.until)

    def holds(self, on: date | None) -> bool:
        if on is None:
            return self.since is None and self.until is None
        return (self.since is None or on >= self.since) and (self.until is None or on <= self.until)


WHOLE = Span()
