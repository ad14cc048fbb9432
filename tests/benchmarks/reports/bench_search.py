"""The search at size: milliseconds of real queries of every kind, bytes before and after, seconds of filling.

`--payouts 100000 --documents 800000` is the size that is promised; `--postgresql URL` measures an empty database there.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import sqlalchemy as sa

from consumer.backup.databases import size_of
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from reports.queries.names import Reader
from reports.search import filling
from reports.search.finding import find
from reports.search.sources import KINDS
from tests.benchmarks.reports import world
from tests.benchmarks.reports.made_up_facts import FIRST, at, customer, payout_id, total, write

_READER = Reader("es-CL", lambda _: "America/Santiago", lambda bank: bank or "", datetime.now(UTC).date())
_ROUNDS = 24
_A_NIGHT = 100  # one row in so many is new each night


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
        yield "payout", payout_id(payout)
        yield "bank text", f"abono proveedor {payout}"
        yield "three letters", chance.choice(FIRST)[:3]
        yield "two digits", str(chance.randrange(10, 99))
        yield "nothing", "zzqq no hay"
        yield "title", "pago sin documento"


def fill(installation: Installation, sizes: dict[str, int]) -> None:
    """Write the facts where they are not, and bring them into the search: at first all, then what two nights add."""
    store, own = installation.store, installation.settings.connection("main")
    for kind, count in sizes.items():
        write(store, kind, range(count), count)
    size_before = _settle(store)
    start, worked = time.perf_counter(), time.process_time()
    rows = filling.fill(installation, own)
    filled, worked = time.perf_counter() - start, time.process_time() - worked
    size = _settle(store)
    took = f"{filled:.1f} s, {worked:.1f} of processor"
    sizes_shown = f"{size_before / 1e6:.0f} MB before, {size / 1e6:.0f} MB after"
    print(f"filled: {rows} rows in {took}; database {sizes_shown}")
    for kind, count in sizes.items():
        write(store, kind, range(count, count + count // _A_NIGHT), count)
    for what in ("new", "more"):
        start, worked = time.perf_counter(), time.process_time()
        rows = filling.fill(installation, own)
        took = f"{time.perf_counter() - start:.2f} s, {time.process_time() - worked:.2f} of processor"
        print(f"a night of {rows} {what} rows: {took}", flush=True)


def ask(store: Store, sizes: dict[str, int]) -> None:
    """Ask questions of every kind, and print how long each kind takes."""
    times: dict[str, list[tuple[float, float]]] = {}
    for name, text in queries(random.Random(7), sizes):  # noqa: S311 - the same made-up questions each time
        start, worked = time.perf_counter(), time.process_time()
        with store.reading() as session:
            found = find(session, ["main"], text, KINDS, 6, _READER)
        took = 1000 * (time.perf_counter() - start), 1000 * (time.process_time() - worked)
        times.setdefault(name, []).append(took)
        if not found and name not in {"nothing", "title", "two digits", "day and month"}:
            raise SystemExit(f"{name}: {text!r} finds nothing")
    times["all"] = [one for own_times in times.values() for one in own_times]
    for name, some in times.items():
        clock, processor = (sorted(column) for column in zip(*some, strict=True))
        at_95 = max(0, int(len(some) * 0.95) - 1)
        shown = f"median {statistics.median(clock):7.1f} ms, p95 {clock[at_95]:7.1f}, worst {clock[-1]:7.1f}, "
        shown += f"processor {statistics.median(processor):7.1f} ms, p95 {processor[at_95]:7.1f}"
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
    world.add_options(options)
    given = options.parse_args()
    sizes = dict.fromkeys(("document", "payment"), given.documents) | dict.fromkeys(
        ("payout", "bank_line"), given.payouts
    )
    with world.open_world(given) as installation:
        if world.is_empty(installation.store):
            fill(installation, sizes)
        ask(installation.store, sizes)


if __name__ == "__main__":
    main()
