"""Messages for people: a code with its values where something happens, a sentence in the reader's language where it
is shown.

The sentences stand in `locale/<language>/LC_MESSAGES/cuadre.po`. A message's id is its code; the id of a text that a
page writes itself is its English. A catalogue is read when the first sentence is needed.

What is stored to be shown later is the code too, one message a line: `note.lost_dispute_of {"item":"pi_7"}`.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import TypeAlias, Union

import msgspec
from babel.dates import format_date
from babel.messages.pofile import read_po

from consumer.facts.texts import may_be_erased, say_erased

LANGUAGES = ("es-CL", "es-MX", "en")
_DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
_MONTHS = ("ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic")
# A value that is not known is None.
Value: TypeAlias = Union[str, int, date, "Message", None]


class _Stored(msgspec.Struct):
    """A message in a message, as `to_text` writes it."""

    code: str
    values: dict[str, Union[str, int, "_Stored", None]]


_decode_values = msgspec.json.Decoder(dict[str, str | int | _Stored | None]).decode


@dataclass(frozen=True, slots=True)
class Message:
    """A code with its values; `str` gives the English sentence, for terminals, logs and files of programs."""

    code: str
    values: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return translate(self, "en")

    def to_text(self) -> str:
        """Return what is stored of the message; its values are texts, numbers and messages."""
        return f"{self.code} {msgspec.json.encode(self.values).decode()}" if self.values else self.code


class RefusalError(ValueError):
    """Why something cannot be done: raised with a code and its values, or with a message made elsewhere."""

    def __init__(self, code: str | Message, /, **values: Value) -> None:
        self.message = Message(code, values) if isinstance(code, str) else code
        super().__init__(self.message)

    def __str__(self) -> str:
        return str(self.message)


def translate(message: Message | str, language: str, /, **values: Value) -> str:
    """Return a message, or a text of a page, in a language; text without a translation stays as it is."""
    if isinstance(message, Message):
        return translate(message.code, language, **message.values)
    sentence = _read_catalogue(language).get(message, message)
    return (
        sentence.format(**{name: _show(name, value, language) for name, value in values.items()})
        if values
        else sentence
    )


def parse_message(text: str) -> Message | None:
    """Return the message that `to_text` wrote; None for any other text, such as a sentence of an earlier version."""
    code, _, values = text.partition(" ")
    if "." not in code or not is_translated(code, "en"):
        return None
    try:
        found = _decode_values(values) if values else {}
    except msgspec.DecodeError:
        return None
    return _to_message(code, found)


def _to_message(code: str, values: Mapping[str, str | int | _Stored | None]) -> Message:
    inner = {
        name: _to_message(one.code, one.values) if isinstance(one, _Stored) else one for name, one in values.items()
    }
    return Message(code, inner)


def say_stored(text: str, language: str = "en", prepare: Callable[[Message], Message] | None = None) -> str:
    """Return stored messages as sentences joined by semicolons; text without one stays as it is.

    `prepare` returns a message with its values as a reader expects them, such as amounts with their currency.
    """
    text = say_erased(text, translate(Message("note.erased"), language)) if may_be_erased(text) else text
    lines = text.split("\n")
    messages = {line: message for line in lines if (message := parse_message(line)) is not None}
    said = {line: translate(prepare(one) if prepare else one, language) for line, one in messages.items()}
    return "; ".join(said.get(line, line) for line in lines) if said else text


def say_all_stored(value: object) -> object:
    """Return decoded JSON with every stored message in it as its English sentence."""
    match value:
        case str():
            return say_stored(value)
        case dict():
            return {key: say_all_stored(part) for key, part in value.items()}
        case list():
            return [say_all_stored(part) for part in value]
    return value


def say_stored_in_json(text: str) -> str:
    """Return JSON text as programs read it: stored messages in it as their English sentences."""
    try:
        decoded = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return msgspec.json.format(msgspec.json.encode(say_all_stored(decoded)), indent=0).decode()


def is_translated(text: str, language: str) -> bool:
    """Return True if the language's catalogue has the text or the code."""
    return text in _read_catalogue(language)


def word(group: str, key: str, language: str) -> str:
    """Return the words of a stored key, such as a state; one without words is shown as it is stored."""
    return _read_catalogue(language).get(f"{group}.{key}", key)


def list_words(group: str, language: str) -> list[str]:
    """Return all words of a group, such as those of every state."""
    return [text for code, text in _read_catalogue(language).items() if code.startswith(f"{group}.")]


def _show(name: str, value: Value, language: str) -> str | int | date:
    if value is None:
        return translate(Message("note.unknown"), language)
    if isinstance(value, Message):
        return translate(value, language)
    # A message that was stored holds its days as text.
    if isinstance(value, str) and name != "id" and _DAY.fullmatch(value):
        with suppress(ValueError):
            return write_day(date.fromisoformat(value), language)
    # A moment is written by its sentence, which says the zone too.
    return write_day(value, language) if isinstance(value, date) and not isinstance(value, datetime) else value


def write_day(on: date, language: str) -> str:
    """Return a day as people of a country write it; English has it as programs do."""
    match language:
        case "es-CL":
            return f"{on:%d-%m-%Y}"
        case "es-MX":
            return f"{on.day} {_MONTHS[on.month - 1]} {on.year}"
    return on.isoformat()


def write_month(month: str, language: str) -> str:
    """Return a month such as `2026-09` as people write it: `sep 2026`; English has it as programs do."""
    year, _, number = month.partition("-")
    is_month = number.isdecimal() and 1 <= int(number) <= len(_MONTHS)
    return f"{_MONTHS[int(number) - 1]} {year}" if language != "en" and is_month else month


def name_month(on: date, language: str) -> str:
    """Return the month of a day in words: septiembre de 2026."""
    return format_date(on, "MMMM y" if language == "en" else "MMMM 'de' y", locale=language.replace("-", "_"))


@cache
def _read_catalogue(language: str) -> Mapping[str, str]:
    path = Path(__file__).parent / "locale" / language.replace("-", "_") / "LC_MESSAGES" / "cuadre.po"
    with path.open("rb") as file:
        return {str(entry.id): str(entry.string) for entry in read_po(file) if entry.id and entry.string}
