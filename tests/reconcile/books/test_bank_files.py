"""Bank files into the books: formats, balances, one line once, and whole or not at all."""

import logging
from datetime import date
from pathlib import Path

import pytest
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.books.bank_files import BankOutcome, import_bank_file, read_bank_file
from reconcile.books.bank_statements import BankFileError, BankReading
from reconcile.tables.books import BankFile, BankLine

DATA = Path(__file__).parents[2] / "data" / "bank"
ACCOUNT = "0-001-234567-8"
MISSING = (
    "it opens with 148000, its 1 lines add up to 79000, and it closes with 227001: lines are missing or were changed"
)
CARTOLA = "Fecha;Descripción;N° Documento;Cargos;Abonos;Saldo\n"
WHOLE = CARTOLA + "05/10/2026;PAGO po_1;17;;49.000;149.000\n06/10/2026;COMISION;;1.000;;148.000\n"


def _read(text: str, country: str = "cl", **mapping: str) -> BankReading:
    return read_bank_file(text.encode(), country=country, mapping=mapping)


def _rows(reading: BankReading) -> list[tuple[date, int, str]]:
    assert reading.rejects == ()
    return [(row.booked_on, row.amount, row.text) for part in reading.statements for row in part.rows]


def _import(
    installation: Installation, connection: Connection, folder: Path, text: str, name: str = "bank.csv"
) -> BankOutcome:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return import_bank_file(installation, connection, path, account=ACCOUNT)


def _kept(installation: Installation) -> list[tuple[date, int]]:
    with installation.store.reading() as session:
        return sorted((line.booked_on, line.amount) for line in session.exec(select(BankLine)))


def test_a_chilean_cartola_has_charges_and_credits_in_two_columns() -> None:
    """Charges are negative, credits positive, and the running balance gives both edges."""
    reading = _read("Cartola de cuenta;;;;;\n;;;;;\n" + WHOLE + "Totales;;;1.000;49.000;\n")
    assert _rows(reading) == [(date(2026, 10, 5), 49_000, "PAGO po_1"), (date(2026, 10, 6), -1_000, "COMISION")]
    statement = reading.statements[0]
    assert statement.opening is not None
    assert statement.closing is not None
    assert (statement.opening.amount, statement.closing.amount) == (100_000, 148_000)


def test_a_sheet_newest_first_is_followed_from_below() -> None:
    """Banks list either way; the running balance says which."""
    text = CARTOLA + "06/10/2026;COMISION;;1.000;;148.000\n05/10/2026;PAGO;17;;49.000;149.000\n"
    opening, closing = _read(text).statements[0].opening, _read(text).statements[0].closing
    assert opening is not None
    assert closing is not None
    assert (opening.amount, closing.amount) == (100_000, 148_000)


def test_a_broken_running_balance_refuses_the_file() -> None:
    """A line that was cut out shows in the balance of the next one."""
    text = WHOLE + "07/10/2026;ABONO;;;5.000;159.000\n"
    assert [(one.line, one.column) for one in _read(text).rejects] == [(4, "Saldo")]


@pytest.mark.parametrize(
    ("header", "row", "amount"),
    [
        ("date,description,reference,amount,currency", "2026-10-05,SPEI,po_1,490.50,MXN", 49_050),
        ("Fecha,Concepto,Importe", "05/10/2026,RETIRO,-50.00", -5_000),
        ("Fecha,Concepto,Importe,Cargo/Abono", "05/10/2026,RETIRO,50.00,Cargo", -5_000),
        ("Fecha,Concepto,Importe,Cargo/Abono", "05/10/2026,PAGO,50.00,Abono", 5_000),
        ("Fecha,Concepto,Retiros,Depósitos", "05/10/2026,PAGO,0.00,50.00", 5_000),
    ],
)
def test_mexican_sheets(header: str, row: str, amount: int) -> None:
    """One signed column, one with a word for its direction, or two."""
    assert [found[1] for found in _rows(_read(f"{header}\n{row}\n", "mx"))] == [amount]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Fecha;Detalle;Monto\n05/10/2026;X;abc\n", "is not an amount written with a decimal comma"),
        ("Fecha;Detalle;Monto\n26/10/20;X;10\n", "has a year of two digits: write four"),
        ("Fecha;Detalle;Monto\n05/10/2026;X;\n", "is empty"),
        ("Fecha;Detalle;Cargos;Abonos\n05/10/2026;X;5;6\n", "stands beside a charge: a line is one of the two"),
        ("Fecha;Detalle;Monto\n05/10/2026;X;10;\n",
         "the row has not the 3 columns of the header: a separator is missing or too many"),
        ("Fecha;Detalle;Monto;Monto\n05/10/2026;X;10;11\n",
         "two columns bear this name: rename or delete the one not meant"),
        ("Fecha;Detalle;Monto;C/A\n05/10/2026;X;10;C\n",
         "has the direction C, a charge at one bank and a credit at another: write it as a sign"),
        ("Fecha;Detalle;Monto;Moneda\n05/10/2026;X;10;CLP\n06/10/2026;X;10;USD\n",
         "the file mixes CLP, USD: an account has one currency"),
        ("Fecha;Detalle;Monto\n", "the file has no movements"),
    ],
)  # fmt: skip
def test_what_a_sheet_cannot_mean_is_refused(text: str, reason: str) -> None:
    """No cell is guessed."""
    assert [str(one.reason) for one in _read(text).rejects] == [reason]


@pytest.mark.parametrize(("flags", "amounts"), [(("C", "A"), [-10, 10]), (("C", "D"), [10, -10])])
def test_the_letter_c_means_what_its_file_says(flags: tuple[str, str], amounts: list[int]) -> None:
    """Beside A (abono) it is a charge, beside D (débito) a credit."""
    rows = "".join(f"05/10/2026;X{flag};10;{flag}\n" for flag in flags)
    assert [row[1] for row in _rows(_read("Fecha;Detalle;Monto;C/A\n" + rows))] == amounts


def test_mt940_is_read_by_its_statements() -> None:
    """Both statements come out with their balances, charges negative."""
    reading = read_bank_file((DATA / "two_days.mt940").read_bytes(), country="cl", mapping={})
    assert _rows(reading) == [
        (date(2026, 10, 5), 49_000, "PAGO PROVEEDOR po_1"),
        (date(2026, 10, 5), -1_000, "COMISION"),
        (date(2026, 10, 6), 79_000, "ABONO"),
    ]
    assert [statement.account for statement in reading.statements] == ["00012345678", "00012345678"]
    assert reading.statements[0].rows[0].reference == "po_1 B1"


def test_camt_is_read_by_its_booked_entries() -> None:
    """Entries that are only announced are left out aloud; the indicator gives the sign."""
    reading = read_bank_file((DATA / "one_day.camt.xml").read_bytes(), country="mx", mapping={})
    assert _rows(reading) == [(date(2026, 10, 5), 49_050, "SPEI RECIBIDO"), (date(2026, 10, 5), -5_000, "COMISION")]
    assert reading.statements[0].rows[0].reference == "A1 po_1"
    assert [*map(str, reading.notes)] == ["1 entries are not booked yet and were left out"]


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("CLP227000", "CLP227001",
         MISSING),
        (":60F:C261005CLP148000,\n:61:2610061006C79000,", ":60F:C261006CLP148500,\n:61:2610061006C78500,",
         "a statement closes with 148000 and the next one opens with 148500: one between is missing"),
        (":25:037/00012345678\n:28C:2/1", ":25:037/00099995678\n:28C:2/1",
         "the file is of an account ending in 5678, not of the one given"),
    ],
)  # fmt: skip
def test_balances_and_accounts_must_agree(
    installation: Installation, main: Connection, tmp_path: Path, *, before: str, after: str, reason: str
) -> None:
    """A statement that does not add up, one that is missing, or one of another account keeps the file out."""
    text = (DATA / "two_days.mt940").read_text(encoding="utf-8").replace(before, after)
    outcome = _import(installation, main, tmp_path, text, "x.sta")
    assert [str(one.reason) for one in outcome.rejects] == [reason]
    assert _kept(installation) == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"a;b\n1;2\n", "no row names a date and an amount"),
        (b"<a", "the file is not XML that can be read"),
        (b'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hosts">]><d>&x;</d>',
         "the file declares entities or a document type"),
        (b"<Document><CstmrCdtTrfInitn/></Document>", "the file is not a bank statement (camt.053)"),
        (b"<Document><BkToCstmrStmt/></Document>", "the file holds no statement"),
        (b"<Document><BkToCstmrStmt><Stmt/></BkToCstmrStmt></Document>", "a statement states no opening balance"),
        (b":20:X\n:25:1\n:60F:C261005CLP1000,\n", "a statement states no closing (:62F:) balance"),
        (b":20:X\n:25:1\n:60F:C261005CLP1000,\n:61:261005C" + b"9" * 40 + b",NTRFX\n:62F:C261005CLP1000,\n",
         "the amount of field :61: on line 4 has 41 characters where the format allows 15"),
        (b":20:X\n:25:1\n:60F:C261005CLP1234567890123456,\n:62F:C261005CLP1000,\n",
         "the amount of field :60F: on line 3 has 17 characters where the format allows 15"),
        (b":20:X\n:25:1\n:60F:C261005CLP1000,\n:61:garbage\n:62F:C261005CLP1000,\n", "the file "),
    ],
)  # fmt: skip
def test_what_is_no_bank_file_is_named(content: bytes, words: str) -> None:
    """One sentence, and no entity is ever opened."""
    with pytest.raises(BankFileError) as caught:
        read_bank_file(content, country="cl", mapping={})
    assert str(caught.value).startswith(words)


def test_a_field_nobody_can_read_is_named_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    """Account numbers and names reach neither the sentence nor the log."""
    text = ":20:X\n:25:1\n:60F:C261005CLP1000,\n:61:ANA SOTO 00012345678\n:62F:C261005CLP1000,\n"
    with caplog.at_level(logging.DEBUG), pytest.raises(BankFileError) as caught:
        read_bank_file(text.encode(), country="cl", mapping={})
    said = "the file is not MT940 that can be read: field :61:, line 4, is not written as the format asks"
    assert (str(caught.value), caplog.text) == (said, "")


def test_the_same_file_and_the_same_lines_come_in_once(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """A second look changes nothing; an overlapping file brings only what is new, equal lines of one day counted."""
    assert _import(installation, main, tmp_path, WHOLE).added == 2
    again = _import(installation, main, tmp_path, WHOLE, "copy.csv")
    assert (again.accepted, again.kept, again.added) == (True, False, 0)
    assert str(again.earlier).endswith("as bank.csv, nothing changed")
    twin = "06/10/2026;COMISION;;1.000;;147.000\n"
    later = _import(installation, main, tmp_path, WHOLE + twin, "later.csv")
    assert (later.added, later.known) == (1, 2)
    assert _kept(installation) == [
        (date(2026, 10, 5), 49_000),
        (date(2026, 10, 6), -1_000),
        (date(2026, 10, 6), -1_000),
    ]


def test_one_bad_line_keeps_the_file_out(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """Whole or not at all."""
    outcome = _import(installation, main, tmp_path, "Fecha;Detalle;Monto\n05/10/2026;X;10\n06/10/2026;Y;x\n")
    assert [(one.line, one.column, one.value) for one in outcome.rejects] == [(3, "Monto", "x")]
    assert _kept(installation) == []
    with installation.store.reading() as session:
        assert session.exec(select(BankFile)).all() == []


def test_a_dry_run_keeps_nothing(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """It counts what would come in."""
    path = tmp_path / "bank.csv"
    path.write_text(WHOLE, encoding="utf-8")
    outcome = import_bank_file(installation, main, path, account=ACCOUNT, dry_run=True)
    assert (outcome.accepted, outcome.added, outcome.kept) == (True, 2, False)
    assert _kept(installation) == []


def test_last_digits_are_no_account(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """Two accounts may share them, so the whole number is asked for."""
    path = tmp_path / "bank.csv"
    path.write_text(WHOLE, encoding="utf-8")
    outcome = import_bank_file(installation, main, path, account="5678")
    assert str(outcome.rejects[0].reason) == "--account must be the whole number of the account, not its last digits"


def test_digits_of_any_width_are_one_account(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """A number copied in wide digits is no second account, so its lines are there once."""
    path = tmp_path / "bank.csv"
    path.write_text(WHOLE, encoding="utf-8")
    import_bank_file(installation, main, path, account="12345678")
    again = import_bank_file(installation, main, path, account="１２３４５６７８")
    assert (again.kept, len(_kept(installation))) == (False, 2)


def test_one_file_of_two_accounts_is_told(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """The money came in once: an account must not look paid because of it."""
    path = tmp_path / "bank.csv"
    path.write_text(WHOLE, encoding="utf-8")
    assert import_bank_file(installation, main, path, account="12345678").notes == ()
    shown = "the same file is kept for the account ending in 5678: its lines count on both, and one is wrong"
    assert [
        str(note) for note in import_bank_file(installation, main, path, account="99991111", dry_run=True).notes
    ] == [shown]
    assert [str(note) for note in import_bank_file(installation, main, path, account="99991111").notes] == [shown]
