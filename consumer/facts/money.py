"""Money as integers of minor units beside a currency: the digits of each currency, and decimal text both ways."""

import re
from decimal import Decimal

DIGITS = {"CLP": 0, "MXN": 2, "CLF": 4, "USD": 2, "EUR": 2}

_DECIMAL = re.compile(r"-?\d+(\.\d+)?")


class MoneyError(ValueError):
    """An amount or currency that cannot be read without inventing something."""


def digits_of(currency: str) -> int:
    try:
        return DIGITS[currency.upper()]
    except KeyError:
        raise MoneyError(f"currency {currency!r} is not known; known are {', '.join(sorted(DIGITS))}") from None


def format_decimal(amount: int, currency: str) -> str:
    """Text in major units with the currency's own digits: 1500 CLP is `1500`, 1500 MXN is `15.00`."""
    digits = digits_of(currency)
    sign = "-" if amount < 0 else ""
    if digits == 0:
        return f"{sign}{abs(amount)}"
    whole, rest = divmod(abs(amount), 10**digits)
    return f"{sign}{whole}.{rest:0{digits}d}"


def to_minor(text: str, currency: str) -> int:
    """Minor units of plain decimal text; a fraction finer than the currency is accepted only when it is zero."""
    if not _DECIMAL.fullmatch(text):
        raise MoneyError(f"{text!r} is not a plain decimal number")
    scaled = Decimal(text).scaleb(digits_of(currency))
    if scaled != scaled.to_integral_value():
        raise MoneyError(f"{text!r} has more decimals than {currency} allows")
    return int(scaled)
