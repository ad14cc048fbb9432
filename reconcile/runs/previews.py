"""What other rules or another tariff would have made of a kept run: every change, and whether it is closed; pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

import pandas as pd
from pandas import Series

from reconcile.closing.figures import DOCUMENT_OF_RUN, PAYOUT_OF_RUN, item_words, to_messages
from reconcile.rules.inputs import DISPUTE, Inputs, Result
from reconcile.rules.pipeline import reconcile
from reconcile.rules.terms import RuleSet, Tariff
from reconcile.runs.comparison import Published, compare, to_risk


@dataclass(frozen=True, slots=True)
class Preview:
    """One change; `closed` if it touches days whose books are closed."""

    kind: str
    subject: str
    before: str
    after: str
    closed: bool


def preview(inputs: Inputs, *, rules: RuleSet, tariff: Tariff | None, closed_until: date | None) -> Iterator[Preview]:
    """Reconcile the same inputs under both, so that only the rules can make a difference."""
    old, new = reconcile(inputs), reconcile(replace(inputs, rules=rules, tariff=tariff))
    closed = _find_closed_subjects(old, closed_until) | _find_closed_subjects(new, closed_until)
    for change in compare(_words(old), _words(new)):
        about = change.subject
        if change.kind == "exception":
            about = about.partition(":")[2].split("@", maxsplit=1)[0]
        yield Preview(change.kind, change.subject, change.before, change.after, about in closed)


def _words(result: Result) -> Published:
    payouts, documents = result.payouts, result.documents
    items = item_words(result.lines[result.lines["resource_type"] != DISPUTE])
    return Published(
        payouts=_pairs(payouts["payout_id"], to_messages(PAYOUT_OF_RUN, payouts)),
        lines=_pairs(items["subject"].str.split(" ").str[-1], items["words"]),
        documents=_pairs(documents["doc_key"], to_messages(DOCUMENT_OF_RUN, documents)),
        exceptions={f"{one.code} {one.subject}": to_risk(one.severity, one.amount_at_risk) for one in result.findings},
    )


def _pairs(keys: "Series[str]", words: "Series[str]") -> dict[str, str]:
    return dict(zip(keys.tolist(), words.fillna("").tolist(), strict=True))


def _find_closed_subjects(result: Result, until: date | None) -> set[str]:
    """Return what belongs to closed days, as a period counts: payout date, local date, issue date."""
    if until is None:
        return set()
    columns = (
        (result.payouts, "payout_id", "payout_date"),
        (result.lines, "resource_id", "local_date"),
        (result.documents, "doc_key", "issue_date"),
    )
    last = pd.Timestamp(until)
    return {str(name) for frame, key, day in columns for name in frame.loc[frame[day] <= last, key].tolist()}
