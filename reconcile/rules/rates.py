"""Documents priced in another currency: what a stored rate says beside the payment, and the rate that is missing; pure.

Nothing is matched across currencies. Where rates of a currency are kept, a person sees the document's value at the rate
of the payment's own day; a day without its rate is said, and no other day's is taken.
"""

from collections import defaultdict
from datetime import date
from decimal import Decimal

from consumer.facts.money import digits_of
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import Finding, Inputs, rows_of
from reconcile.rules.ledger import Ledger
from reconcile.rules.outcomes import Code
from reconcile.rules.timing import to_day


def add_rates(ledger: Ledger, inputs: Inputs) -> list[Finding]:
    """Write the rate into the evidence of each currency difference; name the days whose rate is missing."""
    rates = {(row.currency, row.on.date().isoformat()): row.value for row in rows_of(inputs.rates)}
    kept = {currency for currency, _ in rates}
    missing: dict[tuple[str, str], list[str]] = defaultdict(list)
    for payment in sorted(payment for payment, codes in ledger.codes.items() if Code.CURRENCY_DIFF in codes):
        reason, day = ledger.reasons[payment], to_day(int(ledger.payments.day[payment]))
        doc = reason.rivals[0]
        priced, paid = str(ledger.books.money[doc]), str(ledger.payments.money[payment])
        if priced not in kept or paid != inputs.calendar.country.currency:
            continue
        value = rates.get((priced, day))
        if value is None:
            missing[priced, day].append(str(ledger.payments.ids[payment]))
            continue
        worth = convert(int(ledger.books.total[doc]), priced, value, paid)
        amount = int(ledger.payments.amount[payment])
        reason.evidence.update(rate=value, rate_on=day, document_at_that_rate=worth, difference=amount - worth)
    return [_to_missing(*key, payments, inputs) for key, payments in sorted(missing.items())]


def convert(amount: int, currency: str, rate: str, target: str) -> int:
    """Give minor units of another currency, rounded half up, in whole numbers alone."""
    _, digits, exponent = Decimal(rate).as_tuple()
    assert isinstance(exponent, int)
    numerator = amount * int("".join(map(str, digits))) * 10 ** (digits_of(target) + max(exponent, 0))
    denominator = 10 ** (digits_of(currency) + max(-exponent, 0))
    return int((2 * numerator + denominator) // (2 * denominator))


def _to_missing(currency: str, day: str, payments: list[str], inputs: Inputs) -> Finding:
    about = About(
        f"rate:{currency}:{date.fromisoformat(day)}",
        inputs.calendar.country.currency,
        evidence={"currency": currency, "day": day, "payments": payments},
        fact_on=date.fromisoformat(day),
    )
    return to_finding(Code.RATE_MISSING, about, at_risk=0)
