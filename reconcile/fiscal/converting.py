"""Pure: an amount of a document in the country's money."""

from decimal import ROUND_HALF_UP, Decimal

from consumer.facts.money import MoneyError, digits_of


def to_home(amount: int, currency: str, home: str, *, rate: str, per: str = "1") -> int | None:
    """Return an amount in the country's money, half up: divided by `per`, times `rate`; None if a rate is unreadable.

    Without an amount no rate is needed: complements have the currency XXX.
    """
    if not amount:
        return 0
    try:
        if not (Decimal(rate) > 0 and Decimal(per) > 0):
            return None
        worth = Decimal(amount).scaleb(digits_of(home) - digits_of(currency)) / Decimal(per) * Decimal(rate)
        return int(worth.quantize(Decimal(1), ROUND_HALF_UP))
    except (ArithmeticError, MoneyError):
        return None
