"""Texts: how long they may be, for an identifier, a reader or a cell, and what a spreadsheet would run as a formula."""

from typing import TypeGuard

LONGEST_SHOWN = 2_000
# What a cell of a spreadsheet holds, in units of UTF-16.
LONGEST_CELL = 32_767
MARK = "…"
_LONGEST_IDENTIFIER = 255


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
