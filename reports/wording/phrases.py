"""Keys that rules, runs and jobs store, in a reader's words; a key without words stays as it is. Pure."""

import re

from consumer.facts.messages import is_translated, translate, word
from consumer.facts.tables.jobs import BY_HAND
from reports.shapes.definitions import CATALOGUE
from reports.wording import stored

_SIGNS = (" + ", " - ")


def rule(text: str, language: str) -> str:
    """Say how a rule decided: `key:order_ref:part` is a key, by the order, of a part of the balance."""
    first, *rest = (word("rule", part, language) for part in text.split(":"))
    return f"{first}: {', '.join(rest)}" if rest else first


def source(text: str, language: str) -> str:
    """Say `payout-summary fee_total` by the report's title and its column's heading."""
    report, _, names = text.partition(" ")
    if report not in CATALOGUE:
        return text
    title = CATALOGUE[report].title(language)
    named = "".join(part if part in _SIGNS else _column(part, language) for part in re.split(r"( [+-] )", names))
    return f"{title}: {named}" if names else title


def _column(name: str, language: str) -> str:
    heading = f"column.{name}"
    return translate(heading, language) if is_translated(heading, language) else word("type", name, language)


def columns(names: str, language: str) -> str:
    """Return the headings of columns, whose names stand in a row."""
    return ", ".join(_column(name, language) for name in names.split())


def job(name: str, language: str) -> str:
    """Say `pull:main:charges`: what is done, of which connection and of which stream, and whether by hand."""
    kind, _, rest = name.removesuffix(BY_HAND).partition(":")
    connection, _, part = rest.partition(":")
    asked = word("job", "by hand", language) if name.endswith(BY_HAND) else ""
    parts = (word("job", kind, language), connection, word("stream", part, language) if part else "", asked)
    return " · ".join(filter(None, parts))


def subject(text: str, language: str) -> str:
    """Say what an exception is about that is no payout, item or document: `stream:charges`."""
    kind, _, name = text.partition(":")
    if not is_translated(f"subject.{kind}", language):
        return text
    match kind:
        case "stream":
            said = word("stream", name, language)
        case "bank":
            account, _, day = name.partition(":")
            said = f"···{account.partition('-')[0]}, {stored.format_text(day, language)}"
        case _:
            said = name.replace(":", " ")
    return f"{word('subject', kind, language)}: {said}"


def code_title(code: str, language: str) -> str:
    return word("title", code, language)


def title_of(stored: str, language: str, code: str) -> str:
    """Say a stored title, which is English; what a code of tomorrow says stays in English."""
    return stored if language == "en" or not is_translated(f"title.{code}", language) else code_title(code, language)


def action_of(stored: str, language: str, code: str) -> str:
    """Say what to do: by the stored sentence where one case of a code asks for something of its own."""
    if language == "en" or not is_translated(f"action.{code}", language):
        return stored
    return translate(stored if is_translated(stored, language) else f"action.{code}", language)
