"""Pure: what a Mexican document states of each rate of value added tax, kept as one short text."""

from collections.abc import Iterable
from typing import NamedTuple

from consumer.facts.countries import COUNTRIES

# The rate of nearly all documents, in percent; what bears none, and what the tax does not know, as texts name them.
GENERAL, EXEMPT, UNTAXED = str(COUNTRIES["mx"].vat_percent), "exempt", "none"
# A base is stated finer than money, and may round otherwise than what is left without the tax.
_ROUNDING = 1


class RateSum(NamedTuple):
    """Base and tax of one rate, in minor units."""

    rate: str
    base: int
    vat: int


def write_rates(sums: Iterable[RateSum], base: int, vat: int) -> str:
    """Return sums by rate as text, empty where all of `base` and `vat` is at the general rate."""
    found: dict[str, RateSum] = {}
    for one in sums:
        known = found.get(one.rate, RateSum(one.rate, 0, 0))
        found[one.rate] = RateSum(one.rate, known.base + one.base, known.vat + one.vat)
    rest = base - sum(one.base for one in found.values())
    if found.keys() == {GENERAL} and abs(rest) <= _ROUNDING and found[GENERAL].vat == vat:
        return ""
    rows = [*sorted(found.values()), RateSum(UNTAXED, rest if rest > _ROUNDING else 0, 0)]
    return " ".join(f"{one.rate}:{one.base}:{one.vat}" for one in rows if one.base or one.vat)


def read_rates(text: str) -> tuple[RateSum, ...]:
    """Return the sums of such a text; of an empty one there is none."""
    parts = (part.split(":") for part in text.split())
    return tuple(RateSum(rate, int(base), int(vat)) for rate, base, vat in parts)
