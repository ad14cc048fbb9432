"""Split payments: the shares must add up, one party pays the fee, and the merchant's payout holds its own share."""

import json
from typing import Any

import numpy as np
from pandas import DataFrame

from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import Finding
from reconcile.rules.outcomes import Code


def own_amounts(rows: DataFrame) -> Any:
    """Give what reaches the merchant's own payout: its share of a split payment, else the whole amount."""
    amounts = rows["amount"].to_numpy(dtype="int64").copy()
    for place, shares in _shares(rows):
        own = [int(share["amount"]) for share in shares if share.get("own")]
        if own:
            amounts[place] = sum(own)
    return amounts


def pays_fee(rows: DataFrame) -> Any:
    """Tell which items bear the processing fee: all but splits where somebody else pays it."""
    bears = np.ones(len(rows), dtype=bool)
    for place, shares in _shares(rows):
        if any(share.get("own") for share in shares):
            bears[place] = any(share.get("own") and share.get("charge_processing_fee") for share in shares)
    return bears


def split_mismatches(payments: DataFrame) -> list[Finding]:
    found = []
    for place, shares in _shares(payments):
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


def _shares(rows: DataFrame) -> list[tuple[int, list[dict[str, Any]]]]:
    places = np.flatnonzero(rows["split"].notna().to_numpy())
    return [(place, json.loads(text)) for place, text in zip(places.tolist(), rows["split"].array[places], strict=True)]
