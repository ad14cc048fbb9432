"""A range of local business dates, as reports are asked for, and the plain rows they are made of."""

from dataclasses import dataclass
from datetime import date
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """Local business dates, both included; None is no limit."""

    since: date | None = None
    until: date | None = None

    def holds(self, on: date | None) -> bool:
        if on is None:
            return self.since is None and self.until is None
        return (self.since is None or on >= self.since) and (self.until is None or on <= self.until)
