"""Sentences and names that rules leave in the rows, in a reader's words; what nobody met yet stays as it is. Pure."""

import re

from consumer.facts.messages import is_translated, translate, word
from reports.shapes.definitions import CATALOGUE

# Stored sentences with a value in them.
_NAMED = re.compile(r"(lost dispute of|read only up to) (.+)")
_NOT_SEARCHED = re.compile(r"not searched: (\d+) (open documents|payments of one day)")
_SIGNS = (" + ", " - ")


def sentence(text: str, language: str) -> str:
    """Say a stored sentence, or several joined by semicolons."""
    if is_translated(f"note.{text}", language):
        return word("note", text, language)
    return "; ".join(_part(part, language) for part in text.split("; "))


def _part(text: str, language: str) -> str:
    """Say one sentence, which may name an item at its end, or how much there was."""
    if found := _NOT_SEARCHED.fullmatch(text):
        return f"{word('note', 'not searched', language)}: {found[1]} {word('note', found[2], language)}"
    if found := _NAMED.fullmatch(text):
        return f"{word('note', found[1], language)} {found[2]}"
    return word("note", text, language)


def history(text: str, language: str) -> str:
    """Say a word of the work list; what people wrote into it stays as they wrote it."""
    return word("history", text, language)


def rule(text: str, language: str) -> str:
    """Say how a rule decided: `key:order_ref:part` is a key, by the order, of a part of the balance."""
    first, *rest = (word("rule", part, language) for part in text.split(":"))
    return f"{first}: {', '.join(rest)}" if rest else first


def figure(text: str, language: str) -> str:
    """Say what a total of the control is about."""
    name, is_gross = text.removesuffix(", gross"), text.endswith(", gross")
    said = word("figure", name, language)
    return translate("{figure}, gross", language, figure=said) if is_gross else said


def source(text: str, language: str) -> str:
    """Say `payout-summary fee_total` by the report's title and its column's heading."""
    report, _, names = text.partition(" ")
    if report not in CATALOGUE:
        return text
    title = CATALOGUE[report].title(language)
    told = "".join(part if part in _SIGNS else _column(part, language) for part in re.split(r"( [+-] )", names))
    return f"{title}: {told}" if names else title


def _column(name: str, language: str) -> str:
    heading = f"column.{name}"
    return translate(heading, language) if is_translated(heading, language) else word("type", name, language)
