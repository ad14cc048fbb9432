"""Pure: what each means of payment cost in a month, and what that is apart from the tariff."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from reconcile.fiscal.fees import FeeDocument
from reports.shapes.spans import Row

_KEYS = ("connection", "period", "currency", "resource_subtype", "fee_source")
_FEES = ("fee_net", "fee_vat", "fee_total")
# A share of the gross in hundredths of a percent.
_SHARES = 10_000


# The provider's documents over the fees of a connection's month.
Invoices = Mapping[tuple[str, str, str], Sequence[FeeDocument]]


def by_month(days: Iterable[Row], invoices: Invoices) -> Iterator[Row]:
    """Add up sums of days by month, means of payment and source of the fee.

    A fee that is known of whole payouts alone has no means, and the items of these payouts no fee. The first row of a
    month bears its documents, so that their columns add up too.
    """
    shown: set[tuple[str, str, str]] = set()
    dated = ({**row, "period": str(row["on"] or "")[:7]} for row in days)
    for _, group in groupby(sorted(dated, key=_key), _key):
        row = _to_month(list(group))
        month = (row["connection"], row["period"], row["currency"])
        yield row | _describe(invoices.get(month, ()) if month not in shown else ())
        shown.add(month)


def _describe(documents: Sequence[FeeDocument]) -> Row:
    return {
        "invoice_key": " ".join(document.key for document in documents) or None,
        "invoice_net": sum(one.total - one.vat for one in documents) if documents else None,
        "invoice_vat": sum(one.vat for one in documents) if documents else None,
    }


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] or "" for name in _KEYS)


def _to_month(rows: list[Row]) -> Row:
    gross = sum(row["amount_signed"] for row in rows)
    total, agreed = _add(rows, "fee_total"), _add(rows, "fee_agreed")
    return {
        **{name: rows[0][name] for name in _KEYS},
        **{name: _add(rows, name) for name in _FEES},
        "count": sum(row["count"] for row in rows),
        "gross": gross,
        "rate_pct": format_rate(total, gross),
        "difference": None if total is None or agreed is None else total - agreed,
    }


def _add(rows: list[Row], name: str) -> int | None:
    """Add up a column; one day without a figure makes the month's unknown."""
    known = [row[name] for row in rows if row[name] is not None]
    return sum(known) if len(known) == len(rows) else None


def format_rate(fee: int | None, gross: int) -> str | None:
    """Return a fee as percent of the gross with two digits, rounded half up; None without either."""
    if fee is None or not gross:
        return None
    hundredths = (2 * abs(fee) * _SHARES + abs(gross)) // (2 * abs(gross))
    sign = "-" if fee < 0 and hundredths else ""
    return f"{sign}{hundredths // 100}.{hundredths % 100:02d}"
