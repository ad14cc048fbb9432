"""Disputes that were lost, with what nothing has made up for yet, and disputes that wait for an answer."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pandas as pd
from pandas import DataFrame

from reconcile.rules.disputes import CLOSED, LOST, DisputeLine
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import Finding, Inputs, records
from reconcile.rules.ledger import Ledger
from reconcile.rules.outcomes import DEAD, Code
from reconcile.rules.payouts import DISPUTE
from reconcile.rules.refunds import uncovered

_IN_REVIEW = "in_review"
_SUBJECT = f"{DISPUTE}:"


def dispute_findings(
    ledger: Ledger, applied: DataFrame, lines: Sequence[DisputeLine], inputs: Inputs
) -> Iterator[Finding]:
    """Find lost disputes that nothing covers whole, and open ones."""
    disputes = inputs.disputes.sort_values("dispute_id")
    lost, waiting = disputes[disputes["status"].isin(LOST)], disputes[~disputes["status"].isin(CLOSED)]
    if len(lost):
        dead = set(inputs.payouts["payout_id"][inputs.payouts["status"].isin(DEAD)])
        payouts = {line.dispute_id: line.payout_id for line in lines if line.payout_id not in dead}
        taken = _taken(ledger, applied)
        for row in records(lost):
            own = taken.get(row.dispute_id, _Taken())
            at_risk = _at_risk(int(row.amount), own, ledger.rules.amount_tolerance)
            if at_risk > 0:
                yield _lost(row, own, payouts.get(row.dispute_id), at_risk=at_risk, inputs=inputs)
    if len(waiting):
        docs = _documents(ledger, applied, waiting["resource_id"])
        yield from (_open(row, docs, inputs) for row in records(waiting))


def names_of_lines(findings: Sequence[Finding], lines: Sequence[DisputeLine]) -> Iterator[tuple[str, str, str, str]]:
    """Give the code, the payout, the kind and the id of the line of each dispute that an exception names."""
    codes = {found.subject.removeprefix(_SUBJECT): found.code for found in findings if _is_about_dispute(found)}
    for line in lines:
        if line.dispute_id in codes:
            yield codes[line.dispute_id], line.payout_id or "", DISPUTE, line.dispute_id


def _is_about_dispute(finding: Finding) -> bool:
    return finding.subject.startswith(_SUBJECT)


@dataclass(slots=True)
class _Taken:
    """What a lost dispute took back of documents, and how much of it they still ask for."""

    documents: list[str] = field(default_factory=list)
    amount: int = 0
    rest: int = 0


def _taken(ledger: Ledger, applied: DataFrame) -> dict[str, _Taken]:
    """Add up what lost disputes took back of documents, by the dispute's id."""
    found: dict[str, _Taken] = defaultdict(_Taken)
    for doc, parts in uncovered(ledger, applied).items():
        for reversal, amount, rest in parts:
            if reversal.is_dispute:
                taken = found[reversal.resource_id]
                taken.documents.append(str(ledger.books.keys[doc]))
                taken.amount += amount
                taken.rest += rest
    return found


def _at_risk(amount: int, taken: _Taken, tolerance: int) -> int:
    """What documents still ask for, and what was taken from none of them, which a person must resolve."""
    beyond = amount - taken.amount
    return taken.rest + (0 if taken.amount and beyond <= tolerance else beyond)


def _lost(row: Any, taken: _Taken, payout_id: str | None, *, at_risk: int, inputs: Inputs) -> Finding:
    ended_on = _local_day(row.ended_at, inputs)
    evidence = {
        "payment": _known(row.resource_id),
        "amount": int(row.amount),
        "dispute_state": row.status,
        "ended_on": _text(ended_on),
        "documents": taken.documents,
        "taken_back": taken.amount,
        "still_open": at_risk,
    }
    about = _about(row, taken.documents, evidence)
    about.payout_id, about.fact_on = payout_id, ended_on
    return to_finding(Code.DISPUTE_LOST, about, at_risk=at_risk)


def _open(row: Any, documents: dict[str, list[str]], inputs: Inputs) -> Finding:
    due_on = _local_day(row.due_at, inputs)
    left = None if due_on is None else inputs.calendar.days_between(inputs.as_of, due_on)
    evidence = {
        "payment": _known(row.resource_id),
        "amount": int(row.amount),
        "dispute_state": row.status,
        "due_on": _text(due_on),
        "bank_days_left": left,
    }
    severity = "info"
    if row.status != _IN_REVIEW:
        severity = "high" if left is None or left <= inputs.rules.days_to_deadline else "medium"
    about = _about(row, documents.get(row.resource_id, []), evidence)
    about.due_on = due_on
    return to_finding(Code.DISPUTE_OPEN, about, at_risk=int(row.amount), severity=severity)


def _about(row: Any, documents: list[str], evidence: dict[str, Any]) -> About:
    return About(
        subject=f"{_SUBJECT}{row.dispute_id}",
        currency=row.currency,
        resource_id=_known(row.resource_id),
        doc_key=documents[0] if len(documents) == 1 else None,
        evidence=evidence,
    )


def _documents(ledger: Ledger, applied: DataFrame, payment_ids: Any) -> dict[str, list[str]]:
    """Give the documents that some payments were applied to."""
    wanted = set(payment_ids.dropna())
    places = {place: key for place, key in enumerate(ledger.payments.ids) if key in wanted}
    own = applied[applied["payment"].isin(list(places))].sort_values(["payment", "doc"])
    found: dict[str, list[str]] = defaultdict(list)
    for payment, doc in zip(own["payment"].tolist(), own["doc"].tolist(), strict=True):
        found[places[payment]].append(str(ledger.books.keys[doc]))
    return found


def _local_day(moment: Any, inputs: Inputs) -> date | None:
    return None if pd.isna(moment) else moment.tz_convert(inputs.calendar.country.zone).date()


def _text(on: date | None) -> str | None:
    return None if on is None else on.isoformat()


def _known(text: Any) -> str | None:
    return None if pd.isna(text) else str(text)
