"""Sheets of unknown banks: columns guessed from what stands in them, confirmed once, remembered."""

from pathlib import Path

import pytest
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from reconcile.books.bank_files import BankOutcome, Confirmed, import_bank_file, read_bank_file
from reconcile.books.proposals import propose_columns
from reconcile.tables.books import BankLine, BankMapping

ACCOUNT = "0001234567890"
HEADED = (
    "Banco X\n\nF. Mov;Que fue;Sale;Entra;Queda\n05-10-2026;TEF UNO;;49.000;149.000\n06-10-2026;COM;1.000;;148.000\n"
)
BARE = "05-10-2026;TEF UNO;;49.000;149.000\n06-10-2026;COM;1.000;;148.000\n"


def _guess(text: str, country: str = "cl") -> dict[str, str]:
    proposal = propose_columns(text.encode(), country=country)
    assert proposal is not None
    return dict(proposal.guesses)


def test_charges_and_credits_are_told_by_the_balance_they_make() -> None:
    """The names say nothing, the figures do; the rows are shown with them."""
    proposal = propose_columns(HEADED.encode(), country="cl")
    assert proposal is not None
    assert proposal.columns == ("F. Mov", "Que fue", "Sale", "Entra", "Queda")
    assert proposal.guesses == {
        "booked_on": "F. Mov", "text": "Que fue", "debit": "Sale", "credit": "Entra", "balance": "Queda",
    }  # fmt: skip
    assert proposal.samples[0] == ("05-10-2026", "TEF UNO", "", "49.000", "149.000")


@pytest.mark.parametrize(
    ("text", "country", "guesses"),
    [
        (BARE, "cl", {"booked_on": "#1", "text": "#2", "debit": "#3", "credit": "#4", "balance": "#5"}),
        ("Cuando,Que,Cuanto\n28-Jul-26,TEF,100.00\n29-Jul-26,X,-5.00\n", "mx",
         {"booked_on": "Cuando", "text": "Que", "amount": "Cuanto"}),
        ("Cuando,Que,Cuanto,Queda\n28/07/2026,TEF,100.00,1100.00\n29/07/2026,X,-5.00,1095.00\n", "mx",
         {"booked_on": "Cuando", "text": "Que", "amount": "Cuanto", "balance": "Queda"}),
        ("Cuando;Glosa;A;B\n28/07/2026;TEF;;5\n29/07/2026;X;3;\n", "cl",
         {"booked_on": "Cuando", "text": "Glosa", "debit": "A", "credit": "B"}),
        ("Cuando;Cuanto;Que;Referencia\n28/07/2026;7;TEF\n", "cl",
         {"booked_on": "Cuando", "amount": "Cuanto", "text": "Que"}),
        ("Cuando;A;B\n28/07/2026;7;5\n29/07/2026;3;6\n", "cl", {"booked_on": "Cuando"}),
    ],
)  # fmt: skip
def test_other_shapes_are_guessed_as_far_as_they_show_themselves(
    text: str, country: str, guesses: dict[str, str]
) -> None:
    """A file without headings names its columns by place; what two columns may be is left to the person."""
    assert _guess(text, country) == guesses


@pytest.mark.parametrize("text", ["hola", "a;b\n1;2\n", "", "\x00", "%PDF-1.7", "<html><p>05/10/2026</p></html>"])
def test_where_no_movement_shows_there_is_no_proposal(text: str) -> None:
    """Nothing can be guessed of a file that is no list."""
    assert propose_columns(text.encode(), country="cl") is None


@pytest.mark.parametrize("text", [HEADED, BARE])
def test_the_guess_reads_the_file_whole(text: str) -> None:
    """With it every line comes out with its sign, and the balances at both edges."""
    reading = read_bank_file(text.encode(), country="cl", mapping=_guess(text))
    assert reading.rejects == ()
    (statement,) = reading.statements
    assert [(row.amount, row.text) for row in statement.rows] == [(49_000, "TEF UNO"), (-1_000, "COM")]
    assert statement.opening is not None
    assert statement.opening.amount == 100_000


@pytest.mark.parametrize("columns", [{"booked_on": "#9", "amount": "#3"}, {"booked_on": "#1"}, {"booked_on": "#0"}])
def test_a_place_that_is_not_there_is_no_header(columns: dict[str, str]) -> None:
    """A file with fewer columns is another one, and is proposed anew."""
    with pytest.raises(ValueError, match="no row names a date"):
        read_bank_file(BARE.encode(), country="cl", mapping=columns)


@pytest.mark.both_databases
def test_confirmed_columns_are_remembered_for_their_account(
    installation: Installation, main: Connection, tmp_path: Path
) -> None:
    """The first file ends in a proposal, the confirmed one is kept, and the next is read by itself: that account's."""

    def bring(text: str, account: str = ACCOUNT, confirmed: Confirmed | None = None) -> BankOutcome:
        path = tmp_path / "cartola.csv"
        path.write_text(text, encoding="utf-8")
        return import_bank_file(installation, main, path, account=account, confirmed=confirmed)

    refused = bring(BARE)
    assert refused.proposal is not None
    assert not refused.accepted
    assert bring(BARE, confirmed=Confirmed(refused.proposal.guesses, "ana@tienda.test")).added == 2
    later = "07-10-2026;TEF DOS;;2.000;150.000\n"
    assert bring(later).added == 1
    assert bring(later, account="99999999").proposal is not None
    with installation.store.reading() as session:
        assert sorted(line.amount for line in session.exec(select(BankLine))) == [-1_000, 2_000, 49_000]
        (memory,) = session.exec(select(BankMapping)).all()
    assert (memory.account, memory.confirmed_by) == ("1234567890", "ana@tienda.test")
