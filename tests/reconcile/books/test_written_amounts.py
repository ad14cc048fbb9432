"""Amounts and signs as invoice files write them: one convention for the whole file."""

import pytest

from tests.reconcile.books.invoice_texts import documents_of, read_text, reasons_of


def _amounts(*totals: str, header: str = "Tipo DTE;Folio;Fecha;Total") -> str:
    return "\n".join([header, *(f"33;{n};01-09-2026;{total}" for n, total in enumerate(totals, start=1))])


@pytest.mark.parametrize(
    ("written", "amounts"),
    [
        (("1.234",), [1234]),
        (("1.234.567", "$ 5.000", "CLP 12", "12 clp", "CLP$ 7"), [1234567, 5000, 12, 12, 7]),
        (("1,234", "5,000"), [1234, 5000]),
        (("1 234", "1\u00a0234\u00a0567", "1\u202f234"), [1234, 1234567, 1234]),
        (("1234,0", "1234,00"), [1234, 1234]),
        (("1234.00",), [1234]),
        (("1.234,00",), [1234]),
        (("1234.000",), [1234]),
    ],
)
def test_chilean_amounts_read_under_one_convention(written: tuple[str, ...], amounts: list[int]) -> None:
    """Thousands, spaces, signs of money and zero fractions; what `1.234` means is decided by the file."""
    assert [document.total for document in documents_of(read_text(_amounts(*written)))] == amounts


@pytest.mark.parametrize(
    ("written", "amounts"),
    [
        (("1,234.50", "10"), [123450, 1000]),
        (("1.234,50", "10"), [123450, 1000]),
        (("1.000", "2.50"), [100, 250]),
        (("1,000", "2,000"), [100000, 200000]),
    ],
)
def test_mexican_amounts_read_under_one_convention(written: tuple[str, ...], amounts: list[int]) -> None:
    """Decimals of one cell say what the mark of every other cell means."""
    text = _amounts(*written, header="Efecto;Folio;Fecha;Total").replace("\n33;", "\nI;")
    assert [document.total for document in documents_of(read_text(text, country="mx"))] == amounts


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("1234,5", "has more decimals than CLP has"),
        ("12.34.56", "is not an amount written with a decimal comma"),
        ("1190 pesos", "is not an amount written with a decimal comma"),
        ("uno", "is not an amount written with a decimal comma"),
        ("１１９０", "is not an amount written with a decimal comma"),
        ("", "is empty"),
        ("-", "is empty"),
        ("UF 12", "is written in CLF, and its row is in CLP"),
        ("US$ 1.190", "is written in USD, and its row is in CLP"),
        ("1US90", "is not an amount written with a decimal comma"),
    ],
)
def test_what_is_no_amount_is_refused(written: str, reason: str) -> None:
    """Nothing unreadable becomes zero."""
    lines = reasons_of(read_text(_amounts(written, "1.234.567")))
    assert lines[0][0:2] == (2, "Total")
    assert lines[0][3] in {reason, reason.replace("comma", "point")}


def test_marks_that_contradict_each_other_refuse_the_file() -> None:
    """Two cells that read both ways, each its own way, cannot both be thousands."""
    assert reasons_of(read_text(_amounts("1.000", "1,000"))) == [
        (1, "", "", "an amount uses . and , before three digits: write the file with one of them")
    ]


def test_units_of_account_with_three_digits_are_ambiguous() -> None:
    """A UF has four decimals, so 1.234 may be either, and the file is refused."""
    text = "Tipo DTE;Folio;Fecha;Total;Moneda\n33;1;01-09-2026;1.234;UF\n"
    assert reasons_of(read_text(text))[0][3].startswith("an amount could be thousands or decimals of CLF")


@pytest.mark.parametrize("totals", [("-1.190", "-50"), ("1.190", "50"), ("(1.190)", "50-"), ("−1.190", "-50")])
def test_credit_notes_have_the_sign_of_their_kind(totals: tuple[str, str]) -> None:
    """A file may write all notes negative or all positive; the amount kept is positive."""
    rows = [f"61;{folio};01-09-2026;{total}" for folio, total in enumerate(totals, start=1)]
    reading = read_text("\n".join(["Tipo DTE;Folio;Fecha;Total", "33;9;01-09-2026;2000", *rows]))
    assert [document.total for document in documents_of(reading)] == [2000, 1190, 50]


def test_notes_of_both_signs_in_one_file_stop_the_import() -> None:
    """A person must say which sign is meant."""
    reading = read_text("Tipo DTE;Folio;Fecha;Total\n61;1;01-09-2026;-10\n61;2;01-09-2026;10\n")
    assert [reason[:3] for reason in reasons_of(reading)] == [(2, "Total", "-10")]


def test_an_invoice_below_zero_is_refused() -> None:
    """Only notes lower what is owed."""
    reading = read_text("Tipo DTE;Folio;Fecha;Total\n33;1;01-09-2026;-10\n")
    assert reasons_of(reading)[0][:3] == (2, "Total", "-10")


def test_currencies_are_never_added_up() -> None:
    """Control totals stand per kind and currency, and a total row over two currencies proves nothing."""
    text = "Tipo DTE;Folio;Fecha;Total;Moneda\n33;1;01-09-2026;10;CLP\n33;2;01-09-2026;10,5;USD\nTotal;;;999;\n"
    reading = read_text(text)
    assert [(total.currency, total.count, total.total) for total in reading.totals] == [
        ("CLP", 1, 10),
        ("USD", 1, 1050),
    ]
