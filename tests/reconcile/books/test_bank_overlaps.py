"""A bank file beside earlier ones of its account: no deposit is lost, none counts twice."""

from datetime import date
from pathlib import Path

import pytest
from sqlmodel import col, select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.books.bank_files import BankOutcome, import_bank_file, read_bank_file
from reconcile.tables.books import BankFile, BankLine

HEADER = "Fecha;Descripción;Cargos;Abonos;Saldo\n"
MORNING = HEADER + "05/10/2026;VENTA;;1.000;1.000\n05/10/2026;ABONO;;500;1.500\n"
NOON = HEADER + "05/10/2026;ABONO;;500;2.000\n"
AFTERNOON = HEADER + "05/10/2026;ABONO;;500;2.500\n06/10/2026;ABONO;;500;3.000\n"
WHOLE = MORNING + "05/10/2026;ABONO;;500;2.000\n05/10/2026;ABONO;;500;2.500\n06/10/2026;ABONO;;500;3.000\n"
DAY_5 = """:20:X
:25:0012345678
:28C:1/1
:60F:C261004CLP0,
:61:2610051005C1000,NTRFVENTA
:61:2610051005C500,NTRFABONO
:62F:C261005CLP1500,
-
"""


def _import(
    installation: Installation, connection: Connection, folder: Path, text: str, name: str = "x.csv"
) -> BankOutcome:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return import_bank_file(installation, connection, path, account="0012345678")


def _kept(installation: Installation) -> list[int]:
    with installation.store.reading() as session:
        return list(session.exec(select(BankLine.amount).order_by(col(BankLine.amount))))


@pytest.mark.parametrize(
    "files",
    [
        (MORNING, NOON, AFTERNOON),
        (AFTERNOON, NOON, MORNING),
        (WHOLE, MORNING),
        (MORNING, WHOLE),
        (MORNING, NOON, AFTERNOON, WHOLE + "\n"),
        (MORNING, NOON, AFTERNOON, AFTERNOON + "\n"),
    ],
)
def test_equal_deposits_of_a_split_day_are_each_kept_once(
    installation: Installation, main: Connection, tmp_path: Path, files: tuple[str, ...]
) -> None:
    """Where one file closes as the next one opens the lines are others, however alike; listed again they are not."""
    for text in files:
        assert _import(installation, main, tmp_path, text).rejects == ()
    assert _kept(installation) == [500, 500, 500, 500, 1000]


def test_a_piece_that_is_missing_between_two_is_asked_for(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """It is unknown whose deposit it is; once the piece is there the file comes in."""
    assert _import(installation, main, tmp_path, MORNING, "morning.csv").kept
    refused = _import(installation, main, tmp_path, AFTERNOON)
    said = (
        "1 of its lines say what lines of morning.csv say, but by the balances they are others: bring in what lies "
        "between the two files on 2026-10-05 first, or export whole days"
    )
    assert [str(one.reason) for one in refused.rejects] == [said]
    assert _import(installation, main, tmp_path, NOON).kept
    assert _import(installation, main, tmp_path, AFTERNOON).added == 2
    assert _kept(installation) == [500, 500, 500, 500, 1000]


def test_a_day_again_whose_lines_sum_to_nothing_is_no_new_day(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """It opens as it closed, and still is the same day."""
    day = HEADER + "05/10/2026;ABONO;;500;500\n05/10/2026;CARGO;500;;0\n"
    assert _import(installation, main, tmp_path, day).added == 2
    assert _import(installation, main, tmp_path, day + "06/10/2026;ABONO;;500;500\n").added == 1
    assert _kept(installation) == [-500, 500, 500]


def test_without_balances_equal_lines_are_taken_as_the_same_aloud(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """It is unknown, so a person is asked."""
    text = "Fecha;Descripción;Monto\n05/10/2026;ABONO;500\n"
    assert _import(installation, main, tmp_path, text).notes == ()
    outcome = _import(installation, main, tmp_path, text + "06/10/2026;ABONO;500\n")
    assert (outcome.added, outcome.known) == (1, 1)
    said = (
        "1 lines say what lines kept before say and were taken as the same: without balances nobody can tell, so "
        "export whole days"
    )
    assert [*map(str, outcome.notes)] == [said]


@pytest.mark.parametrize("header", [HEADER, "Fecha;Descripción;Cargos;Abonos;Otro\n"])
def test_the_same_lines_in_other_words_are_refused(
    installation: Installation, main: Connection, tmp_path: Path, header: str
) -> None:
    """A bank words lines anew once they are final, or in its other export: taken as others they count twice."""
    first = header + "05/10/2026;TEF PROVISORIA ANA;;500;500\n05/10/2026;VENTA;;1.000;1.500\n"
    assert _import(installation, main, tmp_path, first, "provisional.csv").kept
    final = first.replace("TEF PROVISORIA ANA", "TRANSFERENCIA DE ANA") + "06/10/2026;ABONO;;700;2.200\n"
    reason = (
        "1 of its lines have day and amount of lines of provisional.csv (the first on 2026-10-05) but other words: "
        "they would count twice; export those days as you did then, or leave them out"
    )
    assert [str(one.reason) for one in _import(installation, main, tmp_path, final).rejects] == [reason]
    assert _import(installation, main, tmp_path, header + "06/10/2026;ABONO;;700;2.200\n").kept
    assert _kept(installation) == [500, 700, 1000]


def test_another_piece_of_a_day_may_hold_a_deposit_of_the_same_amount(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """By the balances it comes later in the day, so it is another one."""
    assert _import(installation, main, tmp_path, HEADER + "05/10/2026;TEF ANA;;500;500\n").kept
    assert _import(installation, main, tmp_path, HEADER + "05/10/2026;TEF LUIS;;500;2.500\n").kept
    assert _kept(installation) == [500, 500]


def test_the_same_days_in_another_format_are_refused(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """Its lines would be taken as new ones; the next day may come in any format."""
    assert _import(installation, main, tmp_path, MORNING, "cartola.csv").kept
    refused = _import(installation, main, tmp_path, DAY_5, "x.sta")
    said = (
        "cartola.csv (CSV) speaks of 2026-10-05 to 2026-10-05 already, and each format words a line otherwise: "
        "they would count twice; bring those days in in one format"
    )
    assert [str(one.reason) for one in refused.rejects] == [said]
    after = DAY_5.replace("C261004CLP0,", "C261005CLP1500,").replace("2610051005", "2610061006")
    after = after.replace(":62F:C261005CLP1500,", ":62F:C261006CLP3000,")
    assert _import(installation, main, tmp_path, after, "x.sta").added == 2
    assert _kept(installation) == [500, 500, 1000, 1000]


def test_another_format_may_go_on_within_a_day(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """It opens as the sheet closed, so none of it was listed before."""
    assert _import(installation, main, tmp_path, MORNING).kept
    rest = DAY_5.replace("C261004CLP0,", "C261005CLP1500,").replace("62F:C261005CLP1500,", "62F:C261005CLP3000,")
    assert _import(installation, main, tmp_path, rest, "x.sta").added == 2


def test_a_value_date_of_an_earlier_statement_loses_no_deposit(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """A statement after the 6th with a line dated the 5th says one more, though a line of the 5th says the same."""
    assert _import(installation, main, tmp_path, DAY_5, "x.sta").added == 2
    late = DAY_5.replace("C261004CLP0,", "C261005CLP1500,").replace(":62F:C261005CLP1500,", ":62F:C261006CLP3000,")
    assert _import(installation, main, tmp_path, late.replace("C261005CLP1500", "C261006CLP1500"), "y.sta").added == 2
    assert _kept(installation) == [500, 500, 1000, 1000]


@pytest.mark.parametrize(
    ("opening", "line", "closing", "days"),
    [
        ("261002", "2610051005", "261005", (date(2026, 10, 3), date(2026, 10, 5))),
        ("261005", "2610051005", "261005", (date(2026, 10, 5), date(2026, 10, 5))),
        ("261005", "2610021002", "261006", (date(2026, 10, 6), date(2026, 10, 6))),
    ],
)
def test_a_statement_speaks_of_the_days_after_its_opening_balance(
    opening: str, line: str, closing: str, days: tuple[date, date]
) -> None:
    """That balance is of the closing before, unless a line bears its day; a value date outside widens nothing."""
    text = f":20:X\n:25:12345678\n:28C:1/1\n:60F:C{opening}CLP0,\n:61:{line}C7,NTRFX\n:62F:C{closing}CLP7,\n-\n"
    assert read_bank_file(text.encode(), country="cl", mapping={}).statements[0].days == days


def test_a_quiet_day_is_its_own() -> None:
    """A statement without lines speaks of the day it closes on."""
    text = ":20:X\n:25:12345678\n:28C:1/1\n:60F:C261005CLP7,\n:62F:C261005CLP7,\n-\n"
    days = read_bank_file(text.encode(), country="cl", mapping={}).statements[0].days
    assert days == (date(2026, 10, 5), date(2026, 10, 5))


def test_a_file_keeps_its_balances(installation: Installation, main: Connection, tmp_path: Path) -> None:
    """Where it opens and closes, and what the account held as its last day began."""
    assert _import(installation, main, tmp_path, WHOLE).kept
    with installation.store.reading() as session:
        file = session.exec(select(BankFile)).one()
        assert (file.currency, file.opening, file.closing, file.last_opening) == ("CLP", 0, 3000, 2500)
