"""The identity of a payout: signs, sums, fee sources, rates and what does not add up."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

TARIFF = {
    "vat_bps": 1900,
    "bank_transfer": {"bps": 135},
    "credit_card": {"bps": "250"},
    "pac": {"flat": 250},
    "refund": {"flat": 514},
}


def test_signs_and_sums_of_every_kind_of_item(case: "Case") -> None:
    """Payments, charges and failed refunds come in, refunds go out, fees are taken off."""
    case.tariff = TARIFF
    case.payment("pi_1", 100_000, payout_id="po_1")  # fee 1607
    case.payment("pi_2", 50_000, payout_id="po_1", resource_subtype="credit_card")  # fee 1488
    case.item("charge", "ch_1", 20_000, payout_id="po_1", resource_subtype="pac")  # fee 298
    case.refund("re_1", "pi_0", 30_000, payout_id="po_1")  # fee 612
    case.item("refund_adjustment", "re_2", 5_000, payout_id="po_1", status="failed", resource_subtype=None)
    case.payout("po_1", 140_995)
    run = case.run()
    assert run.payout("po_1", "payments_count", "payments_gross", "charges_count", "charges_gross") == (
        2,
        150_000,
        1,
        20_000,
    )
    assert run.payout("po_1", "refunds_count", "refunds_gross", "refund_adjustments") == (1, 30_000, 5_000)
    assert run.payout("po_1", "fee_total", "fee_net", "fee_vat", "fee_source") == (4_005, 3_364, 641, "tariff")
    assert run.payout("po_1", "computed_amount", "payout_amount", "difference") == (140_995, 140_995, 0)
    assert run.payout("po_1", "fee_rate_pct", "status_recon", "exceptions") == ("2.36", "no_bank", 3)
    assert run.line("re_1", "amount_signed", "fee_total", "net_amount") == (-30_000, 612, -30_612)
    assert run.line("re_2", "amount_signed", "fee_total", "net_amount") == (5_000, 0, 5_000)


@pytest.mark.parametrize(
    ("amount", "subtype", "fee", "net"),
    [
        (1_000, "bank_transfer", 16, 13),  # 13.5 and 2.565 of VAT: the provider's own example
        (100_000, "bank_transfer", 1_607, 1_350),
        (34_000, "credit_card", 1_012, 850),  # 1011.5 rounds up
        (1, "pac", 298, 250),  # 297.5 rounds up
    ],
)
def test_tariff_fee_and_vat_rounded_half_up_per_item(
    case: "Case", amount: int, subtype: str, fee: int, net: int
) -> None:
    """Fee and VAT are rounded together once, and the net part is recomputed from the rounded figure."""
    case.tariff = TARIFF
    case.payment("pi_1", amount, payout_id="po_1", resource_subtype=subtype)
    case.payout("po_1", amount - fee)
    run = case.run()
    assert run.line("pi_1", "fee_total", "fee_net", "fee_vat") == (fee, net, fee - net)
    assert run.payout("po_1", "difference") == (0,)


def test_a_difference_with_a_tariff_is_a_payout_identity_of_that_size(case: "Case") -> None:
    """What the payout lacks is the exception's amount, and the payout stays open."""
    case.tariff = TARIFF
    case.payment("pi_1", 100_000, payout_id="po_1")
    case.payout("po_1", 90_000)
    run = case.run()
    assert run.payout("po_1", "computed_amount", "difference", "status_recon") == (98_393, -8_393, "open")
    assert ("PAYOUT_IDENTITY", "payout:po_1", 8_393) in run.found()
    assert run.finding("PAYOUT_IDENTITY").evidence["difference"] == -8_393


def test_a_subtype_absent_from_the_tariff_leaves_the_residual(case: "Case") -> None:
    """A payout with an item of unknown price cannot be computed from the tariff."""
    case.tariff = TARIFF
    case.payment("pi_1", 100_000, payout_id="po_1", resource_subtype="prepaid_card")
    case.payment("pi_2", 100_000, payout_id="po_1")
    case.payout("po_1", 197_000)
    run = case.run()
    assert run.payout("po_1", "fee_source", "fee_total", "difference", "fee_rate_pct") == ("residual", 3_000, 0, "1.50")
    assert run.line("pi_2", "fee_total", "net_amount") == (None, None)


def test_residual_fee_is_what_the_payout_left(case: "Case") -> None:
    """Without tariff or report the fee closes the identity and the items have none."""
    case.payment("pi_1", 100_000, payout_id="po_1")
    case.payout("po_1", 98_000)
    run = case.run()
    shown = run.payout("po_1", "fee_source", "fee_total", "fee_net", "computed_amount", "difference")
    assert shown == ("residual", 2_000, None, 98_000, 0)
    assert run.payout("po_1", "status_recon") == ("no_bank",)


def test_a_negative_residual_fee_is_payout_identity_and_nothing_else(case: "Case") -> None:
    """More money than the items explain is at risk by its size."""
    case.payment("pi_1", 100_000, payout_id="po_1", metadata='{"order_ref": "PED-1"}')
    case.invoice("1", 100_000)
    case.payout("po_1", 101_500)
    run = case.run()
    assert run.found() == {("PAYOUT_IDENTITY", "payout:po_1", 1_500)}
    assert run.payout("po_1", "fee_total", "fee_rate_pct", "difference", "status_recon") == (-1_500, "-1.50", 0, "open")


@pytest.mark.parametrize(("amount", "found"), [(95_000, set()), (94_999, {("FEE_OUT_OF_BAND", "payout:po_1", 1)})])
def test_residual_rate_above_the_band(case: "Case", amount: int, found: set[tuple[str, str, int]]) -> None:
    """Five percent of the gross payments is the band, VAT included."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 100_000, payout_id="po_1", metadata='{"order_ref": "PED-1"}')
    case.payout("po_1", amount)
    assert case.run().found() == found


def test_fees_of_the_providers_report_come_first(case: "Case") -> None:
    """The provider's own figures are used where it gave all of them, with net and VAT by the tariff's rate."""
    case.tariff = TARIFF
    case.invoice("1", 100_000)
    case.payment("pi_1", 100_000, payout_id="po_1", metadata='{"order_ref": "PED-1"}')
    case.add("fees", payout_id="po_1", resource_id="pi_1", fee_total=1_608)
    case.payout("po_1", 98_392)
    run = case.run()
    assert run.payout("po_1", "fee_source", "fee_total", "difference") == ("provider_csv", 1_608, 0)
    assert run.found() == set()


def test_an_item_whose_reported_fee_differs_from_the_tariff_by_more_than_one_unit(case: "Case") -> None:
    """Two units off the tariff is a fee out of band of that item."""
    case.tariff = TARIFF
    case.invoice("1", 100_000)
    case.payment("pi_1", 100_000, payout_id="po_1", metadata='{"order_ref": "PED-1"}')
    case.add("fees", payout_id="po_1", resource_id="pi_1", fee_total=1_609)
    case.payout("po_1", 98_391)
    run = case.run()
    assert run.found() == {("FEE_OUT_OF_BAND", "resource:pi_1", 2)}
    assert run.line("pi_1", "exception_code") == ("FEE_OUT_OF_BAND",)


def test_the_band_holds_for_reported_fees_too(case: "Case") -> None:
    """A report that adds up may still take too much."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 100_000, payout_id="po_1", metadata='{"order_ref": "PED-1"}')
    case.add("fees", payout_id="po_1", resource_id="pi_1", fee_total=6_000)
    case.payout("po_1", 94_000)
    assert case.run().found() == {("FEE_OUT_OF_BAND", "payout:po_1", 1_000)}


def test_a_report_that_lacks_an_item_is_not_used(case: "Case") -> None:
    """Half a report would make a shortage look like a fee."""
    case.tariff = TARIFF
    case.payment("pi_1", 100_000, payout_id="po_1")
    case.payment("pi_2", 1_000, payout_id="po_1")
    case.add("fees", payout_id="po_1", resource_id="pi_1", fee_total=1_607)
    case.payout("po_1", 99_377)
    assert case.run().payout("po_1", "fee_source", "difference") == ("tariff", 0)


def test_an_item_only_the_report_has_is_named_beside_the_difference(case: "Case") -> None:
    """What the payout's own list lacks explains the exception."""
    case.payment("pi_1", 100_000, payout_id="po_1")
    case.add("fees", payout_id="po_1", resource_id="pi_1", fee_total=1_607)
    case.add("fees", payout_id="po_1", resource_id="pi_2", fee_total=16)
    case.payout("po_1", 99_377)
    run = case.run()
    assert run.payout("po_1", "fee_source", "difference") == ("provider_csv", 984)
    assert run.finding("PAYOUT_IDENTITY").evidence["only_in_the_report"] == ["pi_2"]


def test_a_payout_without_items_is_wholly_unexplained(case: "Case") -> None:
    """Money without a single item is a payout identity of its whole amount."""
    case.payout("po_1", 5_000)
    run = case.run()
    assert run.found() == {("PAYOUT_IDENTITY", "payout:po_1", 5_000)}


def test_items_of_another_currency_are_no_part_of_the_sum(case: "Case") -> None:
    """Amounts of two currencies are never added."""
    case.payment("pi_1", 100_000, payout_id="po_1")
    case.payment("pi_2", 900, payout_id="po_1", currency="USD")
    case.payout("po_1", 99_000)
    assert case.run().payout("po_1", "payments_gross", "fee_total") == (100_000, 1_000)


def test_an_item_of_another_currency_is_named_and_keeps_its_payout_open(case: "Case") -> None:
    """What it adds to the payout is not known: it is a finding of its own amount, in its own currency."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 100_000, payout_id="po_1", metadata='{"order_ref": "PED-1"}')
    case.refund("re_1", "pi_0", 900, payout_id="po_1", currency="USD")
    case.payout("po_1", 99_000)
    run = case.run()
    assert run.found() == {("CURRENCY_DIFF", "resource:re_1@po_1", 900)}
    finding = run.finding("CURRENCY_DIFF")
    assert (finding.currency, finding.payout_id, finding.resource_id) == ("USD", "po_1", "re_1")
    assert finding.evidence == {"amount": 900, "item_currency": "USD", "payout_currency": "CLP"}
    assert run.line("re_1", "exception_code") == ("CURRENCY_DIFF",)
    assert run.line("pi_1", "exception_code") == (None,)
    assert run.payout("po_1", "status_recon", "difference", "exceptions") == ("open", 0, 1)


def test_an_item_of_another_currency_without_a_payout_is_no_difference(case: "Case") -> None:
    """Nothing says yet in what currency it will be paid out; a canceled payout paid nothing."""
    case.payment("pi_1", 900, currency="USD")
    case.payment("pi_2", 800, payout_id="po_1", currency="USD")
    case.payout("po_1", 99_000, status="canceled", ended_at="2026-10-05T19:00:00Z")
    assert "CURRENCY_DIFF" not in {code for code, _, _ in case.run().found()}


def test_a_payment_can_differ_in_currency_from_document_and_payout(case: "Case") -> None:
    """Both stand in one finding, so that its amount is at risk once, and the payout stays open."""
    case.invoice("1", 900, currency="CLP")
    case.payment("pi_1", 900, payout_id="po_1", currency="USD", metadata='{"order_ref": "PED-1"}')
    case.payout("po_1", 99_000)
    run = case.run()
    finding = run.finding("CURRENCY_DIFF")
    assert (finding.subject, finding.amount_at_risk, finding.payout_id) == ("resource:pi_1", 900, "po_1")
    reported = {name: finding.evidence[name] for name in ("payment_currency", "document_currency", "payout_currency")}
    assert reported == {"payment_currency": "USD", "document_currency": "CLP", "payout_currency": "CLP"}
    assert run.line("pi_1", "exception_code") == ("CURRENCY_DIFF",)
    assert run.payout("po_1", "status_recon", "exceptions") == ("open", 2)


def test_matched_and_unmatched_payments_are_counted(case: "Case") -> None:
    """Refunds count for neither."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 100_000, payout_id="po_1", metadata='{"order_ref": "PED-1"}')
    case.payment("pi_2", 70_000, payout_id="po_1")
    case.refund("re_1", "pi_0", 10_000, payout_id="po_1")
    case.payout("po_1", 158_000)
    assert case.run().payout("po_1", "matched_count", "unmatched_count", "exceptions") == (1, 1, 1)


@pytest.mark.parametrize(
    ("gap", "found"),
    [
        (None, {("PAYOUT_IDENTITY", "payout:po_1", 60_000), ("PAYOUT_IDENTITY", "payout:po_2", 80_000)}),
        ("po_1", {("DATA_GAP", "stream:payout-items", 0)}),
    ],
)
def test_a_payout_whose_items_were_not_read_is_not_said_not_to_add_up(
    case: "Case", gap: str | None, found: set[tuple[str, str, int]]
) -> None:
    """Missing items are a gap; only with complete lists is what lacks a difference."""
    case.invoice("1", 20_000)
    case.payment("pi_1", 20_000, payout_id="po_1", metadata='{"order_ref": "PED-1"}')
    case.payout("po_1", 80_000)
    case.payout("po_2", 80_000)
    if gap:
        case.add("gaps", stream="payout-items", reason=f"{gap}: short", payout_id=gap)
    run = case.run()
    assert run.found() == found
    assert run.payout("po_1", "status_recon") == ("incomplete" if gap else "open",)
