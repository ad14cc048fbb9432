"""Fees of payout items: from the provider's own report, from the tariff, or what is left of the payout."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from pandas import DataFrame

from reconcile.rules.columns import joined_keys, looked_up
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import MONEY, Finding, Inputs, records
from reconcile.rules.outcomes import Code, FeeSource
from reconcile.rules.payouts import REFUND, REFUND_ADJUSTMENT
from reconcile.rules.splits import pays_fee
from reconcile.rules.tariff import REFUND as REFUND_PRICE
from reconcile.rules.tariff import Tariff

_SAFE = 1 << 61


@dataclass(frozen=True, slots=True)
class Fees:
    """Fees of each row (same order as the rows) and the source of each payout."""

    items: DataFrame
    sources: "pd.Series[Any]"


def half_up(values: Any, numerator: int, denominator: int, flat: int = 0) -> Any:
    """Compute (values × numerator + flat) / denominator, rounded half up, in whole numbers of any size."""
    numbers = np.asarray(values)
    if len(numbers) and int(numbers.max()) * numerator + flat > _SAFE:
        numbers = numbers.astype(object)
    return ((2 * (numbers * numerator + flat) + denominator) // (2 * denominator)).astype(np.int64)


def tariff_fees(rows: DataFrame, tariff: Tariff | None) -> Any:
    """Give the fee with VAT the tariff asks for each row; NA where it names no price."""
    fees = pd.Series(pd.NA, index=rows.index, dtype=MONEY)
    fees[rows["resource_type"] == REFUND_ADJUSTMENT] = 0
    if tariff is None:
        return fees
    names = rows["resource_subtype"].fillna(rows["resource_type"])
    names = names.where(rows["resource_type"] != REFUND, REFUND_PRICE)
    is_charged = rows["resource_type"] != REFUND_ADJUSTMENT
    bears = pays_fee(rows)
    for name in names[is_charged].dropna().unique():
        if name not in tariff.prices:
            continue
        share, flat, scale = tariff.terms(name)
        chosen = (is_charged & (names == name)).to_numpy()
        amounts = rows.loc[chosen, "amount"].to_numpy(dtype=np.int64)
        fees[chosen] = half_up(amounts, share, scale, flat) * bears[chosen]
    return fees


def item_fees(rows: DataFrame, inputs: Inputs) -> Fees:
    """Choose the best source each payout allows, and give the fees of its items."""
    asked, told = tariff_fees(rows, inputs.tariff), _told(rows, inputs.fees)
    payouts = inputs.payouts["payout_id"]
    told_all = told.notna().groupby(rows["payout_id"]).all().reindex(payouts, fill_value=False)
    asked_all = asked.notna().groupby(rows["payout_id"]).all().reindex(payouts, fill_value=True)
    has_report = payouts.isin(inputs.fees["payout_id"]).to_numpy()
    sources = np.where(has_report & told_all, FeeSource.PROVIDER_CSV, FeeSource.RESIDUAL)
    if inputs.tariff is not None:
        sources = np.where((sources == FeeSource.RESIDUAL) & asked_all, FeeSource.TARIFF, sources)
    by_payout = pd.Series(sources, index=payouts.to_numpy(), dtype="str")
    source = looked_up(rows["payout_id"], by_payout)
    is_told = source == FeeSource.PROVIDER_CSV
    total = asked.where(source == FeeSource.TARIFF, told.where(is_told))
    columns = {"fee_total": total, **parts(total, inputs.tariff), "asked": asked, "is_told": is_told}
    return Fees(DataFrame(columns), by_payout)


def parts(total: Any, tariff: Tariff | None) -> dict[str, Any]:
    """Divide fees into net and VAT as the provider does, from the rounded figure; unknown without a VAT rate."""
    net = pd.Series(pd.NA, index=total.index, dtype=MONEY)
    if tariff is not None:
        known = total.notna() & (total >= 0).fillna(value=False)
        numerator, denominator = tariff.net_terms()
        net[known] = half_up(total[known].to_numpy(dtype=np.int64), numerator, denominator)
    return {"fee_net": net, "fee_vat": total - net}


def _told(rows: DataFrame, fees: DataFrame) -> Any:
    """Give the fee the provider's report tells for each row; adjustments carry none."""
    names = ["payout_id", "resource_id"]
    places = pc.index_in(joined_keys(rows, names), value_set=joined_keys(fees, names)).fill_null(-1).to_numpy()
    told = pd.Series(fees["fee_total"].array.take(places, allow_fill=True), index=rows.index)
    told[rows["resource_type"] == REFUND_ADJUSTMENT] = 0
    return told


def items_off_tariff(rows: DataFrame, fees: Fees, inputs: Inputs) -> list[Finding]:
    """Find items whose fee in the provider's report is not what the tariff asks."""
    is_told = fees.items["is_told"].to_numpy(dtype=bool)
    taken, asked = fees.items["fee_total"], fees.items["asked"]
    is_off = ((taken - asked).abs() > inputs.rules.fee_tolerance).fillna(value=False).to_numpy(dtype=bool)
    off = rows[is_told & is_off]
    return [_off(row, int(taken[row.Index]), int(asked[row.Index])) for row in records(off)]


def _off(row: Any, taken: int, asked: int) -> Finding:
    subject = f"resource:{row.resource_id}"
    about = About(
        subject=subject if row.place == "home" else f"{subject}@{row.payout_id}",
        currency=row.currency,
        payout_id=row.payout_id,
        resource_id=row.resource_id,
        evidence={"fee_taken": taken, "fee_agreed": asked, "difference": taken - asked},
    )
    return to_finding(Code.FEE_OUT_OF_BAND, about, at_risk=abs(taken - asked))
