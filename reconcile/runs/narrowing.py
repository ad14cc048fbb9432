"""What a run publishes of what the rules say: the payouts asked for, without those that stay as they were frozen."""

from dataclasses import dataclass, replace
from typing import Self

import pandas as pd

from consumer.facts.work import WorkError
from reconcile.exceptions.life import ExceptionState
from reconcile.kept.snapshots import Scope
from reconcile.rules.inputs import DISPUTE, Finding, Inputs, Result
from reconcile.rules.outcomes import Code


class UnknownPayoutError(WorkError):
    """A payout that this connection does not have."""


def narrow(result: Result, scope: Scope) -> Result:
    """Keep what belongs to the payouts asked for; balances were computed from everything."""
    if scope.is_everything:
        return result
    payouts = result.payouts
    if scope.payout_id is not None:
        payouts = payouts[payouts["payout_id"] == scope.payout_id]
        if payouts.empty:
            raise UnknownPayoutError(
                f"there is no payout {scope.payout_id}: cuadre pull payouts, or look at its connection"
            )
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
    touched = Touched.by(narrowed)
    return replace(narrowed, findings=tuple(found for found in result.findings if touched.holds(found)))


@dataclass(frozen=True, slots=True)
class Touched:
    """The ids a published result is about."""

    payouts: frozenset[str]
    resources: frozenset[str]
    documents: frozenset[str]

    @classmethod
    def by(cls, result: Result) -> Self:
        columns = (result.payouts["payout_id"], result.lines["resource_id"], result.documents["doc_key"])
        return cls(*(frozenset(column.dropna()) for column in columns))

    def holds(self, about: Finding | ExceptionState) -> bool:
        """Return True if a run of this result would find this exception if it were still there."""
        if about.code == Code.DATA_GAP:
            return True
        if about.payout_id is not None:
            return about.payout_id in self.payouts
        if about.resource_id is not None:
            return about.resource_id in self.resources
        return about.doc_key in self.documents


def leave_settled(result: Result, inputs: Inputs) -> Result:
    """Leave out settled payouts, of which not all items were read, and what is said of them as a whole."""
    payouts = frozenset(inputs.settled["payout_id"])
    if not payouts:
        return result
    is_line = (result.lines["resource_type"] == DISPUTE) & result.lines["payout_id"].isin(payouts)
    return replace(
        result,
        payouts=result.payouts[~result.payouts["payout_id"].isin(payouts)].reset_index(drop=True),
        lines=result.lines[~is_line].reset_index(drop=True),
        findings=tuple(
            one for one in result.findings if not (one.payout_id in payouts and one.subject.startswith("payout:"))
        ),
    )
