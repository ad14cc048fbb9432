"""The journal of a year of trade as a file: seconds and memory, at a tenth of the lines and at all of them."""

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from reconcile.journal.accounts import read_accounts
from reconcile.journal.booking import Bookkeeper
from reconcile.journal.collected import LINE, Terms
from reconcile.journal.entries import PAYOUT, Book, Pieces
from reconcile.journal.exporting import EARLIEST, Balance, DayEnd, Export, Remembered
from reconcile.journal.fields import About
from reconcile.journal.layouts import Writer
from reconcile.journal.profiles import find_profile
from reconcile.journal.remembered import pack

FIRST, PIECE = date(2026, 1, 1), 10_000
LINES_A_DAY = 2_740
FEE = 100


def amounts(numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return 1_000 + numbers % 997


def make_piece(start: int, stop: int, *, payments: int, days: int) -> pa.Table:
    """Some payments in their order, each with its document, each day's in one payout."""
    numbers = np.arange(start, stop)
    on = numbers * days // payments
    size, amount = len(numbers), pa.array(amounts(numbers))
    texts = {
        "payout_id": [f"po_{day:05d}" for day in on.tolist()],
        "resource_type": ["payment_intent"] * size,
        "resource_id": [f"pi_{number:020d}" for number in numbers.tolist()],
        "currency": ["CLP"] * size,
        "outcome": ["matched"] * size,
        "doc_type": ["33"] * size,
        "doc_folio": [str(number) for number in numbers.tolist()],
        "doc_key": [f"cl:33::{number}" for number in numbers.tolist()],
        "doc_customer_tax_id": ["76543210-3"] * size,
    }
    figures = dict.fromkeys(("amount_signed", "doc_total", "applied_amount"), amount)
    zeros = dict.fromkeys(("doc_balance_after", "doc_vat"), pa.array(np.zeros(size, dtype=np.int64)))
    dates = pa.array(on.astype(np.int32) + (FIRST - date(1970, 1, 1)).days, pa.int32()).cast(pa.date32())
    known = {**texts, **figures, **zeros, "line": pa.array(np.ones(size, dtype=np.int64)), "local_date": dates}
    return pa.table({name: known.get(name, pa.nulls(size, pa.string())) for name in LINE})


def make_book(folder: Path, payments: int, days: int) -> tuple[Book, list[Balance]]:
    """A year of trade on disk, piece by piece, as a run keeps it; and what the provider owed each evening."""
    starts = range(0, payments, PIECE)
    for number, start in enumerate(starts):
        piece = make_piece(start, min(start + PIECE, payments), payments=payments, days=days)
        pq.write_table(piece, folder / str(number), compression="zstd", use_dictionary=False)
    numbers = np.arange(payments)
    sums = np.zeros(days, dtype=np.int64)
    np.add.at(sums, numbers * days // payments, amounts(numbers))
    next_days = [FIRST + timedelta(days=day + 1) for day in range(days)]
    known = {
        "payout_id": [f"po_{day:05d}" for day in range(days)], "currency": ["CLP"] * days,
        "status": ["succeeded"] * days, "payout_date": next_days, "bank_date": next_days,
        "payout_amount": sums - FEE, "bank_amount": sums - FEE, "fee_total": [FEE] * days, "difference": [0] * days,
    }  # fmt: skip
    payouts = pa.table({name: known.get(name, pa.nulls(days, pa.int64())) for name in PAYOUT})
    owed = [0, *sums.tolist(), 0]
    balances = [Balance(FIRST + timedelta(days=day), "CLP", owed[day], owed[day + 1]) for day in range(days + 1)]
    pieces = Pieces(len(starts), lambda number, names: pq.ParquetFile(folder / str(number)).read(columns=list(names)))
    return Book(pieces, payouts, Terms("cl", 5)), balances


def export(folder: Path, lines: int, profile: str) -> Iterator[str]:
    """Write one file, pack every entry as it is remembered, and say what it took."""
    days = max(1, lines // LINES_A_DAY)
    book, balances = make_book(folder, lines // 2, days)
    end = FIRST + timedelta(days=days + 1)
    accounts = read_accounts('chart = "cl"', "main", "cl", ("main",))
    bookkeeper = Bookkeeper("main", accounts)
    plan = Export(book.entries, bookkeeper, Remembered(), balances, EARLIEST, end, end)
    about = About("main", "cl", EARLIEST, end, "a-run", "es-CL", options={"Journal": "Diario"})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, used = time.perf_counter(), time.process_time()
    writer = Writer(find_profile(profile), about, lambda name: (folder / name).open("xb"))
    count = kept = 0
    for item in plan.plan():
        if not isinstance(item, DayEnd):
            writer.write(item.entry)
            count += 2 * len(item.entry.lines)
            kept += len(pack(item.entry, item.digest or b"")[-1])  # type: ignore[arg-type]  # the last is bytes
    writer.finish()
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield (
        f"| {profile} | {count:,} | {seconds:.1f} s | {processor:.1f} s | {before / 1024:.0f} MB | "
        f"{peak / 1024:.0f} MB | {kept / 1e6:.1f} MB |"
    )


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", default="journal")
    parser.add_argument("--alone", action="store_true", help="this size once, in this process")
    asked = parser.parse_args(given)
    if asked.alone:
        with TemporaryDirectory() as folder:
            for row in export(Path(folder), asked.lines, asked.profile):
                print(row)
        return
    print("| layout | lines | wall | processor | memory before | peak | remembered |\n|---|---|---|---|---|---|---|")
    for lines in (asked.lines // 10, asked.lines):
        for _ in range(asked.rounds):
            words = ["--alone", "--lines", str(lines), "--profile", asked.profile]
            subprocess.run([sys.executable, __file__, *words], check=True)


if __name__ == "__main__":
    main()
