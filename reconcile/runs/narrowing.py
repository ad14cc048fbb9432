"""What a run publishes of what the rules say: the payouts asked for, and what was settled before."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import pandas as pd
from pandas import DataFrame, Series

from consumer.facts.work import WorkError
from reconcile.exceptions.life import ExceptionState
from reconcile.kept.settled import Settled
from reconcile.kept.snapshots import Scope
from reconcile.rules.inputs import COUNT, DISPUTE, OF_DOCUMENTS, SUMMARY, TEXT, Finding, Result, to_types
from reconcile.rules.outcomes import Code, Recon


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


def add_settled(result: Result, settled: Settled) -> Result:
    """Let settled payouts, of which not all items were read, stand as they were, but for what is still open in them."""
    if settled.payouts.empty and settled.rows.empty:
        return result
    ids = frozenset(settled.payouts["payout_id"])
    is_line = (result.lines["resource_type"] == DISPUTE) & result.lines["payout_id"].isin(ids)
    found = tuple(one for one in result.findings if not (one.payout_id in ids and one.subject.startswith("payout:")))
    is_settled = result.payouts["payout_id"].isin(ids)
    standing = _bring_up(settled.payouts, result.payouts[is_settled], found)
    both = pd.concat([result.payouts[~is_settled], standing], ignore_index=True)
    return replace(
        result,
        payouts=to_types(both.sort_values(["created_at_utc", "payout_id"], ignore_index=True), SUMMARY),
        lines=result.lines[~is_line].reset_index(drop=True),
        findings=found,
        settled=settled.rows,
    )


def _bring_up(settled: DataFrame, now: DataFrame, findings: Iterable[Finding]) -> DataFrame:
    """Count anew what is open in settled payouts: all that settled in them is matched."""
    own = now.set_index("payout_id").reindex(settled["payout_id"]).reset_index()
    payments = settled["matched_count"] + settled["unmatched_count"]
    named = Series([one.payout_id for one in findings], dtype=TEXT).value_counts()
    is_incomplete = own["status_recon"] == Recon.INCOMPLETE
    return settled.assign(
        unmatched_count=own["unmatched_count"],
        matched_count=payments - own["unmatched_count"],
        exceptions=settled["payout_id"].map(named).fillna(0).astype(COUNT),
        status_recon=settled["status_recon"].where(~is_incomplete, str(Recon.INCOMPLETE)),
    )


def count_outcomes(result: Result) -> tuple[dict[str, int], dict[str, int]]:
    """Count items and documents by their outcome, those that were left out too."""
    first, settled = result.lines["outcome"][result.lines["line"] == 1], result.settled
    is_document = settled["resource_type"] == OF_DOCUMENTS
    return _counts(first, settled[~is_document]), _counts(result.documents["outcome"], settled[is_document])


def _counts(words: "Series[str]", settled: DataFrame) -> dict[str, int]:
    counts = Counter({str(word): int(count) for word, count in words.value_counts().items()})
    for word, count in settled.groupby("outcome")["count"].sum().items():
        counts[str(word)] += int(count)
    return dict(sorted(counts.items()))
