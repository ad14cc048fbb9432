"""Readers of layouts, each written from what is known of the product's file and not from what writes it.

Each gives the lines of a file as entry, date, account, debit and credit; amounts are decimal text.
"""

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from openpyxl import load_workbook

NAMESPACE = "{http://www.sat.gob.mx/esquemas/ContabilidadE/1_3/PolizasPeriodo}"
UUID = re.compile(r"[a-f0-9A-F]{8}-[a-f0-9A-F]{4}-[a-f0-9A-F]{4}-[a-f0-9A-F]{4}-[a-f0-9A-F]{12}")


class Read(NamedTuple):
    """One line of a ledger as a product would take it."""

    entry: str
    on: date
    account: str
    debit: Decimal
    credit: Decimal


class Applied(NamedTuple):
    """One payment of a document as a product would take it."""

    on: date
    tax_id: str
    document: str
    account: str
    amount: Decimal


def _day(text: str, form: str) -> date:
    return datetime.strptime(text, form).date()  # noqa: DTZ007 - a date alone


def _rows(data: bytes, encoding: str, separator: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(encoding), newline=""), delimiter=separator))


def _sheet(data: bytes, name: str) -> list[list[Any]]:
    """Return the rows of the only sheet of a workbook, each as long as the longest."""
    (sheet,) = load_workbook(io.BytesIO(data)).worksheets
    assert sheet.title == name
    return [list(row) for row in sheet.iter_rows(values_only=True)]


def _money(cell: Any) -> Decimal:
    """Return a cell that is empty or a number, never a text."""
    assert cell is None or isinstance(cell, int | float)
    return Decimal(str(cell or 0))


def read_odoo(data: bytes) -> Iterator[Read]:
    """A row with an id begins a record, rows without belong to it; columns go by their technical names."""
    on, entry = date.min, ""
    for row in csv.DictReader(io.StringIO(data.decode("utf-8"))):
        if row["id"]:
            assert "." not in row["id"], "a point would name a module"
            entry, on = row["id"], date.fromisoformat(row["date"])
            assert row["journal_id"]
        assert not (row["date"] and not row["id"])
        assert row["line_ids/id"]
        yield Read(entry, on, row["line_ids/account_id"], Decimal(row["line_ids/debit"]),
                   Decimal(row["line_ids/credit"]))  # fmt: skip


def read_xero(data: bytes) -> Iterator[Read]:
    """Rows of one narration and date are one journal; the amount is a debit above zero and a credit below."""
    header, *rows = _rows(data, "utf-8", ",")
    assert header == [
        "*Narration", "*Date", "Description", "*AccountCode", "*TaxRate", "*Amount", "TrackingName1",
        "TrackingOption1", "TrackingName2", "TrackingOption2",
    ]  # fmt: skip
    assert len(rows) <= 300
    for narration, on, _, account, rate, amount, *_ in rows:
        assert rate
        signed = Decimal(amount)
        yield Read(narration, _day(on, "%d/%m/%Y"), account, max(signed, Decimal(0)), max(-signed, Decimal(0)))


def read_quickbooks(data: bytes) -> Iterator[Read]:
    """One of debits and credits is filled; accounts go by name."""
    for row in csv.DictReader(io.StringIO(data.decode("utf-8"))):
        assert bool(row["Debits"]) != bool(row["Credits"])
        yield Read(row["Journal No"], _day(row["Journal Date"], "%d/%m/%Y"), row["Account Name"],
                   Decimal(row["Debits"] or 0), Decimal(row["Credits"] or 0))  # fmt: skip


def read_softland(data: bytes) -> Iterator[Read]:
    """No header; account, debit and credit come first, the auxiliary is nineteenth, the date of a document 22nd.

    With 91 columns the 37th says whether the book's detail is kept, S or N.
    """
    for row in _rows(data, "latin-1", ";"):
        assert len(row) in {36, 39, 91}
        assert len(row) < 91 or row[36] in {"S", "N"}
        assert bool(row[1]) != bool(row[2])
        assert not row[18] or row[18].isdigit()
        yield Read("", _day(row[21], "%d/%m/%Y") if row[21] else date.min, row[0],
                   Decimal((row[1] or "0").replace(",", ".")), Decimal((row[2] or "0").replace(",", ".")))  # fmt: skip


def read_contpaqi(data: bytes) -> Iterator[Read]:
    """P begins a póliza, M1 is a movement with 0 for a charge and 1 for a credit, AM the UUID of the one above."""
    entry, on, above = "", date.min, ""
    for kind, *cells in _rows(data, "cp1252", "\t"):
        if kind == "P":
            day, voucher_type, _, effect, _, text, *_, guid = cells
            assert voucher_type in {"1", "2", "3"}
            assert effect == "1"
            assert len(text) <= 100
            entry, on = guid, _day(day, "%Y%m%d")
        elif kind == "M1":
            account, reference, side, amount, _, _, text, _, _, applied = cells
            assert account.isdigit()
            assert len(reference) <= 30
            assert len(text) <= 100
            assert _day(applied, "%Y%m%d") == on
            charge, credit = (Decimal(amount), Decimal(0)) if side == "0" else (Decimal(0), Decimal(amount))
            yield Read(entry, on, account, charge, credit)
        else:
            assert (kind, above) == ("AM", "M1")
            assert UUID.fullmatch(cells[0])
        above = kind


def read_contpaqi_old(data: bytes) -> Iterator[Read]:
    """Columns by their place: P date type folio class … concept; M account reference 1 or 2 amount … concept."""
    assert data.endswith(b"\r\n")
    folio, on = "", date.min
    for line in data.decode("ascii").split("\r\n")[:-1]:
        if line[:2] == "P ":
            assert len(line) == 134
            assert line[11] in "123"
            assert line[12:21].strip().isdigit()
            assert line[21:23] == " 1"
            folio, on = line[12:21], _day(line[2:10], "%Y%m%d")
        else:
            assert line[:2] == "M "
            assert len(line) == 105
            assert line[22] == line[33] == line[35] == line[104] == " "
            assert line[52:74].strip() == "0.00"
            assert line[73] == " " != line[74]
            assert line[2:22].strip().isdigit()
            amount = Decimal(line[36:52].strip())
            charge, credit = {"1": (amount, Decimal(0)), "2": (Decimal(0), amount)}[line[34]]
            yield Read(folio, on, line[2:22].strip(), charge, credit)


def read_aspel_coi(data: bytes) -> Iterator[Read]:
    """From the third row: a póliza by its type, its lines with the account second, FIN_PARTIDAS; CFDI in a block."""
    first, second, *rows = _sheet(data, "Poliza COI")
    assert set(first) == {None}
    assert second[0] == "|||"
    entry, is_cfdi = "", False
    for kind, cell, text, fourth, _, debit, credit, _, last in rows:
        if kind is not None:
            assert entry == ""
            assert kind in {"Dr", "Ig", "Eg"}
            entry, day = cell, fourth
            assert 1 <= day <= 31
            assert len(text) <= 120
        elif cell == "FIN_PARTIDAS":
            entry = ""
        elif text in {"INICIO_CFDI", "FIN_CFDI"}:
            is_cfdi = text == "INICIO_CFDI"
        elif is_cfdi:
            assert UUID.fullmatch(last)
        else:
            assert len(fourth) <= 120
            assert text == "0"
            # The month is the file's: the day alone is known here.
            yield Read(f"{entry}", date(2026, 10, day), cell, _money(debit), _money(credit))


def read_nubox(data: bytes) -> Iterator[Read]:
    """Seventeen columns; number, type, date and text begin a voucher; A is a customer with its document, B the bank."""
    header, *rows = _sheet(data, "Comprobantes")
    assert header == [
        "Número", "Tipo", "Fecha", "Glosa", "Cuenta Detalle", "Glosa Detalle", "Centro Costo", "Sucursal", "Debe",
        "Haber", "Tipo Auxiliar", "A: Rut Cliente-Proveedor/H: Rut Prestador",
        "A: Razon Social/B: Descripción Movimiento Bancario/ H: Nombre Prestador",
        "A: Tipo De Documento/H: Tipo De Boleta Honorario", "A: Folio /B: Numero Documento/H: Folio Boleta",
        "A/B/H: Monto", "A: Fecha Vencimiento /B: Fecha /H: Fecha Emisión  (DD/MM/AAAA)",
    ]  # fmt: skip
    allowed = re.compile(r"[A-Za-zÁÉÍÓÚÜÑáéíóúüñ0-9_,.-]+( [A-Za-zÁÉÍÓÚÜÑáéíóúüñ0-9_,.-]+)*")
    entry, on = 0, date.min
    for number, kind, day, text, account, line_text, _, _, debit, credit, auxiliary, tax_id, *_, amount, due in rows:
        if kind is not None:
            assert number == 0
            assert kind in {"I", "E", "T"}
            assert allowed.fullmatch(text)
            entry, on = entry + 1, day.date()
        assert allowed.fullmatch(line_text)
        assert (debit is None) != (credit is None)
        if auxiliary is not None:
            assert auxiliary == "A" or (auxiliary == "B" and not tax_id)
            assert _money(amount) == _money(debit) + _money(credit)
            assert due.date() == on
        yield Read(str(entry), on, account, _money(debit), _money(credit))


def read_defontana(data: bytes) -> Iterator[Read]:
    """What must be there: type, number, date, line from one on, account, debit and credit in local currency."""
    header, *rows = _sheet(data, "Comprobantes")
    numbered = 0
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        assert cells["Tipo de comprobante"] in {"Ingreso", "Egreso", "Traspaso"}
        numbered = numbered + 1 if cells["Línea"] != 1 else 1
        assert cells["Línea"] == numbered
        yield Read(str(cells["Número"]), cells["Fecha"].date(), cells["Cuenta"], _money(cells["Debe moneda local"]),
                   _money(cells["Haber moneda local"]))  # fmt: skip


def read_netsuite(data: bytes) -> Iterator[Read]:
    """Rows of one External ID are an entry; amounts have ten digits and two decimals, one of the two is filled."""
    for row in csv.DictReader(io.StringIO(data.decode("utf-8"))):
        assert bool(row["Debit"]) != bool(row["Credit"])
        assert re.fullmatch(r"\d{1,10}(\.\d{2})?", row["Debit"] or row["Credit"])
        yield Read(row["External ID"], _day(row["Date"], "%d/%m/%Y"), row["Account"], Decimal(row["Debit"] or 0),
                   Decimal(row["Credit"] or 0))  # fmt: skip


def read_sap_b1(headers: bytes, lines: bytes) -> Iterator[Read]:
    """Two title rows in each file; ParentKey of a line is JdtNum of its entry; fields are as long as the tables say."""
    names, fields, *entries = _rows(headers, "cp1252", "\t")
    assert len(names) == len(fields)
    assert fields[:2] == ["JdtNum", "RefDate"]
    days = {number: _day(day, "%Y%m%d") for number, day, *_ in entries}
    assert len(days) == len(entries)
    assert all(len(entry[4]) <= 50 for entry in entries)
    names, fields, *rows = _rows(lines, "cp1252", "\t")
    assert len(names) == len(fields)
    counted: Counter[str] = Counter()
    for row in rows:
        cells = dict(zip(fields, row, strict=True))
        assert int(cells["Line_ID"]) == counted[cells["JdtNum"]]
        counted[cells["JdtNum"]] += 1
        assert 0 < len(cells["Account"]) <= 15
        assert len(cells["ShortName"]) <= 15
        assert len(cells["LineMemo"]) <= 50
        yield Read(cells["JdtNum"], days[cells["JdtNum"]], cells["Account"], Decimal(cells["Debit"] or 0),
                   Decimal(cells["Credit"] or 0))  # fmt: skip


def read_nubox_payments(data: bytes) -> Iterator[Applied]:
    """The columns of the template in their order; amounts are whole pesos."""
    header, *rows = _rows(data, "cp1252", ";")
    assert header == [
        "Fecha de recaudación", "RUT Cliente", "Tipo de documento", "Folio", "Monto", "Medio de pago",
        "Cuenta recaudación", "Centro de costo detalle", "Sucursal detalle", "# documento", "Descripción",
    ]  # fmt: skip
    for day, tax_id, kind, folio, amount, means, account, _, _, operation, _ in rows:
        assert kind.isdigit()
        assert means
        assert operation
        assert amount.isdigit()
        yield Applied(_day(day, "%d/%m/%Y"), tax_id, folio, account, Decimal(amount))


def read_odoo_payments(data: bytes) -> Iterator[Applied]:
    """Each row is a record of account.payment; its text ends with the document, its account is the journal's."""
    for row in csv.DictReader(io.StringIO(data.decode("utf-8"))):
        assert (row["payment_type"], row["partner_type"]) == ("inbound", "customer")
        assert "." not in row["id"]
        yield Applied(date.fromisoformat(row["date"]), row["partner_id"], row["ref"].rpartition("-")[2],
                      row["journal_id"], Decimal(row["amount"]))  # fmt: skip


def read_xero_payments(data: bytes) -> Iterator[Applied]:
    """The fields of a payment by the names of the importing program; the invoice knows its customer."""
    for row in csv.DictReader(io.StringIO(data.decode("utf-8"))):
        assert (row["Payment Type"], row["Status"]) == ("ACCRECPAYMENT", "AUTHORISED")
        yield Applied(date.fromisoformat(row["Date"]), "", row["Invoice Ref Number"], row["Account Code"],
                      Decimal(row["Amount"]))  # fmt: skip


def read_quickbooks_payments(data: bytes) -> Iterator[Applied]:
    """The fields of a received payment with their lengths; RefNumber is another in each row."""
    seen = set()
    for row in csv.DictReader(io.StringIO(data.decode("utf-8"))):
        assert row["RefNumber"] not in seen
        seen.add(row["RefNumber"])
        assert len(row["RefNumber"]) <= 31
        assert len(row["PaymentRefNumber"]) <= 31
        assert len(row["InvoiceApplyTo"]) <= 21
        yield Applied(_day(row["TxnDate"], "%d/%m/%Y"), row["Customer"], row["InvoiceApplyTo"],
                      row["DepositToAccount"], Decimal(row["LineAmount"]))  # fmt: skip


def read_sat(data: bytes) -> Iterator[Read]:
    """What the schema asks: patterns, lengths, two decimals, required attributes, a month that holds its entries."""
    root = ET.fromstring(data)  # noqa: S314 - written by the test
    assert root.tag == f"{NAMESPACE}Polizas"
    asked = root.attrib
    assert asked["Version"] == "1.3"
    assert re.fullmatch(r"[A-ZÑ&]{3,4}[0-9]{2}[0-1][0-9][0-3][0-9][A-Z0-9]{2}[0-9A]", asked["RFC"])
    assert re.fullmatch(r"0[1-9]|1[0-2]", asked["Mes"])
    number = {"AF": "NumOrden", "FC": "NumOrden", "DE": "NumTramite", "CO": "NumTramite"}[asked["TipoSolicitud"]]
    assert asked[number]
    assert len(root) > 0
    for entry in root:
        assert entry.attrib.keys() == {"NumUnIdenPol", "Fecha", "Concepto"}
        assert 1 <= len(entry.attrib["NumUnIdenPol"]) <= 50
        assert 1 <= len(entry.attrib["Concepto"]) <= 300
        assert entry.attrib["Fecha"][:7] == f"{asked['Anio']}-{asked['Mes']}"
        for line in entry:
            cells = line.attrib
            assert cells.keys() == {"NumCta", "DesCta", "Concepto", "Debe", "Haber"}
            assert all(re.fullmatch(r"\d+\.\d{2}", cells[name]) for name in ("Debe", "Haber"))
            for proof in line:
                assert proof.tag == f"{NAMESPACE}CompNal"
                assert UUID.fullmatch(proof.attrib["UUID_CFDI"])
                assert proof.attrib["RFC"]
                assert Decimal(proof.attrib["MontoTotal"]) > 0
            yield Read(entry.attrib["NumUnIdenPol"], date.fromisoformat(entry.attrib["Fecha"]), cells["NumCta"],
                       Decimal(cells["Debe"]), Decimal(cells["Haber"]))  # fmt: skip


def read_journal(data: bytes) -> Iterator[Read]:
    """The columns of the contract, by name."""
    for row in csv.DictReader(io.StringIO(data.decode("utf-8"))):
        yield Read(row["entry_id"], date.fromisoformat(row["date"]), row["account"], Decimal(row["debit"]),
                   Decimal(row["credit"]))  # fmt: skip


READERS: dict[str, Callable[[bytes], Iterator[Read]]] = {
    "aspel-coi": read_aspel_coi,
    "contpaqi": read_contpaqi,
    "contpaqi-old": read_contpaqi_old,
    "defontana": read_defontana,
    "journal": read_journal,
    "netsuite": read_netsuite,
    "nubox": read_nubox,
    "odoo": read_odoo,
    "quickbooks": read_quickbooks,
    "sat-polizas": read_sat,
    "softland-36": read_softland,
    "softland-39": read_softland,
    "softland-91": read_softland,
    "xero": read_xero,
}
PAYMENT_READERS: dict[str, Callable[[bytes], Iterator[Applied]]] = {
    "nubox-payments": read_nubox_payments,
    "odoo-payments": read_odoo_payments,
    "quickbooks-payments": read_quickbooks_payments,
    "xero-payments": read_xero_payments,
}
