"""Advice within a day shows what arrived; a statement of that day takes its place, and it proves no day whole."""

from pathlib import Path

import pytest
from sqlmodel import select

from consumer.facts.bankdays import calendar_of
from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.books.bank_files import BankOutcome, import_bank_file
from reconcile.reading.bank import read_bank
from reconcile.tables.books import BankLine

FILES = Path(__file__).parents[2] / "data" / "bank" / "dialects"
ACCOUNT = "00012345678"
pytestmark = pytest.mark.both_databases


@pytest.fixture
def bring(installation: Installation, main: Connection, tmp_path: Path) -> "Bring":
    return Bring(installation, main, tmp_path)


class Bring:
    """Imports files of one account and gives the deposits that a run reads."""

    def __init__(self, installation: Installation, connection: Connection, folder: Path) -> None:
        self._installation, self._connection, self._folder = installation, connection, folder

    def file(self, name: str) -> BankOutcome:
        return import_bank_file(self._installation, self._connection, FILES / name, account=ACCOUNT)

    def text(self, text: str) -> BankOutcome:
        path = self._folder / "advice.sta"
        path.write_text(text, encoding="utf-8")
        return import_bank_file(self._installation, self._connection, path, account=ACCOUNT)

    def deposits(self) -> list[tuple[int, str, bool]]:
        """Give the deposits: amount, day, and whether their file shows that day whole."""
        with self._installation.store.reading() as session:
            found = read_bank(session.connection(), self._connection, calendar_of("cl"))
        found = found[found["amount"] > 0]
        whole = (found["known_since"] <= found["booked_on"]) & (found["booked_on"] <= found["known_until"])
        days = found["booked_on"].dt.strftime("%Y-%m-%d")
        return list(zip(found["amount"].tolist(), days, whole.tolist(), strict=True))

    def stretches(self) -> int:
        with self._installation.store.reading() as session:
            found = read_bank(session.connection(), self._connection, calendar_of("cl"))
        return int((found["amount"] == 0).sum())

    def lines(self) -> int:
        with self._installation.store.reading() as session:
            return len(session.exec(select(BankLine)).all())


@pytest.mark.parametrize("name", ["mt942.sta", "camt.052.xml", "camt.054.xml"])
def test_advice_shows_an_arrival_and_no_whole_day(bring: Bring, name: str) -> None:
    """Its deposit is there, and no day is taken as shown whole because of it."""
    assert bring.file(name).kept
    assert bring.deposits() == [(49_000, "2026-10-05", False)]
    assert bring.stretches() == 0


@pytest.mark.parametrize("order", [("camt.054.xml", "camt.053.xml"), ("camt.053.xml", "camt.054.xml")])
def test_a_statement_takes_the_place_of_advice(bring: Bring, order: tuple[str, str]) -> None:
    """In whichever order they come, the deposit of a day that a statement shows counts once, and from the statement."""
    for name in order:
        assert bring.file(name).kept
    assert bring.deposits() == [(49_000, "2026-10-05", True)]
    assert bring.lines() == 4


def test_advice_that_repeats_advice_adds_no_line(bring: Bring) -> None:
    """An interim report at noon begins with what the one of the morning said."""
    assert bring.file("mt942.sta").added == 2
    noon = (FILES / "mt942.sta").read_text(encoding="utf-8").replace("AVISO1", "AVISO2")
    noon = noon.replace(":90C:1CLP49000,", ":61:2610051005C500,NTRFpo_2\r\n:90C:2CLP49500,")
    outcome = bring.text(noon)
    assert (outcome.added, outcome.known) == (1, 2)
    assert [amount for amount, _, _ in bring.deposits()] == [49_000, 500]


def test_advice_in_two_formats_for_one_day_is_refused(bring: Bring) -> None:
    """Their lines say the same deposit in other words, and it would count twice."""
    assert bring.file("camt.054.xml").kept
    assert [str(one.reason)[:45] for one in bring.file("mt942.sta").rejects] == [
        "camt.054.xml (camt.054) speaks of 2026-10-05 "
    ]


def test_advice_of_nothing_booked_is_refused(bring: Bring) -> None:
    """What is only announced has not arrived."""
    outcome = bring.text(":20:S\r\n:25:037/00012345678\r\n:28C:1\r\n:34F:CLP0,\r\n:90C:0CLP0,\r\n")
    assert [str(one.reason) for one in outcome.rejects] == ["the file has no movements"]
