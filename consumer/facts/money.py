"""Money as integers of minor units with a currency: the digits of each currency, and decimal text both ways."""

import re
from collections.abc import Sequence
from decimal import Decimal

from consumer.facts.messages import RefusalError

# What a merchant's books may be in; the provider and banks may name any currency of ISO 4217.
DIGITS = {"CLP": 0, "MXN": 2, "CLF": 4, "USD": 2, "EUR": 2}
_BY_DIGITS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    2: (
        "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE "
        "CHF CHW CNY COP COU CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD "
        "HNL HRK HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP "
        "MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR "
        "SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED "
        "VES WST XCD XCG YER ZAR ZMW ZWG ZWL"
    ),
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
_ALL = {name: digits for digits, names in _BY_DIGITS.items() for name in names.split()}

# What a column of the database holds.
LARGEST_AMOUNT = 2**63 - 1
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")
# So much of a text that is no amount is said.
_SHOWN = 40


class MoneyError(RefusalError):
    """An amount or currency that cannot be read without inventing something."""


def is_currency(code: str) -> bool:
    return code.upper() in _ALL


def digits_of(currency: str) -> int:
    try:
        return _ALL[currency.upper()]
    except KeyError:
        raise MoneyError("facts.unknown_currency", currency=currency[:20]) from None


def format_decimal(amount: int, currency: str) -> str:
    """Return text in major units with the currency's own digits: 1500 CLP is `1500`, 1500 MXN is `15.00`."""
    digits = digits_of(currency)
    sign = "-" if amount < 0 else ""
    if digits == 0:
        return f"{sign}{abs(amount)}"
    whole, rest = divmod(abs(amount), 10**digits)
    return f"{sign}{whole}.{rest:0{digits}d}"


def split_amount(amount: int, weights: Sequence[int]) -> list[int]:
    """Return parts by weight whose sum is the amount; without any weight all of it is the last part."""
    whole, parts = sum(weights), list[int]()
    for weight in weights[:-1]:
        part = (2 * amount * weight + whole) // (2 * whole) if whole else 0
        amount, whole = amount - part, whole - weight
        parts.append(part)
    return [*parts, amount] if weights else []


def take_tax_out(total: int, percent: int) -> tuple[int, int]:
    """Return what a total is without a tax of so many percent, half up, and the tax in it."""
    with_tax = 100 + percent
    net = (200 * total + with_tax) // (2 * with_tax)
    return net, total - net


def group_digits(text: str, language: str) -> str:
    """Return decimal text as people write it, its thousands set apart."""
    whole, point, rest = text.partition(".")
    grouped = f"{int(whole):,}"
    if language == "es-CL":
        return grouped.replace(",", ".") + ("," + rest if point else "")
    return grouped + point + rest


def to_minor(text: str, currency: str) -> int:
    """Return the minor units of plain decimal text; digits finer than the currency must be zero.

    Raise MoneyError if the text is no such number, or larger than any amount that is kept.
    """
    if not _DECIMAL.fullmatch(text):
        raise MoneyError("facts.not_decimal", text=text)
    digits = digits_of(currency)
    if abs(Decimal(text)) * 10**digits > LARGEST_AMOUNT:
        raise MoneyError("facts.amount_too_large", text=text[:_SHOWN])
    scaled = Decimal(text).scaleb(digits)
    if scaled != scaled.to_integral_value():
        raise MoneyError("facts.more_decimals", text=text, currency=currency)
    return int(scaled)
