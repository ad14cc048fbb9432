"""What a list is: its keys, its query and its page, and reading some of its rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.columns import Column
from reports.shapes.spans import Row

Statement: TypeAlias = sa.Select[*tuple[Any, ...]]
# Where a list has its page; one that is elsewhere is part of another page.
OPERATION, BOOKS, ELSEWHERE = "operation", "books", "elsewhere"
PAGE_ROWS = 50

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Page(Generic[Found]):
    """One page of a list, with what is needed to go to the others."""

    rows: Sequence[Found]
    number: int
    total: int
    size: int = PAGE_ROWS

    @property
    def last(self) -> int:
        return max(1, -(-self.total // self.size))


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows of a list are asked for; `state` and `search` mean what the list says they mean."""

    connections: Sequence[str]
    state: str = ""
    search: str = ""
    number: int = 1
    size: int = PAGE_ROWS


@dataclass(frozen=True, slots=True)
class Listing:
    """One list: its columns, named as the commands name them, its query, and the states it can be filtered by."""

    name: str
    columns: tuple[Column, ...]
    query: Callable[[Wanted], Statement]
    to_row: Callable[[Any], Row]
    states: tuple[str, ...] = ()
    # The group of words in which its states are said.
    words: str = "op"
    for_admins: bool = False
    place: str = OPERATION

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def read(session: Session, listing: Listing, wanted: Wanted, *, skip: int | None = None) -> Page[Row]:
    """Read one page of a list; `skip` rows are left out where that is not a number of whole pages."""
    query = listing.query(wanted)
    skip = (wanted.number - 1) * wanted.size if skip is None else skip
    total = count(session, listing, wanted)
    rows = session.execute(query.limit(wanted.size).offset(skip))
    return Page([_to_row(listing, row) for row in rows], wanted.number, total, wanted.size)


def _to_row(listing: Listing, row: sa.Row[*tuple[Any, ...]]) -> Row:
    """Hand over the one object a query selects, or the row of several columns."""
    return listing.to_row(row[0] if len(row) == 1 else row)


def count(session: Session, listing: Listing, wanted: Wanted) -> int:
    query = listing.query(wanted).order_by(None).subquery()
    return session.scalar(sa.select(sa.func.count()).select_from(query)) or 0
