"""What bank files of any format say: statements of lines with their balances, and if they add up; pure."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from consumer.facts.clock import YEARS
from consumer.facts.messages import Message, RefusalError, Value
from consumer.facts.money import format_decimal
from reconcile.books.dates import NO_DAY
from reconcile.books.documents import NO_LINE, Reject
from reconcile.books.headers import ReadColumn

LAST_DIGITS = 4
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class BankRow:
    """One movement of the account: what came in is positive; `line` is where it stands in its file."""

    line: int
    booked_on: date
    amount: int
    text: str
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Balance:
    """What the bank says the account held at a statement's edge."""

    amount: int
    on: date


@dataclass(frozen=True, slots=True)
class Statement:
    """Lines between two balances; a format that states none has None, and an account it does not name is empty."""

    account: str
    currency: str
    rows: tuple[BankRow, ...]
    opening: Balance | None = None
    closing: Balance | None = None

    @property
    def days(self) -> tuple[date, date]:
        """The first and last day it speaks of.

        An opening balance mostly bears the day the one before closed on: it speaks of that day only where a line does.
        Lines dated outside the balances (some banks write the value date) do not widen it.
        """
        said = {row.booked_on for row in self.rows}
        if self.opening is None or self.closing is None:
            return min(said), max(said)
        until = self.closing.on
        return min(self.opening.on + (timedelta() if self.opening.on in said else _DAY), until), until


@dataclass(frozen=True, slots=True)
class BankReading:
    """What a file says, whether or not it may be kept."""

    file_format: str
    statements: tuple[Statement, ...] = ()
    rejects: tuple[Reject, ...] = ()
    notes: tuple[Message, ...] = ()
    columns: tuple[ReadColumn, ...] = ()


class BankFileError(RefusalError):
    """A file that cannot be read as a bank's at all; one sentence for a person."""


def account_digits(number: str) -> str:
    """An account's number without the spaces, points, hyphens and leading zeros that every bank writes otherwise."""
    plain = unicodedata.normalize("NFKC", number).upper()
    return "".join(char for char in plain if char.isascii() and char.isalnum()).lstrip("0")


def check_statements(statements: Sequence[Statement], account: str) -> Iterator[Reject]:
    """Find what keeps a file out: another account, balances its lines do not explain, a hole between two statements."""
    wanted = account_digits(account)
    currencies = sorted({statement.currency for statement in statements})
    if len(currencies) > 1:
        yield Reject(NO_LINE, "currency", "", Message("books.mixed_currencies", {"currencies": ", ".join(currencies)}))
    for statement in statements:
        if statement.account and account_digits(statement.account) != wanted:
            ends = statement.account[-LAST_DIGITS:]
            reason = Message("books.other_account", {"ends": ends})
            yield Reject(NO_LINE, "account", f"…{ends}", reason)
        yield from _check_days(statement)
        yield from _check_sum(statement)
    for before, after in pairwise(statements):
        same = (before.account, before.currency) == (after.account, after.currency)
        if not same or not before.closing or not after.opening:
            continue
        if before.closing.amount != after.opening.amount:
            closing, opening = (format_decimal(b.amount, before.currency) for b in (before.closing, after.opening))
            reason = Message("books.statement_missing", {"closing": closing, "opening": opening})
            yield Reject(NO_LINE, "opening", opening, reason)


def _check_days(statement: Statement) -> Iterator[Reject]:
    """Refuse days of years that no calendar of banks reaches, in which some programs write "no date"."""
    edges = [balance.on for balance in (statement.opening, statement.closing) if balance is not None]
    days = [*((row.line, row.booked_on) for row in statement.rows), *((NO_LINE, on) for on in edges)]
    for line, on in days:
        if on.year not in YEARS:
            yield Reject(line, "booked_on", on.isoformat(), NO_DAY)


def _check_sum(statement: Statement) -> Iterator[Reject]:
    opening, closing, currency = statement.opening, statement.closing, statement.currency
    if opening is None or closing is None:
        return
    total = sum(row.amount for row in statement.rows)
    if opening.amount + total != closing.amount:
        first, moved, last = (format_decimal(amount, currency) for amount in (opening.amount, total, closing.amount))
        values: dict[str, Value] = {"opening": first, "lines": len(statement.rows), "sum": moved, "closing": last}
        line = statement.rows[0].line if statement.rows else NO_LINE
        yield Reject(line, "closing", last, Message("books.balances_do_not_close", values))
