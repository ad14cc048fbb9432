"""Exchange rates into the books: one value a day and currency, from a file that goes in whole or not at all."""

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from sqlmodel import select

from consumer.facts.countries import COUNTRIES
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.facts.store import put
from reconcile.books.cells import SheetError
from reconcile.books.dates import DateError, decide_style, to_date
from reconcile.books.documents import NO_LINE, Reject, to_written
from reconcile.books.figures import FigureError, decide_rate_mark, to_rate
from reconcile.books.headers import Vocabulary, find_header
from reconcile.books.sheets import read_sheets
from reconcile.tables.books import ExchangeRate

COLUMNS: Vocabulary = {"on": ("date", "fecha", "dia"), "value": ("valor", "value", "rate", "tipo de cambio", "uf")}
# Currencies that documents are priced in; the first is the usual one.
RATED_CURRENCIES = ("CLF", "USD", "EUR")
HOME_RATE = RATED_CURRENCIES[0]


@dataclass(frozen=True, slots=True)
class RatesOutcome:
    name: str
    rates: tuple[tuple[date, str], ...] = ()
    rejects: tuple[Reject, ...] = ()
    changed: int = 0

    @property
    def accepted(self) -> bool:
        return not self.rejects


def import_rates(installation: Installation, connection: Connection, path: Path, *, currency: str) -> RatesOutcome:
    """Keep the rates of one file; a later value of a day replaces the earlier one."""
    if currency not in RATED_CURRENCIES:
        known = ", ".join(RATED_CURRENCIES)
        return _refuse(path.name, Message("books.unrated_currency", {"currency": currency[:20], "known": known}))
    try:
        outcome = read_rates(path.name, path.read_bytes(), country=connection.country_code)
    except OSError as error:
        return _refuse(path.name, Message("books.file_unreadable", {"reason": str(error.strerror)}))
    except SheetError as error:
        return _refuse(path.name, error.message)
    if outcome.accepted:
        with installation.store.transaction() as session:
            mine = (ExchangeRate.connection == connection.name, ExchangeRate.currency == currency)
            before = {(rate.on, rate.value) for rate in session.exec(select(ExchangeRate).where(*mine))}
            outcome = replace(outcome, changed=len(set(outcome.rates) - before))
            for on, value in outcome.rates:
                row = {"connection": connection.name, "currency": currency, "on": on, "value": value}
                put(session.connection(), ExchangeRate, row, keys=["connection", "currency", "on"])
    return outcome


def _refuse(name: str, reason: Message) -> RatesOutcome:
    return RatesOutcome(name, rejects=(Reject(NO_LINE, "", "", reason),))


def read_rates(name: str, content: bytes, *, country: str) -> RatesOutcome:
    """Read a day and a value from each row under one convention; pure."""
    found = ((sheet, find_header(sheet.rows, {}, words=COLUMNS, least=len(COLUMNS))) for sheet in read_sheets(content))
    sheet, header = next((pair for pair in found if pair[1] is not None), (None, None))
    if sheet is None or header is None:
        return _refuse(name, Message("books.no_rates_header"))
    body = [row for row in sheet.rows if row.line > header.line and not row.is_blank]
    style = decide_style((header.raw(row, "on") for row in body), from_1904=sheet.from_1904)
    zone = ZoneInfo(COUNTRIES[country].zone)
    home = COUNTRIES[country].currency
    values = [to_written(row, header, "value", home) for row in body]
    try:
        mark = decide_rate_mark(filter(None, values))
    except FigureError as error:
        return _refuse(name, Message("books.value_problem", {"problem": error.message}))
    rates: dict[date, str] = {}
    rejects: list[Reject] = []
    for row, written in zip(body, values, strict=True):
        try:
            on = to_date(header.cell(row, "on"), style, zone)
        except DateError as error:
            rejects.append(Reject(row.line, header.name("on"), header.cell(row, "on"), error.message))
            continue
        value = None if written is None else to_rate(written, mark)
        text = header.cell(row, "value")
        if value is None:
            rejects.append(Reject(row.line, header.name("value"), text, Message("books.no_rate")))
        elif rates.setdefault(on, value) != value:
            rejects.append(Reject(row.line, header.name("value"), text, Message("books.another_rate", {"day": on})))
    return RatesOutcome(name, tuple(sorted(rates.items())), tuple(rejects))
