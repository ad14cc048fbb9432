"""Exchange rates into the books: one value a day and currency, from a file that goes in whole or not at all."""

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from consumer.facts.house import Connection, House
from consumer.facts.store import put
from consumer.facts.terminal import Exit
from reconcile.books.dates import DateError, decide_style, to_date
from reconcile.books.documents import Reject
from reconcile.books.headers import Vocabulary, find_header
from reconcile.books.sheet import SheetError, read_sheets
from reconcile.tables import ExchangeRate

COLUMNS: Vocabulary = {"on": ("date", "fecha", "dia"), "value": ("valor", "value", "rate", "tipo de cambio", "uf")}
_POINT = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_COMMA = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:,\d+)?")
_NO_LINE = 0


@dataclass(frozen=True, slots=True)
class RatesOutcome:
    name: str
    rates: tuple[tuple[date, str], ...] = ()
    rejects: tuple[Reject, ...] = ()

    @property
    def accepted(self) -> bool:
        return not self.rejects

    @property
    def status(self) -> Exit:
        return Exit.DONE if self.accepted else Exit.NOTHING_DONE


def import_rates(house: House, connection: Connection, path: Path, *, currency: str) -> RatesOutcome:
    """Keep the rates of one file; a later value of a day replaces the earlier one."""
    try:
        outcome = read_rates(path.name, path.read_bytes())
    except OSError as error:
        return _refused(path.name, f"the file cannot be read: {error.strerror}")
    except SheetError as error:
        return _refused(path.name, str(error))
    if outcome.accepted:
        with house.store.transaction() as session:
            for on, value in outcome.rates:
                row = {"connection": connection.name, "currency": currency, "on": on, "value": value}
                put(session.connection(), ExchangeRate, row, keys=["connection", "currency", "on"])
    return outcome


def _refused(name: str, reason: str) -> RatesOutcome:
    return RatesOutcome(name, rejects=(Reject(_NO_LINE, "", "", reason),))


def read_rates(name: str, content: bytes) -> RatesOutcome:
    """Read a day and a value from each row under one convention; pure."""
    found = ((sheet, find_header(sheet.rows, {}, words=COLUMNS, least=len(COLUMNS))) for sheet in read_sheets(content))
    sheet, header = next((pair for pair in found if pair[1] is not None), (None, None))
    if sheet is None or header is None:
        return _refused(name, "no row names a date (fecha) and a value (valor) column")
    body = [row for row in sheet.rows if row.line > header.line and not row.is_blank]
    style = decide_style(header.cell(row, "on") for row in body)
    texts = [header.cell(row, "value").replace("$", "").strip() for row in body]
    is_point = all(_POINT.fullmatch(text) for text in texts)
    shape, group, mark = (_POINT, ",", ".") if is_point else (_COMMA, ".", ",")
    rates: dict[date, str] = {}
    rejects: list[Reject] = []
    for row, text in zip(body, texts, strict=True):
        try:
            on = to_date(header.cell(row, "on"), style)
        except DateError as error:
            rejects.append(Reject(row.line, header.name("on"), header.cell(row, "on"), str(error)))
            continue
        value = text.replace(group, "").replace(mark, ".")
        if not shape.fullmatch(text) or not value.strip("0."):
            rejects.append(Reject(row.line, header.name("value"), text, "is not a rate above zero"))
        elif rates.setdefault(on, value) != value:
            rejects.append(Reject(row.line, header.name("value"), text, f"another value stands for {on} above"))
    return RatesOutcome(name, tuple(sorted(rates.items())), tuple(rejects))
