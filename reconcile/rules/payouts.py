"""Which payout carries which item, and how much of a split payment is the merchant's own."""

import json
from typing import Required, TypedDict

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

from reconcile.rules.columns import Cells, Ints, Mask, decode, look_up, sort_rows, to_codes
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import MOMENT, TEXT, Finding, FrameError, Inputs, Row, rows_of
from reconcile.rules.outcomes import DEAD, Code
from reconcile.rules.timing import format_clock_times, shift_days, to_bank_days, to_local_times

PAYMENT_TYPES = ("payment_intent", "charge")
REFUND, REFUND_ADJUSTMENT, DISPUTE = "refund", "refund_adjustment", "dispute"
SAID = ("metadata", "texts")
_TYPES = (*PAYMENT_TYPES, REFUND, REFUND_ADJUSTMENT)
_REFUND_MOVES_MONEY = ("succeeded", "in_progress")
NO_PAYOUT_YET = 1 << 40


class Share(TypedDict, total=False):
    """One party's part of a split payment; `own` marks the merchant's."""

    amount: Required[int]
    charge_processing_fee: bool
    own: bool


def place_items(inputs: Inputs) -> DataFrame:
    """Return one row per item and payout, in total order, with its sign and its place.

    `place` is `home` (the payout that carries it, or none yet), `again` (in a second payout) or `dead` (in a payout
    that was canceled or returned). An item that only dead payouts list gets a further row without a payout.
    What payments say stays where it is, long and seldom asked for: `source` is its place among the inputs' items.
    """
    items = inputs.items.drop(columns=list(SAID)).assign(source=np.arange(len(inputs.items)))
    rows = _rank(_check_types(items), inputs.payouts)
    free = _list_freed(rows)
    rows = rows if free.empty else pd.concat([rows, free], ignore_index=True)
    rows = sort_rows(rows, ["rank", "payout_id", "resource_type", "resource_id"])
    rows["place"] = _name_places(rows)
    rows["signed"] = np.where(rows["resource_type"] == REFUND, -1, 1) * find_own_amounts(rows)
    local = to_local_times(rows["occurred_at"], inputs.calendar)
    rows["local_date"] = local.dt.normalize()
    rows["local_time"] = format_clock_times(local)
    rows["bank_day"] = to_bank_days(rows["occurred_at"], inputs.calendar)
    return rows


def _check_types(items: DataFrame) -> DataFrame:
    unknown = set(items["resource_type"].dropna().unique()) - set(_TYPES)
    if unknown or bool(items["resource_type"].isna().any()):
        raise FrameError(f"resource_type {min(unknown, default='')!r} is not one of {', '.join(_TYPES)}")
    is_idle = items["payout_id"].isna() & (items["resource_type"] == REFUND)
    return _drop(items, is_idle & ~items["status"].isin(_REFUND_MOVES_MONEY))


def _rank(items: DataFrame, payouts: DataFrame) -> DataFrame:
    order = payouts.sort_values(["created_at", "payout_id"], ignore_index=True)
    ranks = pd.Series(np.arange(len(order)), index=order["payout_id"])
    rows = items.assign(thing=_number_things(items))
    # One row per payout and item; where a payout lists an item, a row without a payout adds nothing.
    is_loose = rows["payout_id"].isna()
    listed = DataFrame({"thing": rows["thing"], "payout": to_codes(rows["payout_id"])})
    rows = _drop(rows, listed.duplicated() | (is_loose & rows["thing"].isin(rows["thing"][~is_loose])))
    rows["rank"] = look_up(rows["payout_id"], ranks).fillna(NO_PAYOUT_YET).astype("int64")
    dead = payouts.loc[payouts["status"].isin(DEAD)]
    freed = dead.set_index("payout_id")["ended_at"].fillna(dead.set_index("payout_id")["created_at"])
    rows["freed_at"] = look_up(rows["payout_id"], freed).astype(MOMENT)
    rows["is_dead"] = rows["payout_id"].isin(dead["payout_id"])
    return rows


def _number_things(items: DataFrame) -> Ints:
    """Number the items: a kind and an id, in whatever payout."""
    kinds = to_codes(items["resource_type"])
    return to_codes(items["resource_id"]) * (int(kinds.max(initial=0)) + 1) + kinds


def _drop(rows: DataFrame, mask: Series) -> DataFrame:
    return rows[~mask].copy() if mask.any() else rows


def _list_freed(rows: DataFrame) -> DataFrame:
    dead = rows[rows["is_dead"]].sort_values(["freed_at", "rank"], kind="stable")
    free = dead.drop_duplicates("thing", keep="last")
    held = free["thing"].isin(rows["thing"][~rows["is_dead"]])
    again = free[~held].assign(rank=NO_PAYOUT_YET, is_dead=False)
    again["payout_id"] = pd.Series(pd.NA, index=again.index, dtype=TEXT)
    return again


def _name_places(rows: DataFrame) -> Cells:
    is_dead = rows["is_dead"].to_numpy()
    is_repeat = np.zeros(len(rows), dtype=bool)
    is_repeat[~is_dead] = rows["thing"][~is_dead].duplicated()
    return decode(np.where(is_dead, 2, is_repeat), ("home", "again", "dead"))


def find_misplaced(rows: DataFrame, inputs: Inputs) -> list[Finding]:
    """Find items in a second payout or in one of another currency, and payments in none after two bank days."""
    again = rows[rows["place"] == "again"]
    homes = rows.loc[(rows["place"] == "home") & rows["thing"].isin(again["thing"]), ["thing", "payout_id"]]
    both = again.merge(homes.rename(columns={"payout_id": "first"}), on="thing")
    found = [_to_second_payout(row, row.first) for row in rows_of(both)]
    return found + _find_foreign(rows, inputs) + _find_lost(rows, inputs)


def _to_second_payout(row: Row, first: str) -> Finding:
    about = About(
        subject=f"resource:{row.resource_id}@{row.payout_id}",
        currency=row.currency,
        payout_id=row.payout_id,
        resource_id=row.resource_id,
        evidence={"first_payout": first, "second_payout": row.payout_id, "amount": int(row.amount)},
    )
    return to_finding(Code.ITEM_IN_TWO_PAYOUTS, about, at_risk=int(row.amount))


def _find_foreign(rows: DataFrame, inputs: Inputs) -> list[Finding]:
    """Find what is in a payout and no part of its sum, since amounts of two currencies are never added."""
    if len({*rows["currency"].unique(), *inputs.payouts["currency"].unique()}) == 1:
        return []
    payouts = inputs.payouts[["payout_id", "currency"]].rename(columns={"currency": "other"})
    carried = rows[rows["place"] != "dead"].merge(payouts, on="payout_id")
    foreign = carried[carried["currency"] != carried["other"]].drop_duplicates(["payout_id", "resource_id"])
    return [_to_foreign(row) for row in rows_of(foreign)]


def _to_foreign(row: Row) -> Finding:
    about = About(
        subject=f"resource:{row.resource_id}@{row.payout_id}",
        currency=row.currency,
        payout_id=row.payout_id,
        resource_id=row.resource_id,
        evidence={"amount": int(row.amount), "item_currency": row.currency, "payout_currency": row.other},
    )
    return to_finding(Code.CURRENCY_DIFF, about, at_risk=int(row.amount))


def _find_lost(rows: DataFrame, inputs: Inputs) -> list[Finding]:
    is_loose = (rows["place"] == "home") & rows["payout_id"].isna() & rows["resource_type"].isin(PAYMENT_TYPES)
    loose = rows[is_loose]
    if loose.empty:
        return []
    since = to_bank_days(loose["freed_at"].fillna(loose["occurred_at"]), inputs.calendar)
    due = shift_days(since, inputs.rules.days_to_payout, inputs.calendar)
    late = loose.assign(since=since, due=due)[due <= pd.Timestamp(inputs.as_of)]
    return [_to_lost(row) for row in rows_of(late)]


def _to_lost(row: Row) -> Finding:
    evidence = {
        "waiting_since": row.since.date().isoformat(),
        "expected_by": row.due.date().isoformat(),
        "freed_by_a_dead_payout": not pd.isna(row.freed_at),
    }
    about = About(f"resource:{row.resource_id}", row.currency, resource_id=row.resource_id, evidence=evidence)
    return to_finding(Code.ITEM_IN_NO_PAYOUT, about, at_risk=int(row.amount))


def find_own_amounts(rows: DataFrame) -> Ints:
    """Return what reaches the merchant's own payout: its share of a split payment, else the whole amount."""
    amounts = rows["amount"].to_numpy(dtype="int64").copy()
    for place, shares in _read_shares(rows):
        own = [int(share["amount"]) for share in shares if share.get("own")]
        if own:
            amounts[place] = sum(own)
    return amounts


def bear_fee(rows: DataFrame) -> Mask:
    """Return which items bear the processing fee: all but splits where another party pays it."""
    bears = np.ones(len(rows), dtype=bool)
    for place, shares in _read_shares(rows):
        if any(share.get("own") for share in shares):
            bears[place] = any(share.get("own") and share.get("charge_processing_fee") for share in shares)
    return bears


def find_split_mismatches(payments: DataFrame) -> list[Finding]:
    found = []
    for place, shares in _read_shares(payments):
        row = payments.iloc[place]
        total = sum(int(share["amount"]) for share in shares)
        payers = sum(bool(share.get("charge_processing_fee")) for share in shares)
        difference = int(row["amount"]) - total
        if difference == 0 and payers == 1:
            continue
        about = About(
            subject=f"resource:{row['resource_id']}",
            currency=str(row["currency"]),
            resource_id=str(row["resource_id"]),
            evidence={"payment": int(row["amount"]), "shares": total, "difference": difference, "fee_payers": payers},
        )
        found.append(to_finding(Code.SPLIT_MISMATCH, about, at_risk=abs(difference)))
    return found


def _read_shares(rows: DataFrame) -> list[tuple[int, list[Share]]]:
    places = np.flatnonzero(rows["split"].notna().to_numpy())
    return [(place, json.loads(text)) for place, text in zip(places.tolist(), rows["split"].array[places], strict=True)]
