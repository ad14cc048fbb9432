"""The merchant's own terms: tolerances and windows from `[rules]`, and the fees that `[tariff]` agrees."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from math import comb
from typing import Any

from consumer.facts.bankdays import CalendarError, read_calendar
from consumer.facts.installation import ConfigError, Settings

SCHEDULES = ("14:00", "00:00")
# A century: beyond it the calendar ends before the days do.
_MOST_DAYS = 36_500
# Sets are searched in full, each of them held at once.
_MOST_SETS = 1_000_000
REFUND = "refund"

_VAT = "vat_bps"
_PRICE_KEYS = frozenset({"bps", "flat"})
BPS = 10_000


class RulesError(ValueError):
    """A rule setting that cannot be used."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Amounts are minor units, `_bps` are hundredths of a percent, days are bank days except `due_days`."""

    fee_band_bps: int = 500
    fee_tolerance: int = 1
    amount_tolerance: int = 1
    short_payment_bps: int = 1500
    days_before_issue: int = 3
    days_after_due: int = 10
    due_days: int = 30
    set_size: int = 5
    set_pool: int = 25
    set_chance_bps: int = 1000
    days_to_payout: int = 2
    days_to_late: int = 1
    days_to_bank: int = 2
    days_to_deadline: int = 5
    order_days: int = 3
    bank_amount_bps: int = 1000
    # How often a payers' rule may be wrong; it decides nothing in a run.
    payer_error_bps: int = 50
    payout_schedule: str = "14:00"
    generic_tax_ids: tuple[str, ...] = ()


def to_rules(raw: Mapping[str, object]) -> RuleSet:
    known = {field.name for field in fields(RuleSet)}
    unknown = sorted(set(raw) - known)
    if unknown:
        raise RulesError(f"[rules] {unknown[0]} is not a rule; known are {', '.join(sorted(known))}")
    rules = RuleSet(**{name: _check(name, value) for name, value in raw.items()})
    sizes = range(2, min(rules.set_size, rules.set_pool) + 1)
    # The largest pool that is searched; a sum that is past the limit already need not be counted on.
    if rules.set_pool > _MOST_SETS or any(comb(rules.set_pool, size) > _MOST_SETS for size in sizes):
        raise RulesError(
            f"[rules] set_size {rules.set_size} of set_pool {rules.set_pool} documents are more than {_MOST_SETS} sets;"
            " lower one of them"
        )
    return rules


def _check(name: str, value: object) -> Any:
    if name == "payout_schedule":
        if value not in SCHEDULES:
            raise RulesError(f"[rules] payout_schedule must be one of {', '.join(SCHEDULES)}, not {value!r}")
        return value
    if name == "generic_tax_ids":
        if not isinstance(value, list | tuple) or not all(isinstance(tax_id, str) for tax_id in value):
            raise RulesError("[rules] generic_tax_ids must be a list of tax ids in quotes")
        return tuple(sorted(value))
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RulesError(f"[rules] {name} must be a whole number of zero or more, not {value!r}")
    if name == "payer_error_bps" and not 0 < value < BPS:
        raise RulesError(f"[rules] {name} must be between 1 and {BPS - 1} hundredths of a percent, not {value}")
    if "days" in name and value > _MOST_DAYS:
        raise RulesError(f"[rules] {name} must be at most {_MOST_DAYS} days, not {value}")
    return value


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
        """Return the fee with VAT as whole numbers (a, b, c): a share a/c of the amount and b/c on top."""
        price, vat = self.prices[name], 1 + self.vat_bps / BPS
        share, flat = price.bps / BPS * vat, price.flat * vat
        scale = Fraction(share.denominator * flat.denominator)
        numerators = share * scale, flat * scale
        return int(numerators[0]), int(numerators[1]), int(scale)

    def net_terms(self) -> tuple[int, int]:
        """Return the share of a fee with VAT that is net of VAT."""
        share = 1 / (1 + self.vat_bps / BPS)
        return share.numerator, share.denominator


def to_tariff(raw: Mapping[str, object]) -> Tariff | None:
    if not raw:
        return None
    if _VAT not in raw:
        raise TariffError("[tariff] vat_bps is missing: say the VAT rate in hundredths of a percent, 1900 for 19 %")
    prices = {name: _to_price(name, value) for name, value in sorted(raw.items()) if name != _VAT}
    return Tariff(vat_bps=_to_number(_VAT, raw[_VAT]), prices=prices)


def _to_price(name: str, value: object) -> Price:
    if not isinstance(value, Mapping) or not value or set(value) - _PRICE_KEYS:
        raise TariffError(f"[tariff] {name} must be written {{ bps = … }} or {{ flat = … }}, or with both")
    numbers = {key: _to_number(f"{name}.{key}", value.get(key, 0)) for key in sorted(_PRICE_KEYS)}
    return Price(**numbers)


def _to_number(name: str, value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TariffError(f"[tariff] {name} must be a whole number or a decimal in quotes, not {value!r}")
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise TariffError(f"[tariff] {name} is not a number: {value!r}") from None
    if not number.is_finite() or number < 0:
        raise TariffError(f"[tariff] {name} must be zero or more, not {value!r}")
    return Fraction(number)


def check_terms(settings: Settings) -> None:
    """Refuse a tariff, rules or a calendar that cannot be read now, not when it reconciles."""
    try:
        to_tariff(settings.tariff)
        to_rules(settings.rules)
        for connection in settings.all_connections:
            read_calendar(settings.files_dir, connection.country_code)
    except (TariffError, RulesError, CalendarError) as error:
        raise ConfigError(str(error)) from None
