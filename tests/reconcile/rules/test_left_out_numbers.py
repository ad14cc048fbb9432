"""Texts that name what the books' own numbering leaves out: a document that exists and was not imported."""

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO = "11111111-1", "22222222-2"
MATCHED = ("matched", "customer", "cl:33::1200")
NOTHING = ("no_document", "none", None)


def _books(case: "Case", missing: tuple[int, ...] = (1047,), **given: Any) -> None:
    """Folios 1031 to 1062 of Bruno's but the missing ones, and 1200 of Ana's for 50,000."""
    for folio in range(1031, 1063):
        if folio not in missing:
            case.invoice(str(folio), 7_000 + folio, customer_tax_id=BRUNO, issue_date=date(2026, 9, 1))
    case.invoice("1200", 50_000, series="A", **given)


def _paid(case: "Case", text: str) -> tuple[Any, ...]:
    case.payment("pi_1", 50_000, sender_tax_id=ANA, texts=text)
    return case.run().line("pi_1", "outcome", "match_stage", "doc_key")


@pytest.mark.parametrize(
    "text", ["pago factura 1047", "Fact. N° 001047 gracias", "1047", "PED-1047", "pedido PED 1047"]
)
def test_a_number_missing_from_the_books_speaks_against_others(case: "Case", text: str) -> None:
    """Its neighbours are here, so it was given out: tax id and amount prove no match with another document."""
    _books(case)
    assert _paid(case, text) == NOTHING


@pytest.mark.parametrize(
    "text",
    ["pago factura 1048", "op 314475619", "abono 47", "factura 2047", "pago de agosto", "PED-2047", "factura 1030"],
)
def test_numbers_that_are_here_or_far_off_say_nothing(case: "Case", text: str) -> None:
    """A document that is here, a number of the bank's, last year's invoice: tax id and amount decide."""
    _books(case)
    assert _paid(case, text) == MATCHED


def test_a_slip_of_the_hand_is_no_other_document(case: "Case") -> None:
    """What lacks one sign of the document's own name may mean it."""
    _books(case, (1047, 1050), order_ref="PED-10250")
    assert _paid(case, "PED-1050") == MATCHED


def test_numbers_of_which_more_are_missing_than_here_are_no_numbering(case: "Case") -> None:
    """Where most of a stretch is missing its numbers are not given in turn."""
    _books(case, tuple(folio for folio in range(1032, 1062) if folio % 3))
    assert _paid(case, "pago factura 1046") == MATCHED


def test_a_set_is_no_proof_where_a_missing_document_is_named(case: "Case") -> None:
    """Two documents make the sum, and the payment names a third that is not here."""
    _books(case)
    case.invoice("1201", 30_000, series="A")
    case.payment("pi_1", 80_000, sender_tax_id=ANA, texts="facturas 1200 y 1047")
    assert case.match().line("pi_1", "outcome", "match_stage", "doc_key") == NOTHING
