"""What one walk over one list has met: its ids, the totals announced, and how far back in time it is."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime

from consumer.facts.clock import to_instant
from consumer.facts.tables.sync import Window
from consumer.provider.paging import Page
from consumer.provider.rows.reading import identity


@dataclass(slots=True)
class Tally:
    """A resumed walk starts from what the ledger counted before it."""

    ids: set[str] = field(default_factory=set)
    before: int = 0
    first_total: int | None = None
    total: int | None = None
    oldest: datetime | None = None
    is_descending: bool = True

    @property
    def count(self) -> int:
        return self.before + len(self.ids)

    @property
    def agrees(self) -> bool:
        """Say whether nothing can have slipped through: rows that came during the walk push others back and hide none.

        A total that fell means rows were taken out and others moved to pages already read.
        """
        if self.total is None or self.first_total is None:
            return True
        return self.first_total <= self.count <= self.total

    def notice(self, page: Page) -> None:
        self.total = page.total
        self.first_total = page.total if self.first_total is None else self.first_total
        for raw in page.items:
            id_, created_at = identity(raw)
            # What bears no id was sent all the same; its bytes stand for it.
            self.ids.add(id_ or hashlib.sha256(raw).hexdigest())
            at = _moment(created_at)
            if at is None or (self.oldest is not None and at > self.oldest):
                self.is_descending = False
            self.oldest = at

    def is_older_than(self, moment: datetime) -> bool:
        """Say whether a list that runs newest first has passed a moment."""
        return self.is_descending and self.oldest is not None and self.oldest < moment


def resume(window: Window) -> Tally:
    """Go on from a window's cursor, or begin anew where it has none."""
    if not window.cursor:
        return Tally()
    return Tally(before=window.added_in_pass, first_total=window.announced)


def _moment(text: str | None) -> datetime | None:
    """Read a time; one without zone or that is none says nothing about the list's order."""
    try:
        return None if text is None else to_instant(text)
    except (ValueError, OverflowError):
        return None
