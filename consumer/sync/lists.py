"""The lists of a stream: which of them a provider offers, and the count of one walk over a list.

A list that never answered is not missing; one that stopped answering is.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import col, select

from consumer.facts.clock import to_instant, utc_now
from consumer.facts.store import Store
from consumer.facts.tables.sync import Checkpoint, Window, WindowState
from consumer.provider.errors import MissingError, ProviderError, RefusedError
from consumer.provider.fields import identity
from consumer.provider.paging import Page, is_numbered
from consumer.sync.streams import Part

_NOT_OFFERED = {403, 404, 410}
_NO_PRODUCT = "product_access_required"


class NotOfferedError(Exception):
    """The organisation has no access to the product behind a stream, or the provider no such list, and never had."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(str(error))
        is_absent = isinstance(error, MissingError)
        self.why = "the provider has no such list" if is_absent else "the organisation has no access to this product"


class Offer:
    """The optional lists of one stream; the ledger remembers with each closed window which of them answered."""

    def __init__(self, store: Store, connection: str, stream: str, parts: Sequence[Part]) -> None:
        optional = [part.name for part in parts if part.is_optional]
        self._has_optional = bool(optional)
        self._known = _lists_that_answered(store, connection, stream, optional) if optional else set()
        self._answered: list[str] = []
        self._refusals: list[RefusedError] = []

    def note(self, part: Part) -> None:
        self._answered.append(part.name)

    def note_refusal(self, part: Part, refusal: RefusedError) -> None:
        """Note that the provider does not have this list, or raise the refusal if it once answered."""
        if not part.is_optional or refusal.status not in _NOT_OFFERED or part.name in self._known:
            raise refusal
        self._refusals.append(refusal)

    def check(self) -> None:
        """Raise the first refusal where no list answered at all."""
        if self._refusals and not self._answered:
            raise self._refusals[0]

    @property
    def mark(self) -> str | None:
        """Return what a closed window remembers of a stream with optional lists."""
        return " ".join(sorted({*self._answered, *self._known})) if self._has_optional else None


def _lists_that_answered(store: Store, connection: str, stream: str, optional: Sequence[str]) -> set[str]:
    mine = (col(Window.connection) == connection) & (col(Window.stream) == stream)
    closed = sa.select(col(Window.part)).where(mine, col(Window.state) == WindowState.CLOSED).distinct()
    with store.reading() as session:
        marks = list(session.execute(closed).scalars())
    # Before windows remembered it, the first list had to answer.
    return {name for mark in marks for name in ([optional[0]] if mark is None else mark.split())}


def is_unoffered(store: Store, connection: str, stream: str, error: ProviderError) -> bool:
    """Return True if the provider never offered this stream (skip it), False if it stopped answering (a gap).

    A list that is not there counts only where the provider itself says so and has answered for other streams: an
    address with a slip in it has no lists either.
    """
    is_absent = _is_absent(error)
    if error.code != _NO_PRODUCT and not is_absent:
        return False
    with store.reading() as session:
        known = session.get(Checkpoint, (connection, stream))
        others = col(Checkpoint.connection) == connection, col(Checkpoint.complete_until).is_not(None)
        is_known_there = session.exec(select(Checkpoint.stream).where(*others).limit(1)).first() is not None
        return (known is None or not known.offered) and (is_known_there or not is_absent)


def was_unoffered(store: Store, connection: str, stream: str, error: ProviderError) -> bool:
    """Return True if a refusal only repeats what the last pull found, so that there is no list to compare."""
    if error.code != _NO_PRODUCT and not _is_absent(error):
        return False
    with store.reading() as session:
        known = session.get(Checkpoint, (connection, stream))
        return not known.offered if known is not None else error.code == _NO_PRODUCT


def _is_absent(error: ProviderError) -> bool:
    return isinstance(error, MissingError) and error.code is not None


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
