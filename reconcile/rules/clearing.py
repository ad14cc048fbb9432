"""Pure: what the provider owes at the end of each day, item by item, until a payout has succeeded."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reconcile.rules.outcomes import DEAD

_DEAD = pa.array(DEAD)
_PAID = "succeeded"
_COLUMN_OF = {
    "payment_intent": "payments",
    "charge": "charges",
    "refund": "refunds",
    "refund_adjustment": "refund_adjustments",
    "dispute": "disputes",
}
_KINDS = pa.array(list(_COLUMN_OF))
MOVES = ("payments", "charges", "refunds", "refund_adjustments", "disputes", "fees", "payouts", "other")
_BETWEEN = "\x1f"
COUNTED = "count"
# What is read of the first line of every item; a run has as many as a year of trade, so they stay columns.
ITEMS = pa.schema(
    {
        "payout_id": pa.string(),
        "resource_type": pa.string(),
        "resource_id": pa.string(),
        "occurred_at_utc": pa.timestamp("us", "UTC"),
        "local_date": pa.date32(),
        "bank_day": pa.date32(),
        "amount_signed": pa.int64(),
        "currency": pa.string(),
    }
)

PAYOUTS = pa.schema(
    {
        "payout_id": pa.string(),
        "status": pa.string(),
        "payout_date": pa.date32(),
        "currency": pa.string(),
        "payout_amount": pa.int64(),
        "fee_total": pa.int64(),
        "difference": pa.int64(),
    }
)

# A day's row of the roll-forward; the types of its cells are those of its columns.
Row: TypeAlias = dict[str, Any]
Days = dict[date, Counter[str]]


class ClearingError(ValueError):
    """An item that cannot be counted; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Account:
    """What one connection's balance is made of: the first line of every item, and every payout.

    A row may stand for a `count` of items of one payout, kind and day.
    """

    items: pa.Table
    payouts: pa.Table


def find_waiting(account: Account) -> pa.Table:
    """Keep what no succeeded payout carries; an item that only dead payouts carried waits again, once."""
    items = _count_once(account)
    return items.filter(pc.not_equal(items["status"], _PAID).fill_null(True))


def carry_forward(account: Account) -> Iterator[Row]:
    """Carry the balance from day to day; amounts are signed, so that a row adds up to its closing."""
    moved: Mapping[str, Days] = defaultdict(lambda: defaultdict(Counter))
    items = _count_once(account)
    on = pc.coalesce(items["local_date"], items["paid_on"])
    _check(items, pc.is_null(on), "has no date and no payout that has one")
    _check(items, pc.is_null(items["amount_signed"]), "has no amount")
    _check(items, pc.invert(pc.is_in(items["resource_type"], value_set=_KINDS)), "is of a kind that has no column")
    dated = items.append_column("on", on)
    kinds = dated.group_by(["currency", "on", "resource_type"]).aggregate([("amount_signed", "sum"), ("count", "sum")])
    for currency, on, kind, amount, count in _rows_of(kinds):
        day = moved[currency][on]
        day[_COLUMN_OF[kind]] += amount
        day["count"] += count
    paid = dated.filter(pc.is_valid(dated["paid_on"])).group_by(["currency", "paid_on"]).aggregate([("count", "sum")])
    for currency, on, count in _rows_of(paid):
        moved[currency][on]["count"] -= count
    for currency, on, amount, fees, difference in _rows_of(_sum_paid(account.payouts)):
        moved[currency][on].update(payouts=-amount, fees=-fees, other=difference)
    for currency, days in moved.items():
        yield from _carry(currency, days)


def _rows_of(groups: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Return groups as rows: what they are grouped by, then what was counted."""
    return zip(*(column.to_pylist() for column in groups.columns), strict=True)


def _sum_paid(payouts: pa.Table) -> pa.Table:
    sums = [(name, "sum") for name in ("payout_amount", "fee_total", "difference")]
    paid = payouts.filter(pc.equal(payouts["status"], _PAID))
    for name in ("payout_date", "payout_amount", "fee_total", "difference"):
        _check(paid, pc.is_null(paid[name]), f"has succeeded and has no {name}", "payout_id")
    return paid.group_by(["currency", "payout_date"]).aggregate(sums)


def _carry(currency: str, days: Days) -> Iterator[Row]:
    opening = count = 0
    for on in sorted(days):
        moves = {name: days[on][name] for name in MOVES}
        closing, count = opening + sum(moves.values()), count + days[on]["count"]
        row: Row = {"currency": currency, "date": on, "opening": opening, **moves}
        yield {**row, "closing": closing, "closing_items_count": count}
        opening = closing


def _count_once(account: Account) -> pa.Table:
    """Count each item once for every payout alive, or once in all where only dead payouts carried it."""
    items = _add_payouts(account)
    if COUNTED not in items.column_names:
        items = items.append_column(COUNTED, pa.array(np.ones(items.num_rows, dtype=np.int64)))
    is_dead = pc.is_in(items["status"], value_set=_DEAD)
    dead, alive = items.filter(is_dead), items.filter(pc.invert(is_dead))
    again, carried = _name_resources(dead), set(_name_resources(alive)) if dead.num_rows else set()
    first = {resource: place for place, resource in reversed(list(enumerate(again))) if resource not in carried}
    return pa.concat_tables([alive, dead.take(pa.array(sorted(first.values()), pa.int64()))])


def _add_payouts(account: Account) -> pa.Table:
    """Add the state of each item's payout and its day of payment, missing where no payout carries the item."""
    payouts = account.payouts.combine_chunks()
    known = payouts["payout_id"].combine_chunks()
    places = pc.index_in(account.items["payout_id"], value_set=known, skip_nulls=True)
    is_lost = pc.and_(pc.is_valid(account.items["payout_id"]), pc.is_null(places))
    _check(account.items, is_lost, "names a payout that the run does not hold")
    is_paid = pc.equal(payouts["status"], _PAID)
    paid_on = pc.if_else(is_paid, payouts["payout_date"], pa.scalar(None, pa.date32()))
    return account.items.append_column("status", pc.take(payouts["status"], places)).append_column(
        "paid_on", pc.take(paid_on, places)
    )


def _name_resources(items: pa.Table) -> list[str]:
    names: list[str] = pc.binary_join_element_wise(items["resource_type"], items["resource_id"], _BETWEEN).to_pylist()
    return names


def _check(rows: pa.Table, is_wrong: pa.ChunkedArray, complaint: str, name: str = "resource_id") -> None:
    if pc.any(is_wrong, min_count=0).as_py():
        what = "item" if name == "resource_id" else "payout"
        raise ClearingError(f"{what} {rows[name].filter(is_wrong)[0].as_py()} {complaint}")
