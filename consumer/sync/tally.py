"""What one walk over one list has met: its ids, the totals announced, and how far back in time it is."""

from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from consumer.facts.tables.sync import Window
from consumer.provider.errors import Unreadable
from consumer.provider.paging import Page


class Identity(msgspec.Struct):
    """The two fields of an item that a walk looks at."""

    id: str | None = None
    created_at: str | None = None


_DECODER = msgspec.json.Decoder(Identity)


@dataclass(slots=True)
class Tally:
    """A resumed walk starts from what the ledger counted before it."""

    ids: set[str] = field(default_factory=set)
    before: int = 0
    first_total: int | None = None
    total: int | None = None
    oldest: str | None = None
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
            item = read_identity(raw)
            if item.id is not None:
                self.ids.add(item.id)
            if item.created_at is None or (self.oldest is not None and item.created_at > self.oldest):
                self.is_descending = False
            self.oldest = item.created_at

    def is_older_than(self, moment: datetime) -> bool:
        """Say whether a list that runs newest first has passed a moment."""
        if not self.is_descending or not self.oldest:
            return False
        try:
            oldest = datetime.fromisoformat(self.oldest)
        except ValueError:
            return False
        return oldest.tzinfo is not None and oldest < moment


def resume(window: Window) -> Tally:
    """Go on from a window's cursor, or begin anew where it has none."""
    if not window.cursor:
        return Tally()
    return Tally(before=window.added_in_pass, first_total=window.announced)


def read_identity(raw: bytes) -> Identity:
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable("the list holds something that is not an object with an id") from error
