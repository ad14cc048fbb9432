"""Pure: what the provider owes at the end of each day, item by item, until a payout has succeeded."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from consumer.facts.bankdays import BankCalendar
from reports.spans import Row

_DEAD = pa.array(["canceled", "returned"])
_PAID = "succeeded"
_COLUMN_OF = {
    "payment_intent": "payments",
    "charge": "charges",
    "refund": "refunds",
    "refund_adjustment": "refund_adjustments",
    "dispute": "disputes",
}
_MOVES = ("payments", "charges", "refunds", "refund_adjustments", "disputes", "fees", "payouts", "other")
_BETWEEN = "\x1f"
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

Days = dict[date, Counter[str]]


@dataclass(frozen=True, slots=True)
class Account:
    """What one connection's balance is made of: the first line of every item, and every payout."""

    connection: str
    items: pa.Table
    payouts: Sequence[Row]


def waiting(account: Account) -> pa.Table:
    """Keep what no succeeded payout carries; an item that only dead payouts carried waits again, once."""
    items = _counted(account)
    return items.filter(pc.not_equal(items["status"], _PAID).fill_null(True))


def in_transit(items: pa.Table, calendar: BankCalendar, *, as_of: date) -> pa.Table:
    """Age what waits in bank days, with the day its payout should arrive."""
    ages = _by_day(items, "local_date", lambda on: max(0, calendar.days_between(on, as_of)), pa.int64())
    expected = _by_day(items, "bank_day", calendar.expected_arrival, pa.date32())
    return items.append_column("age_business_days", ages).append_column("expected_payout_day", expected)


def totals(account: Account) -> Iterator[Row]:
    """Add up what waits by currency."""
    for row in waiting(account).group_by("currency").aggregate([("amount_signed", "sum")]).to_pylist():
        amount = row["amount_signed_sum"]
        yield {"connection": account.connection, "currency": row["currency"], "amount_signed": amount}


def rollforward(account: Account) -> Iterator[Row]:
    """Carry the balance from day to day; amounts are signed, so that a row adds up to its closing."""
    moved: Mapping[str, Days] = defaultdict(lambda: defaultdict(Counter))
    items = _counted(account)
    on = pc.coalesce(items["local_date"], items["paid_on"])
    _check(items, pc.is_null(on), "has no date and no payout that has one")
    _check(items, pc.is_null(items["amount_signed"]), "has no amount")
    dated = items.append_column("on", on)
    kinds = dated.group_by(["currency", "on", "resource_type"]).aggregate([("amount_signed", "sum"), ([], "count_all")])
    for row in kinds.to_pylist():
        day = moved[row["currency"]][row["on"]]
        day[_COLUMN_OF[row["resource_type"]]] += row["amount_signed_sum"]
        day["count"] += row["count_all"]
    paid = dated.filter(pc.is_valid(dated["paid_on"])).group_by(["currency", "paid_on"]).aggregate([([], "count_all")])
    for row in paid.to_pylist():
        moved[row["currency"]][row["paid_on"]]["count"] -= row["count_all"]
    for payout in account.payouts:
        if payout["status"] == _PAID:
            day = moved[payout["currency"]][_day(payout["payout_date"])]
            day["payouts"] -= payout["payout_amount"]
            day["fees"] -= payout["fee_total"]
            day["other"] += payout["difference"]
    for currency, days in moved.items():
        yield from _carried(account.connection, currency, days)


def _carried(connection: str, currency: str, days: Days) -> Iterator[Row]:
    opening = count = 0
    for on in sorted(days):
        moves = {name: days[on][name] for name in _MOVES}
        closing, count = opening + sum(moves.values()), count + days[on]["count"]
        row = {"connection": connection, "currency": currency, "date": on, "opening": opening, **moves}
        yield {**row, "closing": closing, "closing_items_count": count}
        opening = closing


def _counted(account: Account) -> pa.Table:
    """Count each item once for every payout alive, or once in all where only dead payouts carried it."""
    items = _with_payouts(account)
    is_dead = pc.is_in(items["status"], value_set=_DEAD)
    dead, alive = items.filter(is_dead), items.filter(pc.invert(is_dead))
    again, carried = _resources(dead), set(_resources(alive)) if dead.num_rows else set()
    first = {resource: place for place, resource in reversed(list(enumerate(again))) if resource not in carried}
    return pa.concat_tables([alive, dead.take(pa.array(sorted(first.values()), pa.int64()))])


def _with_payouts(account: Account) -> pa.Table:
    """Put beside each item how its payout stands, and when it was paid; an item no payout carries has neither."""
    known = pa.array([row["payout_id"] for row in account.payouts], pa.string())
    places = pc.index_in(account.items["payout_id"], value_set=known, skip_nulls=True)
    is_lost = pc.and_(pc.is_valid(account.items["payout_id"]), pc.is_null(places))
    _check(account.items, is_lost, "names a payout that the run does not hold")
    status = pa.array([row["status"] for row in account.payouts], pa.string())
    days = (_day(row["payout_date"]) if row["status"] == _PAID else None for row in account.payouts)
    paid_on = pa.array(list(days), pa.date32())
    return account.items.append_column("status", pc.take(status, places)).append_column(
        "paid_on", pc.take(paid_on, places)
    )


def _resources(items: pa.Table) -> list[str]:
    names: list[str] = pc.binary_join_element_wise(items["resource_type"], items["resource_id"], _BETWEEN).to_pylist()
    return names


def _by_day(items: pa.Table, name: str, answer: Callable[[date], Any], kind: pa.DataType) -> pa.ChunkedArray:
    """Ask once for each different day: a million items have a few hundred."""
    _check(items, pc.is_null(items[name]), f"waits and has no {name}")
    days = items[name].unique()
    answers = pa.array([answer(on) for on in days.to_pylist()], kind)
    return pc.take(answers, pc.index_in(items[name], value_set=days))


def _check(items: pa.Table, is_wrong: pa.ChunkedArray, complaint: str) -> None:
    if pc.any(is_wrong, min_count=0).as_py():
        raise ValueError(f"item {items['resource_id'].filter(is_wrong)[0].as_py()} {complaint}")


def _day(value: Any) -> date:
    return value if isinstance(value, date) else date.fromisoformat(value)
