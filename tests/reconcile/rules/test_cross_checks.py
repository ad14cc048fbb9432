"""A payment beside a document, test by test, without the stages that decide."""

from datetime import date
from typing import TYPE_CHECKING

import pytest

from reconcile.rules.cross_checks import check_pair, choose_candidates, name_first_failed
from reconcile.rules.inputs import rows_of

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO = "11111111-1", "22222222-2"


def _checks(case: "Case", doc_key: str, balance: int) -> dict[str, str]:
    inputs = case.inputs()
    item = rows_of(inputs.items)[0]
    document = next(row for row in rows_of(inputs.documents) if row.doc_key == doc_key)
    found = list(check_pair(item, document, balance=balance, rules=inputs.rules, calendar=inputs.calendar))
    return {check.name: str(check) for check in found} | {"first": name_first_failed(found)}


def test_every_test_shows_both_values(case: "Case") -> None:
    """Whoever reads it can check it with the two rows in hand."""
    case.invoice("1", 60_000)
    case.payment("pi_1", 50_000, customer_tax_id=BRUNO, metadata='{"order_ref": "PED-1"}')
    assert _checks(case, "cl:33::1", 55_000) == {
        "reference": "holds: payment PED-1, document PED-1 1",
        "currency": "holds: payment CLP, document CLP",
        "state": "holds: payment valid, document valid",
        "customer": "fails: payment 22222222-2, document 11111111-1",
        "amount": "fails: payment 50000, document 55000 open of 60000",
        "window": "holds: payment 2026-10-05, document 2026-09-28 to 2026-11-13",
        "first": "customer",
    }


def test_amounts_of_two_currencies_are_in_their_own_units(case: "Case") -> None:
    """Equal minor units of two currencies are no equal amounts, and each is written with its own decimals."""
    case.invoice("1", 50_000, currency="USD")
    case.payment("pi_1", 50_000)
    assert _checks(case, "cl:33::1", 50_000)["amount"] == "fails: payment 50000, document 500.00 open of 500.00"


def test_what_is_not_known_neither_holds_nor_fails(case: "Case") -> None:
    """A payment that names neither payer nor document is not held against the document."""
    case.invoice("1", 50_000, due_date=None, issue_date=date(2026, 10, 1))
    case.payment("pi_1", 50_000)
    found = _checks(case, "cl:33::1", 50_000)
    assert found["reference"] == "not known: payment unknown, document PED-1 1"
    assert found["customer"] == "not known: payment unknown, document 11111111-1"
    assert found["window"] == "holds: payment 2026-10-05, document 2026-09-28 to 2026-11-13"
    assert found["first"] == "none"


def test_an_item_without_a_moment_is_in_no_window(case: "Case") -> None:
    """A payment that is gone at the provider left no moment to compare, which is said and stops nothing."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, occurred_at=None)
    assert _checks(case, "cl:33::1", 50_000)["window"] == (
        "not known: payment unknown, document 2026-09-28 to 2026-11-13"
    )


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        ("Pago pedido PED-1 Ana", "holds: payment PED 1, document PED-1 0042"),
        ("factura 42", "holds: payment 42, document PED-1 0042"),
        ("ped1", "holds: payment ped1, document PED-1 0042"),
        ("gracias", "not known: payment unknown, document PED-1 0042"),
    ],
)
def test_a_text_that_names_the_document_is_its_reference(case: "Case", texts: str, shown: str) -> None:
    """Only the words that name it are shown; other words are no evidence either way."""
    case.invoice("0042", 50_000, doc_key="cl:33::1", order_ref="PED-1")
    case.payment("pi_1", 50_000, texts=texts)
    assert _checks(case, "cl:33::1", 50_000)["reference"] == shown


def test_a_folio_agrees_whatever_zeros_stand_before_it(case: "Case") -> None:
    """The stages read it so, and whoever checks them does too."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, metadata='{"folio": "0001"}')
    assert _checks(case, "cl:33::1", 50_000)["reference"] == "holds: payment 0001, document PED-1 1"


def test_the_documents_compared_are_the_named_the_near_and_the_equal(case: "Case") -> None:
    """At most three of each kind, each document once."""
    case.invoice("1", 900, customer_tax_id=BRUNO)
    case.invoice("2", 50_000)
    for number in range(3, 8):
        case.invoice(str(number), 50_000 + number)
    case.invoice("8", 50_000, customer_tax_id=BRUNO)
    case.payment("pi_1", 50_000, customer_tax_id=ANA, metadata='{"order_ref": "ped-1"}')
    inputs = case.inputs()
    chosen = choose_candidates(rows_of(inputs.items)[0], inputs.documents, inputs.rules)
    assert chosen["doc_key"].tolist() == ["cl:33::1", "cl:33::2", "cl:33::3", "cl:33::4", "cl:33::8"]


def test_the_tax_id_of_the_public_at_large_is_nobodys(case: "Case") -> None:
    """Two sales to the public have no customer in common; a sender with a tax id is the payer."""
    case.invoice("1", 50_000, customer_tax_id="66666666-6")
    case.invoice("2", 50_001, customer_tax_id="66666666-6")
    case.invoice("3", 90_000, customer_tax_id=ANA)
    case.payment("pi_1", 50_000, customer_tax_id="66666666-6", sender_tax_id=ANA)
    assert _checks(case, "cl:33::1", 50_000)["customer"] == "not known: payment 11111111-1, document unknown"
    inputs = case.inputs()
    chosen = choose_candidates(rows_of(inputs.items)[0], inputs.documents, inputs.rules)
    assert chosen["doc_key"].tolist() == ["cl:33::3", "cl:33::1"]
