"""What one walk over a list counted, and whether it can have missed a row."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime

from consumer.facts.clock import to_instant, utc_now
from consumer.facts.tables.sync import Window
from consumer.provider.fields import identity
from consumer.provider.paging import (
    Page,
    is_numbered,
)


@dataclass(slots=True)
class Tally:
    """A resumed walk starts from what the ledger counted before it."""

    ids: dict[str, datetime | None] = field(default_factory=dict)
    before: int = 0
    first_total: int | None = None
    total: int | None = None
    oldest: datetime | None = None
    is_descending: bool = True
    is_numbered: bool = False
    began_at: datetime | None = None

    @property
    def count(self) -> int:
        return self.before + len(self.ids)

    @property
    def agrees(self) -> bool:
        """Return True if no row can have been missed: rows that came during the walk push others back and hide none.

        A total that fell means rows were taken out and others moved to pages already read.
        """
        if self.total is None or self.first_total is None:
            return True
        return self.first_total <= self.count <= self.total

    def notice(self, page: Page) -> None:
        self.total = page.total
        self.first_total = page.total if self.first_total is None else self.first_total
        self.began_at = self.began_at or page.at or utc_now()
        self.is_numbered |= page.next is not None and is_numbered(page.next)
        for raw in page.items:
            id_, created_at = identity(raw)
            at = _moment(created_at)
            # What bears no id was sent all the same; its bytes stand for it.
            self.ids[id_ or hashlib.sha256(raw).hexdigest()] = at
            if at is None or (self.oldest is not None and at > self.oldest):
                self.is_descending = False
            self.oldest = at

    def is_proved(self, earlier: "Tally | None") -> bool:
        """Return True if numbered pages without a total left out no row: a repeated walk finds no old row it lacked."""
        if self.total is not None or not self.is_numbered:
            return True
        if earlier is None or earlier.began_at is None:
            return False
        unseen = [at for id_, at in self.ids.items() if id_ not in earlier.ids]
        return all(at is not None and at >= earlier.began_at for at in unseen)

    def is_older_than(self, moment: datetime) -> bool:
        """Return True if a list that runs newest first has passed a moment."""
        return self.is_descending and self.oldest is not None and self.oldest < moment


def resume(window: Window) -> Tally:
    """Continue from a window's cursor, or begin anew where it has none."""
    if not window.cursor:
        return Tally()
    return Tally(before=window.added_in_pass, first_total=window.announced)


def _moment(text: str | None) -> datetime | None:
    """Read a time; one without zone or that is none does not count for the list's order."""
    try:
        return None if text is None else to_instant(text)
    except (ValueError, OverflowError):
        return None
