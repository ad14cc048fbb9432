"""Messages for people: a code with its values where something happens, a sentence in the reader's language where it
is shown.

The sentences stand in `locale/<language>/LC_MESSAGES/cuadre.po`. A message's id is its code; the id of a text that a
page writes itself is its English. A catalogue is read when the first sentence is needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import TypeAlias, Union

from babel.messages.pofile import read_po

LANGUAGES = ("es-CL", "es-MX", "en")
Value: TypeAlias = Union[str, int, date, "Message"]


@dataclass(frozen=True, slots=True)
class Message:
    """What is to be said; `str` says it in English, as terminals, logs and programs' files do."""

    code: str
    values: Mapping[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return translate(self, "en")


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
    return sentence.format(**{name: _show(value, language) for name, value in values.items()}) if values else sentence


def is_translated(text: str, language: str) -> bool:
    """Return True if the language's catalogue has the text or the code."""
    return text in _read_catalogue(language)


def word(group: str, key: str, language: str) -> str:
    """Return the words of a stored key, such as a state; one without words is shown as it is stored."""
    return _read_catalogue(language).get(f"{group}.{key}", key)


def _show(value: Value, language: str) -> str | int | date:
    return translate(value, language) if isinstance(value, Message) else value


@cache
def _read_catalogue(language: str) -> Mapping[str, str]:
    path = Path(__file__).parent / "locale" / language.replace("-", "_") / "LC_MESSAGES" / "cuadre.po"
    with path.open("rb") as file:
        return {str(entry.id): str(entry.string) for entry in read_po(file) if entry.id and entry.string}
