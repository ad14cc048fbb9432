"""Rates into the books."""

from datetime import date
from pathlib import Path

import pytest
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.books.rates import import_rates, read_rates
from reconcile.tables.books import ExchangeRate


@pytest.mark.parametrize(
    "text",
    ["Fecha;Valor\n05-10-2026;39.123,45\n", "date,value\n2026-10-05,39123.45\n", "Fecha;UF\n05/10/2026;$39123,45\n"],
)
def test_a_day_and_its_value(text: str) -> None:
    """Either decimal mark, one for the file."""
    assert read_rates("uf.csv", text.encode(), country="cl").rates == ((date(2026, 10, 5), "39123.45"),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a;b\n1;2\n", "no row names a date (fecha) and a value (valor) column"),
        ("Fecha;Valor\n05-10-2026;x\n", "is not a rate above zero"),
        ("Fecha;Valor\n05-10-2026;0,00\n", "is not a rate above zero"),
        (f"Fecha;Valor\n05-10-2026;{'9' * 5000}\n", "is not a rate above zero"),
        (
            "Fecha;Valor\nayer;39\n",
            "is not a date in a form known here: write yyyy-mm-dd, or the day before the month as dd-mm-yyyy",
        ),
        ("Fecha;Valor\n05-10-2026;39\n05-10-2026;40\n", "another value stands for 2026-10-05 above"),
    ],
)
def test_what_is_no_rate_is_refused(text: str, reason: str) -> None:
    """Nothing is guessed."""
    assert [str(one.reason) for one in read_rates("uf.csv", text.encode(), country="cl").rejects] == [reason]


@pytest.mark.parametrize(
    ("values", "rates"),
    [
        (("39.123", "39.456,78"), ["39123", "39456.78"]),
        (("18.123", "17.5"), ["18.123", "17.5"]),
        (("18,123", "17,5"), ["18.123", "17.5"]),
        (("18.1234", "18.123"), ["18.1234", "18.123"]),
        (("0,912", "0,913"), ["0.912", "0.913"]),
        (("39", "40"), ["39", "40"]),
    ],
)
def test_the_whole_file_decides_its_mark(values: tuple[str, str], rates: list[str]) -> None:
    """One value that reads one way only decides for all."""
    text = f"Fecha;Valor\n05-10-2026;{values[0]}\n06-10-2026;{values[1]}\n"
    assert [value for _, value in read_rates("uf.csv", text.encode(), country="cl").rates] == rates


@pytest.mark.parametrize("value", ["39.123", "18,123"])
def test_values_that_all_read_both_ways_are_refused(value: str) -> None:
    """A thousand times too much or too little is no guess to take."""
    text = f"Fecha;Valor\n05-10-2026;{value}\n06-10-2026;40\n"
    outcome = read_rates("uf.csv", text.encode(), country="cl")
    assert outcome.rates == ()
    assert [str(one.reason) for one in outcome.rejects] == [
        "a value could be thousands or decimals, and so could the whole file: write all with decimals"
    ]


def test_a_later_value_replaces(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """One value a day."""
    path = tmp_path / "uf.csv"
    for value in ("39.123,45", "39.124,00"):
        path.write_text(f"Fecha;Valor\n05-10-2026;{value}\n", encoding="utf-8")
        assert import_rates(installation, main, path, currency="CLF").accepted
    with installation.store.reading() as session:
        assert [(row.currency, row.value) for row in session.exec(select(ExchangeRate))] == [("CLF", "39124.00")]
