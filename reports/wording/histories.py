"""What closings and runs wrote down of the past, in a reader's words; pure."""

import re
from datetime import date

from consumer.facts.messages import word
from reports.shapes import notation
from reports.wording import phrases

_FROZEN = re.compile(r"(status|payout amount|computed amount|fee total|difference|total|currency|amount) (\S+)")
_APPLIED = re.compile(r"(\w+) ((?:cl|mx):\S+) (-?\d+)")
_CHANGED = re.compile(r"(difference|fees|balance) (-?\d+)")
# Longest first, so that a sentence goes before its words.
_CAUSES = (
    "another row of the same block changed", "the inputs of one of the runs are not kept on this machine",
    "event conflict", "unknown customer", "gaps changed", "as of", "calendar", "tariff", "rules code", "rules", "scope",
    "payout", "item", "document", "dispute", "decision", "fee", "changed", "gone", "new",
)  # fmt: skip
_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")
# What a cause is about, as in `fee changed (po_1); item new (pi_2)`.
_IDENTITY = re.compile(r"( \(.*?\)(?=; |$))", re.DOTALL)
_GROUP_OF = {"payout": "status", "document": "document", "item": "outcome", "exception": "severity"}


def format_figure(words: str, language: str, kind: str, currency: str) -> str:
    """Say what a closing wrote down of a payout, an item or a document, with its amounts as people write them."""
    known = re.search(r"currency (\w{3})", words)
    money = known.group(1) if known else currency
    parts = (_frozen_part(kind, part, money, language) for part in re.split(r", |; ", words))
    return ", ".join(filter(None, parts))


def _frozen_part(kind: str, part: str, currency: str, language: str) -> str:
    if found := _APPLIED.fullmatch(part):
        outcome, document, applied = found.groups()
        return f"{word('outcome', outcome, language)} {document} {_money(applied, currency, language)}"
    if found := _FROZEN.fullmatch(part):
        name, text = found.groups()
        said = word("payout", text, language) if name == "status" else _money(text, currency, language)
        return f"{word('closed_figure', name, language)} {said}"
    return word("outcome" if kind == "item" else "document", part, language)


def _money(text: str, currency: str, language: str) -> str:
    is_whole = text.lstrip("-").isdecimal()
    return notation.format_amount(int(text), currency, language) if is_whole else text


def format_change(words: str, language: str, kind: str, currency: str) -> str:
    """Say what a payout, document, item or exception was in a run, with its amounts as people write them."""
    return "; ".join(_changed_part(kind, part, currency, language) for part in words.split("; ")) if words else ""


def _changed_part(kind: str, words: str, currency: str, language: str) -> str:
    said = []
    for part in words.split(", "):
        if found := _CHANGED.fullmatch(part):
            said.append(f"{word('run_figure', found.group(1), language)} {_money(found.group(2), currency, language)}")
        else:
            first, *rest = part.split(" ")
            amounts = (_money(text, currency, language) for text in rest)
            said.append(" ".join([word(_GROUP_OF[kind], first, language), *amounts]))
    return ", ".join(said)


def changed_subject(subject: str, language: str, kind: str) -> str:
    """Name what changed; an exception by its title, not by its code."""
    if kind != "exception":
        return subject
    code, _, about = subject.partition(" ")
    return f"{phrases.code_title(code, language)} · {about.partition(':')[2] or about}"


def cause(text: str, language: str) -> str:
    """Return why something changed in a reader's words, digests shortened; an id in parentheses stays as it is."""
    return "".join(part if part.startswith(" (") else _format_cause(part, language) for part in _IDENTITY.split(text))


def _format_cause(text: str, language: str) -> str:
    text = re.sub(r"\b([0-9a-f]{8})[0-9a-f]{8,}…?", r"\1…", text)
    if language == "en":
        return text
    for english in _CAUSES:
        text = re.sub(rf"\b{english}\b", word("cause", english, language), text)
    return _DAY.sub(lambda found: notation.format_date(date.fromisoformat(found[0]), language), text)
