"""The figures a closed period keeps of a result, and how those of another result differ; pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date

import msgspec
import pandas as pd
from pandas import DataFrame, Series

from consumer.facts.columns import Kind, kind_of
from reconcile.rules.inputs import DISPUTE, Result
from reconcile.rules.outcomes import DocumentOutcome

KEYS = ["kind", "subject", "words"]
# The messages that figures are kept as, with the columns that are their values.
PAYOUT, DOCUMENT, VOID = "figure.payout", "figure.document", "figure.void"
PAYOUT_OF_RUN, DOCUMENT_OF_RUN = "figure.payout_of_run", "figure.document_of_run"
LINE, LINE_OF_DOCUMENT, LINE_APPLIED = "figure.line", "figure.line_of_document", "figure.line_applied"
_ITEM, _ITEM_APPLIED = "figure.item", "figure.item_applied"
FIGURES: Mapping[str, tuple[str, ...]] = {
    PAYOUT: ("status", "payout_amount", "computed_amount", "fee_total", "difference"),
    PAYOUT_OF_RUN: ("status_recon", "difference", "fee_total"),
    DOCUMENT: ("total", "currency"),
    DOCUMENT_OF_RUN: ("outcome", "balance"),
    VOID: (),
    LINE: ("outcome",),
    LINE_OF_DOCUMENT: ("outcome", "doc_key"),
    LINE_APPLIED: ("outcome", "doc_key", "applied_amount"),
    _ITEM: ("amount_signed", "outcome"),
    _ITEM_APPLIED: ("amount_signed", "outcome", "doc_key", "applied_amount"),
}
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
    is_void = documents["outcome"] == DocumentOutcome.VOID
    totals = to_messages(DOCUMENT, documents).where(~is_void, VOID)
    frames = [
        DataFrame({"kind": "payout", "subject": payouts["payout_id"], "words": to_messages(PAYOUT, payouts)}),
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


def to_messages(code: str, frame: DataFrame) -> "Series[str]":
    """Return for each row the stored form of a message with the columns that are its values."""
    parts = [f'"{name}":' + _to_json(frame[name]) for name in FIGURES[code]]
    written = parts[0]
    for part in parts[1:]:
        written = written + "," + part
    return code + " {" + written + "}"


def _to_json(column: Series) -> "Series[str]":
    """Write numbers and texts as JSON does, a missing one as null."""
    if kind_of(str(column.name)) is Kind.MONEY:
        return column.astype("string").fillna("null")
    texts = column.astype("string")
    written = {text: msgspec.json.encode(text).decode() for text in texts.dropna().unique()}
    return texts.map(written).astype("string").fillna("null")


def item_words(lines: DataFrame) -> DataFrame:
    """Return what became of each item: its outcome, and each document with the amount applied."""
    is_applied = lines["doc_key"].notna() & lines["applied_amount"].notna()
    has_amount = lines["amount_signed"].notna()
    words = Series("", index=lines.index, dtype="string")
    for mask, code in (
        (has_amount & is_applied, _ITEM_APPLIED),
        (has_amount & ~is_applied, _ITEM),
        (~has_amount & is_applied, LINE_APPLIED),
        (~has_amount & ~is_applied, LINE),
    ):
        if mask.any():
            words = words.where(~mask, to_messages(code, lines))
    frame = DataFrame({"kind": "item", "subject": lines["resource_type"] + " " + lines["resource_id"], "words": words})
    frame = frame.drop_duplicates()
    is_single = ~frame["subject"].duplicated(keep=False)
    several = frame[~is_single].sort_values(["subject", "words"])
    joined = several.groupby("subject", sort=True)["words"].agg("\n".join).reset_index().assign(kind="item")
    return pd.concat([frame[is_single], joined[KEYS]], ignore_index=True)
