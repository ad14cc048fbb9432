"""What the imitated provider charges for each resource, in whole minor units."""

from sandbox.state.store import Object

CHILE_TARIFF: Object = {
    "vat_bps": 1900,
    "refund": {"flat": 514},
    "bank_transfer": {"bps": 135},
    "credit_card": {"bps": 250},
    "debit_card": {"bps": 190},
    "prepaid_card": {"bps": 190},
    "installment": {"bps": 290},
    "pac": {"flat": 250},
}
MEXICO_TARIFF: Object = {
    "vat_bps": 1600,
    "refund": {"flat": 1000},
    "bank_transfer": {"bps": 120},
    "credit_card": {"bps": 290},
    "debit_card": {"bps": 220},
    "prepaid_card": {"bps": 220},
    "installment": {"bps": 350},
}
TARIFFS = {"cl": CHILE_TARIFF, "mx": MEXICO_TARIFF}
BPS = 10_000
OVERCHARGE_BPS = 120


def divide_half_up(numerator: int, denominator: int) -> int:
    """Quotient of two non-negative integers, a half going up."""
    return (2 * numerator + denominator) // (2 * denominator)


def fee_of(tariff: Object, subtype: str, amount: int) -> tuple[int, int]:
    """Fee with VAT of one resource, rounded once, and the VAT part recomputed from the rounded figure."""
    price = tariff[subtype]
    gross_bps = BPS + int(tariff["vat_bps"])
    if "flat" in price:
        fee = divide_half_up(int(price["flat"]) * gross_bps, BPS)
    else:
        fee = divide_half_up(amount * int(price["bps"]) * gross_bps, BPS * BPS)
    return fee, fee - divide_half_up(fee * BPS, gross_bps)


def wrong_fee_of(error: str, tariff: Object, subtype: str, amount: int) -> tuple[int, int]:
    """Return the fee a provider takes that errs in its tariff, leaves the VAT out, or rounds one unit too far."""
    if error == "rounding":
        fee, vat = fee_of(tariff, subtype, amount)
        return fee + 1, vat
    if error == "vat":
        return fee_of(tariff | {"vat_bps": 0}, subtype, amount)
    dearer = {"bps": int(tariff[subtype]["bps"]) + OVERCHARGE_BPS}
    return fee_of(tariff | {subtype: dearer}, subtype, amount)
