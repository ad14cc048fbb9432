"""What the pure rules take and give: typed frames in, explained frames and findings out.

Money is nullable `Int64` minor units; text is `str` with NA for "unknown"; moments (`_at`, `_utc`, `window_*`) are
`datetime64[us, UTC]`; dates are `datetime64[us]` at midnight without a zone (`to_types` also takes `date` objects).
"""

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache, partial
from operator import eq
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from msgspec import Struct
from pandas import DataFrame, Series
from pandas.api.types import pandas_dtype

from consumer.facts.bankdays import BankCalendar
from consumer.facts.columns import Column, Kind
from reconcile.rules.outcomes import BANK_COLUMNS, PAYOUT_COLUMNS, STORED_DOCUMENT_COLUMNS, STORED_LINE_COLUMNS
from reconcile.rules.terms import RuleSet, Tariff

TEXT: Final = "str"
MONEY: Final = "Int64"
COUNT: Final = "Int64"
DAY: Final = "datetime64[us]"
MOMENT: Final = "datetime64[us, UTC]"

Schema = Mapping[str, str]
# What is said for a finding, by name; it is written as JSON.
Evidence: TypeAlias = dict[str, object]
# An exception's code, and the payout, the kind and the id of the line that it belongs to.
LineCode: TypeAlias = tuple[str, str, str, str]
# A row of a frame as a named tuple: its fields are the frame's columns, which no type knows.
Row: TypeAlias = Any

_DTYPES: Mapping[Kind, str] = {Kind.MONEY: MONEY, Kind.INT: COUNT, Kind.DATE: DAY, Kind.INSTANT: MOMENT}


def schema_of(columns: Iterable[Column]) -> Schema:
    return {column.name: _DTYPES.get(column.kind, TEXT) for column in columns}


# `recipient_account` names the whole account without showing its number; NA where only its last digits are known.
PAYOUTS: Schema = {
    "payout_id": TEXT, "currency": TEXT, "status": TEXT, "amount": MONEY, "created_at": MOMENT, "succeeded_at": MOMENT,
    "ended_at": MOMENT, "recipient_institution": TEXT, "recipient_last4": TEXT, "recipient_account": TEXT,
}  # fmt: skip

# What an item is; of disputes only lost ones are lines.
PAYMENT_TYPES = ("payment_intent", "charge")
REFUND, REFUND_ADJUSTMENT, DISPUTE = "refund", "refund_adjustment", "dispute"
# What a payment says of itself, long and seldom asked for.
SAID = ("metadata", "texts")

# `split` is a JSON list of {"entity_id", "amount", "charge_processing_fee", "own"}; `own` marks the merchant's own
# entity and may be left out where that is not known: the whole payment then counts as the merchant's.
ITEMS: Schema = {
    "payout_id": TEXT,
    "resource_type": TEXT,
    "resource_id": TEXT,
    "resource_subtype": TEXT,
    "parent_id": TEXT,
    "status": TEXT,
    "currency": TEXT,
    "amount": MONEY,
    "occurred_at": MOMENT,
    "customer_tax_id": TEXT,
    "sender_tax_id": TEXT,
    "customer_name": TEXT,
    "metadata": TEXT,
    "texts": TEXT,
    "split": TEXT,
    "source_event_id": TEXT,
}

DOCUMENTS: Schema = {
    "doc_key": TEXT, "doc_type": TEXT, "series": TEXT, "folio": TEXT, "uuid": TEXT, "issue_date": DAY, "due_date": DAY,
    "customer_tax_id": TEXT, "customer_name": TEXT, "net": MONEY, "exempt": MONEY, "vat": MONEY, "total": MONEY,
    "currency": TEXT, "status": TEXT, "order_ref": TEXT, "ref_type": TEXT, "ref_number": TEXT, "payment_method": TEXT,
    "payment_form": TEXT,
}  # fmt: skip

DISPUTES: Schema = {
    "dispute_id": TEXT, "resource_id": TEXT, "amount": MONEY, "currency": TEXT, "status": TEXT, "due_at": MOMENT,
    "ended_at": MOMENT,
}  # fmt: skip

FEES: Schema = {"payout_id": TEXT, "resource_id": TEXT, "fee_total": MONEY}

# A gap that names a payout concerns that payout alone.
GAPS: Schema = {"stream": TEXT, "since": MOMENT, "until": MOMENT, "reason": TEXT, "payout_id": TEXT}

CONFLICTS: Schema = {"event_id": TEXT, "resource_id": TEXT, "amount": MONEY}

DECISIONS: Schema = {
    "kind": TEXT, "resource_id": TEXT, "doc_key": TEXT, "amount": MONEY, "decision_id": COUNT, "decided_at": MOMENT,
}  # fmt: skip

# `account` is named as a payout's `recipient_account` is. A file's line has the days its account's files speak of
# whole; the provider's has no `known_until`, and `known_since` only where its history may begin late. A row of amount 0
# says so without a line. `bank_day` is the day of a movement's moment, after the bank's cut the next one.
BANK: Schema = {
    "movement_id": TEXT, "account": TEXT, "account_last4": TEXT, "amount": MONEY, "currency": TEXT, "booked_on": DAY,
    "bank_day": DAY, "text": TEXT, "reference": TEXT, "known_since": DAY, "known_until": DAY,
}  # fmt: skip

# What a unit of a currency is worth in the country's money, as decimal text.
RATES: Schema = {"currency": TEXT, "on": DAY, "value": TEXT}

# Payments that name a customer whom the stream of customers has not brought.
UNKNOWN_CUSTOMERS: Schema = {"resource_id": TEXT}

# What the merchant's own system said of its orders, and as of which day; one without a day was not delivered.
ORDERS: Schema = {"order_ref": TEXT, "delivered_on": DAY, "amount": MONEY, "currency": TEXT, "asked_on": DAY}

# Payers' rules people accepted; each holds from the end of the days closed before it, an ended one for closed days.
PAYERS: Schema = {
    "rule_id": COUNT, "kind": TEXT, "subject": TEXT, "object": TEXT, "since": MOMENT, "until": MOMENT,
}  # fmt: skip

# Payments that a payment complement names by its operation, the documents it settles, and the part of each if certain.
OPERATIONS: Schema = {"resource_id": TEXT, "doc_key": TEXT, "part": MONEY}

# Documents of which a later file states something else than their XML: what (fields divided by a space), and by how
# much its total is another.
CHANGED_DOCUMENTS: Schema = {
    "doc_key": TEXT, "currency": TEXT, "total": MONEY, "difference": MONEY, "fields": TEXT,
}  # fmt: skip

# Payouts that closed days settled, with the last bank day of their items, of which not all are here.
SETTLED: Schema = {"payout_id": TEXT, "last_day": DAY}

# Stretches of numbers that settled documents bear: folios in the run of their type and series, orders in none.
NUMBERS: Schema = {"run": TEXT, "head": TEXT, "since": MONEY, "until": MONEY}

# Every frame of the inputs by its name there.
INPUTS: Mapping[str, Schema] = {
    "payouts": PAYOUTS, "items": ITEMS, "documents": DOCUMENTS, "disputes": DISPUTES, "fees": FEES, "gaps": GAPS,
    "conflicts": CONFLICTS, "decisions": DECISIONS, "bank": BANK, "rates": RATES,
    "unknown_customers": UNKNOWN_CUSTOMERS, "orders": ORDERS, "payers": PAYERS,
    "operations": OPERATIONS, "changed_documents": CHANGED_DOCUMENTS, "settled": SETTLED,
    "numbers": NUMBERS,
}  # fmt: skip

SUMMARY = schema_of(PAYOUT_COLUMNS)
LINES = schema_of(STORED_LINE_COLUMNS)
# What settled rows of closed days add up to: `count` items of a payout that are alike, or documents of an outcome.
SETTLED_ROWS: Schema = {
    "payout_id": TEXT, "resource_type": TEXT, "resource_subtype": TEXT, "currency": TEXT, "local_date": DAY,
    "outcome": TEXT, "count": COUNT, "amount_signed": MONEY, "fee_net": MONEY, "fee_vat": MONEY, "fee_total": MONEY,
    "fee_agreed": MONEY,
}  # fmt: skip
# In the place of an item's type.
OF_DOCUMENTS: Final = "document"
DOCUMENT_RESULTS = schema_of(STORED_DOCUMENT_COLUMNS)
BANK_RESULTS = schema_of(BANK_COLUMNS)


@dataclass(frozen=True, slots=True)
class Inputs:
    connection: str
    country: str
    mode: str
    as_of: date
    payouts: DataFrame
    items: DataFrame
    documents: DataFrame
    disputes: DataFrame
    fees: DataFrame
    gaps: DataFrame
    conflicts: DataFrame
    decisions: DataFrame
    bank: DataFrame
    tariff: Tariff | None
    rules: RuleSet
    calendar: BankCalendar
    # Chile: whether card sales have vouchers, boletas or both.
    voucher_model: str = "voucher"
    rates: DataFrame = field(default_factory=lambda: empty_frame(RATES))
    unknown_customers: DataFrame = field(default_factory=lambda: empty_frame(UNKNOWN_CUSTOMERS))
    orders: DataFrame = field(default_factory=lambda: empty_frame(ORDERS))
    payers: DataFrame = field(default_factory=lambda: empty_frame(PAYERS))
    operations: DataFrame = field(default_factory=lambda: empty_frame(OPERATIONS))
    changed_documents: DataFrame = field(default_factory=lambda: empty_frame(CHANGED_DOCUMENTS))
    settled: DataFrame = field(default_factory=lambda: empty_frame(SETTLED))
    numbers: DataFrame = field(default_factory=lambda: empty_frame(NUMBERS))


class Finding(Struct, frozen=True):
    """Something a person must look at; `code` and `subject` are its identity across runs."""

    code: str
    severity: str
    subject: str
    title: str
    amount_at_risk: int
    currency: str
    payout_id: str | None
    resource_id: str | None
    doc_key: str | None
    evidence: Evidence
    suggested_action: str
    # The day of its fact, None where that has no day of its own; the due date and the customer it concerns.
    fact_on: date | None = None
    due_on: date | None = None
    customer_name: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    payouts: DataFrame
    lines: DataFrame
    documents: DataFrame
    findings: tuple[Finding, ...]
    complete: bool
    bank: DataFrame = field(default_factory=lambda: empty_frame(BANK_RESULTS))
    # What was left out as settled.
    settled: DataFrame = field(default_factory=lambda: empty_frame(SETTLED_ROWS))


# To read a type's name again for every column of every table took a twentieth of a small run.
_parsed = cache(pandas_dtype)


class FrameError(ValueError):
    """A frame that lacks a column the rules read."""


def to_types(frame: DataFrame, schema: Schema) -> DataFrame:
    """Return a frame with just the columns and types of a schema; raise FrameError if a column is missing."""
    if [*frame.columns] == [*schema] and all(map(eq, frame.dtypes, map(_parsed, schema.values()))):
        return frame
    missing = [name for name in schema if name not in frame.columns]
    if missing:
        raise FrameError(f"the frame lacks {', '.join(missing)}")
    columns = {name: _to_dtype(frame[name], dtype).array for name, dtype in schema.items()}
    return DataFrame(columns, index=frame.index, copy=False)


def empty_frame(schema: Schema) -> DataFrame:
    return _without_rows(tuple(schema.items())).copy(deep=False)


@cache
def _without_rows(columns: tuple[tuple[str, str], ...]) -> DataFrame:
    return to_types(DataFrame(columns=[name for name, _ in columns]), dict(columns))


def rows_of(frame: DataFrame, mask: Series | npt.NDArray[np.bool_] | None = None) -> list[Row]:
    """Return the rows, or those of a mask, as named tuples of Python's own values; `Index` comes first."""
    if frame.empty or not (mask is None or mask.any()):
        return []
    chosen = frame if mask is None else frame[mask]
    columns = (values.array.astype(object) for _, values in chosen.items())
    return list(map(_row_class(("Index", *chosen.columns))._make, zip(chosen.index, *columns, strict=True)))


# To make the class of rows anew for every frame takes longer than its few rows.
_row_class: Callable[[tuple[str, ...]], Row] = cache(partial(namedtuple, "row", rename=True))  # noqa: PYI024 - its columns are known when it runs


def _to_dtype(values: Series, dtype: str) -> Series:
    if values.dtype == _parsed(dtype):
        return values
    if dtype in (MOMENT, DAY):
        return pd.to_datetime(values, utc=dtype == MOMENT).astype(_parsed(dtype))
    if dtype == MONEY:
        return values.astype(MONEY)
    # A column of None alone arrives as object; None stays missing, and does not become a word.
    return values.astype(TEXT)
