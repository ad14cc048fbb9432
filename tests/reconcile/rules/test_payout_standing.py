"""What keeps a payout open: what is wrong with it as a whole, and not what is wrong with one of its items."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

PED_1 = '{"order_ref": "PED-1"}'


def test_an_item_off_the_tariff_leaves_its_payout_in_order(case: "Case") -> None:
    """The fee was taken as the report says, so every peso has a name; the item alone is to be asked about."""
    case.tariff = {"vat_bps": 1900, "bank_transfer": {"bps": 135}}
    case.invoice("1", 100_000)
    case.payment("pi_1", 100_000, payout_id="po_1", metadata=PED_1)
    case.add("fees", payout_id="po_1", resource_id="pi_1", fee_total=1_609)
    case.payout("po_1", 98_391)
    run = case.run()
    assert run.found() == {("FEE_OUT_OF_BAND", "resource:pi_1", 2)}
    assert run.payout("po_1", "status_recon", "exceptions") == ("no_bank", 1)


def test_a_document_in_another_currency_leaves_the_payout_in_order(case: "Case") -> None:
    """The payment is part of the sum, whatever it was for."""
    case.invoice("1", 100, currency="USD")
    case.payment("pi_1", 100_000, payout_id="po_1", metadata=PED_1)
    case.payout("po_1", 98_000)
    run = case.run()
    assert [(code, subject) for code, subject, _ in run.found()] == [("CURRENCY_DIFF", "resource:pi_1")]
    assert run.payout("po_1", "status_recon") == ("no_bank",)


def test_an_item_paid_out_twice_leaves_both_payouts_in_order(case: "Case") -> None:
    """It counts in the second one too, which therefore adds up; that it should not be there is its own exception."""
    case.tariff = {"vat_bps": 1900, "bank_transfer": {"bps": 0}}
    case.invoice("1", 100_000)
    case.payment("pi_1", 100_000, payout_id="po_1", metadata=PED_1)
    case.payment("pi_1", 100_000, payout_id="po_2", metadata=PED_1)
    case.payout("po_1", 100_000)
    case.payout("po_2", 100_000, created_at="2026-10-05T17:25:00Z")
    run = case.run()
    assert {(code, amount) for code, _, amount in run.found()} == {("ITEM_IN_TWO_PAYOUTS", 100_000)}
    assert [run.payout(name, "difference", "status_recon") for name in ("po_1", "po_2")] == [(0, "no_bank")] * 2


@pytest.mark.parametrize(("amount", "standing"), [(98_393, "no_bank"), (98_392, "open"), (98_394, "open")])
def test_one_unit_keeps_a_payout_open(case: "Case", amount: int, standing: str) -> None:
    """A payout has no tolerance: it is explained to the peso or it is not."""
    case.tariff = {"vat_bps": 1900, "bank_transfer": {"bps": 135}}
    case.payment("pi_1", 100_000, payout_id="po_1")
    case.payout("po_1", amount)
    assert case.run().payout("po_1", "status_recon") == (standing,)
