"""Messages that runs and closings stored, in a reader's words: each value written as its name asks for. Pure."""

import re
from dataclasses import replace
from datetime import date, datetime

from consumer.facts.columns import Kind, kind_of
from consumer.facts.messages import Message, Value, say_stored, word
from reports.shapes import notation
from reports.wording.inputs import format_value

# Values that are states, with the group of their words; a message may mean another group than the others do.
_GROUPS = {
    "status": "payout", "status_recon": "status", "outcome": "outcome", "severity": "severity",
    "figure.document_of_run.outcome": "document",
}  # fmt: skip
# Values that may be days, instants or digests; an id stays as it is even if it looks like one.
_WRITTEN_OUT = {"until", "before", "after"}
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_DIGEST = re.compile(r"([0-9a-f]{8})[0-9a-f]{8,}…?")
_CALENDAR = "cause.calendar"


def sentence(text: str, language: str, currency: str = "") -> str:
    """Return stored messages as sentences; text that is none, such as one of an earlier version, as it is."""

    def prepare(message: Message) -> Message:
        money = str(message.values.get("currency", currency))
        shown = {name: _show(message.code, name, value, money, language) for name, value in message.values.items()}
        return replace(message, values=shown)

    return say_stored(text, language, prepare)


def _show(code: str, name: str, value: Value, currency: str, language: str) -> Value:
    if isinstance(value, int):
        if kind_of(name) is Kind.MONEY:
            return notation.format_amount(value, currency, language) if currency else value
        return notation.format_count(value, language)
    if not isinstance(value, str):
        return value
    if code == _CALENDAR:
        return format_value("calendars", value, language)
    group = _GROUPS.get(f"{code}.{name}") or _GROUPS.get(name)
    if group:
        return word(group, value, language)
    return format_text(value, language) if name in _WRITTEN_OUT else value


def is_instant(text: str) -> bool:
    return _INSTANT.fullmatch(text) is not None


def format_text(text: str, language: str) -> str:
    """Write a day or an instant as the reader does, shorten a digest, and leave other texts as they are.

    Instants are in UTC and say so: runs on one page may be of several zones.
    """
    if is_instant(text):
        return f"{notation.format_moment(datetime.fromisoformat(text), language, 'UTC')} UTC"
    if found := _DIGEST.fullmatch(text):
        return f"{found[1]}…"
    try:
        return notation.format_date(date.fromisoformat(text), language)
    except ValueError:
        return text


def subject_of_change(subject: str, language: str, kind: str) -> str:
    """Name what changed between two runs; an exception by its title, not by its code."""
    if kind != "exception":
        return subject
    code, _, about = subject.partition(" ")
    return f"{word('title', code, language)} · {about.partition(':')[2] or about}"
