"""A layout of the merchant's own: the header row of a template and a mapping of its titles, or a whole file of one."""

from pathlib import Path
from typing import Any

import pytest

from reconcile.journal.layout_cells import LayoutError
from reconcile.journal.profiles import FOLDER, ProfileError, find_profile, read_profile
from tests.reconcile.journal.histories import History, Ledger, Sale
from tests.reconcile.journal.test_layouts import FIRST, LAST, render

OWN = """
header = "Fecha;Cuenta;Glosa;Centro;Cargo;Abono;Sucursal"
[file]
kind = "csv"
extension = "csv"
separator = ";"
encoding = "latin-1"
[text]
allow = 'A-Za-zÁÉÍÓÚÑáéíóúñ0-9 .'
[columns]
Fecha = { from = "date", date = "%d-%m-%Y" }
Cuenta = "account"
Glosa = { from = "text", cut = true, max = 30 }
Cargo = { from = "debit", zero = "0" }
Abono = { from = "credit", zero = "0" }
Sucursal = { const = "1" }
"""
SALES = History((Sale("pi_1", FIRST, 1190),))


def test_a_header_row_and_a_mapping_are_a_layout(tmp_path: Path) -> None:
    """Titles stand as in the template, those without a mapping are empty, and the name is the file's."""
    path = tmp_path / "mine.toml"
    path.write_text(OWN, encoding="utf-8")
    (name, data), *others = render(find_profile(str(path)), Ledger().export(SALES, LAST), "cl").items()
    assert others == []
    assert name == "2026-10-01_2026-10-31_main_mine.csv"
    assert data.decode("latin-1") == (
        "Fecha;Cuenta;Glosa;Centro;Cargo;Abono;Sucursal\r\n"
        "01-10-2026;1.1.03.10;Pago sin documento pi 1;;1190;0;1\r\n"
        "01-10-2026;2.1.08.10;Pago sin documento pi 1;;0;1190;1\r\n"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("Glosa = {", "Glossa = {"), "layout mine: Glossa is no title of the header"),
        (("Cuenta;", "Cuenta;Cuenta;"), "layout mine: Cuenta is no title of the header, or stands there twice"),
        (('"account"', '"acount"'), "layout mine: acount is no field of that record; known are account,"),
        (("cut = true", "cutt = true"), "Object contains unknown field `cutt`"),
        (("Abono = ", "Abono = 5 #"), "Expected `str`, got `int`"),
        (("[columns]", "[colums]"), "Object contains unknown field `colums`"),
        (("0-9 .'", "9-0'"), "bad character range 9-0"),
        (('extension = "csv"', 'extension = "csv"\nname = "{day}"'), "layout mine cannot be read: 'day'"),
    ],
)
def test_a_mapping_that_is_wrong_is_refused(change: tuple[str, str], words: str) -> None:
    """Each unknown name in the file is given, before anything is written."""
    assert change[0] in OWN
    with pytest.raises(ProfileError) as refused:
        read_profile(OWN.replace(*change), "mine")
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("entry", "sale", "words"),
    [
        ('{ from = "debit", whole = 3 }', {}, "layout mine: amount 1190 of entry "),
        ('{ from = "operation" }', {}, "holds _, which the layout does not take"),
        ('{ from = "means", width = 5 }', {"means": "cheque"}, "layout mine: Cargo cheque of entry "),
    ],
)
def test_what_does_not_fit_is_refused_by_name(entry: str, sale: dict[str, Any], words: str) -> None:
    """An amount of too many digits, a forbidden character where no text is cut, a value wider than its column."""
    profile = read_profile(OWN.replace('{ from = "debit", zero = "0" }', entry), "mine")
    sales = History((Sale("pi_1", FIRST, 1190, **sale),))
    with pytest.raises(LayoutError) as refused:
        render(profile, Ledger().export(sales, LAST), "cl")
    assert words in str(refused.value)


def test_a_sheet_that_is_full_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row more than a sheet holds is refused; a library would leave it out without a word."""
    monkeypatch.setattr("reconcile.journal.layouts.MOST_ROWS", 2)
    with pytest.raises(LayoutError, match="layout defontana: a sheet holds 2 rows: export fewer days"):
        render(find_profile("defontana"), Ledger().export(SALES, LAST), "cl")


def test_a_broken_template_is_refused() -> None:
    """A template that asks for more cells than the record has is refused when it is read."""
    text = (FOLDER / "hledger.toml").read_text(encoding="utf-8").replace("{0} opening", "{7} opening")
    with pytest.raises(ProfileError, match="layout mine cannot be read"):
        read_profile(text, "mine")
