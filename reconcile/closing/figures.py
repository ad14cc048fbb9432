"""The figures a closed period keeps of a result, and how those of another result differ; pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import pandas as pd
from pandas import DataFrame, Series

from reconcile.rules.inputs import Result
from reconcile.rules.payouts import DISPUTE

KEYS = ["kind", "subject", "words"]
_PAYOUT = ("status", "payout_amount", "computed_amount", "fee_total", "difference")
_DOCUMENT = ("total", "currency")
_VOID = "void"
GONE = ""


@dataclass(frozen=True, slots=True)
class Moved:
    """One figure that changed; an empty side is one that was not there, or is not any more."""

    kind: str
    subject: str
    before: str
    after: str


def figures_of(result: Result, since: date | None, until: date) -> DataFrame:
    """Return the figures of the days: of payouts by payout date, items by local date, documents by issue date.

    What changes after a period ends is left out: when money arrives at the bank, which payout carries an item later,
    what is still owed on a document.
    """
    payouts = _within(result.payouts, "payout_date", since, until)
    lines = _within(result.lines[result.lines["resource_type"] != DISPUTE], "local_date", since, until)
    documents = _within(result.documents, "issue_date", since, until)
    is_void = documents["outcome"] == _VOID
    totals = _words(documents, _DOCUMENT).where(~is_void, _VOID)
    frames = [
        DataFrame({"kind": "payout", "subject": payouts["payout_id"], "words": _words(payouts, _PAYOUT)}),
        item_words(lines),
        DataFrame({"kind": "document", "subject": documents["doc_key"], "words": totals}),
    ]
    return pd.concat(frames, ignore_index=True).astype("str")


def find_moved(before: DataFrame, after: DataFrame) -> Iterator[Moved]:
    """Yield the figures that changed, in the order of kind and subject."""
    both = before.merge(after, on=["kind", "subject"], how="outer", suffixes=("_before", "_after"))
    both[["words_before", "words_after"]] = both[["words_before", "words_after"]].fillna(GONE)
    changed = both[both["words_before"] != both["words_after"]].sort_values(["kind", "subject"])
    for row in changed.itertuples(index=False):
        yield Moved(str(row.kind), str(row.subject), str(row.words_before), str(row.words_after))


def _within(frame: DataFrame, column: str, since: date | None, until: date) -> DataFrame:
    days = frame[column]
    mask = days <= pd.Timestamp(until)
    if since is not None:
        mask &= days >= pd.Timestamp(since)
    return DataFrame(frame[mask])


def _words(frame: DataFrame, names: tuple[str, ...]) -> "Series[str]":
    """Write columns as `name value` parts, amounts in minor units."""
    first, *others = [f"{name.replace('_', ' ')} " + frame[name].astype("string").fillna("unknown") for name in names]
    words = first
    for part in others:
        words = words + ", " + part
    return words


def item_words(lines: DataFrame) -> DataFrame:
    """Return what became of each item: its outcome, and each document with the amount applied."""
    applied = lines["doc_key"].astype("string") + " " + lines["applied_amount"].astype("string")
    words = lines["outcome"].astype("string") + (" " + applied).fillna("")
    amount = "amount " + lines["amount_signed"].astype("string")
    words = words.where(lines["amount_signed"].isna(), amount + ", " + words)
    frame = DataFrame({"kind": "item", "subject": lines["resource_type"] + " " + lines["resource_id"], "words": words})
    frame = frame.drop_duplicates()
    is_single = ~frame["subject"].duplicated(keep=False)
    several = frame[~is_single].sort_values(["subject", "words"])
    joined = several.groupby("subject", sort=True)["words"].agg("; ".join).reset_index().assign(kind="item")
    return pd.concat([frame[is_single], joined[KEYS]], ignore_index=True)
