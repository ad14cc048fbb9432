"""Readers of layouts, each written from what is known of the product's file and not from what writes it.

Each gives the lines of a file as entry, date, account, debit and credit; amounts are decimal text.
"""

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple

NAMESPACE = "{http://www.sat.gob.mx/esquemas/ContabilidadE/1_3/PolizasPeriodo}"
UUID = re.compile(r"[a-f0-9A-F]{8}-[a-f0-9A-F]{4}-[a-f0-9A-F]{4}-[a-f0-9A-F]{4}-[a-f0-9A-F]{12}")


class Read(NamedTuple):
    """One line of a ledger as a product would take it."""

    entry: str
    on: date
    account: str
    debit: Decimal
    credit: Decimal


def _day(text: str, form: str) -> date:
    return datetime.strptime(text, form).date()  # noqa: DTZ007 - a date alone


def _rows(data: bytes, encoding: str, separator: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(encoding), newline=""), delimiter=separator))


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
    """No header; account, debit and credit come first, the auxiliary is nineteenth, the date of a document 22nd."""
    for row in _rows(data, "latin-1", ";"):
        assert len(row) in {36, 39}
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
    "contpaqi": read_contpaqi,
    "journal": read_journal,
    "odoo": read_odoo,
    "quickbooks": read_quickbooks,
    "sat-polizas": read_sat,
    "softland-36": read_softland,
    "softland-39": read_softland,
    "xero": read_xero,
}
