"""Cases made to mislead the rules: ties, nothing, very much, one reference for two customers, notes of notes."""

from datetime import date
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO = "11111111-1", "22222222-2"
PED_1 = '{"order_ref": "PED-1"}'


def test_one_reference_of_two_customers_is_the_payers_own(case: "Case") -> None:
    """The tax id says whose document the shared reference means, also where only the other's amount is equal."""
    case.invoice("1", 60_000, order_ref="PED-1", customer_tax_id=ANA)
    case.invoice("2", 40_000, order_ref="PED-1", customer_tax_id=BRUNO)
    case.payment("pi_1", 40_000, metadata=PED_1, customer_tax_id=ANA)
    matched = case.match()
    assert matched.line("pi_1", "outcome", "doc_key", "applied_amount") == ("partial", "cl:33::1", 40_000)


def test_one_reference_of_two_customers_and_two_equal_amounts(case: "Case") -> None:
    """Each customer's payment goes to its own document; an unknown payer is ambiguous."""
    case.invoice("1", 60_000, order_ref="PED-1", customer_tax_id=ANA)
    case.invoice("2", 60_000, order_ref="PED-1", customer_tax_id=BRUNO)
    case.payment("pi_1", 60_000, metadata=PED_1, customer_tax_id=BRUNO)
    case.payment("pi_2", 60_000, metadata=PED_1, customer_tax_id=ANA)
    matched = case.match()
    assert matched.line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::2")
    assert matched.line("pi_2", "outcome", "doc_key") == ("matched", "cl:33::1")


def test_one_reference_of_two_customers_without_a_payer_is_ambiguous(case: "Case") -> None:
    """Nothing says whose document is meant."""
    case.invoice("1", 60_000, order_ref="PED-1", customer_tax_id=ANA)
    case.invoice("2", 60_000, order_ref="PED-1", customer_tax_id=BRUNO)
    case.payment("pi_1", 60_000, metadata=PED_1)
    assert case.match().line("pi_1", "outcome", "rivals") == ("ambiguous", "cl:33::1 cl:33::2")


def test_two_customers_documents_never_make_one_set(case: "Case") -> None:
    """A payment of the sum of two customers' documents pays neither for certain."""
    case.invoice("1", 60_000, order_ref="PED-1", customer_tax_id=ANA)
    case.invoice("2", 40_000, order_ref="PED-1", customer_tax_id=BRUNO)
    case.payment("pi_1", 100_000, metadata=PED_1)
    assert case.match().line("pi_1", "outcome") == ("ambiguous",)


def test_another_payer_of_a_shared_reference_is_said(case: "Case") -> None:
    """The equal document of the order is matched, and that another paid is an exception."""
    case.invoice("1", 60_000, order_ref="PED-1")
    case.invoice("2", 40_000, order_ref="PED-1")
    case.payment("pi_1", 40_000, metadata=PED_1, customer_tax_id=BRUNO)
    run = case.run()
    assert run.line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::2")
    assert run.found() == {("CUSTOMER_DIFF", "resource:pi_1", 0)}


def test_a_shared_reference_in_another_currency_is_a_currency_difference(case: "Case") -> None:
    """Two documents in dollars under one order are as far from pesos as one."""
    case.invoice("1", 60_000, order_ref="PED-1", currency="USD")
    case.invoice("2", 60_000, order_ref="PED-1", currency="USD")
    case.payment("pi_1", 60_000, metadata=PED_1)
    run = case.run()
    assert run.line("pi_1", "outcome", "doc_key") == ("no_document", None)
    assert run.found() == {("CURRENCY_DIFF", "resource:pi_1", 60_000)}


def test_a_shared_reference_to_void_documents_only(case: "Case") -> None:
    """An order whose every invoice was voided has nothing to be paid."""
    case.invoice("1", 60_000, order_ref="PED-1", status="void")
    case.invoice("2", 60_000, order_ref="PED-1", status="void")
    case.payment("pi_1", 60_000, metadata=PED_1)
    run = case.run()
    assert run.line("pi_1", "outcome") == ("no_document",)
    assert run.found() == {("PAID_CANCELLED_DOC", "resource:pi_1", 60_000)}


def test_void_documents_of_one_order_lead_to_the_one_that_replaced_them(case: "Case") -> None:
    """Voided twice and issued a third time without the order's reference: the reference chain finds it."""
    case.invoice("1", 60_000, order_ref="PED-1", status="void")
    case.invoice("2", 60_000, order_ref="PED-1", status="void", ref_type="33", ref_number="1")
    case.invoice("3", 60_000, order_ref=None, ref_type="33", ref_number="2")
    case.payment("pi_1", 60_000, metadata=PED_1)
    assert case.match().line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::3")


def test_a_document_called_off_after_the_payment_gives_way_to_its_equal(case: "Case") -> None:
    """Credited later and issued again under the same order: the payment pays the one that lives."""
    case.invoice("1", 60_000, order_ref="PED-1", due_date=date(2026, 10, 10))
    case.note("9", "1", 60_000, issue_date=date(2026, 10, 6))
    case.invoice("2", 60_000, order_ref="PED-1", due_date=date(2026, 10, 30))
    case.payment("pi_1", 60_000, metadata=PED_1)
    run = case.run()
    assert run.line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::2")
    assert run.document("cl:33::1", "outcome", "balance") == ("credited", 0)
    assert run.found() == set()


def test_a_credit_note_of_a_credit_note_credits_no_invoice(case: "Case") -> None:
    """What a note refers to is lowered; a note is nothing to be paid, so nothing else moves."""
    case.invoice("1", 60_000)
    case.note("8", "1", 60_000)
    case.note("9", "8", 60_000, ref_type="61")
    run = case.run()
    assert run.document("cl:33::1", "outcome", "credited", "balance") == ("credited", 60_000, 0)
    assert run.document("cl:61::8", "credited", "balance") == (0, 0)
    assert run.document("cl:61::9", "credited", "balance") == (0, 0)
    assert run.found() == set()


def test_two_documents_that_refer_to_each_other_end(case: "Case") -> None:
    """A circle of void documents replaces nothing."""
    case.invoice("1", 60_000, status="void", ref_type="33", ref_number="2")
    case.invoice("2", 60_000, status="void", ref_type="33", ref_number="1")
    case.payment("pi_1", 60_000, metadata=PED_1)
    assert case.run().found() == {("PAID_CANCELLED_DOC", "resource:pi_1", 60_000)}


def test_a_document_of_nothing_was_never_paid(case: "Case") -> None:
    """Money for a free sale is too much, not paid twice."""
    case.invoice("1", 0)
    case.payment("pi_1", 5_000, metadata=PED_1)
    run = case.run()
    assert run.line("pi_1", "outcome", "difference") == ("matched_with_difference", 5_000)
    assert run.found() == {("AMOUNT_DIFF", "resource:pi_1", 5_000)}


def test_a_payment_of_nothing_pays_nothing(case: "Case") -> None:
    """Zero is no amount that a window, a set or a customer could make certain."""
    case.invoice("1", 0, order_ref=None)
    case.invoice("2", 10_000, order_ref=None)
    case.payment("pi_1", 0, customer_tax_id=ANA)
    matched = case.match()
    assert matched.line("pi_1", "outcome", "doc_key") == ("no_document", None)


@pytest.mark.parametrize(
    ("currency", "total"), [("CLP", 9_007_199_254_740_993), ("MXN", 922_337_203_685_477), ("CLF", 123_456_789_0123)]
)
def test_amounts_beyond_exact_floats_stay_exact(case: "Case", currency: str, total: int) -> None:
    """One unit more or less of a very large amount is still one unit, in a currency of any decimals."""
    case.invoice("1", total, order_ref="PED-1", currency=currency)
    case.payment("pi_1", total - 1, metadata=PED_1, currency=currency)
    matched = case.match()
    assert matched.line("pi_1", "outcome", "difference", "applied_amount") == ("matched_with_difference", -1, total)
    assert matched.document("cl:33::1", "outcome", "balance") == ("paid", 0)


def test_an_equal_number_in_another_currency_decides_no_tie(case: "Case") -> None:
    """1,500 pesos and 15.00 dollars are both 1,500 minor units and nothing else."""
    case.invoice("1", 1_500, currency="USD", order_ref=None)
    case.invoice("2", 1_500, order_ref=None)
    case.payment("pi_1", 1_500, customer_tax_id=ANA)
    assert case.match().line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::2")


def test_a_dispute_lost_after_its_payout_is_taken_from_the_next(case: "Case") -> None:
    """The first payout stays closed; the one created after the end carries the dispute, and only once."""
    case.tariff = {"vat_bps": 1900, "bank_transfer": {"bps": 0, "flat": 0}}
    case.payment("pi_1", 50_000, payout_id="po_1", metadata=PED_1)
    case.payout("po_1", 50_000)
    case.payment("pi_2", 80_000, payout_id="po_2", occurred_at="2026-10-06T15:00:00Z")
    case.payout("po_2", 30_000, created_at="2026-10-06T17:20:00Z", succeeded_at="2026-10-06T18:00:00Z")
    case.payment("pi_3", 80_000, payout_id="po_3", occurred_at="2026-10-07T15:00:00Z")
    case.payout("po_3", 30_000, created_at="2026-10-07T17:20:00Z", succeeded_at="2026-10-07T18:00:00Z")
    case.add(
        "disputes", dispute_id="dp_1", resource_id="pi_1", amount=50_000, currency="CLP", status="lost",
        ended_at="2026-10-06T10:00:00Z",
    )  # fmt: skip
    run = case.run()
    assert run.payout("po_1", "difference", "disputes") == (0, 0)
    assert run.payout("po_2", "difference", "disputes") == (0, 50_000)
    assert run.payout("po_3", "difference", "disputes") == (-50_000, 0)
    assert {found for found in run.found() if found[0] == "PAYOUT_IDENTITY"} == {
        ("PAYOUT_IDENTITY", "payout:po_3", 50_000)
    }


@pytest.mark.parametrize(
    ("shares", "at_risk"), [((30_000, 19_999), 1), ((30_000, 20_001), 1), ((30_000, 20_000), None)]
)
def test_shares_one_unit_off_are_told(case: "Case", shares: tuple[int, int], at_risk: int | None) -> None:
    """The shares of a split payment add up to the unit, and the document is paid whole all the same."""
    split = (
        f'[{{"entity_id": "e_1", "amount": {shares[0]}, "charge_processing_fee": true, "own": true}},'
        f' {{"entity_id": "e_2", "amount": {shares[1]}, "charge_processing_fee": false, "own": false}}]'
    )
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, metadata=PED_1, split=split)
    run = case.run()
    assert run.line("pi_1", "outcome", "amount_signed", "applied_amount") == ("matched", 30_000, 50_000)
    assert run.found() == (set() if at_risk is None else {("SPLIT_MISMATCH", "resource:pi_1", at_risk)})
