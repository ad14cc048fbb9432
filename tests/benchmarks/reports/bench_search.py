"""The search at size: milliseconds of real queries of every kind, bytes before and after, seconds of filling.

`--payouts 100000 --documents 800000` is the size that is promised; `--postgresql URL` measures an empty database there.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import sqlalchemy as sa

from consumer.backup.databases import size_of
from consumer.config import load
from consumer.facts import bulk, schema
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.facts.tables.provider import PaymentIntent, Payout
from consumer.facts.tables.types import core_of
from reconcile.tables.books import BankLine, LocalInvoice
from reports.queries.names import Reader
from reports.search import filling
from reports.search.finding import find
from reports.search.sources import KINDS

_BEGIN = datetime(2024, 1, 1, 12, tzinfo=UTC)
_FIRST = (
    "Comercial", "Ferretería", "Panadería", "Textil", "Librería", "Agrícola", "Taller", "Clínica", "Óptica", "Café",
)  # fmt: skip
_SECOND = ("Ñandú", "San Joaquín", "Río Claro", "La Espiga", "Los Ángeles", "del Sur", "Cordillera", "Peñalolén")
_THIRD = ("SpA", "Ltda", "EIRL", "S.A.", "e Hijos")
_CUSTOMERS = 20_000
_READER = Reader("es-CL", lambda _: "America/Santiago", lambda bank: bank or "", date(2026, 11, 23))
_ROUNDS = 24
_A_NIGHT = 100  # one row in so many is new each night


def customer(number: int) -> tuple[str, str]:
    own = number * 7919 % _CUSTOMERS
    parts = (_FIRST[own % 10], _SECOND[own // 10 % 8], str(own), _THIRD[own % 5])
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
            f"ORD-{number:07d}", _BEGIN,
        )  # fmt: skip


def payments(numbers: range, every: int) -> Iterator[tuple[Any, ...]]:
    for number in numbers:
        name, tax_id = customer(number)
        yield (
            f"pi_{number * 48271 % 2_147_483_647:010d}x{number}", total(number), at(number, every), tax_id, name,
            f'{{"order_ref": "ORD-{number:07d}"}}', at(number, every),
        )  # fmt: skip


def payouts(numbers: range, every: int) -> Iterator[tuple[Any, ...]]:
    for number in numbers:
        yield f"po_{number * 16807 % 2_147_483_647:010d}", 8 * total(number), at(number, every), at(number, every)


def write(store: Store, kind: str, numbers: range, every: int) -> None:
    """Insert made-up rows of one table."""
    moved = {"connection": "main", "mode": "live", "status": "succeeded", "currency": "CLP", "body": "{}"}
    provider = moved | {"version_rank": 0, "version_event": ""}
    booked = {
        "connection": "main", "country": "cl", "series": "", "uuid": "", "currency": "CLP", "status": "valid",
        "ref_type": "", "ref_number": "", "payment_method": "", "payment_form": "", "raw": "{}", "file_sha256": "0",
    }  # fmt: skip
    line = {"connection": "main", "account": "1", "currency": "CLP", "file_sha256": "0"}
    of_document = "doc_key doc_type folio issue_date customer_tax_id customer_name total order_ref updated_at"
    of_payment = "id amount created_at customer_tax_id customer_name metadata_json version_at"
    tables: dict[str, tuple[Any, dict[str, Any], str, Any]] = {
        "document": (LocalInvoice, booked, of_document, documents),
        "payment": (PaymentIntent, provider, of_payment, payments),
        "payout": (Payout, provider, "id amount created_at version_at", payouts),
        "bank_line": (BankLine, line, "id booked_on amount text reference", lambda some, every: (
            (f"bl_{n}", at(n, every).date(), 8 * total(n), f"ABONO PROVEEDOR {n}", f"{n:09d}") for n in some)),
    }  # fmt: skip
    table, alike, names, rows = tables[kind]
    for start in range(numbers.start, numbers.stop, 10_000):
        with store.connection() as connection:
            some = range(start, min(numbers.stop, start + 10_000))
            bulk.insert_rows(connection, core_of(table), names.split(), rows(some, every), alike=alike)


def queries(chance: random.Random, sizes: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Yield questions of every kind, as people write them."""
    for _ in range(_ROUNDS):
        number, payout = chance.randrange(sizes["document"]), chance.randrange(sizes["payout"])
        name, tax_id = customer(number)
        body, check = tax_id.split("-")
        amount, on = f"{total(number):,}", at(number, sizes["document"]).date()
        words = name.split()
        yield "folio", str(10_000 + number)
        yield "kind and folio", f"factura {10_000 + number}"
        yield "RUT with dots", f"{int(body):,}-{check}".replace(",", ".")
        yield "RUT without", body
        yield "name", name.lower()
        yield "part of a name", f"{words[0][:4]} {words[-2]}"
        yield "common word", words[0]
        yield "order", f"ord-{number:07d}"
        yield "amount", "$" + amount.replace(",", ".")
        yield "amount, commas", amount
        yield "date", f"{on:%d-%m-%Y}"
        yield "day and month", f"{on.day} {('ene', 'feb', 'mar', 'abr', 'may', 'jun')[on.month % 6]}"
        yield "payout", f"po_{payout * 16807 % 2_147_483_647:010d}"
        yield "bank text", f"abono proveedor {payout}"
        yield "three letters", chance.choice(_FIRST)[:3]
        yield "two digits", str(chance.randrange(10, 99))
        yield "nothing", "zzqq no hay"
        yield "title", "pago sin documento"


def measure(installation: Installation, sizes: dict[str, int]) -> None:
    store, own = installation.store, installation.settings.connection("main")
    for kind, count in sizes.items():
        write(store, kind, range(count), count)
    show_size = _settle(store)
    start, worked = time.perf_counter(), time.process_time()
    rows = filling.fill(installation, own)
    filled, worked = time.perf_counter() - start, time.process_time() - worked
    size = _settle(store)
    took = f"{filled:.1f} s, {worked:.1f} of processor"
    sizes_shown = f"{show_size / 1e6:.0f} MB before, {size / 1e6:.0f} MB after"
    print(f"filled: {rows} rows in {took}; database {sizes_shown}")
    for kind, count in sizes.items():
        write(store, kind, range(count, count + count // _A_NIGHT), count)
    for what in ("new", "more"):
        start, worked = time.perf_counter(), time.process_time()
        rows = filling.fill(installation, own)
        took = f"{time.perf_counter() - start:.2f} s, {time.process_time() - worked:.2f} of processor"
        print(f"a night of {rows} {what} rows: {took}", flush=True)
    times: dict[str, list[float]] = {}
    for name, text in queries(random.Random(7), sizes):  # noqa: S311 - the same made-up questions each time
        start = time.perf_counter()
        with store.reading() as session:
            found = find(session, ["main"], text, KINDS, 6, _READER)
        times.setdefault(name, []).append(1000 * (time.perf_counter() - start))
        if not found and name not in {"nothing", "title", "two digits", "day and month"}:
            raise SystemExit(f"{name}: {text!r} finds nothing")
    times["all"] = [one for own_times in times.values() for one in own_times]
    for name, some in times.items():
        ordered = sorted(some)
        p95 = ordered[max(0, int(len(ordered) * 0.95) - 1)]
        shown = f"median {statistics.median(some):7.1f} ms, p95 {p95:7.1f}, worst {ordered[-1]:7.1f}"
        print(f"{name:16} {len(some):4} queries: {shown}")


def _settle(store: Store) -> int:
    with store.connection() as connection:
        if not store.is_sqlite:
            connection.execute(sa.text("ANALYZE"))
    return size_of(store)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--payouts", type=int, default=100_000)
    options.add_argument("--documents", type=int, default=800_000)
    options.add_argument("--postgresql", default="")
    given = options.parse_args()
    sizes = dict.fromkeys(("document", "payment"), given.documents) | dict.fromkeys(
        ("payout", "bank_line"), given.payouts
    )
    with tempfile.TemporaryDirectory() as folder:
        environ = {"CUADRE_DATA_DIR": folder, "CUADRE_PROVIDER_URL": "http://127.0.0.1:1", "CUADRE_API_KEY": "k",
                   "CUADRE_COUNTRY": "cl"}  # fmt: skip
        settings = load(environ, folder=Path(folder))
        store = Store(given.postgresql or f"sqlite:///{folder}/search.db")
        schema.upgrade(store)
        measure(Installation(settings=settings, store=store), sizes)
        store.close()


if __name__ == "__main__":
    main()
