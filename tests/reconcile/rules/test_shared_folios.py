"""A folio alone that several documents bear: a key only when one of them is open."""

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO = "11111111-1", "22222222-2"
FOLIO_1 = '{"folio": "1"}'
RECEIPT = "cl:39::1"
SHOWN = ("outcome", "match_stage", "doc_key", "applied_amount")
LATER = "2026-10-05T16:00:00Z"
NOTHING = ("no_document", "none", None, None)


def _two(case: "Case", **receipt: Any) -> None:
    """An invoice of 50,000 and a receipt of 60,000 with the same folio."""
    case.invoice("1", 50_000, customer_tax_id=None)
    given = {"doc_key": RECEIPT, "doc_type": "39", "order_ref": "PED-2", "customer_tax_id": None}
    case.invoice("1", 60_000, **(given | receipt))


def _paid(case: "Case", amount: int = 50_000, **given: Any) -> None:
    case.payment("pi_paid", amount, **({"metadata": '{"order_ref": "PED-1"}'} | given))


def test_the_one_open_document_is_named(case: "Case") -> None:
    """The other bearer is paid, so the folio means the open one."""
    _two(case)
    _paid(case)
    case.payment("pi_1", 60_000, metadata=FOLIO_1)
    run = case.run()
    assert run.line("pi_1", *SHOWN) == ("matched", "key", RECEIPT, 60_000)
    assert run.line("pi_1", "match_rule") == ("key:folio",)
    assert run.found() == set()


def test_a_bearer_paid_without_a_key_is_not_open_either(case: "Case") -> None:
    """It does not matter by what its payment was matched."""
    case.invoice("1", 50_000, customer_tax_id=ANA)
    case.invoice("1", 60_000, doc_key=RECEIPT, doc_type="39", customer_tax_id=None, order_ref="PED-2")
    _paid(case, metadata=None, customer_tax_id=ANA)
    case.payment("pi_1", 60_000, metadata=FOLIO_1)
    matched = case.match()
    assert matched.line("pi_paid", *SHOWN) == ("matched", "customer", "cl:33::1", 50_000)
    assert matched.line("pi_1", *SHOWN) == ("matched", "key", RECEIPT, 60_000)


def test_a_bearer_credited_before_the_payment_is_not_open(case: "Case") -> None:
    """A note took the invoice back whole, days before a payment under its folio."""
    _two(case)
    case.note("9", "1", 50_000, issue_date=date(2026, 10, 2), customer_tax_id=None)
    case.payment("pi_1", 60_000, metadata=FOLIO_1)
    assert case.match().line("pi_1", *SHOWN) == ("matched", "key", RECEIPT, 60_000)


def test_a_bearer_credited_after_the_payment_was_open(case: "Case") -> None:
    """On the day of the payment both could be meant."""
    _two(case)
    case.as_of = date(2026, 10, 9)
    case.note("9", "1", 50_000, issue_date=date(2026, 10, 8), customer_tax_id=None)
    case.payment("pi_1", 60_000, metadata=FOLIO_1)
    assert case.match().line("pi_1", "outcome", "match_stage") == ("suggested", "suggestion")


def test_a_bearer_paid_in_part_is_open(case: "Case") -> None:
    """Something is left of the invoice: the folio names two open documents and so none."""
    _two(case)
    _paid(case, 30_000)
    case.payment("pi_1", 59_000, metadata=FOLIO_1)
    assert case.match().line("pi_1", *SHOWN) == NOTHING


def test_a_bearer_whose_payment_was_given_back_is_open(case: "Case") -> None:
    """The refund came before the payment, so the invoice asked for its money again."""
    _two(case)
    _paid(case)
    case.refund("re_1", "pi_paid", 50_000, occurred_at="2026-10-05T15:30:00Z")
    case.payment("pi_1", 59_000, metadata=FOLIO_1, occurred_at=LATER)
    assert case.match().line("pi_1", *SHOWN) == NOTHING


def test_a_part_of_the_one_open_document(case: "Case") -> None:
    """A key whose amount is below the balance is a part, by this key as by any other."""
    _two(case)
    _paid(case)
    case.payment("pi_1", 20_000, metadata=FOLIO_1)
    assert case.match().line("pi_1", *SHOWN) == ("partial", "key", RECEIPT, 20_000)


def test_the_amount_of_the_paid_bearer_speaks_against_the_open_one(case: "Case") -> None:
    """It looks like the paid document paid again: nothing is applied to the other."""
    _two(case)
    _paid(case)
    case.payment("pi_1", 50_000, metadata=FOLIO_1)
    matched = case.match()
    assert matched.line("pi_1", *SHOWN) == NOTHING
    assert matched.document(RECEIPT, "paid", "balance") == (0, 60_000)


@pytest.mark.parametrize("owner", [BRUNO, None])
def test_the_customer_of_the_paid_bearer_speaks_against_the_open_one(case: "Case", owner: str | None) -> None:
    """The payer is the paid document's customer and not the open one's."""
    case.invoice("1", 60_000, customer_tax_id=ANA)
    case.invoice("1", 60_000, doc_key=RECEIPT, doc_type="39", customer_tax_id=owner, order_ref="PED-2")
    _paid(case, 60_000)
    case.payment("pi_1", 60_000, metadata=FOLIO_1, customer_tax_id=ANA)
    assert case.match().line("pi_1", *SHOWN) == NOTHING


def test_two_payments_of_the_folio_and_one_open_document(case: "Case") -> None:
    """The first pays it, the second pays what is already paid."""
    _two(case)
    _paid(case)
    case.payment("pi_1", 60_000, metadata=FOLIO_1)
    case.payment("pi_2", 60_000, metadata=FOLIO_1, occurred_at=LATER)
    run = case.run()
    assert run.line("pi_1", "outcome", "doc_key") == ("matched", RECEIPT)
    assert run.line("pi_2", "outcome") == ("duplicate",)
    assert run.found() == {("DUPLICATE_PAYMENT", "resource:pi_2", 60_000)}


def test_a_declined_bearer_is_not_matched(case: "Case") -> None:
    """A person said that the open one is not meant."""
    _two(case)
    _paid(case)
    case.payment("pi_1", 60_000, metadata=FOLIO_1)
    case.add("decisions", kind="decline", resource_id="pi_1", doc_key=RECEIPT, decision_id=1)
    assert case.match().line("pi_1", *SHOWN) == NOTHING


def test_another_key_decides_alone(case: "Case") -> None:
    """Beside a key that names one document the shared folio neither helps nor contradicts."""
    _two(case)
    case.payment("pi_1", 50_000, metadata='{"order_ref": "PED-1", "folio": "1"}')
    matched = case.match()
    assert matched.line("pi_1", *SHOWN) == ("matched", "key", "cl:33::1", 50_000)
    assert matched.line("pi_1", "match_rule") == ("key:order_ref",)


def test_a_declined_key_leaves_the_folio_without_meaning(case: "Case") -> None:
    """The order's document was declined: the two bearers of the folio are open and neither is chosen."""
    _two(case, customer_tax_id=ANA)
    case.payment("pi_1", 59_000, metadata='{"order_ref": "PED-1", "folio": "1"}', customer_tax_id=ANA)
    case.add("decisions", kind="decline", resource_id="pi_1", doc_key="cl:33::1", decision_id=1)
    assert case.match().line("pi_1", *SHOWN) == NOTHING


def _void_and_valid(case: "Case") -> None:
    """A void invoice of Ana's and a receipt of Bruno's with the same folio."""
    case.invoice("1", 50_000, customer_tax_id=ANA, status="void")
    case.invoice("1", 60_000, doc_key=RECEIPT, doc_type="39", customer_tax_id=BRUNO, order_ref="PED-2")


@pytest.mark.parametrize(("amount", "payer"), [(50_000, None), (61_000, ANA)])
def test_a_void_bearer_speaks_against_the_open_one(case: "Case", amount: int, payer: str | None) -> None:
    """Amount or payer are those of the void document: the open one is not what was meant."""
    _void_and_valid(case)
    case.payment("pi_1", amount, metadata=FOLIO_1, customer_tax_id=payer)
    matched = case.match()
    assert matched.line("pi_1", *SHOWN) == NOTHING
    assert matched.document(RECEIPT, "paid") == (0,)


def test_a_void_bearer_that_nothing_speaks_for_is_passed_over(case: "Case") -> None:
    """Neither amount nor payer are the void document's."""
    _void_and_valid(case)
    case.payment("pi_1", 60_000, metadata=FOLIO_1)
    assert case.match().line("pi_1", *SHOWN) == ("matched", "key", RECEIPT, 60_000)


def test_a_folio_that_only_a_void_document_bears_is_no_key(case: "Case") -> None:
    """Only an open document can be named by its folio alone."""
    case.invoice("1", 50_000, status="void")
    case.payment("pi_1", 50_000, metadata=FOLIO_1)
    assert case.run().found() == {("PAYMENT_NO_INVOICE", "resource:pi_1", 50_000)}


def _two_series(case: "Case") -> None:
    """Folio 1 of series A is void and Ana's, that of series B valid and Bruno's."""
    for series, status, total, owner in (("A", "void", 50_000, ANA), ("B", "valid", 60_000, BRUNO)):
        key = f"cl:33:{series}:1"
        case.invoice("1", total, doc_key=key, series=series, status=status, customer_tax_id=owner, order_ref=None)


@pytest.mark.parametrize(
    ("amount", "payer", "outcome", "code"),
    [
        (50_000, ANA, "no_document", "PAID_CANCELLED_DOC"),
        (50_000, None, "ambiguous", "AMBIGUOUS"),
    ],
)
def test_a_void_document_of_another_series_may_be_meant(
    case: "Case", amount: int, payer: str | None, outcome: str, code: str
) -> None:
    """Type and folio name both; the payer, or the amount alone, says that the valid one is not what was paid."""
    _two_series(case)
    case.payment("pi_1", amount, metadata='{"doc_type": "33", "folio": "1"}', customer_tax_id=payer)
    run = case.run()
    assert run.line("pi_1", "outcome") == (outcome,)
    assert run.found() == {(code, "resource:pi_1", amount)}


@pytest.mark.parametrize("payer", [BRUNO, None])
def test_the_valid_document_of_another_series_is_meant_by_payer_or_amount(case: "Case", payer: str | None) -> None:
    """Nothing speaks for the void one."""
    _two_series(case)
    case.payment("pi_1", 60_000, metadata='{"doc_type": "33", "folio": "1"}', customer_tax_id=payer)
    assert case.match().line("pi_1", *SHOWN) == ("matched", "key", "cl:33:B:1", 60_000)
