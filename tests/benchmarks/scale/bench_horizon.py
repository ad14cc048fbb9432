"""A night over one open month, alone and after closed months: seconds, memory, what a month takes on disk.

python tests/benchmarks/scale/bench_horizon.py [--closed 12 36 100] [--payments 20000] [--rounds 5] [--folder EMPTY]

The books grow by a month that a run freezes at once, as they do where months are closed in time; where as many are
closed as is asked, they are copied and get their open month, of which a fifth was there when the last month was closed.
Each round runs all books, each in a process of its own, in another order each time: from the first query to what a run
would publish. Processor seconds are what neighbours disturb least.
"""

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import sqlalchemy as sa
from sqlmodel import SQLModel

from consumer.config import load
from consumer.facts import schema
from consumer.facts.installation import Installation
from consumer.facts.meaning import sale_of
from consumer.facts.store import Store
from consumer.facts.tables.provider import PaymentIntent, Payout, PayoutCount, PayoutItem
from consumer.facts.tables.sync import Checkpoint
from consumer.facts.tables.types import core_of
from reconcile.reading.process import save_memory
from reconcile.runs.run import run
from reconcile.tables.books import LocalInvoice
from reconcile.tables.closing import Horizon, Period
from tests.benchmarks.reconcile import trade
from tests.benchmarks.scale.bench_engine import peak

# Seconds, processor seconds, peak of memory in MB, items judged.
Measured: TypeAlias = tuple[float, float, int, int]
Rows: TypeAlias = dict[type[SQLModel], list[dict[str, object]]]
DAYS = 25
# Days of a month that are there when the month before it is closed.
EARLY = 5
FIRST = 12 * 2018


def open_at(folder: Path) -> Installation:
    url = f"sqlite:///{folder}/cuadre.db"
    settings = load({
        "CUADRE_DATABASE_URL": url, "CUADRE_COUNTRY": "cl", "CUADRE_PROVIDER_URL": "http://127.0.0.1:1",
        "CUADRE_API_KEY": "sk_test_sandbox", "CUADRE_DATA_DIR": str(folder), "CUADRE_HORIZON": "true",
        "CUADRE_SECRET_KEY": "a key that only tests know",
    }, folder=folder)  # fmt: skip
    return Installation(settings, Store(url))


def first_of(month: int) -> date:
    return date((FIRST + month) // 12, (FIRST + month) % 12 + 1, 1)


def make_days(month: int, days: range, payments: int) -> Iterator[Rows]:
    """Yield the trade of some days of a month; numbers never come twice."""
    for day in days:
        at = datetime.combine(first_of(month) + timedelta(days=day), datetime.min.time(), UTC) + timedelta(hours=15)
        start = 20_000_000 + (month * DAYS + day) * (payments // DAYS)
        yield make_day(range(start, start + payments // DAYS), f"po_{at:%Y%m%d}", at, at)


def make_day(numbers: range, payout: str, at: datetime, written_at: datetime) -> Rows:
    rows: Rows = {PaymentIntent: [], PayoutItem: [], LocalInvoice: []}
    total, own = 0, {"connection": "main", "currency": "CLP"}
    for number in numbers:
        amount, order = 1_000 + number * 7_919 % 90_000, {"order_ref": f"PED-{number}"}
        total += amount
        name, facts = f"pi_{number * 2_654_435_761 % 2**32:08x}", {"mode": "test", "amount": amount, "body": "{}"}
        rows[PaymentIntent].append(
            own | facts | sale_of({"metadata": order}) | {
                "id": name, "status": "succeeded", "created_at": at, "succeeded_at": at, "version_at": at,
                "version_rank": 0, "version_event": "", "subtype": "bank_transfer", "written_at": written_at,
                "customer_tax_id": "76192083-9" if number % 2 else None,
            }
        )  # fmt: skip
        rows[PayoutItem].append(
            own | facts | {"payout_id": payout, "resource_type": "payment_intent", "resource_id": name,
                           "written_at": written_at}
        )  # fmt: skip
        if number % 500:
            rows[LocalInvoice].append(
                own | order | {
                    "doc_key": f"cl:33::{number}", "country": "cl", "doc_type": "33", "folio": str(number),
                    "issue_date": at.date(), "customer_tax_id": "76192083-9", "total": amount, "status": "valid",
                    "file_sha256": "0" * 64, "updated_at": written_at,
                }
            )  # fmt: skip
    amounts = {"announced": len(numbers), "kept": len(numbers), "resource_type": "payment_intent"}
    rows[PayoutCount] = [{"connection": "main", "payout_id": payout, "pulled_at": at} | amounts]
    rows[Payout] = [
        own | {"id": payout, "mode": "test", "status": "succeeded", "amount": total - len(numbers) * 30, "body": "{}",
               "created_at": at + timedelta(hours=4), "succeeded_at": at + timedelta(hours=5), "version_at": at,
               "version_rank": 0, "version_event": "", "recipient_number": "00012345678"}
    ]  # fmt: skip
    return rows


def fill(store: Store, days: Iterable[Rows]) -> None:
    for rows in days:
        with store.connection() as database:
            for table, some in rows.items():
                database.execute(sa.insert(core_of(table)), some)


def make_books(folder: Path, closed: list[int], payments: int) -> float:
    """Make books after so many closed months each; return the bytes that freezing the last month took."""
    growing, grown = folder / "growing", 0
    growing.mkdir(parents=True)
    installation = open_at(growing)
    schema.upgrade(installation.store)
    reached = {"connection": "main", "complete_until": datetime(2099, 1, 1, tzinfo=UTC), "objects": 0, "offered": True}
    with installation.store.connection() as database:
        rows = [reached | {"stream": one, "pulled_at": datetime(2099, 1, 1, tzinfo=UTC)} for one in trade.STREAMS]
        database.execute(sa.insert(core_of(Checkpoint)), rows)
    for month in range(max(closed) + 1):
        fill(installation.store, make_days(month, range(EARLY), payments))
        if month:
            grown = close_month(installation, month)
        if month in closed:
            installation.store.close()
            shutil.copytree(growing, folder / str(month))
            installation = open_at(folder / str(month))
            fill(installation.store, make_days(month, range(EARLY, DAYS), payments))
            installation.store.close()
            installation = open_at(growing)
        if month < max(closed):
            fill(installation.store, make_days(month, range(EARLY, DAYS), payments))
    installation.store.close()
    shutil.rmtree(growing)
    return grown


def close_month(installation: Installation, month: int) -> int:
    """Close the days before a month and have a run freeze them, as if that were now; return by how much that grew."""
    store, first = installation.store, first_of(month)
    began_at = datetime.combine(first, datetime.min.time(), UTC)
    with store.transaction() as session:
        session.add(Period(connection="main", until=first - timedelta(days=1), ends_at=began_at, run_id="", reason="",
                           closed_by="bench", closed_at=began_at))  # fmt: skip
    before = size_of(store)
    run(installation, installation.settings.connection("main"), as_of=first + timedelta(days=EARLY))
    grown = size_of(store) - before
    with store.transaction() as session:
        session.execute(sa.update(Horizon).values(seen_at=began_at + timedelta(days=EARLY, hours=1)))
    return grown


def size_of(store: Store) -> int:
    pages = sa.text("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
    with store.connection() as database:
        return int(database.scalar(pages) or 0)


def work(folder: Path) -> Measured:
    """Measure one run that publishes nothing."""
    save_memory()
    installation = open_at(folder)
    main = installation.settings.connection("main")
    as_of = first_of(int(folder.name)) + timedelta(days=DAYS)
    began, used = time.perf_counter(), time.process_time()
    found = run(installation, main, as_of=as_of, dry_run=True)
    judged = 0 if found.result is None else int((found.result.lines["line"] == 1).sum())
    return time.perf_counter() - began, time.process_time() - used, peak(), judged


def child(folder: Path) -> Measured:
    done = subprocess.run(
        [sys.executable, __file__, "--work", str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    seconds, used, memory, items = json.loads(done.stdout)
    return seconds, used, memory, items


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--closed", type=int, nargs="+", default=[12, 36])
    parser.add_argument("--payments", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--work", type=Path)
    asked = parser.parse_args()
    if asked.work:
        print(json.dumps(work(asked.work)))
        return
    with TemporaryDirectory() as made:
        folder, closed = asked.folder or Path(made), [0, *asked.closed]
        if not (folder / str(max(closed))).exists():
            grown = make_books(folder, closed, asked.payments)
            print(f"freezing a month took {grown / 1e6:.1f} MB")
        report(folder, closed, asked.rounds)


def report(folder: Path, closed: list[int], rounds: int) -> None:
    found: dict[int, list[Measured]] = {number: [] for number in closed}
    for shift in range(rounds):
        for number in itertools.islice(itertools.cycle(closed), shift, shift + len(closed)):
            found[number].append(child(folder / str(number)))
    print("| closed months | s | processor s | to the month alone | memory | to it | items judged |\n|" + "---|" * 7)
    alone = [median(column) for column in zip(*found[0], strict=True)]
    for number, some in found.items():
        *times, memory, items = zip(*some, strict=True)
        wall, used = (f"{median(one):.2f} ({min(one):.2f}–{max(one):.2f})" for one in times)
        ratio, more = median(times[1]) / alone[1], median(memory) / alone[2]
        print(
            f"| {number} | {wall} | {used} | {ratio:.2f} | {median(memory):.0f} MB | {more:.2f} | {median(items):.0f} |"
        )


if __name__ == "__main__":
    main()
