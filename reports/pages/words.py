"""Finding the words of a text or a stored key in the reader's language."""

import re
from collections.abc import Sequence

from consumer.facts import messages
from consumer.facts.messages import Message
from reports.pages.spanish import MEXICAN
from reports.pages.spanish import SPANISH as SPANISH_PAGES
from reports.pages.spanish_books import SPANISH_BOOKS, SPANISH_TRAIL
from reports.pages.spanish_refusals import SPANISH_REFUSALS
from reports.pages.spanish_refusals_of_bank_files import SPANISH_REFUSALS_OF_BANK_FILES
from reports.pages.spanish_refusals_of_documents import SPANISH_REFUSALS_OF_DOCUMENTS
from reports.pages.spanish_refusals_of_files import SPANISH_REFUSALS_OF_FILES
from reports.pages.stored import STORED
from reports.shapes.dialects import local

SPANISH = {**SPANISH_PAGES, **SPANISH_BOOKS}


def translate(text: str, language: str, /, **values: object) -> str:
    """Find the words for a text; one that is not in the dictionary stays as it is, since data is shown raw."""
    words = _words(text, language)
    return words.format(**values) if values else words


def _words(text: str, language: str) -> str:
    if language == "en":
        return STORED[text][0] if text in STORED else text
    if language == "es-MX" and text in MEXICAN:
        return MEXICAN[text]
    spanish = STORED[text][1] if text in STORED else SPANISH.get(text)
    return text if spanish is None else local(spanish, language)


def is_known(text: str) -> bool:
    return text in SPANISH or text in STORED


def value(group: str, name: str, language: str) -> str:
    """Translate a stored word such as an outcome; one nobody has met yet is shown as it is stored."""
    key = f"{group}.{name}"
    return translate(key, language) if key in STORED else name


def of_trail(action: str, language: str) -> str:
    """Say what somebody did."""
    return action if language == "en" else local(SPANISH_TRAIL.get(action, action), language)


def apart(names: Sequence[str], language: str) -> str:
    """Name what tells documents apart that look the same."""
    headings = {"order_ref": "Order", "issue_date": "Issued", "due_date": "Due"}
    told = [translate(headings[name], language).lower() for name in names]
    return ", ".join(told) or translate("only their number", language)


def _to_pattern(english: str) -> re.Pattern[str]:
    """Make a hole take whatever stands there."""
    holes = re.sub(r"\\\{(\w)\\\}", r"(?P<\1>.+?)", re.escape(english))
    return re.compile(holes, re.DOTALL)


_REFUSALS = tuple(
    (_to_pattern(english), spanish)
    for english, spanish in (
        *SPANISH_REFUSALS,
        *SPANISH_REFUSALS_OF_FILES,
        *SPANISH_REFUSALS_OF_DOCUMENTS,
        *SPANISH_REFUSALS_OF_BANK_FILES,
    )
)


def refusal(said: Message | str, language: str) -> str:
    """Say why something cannot be done; a sentence that nobody translated stays as the room said it."""
    if isinstance(said, Message) and messages.is_translated(said.code, language):
        return _as_sentence(messages.translate(said, language), language)
    sentence = str(said)
    told = None if language == "en" else _to_spanish(sentence)
    if told is None:
        return sentence
    return _as_sentence(local(told, language), language)


def _as_sentence(told: str, language: str) -> str:
    if language == "en" or told.endswith("."):
        return told
    # A parameter of an address or a job keeps its name as it is written.
    is_named = ":" in told.partition(" ")[0]
    return f"{told if is_named else told[0].upper() + told[1:]}."


def _to_spanish(sentence: str) -> str | None:
    """Fill the holes with what stands there, which may be a sentence of its own."""
    for pattern, spanish in _REFUSALS:
        if found := pattern.fullmatch(sentence):
            return spanish.format(**{name: _to_spanish(text) or text for name, text in found.groupdict().items()})
    return None
