"""Net, exempt amount, VAT and further taxes against the total: what is refused, accepted explicitly, or not said."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconcile.books.reading import read_invoices
from tests.reconcile.books.invoice_texts import documents_of, read_text, reasons_of, register_of

Call = Callable[..., Any]
HEADER = "doc_type,folio,issue_date,net,exempt,vat,total,currency"
RIGHT = "33,1,2026-09-01,1000,0,190,1190,CLP"
WRONG = "33,2,2026-09-02,1000,50,190,1290,CLP"


def _file(*rows: str) -> str:
    return "\n".join([HEADER, *rows, ""])


def test_parts_that_do_not_add_up_are_refused_with_their_row() -> None:
    """The row's line, the total as written, each part as written and the sum are named; only that keeps it out."""
    reading = read_text(_file(RIGHT, WRONG))
    reason = "the parts add up to 1240 (net 1000, exempt 50, vat 190) and the total is 1290"
    assert reasons_of(reading) == [(3, "total", "1290", reason)]
    assert reading.may_accept_totals


def test_a_person_may_accept_such_totals() -> None:
    """The total counts as it stands, and the outcome says of how many documents that is so."""
    reading = read_invoices(_file(RIGHT, WRONG).encode(), country="cl", mapping={}, accept_totals=True)
    assert [document.total for document in documents_of(reading)] == [1190, 1290]
    assert [*map(str, reading.notes)] == [
        "documents whose parts do not add up to their total, accepted as they stand: 1"
    ]


def test_accepted_totals_excuse_nothing_else() -> None:
    """A cell that cannot be read keeps the file out with or without them."""
    bad = WRONG.replace("2026-09-02", "soon").replace("33,2", "33,3")
    both = read_text(_file(WRONG, bad))
    assert [(line, column) for line, column, *_ in reasons_of(both)] == [(2, "total"), (3, "issue_date"), (3, "total")]
    assert not both.may_accept_totals
    accepted = read_invoices(_file(WRONG, bad).encode(), country="cl", mapping={}, accept_totals=True)
    assert [line for line, *_ in reasons_of(accepted)] == [3]


@pytest.mark.parametrize(
    "row",
    [
        "33,1,2026-09-01,46218,0,8781,55000,CLP",
        "33,1,2026-09-01,46218,0,8783,55000,CLP",
        "34,1,2026-09-01,,5000,,5000,CLP",
        "39,1,2026-09-01,,,,9990,CLP",
        "39,1,2026-09-01,,0,,9990,CLP",
        "33,1,2026-09-01,10.00,0,1.90,11.91,USD",
        "61,1,2026-09-01,1000,0,190,1190,CLP",
    ],
)
def test_one_unit_of_rounding_and_parts_left_empty_go_in(row: str) -> None:
    """Of 100 whole totals 16 have no exact net; a receipt that states its total alone has nothing to add up."""
    assert len(documents_of(read_text(_file(row)))) == 1


@pytest.mark.parametrize(
    ("row", "total"),
    [
        ("33,1,2026-09-01,46218,0,8780,55000,CLP", "54998"),
        ("33,1,2026-09-01,1000,0,,1190,CLP", "1000"),
        ("33,1,2026-09-01,0,0,0,1190,CLP", "0"),
        ("34,1,2026-09-01,,4000,,5000,CLP", "4000"),
        ("33,1,2026-09-01,1000,0,190,0,CLP", "1190"),
        ("33,1,2026-09-01,10.00,0,1.90,11.92,USD", "11.90"),
    ],
)
def test_two_units_off_or_a_part_that_is_missing_is_refused(row: str, total: str) -> None:
    """What is not there counts nothing beside parts that are."""
    ((_, _, _, reason),) = reasons_of(read_text(_file(row)))
    assert reason.startswith(f"the parts add up to {total} (")


def test_a_cancelled_document_without_its_total_keeps_its_parts() -> None:
    """Exports write zero there; a document of zero that nothing calls void does not pass for one."""
    text = "doc_type,folio,issue_date,net,exempt,vat,total,status\n33,1,2026-09-01,1000,0,190,0,void\n"
    assert [document.is_void for document in documents_of(read_text(text))] == [True]


def test_a_list_without_exempt_amounts_may_hold_exempt_documents() -> None:
    """Without net and VAT the whole of it may be exempt; with them they must make the total."""
    header = "Tipo Doc;Folio;Fecha;Neto;IVA;Total"
    assert documents_of(read_text(f"{header}\n34;1;01-09-2026;0;0;5000\n"))[0].total == 5000
    reason = "the parts add up to 1190 (Neto 1000, IVA 190) and the total is 1290"
    assert reasons_of(read_text(f"{header}\n33;1;01-09-2026;1000;190;1290\n")) == [(2, "Total", "1290", reason)]


@pytest.mark.parametrize(
    "name", ["IVA 16%", "IVA (16%)", "IVA (16.00 %)", "I.V.A.", "I.V.A. 16%", "Impuestos", "IVA 19%"]
)
def test_vat_is_read_under_a_name_with_its_rate_or_dots(name: str) -> None:
    """What such a column holds is the document's VAT, and its total is checked as under the name alone."""
    header = f"Tipo Doc;Folio;Fecha;Neto;{name};Total"
    assert documents_of(read_text(f"{header}\n33;1;01-09-2026;1000;190;1190\n"))[0].vat == 190
    reason = f"the parts add up to 1190 (Neto 1000, {name} 190) and the total is 1290"
    assert reasons_of(read_text(f"{header}\n33;1;01-09-2026;1000;190;1290\n")) == [(2, "Total", "1290", reason)]


def test_a_list_without_net_or_vat_has_nothing_to_add_up() -> None:
    """The total alone is what payments are matched with."""
    assert documents_of(read_text("Tipo Doc;Folio;Fecha;Neto;Total\n33;1;01-09-2026;1000;1190\n"))[0].net == 1000


def test_further_taxes_of_the_register_count() -> None:
    """The tax of the document's own row and those of the rows that follow it; without them the sum does not hold."""
    header = "Tipo Doc;Rut cliente;Folio;Fecha Docto;Monto Neto;Monto IVA;Monto total;Codigo Otro Imp.;Valor Otro Imp."
    rows = ["33;76192083-9;7;04/10/2026;1000;190;{};27;100", "33;76192083-9;7;;;;;24;105"]
    text = "\n".join([header, *rows, ""])
    assert documents_of(read_text(text.format(1395)))[0].total == 1395
    reason = (
        "the parts add up to 1395 (Monto Neto 1000, Monto IVA 190, Valor Otro Imp. 100, Valor Otro Imp. 105) "
        "and the total is 1190"
    )
    assert reasons_of(read_text(text.format(1190))) == [(2, "Monto total", "1190", reason)]


REGISTER = (
    "Tipo Doc;Folio;Fecha Docto;Monto Exento;Monto Neto;Monto IVA;Monto total;IVA Retenido Total;IVA Retenido Parcial;"
    "IVA no retenido;IVA propio;Neto Comision Liquid. Factura;IVA Comision Liquid. Factura;IVA fuera de plazo;"
    "Credito empresa constructora;Garantia Dep. Envases;Monto No facturable;Valor Otro Imp.;Tasa Otro Imp."
)


@pytest.mark.parametrize(
    "amounts",
    [
        "0;1000;190;1190;;;;190;;;;;;;;",
        "0;1000;190;1000;190;;;;;;;;;;;",
        "0;1000;190;1190;190;;;;;;;;;;;",
        "0;1000;190;1095;;95;95;;;;;;;;;",
        "0;1000;190;1071;;;;;100;19;;;;;;",
        "0;1000;0;1190;;;;;;;190;;;;;",
        "0;1000;190;1067;;;;;;;;123;;;;",
        "0;1000;190;1240;;;;;;;;;50;;;",
        "0;1000;190;1395;;;;;;;;;;;205;20.5",
        "300;1000;190;1790;;;;;;;;;;300;;",
    ],
)
def test_the_columns_of_the_chilean_register_are_known(amounts: str) -> None:
    """Withheld VAT and commissions lower a total and deposits raise it; codes, rates and breakdowns do nothing."""
    assert len(documents_of(read_text(f"{REGISTER}\n33;1;04/10/2026;{amounts}\n"))) == 1


def test_a_breakdown_of_the_vat_explains_no_difference() -> None:
    """Own VAT is said again of the VAT and does not count twice."""
    text = f"{REGISTER}\n33;1;04/10/2026;0;1000;190;1380;;;;190;;;;;;;;\n"
    ((_, column, value, _),) = reasons_of(read_text(text))
    assert (column, value) == ("Monto total", "1380")


@pytest.mark.parametrize(
    ("columns", "cells"),
    [
        ("SubTotal,Descuento,IVA,Total", "1000.00,100.00,144.00,1044.00"),
        ("SubTotal,Descuento,IVA,Total", "900.00,100.00,144.00,1044.00"),
        ("SubTotal,IVA,IEPS,Total", "1000.00,172.80,80.00,1252.80"),
        ("SubTotal,IVA,Ret. IVA,ISR Retenido,Total", "1000.00,160.00,106.67,100.00,953.33"),
        ("SubTotal,IVA,Total", "1000.00,,1000.00"),
        ("SubTotal,IVA,ISH,Total", "1000.00,160.00,30.00,1190.00"),
        ("SubTotal,IVA,IVA 8%,TotalImpuestosTrasladados,Total", "1000.00,80.00,40.00,120.00,1120.00"),
    ],
)
def test_mexican_lists_with_discounts_and_withheld_taxes_go_in(columns: str, cells: str) -> None:
    """Discounts stand before or after the subtotal by the habit of the program."""
    text = f"Efecto,Folio,Fecha,{columns}\nI,1,2026-10-05,{cells}\n"
    assert len(documents_of(read_text(text, country="mx"))) == 1


def test_a_tax_beside_the_total_is_missed_in_it() -> None:
    """A column that bears the name of a tax is part of the total."""
    text = "Efecto,Folio,Fecha,SubTotal,IVA,IEPS,Total\nI,1,2026-10-05,1000.00,160.00,80.00,1160.00\n"
    reason = "the parts add up to 1240.00 (SubTotal 1000.00, IVA 160.00, IEPS 80.00) and the total is 1160.00"
    assert reasons_of(read_text(text, country="mx")) == [(2, "Total", "1160.00", reason)]


def test_a_mapping_names_a_further_part() -> None:
    """A column that no word gives away is counted where the merchant says what it is."""
    text = "Tipo Doc;Folio;Fecha;Neto;IVA;Cargo Verde;Total\n33;1;01-09-2026;1000;190;10;1200\n"
    assert reasons_of(read_text(text))[0][1:3] == ("Total", "1200")
    assert documents_of(read_text(text, other_tax="Cargo Verde"))[0].total == 1200


def test_negative_notes_add_up_like_positive_ones() -> None:
    """The sign of the file's notes is taken off their further taxes too."""
    header = "Tipo Doc;Folio;Fecha;Neto;IVA;Valor Otro Imp.;Total"
    text = f"{header}\n61;1;01-09-2026;-1000;-190;-100;-1290\n33;2;01-09-2026;1000;190;;1190\n"
    assert [document.total for document in documents_of(read_text(text))] == [1290, 1190]


BORDER = "Tipo,Folio,Fecha,Subtotal,IVA 16%,IVA 8%,Total\n"


def test_columns_of_vat_by_rate_are_added_up() -> None:
    """Each document's VAT is the sum of its columns, checked as one; a cell that cannot be read is named by its own."""
    rows = ("I,1,2026-10-01,10.00,1.60,0.00,11.60", "I,2,2026-10-01,10.00,,0.80,10.80",
            "I,3,2026-10-01,20.00,1.60,0.80,22.40", "Total,,,40.00,3.20,1.60,44.80")  # fmt: skip
    documents = documents_of(read_text(BORDER + "\n".join(rows), country="mx"))
    assert [document.vat for document in documents] == [160, 80, 240]
    wrong = read_text(BORDER + "I,1,2026-10-01,20.00,1.60,0.80,22.50\nI,2,2026-10-01,10.00,0,x,10.00", country="mx")
    assert [(line, column) for line, column, *_ in reasons_of(wrong)] == [(2, "Total"), (3, "IVA 8%")]
    assert reasons_of(wrong)[0][3] == (
        "the parts add up to 22.40 (Subtotal 20.00, IVA 16% 1.60, IVA 8% 0.80) and the total is 22.50"
    )


def test_vat_that_may_stand_there_twice_is_refused_in_words() -> None:
    """VAT next to VAT of one rate may hold it or not where no net says so; a mapping says which column it is."""
    text = "Tipo,Folio,Fecha,IVA,IVA 8%,Total\nI,1,2026-10-01,1.60,0.80,22.40\n"
    ((line, column, _, reason),) = reasons_of(read_text(text, country="mx"))
    assert (line, column) == (1, "IVA")
    assert reason.startswith("IVA 8% may hold a part of IVA or come on top of it, and no net amount shows which: ")
    assert documents_of(read_text(text, country="mx", vat="IVA"))[0].vat == 160


@pytest.mark.parametrize(("iva", "total"), [("1.60", "22.40"), ("2.40", "22.40")], ids=["of one rate", "of both"])
def test_vat_next_to_that_of_one_rate_is_what_the_totals_say(iva: str, total: str) -> None:
    """IVA may be the VAT of the usual rate or all VAT: the document's is the same."""
    text = BORDER.replace("IVA 16%", "IVA") + f"I,1,2026-10-01,20.00,{iva},0.80,{total}\n"
    assert documents_of(read_text(text, country="mx"))[0].vat == 240


@pytest.mark.parametrize(
    ("rows", "vat", "notes"),
    [
        (["10.00,0.80,1.73,12.53", "10.00,0.00,1.60,11.60"], [173, 160], 0),
        (["10.00,0.80,2.53,12.53", "10.00,0.00,1.60,11.60"], [173, 160], 1),
    ],
    ids=["VAT alone", "all taxes"],
)
def test_taxes_next_to_a_further_tax_are_what_the_totals_say(rows: list[str], vat: list[int], notes: int) -> None:
    """Impuestos is the VAT, or the VAT with the IEPS that stands next to it; a note says the second."""
    lines = [f"I,{number},2026-10-01,{row}" for number, row in enumerate(rows, start=1)]
    reading = read_text("\n".join(["Tipo,Folio,Fecha,Subtotal,IEPS,Impuestos,Total", *lines, ""]), country="mx")
    assert [document.vat for document in documents_of(reading)] == vat
    assert len(reading.notes) == notes


def test_totals_that_contradict_each_other_leave_all_taxes_refused() -> None:
    """One document says that the column is VAT alone, one that it is not: the second is refused."""
    rows = "I,1,2026-10-01,10.00,0.80,1.73,12.53\nI,2,2026-10-01,10.00,0.80,2.53,12.53\n"
    reading = read_text(f"Tipo,Folio,Fecha,Subtotal,IEPS,Impuestos,Total\n{rows}", country="mx")
    assert [line for line, *_ in reasons_of(reading)] == [3]


def test_one_look_names_wrong_sums_among_other_faults() -> None:
    """A state, a folio and a day that cannot be read hide no sum of their row or of another."""
    rows = ("33;76192083-9;Uno;7;13-09-2026;0;1000;190;1290;Rara", "33;76192083-9;Uno;x;nunca;0;1000;190;1290;Vigente",
            "33;76192083-9;Uno;9;13-09-2026;0;1000;190;1290;Vigente")  # fmt: skip
    text = register_of(*rows).replace("Monto total", "Monto total;Estado")
    assert [(line, column) for line, column, *_ in reasons_of(read_text(text))] == [
        (2, "Estado"), (2, "Monto total"), (3, "Folio"), (3, "Fecha Docto"), (3, "Monto total"), (4, "Monto total"),
    ]  # fmt: skip


def test_a_row_said_twice_is_told_once() -> None:
    """Identical rows are one document."""
    row = "33;76192083-9;Uno;7;13-09-2026;0;1000;190;1290"
    assert [line for line, *_ in reasons_of(read_text(register_of(row, row)))] == [2]


def test_the_command_takes_totals_only_when_told(call: Call, tmp_path: Path) -> None:
    """Refused with exit 1 and a sentence that says how; with --accept-totals in, counted in the outcome."""
    path = tmp_path / "books.csv"
    path.write_text(_file(RIGHT, WRONG), encoding="utf-8")
    refused = call("invoices", "import", path)
    assert refused.exit_code == 1
    assert "books.csv: correct them where the file was made, or take them in with --accept-totals" in (refused.stderr)
    assert json.loads(call("invoices", "import", path, "--dry-run", "--accept-totals", "--json").stdout) == {
        "connection": "main", "file": "books.csv", "accepted": True, "imported": False, "rows": 2, "added": 2,
        "changed": 0, "unchanged": 0, "repeated": 0, "encoding": "utf-8", "separator": ",",
        "columns": [{"name": name, "field": name} for name in HEADER.split(",")],
        "totals": [
            {
                "doc_type": "33", "currency": "CLP", "count": 2, "net": "2000", "exempt": "50", "vat": "380",
                "total": "2480",
            }
        ],
        "totals_accepted": 1, "rejects": [],
        "notes": ["documents whose parts do not add up to their total, accepted as they stand: 1"], "changes": [],
    }  # fmt: skip
    taken = call("invoices", "import", path, "--accept-totals", "--json")
    assert taken.exit_code == 0
    assert json.loads(taken.stdout)["totals_accepted"] == 1
    again = json.loads(call("invoices", "import", path, "--json").stdout)
    assert again["notes"][0].endswith("as books.csv, nothing changed; totals accepted as they stood: 1")
