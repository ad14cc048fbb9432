"""Pure: every figure of the reports beside the rows it must equal, with a verdict."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from reports.spans import Row

Key = tuple[str, str]

_BY_TYPE = (
    ("payments", "payments_gross", "payment_intent", 1),
    ("charges", "charges_gross", "charge", 1),
    ("refunds", "refunds_gross", "refund", -1),
    ("refund adjustments", "refund_adjustments", "refund_adjustment", 1),
    ("disputes", "disputes", "dispute", -1),
)


@dataclass(frozen=True, slots=True)
class Books:
    """The rows that the figures are taken from, all of one window and day; `figures` are sums of first lines."""

    payouts: Sequence[Row]
    figures: Sequence[Row]
    documents: Sequence[Row]
    receivables: Sequence[Row]
    in_transit: Sequence[Row]
    rollforward: Sequence[Row]


def control(books: Books) -> Iterator[Row]:
    """Tie summary to detail, identity to payout, receivables to documents and the roll-forward to its open items."""
    for name, column, kind, sign in _BY_TYPE:
        of_kind = [figure for figure in books.figures if figure["resource_type"] == kind]
        yield from _tie(
            (f"{name}, gross", f"payout-summary {column}", _total(books.payouts, itemgetter(column))),
            (f"payout-detail {kind}", _total(of_kind, _signed(sign))),
        )
    yield from _tie(
        ("items", "payout-detail amount_signed", _total(books.figures, lambda row: row["amount_signed"])),
        (
            "payout-summary computed_amount + fee_total",
            _total(books.payouts, _sum("computed_amount", "fee_total")),
        ),
    )
    yield from _tie(
        ("payouts", "payout-summary payout_amount", _total(books.payouts, lambda row: row["payout_amount"])),
        (
            "payout-summary computed_amount + difference",
            _total(books.payouts, _sum("computed_amount", "difference")),
        ),
    )
    open_documents = [row for row in books.documents if row["balance"]]
    yield from _tie(
        ("receivables", "receivables balance", _total(books.receivables, lambda row: row["balance"])),
        ("documents balance", _total(open_documents, lambda row: row["balance"])),
    )
    yield from _tie(
        ("funds in transit", "clearing-rollforward closing", _closing(books.rollforward)),
        ("in-transit amount_signed", _total(books.in_transit, lambda row: row["amount_signed"])),
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


def _total(rows: Iterable[Row], amount: Callable[[Row], int | None]) -> Counter[Key]:
    """Add up by currency; a row without the figure adds nothing, and the other side then shows the gap."""
    total: Counter[Key] = Counter()
    for row in rows:
        total[row["connection"], row["currency"]] += amount(row) or 0
    return total


def _sum(*names: str) -> Callable[[Row], int | None]:
    def amount(row: Row) -> int | None:
        values = [row[name] for name in names]
        return None if None in values else sum(values)

    return amount


def _signed(sign: int) -> Callable[[Row], int]:
    return lambda row: sign * int(row["amount_signed"])


def _closing(rollforward: Iterable[Row]) -> Counter[Key]:
    closing: Counter[Key] = Counter()
    for row in rollforward:  # in date order, so the last one stays
        closing[row["connection"], row["currency"]] = row["closing"]
    return closing
