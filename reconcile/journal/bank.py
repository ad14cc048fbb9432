"""Pure: the bank account of the journal held against its statements, for layouts that can say what an account holds.

The journal books payouts that arrived and nothing else of the account. Every other line of the statements is written
as one movement a day, so that the account ends where the statement does. An arrival that is no line of the account is
not made up for: the balance that follows then differs, and the program that reads the file says so.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from reconcile.journal.booking import BookedEntry
from reconcile.journal.profiles import Of
from reconcile.reading.bank_accounts import BankAccount, Statement

_BANK = "bank"
_DAY = timedelta(days=1)
_NEAR = timedelta(days=3)


class BankRecord(NamedTuple):
    """What is written of the bank account at the end of a day: an opening, other movements, or a balance."""

    of: Of
    on: date
    currency: str
    amount: int


class BankBook:
    """Follows the bank account through an export, day by day."""

    def __init__(self, account: BankAccount | None, since: date, until: date) -> None:
        self._since, self._until = since, until
        self._ids = frozenset(account.lines) if account is not None else frozenset()
        self._moved: Counter[date] = Counter()
        self._amounts: dict[int, list[date]] = defaultdict(list)
        for booked_on, amount in account.lines.values() if account is not None else ():
            self._moved[booked_on] += amount
            self._amounts[amount].append(booked_on)
        self._waiting = [one for one in (account.statements if account else ()) if one.until >= since]
        self._open: Statement | None = None
        # What the account holds in the file, and how much of it the statement's lines explain.
        self._balance: Counter[str] = Counter()
        self._explained = 0
        self._days = sorted(self._list_days())

    def add(self, entry: BookedEntry) -> None:
        """Count what an entry moves on the bank account."""
        for line in entry.lines:
            amount = line.amount * ((line.debit.key == _BANK) - (line.credit.key == _BANK))
            if amount:
                self._balance[entry.currency] += amount
                is_known = self._is_line(line.posting.operation, line.amount, entry.on)
                if self._open is not None and self._open.currency == entry.currency and is_known:
                    self._explained += amount

    def end_days(self, until: date) -> Iterator[BankRecord]:
        """Yield what is to be written up to the end of a day."""
        while self._days and self._days[0] <= until:
            on = self._days.pop(0)
            if self._open is not None:
                yield from self._end_day(self._open, on)
            if self._waiting and on == max(self._waiting[0].since, self._since) - _DAY:
                self._open = self._waiting.pop(0)
                yield from self._begin(self._open, on)

    def _begin(self, statement: Statement, on: date) -> Iterator[BankRecord]:
        wanted = self._expect(statement, on)
        amount = wanted - self._balance[statement.currency]
        if amount:
            yield BankRecord(Of.OPENING, on, statement.currency, amount)
        self._balance[statement.currency] = self._explained = wanted

    def _end_day(self, statement: Statement, on: date) -> Iterator[BankRecord]:
        other = self._expect(statement, on) - self._explained
        if other:
            yield BankRecord(Of.OTHER, on, statement.currency, other)
            self._balance[statement.currency] += other
            self._explained += other
        if on == statement.until:
            yield BankRecord(Of.BALANCE, on, statement.currency, statement.closing)
            self._open = None

    def _expect(self, statement: Statement, on: date) -> int:
        """Return what the account holds at the end of a day, by the lines of its statement."""
        days = (statement.since + timedelta(days=count) for count in range((on - statement.since).days + 1))
        return statement.opening + sum(self._moved[day] for day in days)

    def _is_line(self, operation: str, amount: int, on: date) -> bool:
        """Return True if an arrival is a line of the account: by its id, or by its amount within a few days."""
        return operation in self._ids or any(abs(on - day) <= _NEAR for day in self._amounts.get(amount, ()))

    def _list_days(self) -> set[date]:
        """Return the days at whose end something may be written: every day of a statement, and the one before it."""
        days: set[date] = set()
        for one in self._waiting:
            first, last = max(one.since, self._since) - _DAY, min(one.until, self._until)
            days.update(first + timedelta(days=count) for count in range((last - first).days + 1))
        return days
