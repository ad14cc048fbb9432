"""Split payments: the merchant's own part, who bears the fee, and shares that do not add up."""

import json
from typing import Required, TypedDict

import numpy as np
from pandas import DataFrame

from reconcile.rules.columns import Ints, Mask
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import Finding
from reconcile.rules.outcomes import Code


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
