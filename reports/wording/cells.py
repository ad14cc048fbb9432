"""The cells of a report in a reader's words: what people's files and the pages say of one row. Pure.

Only the columns named here hold words; a name, a reference or a tax id that happens to look like one stays as it is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from consumer.facts.messages import word
from reports.shapes.build import CURRENCY, Report
from reports.shapes.spans import Row
from reports.wording import evidence, histories, phrases

# What a cell's words depend on beside its text and the language: other cells of its row.
Say = Callable[..., str]


@dataclass(frozen=True, slots=True)
class Wording:
    """How a column is said, and the further columns that decide about it."""

    say: Say
    beside: tuple[str, ...] = ()


def _of(group: str) -> Wording:
    return Wording(lambda text, language: word(group, text, language))


_EVERYWHERE = {
    "mode": _of("mode"),
    "status_recon": _of("status"),
    "severity": _of("severity"),
    "outcome": _of("outcome"),
    "match_stage": _of("stage"),
    "match_rule": Wording(phrases.rule),
    "expected_doc": _of("expected"),
    "fee_source": _of("fee"),
    "resource_type": _of("type"),
    "verdict": _of("verdict"),
    "bucket": _of("bucket"),
    "age_bucket": _of("bucket"),
    "direction": _of("direction"),
    "issue_type": _of("issued"),
    "has_note": _of("answer"),
    "figure": Wording(phrases.figure),
    "source": Wording(phrases.source),
    "ties_to": Wording(phrases.source),
    "title": Wording(phrases.title_of, ("code",)),
    "suggested_action": Wording(phrases.action_of, ("code",)),
    "evidence": Wording(evidence.format_evidence, (CURRENCY,)),
}
_HERE = {
    ("payout-summary", "status"): _of("payout"),
    ("payout-detail", "resource_subtype"): _of("means"),
    ("payout-detail", "note"): Wording(phrases.sentence),
    ("documents", "outcome"): _of("document"),
    ("receivables", "state"): _of("document"),
    ("exceptions", "state"): _of("exception"),
    ("exceptions", "resolution"): Wording(phrases.history),
    ("exceptions-sheet", "state"): _of("exception"),
    ("transfers", "status"): _of("transfer"),
    ("transfers", "return_label"): _of("return"),
    ("drift", "kind"): _of("drift"),
    ("run-diff", "kind"): _of("about"),
    ("run-diff", "subject"): Wording(histories.changed_subject, ("kind",)),
    ("run-diff", "before"): Wording(histories.format_change, ("kind", CURRENCY)),
    ("run-diff", "after"): Wording(histories.format_change, ("kind", CURRENCY)),
    ("run-diff", "cause"): Wording(histories.cause),
    **{(name, "state"): _of("op") for name in ("events", "jobs", "gaps", "runs", "decisions", "periods")},
    ("people", "state"): _of("op"),
    ("tokens", "state"): _of("op"),
    ("events", "source"): _of("op"),
    ("conflicts", "source"): _of("op"),
    ("jobs", "outcome"): Wording(phrases.sentence),
    ("jobs", "job"): Wording(phrases.job),
    ("gaps", "stream"): Wording(phrases.stream),
    ("gaps", "reason"): Wording(phrases.sentence),
    ("decisions", "kind"): _of("decision"),
    ("decisions", "reason_type"): _of("adjustment"),
    ("closed-figures", "kind"): _of("about"),
    ("adjustments", "kind"): _of("about"),
    ("document-changes", "field"): _of("field"),
}
# The provider's directory names them; one it does not list keeps its id.
_BANKS = {"recipient_institution", "institution"}


def cell(report: str, name: str, row: Row, language: str) -> str:
    """Say one cell of a row."""
    column, text = _column(report, name), str(row[name])
    return text if column is None else column.say(text, language, *(row[other] for other in column.beside))


def _column(report: str, name: str) -> Wording | None:
    return _HERE.get((report, name)) or _EVERYWHERE.get(name)


def in_words(report: Report, language: str) -> Report:
    """Write every column of words as a reader says it, and banks by their names."""
    table = report.table
    for place, name in enumerate(report.definition.names):
        column = _column(report.definition.name, name)
        if name in _BANKS:
            column = Wording(lambda bank, _language: report.banks.get(bank, bank))
        if column is not None:
            table = table.set_column(place, name, _said(report.table, name, column, language))
    return replace(report, table=table)


def _said(table: pa.Table, name: str, column: Wording, language: str) -> pa.Array:
    """Say each different text once, whatever the number of rows, where nothing beside it decides."""
    if column.beside:
        rows = zip(*(table[one].to_pylist() for one in (name, *column.beside)), strict=True)
        said = (None if text is None else column.say(text, language, *others) for text, *others in rows)
        return pa.array(said, pa.string())
    texts = table[name].combine_chunks().dictionary_encode()
    words = pa.array([column.say(text, language) for text in texts.dictionary.to_pylist()], pa.string())
    return pc.take(words, texts.indices)
