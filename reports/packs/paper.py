"""Pages on paper: headings, facts, tables of figures and lines to sign, as a PDF whose bytes follow from what it says.

Letters are those of Western Europe, which every reader of PDF has; another letter becomes a question mark.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias

from fpdf import FPDF
from fpdf.enums import Align, TextEmphasis, XPos, YPos
from fpdf.fonts import FontFace

from consumer.facts.texts import MARK
from reports.packs import sealing

_FONT, _LETTERS = "Helvetica", "windows-1252"
_MARGIN, _WIDTH, _NAME, _FACT = 16, 178, 70, 48
_LINE, _LEAST, _SMALL, _PLAIN, _LARGE = 4.6, 4.0, 7.5, 9, 16
_TINY, _CLOSE, _TOGETHER = 6.5, 3.2, 18
_LIGHT, _GREY, _BLACK = 200, 110, 20
# What a paragraph holds on a page of few lines.
_LONGEST = 300

Line: TypeAlias = Sequence[str]


class Paper:
    """One page A4 after another, written from above."""

    def __init__(self, title: str, *, language: str, at: datetime) -> None:
        self._pdf = FPDF(format="A4")
        self._pdf.core_fonts_encoding = _LETTERS
        self._pdf.set_creation_date(at)
        self._pdf.set_title(_to_letters(title))
        self._pdf.set_lang(language)
        # Another version of a library would write other bytes.
        self._pdf.set_producer("Cuadre")
        self._pdf.set_compression(False)
        self._pdf.set_margins(_MARGIN, _MARGIN)
        self._pdf.c_margin = 0
        self._pdf.set_auto_page_break(auto=True, margin=_MARGIN)
        self._pdf.add_page()
        self._write(title, size=_LARGE, height=9, bold=True)

    def _write(
        self, text: str, *, size: float = _PLAIN, height: float = _LINE, bold: bool = False, grey: bool = False
    ) -> None:
        self._pdf.set_font(_FONT, TextEmphasis.B if bold else TextEmphasis.NONE, size)
        self._pdf.set_text_color(_GREY if grey else _BLACK)
        self._pdf.multi_cell(_WIDTH, height, _to_letters(text), align=Align.L, new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def heading(self, text: str) -> None:
        if self._pdf.will_page_break(_TOGETHER):
            # A heading is not the last of its page.
            self._pdf.add_page()
        self._pdf.ln(2.2)
        self._write(text, size=10, height=5.6, bold=True)

    def note(self, text: str) -> None:
        self._write(text, size=_SMALL, height=_LEAST, grey=True)

    def facts(self, rows: Sequence[Line]) -> None:
        """Write names with what is known of each."""
        self._draw(rows, widths=(_FACT, _WIDTH - _FACT), align="LEFT", borders="NONE", has_head=False)

    def figures(self, rows: Sequence[Line], head: Line) -> None:
        """Write lines of figures below their heading; the first cell of a line is its name."""
        columns = len(head) - 1
        widths = (_NAME, *[(_WIDTH - _NAME) / columns] * columns)
        self._draw([head, *rows], widths=widths, align="RIGHT", borders="HORIZONTAL_LINES", has_head=True)

    def lines(self, rows: Sequence[Line], head: Line, widths: Sequence[float], figures: Sequence[int]) -> None:
        """Write a table of small print, its heading again on each page; `figures` are the columns of amounts."""
        self._pdf.set_font(_FONT, size=_TINY)
        self._pdf.set_text_color(_BLACK)
        self._pdf.set_draw_color(_LIGHT)
        aligned = ["RIGHT" if place in figures else "LEFT" for place in range(len(head))]
        with self._pdf.table(
            width=_WIDTH, col_widths=tuple(widths), text_align=tuple(aligned), line_height=_CLOSE, gutter_width=1.2,
            borders_layout="HORIZONTAL_LINES", headings_style=FontFace(emphasis="BOLD"), align=Align.L,
        ) as table:  # fmt: skip
            for line in (head, *rows):
                table.row([_to_letters(cell) for cell in line])

    def _draw(self, rows: Sequence[Line], *, widths: Sequence[float], align: str, borders: str, has_head: bool) -> None:
        self._pdf.set_font(_FONT, size=_PLAIN)
        self._pdf.set_text_color(_BLACK)
        self._pdf.set_draw_color(_LIGHT)
        with self._pdf.table(
            width=_WIDTH,
            col_widths=widths,
            text_align=("LEFT", *[align] * (len(widths) - 1)),
            line_height=_LINE,
            borders_layout=borders,
            first_row_as_headings=has_head,
            headings_style=FontFace(emphasis="BOLD"),
            align=Align.L,
        ) as table:
            for line in rows:
                table.row([_to_letters(cell) for cell in line])

    def signatures(self, names: Sequence[str]) -> None:
        """Write a line to sign for each name, side by side."""
        self._pdf.ln(14)
        width = _WIDTH / len(names)
        self._pdf.set_font(_FONT, size=_SMALL)
        self._pdf.set_draw_color(_BLACK)
        left, top = self._pdf.get_x(), self._pdf.get_y()
        for place, name in enumerate(names):
            self._pdf.line(left + place * width, top, left + (place + 1) * width - 6, top)
            self._pdf.set_xy(left + place * width, top + 1)
            self._pdf.cell(width, _LEAST, _to_letters(name))

    def to_bytes(self) -> bytes:
        """Return the PDF; it ends with room for the digest of all before."""
        return bytes(self._pdf.output()) + b"\n%" + sealing.BLANK


def _to_letters(text: str) -> str:
    """Return text in the letters of the page, on one line and not longer than a few."""
    line = " ".join(text.split())
    cut = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + MARK
    return cut.encode(_LETTERS, errors="replace").decode(_LETTERS)
