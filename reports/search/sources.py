"""What can be found: each kind, the table it comes from, and the words of one row."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

import msgspec
from sqlmodel import SQLModel

from consumer.facts.clock import local_date
from consumer.facts.tables.provider import Charge, Dispute, PaymentIntent, Payout, Refund
from reconcile.tables.books import BankLine, LocalInvoice
from reconcile.tables.desk import ExceptionRow
from reports.search.words import index_amount, index_day, index_key, index_text, join

# One row by the names of its columns.
Found: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Context:
    """What the words of rows need besides their columns: the zone, and what customers and banks are called."""

    zone: str
    customers: Mapping[str, tuple[str, ...]]
    banks: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Source:
    """A table whose rows can be found under a kind; `order` is the column by which the newest come last."""

    kind: str
    table: type[SQLModel]
    key: str
    order: str
    columns: tuple[str, ...]
    words: Callable[[Found, Context], list[str]]
    # The column, if there is an index of it, by which what was written last is found first.
    written: str = ""
    # Whether rows go with a file that a person takes back; others stay.
    may_go: bool = False


def _document(row: Found, _context: Context) -> list[str]:
    return [
        *index_key(f"{row.series}-{row.folio}" if row.series else row.folio),
        join(row.uuid),
        join(row.customer_tax_id),
        *index_text(row.customer_name),
        *index_key(row.order_ref),
        index_amount(row.total, row.currency),
        index_day(row.issue_date),
    ]


def _money(row: Found, at: datetime | None, context: Context) -> list[str]:
    day = index_day(local_date(at, context.zone) if at else None)
    return [join(row.id), index_amount(row.amount, row.currency), day]


def _sale(row: Found, context: Context) -> list[str]:
    found = _money(row, row.succeeded_at or row.created_at, context)
    found.append(join(row.customer_tax_id or ""))
    for text in context.customers.get(row.customer_id or "", ()):
        found += index_text(text)
    for text in (*_texts_in(row.metadata_json), *(row.texts or "").splitlines()):
        found += index_text(text) if len(text.split()) > 1 else index_key(text)
    return found


def _payment(row: Found, context: Context) -> list[str]:
    return [*_sale(row, context), *index_text(row.customer_name or "")]


def _payout(row: Found, context: Context) -> list[str]:
    days = [index_day(local_date(at, context.zone)) for at in (row.succeeded_at, row.created_at) if at]
    bank = context.banks.get(row.recipient_institution or "", "")
    return [*_money(row, None, context), *days, *index_text(bank)]


def _refund(row: Found, context: Context) -> list[str]:
    return [*_money(row, row.succeeded_at or row.created_at, context), join(row.resource_id or "")]


def _dispute(row: Found, context: Context) -> list[str]:
    return [*_money(row, row.created_at, context), join(row.resource_id or "")]


def _bank_line(row: Found, _context: Context) -> list[str]:
    words = [*index_text(row.text), *index_key(row.reference)]
    return [*words, index_amount(row.amount, row.currency), index_day(row.booked_on)]


def _exception(row: Found, _context: Context) -> list[str]:
    return [
        to_code_word(row.code),
        *(join(text or "") for text in (row.id, row.payout_id, row.resource_id)),
        *index_key((row.doc_key or "").rpartition(":")[2]),
        *index_text(row.customer_name or ""),
        index_amount(row.amount_at_risk, row.currency),
        index_day(row.fact_on),
    ]


def to_code_word(code: str) -> str:
    return f"zzcode{join(code)}"


def _texts_in(text: str | None) -> Iterator[str]:
    """Yield every text and number of stored JSON, however deep."""
    if not text or text == "{}":
        return
    waiting = [msgspec.json.decode(text)]
    while waiting:
        match waiting.pop():
            case str() | int() as value if not isinstance(value, bool):
                yield str(value)
            case dict() as value:
                waiting += value.values()
            case list() as value:
                waiting += value


_MONEY = ("id", "amount", "currency", "created_at")
_SALE = (*_MONEY, "succeeded_at", "customer_tax_id", "customer_id", "metadata_json", "texts")
_DOCUMENT = (
    "doc_key",
    "series",
    "folio",
    "uuid",
    "customer_tax_id",
    "customer_name",
    "order_ref",
    "total",
    "currency",
    "issue_date",
)
_EXCEPTION = (
    "id",
    "code",
    "payout_id",
    "resource_id",
    "doc_key",
    "customer_name",
    "amount_at_risk",
    "currency",
    "fact_on",
)
_LINE = ("id", "text", "reference", "amount", "currency", "booked_on")
SOURCES = (
    Source("document", LocalInvoice, "doc_key", "issue_date", _DOCUMENT, _document, "updated_at", may_go=True),
    Source("payout", Payout, "id", "created_at", (*_MONEY, "succeeded_at", "recipient_institution"), _payout),
    Source("payment", PaymentIntent, "id", "created_at", (*_SALE, "customer_name"), _payment, "written_at"),
    Source("charge", Charge, "id", "created_at", _SALE, _sale, "written_at"),
    Source("refund", Refund, "id", "created_at", (*_MONEY, "succeeded_at", "resource_id"), _refund, "written_at"),
    Source("dispute", Dispute, "id", "created_at", (*_MONEY, "resource_id"), _dispute),
    Source("bank_line", BankLine, "id", "booked_on", _LINE, _bank_line, may_go=True),
    Source("exception", ExceptionRow, "id", "opened_on", _EXCEPTION, _exception),
)
KINDS = tuple(source.kind for source in SOURCES)
