"""How long a text may be where people read it, and the mark of one that was cut."""

LONGEST_SHOWN = 2_000
# What a cell of a spreadsheet holds, in units of UTF-16.
LONGEST_CELL = 32_767
MARK = "…"


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
