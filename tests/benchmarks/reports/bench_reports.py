"""Files of a million rows and pages of a hundred thousand payouts: seconds, bytes and ratios, median of rounds.

Variants run interleaved, so that noise falls on all alike. Prints one line a figure; Sizes are options.
"""

import argparse
import gc
import io
import math
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import pyarrow as pa
import pyarrow.csv as pa_csv
import sqlalchemy as sa
import xlsxwriter

from consumer.facts.columns import Kind
from consumer.facts.store import Store
from reports.output import files
from reports.output.export import Format
from reports.output.files import Shape
from reports.shapes import build
from reports.shapes.build import CURRENCY, Report
from reports.shapes.definitions import CATALOGUE
from reports.shapes.spans import WHOLE
from tests.benchmarks.ingest.processes import find_server, tree_cpu
from tests.benchmarks.reports import world
from tests.benchmarks.reports.made_up import fill, lines
from tests.benchmarks.reports.made_up_facts import payout_id

DETAIL = CATALOGUE["payout-detail"]
PAGES = (
    "/", "/payouts", "/payouts?page=1900", "/payouts?status=open", "/payouts?q=po_00500", "/payouts/{middle}",
    "/exceptions", "/exceptions?q=pi_777", "/exceptions?page=390&state=all", "/exceptions/main/0000000000000007",
    "/view/receivables", "/view/receivables?page=700", "/view/documents", "/view/documents?page=7000",
    "/view/documents?from=2026-03-01&to=2026-03-31", "/view/in-transit", "/view/clearing", "/view/control",
    "/view/control?from=2024-03-01&to=2024-03-31", "/view/run-diff", "/view/transfers", "/view/drift",
    "/bank", "/bank?state=unexplained", "/bank/main/mov_77", "/disputes", "/proof", "/tax", "/saved",
    "/view/receivables?sort=-balance",
    "/operation", "/operation/events", "/operation/events?page=1900", "/operation/runs", "/operation/trail",
    "/operation/jobs", "/reports", "/settings", "/people",
    "/api/v1/payout-summary", "/api/v1/payout-detail", "/api/v1/documents", "/api/v1/receivables",
    "/api/v1/in-transit", "/api/v1/exceptions", "/api/v1/control", "/api/v1/clearing-rollforward", "/api/v1/events",
)  # fmt: skip
FIRST_BYTE_MS, HEAVIEST_KB = 300, 150
EMAIL, PASSWORD = "banco@tienda.test", "una clave de prueba"


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rounds(variants: dict[str, Callable[[], Any]], count: int) -> dict[str, list[float]]:
    """Time every variant once a round, in an order that turns."""
    found: dict[str, list[float]] = {name: [] for name in variants}
    names = list(variants)
    for turn in range(count):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            found[name].append(seconds(variants[name]))
    return found


def show(title: str, times: dict[str, list[float]], base: str) -> None:
    reference = statistics.median(times[base])
    for name, values in times.items():
        median = statistics.median(values)
        ratio = f"{median / reference:.2f} x {base}"
        print(f"{title}: {name}: {median:.2f} s ({min(values):.2f}-{max(values):.2f}), {ratio}")


def report_of(table: pa.Table) -> Report:
    facts = {"run_numbers": "r0001", "countries": "cl", "connections": "main"}
    return Report(DETAIL, table, WHOLE, date(2026, 10, 31), facts=facts)


def drain(pieces: Iterator[bytes]) -> int:
    return sum(map(len, pieces))


def pandas_csv(table: pa.Table) -> None:
    table.drop_columns([CURRENCY]).to_pandas().to_csv(io.StringIO(), index=False)


def bench_csv(rows: int, count: int) -> None:
    """Write the file once the report is built; pyarrow's own writer and pandas write the same columns unformatted."""
    # A fifth made up and taken five times: making up is slower than everything measured here.
    parts = [("main", part) for part in lines(rows // 5)] * 5
    start = time.perf_counter()
    table = build.from_columns(DETAIL, parts)
    print(f"build of {rows} rows from stored columns: {time.perf_counter() - start:.2f} s")
    report = report_of(table)
    variants: dict[str, Callable[[], Any]] = {
        "cuadre machine": lambda: drain(files.pieces([report], Shape())),
        "cuadre cl": lambda: drain(files.pieces([report], Shape(Format.CSV, "cl", "es-CL"))),
        "pyarrow.csv": lambda: pa_csv.write_csv(table, io.BytesIO()),
    }
    show(f"CSV of {rows} rows", rounds(variants, count), "pyarrow.csv")
    print(f"CSV of {rows} rows: pandas, once: {seconds(lambda: pandas_csv(table)):.2f} s")


def plain_workbook(columns: Sequence[tuple[Kind, list[Any]]], rows: int) -> None:
    """Write the same cells with xlsxwriter alone, in constant memory: each kind by its own method and format."""
    book = xlsxwriter.Workbook(io.BytesIO(), {"constant_memory": True})
    sheet = book.add_worksheet()
    plain, number, day = (
        book.add_format(),
        book.add_format({"num_format": "#,##0"}),
        book.add_format({"num_format": "d"}),
    )
    for row in range(rows):
        for place, (kind, values) in enumerate(columns):
            value = values[row]
            if value is None:
                continue
            if kind in {Kind.MONEY, Kind.INT}:
                sheet.write_number(row + 1, place, value, number)
            elif kind in {Kind.DATE, Kind.INSTANT}:
                sheet.write_datetime(row + 1, place, value, day)
            else:
                sheet.write_string(row + 1, place, value, plain)
    book.close()


def bench_xlsx(rows: int, count: int) -> None:
    table = build.from_columns(DETAIL, (("main", part) for part in lines(rows)))
    report = report_of(table)
    cells = []
    for column in DETAIL.columns:
        values = table.column(column.name).to_pylist()
        if column.kind is Kind.INSTANT:
            values = [None if value is None else value.replace(tzinfo=None) for value in values]
        cells.append((column.kind, values))
    variants: dict[str, Callable[[], Any]] = {
        "cuadre": lambda: drain(files.pieces([report], Shape(Format.XLSX, "cl", "es-CL"))),
        "xlsxwriter": lambda: plain_workbook(cells, rows),
    }
    show(f"XLSX of {rows} rows x {len(cells)} columns", rounds(variants, count), "xlsxwriter")


def processor_ms(store: Store, work: Callable[[], Any], count: int = 1) -> float:
    """Return the processor time of some work, in this process and in those of a database server."""
    server = find_server(store)
    used = [] if server is None else [server]
    start = time.process_time() + tree_cpu(used)
    for _ in range(count):
        work()
    return 1000 * (time.process_time() + tree_cpu(used) - start) / count


def bench_pages(given: argparse.Namespace) -> None:
    """Open each page of a run of many payouts: whole answer in this process, without the network."""
    from flask import Flask  # noqa: PLC0415 - not needed for the files

    from reports.making import columnar  # noqa: PLC0415 - its loading is not what is measured
    from reports.pages import register, warm  # noqa: PLC0415 - as above
    from reports.search import filling  # noqa: PLC0415 - as above

    with world.open_world(given) as installation:
        if world.is_empty(installation.store):
            fill(installation.store, given.payouts, email=EMAIL, password=PASSWORD)
            filling.fill(installation, installation.settings.connection("main"))
            if not installation.store.is_sqlite:
                with installation.store.connection() as database:
                    database.execute(sa.text("ANALYZE"))
        app = Flask("bench")
        app.config["SECRET_KEY"] = "only for the measurement"
        register(app, installation)
        # As where it is served: templates are compiled, and lists unpacked, in threads when the process starts.
        warm(app)
        for thread in threading.enumerate():
            if thread.name == "templates":
                thread.join()
        columnar.read_ahead(installation, datetime.now(UTC))
        # As `cuadre serve` does once it has loaded: what stays is not looked through for garbage.
        gc.collect()
        gc.freeze()
        client = app.test_client()
        page = client.get("/login").get_data(as_text=True)
        token = page.split('name="csrf_token" value="', 1)[1].split('"', 1)[0]
        client.post("/login", data={"email": EMAIL, "password": PASSWORD, "csrf_token": token})
        answers: dict[str, Any] = {}

        def keep_answer(path: str) -> None:
            answers[path] = client.get(path)

        pages = [path.replace("{middle}", payout_id(given.payouts // 2)) for path in PAGES if given.page in {"", path}]
        first, first_worked = {}, {}
        for path in pages:
            before = time.perf_counter()
            first_worked[path] = processor_ms(installation.store, partial(keep_answer, path))
            first[path] = time.perf_counter() - before
        again: dict[str, Callable[[], Any]] = {path: partial(client.get, path) for path in pages}
        times = rounds(again, given.rounds)
        worked = {path: processor_ms(installation.store, again[path], given.rounds) for path in pages}
        for path, answer in answers.items():
            weight, own = len(answer.data) / 1000, sorted(times[path])
            p95 = 1000 * own[max(0, math.ceil(len(own) * 0.95) - 1)]
            shown = f"first {1000 * first[path]:.0f} ms, {first_worked[path]:.0f} of processor, "
            shown += f"then {1000 * statistics.median(own):.0f} ms, p95 {p95:.0f}, "
            shown += f"{worked[path]:.0f} ms of processor, {weight:.0f} kB"
            is_page = not path.startswith("/api/")
            is_over = 1000 * first[path] > FIRST_BYTE_MS or p95 > FIRST_BYTE_MS or (is_page and weight > HEAVIEST_KB)
            print(f"page {path}: {answer.status_code}, {shown}{', over its budget' if is_over else ''}", flush=True)
        refused = [path for path, answer in answers.items() if answer.status_code != HTTPStatus.OK]
        if refused:
            raise SystemExit(f"these pages were not answered with 200: {' '.join(refused)}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--sheet-rows", type=int, default=50_000)
    parser.add_argument("--payouts", type=int, default=100_000)
    parser.add_argument("--page", default="", help="the one page to measure")
    world.add_options(parser)
    parser.add_argument("--only", choices=["csv", "xlsx", "pages"])
    asked = parser.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {asked.rounds} rounds, exact decimals of {Decimal.__name__}")
    if asked.only in {None, "csv"}:
        bench_csv(asked.rows, asked.rounds)
    if asked.only in {None, "xlsx"}:
        bench_xlsx(asked.sheet_rows, asked.rounds)
    if asked.only in {None, "pages"}:
        bench_pages(asked)


if __name__ == "__main__":
    main()
