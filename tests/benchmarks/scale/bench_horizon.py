"""A night over one open month with and without closed months before it: seconds, memory, what a month takes on disk.

python tests/benchmarks/scale/bench_horizon.py [--closed 12] [--payments 15000] [--rounds 5] [--folder EMPTY]

The books hold `closed` months and the open one, of which a fifth was there when the last month was closed. Each round
runs both, each in a process of its own, in another order each time: from the first query to what a run would publish.
Processor seconds are what neighbours disturb least.
"""

import argparse
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
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
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.meaning import sale_of
from consumer.facts.store import Store
from consumer.facts.tables.provider import PaymentIntent, Payout, PayoutCount, PayoutItem
from consumer.facts.tables.sync import Checkpoint
from consumer.facts.tables.types import core_of
from reconcile.desk.decisions import Signature
from reconcile.runs.close_period import close_period
from reconcile.runs.run import run
from reconcile.tables.books import LocalInvoice
from tests.benchmarks.reconcile import trade
from tests.benchmarks.scale.bench_engine import peak

# Seconds, processor seconds, peak of memory in MB, items judged.
Measured: TypeAlias = tuple[float, float, int, int]
Rows: TypeAlias = dict[type[SQLModel], list[dict[str, object]]]
DAYS = 25
# The last day of the last closed month, and the day of the run that closes it.
UNTIL, CLOSED_ON = date(2026, 9, 30), date(2026, 10, 5)
AS_OF = date(2026, 10, 26)


def open_at(folder: Path) -> Installation:
    url = f"sqlite:///{folder}/cuadre.db"
    settings = load({
        "CUADRE_DATABASE_URL": url, "CUADRE_COUNTRY": "cl", "CUADRE_PROVIDER_URL": "http://127.0.0.1:1",
        "CUADRE_API_KEY": "sk_test_sandbox", "CUADRE_DATA_DIR": str(folder), "CUADRE_HORIZON": "true",
        "CUADRE_SECRET_KEY": "a key that only tests know",
    }, folder=folder)  # fmt: skip
    return Installation(settings, Store(url))


def make_days(back: int, days: range, payments: int, *, written_at: datetime | None = None) -> Iterator[Rows]:
    """Yield the trade of some days of a month, so many months before the open one; numbers never come twice."""
    months = 12 * 2026 + 9 - back
    for day in days:
        at = datetime(months // 12, months % 12 + 1, day + 1, 15, tzinfo=UTC)
        daily = payments // DAYS
        numbers = range(20_000_000 - (back * DAYS - day) * daily, 20_000_000 - (back * DAYS - day - 1) * daily)
        yield make_day(numbers, f"po_{at:%Y%m%d}", at, written_at or at)


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


def fill(store: Store, days: Iterator[Rows]) -> None:
    for rows in days:
        with store.connection() as database:
            for table, some in rows.items():
                database.execute(sa.insert(core_of(table)), some)


def make_books(folder: Path, closed: int, payments: int) -> float:
    """Fill a database, closing its months where there are any; return the bytes that freezing a month took."""
    folder.mkdir(parents=True)
    installation = open_at(folder)
    schema.upgrade(installation.store)
    reached = {"connection": "main", "complete_until": datetime(2026, 12, 1, tzinfo=UTC), "objects": 0, "offered": True}
    with installation.store.connection() as database:
        rows = [reached | {"stream": one, "pulled_at": datetime(2026, 12, 1, tzinfo=UTC)} for one in trade.STREAMS]
        database.execute(sa.insert(core_of(Checkpoint)), rows)
    for back in range(closed, 0, -1):
        fill(installation.store, make_days(back, range(DAYS), payments))
    fill(installation.store, make_days(0, range(5), payments))
    grown = 0
    if closed:
        main = installation.settings.connection("main")
        signed = Signature("bench", "closed", utc_now())
        close_period(installation, main, until=UNTIL, as_of=CLOSED_ON, signed=signed)
        before = size_of(installation.store)
        run(installation, main, as_of=CLOSED_ON + timedelta(days=1))
        grown = size_of(installation.store) - before
    fill(installation.store, make_days(0, range(5, DAYS), payments, written_at=utc_now()))
    installation.store.close()
    return grown / max(closed, 1)


def size_of(store: Store) -> int:
    with store.connection() as database:
        return int(
            database.scalar(sa.text("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"))
        )


def work(folder: Path) -> Measured:
    """Measure one run that publishes nothing."""
    installation = open_at(folder)
    began, used = time.perf_counter(), time.process_time()
    found = run(installation, installation.settings.connection("main"), as_of=AS_OF, dry_run=True)
    return time.perf_counter() - began, time.process_time() - used, peak(), found.summary["items"]


def child(folder: Path) -> Measured:
    done = subprocess.run(
        [sys.executable, __file__, "--work", str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    seconds, used, memory, items = json.loads(done.stdout)
    return seconds, used, memory, items


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--closed", type=int, default=12)
    parser.add_argument("--payments", type=int, default=15_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--work", type=Path)
    asked = parser.parse_args()
    if asked.work:
        print(json.dumps(work(asked.work)))
        return
    with TemporaryDirectory() as made:
        folder = asked.folder or Path(made)
        report(asked, folder)


def report(asked: argparse.Namespace, folder: Path) -> None:
    names, grown = {"the month alone": 0, f"after {asked.closed} closed": asked.closed}, 0.0
    folders = {name: folder / str(closed) for name, closed in names.items()}
    for name, closed in names.items():
        if not folders[name].exists():
            grown = make_books(folders[name], closed, asked.payments)
    found: dict[str, list[Measured]] = {name: [] for name in names}
    for number in range(asked.rounds):
        for name in itertools.islice(itertools.cycle(names), number, number + len(names)):
            found[name].append(child(folders[name]))
    print("| books | s | processor s | memory | items judged |\n|---|---|---|---|---|")
    for name, rounds in found.items():
        *times, memory, items = zip(*rounds, strict=True)
        spread = " | ".join(f"{median(one):.2f} ({min(one):.2f}–{max(one):.2f})" for one in times)
        print(f"| {name} | {spread} | {median(memory):.0f} MB | {median(items):.0f} |")
    alone, after = ([median(column) for column in zip(*rounds, strict=True)] for rounds in found.values())
    wall, used, memory = (late / early for late, early in zip(after[:3], alone[:3], strict=True))
    print(f"ratio {wall:.2f} in time, {used:.2f} in processor time, {memory:.2f} in memory; "
          f"{asked.payments} payments a month; freezing took {grown / 1e6:.1f} MB a month")  # fmt: skip


if __name__ == "__main__":
    main()
