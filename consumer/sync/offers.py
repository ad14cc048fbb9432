"""Which lists the provider offers this organisation, and which only stopped answering."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlmodel import col, select

from consumer.facts.store import Store
from consumer.facts.tables.sync import Checkpoint, Window, WindowState
from consumer.provider.errors import MissingError, ProviderError, RefusedError
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
