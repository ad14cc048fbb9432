"""What can be found: each kind, the table it comes from, and the words of one row."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
    words: Callable[[Found, Context], Iterator[str]]
    # Whether rows go with a file that a person takes back; others stay.
    may_go: bool = False


def _document(row: Found, _context: Context) -> Iterator[str]:
    yield from index_key(f"{row.series}-{row.folio}" if row.series else row.folio)
    yield join(row.uuid)
    yield join(row.customer_tax_id)
    yield from index_text(row.customer_name)
    yield from index_key(row.order_ref)
    yield from index_amount(row.total, row.currency)
    yield from index_day(row.issue_date)


def _money(row: Found, context: Context) -> Iterator[str]:
    yield join(row.id)
    yield from index_amount(row.amount, row.currency)
    at = getattr(row, "succeeded_at", None) or row.created_at
    yield from index_day(local_date(at, context.zone) if at else None)


def _sale(row: Found, context: Context) -> Iterator[str]:
    yield from _money(row, context)
    yield join(row.customer_tax_id or "")
    yield from index_text(getattr(row, "customer_name", None) or "")
    for text in context.customers.get(row.customer_id or "", ()):
        yield from index_text(text)
    for text in (*_texts_in(row.metadata_json), *(row.texts or "").splitlines()):
        yield from index_text(text)
        yield from index_key(text) if len(text.split()) == 1 else ()


def _payout(row: Found, context: Context) -> Iterator[str]:
    yield from _money(row, context)
    yield from index_day(local_date(row.created_at, context.zone) if row.created_at else None)
    yield from index_text(context.banks.get(row.recipient_institution or "", ""))


def _of_sale(row: Found, context: Context) -> Iterator[str]:
    yield from _money(row, context)
    yield join(row.resource_id or "")


def _bank_line(row: Found, _context: Context) -> Iterator[str]:
    yield from index_text(row.text)
    yield from index_key(row.reference)
    yield from index_amount(row.amount, row.currency)
    yield from index_day(row.booked_on)


def _exception(row: Found, _context: Context) -> Iterator[str]:
    yield to_code_word(row.code)
    yield from (join(text or "") for text in (row.id, row.payout_id, row.resource_id))
    yield from index_key((row.doc_key or "").rpartition(":")[2])
    yield from index_text(row.customer_name or "")
    yield from index_amount(row.amount_at_risk, row.currency)
    yield from index_day(row.fact_on)


def to_code_word(code: str) -> str:
    return f"zzcode{join(code)}"


def _texts_in(text: str | None) -> Iterator[str]:
    """Yield every text and number of stored JSON, however deep."""
    if not text:
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
    Source("document", LocalInvoice, "doc_key", "issue_date", _DOCUMENT, _document, may_go=True),
    Source("payout", Payout, "id", "created_at", (*_MONEY, "succeeded_at", "recipient_institution"), _payout),
    Source("payment", PaymentIntent, "id", "created_at", (*_SALE, "customer_name"), _sale),
    Source("charge", Charge, "id", "created_at", _SALE, _sale),
    Source("refund", Refund, "id", "created_at", (*_MONEY, "succeeded_at", "resource_id"), _of_sale),
    Source("dispute", Dispute, "id", "created_at", (*_MONEY, "resource_id"), _of_sale),
    Source("bank_line", BankLine, "id", "booked_on", _LINE, _bank_line, may_go=True),
    Source("exception", ExceptionRow, "id", "opened_on", _EXCEPTION, _exception),
)
KINDS = tuple(source.kind for source in SOURCES)
