"""Bank files as sheets (CSV, XLSX): columns by their usual names, one convention, balances and totals checked; pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from zoneinfo import ZoneInfo

from consumer.facts.countries import COUNTRIES
from consumer.facts.messages import Message
from consumer.facts.money import MoneyError, format_decimal
from reconcile.books import words
from reconcile.books.bank_statements import Balance, BankFileError, BankReading, BankRow, Statement
from reconcile.books.cells import Row, Sheet, SheetError, to_text, why_spoilt
from reconcile.books.dates import DateError, decide_style, to_date
from reconcile.books.dialects import COLUMNS
from reconcile.books.documents import NO_LINE, Reject, to_written
from reconcile.books.figures import DecimalMark, FigureError, Written, decide_mark, to_amount
from reconcile.books.headers import Header, find_header, normalise, set_headers_aside
from reconcile.books.proposals import place_header
from reconcile.books.sheets import read_sheets

_LEAST_NAMES = 2
_IN = {"a", "abono", "abonos", "credito", "haber", "deposito", "cr", "h", "crdt", "ingreso", "in", "inbound"}
_OUT = {"cargo", "cargos", "debito", "debe", "retiro", "d", "db", "dr", "dbit", "egreso", "out", "outbound"}
_AMOUNTS = ("amount", "credit", "debit", "balance")
_PLAIN = frozenset({*_AMOUNTS, "booked_on"})


@dataclass(frozen=True, slots=True)
class _Convention:
    """What holds for every row of one file; `c_is_credit` says what the letter C means there."""

    mark: DecimalMark
    style: str
    currency: str
    c_is_credit: bool | None
    zone: ZoneInfo


class _AmountError(FigureError):
    """An amount that cannot be used, and the column it stands in."""

    def __init__(self, reason: Message, field: str) -> None:
        super().__init__(reason)
        self.field = field


def read_bank_sheet(content: bytes, *, country: str, mapping: Mapping[str, str]) -> BankReading:
    """Read a whole file under one convention; any reject keeps all of it out."""
    try:
        sheets = [(sheet, _find_columns(sheet, mapping)) for sheet in read_sheets(content)]
    except SheetError as error:
        raise BankFileError(error.message) from None
    usable = [(sheet, header) for sheet, header in sheets if header is not None]
    if not usable:
        raise BankFileError("books.no_bank_header")
    lists = [sheet.encoding for sheet, _ in usable if not sheet.separator]
    if len(lists) > 1:
        raise BankFileError("books.several_lists", count=len(lists), sheets="; ".join(lists))
    sheet, header = max(usable, key=lambda pair: len(pair[1].at))
    return replace(_read_sheet(sheet, header, country), columns=header.list_columns())


def _read_sheet(sheet: Sheet, header: Header, country: str) -> BankReading:
    name = sheet.form
    doubled = tuple(_refuse_doubled(header))
    if doubled:
        return BankReading(name, rejects=doubled)
    body = [row for row in sheet.rows if row.line > header.line and not row.is_blank]
    body = set_headers_aside(body, header)
    totals = [row for row in body if is_total(row, header)]
    rows = [row for row in body if row not in totals]
    uneven = [row for row in rows if sheet.separator and len(row.cells) != header.cells]
    if uneven:
        reason = Message("books.row_width_of_header", {"header": header.cells})
        return BankReading(name, rejects=tuple(Reject(row.line, "", "", reason) for row in uneven))
    return _read(sheet, rows, totals, header, country=country)


def _find_columns(sheet: Sheet, mapping: Mapping[str, str]) -> Header | None:
    """Find the row of headings; above it a bank often names account, currency and balance in a row that looks alike."""
    header = place_header(sheet.rows, mapping)
    if header is not None:
        return header if _has_money(header) else None
    return find_header(sheet.rows, mapping, words=COLUMNS, least=_LEAST_NAMES, holds=_has_money)


def _has_money(header: Header) -> bool:
    return "booked_on" in header.at and ("amount" in header.at or {"credit", "debit"} <= header.at.keys())


def _refuse_doubled(header: Header) -> Iterator[Reject]:
    for field, name in header.names.items():
        if len(header.twins(field)) > 1:
            yield Reject(header.line, name, "", Message("books.column_twice"))


def _refuse_currencies(rows: Sequence[Row], header: Header, country: str) -> Iterator[Reject]:
    for row in rows:
        written = header.cell(row, "currency")
        try:
            words.to_currency(written, country, COUNTRIES[country].currency)
        except words.WordError as error:
            yield Reject(row.line, header.name("currency"), written, error.message)


def _read(sheet: Sheet, rows: Sequence[Row], totals: Sequence[Row], header: Header, *, country: str) -> BankReading:
    name = sheet.form
    unknown = tuple(_refuse_currencies(rows, header, country))
    if unknown:
        return BankReading(name, rejects=unknown)
    try:
        convention = _decide(sheet, rows, header, country)
    except FigureError as error:
        return BankReading(
            name, rejects=(Reject(header.line, "", "", Message("books.amount_problem", {"problem": error.message})),)
        )
    except words.WordError as error:
        return BankReading(name, rejects=(Reject(header.line, header.name("currency"), "", error.message),))
    rejects: list[Reject] = []
    found = [(row, _to_row(row, header, convention, rejects)) for row in rows]
    pairs = [(row, line) for row, line in found if line is not None]
    rejects = rejects or list(_find_reversals(rows, header, convention))
    if rejects:
        return BankReading(name, rejects=tuple(rejects))
    if not pairs:
        return BankReading(name, rejects=(Reject(NO_LINE, "", "", Message("books.no_movements")),))
    opening, closing, broken = _balances(pairs, header, convention)
    account = next((text for row in rows if (text := header.cell(row, "account"))), "")
    statement = Statement(account, convention.currency, tuple(line for _, line in pairs), opening, closing)
    return BankReading(
        name, (statement,), rejects=broken or tuple(check_totals(totals, header, statement, convention.mark))
    )


def _decide(sheet: Sheet, rows: Sequence[Row], header: Header, country: str) -> _Convention:
    home = COUNTRIES[country].currency
    said = {words.to_currency(header.cell(row, "currency"), country, home) for row in rows}
    if len(said) > 1:
        raise words.WordError("books.mixed_currencies", currencies=", ".join(sorted(said)))
    currency = said.pop() if said else home
    amounts = [
        written
        for row in rows
        for field in _AMOUNTS
        if (written := to_written(row, header, field, currency)) is not None
    ]
    preferred = DecimalMark.COMMA if country == "cl" and not header.is_canonical else DecimalMark.POINT
    style = decide_style((header.raw(row, "booked_on") for row in rows), from_1904=sheet.from_1904, may_be_short=True)
    flags = {normalise(header.cell(row, "direction")) for row in rows} - {""}
    c_is_credit = True if flags & {"d", "debito"} else False if flags & {"a", "abono"} else None
    zone = ZoneInfo(COUNTRIES[country].zone)
    return _Convention(decide_mark(amounts, preferred=preferred), style, currency, c_is_credit, zone)


def _to_row(row: Row, header: Header, convention: _Convention, rejects: list[Reject]) -> BankRow | None:
    def refuse(field: str, reason: Message) -> None:
        rejects.append(Reject(row.line, header.name(field), header.cell(row, field), reason))

    for field in header.at:
        if spoilt := why_spoilt(header.raw(row, field), names=field not in _PLAIN):
            refuse(field, spoilt)
            return None
    text = header.cell(row, "text")
    try:
        booked_on = _to_day(header.cell(row, "booked_on"), convention)
    except DateError as error:
        refuse("booked_on", error.message)
        return None
    try:
        amount = _to_money(row, header, convention)
    except _AmountError as error:
        refuse(error.field, error.message)
        return None
    if amount is None:
        # A line that only states a balance is no movement.
        if "saldo" not in normalise(text):
            refuse("amount" if "amount" in header.at else "credit", Message("books.empty"))
        return None
    words = " ".join(f"{text} {header.cell(row, 'detail')}".split())
    references = dict.fromkeys(header.cell(row, field) for field in ("reference", "tracking"))
    return BankRow(row.line, booked_on, amount, words, " ".join(filter(None, references)))


def _to_day(text: str, convention: _Convention) -> date:
    if not text:
        raise DateError("books.empty")
    return to_date(text, convention.style, convention.zone)


def _to_money(row: Row, header: Header, convention: _Convention) -> int | None:
    """One signed amount from one column, from two, or from one with a word for its direction."""

    def read(field: str) -> int | None:
        written: Written | None = to_written(row, header, field, convention.currency)
        try:
            return None if written is None else to_amount(written, convention.mark)
        except FigureError as error:
            raise _AmountError(error.message, field) from None

    if "amount" in header.at:
        amount = read("amount")
        return amount if amount is None else _apply_direction(amount, header.cell(row, "direction"), convention)
    credit, debit = read("credit"), read("debit")
    if credit and debit:
        raise _AmountError(Message("books.credit_and_debit"), "credit")
    if credit is None and debit is None:
        return None
    return (credit or 0) - abs(debit or 0)


def _apply_direction(amount: int, flag: str, convention: _Convention) -> int:
    word = normalise(flag)
    if not word:
        return -abs(amount) if flag.strip() == "-" else amount
    if word == "c" and convention.c_is_credit is None:
        raise _AmountError(Message("books.direction_c"), "amount")
    if word in _IN or (word == "c" and convention.c_is_credit):
        if amount < 0:
            raise _AmountError(Message("books.negative_inbound", {"direction": flag}), "amount")
        return amount
    if word in _OUT or word == "c":
        return -abs(amount)
    raise _AmountError(Message("books.unknown_direction", {"direction": flag}), "amount")


def _find_reversals(rows: Sequence[Row], header: Header, convention: _Convention) -> Iterator[Reject]:
    """A charge below zero where others are above may be taken back as well as taken: the file must say which."""
    field = "amount" if "amount" in header.at else "debit"
    if field == "amount" and "direction" not in header.at:
        return
    charges: list[tuple[Row, int]] = []
    for row in rows:
        written = to_written(row, header, field, convention.currency)
        is_charge = field == "debit" or normalise(header.cell(row, "direction")) in _OUT | {"c"}
        if written is not None and is_charge:
            charges.append((row, to_amount(written, convention.mark)))
    if not any(amount > 0 for _, amount in charges):
        return
    reason = Message("books.negative_charge")
    yield from (
        Reject(row.line, header.name(field), header.cell(row, field), reason) for row, amount in charges if amount < 0
    )


@dataclass(frozen=True, slots=True)
class _Stated:
    """A line with the balance after it, None where the file leaves that empty; some banks state one a day."""

    line: BankRow
    balance: int | None


def _balances(
    pairs: Sequence[tuple[Row, BankRow]], header: Header, convention: _Convention
) -> tuple[Balance | None, Balance | None, tuple[Reject, ...]]:
    """Follow the running balance, down the file or up it; where it is broken the file is not whole."""
    stated: list[_Stated] = []
    for row, line in pairs:
        written = to_written(row, header, "balance", convention.currency)
        try:
            stated.append(_Stated(line, None if written is None else to_amount(written, convention.mark)))
        except FigureError as error:
            return None, None, (Reject(row.line, header.name("balance"), header.cell(row, "balance"), error.message),)
    if all(one.balance is None for one in stated):
        return None, None, ()
    down, up = _breaks(stated), _breaks(stated[::-1])
    ordered, breaks = (stated, down) if len(down) <= len(up) else (stated[::-1], up)
    if breaks:
        line, balance, expected = breaks[0]
        shown = format_decimal(expected, convention.currency)
        written_as = format_decimal(balance, convention.currency)
        reason = Message("books.balance_broken", {"expected": shown})
        return None, None, (Reject(line.line, header.name("balance"), written_as, reason),)
    known = next(place for place, one in enumerate(ordered) if one.balance is not None)
    opening = (ordered[known].balance or 0) - sum(one.line.amount for one in ordered[: known + 1])
    closing = opening + sum(one.line.amount for one in ordered)
    return Balance(opening, ordered[0].line.booked_on), Balance(closing, ordered[-1].line.booked_on), ()


def _breaks(stated: Sequence[_Stated]) -> list[tuple[BankRow, int, int]]:
    """List the lines whose balance is not the one before with what moved since: line, balance, what it would be."""
    found: list[tuple[BankRow, int, int]] = []
    running: int | None = None
    for one in stated:
        running = None if running is None else running + one.line.amount
        if one.balance is not None:
            if running is not None and running != one.balance:
                found.append((one.line, one.balance, running))
            running = one.balance
    return found


_TOTALS = frozenset({"total", "totales", "subtotal"})
_BALANCES = frozenset({"saldo", "saldos"})
_OPENINGS = frozenset({"saldo inicial", "saldo anterior"})
_CLOSINGS = frozenset({"saldo final", "saldo actual"})


def is_total(row: Row, header: Header) -> bool:
    """Return True for a row that begins with such a word and has no day: a deposit of a payer called Total has one."""
    words = _first(row).split()
    if not words or words[0] not in _TOTALS | _BALANCES:
        return False
    day = header.cell(row, "booked_on")
    return not day or normalise(day) == _first(row) or (words[0] in _BALANCES and not _moves(row, header))


def _first(row: Row) -> str:
    return next((normalise(text) for cell in row.cells if (text := to_text(cell))), "")


def _moves(row: Row, header: Header) -> bool:
    return any(header.cell(row, field) for field in ("amount", "credit", "debit"))


def check_totals(rows: Sequence[Row], header: Header, statement: Statement, mark: DecimalMark) -> Iterator[Reject]:
    """Compare the sums that the file states: if none agrees, lines are missing or were changed."""
    amounts = [line.amount for line in statement.rows]
    credit, debit = sum(a for a in amounts if a > 0), -sum(a for a in amounts if a < 0)
    for row in rows:
        first = _first(row)
        if first.split()[0] == "subtotal":
            continue
        if first.split()[0] in _TOTALS:
            yield from _compare(row, header, statement, mark, fields=("amount", "credit", "debit"),
                                known={credit, debit, credit - debit, 0})  # fmt: skip
        edge = statement.opening if first in _OPENINGS else statement.closing if first in _CLOSINGS else None
        if edge is not None:
            yield from _compare(row, header, statement, mark, fields=("balance",), known={edge.amount})


def _compare(
    row: Row, header: Header, statement: Statement, mark: DecimalMark, *, fields: tuple[str, ...], known: set[int]
) -> Iterator[Reject]:
    for field in fields:
        written = to_written(row, header, field, statement.currency)
        if written is None:
            continue
        try:
            stated = to_amount(written, mark)
        except (FigureError, MoneyError):
            continue
        if stated not in known and -stated not in known:
            found = " or ".join(format_decimal(amount, statement.currency) for amount in sorted(known - {0}))
            reason = Message("books.lines_make_otherwise", {"found": found or "0"})
            yield Reject(row.line, header.name(field), written.text, reason)
