"""Files as other programs open them: openpyxl, pandas and LibreOffice read back what was written, ids whole."""

import csv
import io
import shutil
import subprocess
from datetime import date, datetime
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

from reports.output import files
from reports.output.export import Format
from reports.output.files import Shape
from reports.shapes import build
from reports.shapes.build import Report
from reports.shapes.definitions import CATALOGUE
from reports.shapes.spans import WHOLE

SOFFICE = shutil.which("soffice") or shutil.which("libreoffice")
# Eighteen digits are three more than a spreadsheet's number keeps.
CLABE, RUT, ZEROS = "646180157000000004", "76078328-5", "00017"
ROW: dict[str, Any] = {
    "transfer_id": "tr_1",
    "direction": "outbound",
    "status": "succeeded",
    "amount": 123456789,
    "currency": "MXN",
    "counterparty_tax_id": RUT,
    "counterparty_name": '=HYPERLINK("http://mal.test";"ñandú")',
    "institution": "STP",
    "account_masked": ZEROS,
    "tracking_key": CLABE,
    "operating_date": date(2026, 10, 31),
    "calendar_ts": datetime.fromisoformat("2026-10-31T23:59:59+00:00"),
    "return_code": "01",
    "connection": "main",
}


@pytest.fixture
def report() -> Report:
    """One transfer with everything a spreadsheet is known to spoil."""
    row = dict.fromkeys(CATALOGUE["transfers"].names) | ROW
    table = build.to_table(CATALOGUE["transfers"], [row], currency=lambda found: str(found["currency"]))
    facts = {"run_numbers": "r0001", "countries": "mx", "connections": "main"}
    return Report(CATALOGUE["transfers"], table, WHOLE, date(2026, 10, 31), facts=facts)


def content(report: Report, file_format: Format, profile: str, language: str) -> bytes:
    return b"".join(files.pieces([report], Shape(file_format, profile, language)))


def cells_of(rows: list[list[str]]) -> dict[str, str]:
    return dict(zip(rows[0], rows[1], strict=True))


def test_openpyxl_reads_typed_cells(report: Report) -> None:
    """Identifiers are text, amounts numbers, days dates, and text that looks like a formula is text."""
    book = openpyxl.load_workbook(io.BytesIO(content(report, Format.XLSX, "mx", "es-MX")))
    head, row = book.worksheets[0].iter_rows(values_only=True)
    cells = dict(zip(head, row, strict=True))
    assert (cells["Clave de rastreo"], cells["Cuenta"], cells["Código de devolución"]) == (CLABE, ZEROS, "01")
    assert cells["RFC de la contraparte"] == RUT
    assert cells["Importe"] == pytest.approx(1234567.89)
    assert cells["Fecha de operación"] == datetime(2026, 10, 31)  # noqa: DTZ001 - a sheet has no zones
    assert cells["Contraparte"] == '=HYPERLINK("http://mal.test";"ñandú")'
    kinds = {cell.value: cell.data_type for cell in book.worksheets[0][2]}
    assert kinds['=HYPERLINK("http://mal.test";"ñandú")'] == "s"


@pytest.mark.parametrize(
    ("profile", "separator", "decimal"), [("cl", ";", ","), ("mx", ",", "."), ("machine", ",", ".")]
)
def test_pandas_reads_the_text_whole(report: Report, profile: str, separator: str, decimal: str) -> None:
    """Read as text nothing is lost; read as its profile says, the amount is the amount."""
    data = io.BytesIO(content(report, Format.CSV, profile, "en"))
    names = {"machine": ("tracking_key", "account_masked", "counterparty_tax_id", "amount")}.get(
        profile, ("Tracking key", "Account", "Counterparty tax id", "Amount")
    )
    frame = pd.read_csv(
        data, sep=separator, decimal=decimal, encoding="utf-8-sig", dtype=dict.fromkeys(names[:3], "string")
    )
    assert [frame[name][0] for name in names[:3]] == [CLABE, ZEROS, RUT]
    assert frame[names[3]][0] == pytest.approx(1234567.89)


def test_pandas_reads_the_workbook(report: Report) -> None:
    """Asked for text, pandas gets every digit: the workbook holds text there and no number."""
    names = ("tracking_key", "account_masked")
    book = io.BytesIO(content(report, Format.XLSX, "machine", "en"))
    frame = pd.read_excel(book, sheet_name=0, dtype=dict.fromkeys(names, "string"))
    assert (frame["tracking_key"][0], frame["account_masked"][0]) == (CLABE, ZEROS)


def in_libreoffice(path: Path, *options: str) -> list[list[str]]:
    """Let LibreOffice open a file and save what it shows as plain text."""
    if SOFFICE is None:
        pytest.skip("no LibreOffice is installed")
    home = path.parent / "profile"
    # Comma, quote, UTF-8; days and numbers as the program's own locale writes them.
    shown = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false"
    command = [SOFFICE, f"-env:UserInstallation={home.as_uri()}", "--headless", *options, "--convert-to", shown]
    target = path.parent / "shown"
    subprocess.run([*command, "--outdir", str(target), str(path)], check=True, capture_output=True, timeout=300)
    with (target / path.with_suffix(".csv").name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_libreoffice_opens_the_workbook(report: Report, tmp_path: Path) -> None:
    """Ids keep every digit and nought, the amount is a number, the day a day, and no cell became a formula."""
    path = tmp_path / "transferencias.xlsx"
    path.write_bytes(content(report, Format.XLSX, "mx", "es-MX"))
    cells = cells_of(in_libreoffice(path))
    assert (cells["Clave de rastreo"], cells["Cuenta"], cells["RFC de la contraparte"]) == (CLABE, ZEROS, RUT)
    assert (cells["Importe"], cells["Fecha de operación"]) == ("1234567.89", "10/31/2026")
    assert cells["Contraparte"] == '=HYPERLINK("http://mal.test";"ñandú")'


def test_libreoffice_opens_the_text_of_chile(report: Report, tmp_path: Path) -> None:
    """With semicolon and text columns, as its import window offers, everything is whole and nothing runs."""
    path = tmp_path / "transferencias.txt"
    path.write_bytes(content(report, Format.CSV, "cl", "es-CL"))
    as_text = "/".join(f"{column}/2" for column in range(1, len(report.definition.columns) + 1))
    cells = cells_of(in_libreoffice(path, f"--infilter=Text - txt - csv (StarCalc):59,34,76,1,{as_text}"))
    assert (cells["Clave de rastreo"], cells["Cuenta"], cells["RUT de la contraparte"]) == (CLABE, ZEROS, RUT)
    assert cells["Monto"] == "1234567,89"
    assert cells["Contraparte"] == '\'=HYPERLINK("http://mal.test";"ñandú")'
