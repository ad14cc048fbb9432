"""Pure: what the provider owes at the end of each day, item by item, until a payout has succeeded."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from consumer.facts.bankdays import BankCalendar
from reports.spans import Row

_DEAD = {"canceled", "returned"}
_COLUMN_OF = {
    "payment_intent": "payments",
    "charge": "charges",
    "refund": "refunds",
    "refund_adjustment": "refund_adjustments",
    "dispute": "disputes",
}
_MOVES = ("payments", "charges", "refunds", "refund_adjustments", "disputes", "fees", "payouts", "other")

Key = tuple[str, str]


def waiting(lines: Iterable[Row], payouts: Iterable[Row]) -> Iterator[Row]:
    """Yield the first line of every item that no succeeded payout carries; one in a dead payout alone waits again."""
    status = {(row["connection"], row["payout_id"]): row["status"] for row in payouts}
    return (line for line in _counted(lines, status) if _status(line, status) != "succeeded")


def in_transit(items: Iterable[Row], calendars: Mapping[str, BankCalendar], *, as_of: date) -> Iterator[Row]:
    """Age what waits in bank days, with the day its payout should arrive."""
    for item in items:
        calendar = calendars[item["connection"]]
        yield {
            **item,
            "age_business_days": max(0, calendar.days_between(_day(item["local_date"]), as_of)),
            "expected_payout_day": calendar.expected_arrival(_day(item["bank_day"])),
        }


def rollforward(lines: Iterable[Row], payouts: Iterable[Row]) -> Iterator[Row]:
    """Carry the balance from day to day; amounts are signed, so that a row adds up to its closing."""
    payouts = list(payouts)
    moved: dict[Key, dict[date, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    paid = {(row["connection"], row["payout_id"]): row for row in payouts if row["status"] == "succeeded"}
    for line in _counted(lines, {(row["connection"], row["payout_id"]): row["status"] for row in payouts}):
        days = moved[line["connection"], line["currency"]]
        payout = paid.get((line["connection"], line["payout_id"]))
        paid_on = _day(payout["payout_date"]) if payout else None
        on = _day(line["local_date"]) if line["local_date"] else paid_on
        if on is None:
            raise ValueError(f"item {line['resource_id']} has no date and no payout that has one")
        days[on][_COLUMN_OF[line["resource_type"]]] += line["amount_signed"]
        days[on]["count"] += 1
        if paid_on:
            days[paid_on]["count"] -= 1
    for row in paid.values():
        day = moved[row["connection"], row["currency"]][_day(row["payout_date"])]
        day["payouts"] -= row["payout_amount"]
        day["fees"] -= row["fee_total"]
        day["other"] += row["difference"]
    for (connection, currency), days in moved.items():
        yield from _carried(connection, currency, days)


def _carried(connection: str, currency: str, days: Mapping[date, Counter[str]]) -> Iterator[Row]:
    opening = count = 0
    for on in sorted(days):
        moves = {name: days[on][name] for name in _MOVES}
        closing, count = opening + sum(moves.values()), count + days[on]["count"]
        row = {"connection": connection, "currency": currency, "date": on, "opening": opening, **moves}
        yield {**row, "closing": closing, "closing_items_count": count}
        opening = closing


def _counted(lines: Iterable[Row], status: Mapping[Key, str]) -> Iterator[Row]:
    """Count each item once for every payout alive, or once in all where only dead payouts carried it."""
    first = [line for line in lines if line["line"] == 1]
    alive = {_resource(line) for line in first if _status(line, status) not in _DEAD}
    for line in first:
        if _status(line, status) not in _DEAD:
            yield line
        elif _resource(line) not in alive:
            alive.add(_resource(line))
            yield line


def _resource(line: Row) -> tuple[str, str, str]:
    return line["connection"], line["resource_type"], line["resource_id"]


def _status(line: Row, status: Mapping[Key, str]) -> str | None:
    return status[line["connection"], line["payout_id"]] if line["payout_id"] else None


def _day(value: Any) -> date:
    return value if isinstance(value, date) else date.fromisoformat(value)
