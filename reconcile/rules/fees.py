"""Fees of items: from the report or the tariff, with their VAT, off the tariff, and who bears them of a split; pure."""

import json
from dataclasses import dataclass
from typing import Required, TypedDict

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from pandas import DataFrame, Series

from reconcile.rules.columns import Ints, Mask, find_places, join_keys, look_up
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import MONEY, REFUND, REFUND_ADJUSTMENT, TEXT, Finding, Inputs, Row, rows_of
from reconcile.rules.outcomes import Code, FeeSource
from reconcile.rules.terms import BPS, Tariff
from reconcile.rules.terms import REFUND as REFUND_PRICE

_SAFE = 1 << 61


@dataclass(frozen=True, slots=True)
class Fees:
    """Fees of each row (same order as the rows) and the source of each payout."""

    items: DataFrame
    sources: Series


def round_half_up(values: Ints, numerator: int, denominator: int, flat: int = 0) -> Ints:
    """Compute (values × numerator + flat) / denominator, rounded half up, in whole numbers of any size."""
    numbers = np.asarray(values)
    if len(numbers) and int(numbers.max()) * numerator + flat > _SAFE:
        numbers = numbers.astype(object)
    return ((2 * (numbers * numerator + flat) + denominator) // (2 * denominator)).astype(np.int64)


def price_items(rows: DataFrame, tariff: Tariff | None) -> Series:
    """Return the fee with VAT the tariff asks for each row; NA where it names no price."""
    fees = pd.Series(pd.NA, index=rows.index, dtype=MONEY)
    fees[rows["resource_type"] == REFUND_ADJUSTMENT] = 0
    if tariff is None:
        return fees
    names = rows["resource_subtype"].fillna(rows["resource_type"])
    names = names.where(rows["resource_type"] != REFUND, REFUND_PRICE)
    is_charged = rows["resource_type"] != REFUND_ADJUSTMENT
    bears = bear_fee(rows)
    for name in names[is_charged].dropna().unique():
        if name not in tariff.prices:
            continue
        share, flat, scale = tariff.terms(name)
        chosen = (is_charged & (names == name)).to_numpy()
        amounts = rows.loc[chosen, "amount"].to_numpy(dtype=np.int64)
        fees[chosen] = round_half_up(amounts, share, scale, flat) * bears[chosen]
    return fees


def choose_fees(rows: DataFrame, inputs: Inputs) -> Fees:
    """Choose the best source each payout allows, and give the fees of its items."""
    asked, reported = price_items(rows, inputs.tariff), _read_reported(rows, inputs.fees)
    payouts = inputs.payouts["payout_id"]
    places = find_places(rows["payout_id"], payouts)
    is_unasked, is_unreported = np.zeros(len(payouts) + 1, dtype=bool), np.ones(len(payouts) + 1, dtype=bool)
    is_unreported[places] = False
    is_unreported[places[reported.isna()]] = True
    is_unasked[places[asked.isna()]] = True
    reported_all, asked_all = ~is_unreported[:-1], ~is_unasked[:-1]
    has_report = payouts.isin(inputs.fees["payout_id"]).to_numpy()
    sources = np.where(has_report & reported_all, FeeSource.PROVIDER_CSV, FeeSource.RESIDUAL)
    if inputs.tariff is not None:
        sources = np.where((sources == FeeSource.RESIDUAL) & asked_all, FeeSource.TARIFF, sources)
    by_payout = pd.Series(sources, index=payouts.to_numpy(), dtype="str")
    source = look_up(rows["payout_id"], by_payout)
    is_reported = source == FeeSource.PROVIDER_CSV
    total = asked.where(source == FeeSource.TARIFF, reported.where(is_reported))
    columns = {"fee_total": total, **split_vat(total, inputs.tariff), "asked": asked, "is_reported": is_reported}
    return Fees(DataFrame(columns), by_payout)


def split_vat(total: Series, tariff: Tariff | None) -> dict[str, Series]:
    """Divide fees into net and VAT as the provider does, from the rounded figure; unknown without a VAT rate."""
    net = pd.Series(pd.NA, index=total.index, dtype=MONEY)
    if tariff is not None:
        known = total.notna() & (total >= 0).fillna(value=False)
        numerator, denominator = tariff.net_terms()
        net[known] = round_half_up(total[known].to_numpy(dtype=np.int64), numerator, denominator)
    return {"fee_net": net, "fee_vat": total - net}


def _read_reported(rows: DataFrame, fees: DataFrame) -> Series:
    """Return the fee of each row in the provider's report; adjustments carry none."""
    names = ["payout_id", "resource_id"]
    places = pc.index_in(join_keys(rows, names), value_set=join_keys(fees, names)).fill_null(-1).to_numpy()
    reported = pd.Series(fees["fee_total"].array.take(places, allow_fill=True), index=rows.index)
    reported[rows["resource_type"] == REFUND_ADJUSTMENT] = 0
    return reported


def find_off_tariff(rows: DataFrame, fees: Fees, inputs: Inputs) -> list[Finding]:
    """Find items whose fee in the provider's report is not what the tariff asks."""
    is_reported = fees.items["is_reported"].to_numpy(dtype=bool)
    taken, asked = fees.items["fee_total"], fees.items["asked"]
    is_off = ((taken - asked).abs() > inputs.rules.fee_tolerance).fillna(value=False).to_numpy(dtype=bool)
    off = rows_of(rows, is_reported & is_off)
    return [_to_off_tariff(row, int(taken[row.Index]), int(asked[row.Index])) for row in off]


def _to_off_tariff(row: Row, taken: int, asked: int) -> Finding:
    subject = f"resource:{row.resource_id}"
    about = About(
        subject=subject if row.place == "home" else f"{subject}@{row.payout_id}",
        currency=row.currency,
        payout_id=row.payout_id,
        resource_id=row.resource_id,
        evidence={"fee_taken": taken, "fee_agreed": asked, "difference": taken - asked},
    )
    return to_finding(Code.FEE_OUT_OF_BAND, about, at_risk=abs(taken - asked))


def format_fee_rates(sums: DataFrame) -> Series:
    """Write each fee as percent of the gross payments with two digits; NA where there were no payments."""
    has_gross = (sums["gross"] > 0).to_numpy()
    texts = np.full(len(sums), None, dtype=object)
    fee, gross = sums["fee"].to_numpy(), sums["gross"].to_numpy()
    for place in np.flatnonzero(has_gross):
        hundredths = int(round_half_up(np.array([abs(int(fee[place]))]), BPS, int(gross[place]))[0])
        sign = "-" if fee[place] < 0 and hundredths else ""
        texts[place] = f"{sign}{hundredths // 100}.{hundredths % 100:02d}"
    return pd.Series(texts, index=sums.index, dtype=TEXT)


def is_out_of_band(fee: int, gross: int, band_bps: int) -> bool:
    return int(fee) > 0 and int(fee) * BPS > band_bps * int(gross)


class Share(TypedDict, total=False):
    """One party's part of a split payment; `own` marks the merchant's."""

    amount: Required[int]
    charge_processing_fee: bool
    own: bool


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
