"""The spreadsheet round trip on the page: out in the reader's words, back row by row, stale rows refused alone."""

import csv
import io
from collections.abc import Callable

import openpyxl
import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from reconcile.tables.desk import Decision, ExceptionRow
from reports.access.people import Role, add_user, to_user

Csrf = Callable[..., str]


def upload(client: FlaskClient, csrf: Csrf, content: bytes, name: str = "planilla.csv") -> str:
    form = {"csrf_token": csrf(client, "/exceptions"), "sheet": (io.BytesIO(content), name)}
    answer = client.post("/exceptions/sheet", data=form, follow_redirects=True)
    assert answer.status_code == 200
    return answer.get_data(as_text=True)


def sheet_of(client: FlaskClient) -> list[dict[str, str]]:
    answer = client.get("/exceptions/sheet.csv")
    assert answer.status_code == 200
    return list(csv.DictReader(io.StringIO(answer.data.decode("utf-8-sig")), delimiter=";"))


def as_csv(rows: list[dict[str, str]]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0].keys(), delimiter=";")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode("utf-8-sig")


def row_of(installation: Installation, exception_id: str) -> ExceptionRow:
    with installation.store.reading() as session:
        found = session.get(ExceptionRow, ("main", exception_id))
    assert found is not None
    return found


def test_a_sheet_is_in_the_reader_s_words(client: FlaskClient) -> None:
    """What is open, under Spanish headings, with Spanish states and titles, amounts as figures and ids as text."""
    book = openpyxl.load_workbook(io.BytesIO(client.get("/exceptions/sheet.xlsx").data))
    rows = list(book.worksheets[0].iter_rows(values_only=True))
    head = rows[0]
    cells = [dict(zip(head, row, strict=True)) for row in rows[1:]]
    assert [cell["Título"] for cell in cells] == ["Documento vencido sin pago", "Pago sin documento"]
    assert (cells[0]["Estado"], cells[0]["Monto en riesgo"], cells[0]["Documento"]) == (
        "abierta",
        50000,
        "cl:33::1105",
    )
    assert cells[0]["Versión (no cambiar)"] == 1


def test_a_filled_sheet_comes_back_row_by_row(client: FlaskClient, csrf: Csrf, books: Installation) -> None:
    """An owner, a resolution and a match are taken, each row told; a row as it was is left alone."""
    rows = {row["Excepción (id)"]: row for row in sheet_of(client)}
    rows["11bb11bb11bb11bb"] |= {"Estado": "resuelta", "Resolución": "pagó por caja", "Responsable": "ana@tienda.test"}
    rows["00aa00aa00aa00aa"] |= {"Conciliar con (documento)": "cl:33::1105"}
    page = upload(client, csrf, as_csv(list(rows.values())))
    assert page.count(">Listo<") == 2
    resolved = row_of(books, "11bb11bb11bb11bb")
    assert (resolved.owner, resolved.state, resolved.resolution) == ("ana@tienda.test", "resolved", "pagó por caja")
    assert str(resolved.resolved_on) == "2026-10-08"
    with books.store.reading() as session:
        kept = session.scalars(sa.select(Decision)).all()
    assert [(row.kind, row.resource_id, row.doc_key, row.author) for row in kept] == [
        ("match", "pi_2", "cl:33::1105", "ana@tienda.test")
    ]


def test_a_stale_row_is_refused_alone(client: FlaskClient, csrf: Csrf, books: Installation) -> None:
    """Another person changed one of two rows meanwhile: it is refused with its reason, the other is taken."""
    rows = sheet_of(client)
    with books.store.transaction() as session:
        session.execute(sa.update(ExceptionRow).where(ExceptionRow.id == "00aa00aa00aa00aa").values(version=2))  # type: ignore[arg-type]
    page = upload(client, csrf, as_csv([{**row, "Responsable": "ana@tienda.test"} for row in rows]))
    assert page.count(">Rechazada<") == 1
    assert "después de la descarga (versión 2): mire otra vez." in page
    assert row_of(books, "00aa00aa00aa00aa").owner == ""
    assert row_of(books, "11bb11bb11bb11bb").owner == "ana@tienda.test"


def test_an_excel_sheet_comes_back(client: FlaskClient, csrf: Csrf, books: Installation) -> None:
    """The XLSX as it was sent, one cell filled in and saved by another program, is understood."""
    book = openpyxl.load_workbook(io.BytesIO(client.get("/exceptions/sheet.xlsx").data))
    sheet = book.worksheets[0]
    column = next(cell.column for cell in sheet[1] if cell.value == "Nota")
    sheet.cell(2, column).value = "=llamar al cliente"
    saved = io.BytesIO()
    sheet.cell(2, column).data_type = "s"
    book.save(saved)
    upload(client, csrf, saved.getvalue(), "planilla.xlsx")
    assert row_of(books, "11bb11bb11bb11bb").note == "=llamar al cliente"


@pytest.mark.parametrize("content", [b"nada;que;ver\r\n1;2;3\r\n", b"\x00\x01\x02", b"PK\x03\x04 broken"])
def test_another_file_is_refused_whole(client: FlaskClient, csrf: Csrf, content: bytes) -> None:
    """What is not the sheet changes nothing and is refused in one sentence on the list."""
    assert 'class="alert"' in upload(client, csrf, content)


def test_the_same_sheet_twice_changes_nothing_more(client: FlaskClient, csrf: Csrf, books: Installation) -> None:
    """A match that stands is not made again."""
    rows = [row for row in sheet_of(client) if row["Excepción (id)"] == "00aa00aa00aa00aa"]
    filled = as_csv([{**rows[0], "Conciliar con (documento)": "cl:33::1105"}])
    assert ">Listo<" in upload(client, csrf, filled)
    assert "1 filas venían sin cambios" in upload(client, csrf, filled)
    with books.store.reading() as session:
        assert len(session.scalars(sa.select(Decision)).all()) == 1


def test_a_viewer_gets_no_sheet(reconciled: Installation, app: Flask, login: Callable[..., FlaskClient]) -> None:
    """Only who may decide gets the sheet to decide in."""
    with reconciled.store.transaction() as session:
        add_user(session, to_user("vera@tienda.test", "otra clave larga", Role.VIEWER, now=utc_now()))
    viewer = login(app, "vera@tienda.test", "otra clave larga")
    assert viewer.get("/exceptions/sheet.csv").status_code == 403
