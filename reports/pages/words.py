"""Finding the words of a text or a stored key in the reader's language."""

from reports.pages.spanish import MEXICAN
from reports.pages.spanish import SPANISH as SPANISH_PAGES
from reports.pages.spanish_books import SPANISH_BOOKS
from reports.pages.stored import STORED

SPANISH = {**SPANISH_PAGES, **SPANISH_BOOKS}


def translate(text: str, language: str, /, **values: object) -> str:
    """Find the words for a text; one that is not in the dictionary stays as it is, since data is shown raw."""
    words = _words(text, language)
    return words.format(**values) if values else words


def _words(text: str, language: str) -> str:
    if text in STORED:
        return STORED[text][0 if language == "en" else 1]
    if language == "en":
        return text
    if language == "es-MX" and text in MEXICAN:
        return MEXICAN[text]
    return SPANISH.get(text, text)


def is_known(text: str) -> bool:
    return text in SPANISH or text in STORED


def value(group: str, name: str, language: str) -> str:
    """Translate a stored word such as an outcome; one nobody has met yet is shown as it is stored."""
    key = f"{group}.{name}"
    return translate(key, language) if key in STORED else name
