"""Files: the exact bytes of CSV in three profiles, what spreadsheets get, and what formulas become."""

import io
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet as pq
import pytest

from consumer.facts.installation import Installation
from reports.making import catalogue
from reports.output import files
from reports.output.export import PROFILES, Format, in_local_time, to_csv
from reports.output.files import Shape
from reports.queries.query import Query
from reports.shapes import build
from reports.shapes.build import Report
from reports.shapes.definitions import CATALOGUE
from reports.shapes.spans import Span
from tests.golden import check_golden

TODAY = date(2026, 10, 8)


def made(installation: Installation, name: str, **changes: Any) -> Report:
    return catalogue.make(installation, Query(name, installation.connections(None), today=TODAY, **changes))


def content(report: Report, shape: Shape) -> bytes:
    return b"".join(files.pieces([report], shape))


def control(rows: list[dict[str, Any]]) -> Report:
    blank = dict.fromkeys(CATALOGUE["control"].names)
    table = build.to_table(
        CATALOGUE["control"], [{**blank, **row} for row in rows], currency=lambda row: str(row["currency"])
    )
    return Report(CATALOGUE["control"], table, Span(), TODAY, {})


@pytest.mark.parametrize("profile", ["machine", "cl", "mx"])
def test_csv_is_the_golden_file(reconciled: Installation, profile: str) -> None:
    """Every report of the made-up run is, byte for byte and on each database, the file that was read and approved."""
    shape = files.to_shape("csv", profile, None)
    for name in catalogue.AVAILABLE:
        check_golden(f"reports/{name}.{profile}.csv", content(made(reconciled, name), shape))


@pytest.mark.parametrize("file_format", list(Format))
def test_a_rerun_is_byte_identical(reconciled: Installation, file_format: Format) -> None:
    """The same run gives the same bytes again, in every format."""
    shape = Shape(file_format, "cl", "es-CL")
    first = content(made(reconciled, "payout-detail"), shape)
    assert content(made(reconciled, "payout-detail"), shape) == first


def test_amounts_have_their_currency_s_decimals() -> None:
    """Pesos of Chile have none, pesos of Mexico two, and a minus stays a plain minus."""
    report = control(
        [
            {"figure": "a", "amount": 1500, "currency": "CLP", "other_amount": -1, "difference": None},
            {"figure": "b", "amount": 1500, "currency": "MXN", "other_amount": -5, "difference": 0},
        ]
    )
    assert b"".join(to_csv(report, PROFILES["machine"], "en")) == (
        b"figure,source,amount,currency,ties_to,other_amount,difference,verdict,connection\r\n"
        b"a,,1500,CLP,,-1,,,\r\n"
        b"b,,15.00,MXN,,-0.05,0.00,,\r\n"
    )


@pytest.mark.parametrize(
    ("text", "machine", "people"),
    [
        ("=1+1", b"=1+1", b"'=1+1"),
        ("+56 9", b"+56 9", b"'+56 9"),
        ("-cmd", b"-cmd", b"'-cmd"),
        ("@SUM(A1)", b"@SUM(A1)", b"'@SUM(A1)"),
        ("\tx", b"\tx", b"'\tx"),
        ("\rx", b'"\rx"', b'"\'\rx"'),
        ('=HYPERLINK("x")', b'"=HYPERLINK(""x"")"', b'"\'=HYPERLINK(""x"")"'),
        ("a=b", b"a=b", b"a=b"),
        ("dos\r\nlíneas", '"dos\r\nlíneas"'.encode(), '"dos\r\nlíneas"'.encode()),
        ("uno, dos", b'"uno, dos"', b'"uno, dos"'),
    ],
)
def test_text_that_could_run_is_defused_for_people(text: str, machine: bytes, people: bytes) -> None:
    """A spreadsheet never runs a customer's name, and a program gets it as it was."""
    report = control([{"figure": text, "amount": -3, "currency": "CLP", "other_amount": 0, "difference": -3}])
    for profile, expected in (("machine", machine), ("mx", people)):
        line = b"".join(to_csv(report, PROFILES[profile], "en")).split(b"\r\n", 1)[1]
        assert line == expected + b",,-3,CLP,,0,-3,,\r\n"


def test_an_empty_report_is_its_header() -> None:
    """No rows still make a file that can be opened."""
    assert b"".join(to_csv(control([]), PROFILES["machine"], "en")) == (
        b"figure,source,amount,currency,ties_to,other_amount,difference,verdict,connection\r\n"
    )
    assert content(control([]), Shape(Format.PARQUET)).startswith(b"PAR1")
    assert content(control([]), Shape(Format.XLSX)).startswith(b"PK")


@pytest.fixture
def workbook(reconciled: Installation) -> Iterator[openpyxl.Workbook]:
    data = content(made(reconciled, "payout-detail"), Shape(Format.XLSX, "cl", "es-CL"))
    book = openpyxl.load_workbook(io.BytesIO(data))
    yield book
    book.close()


def test_a_sheet_opens_typed(workbook: openpyxl.Workbook) -> None:
    """Amounts are numbers, days are dates, identifiers keep their leading zeros and formulas stay text."""
    sheet = workbook["Detalle de liquidaciones"]
    header = [cell.value for cell in sheet[1]]
    row = dict(zip(header, sheet[2], strict=True))
    assert row["Monto con signo"].value == 100000
    assert row["Monto con signo"].number_format == "#,##0"
    assert row["Fecha local"].value == datetime(2026, 10, 5)  # noqa: DTZ001 - a sheet has no zones
    assert row["Pedido"].value == "00017"
    assert row["Pedido"].number_format == "@"
    assert sheet.freeze_panes == "B2"
    assert sheet.auto_filter.ref == "A1:AL4"
    formulas = [cell for cells in sheet.iter_rows() for cell in cells if cell.data_type == "f"]
    assert formulas == []
    assert sheet.cell(3, header.index("Cliente") + 1).value == '=HYPERLINK("http://mal.test")'


def test_a_workbook_says_what_it_was_made_from(workbook: openpyxl.Workbook) -> None:
    """The sheet of parameters carries the run, the zone, the calendar, the rows and the sums."""
    facts = {row[0]: row[1] for row in workbook["Parámetros"].iter_rows(values_only=True)}
    assert facts["Conciliaciones (id)"] == "main:run-1"
    assert facts["Zonas horarias"] == "America/Santiago"
    assert facts["Calendarios"] == "Chile (holidays)"
    assert facts["Al día"] == "2026-10-08"
    assert facts["Filas: Detalle de liquidaciones"] == 3
    assert facts["Suma: Monto con signo CLP"] == 140000
    assert facts["Reporte"] == "Detalle de liquidaciones"
    assert facts["Modo"] == "prueba"
    assert facts["Países"] == "Chile"


def test_a_workbook_says_what_the_sign_of_a_difference_means(reconciled: Installation) -> None:
    """The sheet of parameters explains the column of the list of payouts that has two signs."""
    data = content(made(reconciled, "payout-summary"), Shape(Format.XLSX, "cl", "es-CL"))
    book = openpyxl.load_workbook(io.BytesIO(data))
    facts = {row[0]: row[1] for row in book["Parámetros"].iter_rows(values_only=True)}
    assert facts["Diferencia"] == (
        "La diferencia es lo liquidado menos lo calculado: si es negativa, falta dinero; si es positiva, sobra."
    )


def test_only_amounts_of_one_kind_are_added_up(workbook: openpyxl.Workbook) -> None:
    """A total stands in many rows of the detail, and the figures of the control are of many kinds: no sum of them."""
    names = [row[0] for row in workbook["Parámetros"].iter_rows(values_only=True)]
    assert "Suma: Monto aplicado CLP" in names
    assert "Suma: Total del documento CLP" not in names
    assert "Suma: Monto CLP" not in names


def test_a_workbook_for_programs_keeps_its_keys(reconciled: Installation) -> None:
    """Scripts find the facts of the sheet under the names the archive has."""
    data = content(made(reconciled, "control"), Shape(Format.XLSX))
    sheet = openpyxl.load_workbook(io.BytesIO(data))["Parameters"]
    facts = {row[0]: row[1] for row in sheet.iter_rows(values_only=True)}
    assert (facts["Report"], facts["modes"], facts["calendars"]) == ("control", "test", "holidays cl")


def test_parquet_holds_major_units_as_decimals(reconciled: Installation) -> None:
    """A program reads the same amounts from Parquet as from CSV."""
    table = pq.read_table(io.BytesIO(content(made(reconciled, "payout-summary"), Shape(Format.PARQUET))))
    assert table.column_names == list(CATALOGUE["payout-summary"].names)
    assert table.column("payout_amount").to_pylist() == [Decimal("137590.0000")]
    assert table.column("fee_rate_pct").to_pylist() == [Decimal("1.610000")]
    assert table.schema.metadata[b"runs"] == b"main:run-1"


def test_a_file_is_named_by_window_country_report_and_run(reconciled: Installation) -> None:
    """A name sorts by day and says what is inside."""
    report = made(reconciled, "payout-detail", span=Span(date(2026, 10, 1), date(2026, 10, 6)))
    assert files.name_of(report, Format.CSV) == "payout-detail_2026-10-01_2026-10-06_cl_main_r0042.csv"
    assert files.name_of(made(reconciled, "control"), Format.XLSX) == "control_2026-10-08_cl_main_r0042.xlsx"


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    """A file that fails half-way leaves nothing behind, and an earlier one stays as it was."""
    path = tmp_path / "report.csv"
    path.write_bytes(b"earlier")

    def breaks() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        files.write(path, breaks())
    assert path.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_people_read_the_clock_of_each_connection() -> None:
    """One moment in two countries is written by each one's clock, before and after it changes; programs get UTC."""
    at = ["2026-09-05T12:30:15Z", "2026-09-07T12:30:15Z"]
    blank = dict.fromkeys(CATALOGUE["in-transit"].names)
    rows = [
        {**blank, "connection": name, "resource_id": f"pi_{name}{day}", "occurred_at_utc": moment, "currency": "CLP"}
        for name in ("cl", "mx")
        for day, moment in enumerate(at)
    ]
    table = build.to_table(CATALOGUE["in-transit"], rows, currency=lambda row: str(row["currency"]))
    zones = {"cl": "America/Santiago", "mx": "America/Mexico_City"}
    facts = {"zones": " ".join(zones.values())} | {f"zone {name}": zone for name, zone in zones.items()}
    local = in_local_time(Report(CATALOGUE["in-transit"], table, Span(), TODAY, facts=facts)).table
    by_id = dict(zip(local["resource_id"].to_pylist(), local["occurred_at_utc"].to_pylist(), strict=True))
    assert {name: f"{moment:%d %H:%M:%S}" for name, moment in by_id.items()} == {
        "pi_cl0": "05 08:30:15", "pi_cl1": "07 09:30:15", "pi_mx0": "05 06:30:15", "pi_mx1": "07 06:30:15",
    }  # fmt: skip
