"""Rows that mean harm: the text of a payer, a file or a colleague is text on every page and in every file."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from flask.testing import FlaskClient
from sqlmodel import SQLModel, col

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.tables.inbox import Event
from reconcile.tables.books import BankFile, LocalInvoice
from reconcile.tables.closing import ClosedFigure, Period, PeriodAdjustment
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import PayoutResult, ResultChunk
from reports.tables import AuditEntry

MARKUP = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
OF_TABLES: dict[type[SQLModel], tuple[str, ...]] = {
    ExceptionRow: ("title", "suggested_action", "owner", "note", "resolution", "subject", "evidence"),
    Event: ("type", "resource_id", "error"),
    LocalInvoice: ("order_ref", "customer_name", "customer_tax_id"),
    BankFile: ("name",),
    Period: ("reason", "closed_by"),
    ClosedFigure: ("words",),
    PeriodAdjustment: ("before", "after"),
}
OF_PAYOUTS = ("recipient_institution", "bank_movement_id", "fee_source")
OF_LINES = ("resource_subtype", "source_event_id", "customer_tax_id", "customer_name", "order_ref", "match_rule",
            "rivals", "doc_series", "doc_folio", "exception_code", "note")  # fmt: skip
OF_DOCUMENTS = ("series", "folio", "customer_tax_id", "customer_name", "exception_code")
TEXTS = [
    "=1+1", "+56 9 1234", "-1", "@SUM(A1)", "\t=1+1", "\r=1+1", '=HYPERLINK("http://mal.test";"a")', "＝1+1",
    "646180157000000004", "6000000-K", "00017", 'a "quoted", one; two', "line\r\nbreak", "\U0001f9fe ñandú",
    "\u202etxt.exe", "0", "TRUE", "NA", "1e5", "2-3", "x" * 2_000,
]  # fmt: skip


@pytest.fixture
def write(books: Installation, take_out: Callable[[Installation], None]) -> Callable[[str], None]:
    def everywhere(text: str) -> None:
        put(books, text)
        take_out(books)

    return everywhere


def put(installation: Installation, text: str) -> None:
    """Put a text into every free field of the run, the work list, the books and the inbox."""
    with installation.store.transaction() as session:
        for table, names in OF_TABLES.items():
            session.execute(sa.update(table).values(dict.fromkeys(names, text)))
        session.add(AuditEntry(at=utc_now(), who=text, action="login", subject=text))
        for row in session.scalars(sa.select(PayoutResult)):
            row.columns = json.dumps(json.loads(row.columns) | dict.fromkeys(OF_PAYOUTS, text))
            session.add(row)
        # What is taken out of lines and documents is taken out again afterwards.
        for chunk in session.scalars(sa.select(ResultChunk).where(col(ResultChunk.kind).in_(["line", "document"]))):
            table = pq.read_table(pa.BufferReader(chunk.content))
            for name in OF_LINES if chunk.kind == "line" else OF_DOCUMENTS:
                values = pa.array([text] * table.num_rows, table.schema.field(name).type)
                table = table.set_column(table.column_names.index(name), name, values)
            sink = pa.BufferOutputStream()
            pq.write_table(table, sink)
            chunk.content = sink.getvalue().to_pybytes()
            session.add(chunk)


def test_markup_is_text_on_every_page(
    write: Callable[[str], None], client: FlaskClient, every_page: Sequence[str]
) -> None:
    """No field of any row reaches a page unescaped, in either language, nor does a search for it."""
    write(MARKUP)
    escaped = 0
    asked = quote(MARKUP.replace("=", " "))
    for path in [*every_page, f"/payouts?q={asked}", f"/exceptions?q={asked}", f"/operation/events?q={asked}"]:
        answer = client.get(path)
        page = answer.get_data(as_text=True)
        assert answer.status_code in {200, 302}, path
        assert "<script>" not in page, path
        assert "<img src=x" not in page, path
        escaped += "&lt;script&gt;" in page
    assert escaped > 12


def test_markup_is_text_for_programs(write: Callable[[str], None], client: FlaskClient) -> None:
    """JSON is sent as JSON with no sniffing, so that no browser takes it for a page."""
    write(MARKUP)
    described = client.get("/api/v1/openapi.json").get_json()["paths"]
    for path in (path for path, methods in described.items() if "get" in methods):
        answer = client.get(f"/api/v1{path}")
        assert (answer.status_code, answer.mimetype) == (200, "application/json"), path
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def names_of(client: FlaskClient, path: str) -> dict[str, Any]:
    """Read the first row of a file by its headings."""
    content = client.get(path).data
    if path.partition("?")[0].endswith(".xlsx"):
        sheet = openpyxl.load_workbook(io.BytesIO(content)).worksheets[0]
        assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n", "d", "inlineStr"}
        return {str(title.value): cell.value for title, cell in zip(sheet[1], sheet[2], strict=True)}
    delimiter = ";" if "profile=cl" in path else ","
    rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=delimiter))
    return dict(zip(rows[0], rows[1], strict=True))


@pytest.mark.parametrize("text", TEXTS, ids=[f"{number}" for number in range(len(TEXTS))])
def test_text_is_the_same_in_every_file(write: Callable[[str], None], client: FlaskClient, text: str) -> None:
    """Programs read every character; people's text files defuse formulas; a workbook holds text and no formula."""
    write(text)
    is_risky = text[0] in "=+-@\t\r＝"
    assert names_of(client, "/reports/documents.csv")["customer_name"] == text
    assert names_of(client, "/reports/documents.csv?profile=cl")["Cliente"] == ("'" if is_risky else "") + text
    assert names_of(client, "/reports/documents.csv?profile=mx")["Cliente"] == ("'" if is_risky else "") + text
    shown = names_of(client, "/reports/documents.xlsx?profile=cl")["Cliente"]
    assert shown.replace("_x000D_", "\r").replace("\r\n", "\n") == text.replace("\r\n", "\n")
    table = pq.read_table(pa.BufferReader(client.get("/reports/documents.parquet").data))
    assert table["customer_name"][0].as_py() == text


def test_a_long_text_is_cut_for_people_and_whole_for_programs(
    write: Callable[[str], None], client: FlaskClient
) -> None:
    """People read 2,000 characters, the last one a mark; a program's workbook holds what a cell can, its CSV all."""
    write("ñ" * 400_000)
    for path in ("documents.csv?profile=cl", "documents.csv?profile=mx", "documents.xlsx?profile=cl"):
        assert names_of(client, f"/reports/{path}")["Cliente"] == "ñ" * 1_999 + "…"
    assert names_of(client, "/reports/documents.xlsx")["customer_name"] == "ñ" * 32_766 + "…"
    table = pq.read_table(pa.BufferReader(client.get("/reports/documents.parquet").data))
    assert table["customer_name"][0].as_py() == "ñ" * 400_000
    machine = client.get("/reports/documents.csv").get_data(as_text=True)
    assert "ñ" * 400_000 in machine
    assert "…" not in machine


def test_a_cell_is_measured_as_spreadsheets_count(write: Callable[[str], None], client: FlaskClient) -> None:
    """A sign outside the first plane counts two, and is not parted."""
    write("😀" * 40_000)
    assert names_of(client, "/reports/documents.xlsx")["customer_name"] == "😀" * 16_383 + "…"


def test_no_page_prints_a_text_without_end(
    write: Callable[[str], None], client: FlaskClient, every_page: Sequence[str]
) -> None:
    """Every page cuts what it prints; only the body of an event, which is there to be read whole, is not cut."""
    write("ñ" * 400_000)
    cut = 0
    for path in every_page:
        page = client.get(path).get_data(as_text=True)
        assert "ñ" * 2_000 not in page, path
        cut += "ñ" * 1_000 + "…" in page
    assert cut > 8


def test_the_body_of_an_event_is_whole(client: FlaskClient, books: Installation) -> None:
    """Its page shows what came in, character by character."""
    with books.store.transaction() as session:
        session.execute(sa.update(Event).values(body=b"<" + b"x" * 5_000 + b">"))
        event = session.scalars(sa.select(Event)).first()
        assert event is not None
        path = f"/operation/events/{event.connection}/{event.id}"
    assert "&lt;" + "x" * 5_000 + "&gt;" in client.get(path).get_data(as_text=True)
