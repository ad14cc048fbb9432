"""Bank sheets as Chilean and Mexican banks give them out, and readings of them that must not be guessed."""

import io

import openpyxl
import pytest

from reconcile.books.bank_files import read_bank_file
from reconcile.books.bank_statements import BankFileError, BankReading


def _read(text: str, country: str = "cl") -> BankReading:
    return read_bank_file(text.encode(), country=country, mapping={})


def _amounts(reading: BankReading) -> list[int]:
    assert reading.rejects == ()
    return [row.amount for part in reading.statements for row in part.rows]


def _reasons(reading: BankReading) -> list[tuple[int, str, str, str]]:
    assert reading.rejects
    return [(one.line, one.column, one.value, str(one.reason)) for one in reading.rejects]


@pytest.mark.parametrize(
    "header",
    [
        "Fecha;Descripcion;N operacion;Cheques/Cargos($);Depositos/Abonos($);Saldo$",
        "Fecha;Descripción;N° Documento;Cheques y otros cargos;Depósitos y Abono;Saldo",
        "Fecha;Detalle Movimiento;Docto. Nro.;Cheque o Cargo;Deposito o Abono;Saldo",
        "Fecha;Descripcion;N° Documento;Cargos (CLP);Abonos (CLP);Saldo (CLP)",
        "Fecha;Detalle de Transaccion;N Dcto;Cheques y Otros Cargos;Depositos y Otros Abonos;Saldo",
        "Fecha;Descripción;N° Documento;Giros o cargos;Depósitos o abonos;Saldo",
    ],
)
def test_columns_of_chilean_banks_are_known(header: str) -> None:
    """Six ways to say charge and deposit."""
    reading = _read(f"{header}\n05/10/2026;TEF;17;;49.000;149.000\n06/10/2026;COM;18;1.000;;148.000\n")
    assert _amounts(reading) == [49_000, -1_000]
    row, opening = reading.statements[0].rows[0], reading.statements[0].opening
    assert opening is not None
    assert (row.text, row.reference, opening.amount) == ("TEF", "17", 100_000)


def test_a_mexican_list_parted_by_tabs_is_read_with_its_words() -> None:
    """Newest first, concept and reference in one column, nothing written as a dash beside the currency's sign."""
    text = "Día\tConcepto / Referencia\tcargo\tAbono\tSaldo\n05-10-2026\tSPEI/0012\t$ -\t1,160.00\t2,160.00\n"
    reading = _read(text, "mx")
    assert _amounts(reading) == [116_000]
    assert reading.statements[0].rows[0].text == "SPEI/0012"


def test_a_row_about_the_account_above_the_list_is_no_header() -> None:
    """Banks name account, currency and balance before the lines."""
    text = "Fecha;Cuenta;Moneda;Saldo\n05/10/2026;12345678;CLP;49\n\nFecha;Detalle;Cargo;Abono\n05/10/2026;TEF;;49\n"
    assert _amounts(_read(text)) == [49]


def test_a_deposit_of_somebody_called_total_is_kept() -> None:
    """A row that has a day moved money, whatever its first word."""
    text = (
        "Detalle;Fecha;Cargo;Abono\nTOTAL PACK SPA;05/10/2026;;5.000\nSaldo Isapre;06/10/2026;;10\nTotales;;0;5.010\n"
    )
    assert _amounts(_read(text)) == [5_000, 10]


@pytest.mark.parametrize(
    ("last", "column", "value", "found"),
    [
        ("Totales;;0;50.000;", "Abono", "50.000", "49000"),
        ("Saldo final;;;;150.000", "Saldo", "150.000", "149000"),
        ("Saldo inicial;;;;1.000", "Saldo", "1.000", "100000"),
    ],
)
def test_totals_and_balances_below_must_agree(last: str, column: str, value: str, found: str) -> None:
    """A file that was cut off or edited is not taken."""
    reading = _read(f"Fecha;Detalle;Cargo;Abono;Saldo\n05/10/2026;TEF;;49.000;149.000\n{last}\n")
    reason = f"the lines make {found} and not this: lines are missing or were changed"
    assert _reasons(reading) == [(3, column, value, reason)]


@pytest.mark.parametrize("header", ["Fecha;Detalle;Cargo;Abono", "Fecha;Detalle;Cargo;Abono;Saldo"])
def test_a_charge_below_zero_among_charges_is_asked_about(header: str) -> None:
    """It may be a charge taken back: read as another charge it is wrong by twice its amount."""
    balances = (";9.000", ";10.000") if header.endswith("Saldo") else ("", "")
    text = f"{header}\n05/10/2026;CHEQUE;1.000;{balances[0]}\n06/10/2026;REVERSO;-1.000;{balances[1]}\n"
    reason = "is a charge below zero beside charges above it: write what was given back as a credit"
    assert _reasons(_read(text)) == [(3, "Cargo", "-1.000", reason)]


def test_charges_that_are_all_below_zero_are_charges() -> None:
    """Some banks write every charge with its sign."""
    text = "FECHA,DESCRIPCIÓN,CARGO,ABONO\n28/10/2026,PAGO,-25.00,\n27/10/2026,DEP,,18.00\n"
    assert _amounts(_read(text, "mx")) == [-2_500, 1_800]


def test_a_sign_against_its_word_is_asked_about() -> None:
    """Below zero and called a credit: one of the two is wrong."""
    text = "Fecha;Detalle;Monto;Cargo/Abono\n05/10/2026;X;-1.000;Abono\n06/10/2026;Y;2.000;Abono\n"
    reason = "is below zero, and its direction 'Abono' says that it came in: write which holds"
    assert _reasons(_read(text)) == [(2, "Monto", "-1.000", reason)]


def test_the_column_that_is_wrong_is_the_one_named() -> None:
    """A charge that cannot be read is not blamed on the deposit next to it."""
    reading = _read("Fecha;Detalle;Cargo;Abono\n05/10/2026;X;abc;\n06/10/2026;Y;;1.000\n")
    assert [one[:3] for one in _reasons(reading)] == [(2, "Cargo", "abc")]


def test_a_currency_that_is_unknown_is_named_with_its_row() -> None:
    """Each row that writes one, with its line, column and value."""
    text = "Fecha;Detalle;Monto;Moneda\n05/10/2026;X;1.000;CLP\n06/10/2026;Y;2.000;XYZ\n07/10/2026;Z;3.000;ABC\n"
    assert [one[:3] for one in _reasons(_read(text))] == [(3, "Moneda", "XYZ"), (4, "Moneda", "ABC")]


def test_a_tracking_key_that_lost_digits_is_refused() -> None:
    """As a number a spreadsheet keeps fifteen of them; as an error it keeps none."""
    book, content = openpyxl.Workbook(), io.BytesIO()
    page = book.active
    assert page is not None
    page.append(["Fecha", "Concepto", "Importe", "Clave de rastreo"])
    page.append(["05/10/2026", "X", 10, 2026100540014123456789])
    page.append(["05/10/2026", "Y", 10, "#N/A"])
    book.save(content)
    reading = read_bank_file(content.getvalue(), country="mx", mapping={})
    assert [one[:2] for one in _reasons(reading)] == [(2, "Clave de rastreo"), (3, "Clave de rastreo")]


def test_a_web_page_with_the_name_of_a_workbook_is_called_one() -> None:
    """Several banks give it out; without a table there is no list to read."""
    with pytest.raises(BankFileError) as caught:
        _read("<div>Fecha</div>")
    assert str(caught.value).startswith("the file is not a bank statement (camt.053)")
