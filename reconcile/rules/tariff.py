"""The merchant's fee tariff: what the provider should take per item, VAT included, rounded half up once per item."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

REFUND = "refund"

_VAT = "vat_bps"
_PRICE_KEYS = frozenset({"bps", "flat"})
_UNIT = 10_000


class TariffError(ValueError):
    """A tariff setting that cannot be used."""


@dataclass(frozen=True, slots=True)
class Price:
    """Basis points of the amount plus a flat amount in minor units, both net of VAT."""

    bps: Fraction
    flat: Fraction


@dataclass(frozen=True, slots=True)
class Tariff:
    vat_bps: Fraction
    prices: Mapping[str, Price]

    def terms(self, name: str) -> tuple[int, int, int]:
        """Give the fee with VAT as whole numbers (a, b, c): a share a/c of the amount and b/c on top."""
        price, vat = self.prices[name], 1 + self.vat_bps / _UNIT
        share, flat = price.bps / _UNIT * vat, price.flat * vat
        scale = Fraction(share.denominator * flat.denominator)
        numerators = share * scale, flat * scale
        return int(numerators[0]), int(numerators[1]), int(scale)

    def net_terms(self) -> tuple[int, int]:
        """Give the share of a fee with VAT that is net of VAT."""
        share = 1 / (1 + self.vat_bps / _UNIT)
        return share.numerator, share.denominator


def to_tariff(raw: Mapping[str, Any]) -> Tariff | None:
    if not raw:
        return None
    if _VAT not in raw:
        raise TariffError("[tariff] vat_bps is missing: say the VAT rate in hundredths of a percent, 1900 for 19 %")
    prices = {name: _to_price(name, value) for name, value in sorted(raw.items()) if name != _VAT}
    return Tariff(vat_bps=_to_number(_VAT, raw[_VAT]), prices=prices)


def _to_price(name: str, value: Any) -> Price:
    if not isinstance(value, Mapping) or not value or set(value) - _PRICE_KEYS:
        raise TariffError(f"[tariff] {name} must be written {{ bps = … }} or {{ flat = … }}, or with both")
    numbers = {key: _to_number(f"{name}.{key}", value.get(key, 0)) for key in sorted(_PRICE_KEYS)}
    return Price(**numbers)


def _to_number(name: str, value: Any) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TariffError(f"[tariff] {name} must be a whole number or a decimal in quotes, not {value!r}")
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise TariffError(f"[tariff] {name} is not a number: {value!r}") from None
    if not number.is_finite() or number < 0:
        raise TariffError(f"[tariff] {name} must be zero or more, not {value!r}")
    return Fraction(number)
