"""Registers of tax authorities as witnesses: what their files say, and which are refused."""

import json
import zipfile
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from click.testing import Result
from sqlmodel import select

from consumer.facts.installation import Connection, Installation
from reconcile.books.register_files import import_register, import_registers, read_rows
from reconcile.books.tax_registers import SALES, Owner, read_register
from reconcile.tables.books import LocalInvoice
from reconcile.tables.fiscal import RegisterFile

OWN = "76111111-6"
HERE = Owner("cl", frozenset({OWN}))
SHOP = "76222222-1"
SALES_HEADER = (
    "Nro;Tipo Doc;Tipo Venta;Rut cliente;Razon Social;Folio;Fecha Docto;Fecha Recepcion;Fecha Acuse Recibo;"
    "Fecha Reclamo;Monto Exento;Monto Neto;Monto IVA;Monto total;IVA Retenido Total;Tipo Docto. Referencia;"
    "Folio Docto. Referencia;Codigo Otro Imp.;Valor Otro Imp.;Tasa Otro Imp.\n"
)
SALES_FILE = SALES_HEADER + (
    f"1;33;Del Giro;{SHOP};Comercial Uno;101;05/10/2026;05/10/2026 10:22:01;;;0;100000;19000;119000;0;;;;;;\n"
    f"2;33;Del Giro;{SHOP};Uno;102;06/10/2026;06/10/2026 10:22:01;;07/10/2026;0;1000;190;1250;0;;;24;31;31,5;\n"
    f";33;Del Giro;{SHOP};Uno;102;;;;;;;;;;;;27;29;10;\n"
    f"3;61;Del Giro;{SHOP};Comercial Uno;7;09/10/2026;09/10/2026 09:00:00;;;0;10000;1900;11900;0;33;101;;;;\n"
)
PURCHASES = (
    "Nro;Tipo Doc;Tipo Compra;RUT Proveedor;Razon Social;Folio;Fecha Docto;Fecha Recepcion;{day}"
    "Monto Exento;Monto Neto;Monto IVA Recuperable;Monto Iva No Recuperable;Codigo IVA No Rec.;Monto Total;{last}"
    "Codigo Otro Impuesto;Valor Otro Impuesto;Tasa Otro Impuesto\n"
    "1;33;Del Giro;{shop};Proveedor;55;31/10/2026;01/11/2026 10:00:00;{on}0;1607;305;0;;1912;{tobacco};;;\n"
)
SUMMARY = (
    "Tipo Documento;Total Documentos;Monto Exento;Monto Neto;Monto IVA;Monto Total\n"
    "Boleta Electrónica(39);12;0;10000;1900;11900\nComprobante de Pago Electrónico(48);340;0;500000;95000;595000\n"
)
LIST = (
    "Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~"
    "EfectoComprobante~Estatus~FechaCancelacion\r\n"
    "AAAAAAAA-0000-4000-8000-00000000000a~AAA010101AAA~Nosotros~BBB010101BB1~Cliente\nde dos líneas~SAT970701NN3~"
    "2026-10-05 10:00:00~2026-10-05 10:01:00~1160.00~I~1~\r\n"
    "aaaaaaaa-0000-4000-8000-00000000000b~AAA010101AAA~Nosotros~BBB010101BB1~Cliente~SAT970701NN3~"
    "2026-10-06 10:00:00~2026-10-06 10:01:00~232.00~I~0~2026-10-20 12:00:00\r\n"
    "aaaaaaaa-0000-4000-8000-00000000000c~CCC010101CC2~Proveedor~AAA010101AAA~Nosotros~SAT970701NN3~"
    "2026-10-31 10:00:00~2026-10-31 10:01:00~58.00~I~1~\r\n"
)


def test_a_register_of_sales_is_read_whole() -> None:
    """A row of a further tax is no document, a note keeps its reference, and a claimed document says so."""
    reading = read_register(f"RCV_VENTA_{OWN}_202610.csv", SALES_FILE.encode(), HERE)
    assert (reading.side, reading.section, reading.periods, reading.rejects) == ("sales", "registro", ("2026-10",), ())
    shown = [
        (row["kind"], row["folio"], row["state"], row["vat"], row["total"], row["ref_folio"]) for row in reading.rows
    ]
    assert shown == [
        ("33", "101", "registro", 19000, 119000, ""),
        ("33", "102", "reclamado", 190, 1250, ""),
        ("61", "7", "registro", 1900, 11900, "101"),
    ]
    assert (reading.rows[0]["receiver_tax_id"], reading.rows[0]["issuer_tax_id"]) == (SHOP, OWN)
    assert reading.rows[0]["received_on"] == date(2026, 10, 5)


@pytest.mark.parametrize(
    ("day", "last", "state"),
    [
        ("Fecha Acuse;", "Tabacos Puros;", "registro"),
        ("Fecha Acuse;", "", "no_incluir"),
        ("Fecha Reclamo;", "", "reclamado"),
        ("", "", "pendiente"),
    ],
)
def test_purchases_have_four_sections(day: str, last: str, state: str) -> None:
    """The columns say which section a file is."""
    text = PURCHASES.format(shop=SHOP, day=day, last=last, on=";" if day else "", tobacco="0;" if last else "")
    reading = read_register("RCV_COMPRA_202611.csv", text.replace("31/10/2026", "01/11/2026").encode(), HERE)
    row = reading.rows[0]
    assert (reading.side, reading.section, row["state"], row["vat"], row["total"]) == (
        "purchases", state, state, 305, 1912,
    )  # fmt: skip
    assert (row["issuer_tax_id"], row["period"]) == (SHOP, "2026-11")


def test_a_summary_holds_what_the_register_only_adds_up() -> None:
    """Receipts and vouchers come with how many they are; the name says of which side."""
    reading = read_register("RCV_RESUMEN_VENTA_202610.csv", SUMMARY.encode("cp1252"), HERE)
    assert [(row["kind"], row["count"], row["vat"]) for row in reading.rows] == [("39", 12, 1900), ("48", 340, 95000)]
    assert reading.section == "resumen"


def test_a_list_of_the_sat_is_read_with_its_traps() -> None:
    """A name may hold a line end, a UUID any case, a row a document that was cancelled or received."""
    reading = read_register("1_01.txt", LIST.encode(), Owner("mx", frozenset({"AAA010101AAA"})))
    shown = [(row["side"], str(row["uuid"])[-1], row["state"], row["total"], row["name"]) for row in reading.rows]
    assert shown == [
        ("sales", "a", "vigente", 116000, "Cliente de dos líneas"),
        ("sales", "b", "cancelado", 23200, "Cliente"),
        ("purchases", "c", "vigente", 5800, "Proveedor"),
    ]
    assert reading.rows[1]["cancelled_on"] == date(2026, 10, 20)
    assert read_register("1_01.txt", LIST.encode(), Owner("mx")).rows == reading.rows


NO_SIDE = (
    "a summary does not say whether it is of sales or purchases: give --kind, or keep the name it was downloaded under"
)
NO_HEADER = "no row has the headings of a register: an RCV file, its summary, or the list of the SAT"
NO_PERIOD = "its rows are of several months and its name says none: give the month (--period 2026-10)"
LATER = "no register of 2026-09 can hold a document of a later month"
REFUSED = [
    (f"RCV_VENTA_{SHOP}_202610.csv", SALES_FILE, "", "it is a register of 76222222-1; this connection is 76111111-6"),
    ("RCV_VENTA_202609.csv", SALES_FILE, "2026-10", "it is of 2026-09, and 2026-10 was asked for"),
    ("RCV_VENTA_202609.csv", SALES_FILE, "", LATER),
    ("ventas.csv", SALES_FILE, "octubre", "octubre is not a month: write it as 2026-10"),
    ("resumen.csv", SUMMARY, "2026-10", NO_SIDE),
    ("otra.csv", "a;b;c;d;e\n1;2;3;4;5\n", "", NO_HEADER),
    ("ventas.csv", SALES_FILE.replace("06/10/2026;", "06/09/2026;"), "", NO_PERIOD),
]


@pytest.mark.parametrize(("name", "text", "period", "reason"), REFUSED)
def test_a_register_that_is_not_meant_is_refused_in_one_sentence(
    name: str, text: str, period: str, reason: str
) -> None:
    """Of another month, another company, or no register at all."""
    reading = read_register(name, text.encode(), HERE, period=period)
    assert ([str(one.reason) for one in reading.rejects], reading.rows) == ([reason], ())


def test_a_list_of_another_company_is_refused() -> None:
    """A list whose rows neither come from the merchant nor go to it is not kept."""
    reading = read_register("1_01.txt", LIST.encode(), Owner("mx", frozenset({"ZZZ010101ZZ9"})))
    assert reading.rows == ()
    assert str(reading.rejects[0].reason) == "it is a register of AAA010101AAA; this connection is ZZZ010101ZZ9"


@pytest.mark.both_databases
def test_the_newest_file_of_a_section_counts_and_the_books_stay(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """A later file takes the place of the earlier one, which stays; the same bytes come in once."""
    first, second = tmp_path / "RCV_VENTA_202610.csv", tmp_path / "otro_202610.csv"
    first.write_text(SALES_FILE)
    second.write_text(SALES_FILE.rsplit("\n", 2)[0] + "\n")
    days = [datetime(2026, 11, day, 12, tzinfo=UTC) for day in (1, 11)]
    assert import_register(installation, main, first, at=days[0]).kept
    again = import_register(installation, main, first, at=days[1])
    assert (again.accepted, again.kept) == (True, False)
    assert import_register(installation, main, second, at=days[1]).kept
    with installation.store.reading() as session:
        assert [(row.folio, row.as_of) for row in read_rows(session, "main")] == [("101", days[1]), ("102", days[1])]
        assert len(session.exec(select(RegisterFile)).all()) == 2
        assert session.exec(select(LocalInvoice)).all() == []


def test_a_state_that_comes_back_is_the_newest(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """A register that is again as it was counts as of the later moment."""
    first, second = tmp_path / "RCV_VENTA_202610.csv", tmp_path / "otro_202610.csv"
    first.write_text(SALES_FILE)
    second.write_text(SALES_FILE.rsplit("\n", 2)[0] + "\n")
    for day, path in ((1, first), (2, second), (3, first)):
        import_register(installation, main, path, at=datetime(2026, 11, day, tzinfo=UTC))
    with installation.store.reading() as session:
        assert [row.folio for row in read_rows(session, "main")] == ["101", "102", "7"]
        assert {row.as_of for row in read_rows(session, "main")} == {datetime(2026, 11, 3, tzinfo=UTC)}
        assert len(session.exec(select(RegisterFile)).all()) == 2


def test_an_empty_register_is_one_of_each_month(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """The same bytes speak of the month that their name says."""
    for month in ("202610", "202611"):
        path = tmp_path / f"RCV_VENTA_{month}.csv"
        path.write_text(SALES_HEADER)
        assert import_register(installation, main, path).kept
    with installation.store.reading() as session:
        assert {row.period for row in session.exec(select(RegisterFile))} == {"2026-10", "2026-11"}


def test_a_list_of_sales_may_come_in_again_with_its_purchases(installation: Installation, tmp_path: Path) -> None:
    """What was left out the first time is read the second time."""
    mexico = Connection.model_validate(
        {"name": "main", "api_key": "sk_test_one", "country": "mx", "tax_id": "AAA010101AAA"}
    )
    path = tmp_path / "1_01.txt"
    path.write_bytes(LIST.encode())
    assert import_register(installation, mexico, path, sides=frozenset({"sales"})).kept
    assert import_register(installation, mexico, path).kept
    with installation.store.reading() as session:
        rows = read_rows(session, "main")
    assert sorted((row.side, row.uuid[-1]) for row in rows) == [("purchases", "c"), ("sales", "a"), ("sales", "b")]


@pytest.mark.parametrize(
    ("count", "reason"),
    [
        ("1.234", "1.234 is no number of documents: write it in digits alone"),
        ("", "is empty"),
        ("9999999999", "9999999999 is no number of documents: write it in digits alone"),
    ],
)
def test_a_count_that_is_none_is_refused(count: str, reason: str) -> None:
    """The row is named with its sentence."""
    reading = read_register("RCV_RESUMEN_VENTA_202610.csv", SUMMARY.replace(";12;", f";{count};").encode(), HERE)
    assert [(one.line, one.column, str(one.reason)) for one in reading.rejects] == [(2, "Total Documentos", reason)]


def test_the_command_brings_a_folder_in_and_lists_it(call: Callable[..., Result], tmp_path: Path) -> None:
    """A folder is its files, each with its verdict; --kind keeps the other side out."""
    folder = tmp_path / "octubre"
    folder.mkdir()
    (folder / "RCV_VENTA_202610.csv").write_text(SALES_FILE)
    (folder / "RCV_RESUMEN_VENTA_202610.csv").write_text(SUMMARY)
    refused = read_register("RCV_VENTA_202610.csv", SALES_FILE.encode(), HERE, sides=frozenset({"purchases"}))
    assert str(refused.rejects[0].reason) == "it is the register of sales, which was not asked for"
    answer = call("register", "import", folder, "--kind", SALES, "--json")
    assert (answer.exit_code, [json.loads(line)["rows"] for line in answer.stdout.splitlines()]) == (0, [2, 3])
    listed = [json.loads(line) for line in call("register", "list", "--json").stdout.splitlines()]
    assert sorted((row["section"], row["period"], row["rows"]) for row in listed) == [
        ("registro", "2026-10", 3),
        ("resumen", "2026-10", 2),
    ]
    assert call("register", "import", folder, "--kind", "rent").exit_code == 2


def test_a_zip_of_registers_comes_in_file_by_file(installation: Installation, tmp_path: Path) -> None:
    """Each file has its own answer; the SAT's file of third parties is passed over with a note."""
    path = tmp_path / "octubre.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a_01.txt", LIST)
        archive.writestr("a_tercero.txt", "Uuid~RfcACuentaTerceros~NombreACuentaTerceros\r\n")
        archive.writestr("otro.txt", "hola\n")
    terms = {"name": "main", "api_key": "sk_test_one", "country": "mx", "tax_id": "AAA010101AAA"}
    connection = Connection.model_validate(terms)
    found = [
        (one.name, one.accepted, one.kept, str(one.earlier or ""))
        for one in import_registers(installation, connection, path)
    ]
    assert found == [
        ("octubre.zip/a_01.txt", True, True, ""),
        ("octubre.zip/a_tercero.txt", True, False,
         "names for whom documents were issued, which is not needed: the list of documents counts"),
        ("octubre.zip/otro.txt", False, False, ""),
    ]  # fmt: skip


def test_a_register_states_no_amount_below_zero() -> None:
    """Such a row is refused with its line, in a register and in a list."""
    wrong = SALES_FILE.replace("119000;0;", "-119000;0;", 1)
    (reject,) = read_register(f"RCV_VENTA_{OWN}_202610.csv", wrong.encode(), HERE).rejects
    assert (reject.line, str(reject.reason)) == (
        2, "a register states no amount below zero: a credit note stands in it without a sign",
    )  # fmt: skip
    listed = read_register("a.txt", LIST.replace("~232.00~", "~-232.00~").encode(), Owner("mx"))
    assert [str(one.reason) for one in listed.rejects] == [str(reject.reason)]


def test_a_file_beyond_the_bound_is_not_read(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """A file by itself has the bound of a file in a ZIP, and is refused by its size alone."""
    path = tmp_path / "RCV_VENTA_202610.csv"
    with path.open("wb") as file:
        file.truncate(400_000_001)
    outcome = import_register(installation, main, path)
    assert [(reject.reason.code, reject.reason.values) for reject in outcome.rejects] == [
        ("books.file_too_large", {"megabytes": 400, "most": 400})
    ]
