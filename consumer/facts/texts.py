"""Texts: how long they may be, for an identifier, a reader or a cell, and what a spreadsheet would run as a formula."""

import re
from typing import TypeGuard

LONGEST_SHOWN = 2_000
# What a cell of a spreadsheet holds, in units of UTF-16.
LONGEST_CELL = 32_767
MARK = "…"
_LONGEST_IDENTIFIER = 255

# What stands in the place of an erased person's words. No register has such tax ids: twelve digits, or a day 0.
ERASED = re.compile(r"ERASED[A-P]{10}|(?<!\d)999\d{9}(?:-[\dK])?(?![\dK])|(?<!\w)Z[A-Z]{3}000000[A-Z0-9]{3}(?!\w)")
_ALL_ERASED = re.compile(rf"(?:{ERASED.pattern})(?:[\W_]*(?:{ERASED.pattern}))*")


def say_erased(text: str, word: str) -> str:
    """Return a text for readers: one word for all that is erased and stands together."""
    return _ALL_ERASED.sub(word, text) if may_be_erased(text) else text


def may_be_erased(text: str) -> bool:
    """Return False for nearly every text: looking closer takes longer."""
    return "ERASED" in text or "999" in text or "000000" in text


def is_identifier(value: object) -> TypeGuard[str]:
    """Return True for text of 1 to 255 printable characters."""
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_IDENTIFIER and value.isprintable()


def shorten(text: str) -> str:
    """Cut a text that people read; the mark is its last character."""
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + MARK


def fit_cell(text: str) -> str:
    """Cut a text to what a cell of a spreadsheet holds; the mark is its last character."""
    units = text.encode("utf-16-le")
    if len(units) <= 2 * LONGEST_CELL:
        return text
    # A sign of two units that the cut would part is left out whole.
    return units[: 2 * (LONGEST_CELL - 1)].decode("utf-16-le", errors="ignore") + MARK


BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n", "\x00", "＝", "＋", "－", "＠")


def defuse(text: str) -> str:
    return f"'{text}" if text.startswith(BEGINNINGS) else text


def restore(text: str) -> str:
    """Return the text without the apostrophe that `defuse` added."""
    return text[1:] if text.startswith("'") and text[1:].startswith(BEGINNINGS) else text
