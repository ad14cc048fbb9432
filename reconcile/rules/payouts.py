"""Which payout carries which item: first home, second payout, in transit, in transit again after a payout died."""

from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from reconcile.rules.columns import in_total_order, looked_up
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import MOMENT, TEXT, Finding, FrameError, Inputs, records
from reconcile.rules.outcomes import Code
from reconcile.rules.splits import own_amounts
from reconcile.rules.timing import bank_days, local_times, shift

PAYMENT_TYPES = ("payment_intent", "charge")
REFUND, REFUND_ADJUSTMENT, DISPUTE = "refund", "refund_adjustment", "dispute"
_TYPES = (*PAYMENT_TYPES, REFUND, REFUND_ADJUSTMENT)
_DEAD = ("canceled", "returned")
_REFUND_MOVES_MONEY = ("succeeded", "in_progress")
_NO_PAYOUT_YET = 1 << 40


def place_items(inputs: Inputs) -> DataFrame:
    """Give one row per item and payout, in total order, with its sign and its place.

    `place` is `home` (the payout that carries it, or none yet), `again` (in a second payout) or `dead` (in a payout
    that was canceled or returned). An item that only dead payouts list gets a further row without a payout.
    """
    rows = _ranked(_known_types(inputs.items), inputs.payouts)
    rows = pd.concat([rows, _free_again(rows)], ignore_index=True)
    rows = in_total_order(rows, ["rank", "payout_id", "resource_type", "resource_id"])
    rows["place"] = _places(rows)
    rows["signed"] = np.where(rows["resource_type"] == REFUND, -1, 1) * own_amounts(rows)
    local = local_times(rows["occurred_at"], inputs.calendar)
    rows["local_date"] = local.dt.normalize()
    rows["local_time"] = local.dt.strftime("%H:%M:%S")
    rows["bank_day"] = bank_days(rows["occurred_at"], inputs.calendar)
    return rows


def _known_types(items: DataFrame) -> DataFrame:
    unknown = set(items["resource_type"].dropna().unique()) - set(_TYPES)
    if unknown or bool(items["resource_type"].isna().any()):
        raise FrameError(f"resource_type {min(unknown, default='')!r} is not one of {', '.join(_TYPES)}")
    is_idle = items["payout_id"].isna() & (items["resource_type"] == REFUND)
    return items[~(is_idle & ~items["status"].isin(_REFUND_MOVES_MONEY))]


def _ranked(items: DataFrame, payouts: DataFrame) -> DataFrame:
    order = payouts.sort_values(["created_at", "payout_id"], ignore_index=True)
    ranks = pd.Series(np.arange(len(order)), index=order["payout_id"])
    names = ["resource_type", "resource_id"]
    rows = in_total_order(items, [*names, "payout_id"])
    # One row per payout and item; where a payout lists an item, a row without a payout says nothing more.
    rows = rows[~rows.duplicated([*names, "payout_id"]) & ~(rows["payout_id"].isna() & rows.duplicated(names))].copy()
    rows["rank"] = looked_up(rows["payout_id"], ranks).fillna(_NO_PAYOUT_YET).astype("int64")
    dead = payouts.loc[payouts["status"].isin(_DEAD)]
    freed = dead.set_index("payout_id")["ended_at"].fillna(dead.set_index("payout_id")["created_at"])
    rows["freed_at"] = looked_up(rows["payout_id"], freed).astype(MOMENT)
    rows["is_dead"] = rows["payout_id"].isin(dead["payout_id"])
    return rows


def _free_again(rows: DataFrame) -> DataFrame:
    dead = rows[rows["is_dead"]].sort_values(["freed_at", "rank"], kind="stable")
    free = dead.drop_duplicates(["resource_type", "resource_id"], keep="last")
    living = rows.loc[~rows["is_dead"], ["resource_type", "resource_id"]]
    held = pd.MultiIndex.from_frame(free[["resource_type", "resource_id"]]).isin(pd.MultiIndex.from_frame(living))
    again = free[~held].assign(rank=_NO_PAYOUT_YET, is_dead=False)
    again["payout_id"] = pd.Series(pd.NA, index=again.index, dtype=TEXT)
    return again


def _places(rows: DataFrame) -> Any:
    repeats = rows[~rows["is_dead"]].duplicated(["resource_type", "resource_id"])
    is_repeat = repeats.reindex(rows.index, fill_value=False)
    return np.where(rows["is_dead"], "dead", np.where(is_repeat, "again", "home"))


def misplaced(rows: DataFrame, inputs: Inputs) -> list[Finding]:
    """Find items in a second payout, and payments in none though two bank days have passed."""
    again = rows[rows["place"] == "again"]
    homes = rows[rows["place"] == "home"].rename(columns={"payout_id": "first"})
    both = again.merge(homes[["resource_type", "resource_id", "first"]], on=["resource_type", "resource_id"])
    found = [_in_two(row, row.first) for row in records(both)]
    return found + _in_none(rows, inputs)


def _in_two(row: Any, first: Any) -> Finding:
    about = About(
        subject=f"resource:{row.resource_id}@{row.payout_id}",
        currency=row.currency,
        payout_id=row.payout_id,
        resource_id=row.resource_id,
        evidence={"first_payout": first, "second_payout": row.payout_id, "amount": int(row.amount)},
    )
    return to_finding(Code.ITEM_IN_TWO_PAYOUTS, about, at_risk=int(row.amount))


def _in_none(rows: DataFrame, inputs: Inputs) -> list[Finding]:
    is_loose = (rows["place"] == "home") & rows["payout_id"].isna() & rows["resource_type"].isin(PAYMENT_TYPES)
    loose = rows[is_loose]
    since = bank_days(loose["freed_at"].fillna(loose["occurred_at"]), inputs.calendar)
    due = shift(since, inputs.rules.days_to_payout, inputs.calendar)
    late = loose.assign(since=since, due=due)[due <= pd.Timestamp(inputs.as_of)]
    return [_lost(row) for row in records(late)]


def _lost(row: Any) -> Finding:
    evidence = {
        "waiting_since": row.since.date().isoformat(),
        "expected_by": row.due.date().isoformat(),
        "freed_by_a_dead_payout": not pd.isna(row.freed_at),
    }
    about = About(f"resource:{row.resource_id}", row.currency, resource_id=row.resource_id, evidence=evidence)
    return to_finding(Code.ITEM_IN_NO_PAYOUT, about, at_risk=int(row.amount))
