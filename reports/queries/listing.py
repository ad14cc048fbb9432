"""What a list is: its keys, its query and its page, and reading some of its rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import FunctionType
from typing import Any, Generic, TypeAlias, TypeVar

import sqlalchemy as sa
from sqlmodel import Session, SQLModel, col

from consumer.facts.columns import Column, Kind
from consumer.facts.money import digits_of
from consumer.facts.tables.types import core_of
from reports.queries.asking import TEXTS, Asked, AskedError, Condition, Range, Speak, fold, is_meant, scale, to_moments
from reports.shapes.spans import Row

Statement: TypeAlias = sa.Select[*tuple[Any, ...]]
# Where a list has its page; one that is elsewhere is part of another page.
OPERATION, BOOKS, ELSEWHERE = "operation", "books", "elsewhere"
PAGE_ROWS = 50
_FAR = 1_000
CURRENCY = Column("currency", Kind.TEXT)

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
    asked: Asked = field(default_factory=Asked)
    # How the reader says the words of a column, and the zone whose days are meant.
    speak: Speak = lambda _column: None
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Listing:
    """One list: its columns, named as the commands name them, its query, and the states it can be filtered by.

    A row shows the attributes of what the query selects first; `others` returns the columns that are no attribute, and
    `by` says what such a column is sorted and filtered by in the database, where amounts are minor units; `sorts` what
    one is sorted by alone.
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
    by: Mapping[str, Any] = field(default_factory=dict)
    sorts: Mapping[str, Any] = field(default_factory=dict)
    # Columns of minor units in the database, whose rows have a currency.
    amounts: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def read(
    session: Session, listing: Listing, wanted: Wanted, *, skip: int | None = None, total: int | None = None
) -> Page[Row]:
    """Read one page of a list; `skip` rows are left out where that is not a number of whole pages.

    `total` is how many there are, where that is known already.
    """
    query = ask(session, listing, wanted)
    skip = (wanted.number - 1) * wanted.size if skip is None else skip
    total = count(session, listing, wanted) if total is None else total
    rows = session.execute(_cut(session, query, skip, wanted.size))
    return Page([to_row(listing, row) for row in rows], wanted.number, total, wanted.size)


def _cut(session: Session, query: Statement, skip: int, size: int) -> Statement:
    """Return the query of some rows; far down PostgreSQL sorts keys alone: whole rows cost it four times as much."""
    keys, is_sqlite = _keys_of(query), session.get_bind().dialect.name == "sqlite"
    if is_sqlite or skip < _FAR or not keys or len(query.column_descriptions) != 1:
        return query.limit(size).offset(skip)
    found = session.execute(query.with_only_columns(*keys).limit(size).offset(skip)).all()
    return query.where(sa.tuple_(*keys).in_([tuple(row) for row in found]))


def _keys_of(query: Statement) -> list[sa.ColumnElement[Any]]:
    return [column for column in query.selected_columns if getattr(column, "primary_key", False)]


def ask(session: Session, listing: Listing, wanted: Wanted) -> Statement:
    """Return the query of a list with the filters and the order that are asked for; equal rows are in order of keys."""
    query = listing.query(wanted)
    for condition in wanted.asked.conditions:
        query = query.where(_to_clause(session, listing, query, condition, wanted))
    sort = wanted.asked.sort
    if sort is None:
        return query
    by = listing.sorts[sort.name] if sort.name in listing.sorts else expression_of(listing, query, sort)
    is_last = not (wanted.asked.is_descending and sort.kind is Kind.DATE)
    order = by.desc() if wanted.asked.is_descending else by.asc()
    ties = _keys_of(query) or list(query.selected_columns)
    return query.order_by(None).order_by(order.nulls_last() if is_last else order.nulls_first(), *ties)


def expression_of(listing: Listing, query: Statement, column: Column) -> sa.ColumnElement[Any]:
    """Return what a column is in the database; raise AskedError if it is made only as its row is shown."""
    found = listing.by.get(column.name)
    if found is None:
        found = query.selected_columns.get(column.name)
    elif isinstance(found, FunctionType):
        # It depends on the moment.
        found = found()
    if found is None:
        raise AskedError("list.only_shown", name=column.name)
    return sa.type_coerce(found, found.type)


def unsorted(listing: Listing) -> frozenset[str]:
    """Return the columns that are made only as their rows are shown."""
    query = listing.query(Wanted((), is_whole=True))
    names = {column.key for column in query.selected_columns} | set(listing.by) | set(listing.sorts)
    return frozenset(name for name in listing.names if name not in names)


def _to_clause(
    session: Session, listing: Listing, query: Statement, condition: Condition, wanted: Wanted
) -> sa.ColumnElement[bool]:
    column, by = condition.column, expression_of(listing, query, condition.column)
    found = [_to_range(session, listing, query, column, one, wanted.zone) for one in condition.ranges]
    say = wanted.speak(column.name)
    if condition.texts and say is not None:
        known = session.scalars(query.with_only_columns(by).order_by(None).distinct()).all()
        meant = [one for one in known if any(is_meant(str(one), say, text, condition) for text in condition.texts)]
        found.append(by.in_(meant))
    elif condition.texts:
        cell = sa.cast(by, sa.String) if column.kind is Kind.ID else fold_cell(by)
        texts = [text if column.kind is Kind.ID else fold(text) for text in condition.texts]
        found += [cell == one if condition.is_whole else cell.icontains(one, autoescape=True) for one in texts]
    if condition.is_empty:
        found.append(sa.or_(by.is_(None), by == "") if column.kind in TEXTS else by.is_(None))
    clause = sa.func.coalesce(sa.or_(*found), sa.false())
    return sa.not_(clause) if condition.is_negated else clause


def fold_cell(cell: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Take accents and capitals off a text in the database, which neither store does alike."""
    folded: sa.ColumnElement[Any] = sa.func.lower(cell)
    for marked, plain in zip("áéíóúüñÁÉÍÓÚÜÑ", "aeiouunaeiouun", strict=True):
        folded = sa.func.replace(folded, marked, plain)
    return folded


def _to_range(
    session: Session, listing: Listing, query: Statement, column: Column, asked: Range, zone: str
) -> sa.ColumnElement[bool]:
    by = expression_of(listing, query, column)
    if column.kind is Kind.INSTANT:
        return _within(by, to_moments(asked, zone))
    if column.name not in listing.amounts:
        return _within(by, asked)
    currency = expression_of(listing, query, CURRENCY)
    known = session.scalars(query.with_only_columns(currency).order_by(None).distinct()).all()
    own = (sa.and_(currency == one, _within(by, scale(asked, digits_of(one)))) for one in known if one)
    return sa.or_(sa.false(), *own)


def _within(by: sa.ColumnElement[Any], asked: Range) -> sa.ColumnElement[bool]:
    low, high = (int(one) if isinstance(one, Decimal) and one == int(one) else one for one in (asked.low, asked.high))
    after = sa.true() if low is None else by > low if asked.is_strict else by >= low
    before = sa.true() if high is None else by < high if asked.is_strict else by <= high
    return sa.and_(after, before)


def add_up(session: Session, listing: Listing, wanted: Wanted) -> dict[str, dict[str, int]]:
    """Add up the amounts of a filtered list by currency."""
    query = ask(session, listing, wanted)
    names = listing.amounts
    if not names:
        return {}
    currency = expression_of(listing, query, CURRENCY)
    amounts = [sa.func.sum(expression_of(listing, query, Column(name, Kind.MONEY))) for name in names]
    sums = query.with_only_columns(currency, *amounts).order_by(None).group_by(currency)
    return {
        row[0]: {name: int(one or 0) for name, one in zip(names, row[1:], strict=True)}
        for row in session.execute(sums.order_by(currency))
        if row[0]
    }


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
    query = ask(session, listing, wanted).order_by(None).subquery()
    return session.scalar(sa.select(sa.func.count()).select_from(query)) or 0
