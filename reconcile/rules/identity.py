"""The identity of every payout: the fees of its items, what they all add up to, and what is left over."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from pandas import DataFrame, Series

from reconcile.rules.columns import Ints, join_keys, look_up, to_mask
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import MONEY, TEXT, Evidence, Finding, Inputs, Row, rows_of
from reconcile.rules.outcomes import Code, FeeSource
from reconcile.rules.payouts import REFUND, REFUND_ADJUSTMENT, bear_fee
from reconcile.rules.reversals import DisputeLine, place_disputes
from reconcile.rules.streams import ITEMS_STREAM
from reconcile.rules.terms import REFUND as REFUND_PRICE
from reconcile.rules.terms import Tariff

_SAFE = 1 << 61
_BPS = 10_000
_NAMES = {
    "payment_intent": "payments",
    "charge": "charges",
    "refund": "refunds",
    "refund_adjustment": "adjustments",
}


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
    reported_all = reported.notna().groupby(rows["payout_id"]).all().reindex(payouts, fill_value=False)
    asked_all = asked.notna().groupby(rows["payout_id"]).all().reindex(payouts, fill_value=True)
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
    off = rows[is_reported & is_off]
    return [_to_off_tariff(row, int(taken[row.Index]), int(asked[row.Index])) for row in rows_of(off)]


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


def add_up(rows: DataFrame, fees: Fees, inputs: Inputs) -> tuple[DataFrame, list[DisputeLine]]:
    """Return one row of sums per payout, indexed by its id, and the disputes that are lines of a payout."""
    payouts = inputs.payouts.set_index("payout_id", drop=False)
    sums = _sum_items(rows, payouts)
    signed = sums["payments"] + sums["charges"] - sums["refunds"] + sums["adjustments"]
    sums["fee_source"] = fees.sources
    sums["amount"] = payouts["amount"].astype("int64")
    known = fees.items["fee_total"].groupby(rows["payout_id"]).sum(min_count=0).reindex(sums.index).fillna(0)
    is_residual = sums["fee_source"] == FeeSource.RESIDUAL
    sums["fee"] = known.astype("int64").where(~is_residual, signed - sums["amount"])
    sums["over"] = signed - sums["fee"] - sums["amount"]
    placed = place_disputes(sums, inputs)
    lost: dict[str | None, int] = dict.fromkeys(sums.index, 0)
    for dispute in placed:
        lost[dispute.payout_id] += dispute.amount
    sums["disputes"] = pd.Series(lost, dtype="int64").reindex(sums.index).fillna(0).astype("int64")
    sums["fee"] = sums["fee"] - sums["disputes"].where(is_residual, 0)
    sums["computed"] = signed - sums["disputes"] - sums["fee"]
    sums["difference"] = sums["amount"] - sums["computed"]
    return sums.join(_split_fees(rows, fees, sums, inputs)), placed


def _sum_items(rows: DataFrame, payouts: DataFrame) -> DataFrame:
    places = payouts.index.get_indexer(pd.Index(rows["payout_id"]))
    is_own = (rows["currency"] == look_up(rows["payout_id"], payouts["currency"])).to_numpy(dtype=bool) & (places >= 0)
    kinds, signed = rows["resource_type"].to_numpy(), rows["signed"].to_numpy(dtype=np.int64)
    columns: dict[str, Ints] = {}
    for kind, name in _NAMES.items():
        chosen = is_own & (kinds == kind)
        columns[name] = np.zeros(len(payouts), dtype=np.int64)
        np.add.at(columns[name], places[chosen], signed[chosen])
        np.abs(columns[name], out=columns[name])
        columns[f"{name}_count"] = np.bincount(places[chosen], minlength=len(payouts))
    sums = DataFrame(columns, index=payouts.index)
    sums["gross"] = sums["payments"] + sums["charges"]
    return sums


def _split_fees(rows: DataFrame, fees: Fees, sums: DataFrame, inputs: Inputs) -> DataFrame:
    """Add up the items' net and VAT; where only the payout's fee is known, divide that."""
    by_item = fees.items[["fee_net", "fee_vat"]].groupby(rows["payout_id"]).sum(min_count=1).reindex(sums.index)
    whole = DataFrame(split_vat(sums["fee"].astype(MONEY), inputs.tariff))
    is_residual = sums["fee_source"] == FeeSource.RESIDUAL
    chosen = by_item.where(~is_residual, whole)
    return chosen.where(chosen.notna() | (sums["fee"] != 0).to_numpy()[:, None], 0).astype(MONEY)


def format_fee_rates(sums: DataFrame) -> Series:
    """Write each fee as percent of the gross payments with two digits; NA where there were no payments."""
    has_gross = (sums["gross"] > 0).to_numpy()
    texts = np.full(len(sums), None, dtype=object)
    fee, gross = sums["fee"].to_numpy(), sums["gross"].to_numpy()
    for place in np.flatnonzero(has_gross):
        hundredths = int(round_half_up(np.array([abs(int(fee[place]))]), _BPS, int(gross[place]))[0])
        sign = "-" if fee[place] < 0 and hundredths else ""
        texts[place] = f"{sign}{hundredths // 100}.{hundredths % 100:02d}"
    return pd.Series(texts, index=sums.index, dtype=TEXT)


def find_identity_breaks(sums: DataFrame, rows: DataFrame, inputs: Inputs) -> list[Finding]:
    """Name every payout that does not add up, and every fee outside the band; unread items are no proof."""
    reported_only = _find_only_reported(rows, inputs)
    known = sums[~sums.index.isin(_find_without_items(rows, inputs))]
    found = []
    for row in rows_of(known.join(inputs.payouts.set_index("payout_id")[["currency"]])):
        about = _to_about(row)
        if row.Index in reported_only:
            about.evidence["only_in_the_report"] = reported_only[row.Index]
        if row.difference != 0:
            found.append(to_finding(Code.PAYOUT_IDENTITY, about, at_risk=abs(int(row.difference))))
        elif row.fee < 0:
            found.append(to_finding(Code.PAYOUT_IDENTITY, about, at_risk=-int(row.fee)))
        if row.fee_source != FeeSource.TARIFF and is_out_of_band(row.fee, row.gross, inputs.rules.fee_band_bps):
            allowed = inputs.rules.fee_band_bps * int(row.gross) // _BPS
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


def is_out_of_band(fee: int, gross: int, band_bps: int) -> bool:
    return int(fee) > 0 and int(fee) * _BPS > band_bps * int(gross)


def _to_about(row: Row) -> About:
    names = ("payments", "charges", "refunds", "adjustments", "disputes", "fee", "computed", "amount", "difference")
    evidence: Evidence = {name: int(getattr(row, name)) for name in names} | {"fee_source": str(row.fee_source)}
    return About(f"payout:{row.Index}", row.currency, payout_id=row.Index, evidence=evidence)
