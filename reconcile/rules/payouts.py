"""Payouts: which carries which item, what its items add up to, and what is left over."""

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from pandas import DataFrame, Series

from reconcile.rules.columns import (
    Cells,
    Indices,
    Ints,
    add_by_place,
    decode,
    find_places,
    format_clock_times,
    join_keys,
    shift_days,
    sort_places,
    sort_rows,
    to_bank_days,
    to_codes,
    to_local_times,
    to_mask,
)
from reconcile.rules.fees import Fees, find_own_amounts, is_out_of_band, split_vat
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import (
    MONEY,
    PAYMENT_TYPES,
    REFUND,
    REFUND_ADJUSTMENT,
    SAID,
    TEXT,
    Evidence,
    Finding,
    FrameError,
    Inputs,
    Row,
    rows_of,
)
from reconcile.rules.outcomes import DEAD, Code, FeeSource
from reconcile.rules.reversals import DisputeLine, place_disputes
from reconcile.rules.streams import ITEMS_STREAM
from reconcile.rules.terms import BPS

_TYPES = (*PAYMENT_TYPES, REFUND, REFUND_ADJUSTMENT)
_REFUND_MOVES_MONEY = ("succeeded", "in_progress")
NO_PAYOUT_YET = 1 << 40


def place_items(inputs: Inputs) -> DataFrame:
    """Return one row per item and payout, in total order, with its sign and its place.

    `place` is `home` (the payout that carries it, or none yet), `again` (in a second payout) or `dead` (in a payout
    that was canceled or returned). An item that only dead payouts list gets a further row without a payout.
    What payments say stays where it is, long and seldom asked for: `source` is its place among the inputs' items.
    """
    names = [name for name in inputs.items.columns if name not in SAID]
    items = inputs.items[names].assign(source=np.arange(len(inputs.items)))
    rows = _rank(_check_types(items), inputs.payouts)
    if rows["is_dead"].any():
        rows = pd.concat([rows, _list_freed(rows)], ignore_index=True)
    rows = sort_rows(rows, ["rank", "payout_id", "resource_type", "resource_id"])
    local = to_local_times(rows["occurred_at"], inputs.calendar)
    return rows.assign(
        place=_name_places(rows),
        signed=np.where(rows["resource_type"] == REFUND, -1, 1) * find_own_amounts(rows),
        local_date=local.dt.normalize(),
        local_time=format_clock_times(local),
        bank_day=to_bank_days(rows["occurred_at"], inputs.calendar),
    )


def _check_types(items: DataFrame) -> DataFrame:
    unknown = set(items["resource_type"].dropna().unique()) - set(_TYPES)
    if unknown or bool(items["resource_type"].isna().any()):
        raise FrameError(f"resource_type {min(unknown, default='')!r} is not one of {', '.join(_TYPES)}")
    is_idle = items["payout_id"].isna() & (items["resource_type"] == REFUND)
    return _drop(items, is_idle & ~items["status"].isin(_REFUND_MOVES_MONEY))


def _rank(items: DataFrame, payouts: DataFrame) -> DataFrame:
    ranks = np.append(rank_payouts(payouts), NO_PAYOUT_YET)
    rows = items.assign(thing=_number_things(items))
    # One row per payout and item; a row without a payout is dropped where a payout lists the item.
    is_loose = rows["payout_id"].isna()
    listed = DataFrame({"thing": rows["thing"], "payout": to_codes(rows["payout_id"])})
    rows = _drop(rows, listed.duplicated() | (is_loose & rows["thing"].isin(rows["thing"][~is_loose])))
    places = find_places(rows["payout_id"], payouts["payout_id"])
    is_dead = payouts["status"].isin(DEAD)
    freed = payouts["ended_at"].fillna(payouts["created_at"]).where(is_dead)
    return rows.assign(
        rank=ranks[places],
        freed_at=freed.array.take(places, allow_fill=True),
        is_dead=np.append(is_dead, [False])[places],
    )


def rank_payouts(payouts: DataFrame) -> Ints:
    """Return the place of each payout in the order they were made."""
    ranks = np.empty(len(payouts), dtype=np.int64)
    ranks[sort_places(payouts, ["created_at", "payout_id"])] = np.arange(len(payouts))
    return ranks


def _number_things(items: DataFrame) -> Ints:
    """Number the items by kind and id; the same item in two payouts has one number."""
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


def find_carried_again(rows: DataFrame) -> DataFrame:
    """Return the items of dead payouts that a living one carries, each with that payout as `again_in`."""
    dead = rows[rows["place"] == "dead"]
    living = rows[rows["thing"].isin(dead["thing"]) & (rows["place"] == "home") & rows["payout_id"].notna()]
    again = living[["thing", "payout_id"]].rename(columns={"payout_id": "again_in"})
    return dead[["thing", "payout_id"]].merge(again, on="thing").set_axis(["thing", "payout_id", "again_in"], axis=1)


def find_misplaced(rows: DataFrame, inputs: Inputs) -> list[Finding]:
    """Find items in a second payout or in one of another currency, and payments in none after two bank days."""
    return _find_in_two(rows) + _find_foreign(rows, inputs) + _find_lost(rows, inputs)


def _find_in_two(rows: DataFrame) -> list[Finding]:
    is_again = rows["place"] == "again"
    if not is_again.any():
        return []
    again = rows[is_again]
    homes = rows.loc[(rows["place"] == "home") & rows["thing"].isin(again["thing"]), ["thing", "payout_id"]]
    both = again.merge(homes.rename(columns={"payout_id": "first"}), on="thing")
    return [_to_second_payout(row, row.first) for row in rows_of(both)]


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
    if not is_loose.any():
        return []
    loose = rows[is_loose]
    since = to_bank_days(loose["freed_at"].fillna(loose["occurred_at"]), inputs.calendar)
    due = shift_days(since, inputs.rules.days_to_payout, inputs.calendar)
    is_late = due <= pd.Timestamp(inputs.as_of)
    return [_to_lost(row) for row in rows_of(loose.assign(since=since, due=due), is_late)]


def _to_lost(row: Row) -> Finding:
    evidence = {
        "waiting_since": row.since.date().isoformat(),
        "expected_by": row.due.date().isoformat(),
        "freed_by_a_dead_payout": not pd.isna(row.freed_at),
    }
    about = About(f"resource:{row.resource_id}", row.currency, resource_id=row.resource_id, evidence=evidence)
    return to_finding(Code.ITEM_IN_NO_PAYOUT, about, at_risk=int(row.amount))


_NAMES = {
    "payment_intent": "payments",
    "charge": "charges",
    "refund": "refunds",
    "refund_adjustment": "adjustments",
}


def add_up(rows: DataFrame, fees: Fees, inputs: Inputs) -> tuple[DataFrame, list[DisputeLine]]:
    """Return one row of sums per payout, indexed by its id, and the disputes that are lines of a payout."""
    places = find_places(rows["payout_id"], inputs.payouts["payout_id"])
    sums = _sum_items(rows, places, inputs.payouts)
    signed = sums["payments"] + sums["charges"] - sums["refunds"] + sums["adjustments"]
    sums["fee_source"] = fees.sources
    sums["amount"] = inputs.payouts["amount"].to_numpy(dtype=np.int64)
    known = Series(add_by_place(places, fees.items["fee_total"], len(sums))[0], index=sums.index)
    is_residual = sums["fee_source"] == FeeSource.RESIDUAL
    sums["fee"] = known.where(~is_residual, signed - sums["amount"])
    sums["over"] = signed - sums["fee"] - sums["amount"]
    placed = place_disputes(sums, inputs)
    lost: dict[str | None, int] = dict.fromkeys(sums.index, 0)
    for dispute in placed:
        lost[dispute.payout_id] += dispute.amount
    sums["disputes"] = pd.Series(lost, dtype="int64").reindex(sums.index).fillna(0).astype("int64")
    sums["fee"] = sums["fee"] - sums["disputes"].where(is_residual, 0)
    sums["computed"] = signed - sums["disputes"] - sums["fee"]
    sums["difference"] = sums["amount"] - sums["computed"]
    return sums.assign(**_split_fees(places, fees, sums, inputs)), placed


def _sum_items(rows: DataFrame, places: Indices, payouts: DataFrame) -> DataFrame:
    currencies = payouts["currency"].array.take(places, allow_fill=True)
    is_own = (rows["currency"].array == currencies) & (places >= 0)
    kinds, signed = rows["resource_type"].to_numpy(), rows["signed"].to_numpy(dtype=np.int64)
    columns: dict[str, Ints] = {}
    for kind, name in _NAMES.items():
        chosen = is_own & (kinds == kind)
        columns[name] = np.zeros(len(payouts), dtype=np.int64)
        np.add.at(columns[name], places[chosen], signed[chosen])
        np.abs(columns[name], out=columns[name])
        columns[f"{name}_count"] = np.bincount(places[chosen], minlength=len(payouts))
    sums = DataFrame(columns, index=pd.Index(payouts["payout_id"]))
    sums["gross"] = sums["payments"] + sums["charges"]
    return sums


def _split_fees(places: Indices, fees: Fees, sums: DataFrame, inputs: Inputs) -> dict[str, Series]:
    """Add up the items' net and VAT; where only the payout's fee is known, divide that."""
    is_residual, has_fee = sums["fee_source"] == FeeSource.RESIDUAL, sums["fee"] != 0
    split = split_vat(sums["fee"].astype(MONEY), inputs.tariff)
    for name, whole in split.items():
        added, counts = add_by_place(places, fees.items[name], len(sums))
        by_item = Series(added, index=sums.index, dtype=MONEY).where(counts > 0)
        chosen = by_item.where(~is_residual, whole)
        split[name] = chosen.where(chosen.notna() | has_fee, 0)
    return split


def find_identity_breaks(sums: DataFrame, rows: DataFrame, inputs: Inputs) -> list[Finding]:
    """Name every payout that does not add up, and every fee outside the band; unread items are no proof."""
    reported_only = _find_only_reported(rows, inputs)
    known = sums.assign(currency=inputs.payouts["currency"].array)
    known = known[~known.index.isin(_find_without_items(rows, inputs))]
    found = []
    for row in rows_of(known):
        about = _to_about(row)
        if row.Index in reported_only:
            about.evidence["only_in_the_report"] = reported_only[row.Index]
        if row.difference != 0:
            found.append(to_finding(Code.PAYOUT_IDENTITY, about, at_risk=abs(int(row.difference))))
        elif row.fee < 0:
            found.append(to_finding(Code.PAYOUT_IDENTITY, about, at_risk=-int(row.fee)))
        if row.fee_source != FeeSource.TARIFF and is_out_of_band(row.fee, row.gross, inputs.rules.fee_band_bps):
            allowed = inputs.rules.fee_band_bps * int(row.gross) // BPS
            found.append(to_finding(Code.FEE_OUT_OF_BAND, about, at_risk=int(row.fee) - allowed))
    return found


def _find_without_items(rows: DataFrame, inputs: Inputs) -> set[str]:
    """Return the payouts whose items are not all here: named by a gap, or without any while the lists have one."""
    gaps = inputs.gaps[inputs.gaps["stream"] == ITEMS_STREAM]
    named = set(gaps["payout_id"].dropna())
    return named | (set(inputs.payouts["payout_id"]) - set(rows["payout_id"].unique())) if len(gaps) else named


def _find_only_reported(rows: DataFrame, inputs: Inputs) -> dict[str, list[str]]:
    """Return the items the provider's report has and its list of the payout's items lacks."""
    names = ["payout_id", "resource_id"]
    if inputs.fees.empty:
        return {}
    is_listed = pc.is_in(join_keys(inputs.fees, names), value_set=join_keys(rows, names))
    missing = inputs.fees[~to_mask(is_listed)]
    return {str(key): sorted(group.tolist()) for key, group in missing.groupby("payout_id")["resource_id"]}


def _to_about(row: Row) -> About:
    names = ("payments", "charges", "refunds", "adjustments", "disputes", "fee", "computed", "amount", "difference")
    evidence: Evidence = {name: int(getattr(row, name)) for name in names} | {"fee_source": str(row.fee_source)}
    return About(f"payout:{row.Index}", row.currency, payout_id=row.Index, evidence=evidence)
