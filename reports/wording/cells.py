"""The cells of a report in a reader's words: what people's files and the pages say of one row. Pure.

Only the columns named here hold words; a name, a reference or a tax id that happens to look like one stays as it is.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from consumer.facts.messages import say_stored, say_stored_in_json, word
from consumer.facts.texts import ERASED, say_erased
from reports.shapes.build import CURRENCY, Report
from reports.shapes.spans import Row
from reports.wording import evidence, phrases, stored

# What a cell's words depend on besides its text and the language: other cells of its row.
Say = Callable[..., str]


@dataclass(frozen=True, slots=True)
class Wording:
    """How a column is said, and the further columns that decide about it."""

    say: Say
    further: tuple[str, ...] = ()


# What a stored message begins with, in a cell or inside evidence.
_CODE = r'(^|\n|")(note|figure|cause)\.'


def _of(group: str) -> Wording:
    return Wording(lambda text, language: word(group, text, language))


_STORED = Wording(stored.sentence)
_WITH_AMOUNTS = Wording(stored.sentence, (CURRENCY,))
_EVIDENCE = Wording(evidence.format_evidence, (CURRENCY,))
# How programs are given the columns that hold stored messages.
_TO_ENGLISH: Mapping[Wording, Callable[[str], str]] = {
    _STORED: say_stored, _WITH_AMOUNTS: say_stored, _EVIDENCE: say_stored_in_json,
}  # fmt: skip

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
    "figure": _of("figure"),
    "source": Wording(phrases.source),
    "ties_to": Wording(phrases.source),
    "title": Wording(phrases.title_of, ("code",)),
    "suggested_action": Wording(phrases.action_of, ("code",)),
    "evidence": _EVIDENCE,
}
_HERE = {
    ("payout-summary", "status"): _of("payout"),
    ("bank-lines", "source"): _of("bank"),
    ("payout-detail", "resource_subtype"): _of("means"),
    ("payout-detail", "note"): _STORED,
    ("disputes", "status"): _of("dispute"),
    ("fee-summary", "resource_subtype"): _of("means"),
    ("cash-application", "method"): _of("means"),
    ("payment-complements", "state"): _of("complement"),
    ("payment-complements", "note"): Wording(phrases.columns),
    ("documents", "outcome"): _of("document"),
    ("receivables", "state"): _of("document"),
    ("exceptions", "state"): _of("exception"),
    ("exceptions", "resolution"): _of("history"),
    ("exceptions-sheet", "state"): _of("exception"),
    ("transfers", "status"): _of("transfer"),
    ("transfers", "return_label"): _of("return"),
    ("drift", "kind"): _of("drift"),
    ("run-diff", "kind"): _of("about"),
    ("run-diff", "subject"): Wording(stored.subject_of_change, ("kind",)),
    ("run-diff", "before"): _WITH_AMOUNTS,
    ("run-diff", "after"): _WITH_AMOUNTS,
    ("run-diff", "cause"): _STORED,
    **{(name, "state"): _of("op") for name in ("events", "jobs", "gaps", "runs", "decisions", "periods", "approvals")},
    ("payers", "kind"): _of("payer_kind"),
    ("payers", "state"): _of("payer_state"),
    ("approvals", "words"): _STORED,
    ("approvals", "reason_type"): _of("adjustment"),
    ("people", "state"): _of("op"),
    ("tokens", "state"): _of("op"),
    ("events", "source"): _of("op"),
    ("conflicts", "source"): _of("op"),
    ("jobs", "outcome"): _STORED,
    ("jobs", "job"): Wording(phrases.job),
    ("gaps", "stream"): _of("stream"),
    ("gaps", "reason"): _STORED,
    ("decisions", "kind"): _of("decision"),
    ("decisions", "reason_type"): _of("adjustment"),
    ("closed-figures", "kind"): _of("about"),
    ("closed-figures", "words"): _WITH_AMOUNTS,
    ("adjustments", "before"): _WITH_AMOUNTS,
    ("adjustments", "after"): _WITH_AMOUNTS,
    ("adjustments", "kind"): _of("about"),
    ("document-changes", "field"): _of("field"),
    ("register-files", "side"): _of("register"),
    ("tax-tie-out", "figure"): _of("tax_figure"),
    ("tax-tie-out", "witness_a"): _of("tax_witness"),
    ("tax-tie-out", "witness_b"): _of("tax_witness"),
    ("tax-causes", "figure"): _of("tax_figure"),
    ("tax-causes", "cause"): _of("tax_cause"),
    ("tax-causes", "side"): _of("tax_witness"),
    ("tax-causes", "suggested_action"): Wording(lambda _, language, cause: word("tax_do", cause, language), ("cause",)),
}
# Columns that hold what people are called or wrote, and what was erased of it: a quick look.
_OF_PEOPLE = frozenset({
    "customer_tax_id", "customer_name", "sender_tax_id", "counterparty_tax_id", "counterparty_name", "order_ref",
    "note", "description", "text", "reference", "return_raw", "tax_id", "evidence", "subject", "reason", "before",
    "after", "resolution", "ours", "theirs",
})  # fmt: skip
# Arrow's expressions look neither behind nor ahead; what they find too much stays as it is.
_ERASED = re.sub(r"\(\?<?![^)]*\)", "", ERASED.pattern)
# The provider's directory names them; one it does not list keeps its id.
_BANKS = {"recipient_institution", "institution"}


def cell(report: str, name: str, row: Row, language: str) -> str:
    """Say one cell of a row."""
    column, text = _column(report, name), say_erased(str(row[name]), word("note", "erased", language))
    return text if column is None else column.say(text, language, *(row[other] for other in column.further))


def say_of(report: str, name: str, language: str) -> Callable[[str], str] | None:
    """Return how each text of a column is said; None where it stands as it is, or other cells decide about it."""
    column = _column(report, name)
    return None if column is None or column.further else lambda text: column.say(text, language)


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
            table = table.set_column(place, name, _say_column(report.table, name, column, language))
    return replace(report, table=_say_erased(table, language))


def _say_erased(table: pa.Table, language: str) -> pa.Table:
    """Write a word in the place of a person's words where these were erased."""
    for place, name in enumerate(table.column_names):
        if name in _OF_PEOPLE and pc.any(pc.match_substring_regex(table[name], _ERASED), min_count=0).as_py():
            column = Wording(lambda text, language: say_erased(text, word("note", "erased", language)))
            table = table.set_column(place, name, _say_column(table, name, column, language))
    return table


def in_english(report: Report) -> Report:
    """Write the messages that runs stored as programs read them: in English, with values as they are."""
    table = report.table
    for place, name in enumerate(report.definition.names):
        column = _column(report.definition.name, name)
        write = _TO_ENGLISH.get(column) if column else None
        if write is not None and _may_hold_messages(table[name]):
            texts = table[name].combine_chunks().dictionary_encode()
            words = pa.array([write(text) for text in texts.dictionary.to_pylist()], pa.string())
            table = table.set_column(place, name, pc.take(words, texts.indices))
    return replace(report, table=_say_erased(table, "en"))


def _may_hold_messages(texts: pa.ChunkedArray) -> bool:
    """Return False for a column without a code, as most have none: reading each cell would take longer than a file."""
    return bool(pc.any(pc.match_substring_regex(texts, _CODE), min_count=0).as_py())


def cell_in_english(report: str, name: str, value: object) -> object:
    """Return a cell of a list as programs read it."""
    column = _column(report, name)
    write = _TO_ENGLISH.get(column) if column else None
    if name in _OF_PEOPLE and isinstance(value, str):
        value = say_erased(value, word("note", "erased", "en"))
    return write(value) if write is not None and isinstance(value, str) else value


def _say_column(table: pa.Table, name: str, column: Wording, language: str) -> pa.Array:
    """Say each different text once, unless other cells of its row decide."""
    if column.further:
        rows = zip(*(table[one].to_pylist() for one in (name, *column.further)), strict=True)
        said = (None if text is None else column.say(text, language, *others) for text, *others in rows)
        return pa.array(said, pa.string())
    texts = table[name].combine_chunks().dictionary_encode()
    words = pa.array([column.say(text, language) for text in texts.dictionary.to_pylist()], pa.string())
    return pc.take(words, texts.indices)
