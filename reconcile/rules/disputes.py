"""Disputes that were lost: a line of the first later payout, when that makes its sums right."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pandas as pd
from pandas import DataFrame

from reconcile.rules.columns import looked_up
from reconcile.rules.inputs import Inputs, records
from reconcile.rules.outcomes import DEAD, FeeSource

LOST = ("lost", "expired")
CLOSED = ("won", "canceled", *LOST)
_MOST_AT_ONCE = 12
_BPS = 10_000


@dataclass(frozen=True, slots=True)
class DisputeLine:
    """A lost dispute as a line: of the payout that took it, or of none while it waits for one."""

    payout_id: str | None
    dispute_id: str
    resource_id: str
    amount: int
    currency: str
    ended_at: pd.Timestamp


def place_disputes(sums: DataFrame, inputs: Inputs) -> list[DisputeLine]:
    """Put lost disputes into the first payout created after they ended, where its identity or fee rate asks for it."""
    waiting = _waiting(inputs)
    placed = []
    for payout_id in sorted(waiting):
        sum_row = sums.loc[payout_id]
        placed += _fitting(waiting[payout_id], sum_row, inputs.rules.fee_band_bps)
    return placed


def lines_without_payout(inputs: Inputs) -> list[DisputeLine]:
    """List lost disputes after which no living payout came: the next one may take them."""
    living = inputs.payouts[~inputs.payouts["status"].isin(DEAD)]
    last = living.groupby("currency")["created_at"].max()
    lost = _lost(inputs)
    newest = looked_up(lost["currency"], last)
    waits = newest.isna() | (newest <= lost["ended_at"])
    return [_to_line(dispute, None) for dispute in records(lost[waits])]


def _lost(inputs: Inputs) -> DataFrame:
    is_lost = inputs.disputes["status"].isin(LOST) & inputs.disputes["ended_at"].notna()
    return inputs.disputes[is_lost].sort_values(["ended_at", "dispute_id"])


def _waiting(inputs: Inputs) -> dict[str, list[DisputeLine]]:
    """List for each payout the disputes it may hold: a dead payout passes them on to the next."""
    payouts = inputs.payouts.sort_values(["created_at", "payout_id"], ignore_index=True)
    waiting: dict[str, list[DisputeLine]] = {}
    for dispute in records(_lost(inputs)):
        later = payouts[(payouts["created_at"] > dispute.ended_at) & (payouts["currency"] == dispute.currency)]
        for payout in records(later):
            waiting.setdefault(str(payout.payout_id), []).append(_to_line(dispute, str(payout.payout_id)))
            if payout.status not in DEAD:
                break
    return waiting


def _to_line(dispute: Any, payout_id: str | None) -> DisputeLine:
    return DisputeLine(
        payout_id=payout_id,
        dispute_id=dispute.dispute_id,
        resource_id=dispute.resource_id,
        amount=int(dispute.amount),
        currency=dispute.currency,
        ended_at=dispute.ended_at,
    )


def _fitting(disputes: list[DisputeLine], sums: Any, band_bps: int) -> list[DisputeLine]:
    """Choose all of them if that fits, else the only part of them that does."""
    if sums["fee_source"] != FeeSource.RESIDUAL and sums["over"] <= 0:
        return []
    if _fits(sum(dispute.amount for dispute in disputes), sums, band_bps):
        return disputes
    if len(disputes) > _MOST_AT_ONCE:
        return []
    fitting = [
        list(chosen)
        for size in range(1, len(disputes))
        for chosen in combinations(disputes, size)
        if _fits(sum(dispute.amount for dispute in chosen), sums, band_bps)
    ]
    return fitting[0] if len(fitting) == 1 else []


def _fits(amount: int, sums: Any, band_bps: int) -> bool:
    if sums["fee_source"] != FeeSource.RESIDUAL:
        return bool(sums["over"] == amount)
    fee, allowed = int(sums["fee"]) * _BPS, band_bps * int(sums["gross"])
    return fee > allowed and 0 <= fee - amount * _BPS <= allowed
