"""Pure: rows of reconciliation become one typed report table, filtered, aged and in a total order."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from consumer.facts.bankdays import BankCalendar
from consumer.facts.clock import to_instant
from consumer.facts.columns import Kind
from reconcile.kept.chunks import ARROW_TYPES
from reconcile.rules.outcomes import DEAD, to_age_bucket
from reports.shapes.definitions import Definition, label_of
from reports.shapes.spans import Row, Span

CURRENCY = "_currency"
# What a document is called until its due date, which the asked day may be beyond.
_UNTIL_DUE = {"open_not_due", "partly_paid"}

_OVERDUE = ((0, "not due"), (30, "1-30"), (60, "31-60"), (90, "61-90"))
_OLDEST = "over 90"
# The ages of what is owed, youngest first.
AGES = (*(name for _, name in _OVERDUE), _OLDEST)
# What a customer has paid too much is owed by the merchant: it is no age of what is owed to them.
CREDIT = "credit"


class BuildError(ValueError):
    """A row that does not carry what its report needs; the message names the report, the column and the value."""


@dataclass(frozen=True, slots=True)
class Report:
    """A built report: its table (money in minor units with a hidden currency column) and what it was made from.

    `banks` names by their ids the banks that people's files write out.
    """

    definition: Definition
    table: pa.Table
    span: Span
    as_of: date
    facts: Mapping[str, str] = field(default_factory=dict)
    banks: Mapping[str, str] = field(default_factory=dict)


def are_living(payouts: pa.Table) -> pa.ChunkedArray:
    """Say which payouts were neither canceled nor returned: the items of those that were are paid again by another."""
    return pc.invert(pc.is_in(payouts["status"].cast(pa.string()), value_set=pa.array(DEAD)))


def to_table(definition: Definition, rows: Iterable[Row], *, currency: Callable[[Row], str]) -> pa.Table:
    """Type and sort rows; every column must be there, since a blank would read as a debt of zero."""
    typed = [_to_typed(definition, row, currency(row)) for row in rows]
    typed.sort(key=lambda row: tuple(_sortable(row[name]) for name in definition.sort))
    fields = [pa.field(column.name, ARROW_TYPES[column.kind]) for column in definition.columns]
    return pa.Table.from_pylist(typed, schema=pa.schema([*fields, pa.field(CURRENCY, pa.string())]))


def from_columns(definition: Definition, parts: Iterable[tuple[str, pa.Table]]) -> pa.Table:
    """Type and sort what is stored as columns already; each part belongs to one connection."""
    whole = in_parts(definition, parts)
    return whole.sort_by([(name, "ascending") for name in definition.sort]).combine_chunks()


def in_parts(definition: Definition, parts: Iterable[tuple[str, pa.Table]]) -> pa.Table:
    """Type what is stored as columns in the order it comes."""
    fields = [pa.field(column.name, ARROW_TYPES[column.kind]) for column in definition.columns]
    schema = pa.schema([*fields, pa.field(CURRENCY, pa.string())])
    typed = [_from_part(definition, schema, connection, part) for connection, part in parts if part.num_rows]
    return pa.concat_tables(typed) if typed else schema.empty_table()


def _from_part(definition: Definition, schema: pa.Schema, connection: str, part: pa.Table) -> pa.Table:
    columns = {"connection": pa.array([connection] * part.num_rows), CURRENCY: part["currency"]}
    found = {name: part[name] for name in definition.names if name in part.column_names} | columns
    missing = next((name for name in definition.names if name not in found), None)
    if missing is not None:
        raise BuildError(f"{definition.name}: a row has no {missing}")
    return pa.table([found[field.name].cast(field.type) for field in schema], schema=schema)


def _sortable(value: Any) -> tuple[bool, Any]:
    return (value is None, value)


def _to_typed(definition: Definition, row: Row, currency: str) -> Row:
    typed: Row = {CURRENCY: currency}
    for column in definition.columns:
        if column.name not in row:
            raise BuildError(f"{definition.name}: a row has no {column.name}")
        value = row[column.name]
        try:
            typed[column.name] = None if value is None else _CASTS[column.kind](value)
        except (ValueError, TypeError, ArithmeticError):
            raise BuildError(f"{definition.name}: {column.name} cannot be {value!r}") from None
    return typed


def _to_int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _to_text(value: object) -> str:
    if isinstance(value, list):
        return " ".join(str(part) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _to_date(value: object) -> date:
    return value if isinstance(value, date) else date.fromisoformat(str(value))


def _to_moment(value: object) -> datetime:
    return value if isinstance(value, datetime) else to_instant(str(value))


_CASTS: dict[Kind, Callable[[object], object]] = {
    Kind.TEXT: _to_text,
    Kind.ID: _to_text,
    Kind.DECIMAL: lambda value: format(Decimal(str(value)), "f"),
    Kind.MONEY: _to_int,
    Kind.INT: _to_int,
    Kind.DATE: _to_date,
    Kind.INSTANT: _to_moment,
}


def exceptions(rows: Iterable[Row], calendars: Mapping[str, BankCalendar], *, as_of: date) -> Iterator[Row]:
    """Show exceptions as they stood on a day, aged in bank days."""
    for row in rows:
        closed = row["resolved_on"] if row["resolved_on"] and row["resolved_on"] <= as_of else None
        age = max(0, calendars[row["connection"]].days_between(row["fact_on"], closed or as_of))
        reopened = {} if closed or not row["resolved_on"] else {"state": "open", "resolved_on": None, "resolution": ""}
        yield {**row, **reopened, "age_business_days": age, "age_bucket": to_age_bucket(age)}


def receivables(documents: pa.Table, due_days: int, *, as_of: date) -> pa.Table:
    """Age open documents by days overdue, or by issue and agreed days; credit balances are no part of any age."""
    issued, due = (documents[name].cast(pa.date32()).cast(pa.int32()) for name in ("issue_date", "due_date"))
    late = pc.subtract(_ordinal(as_of), pc.coalesce(due, pc.add(issued, due_days)))
    is_credit = pc.less(documents["balance"], 0)
    days = pc.if_else(is_credit, 0, pc.max_element_wise(late, 0)).cast(pa.int64())
    edges = [pc.less_equal(days, edge).combine_chunks() for edge, _ in _OVERDUE]
    cases = pa.StructArray.from_arrays([is_credit.combine_chunks(), *edges], ["credit", *AGES[:-1]])
    is_late = pc.and_(pc.greater(days, 0), pc.is_in(documents["outcome"], value_set=pa.array(sorted(_UNTIL_DUE))))
    return (
        documents.append_column("days_overdue", days)
        .append_column("bucket", pc.case_when(cases, CREDIT, *AGES))
        .append_column("state", pc.if_else(is_late, "overdue", documents["outcome"]))
    )


def _ordinal(on: date) -> int:
    """Return a day as columns count it."""
    return (on - date(1970, 1, 1)).days


def in_transit(items: pa.Table, calendar: BankCalendar, *, as_of: date) -> pa.Table:
    """Age what waits in bank days, with the day its payout should arrive."""
    ages = _by_day(items, "local_date", lambda on: max(0, calendar.days_between(on, as_of)), pa.int64())
    expected = _by_day(items, "bank_day", calendar.expected_arrival, pa.date32())
    return items.append_column("age_business_days", ages).append_column("expected_payout_day", expected)


def _by_day(items: pa.Table, name: str, answer: Callable[[date], int | date], kind: pa.DataType) -> pa.ChunkedArray:
    """Ask once for each different day: a million items have a few hundred."""
    without = pc.is_null(items[name])
    if pc.any(without, min_count=0).as_py():
        raise BuildError(f"item {items['resource_id'].filter(without)[0].as_py()} waits and has no {name}")
    days = items[name].unique()
    answers = pa.array([answer(on) for on in days.to_pylist()], kind)
    return pc.take(answers, pc.index_in(items[name], value_set=days))


def labels(definition: Definition, language: str | None) -> list[str]:
    """Name the columns for a language, or with None by their stable keys."""
    names = definition.names
    return list(names) if language is None else [label_of(definition.name, name, language) for name in names]
