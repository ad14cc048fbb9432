"""Pure: every figure of the reports with the rows it must equal, and a verdict."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reports.shapes.spans import Row

Key = tuple[str, str]
_SUMMARY, _DETAIL = "payout-summary", "payout-detail"
# What customers owe, and what they paid too much: the one is never netted against the other.
SIDES = OWED, TOO_MUCH = "balance_owed", "credit_balance"

_BY_TYPE = (
    ("payments, gross", "payments_gross", "payment_intent", 1),
    ("charges, gross", "charges_gross", "charge", 1),
    ("refunds, gross", "refunds_gross", "refund", -1),
    ("refund adjustments, gross", "refund_adjustments", "refund_adjustment", 1),
    ("disputes, gross", "disputes", "dispute", -1),
)


@dataclass(frozen=True, slots=True)
class Books:
    """The rows that the totals are taken from; `figures` are sums of lines, payouts and documents of one window.

    `receivables` are what customers owe, `credits` what they paid too much: the one is never netted against the other.
    """

    figures: Sequence[Row]
    receivables: Sequence[Row]
    credits: Sequence[Row]
    in_transit: Sequence[Row]
    rollforward: Sequence[Row]


def control(books: Books) -> Iterator[Row]:
    """Tie summary to detail, identity to payout, receivables to documents and the roll-forward to its open items."""
    for name, column, kind, sign in _BY_TYPE:
        yield from _tie(
            (name, f"payout-summary {column}", _figures(books, _SUMMARY, column)),
            (f"payout-detail {kind}", _figures(books, _DETAIL, kind, sign=sign)),
        )
    together = "computed_amount + fee_total"
    yield from _tie(
        ("items", "payout-detail amount_signed", _figures(books, _DETAIL)),
        (f"payout-summary {together}", _figures(books, _SUMMARY, together)),
    )
    together = "computed_amount + difference"
    yield from _tie(
        ("payouts", "payout-summary payout_amount", _figures(books, _SUMMARY, "payout_amount")),
        (f"payout-summary {together}", _figures(books, _SUMMARY, together)),
    )
    balances = _figures(books, "documents")
    owed, too_much = (_total(rows, "balance") for rows in (books.receivables, books.credits))
    yield from _tie(
        ("receivables", f"receivables {OWED}", owed),
        (f"documents balance - {TOO_MUCH}", _less(balances, too_much)),
    )
    yield from _tie(
        ("credit balances of customers", f"receivables {TOO_MUCH}", too_much),
        (f"documents balance - {OWED}", _less(balances, owed)),
    )
    yield from _tie(
        ("funds in transit", "clearing-rollforward closing", _closing(books.rollforward)),
        ("in-transit amount_signed", _total(books.in_transit, "amount_signed")),
    )


def _tie(left: tuple[str, str, Counter[Key]], right: tuple[str, Counter[Key]]) -> Iterator[Row]:
    (figure, source, amounts), (ties_to, others) = left, right
    for connection, currency in sorted({*amounts, *others}):
        amount, other = amounts[connection, currency], others[connection, currency]
        yield {
            "figure": figure,
            "source": source,
            "amount": amount,
            "currency": currency,
            "ties_to": ties_to,
            "other_amount": other,
            "difference": amount - other,
            "verdict": "ties" if amount == other else "differs",
            "connection": connection,
        }


def _figures(books: Books, source: str, name: str | None = None, *, sign: int = 1) -> Counter[Key]:
    total: Counter[Key] = Counter()
    for row in books.figures:
        if row["source"] == source and name in {None, row["name"]}:
            total[row["connection"], row["currency"]] += sign * row["amount"]
    return total


def _total(rows: Iterable[Row], name: str) -> Counter[Key]:
    total: Counter[Key] = Counter()
    for row in rows:
        total[row["connection"], row["currency"]] += row[name]
    return total


def _less(amounts: Counter[Key], others: Counter[Key]) -> Counter[Key]:
    """Subtract by connection and currency; what is zero or below stays."""
    return Counter({key: amounts[key] - others[key] for key in {*amounts, *others}})


def _closing(rollforward: Iterable[Row]) -> Counter[Key]:
    closing: Counter[Key] = Counter()
    for row in rollforward:  # in date order, so the last one stays
        closing[row["connection"], row["currency"]] = row["closing"]
    return closing
