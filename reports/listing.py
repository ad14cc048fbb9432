"""What a list is: its keys, its query and its page, and reading some of its rows."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import sqlalchemy as sa
from sqlmodel import Session, SQLModel, col

from consumer.facts.columns import Column
from consumer.facts.tables.types import core_of
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
    # Whether rows of no connection are asked for too.
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """One list: its columns, named as the commands name them, its query, and the states it can be filtered by.

    A row shows the attributes of what the query selects first; `others` returns the columns that are no attribute.
    """

    name: str
    columns: tuple[Column, ...]
    query: Callable[[Wanted], Statement]
    others: Callable[[Any], Row] = lambda _found: {}
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
    return Page([to_row(listing, row) for row in rows], wanted.number, total, wanted.size)


def to_row(listing: Listing, found: sa.Row[*tuple[Any, ...]]) -> Row:
    """Return what a query selected as a row; `others` takes the one object, or the row of several columns."""
    shown = {name: getattr(found[0], name) for name in listing.names if hasattr(found[0], name)}
    return shown | listing.others(found[0] if len(found) == 1 else found)


def select_from(table: type[SQLModel], wanted: Wanted, *columns: object, exact: Iterable[object] = ()) -> Statement:
    """Select the rows of the connections asked for in which a column holds what is searched, or an exact one is it."""
    mine = sa.select(table).where(core_of(table).c.connection.in_(wanted.connections))
    return search(mine, wanted, *columns, exact=exact)


def search(query: Statement, wanted: Wanted, *columns: object, exact: Iterable[object] = ()) -> Statement:
    """Keep the rows in which a column holds what is searched, or an exact one is it."""
    if not wanted.search:
        return query
    holds = (col(column).contains(wanted.search, autoescape=True) for column in columns)
    return query.where(sa.or_(*holds, *(col(column) == wanted.search for column in exact)))


def count(session: Session, listing: Listing, wanted: Wanted) -> int:
    query = listing.query(wanted).order_by(None).subquery()
    return session.scalar(sa.select(sa.func.count()).select_from(query)) or 0
