"""Made-up facts and books at size: documents, payments with their items, payouts and lines of the bank."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from consumer.facts import bulk
from consumer.facts.store import Store
from consumer.facts.tables.provider import PaymentIntent, Payout, PayoutItem
from consumer.facts.tables.types import core_of
from reconcile.tables.books import BankLine, LocalInvoice

_BEGIN = datetime(2024, 1, 1, 12, tzinfo=UTC)
FIRST = (
    "Comercial", "Ferretería", "Panadería", "Textil", "Librería", "Agrícola", "Taller", "Clínica", "Óptica", "Café",
)  # fmt: skip
_SECOND = ("Ñandú", "San Joaquín", "Río Claro", "La Espiga", "Los Ángeles", "del Sur", "Cordillera", "Peñalolén")
_THIRD = ("SpA", "Ltda", "EIRL", "S.A.", "e Hijos")
_CUSTOMERS = 20_000
ITEMS = 8  # payments a payout is made of


def payment_id(number: int) -> str:
    return f"pi_{number * 48271 % 2_147_483_647:010d}x{number}"


def payout_id(number: int) -> str:
    return f"po_{number * 16807 % 2_147_483_647:010d}"


def customer(number: int) -> tuple[str, str]:
    own = number * 7919 % _CUSTOMERS
    parts = (FIRST[own % 10], _SECOND[own // 10 % 8], str(own), _THIRD[own % 5])
    return " ".join(parts), f"{60_000_000 + own * 811}-{own % 10}"


def total(number: int) -> int:
    return 1_000 + number * 7_919 % 3_000_000


def at(number: int, every: int) -> datetime:
    return _BEGIN + timedelta(seconds=number * (90_000_000 // every))


def documents(numbers: range, every: int) -> Iterator[tuple[Any, ...]]:
    for number in numbers:
        name, tax_id = customer(number)
        on = at(number, every).date()
        yield (
            f"cl:33::{10_000 + number}", "33", str(10_000 + number), on, tax_id, name, total(number),
            f"ORD-{number:07d}", at(number, every),
        )  # fmt: skip


def payments(numbers: range, every: int) -> Iterator[tuple[Any, ...]]:
    for number in numbers:
        name, tax_id = customer(number)
        yield (
            payment_id(number), total(number), at(number, every), tax_id, name,
            f'{{"order_ref": "ORD-{number:07d}"}}', at(number, every), at(number, every),
        )  # fmt: skip


def payouts(numbers: range, every: int) -> Iterator[tuple[Any, ...]]:
    for number in numbers:
        yield payout_id(number), ITEMS * total(number), at(number, every), at(number, every)


def write(store: Store, kind: str, numbers: range, every: int) -> None:
    """Insert made-up rows of one table."""
    moved = {"connection": "main", "mode": "live", "status": "succeeded", "currency": "CLP", "body": "{}"}
    provider = moved | {"version_rank": 0, "version_event": ""}
    booked = {
        "connection": "main", "country": "cl", "series": "", "uuid": "", "currency": "CLP", "status": "valid",
        "ref_type": "", "ref_number": "", "payment_method": "", "payment_form": "", "raw": "{}", "file_sha256": "0",
    }  # fmt: skip
    item = {"connection": "main", "mode": "live", "resource_type": "payment_intent", "currency": "CLP", "body": "{}"}
    line = {"connection": "main", "account": "1", "currency": "CLP", "file_sha256": "0"}
    of_document = "doc_key doc_type folio issue_date customer_tax_id customer_name total order_ref updated_at"
    of_payment = "id amount created_at customer_tax_id customer_name metadata_json version_at written_at"
    tables: dict[str, tuple[Any, dict[str, Any], str, Any]] = {
        "document": (LocalInvoice, booked, of_document, documents),
        "payment": (PaymentIntent, provider, of_payment, payments),
        "item": (PayoutItem, item, "payout_id resource_id amount", lambda some, _every: (
            (payout_id(n // ITEMS), payment_id(n), total(n)) for n in some)),
        "payout": (Payout, provider, "id amount created_at version_at", payouts),
        "bank_line": (BankLine, line, "id booked_on amount text reference", lambda some, every: (
            (f"bl_{n}", at(n, every).date(), ITEMS * total(n), f"ABONO PROVEEDOR {n}", f"{n:09d}") for n in some)),
    }  # fmt: skip
    table, alike, names, rows = tables[kind]
    for start in range(numbers.start, numbers.stop, 10_000):
        with store.connection() as connection:
            some = range(start, min(numbers.stop, start + 10_000))
            bulk.insert_rows(connection, core_of(table), names.split(), rows(some, every), alike=alike)
