"""What a narrowed run publishes: its payouts, their lines, the documents and findings that touch them; pure."""

from dataclasses import replace

import pandas as pd

from reconcile.rules.inputs import Finding, Result
from reconcile.snapshots import Scope
from reconcile.tables import ExceptionRow

DATA_GAP = "DATA_GAP"


class UnknownPayout(Exception):  # noqa: N818 - names what was asked for
    """A payout that this connection does not have."""


def narrow(result: Result, scope: Scope) -> Result:
    """Keep what belongs to the payouts asked for; balances were computed from everything."""
    if scope.is_everything:
        return result
    payouts = result.payouts
    if scope.payout_id is not None:
        payouts = payouts[payouts["payout_id"] == scope.payout_id]
        if payouts.empty:
            raise UnknownPayout(f"there is no payout {scope.payout_id}: cuadre pull payouts, or look at its connection")
    if scope.since is not None:
        payouts = payouts[payouts["payout_date"] >= pd.Timestamp(scope.since)]
    if scope.until is not None:
        payouts = payouts[payouts["payout_date"] <= pd.Timestamp(scope.until)]
    lines = result.lines[result.lines["payout_id"].isin(payouts["payout_id"])]
    documents = result.documents[result.documents["doc_key"].isin(lines["doc_key"].dropna())]
    narrowed = replace(
        result,
        payouts=payouts.reset_index(drop=True),
        lines=lines.reset_index(drop=True),
        documents=documents.reset_index(drop=True),
    )
    return replace(narrowed, findings=tuple(found for found in result.findings if _touches(narrowed, found)))


def has_exception(scope: Scope, result: Result, row: ExceptionRow) -> bool:
    """Tell whether a run of this scope would find this exception if it were still there."""
    return scope.is_everything or _touches(result, row)


def _touches(result: Result, about: Finding | ExceptionRow) -> bool:
    if about.code == DATA_GAP:
        return True
    if about.payout_id is not None:
        return about.payout_id in set(result.payouts["payout_id"])
    if about.resource_id is not None:
        return about.resource_id in set(result.lines["resource_id"])
    return about.doc_key in set(result.documents["doc_key"])
