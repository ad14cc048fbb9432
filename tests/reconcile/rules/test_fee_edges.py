"""Fees and disputes at their edges: nothing, one unit, exactly the band, and more than one dispute for one payout."""

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from reconcile.rules.fees import format_fee_rates, split_vat
from reconcile.rules.terms import to_tariff

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

PED_1 = '{"order_ref": "PED-1"}'
FREE = {"vat_bps": 1900, "bank_transfer": {"bps": 0}}


def _paid(case: "Case", amount: int, payout: int) -> None:
    """One invoiced payment in one payout."""
    case.invoice("1", amount)
    case.payment("pi_1", amount, payout_id="po_1", metadata=PED_1)
    case.payout("po_1", payout)


def _lost(case: "Case", dispute_id: str, amount: int, **given: str) -> None:
    row = {"resource_id": "pi_0", "currency": "CLP", "status": "lost", "ended_at": "2026-10-05T12:00:00Z"}
    case.add("disputes", dispute_id=dispute_id, amount=amount, **(row | given))


def test_the_fee_of_one_payment_is_divided_into_net_and_vat(case: "Case") -> None:
    """1,35 % of 100.000 is 1.350, and 19 % on top 256,5: 1.607 in all, of which 1.350 are net."""
    case.tariff = {"vat_bps": 1900, "bank_transfer": {"bps": 135}}
    case.payment("pi_1", 100_000, payout_id="po_1", metadata='{"order_ref": "PED-1"}')
    case.payout("po_1", 98_393)
    case.invoice("1", 100_000)
    assert case.run().payout("po_1", "fee_source", "fee_total", "fee_net", "fee_vat") == ("tariff", 1_607, 1_350, 257)


def test_no_fee_is_no_vat_either(case: "Case") -> None:
    """Without a tariff the net part of a fee is unknown, but of zero it is zero."""
    case.payment("pi_1", 100_000, payout_id="po_1")
    case.payout("po_1", 100_000)
    case.payment("pi_2", 100_000, payout_id="po_2")
    case.payout("po_2", 99_000)
    run = case.run()
    assert run.payout("po_1", "fee_source", "fee_total", "fee_net", "fee_vat") == ("residual", 0, 0, 0)
    assert run.payout("po_2", "fee_source", "fee_total", "fee_net", "fee_vat") == ("residual", 1_000, None, None)


def test_a_report_of_items_that_are_not_here_is_no_source_of_fees(case: "Case") -> None:
    """The provider's report names a payment of this payout, and none of its items was read."""
    case.payout("po_1", 98_400)
    case.add("fees", payout_id="po_1", resource_id="pi_1", fee_total=1_600)
    assert case.run().payout("po_1", "fee_source") == ("residual",)


def test_an_adjustment_that_the_providers_report_does_not_name_bears_no_fee(case: "Case") -> None:
    """A refund that came back has no line in the report; the payout's fees are those of its payments, to the peso."""
    case.payment("pi_1", 100_000, payout_id="po_1", metadata='{"order_ref": "PED-1"}')
    case.item("refund_adjustment", "re_1", 5_000, payout_id="po_1", status="failed", resource_subtype=None)
    case.payout("po_1", 103_400)
    case.invoice("1", 100_000)
    case.add("fees", payout_id="po_1", resource_id="pi_1", fee_total=1_600)
    run = case.run()
    assert run.line("re_1", "amount_signed", "fee_total", "net_amount") == (5_000, 0, 5_000)
    assert run.payout("po_1", "fee_source", "fee_total", "difference") == ("provider_csv", 1_600, 0)


def test_a_payout_that_takes_no_fee_is_no_finding(case: "Case") -> None:
    """Everything that was paid arrived."""
    _paid(case, 100_000, 100_000)
    run = case.run()
    assert run.found() == set()
    assert run.payout("po_1", "fee_total", "fee_rate_pct", "status_recon") == (0, "0.00", "no_bank")


def test_a_fee_of_one_unit_may_be_out_of_the_band(case: "Case") -> None:
    """One peso of ten is ten percent, of which the band allows nothing whole."""
    _paid(case, 10, 9)
    assert case.run().found() == {("FEE_OUT_OF_BAND", "payout:po_1", 1)}


def test_an_item_that_costs_nothing_has_a_fee_of_zero_in_both_parts(case: "Case") -> None:
    """A price of zero is a price: net and VAT are zero and not unknown."""
    case.tariff = FREE
    _paid(case, 100_000, 100_000)
    assert case.match().line("pi_1", "fee_total", "fee_net", "fee_vat") == (0, 0, 0)


def test_a_fee_that_the_report_gives_back_is_not_divided(case: "Case") -> None:
    """No rule says how VAT on less than zero is rounded; that the provider paid the fee is a payout identity."""
    case.tariff = {"vat_bps": 1900}
    _paid(case, 100_000, 100_500)
    case.add("fees", payout_id="po_1", resource_id="pi_1", fee_total=-500)
    run = case.run()
    assert run.line("pi_1", "fee_total", "fee_net", "fee_vat") == (-500, None, None)
    assert run.found() == {("PAYOUT_IDENTITY", "payout:po_1", 500)}


def test_a_payout_without_items_has_no_fee_by_the_tariff(case: "Case") -> None:
    """What it holds is the difference, whole."""
    case.tariff = FREE
    case.payout("po_1", 5_000)
    shown = case.run().payout("po_1", "fee_source", "fee_total", "computed_amount", "difference")
    assert shown == ("tariff", 0, 0, 5_000)


@pytest.mark.parametrize(
    ("payout", "placed"),
    [(80_000, {"dp_1"}), (93_000, {"dp_2"}), (73_000, {"dp_1", "dp_2"}), (79_999, set())],
)
def test_of_two_lost_disputes_those_are_lines_that_close_the_identity(
    case: "Case", payout: int, placed: set[str]
) -> None:
    """All that wait where they fit together, else the only one that does, else none."""
    case.tariff = FREE
    _paid(case, 100_000, payout)
    _lost(case, "dp_1", 20_000)
    _lost(case, "dp_2", 7_000)
    run = case.run()
    lines = {name: run.lines(name, "payout_id", "amount_signed") for name in ("dp_1", "dp_2")}
    shown = {"dp_1": [("po_1", -20_000)], "dp_2": [("po_1", -7_000)]}
    assert lines == {name: row if name in placed else [] for name, row in shown.items()}
    assert run.payout("po_1", "difference") == (0 if placed else -20_001,)


def test_two_disputes_that_fit_alike_decide_nothing(case: "Case") -> None:
    """Which of them was taken off is unknown: the payout stays short."""
    case.tariff = FREE
    _paid(case, 100_000, 80_000)
    _lost(case, "dp_1", 20_000)
    _lost(case, "dp_2", 20_000)
    run = case.run()
    assert run.payout("po_1", "disputes", "difference", "status_recon") == (0, -20_000, "open")
    assert run.found() == {
        ("PAYOUT_IDENTITY", "payout:po_1", 20_000),
        ("DISPUTE_LOST", "dispute:dp_1", 20_000),
        ("DISPUTE_LOST", "dispute:dp_2", 20_000),
    }


@pytest.mark.parametrize(
    ("payout", "disputes", "fee"),
    [
        (80_000, 20_000, 0),  # nothing is left for a fee
        (80_001, 0, 19_999),  # less than the dispute is missing
        (75_000, 20_000, 5_000),  # exactly the band of 5 % is left
        (74_999, 0, 25_001),  # one peso more is out of it
    ],
)
def test_with_residual_fees_what_a_dispute_leaves_lies_between_nothing_and_the_band(
    case: "Case", payout: int, disputes: int, fee: int
) -> None:
    """A dispute of 20,000 is a line only where the rest can be a fee."""
    _paid(case, 100_000, payout)
    _lost(case, "dp_1", 20_000)
    assert case.run().payout("po_1", "disputes", "fee_total") == (disputes, fee)


def test_a_fee_within_the_band_leaves_no_room_for_a_dispute(case: "Case") -> None:
    """Five percent is a fee like any other, however well a dispute would explain it."""
    _paid(case, 100_000, 95_000)
    _lost(case, "dp_1", 5_000)
    assert case.run().payout("po_1", "disputes", "fee_total") == (0, 5_000)


def test_a_dispute_that_ended_as_the_payout_was_made_is_not_its_line(case: "Case") -> None:
    """Created after it ended means later."""
    case.tariff = FREE
    _paid(case, 100_000, 80_000)
    _lost(case, "dp_1", 20_000, ended_at="2026-10-05T17:20:00Z")
    assert case.run().payout("po_1", "disputes", "difference") == (0, -20_000)


def test_a_dispute_in_another_currency_is_not_a_line(case: "Case") -> None:
    """Amounts of two currencies are never added."""
    case.tariff = FREE
    _paid(case, 100_000, 80_000)
    _lost(case, "dp_1", 20_000, currency="USD")
    assert case.run().payout("po_1", "disputes", "difference") == (0, -20_000)


def test_the_first_living_payout_after_a_dispute_decides(case: "Case") -> None:
    """It is not looked for in later ones, even where it would fit."""
    case.tariff = FREE
    _paid(case, 100_000, 100_000)
    case.payment("pi_2", 50_000, payout_id="po_2")
    case.payout("po_2", 30_000, created_at="2026-10-05T17:25:00Z")
    _lost(case, "dp_1", 20_000)
    run = case.run()
    assert run.payout("po_1", "disputes", "difference") == (0, 0)
    assert run.payout("po_2", "disputes", "difference") == (0, -20_000)


def test_a_canceled_payout_passes_its_dispute_on(case: "Case") -> None:
    """Money that was not paid out took nothing off."""
    case.tariff = FREE
    case.payout("po_0", 0, status="canceled", created_at="2026-10-05T17:15:00Z", ended_at="2026-10-05T17:16:00Z")
    _paid(case, 100_000, 80_000)
    _lost(case, "dp_1", 20_000)
    run = case.run()
    assert run.payout("po_1", "disputes", "difference") == (20_000, 0)
    assert run.lines("dp_1", "payout_id") == [("po_1",)]


@pytest.mark.parametrize(("ours_pays", "fee", "payout"), [("true", 1_607, 58_393), ("false", 0, 60_000)])
def test_of_a_split_payment_the_share_that_pays_bears_the_whole_fee(
    case: "Case", ours_pays: str, fee: int, payout: int
) -> None:
    """The fee is that of the whole payment, and is taken off our share only where ours is the one that pays."""
    case.tariff = {"vat_bps": 1900, "bank_transfer": {"bps": 135}}
    theirs_pays = "false" if ours_pays == "true" else "true"
    shares = (
        f'[{{"own": true, "amount": 60000, "charge_processing_fee": {ours_pays}}},'
        f' {{"own": false, "amount": 40000, "charge_processing_fee": {theirs_pays}}}]'
    )
    case.invoice("1", 100_000)
    case.payment("pi_1", 100_000, payout_id="po_1", metadata=PED_1, split=shares)
    case.payout("po_1", payout)
    run = case.run()
    assert run.line("pi_1", "amount_signed", "fee_total") == (60_000, fee)
    assert run.payout("po_1", "fee_total", "difference") == (fee, 0)
    assert run.found() == set()


def test_fees_are_divided_where_they_are_known_and_not_below_zero() -> None:
    """Nothing is divided into nothing; a fee that is missing or negative has no net part."""
    tariff = to_tariff({"vat_bps": 1900})
    parts = split_vat(pd.Series([0, 119, 1_607, None, -119], dtype="Int64"), tariff)
    assert parts["fee_net"].astype(object).where(parts["fee_net"].notna(), None).tolist() == [0, 100, 1_350, None, None]
    assert parts["fee_vat"].astype(object).where(parts["fee_vat"].notna(), None).tolist() == [0, 19, 257, None, None]


def test_a_rate_has_two_digits_and_no_minus_before_zero() -> None:
    """Hundredths of a percent are rounded half up; a payout without payments has no rate."""
    sums = pd.DataFrame({"fee": [16, -16, 1, 0, -1, 5, 1], "gross": [1_000, 1_000, 1, 10, 1_000_000, 0, 20_000]})
    assert format_fee_rates(sums).dropna().tolist() == ["1.60", "-1.60", "100.00", "0.00", "0.00", "0.01"]
    assert format_fee_rates(sums).isna().tolist() == [False, False, False, False, False, True, False]


def test_a_reported_fee_without_a_price_is_not_off_the_tariff(case: "Case") -> None:
    """A tariff that names no price for bank transfers asks nothing of them."""
    case.tariff = {"vat_bps": 1900, "credit_card": {"bps": 250}}
    case.payment("pi_1", 100_000, payout_id="po_1", metadata='{"order_ref": "PED-1"}')
    case.payout("po_1", 98_400)
    case.invoice("1", 100_000)
    case.add("fees", payout_id="po_1", resource_id="pi_1", fee_total=1_600)
    run = case.run()
    assert run.payout("po_1", "fee_source", "fee_total") == ("provider_csv", 1_600)
    assert run.found() == set()
