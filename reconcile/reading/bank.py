"""What arrived at the bank: movements of the accounts payouts go to, and lines of the merchant's own bank files."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

import msgspec
import sqlalchemy as sa
from pandas import DataFrame
from sqlmodel import SQLModel

from consumer.facts.bankdays import BankCalendar
from consumer.facts.clock import to_instant
from consumer.facts.installation import Connection
from consumer.facts.tables.provider import AccountMovement, AccountNumber, LinkAccount, LinkMovement, Payout
from consumer.facts.tables.types import core_of
from reconcile.books.bank_statements import LAST_DIGITS, account_digits
from reconcile.books.dialects import ADVICE_FORMS
from reconcile.rules.inputs import BANK, to_types
from reconcile.tables.books import BankFile, BankLine

_DAY = len("2026-10-31")
_NAME_LENGTH = 16
_SHORTEST = 5
_INBOUND, _CONFIRMED = "inbound", "confirmed"
_TEXTS = ("comment", "description", "reference_id", "resource_id")

# One row of the frame, in the order of `BANK`.
_Row: TypeAlias = tuple[object, ...]


class Movement(NamedTuple):
    """A movement as it is stored; `word` is the direction on a business account, the status on a linked one."""

    id: str
    account_id: str
    amount: int | None
    currency: str
    created_at: datetime | None
    body: str
    word: str


class FileLine(NamedTuple):
    """A line of a bank file as it is stored."""

    id: str
    account: str
    booked_on: date
    amount: int
    currency: str
    text: str
    reference: str
    file_sha256: str


@dataclass(frozen=True, slots=True)
class Imported:
    """Lines of imported bank files, and the files: their accounts, days and balances."""

    lines: Iterable[FileLine] = ()
    files: Iterable[BankFile] = ()


def read_bank(database: sa.Connection, connection: Connection, calendar: BankCalendar) -> DataFrame:
    """Read movements of those accounts that payouts were sent to, and what bank files say."""
    reader = Accounts(database, connection)
    recipients = reader.recipients()
    own, linked = reader.find_own_numbers(recipients), reader.find_linked_numbers(recipients)
    return bank_lines(
        own=reader.movements(AccountMovement, own, "direction"),
        linked=reader.movements(LinkMovement, linked, "status"),
        numbers=own | linked,
        calendar=calendar,
        imported=reader.read_imports(),
    )


class Accounts:
    """Queries of one connection and mode."""

    def __init__(self, database: sa.Connection, connection: Connection) -> None:
        self._database, self._connection = database, connection

    def _select(self, table: type[SQLModel], *names: str) -> sa.Select[tuple[object, ...]]:
        """Select columns of the rows of this connection and mode that are not gone at the provider."""
        columns = core_of(table).c
        mine = (columns.connection == self._connection.name, columns.mode == self._connection.mode)
        return sa.select(*(columns[name] for name in names)).where(*mine, columns.gone_at.is_(None))

    def recipients(self) -> set[str]:
        """Return the numbers of the accounts as digits, however each side writes them."""
        rows = self._database.execute(self._select(Payout, "recipient_number").distinct())
        return {account_digits(row.recipient_number) for row in rows if row.recipient_number}

    def find_own_numbers(self, recipients: set[str]) -> dict[str, str]:
        rows = self._database.execute(self._select(AccountNumber, "account_id", "number"))
        return {row.account_id: row.number for row in rows if row.number and account_digits(row.number) in recipients}

    def find_linked_numbers(self, recipients: set[str]) -> dict[str, str]:
        rows = self._database.execute(self._select(LinkAccount, "id", "body"))
        numbers = {row.id: msgspec.json.decode(row.body).get("number") for row in rows}
        return {
            account: number
            for account, number in numbers.items()
            if isinstance(number, str) and account_digits(number) in recipients
        }

    def movements(self, table: type[SQLModel], accounts: dict[str, str], word: str) -> list[Movement]:
        if not accounts:
            return []
        columns = core_of(table).c
        wanted = self._select(table, "id", "account_id", "amount", "currency", "created_at", "body", word)
        wanted = wanted.where(columns.account_id.in_(sorted(accounts))).order_by(columns.id)
        return list(map(Movement._make, self._database.execute(wanted)))

    def read_imports(self) -> Imported:
        lines, files = core_of(BankLine).c, core_of(BankFile)
        mine = sa.select(*(lines[name] for name in FileLine._fields)).where(lines.connection == self._connection.name)
        own = sa.select(files).where(files.c.connection == self._connection.name)
        return Imported(
            list(map(FileLine._make, self._database.execute(mine))),
            [BankFile(**row) for row in self._database.execute(own).mappings()],
        )


def account_name(number: str | None) -> str | None:
    """Return a name of an account that does not show its number, or None for masked or short digits."""
    digits = account_digits(number or "")
    if len(digits) < _SHORTEST or "*" in (number or ""):
        return None
    return hashlib.sha256(digits.encode()).hexdigest()[:_NAME_LENGTH]


def bank_lines(
    *,
    own: Iterable[Movement],
    linked: Iterable[Movement],
    numbers: Mapping[str, str],
    calendar: BankCalendar,
    imported: Imported | None = None,
) -> DataFrame:
    """Return the bank's lines of both sources, in full: the rules decide which of them are one deposit. Pure.

    A business account gives the direction as a word, a linked account as the sign of the amount.
    """
    of_own, of_linked = list(_moves(own, calendar)), list(_moves(linked, calendar))
    begun_own, begun_linked = _first_days(of_own), _first_days(of_linked)
    rows = [_line(move, numbers, known_since=None) for move in of_own if move.row.word == _INBOUND]
    rows += [
        _line(move, numbers, known_since=begun_linked[_place(move)]) for move in of_linked if _has_arrived(move.row)
    ]
    rows += _accounts(begun_own, numbers, may_begin_late=False)
    rows += _accounts(begun_linked, numbers, may_begin_late=True)
    if imported is not None:
        rows += _file_lines(imported, calendar)
    frame = DataFrame(rows, columns=list(BANK))
    return to_types(frame.sort_values("movement_id", ignore_index=True), BANK)


class _Move(NamedTuple):
    """A movement the provider shows, with its days."""

    row: Movement
    body: Mapping[str, object]
    booked_on: date
    bank_day: date


def _has_arrived(linked: Movement) -> bool:
    return linked.amount is not None and linked.amount > 0 and linked.word == _CONFIRMED


def _moves(rows: Iterable[Movement], calendar: BankCalendar) -> Iterator[_Move]:
    for row in rows:
        body = msgspec.json.decode(row.body)
        found = _days(body, row.created_at, calendar)
        if found is not None:
            yield _Move(row, body, *found)


def _line(move: _Move, numbers: Mapping[str, str], *, known_since: date | None) -> _Row:
    row, body, number = move.row, move.body, numbers[move.row.account_id]
    texts = [text for name in _TEXTS if isinstance(text := body.get(name), str)]
    reference = body.get("reference_id") if isinstance(body.get("reference_id"), str) else None
    return (
        row.id, account_name(number), number[-LAST_DIGITS:], row.amount, row.currency, move.booked_on, move.bank_day,
        "\n".join(texts) or None, reference, known_since, None,
    )  # fmt: skip


def _place(move: _Move) -> tuple[str, str]:
    return move.row.account_id, move.row.currency


def _first_days(moves: list[_Move]) -> dict[tuple[str, str], date]:
    """Return the day of the first movement of each account and currency."""
    first: dict[tuple[str, str], date] = {}
    for move in moves:
        first[_place(move)] = min(move.booked_on, first.get(_place(move), move.booked_on))
    return first


def _accounts(
    first: Mapping[tuple[str, str], date], numbers: Mapping[str, str], *, may_begin_late: bool
) -> Iterator[_Row]:
    """Yield a row without money for each account of which movements are shown, from its first movement on."""
    for (account_id, currency), since in sorted(first.items()):
        number = numbers[account_id]
        yield (
            f"shown_{account_id}_{currency}", account_name(number), number[-LAST_DIGITS:], 0, currency, since, None,
            None, None, since if may_begin_late else None, None,
        )  # fmt: skip


def _file_lines(imported: Imported, calendar: BankCalendar) -> Iterator[_Row]:
    """Yield a row without money for each stretch of days that files cover, then the lines with those of their file.

    Advice covers no day: its lines count until a statement speaks of their day, and bear an empty stretch of days.
    """
    known: dict[str, tuple[date, date]] = {}
    covered: dict[tuple[str, str], list[tuple[date, date]]] = {}
    statements = [file for file in imported.files if file.file_format not in ADVICE_FORMS]
    for number, files in enumerate(join_files(statements, calendar), start=1):
        account, currency, since = files[0].account, files[0].currency, files[0].since
        until = max(file.until for file in files)
        known |= {file.sha256: (since, until) for file in files}
        covered.setdefault((account, currency), []).append((since, until))
        yield (
            f"known_{number}", account_name(account), account[-LAST_DIGITS:], 0, currency, since, None, None, None,
            since, until,
        )  # fmt: skip
    for line in imported.lines:
        is_advice = line.file_sha256 not in known
        spans = covered.get((line.account, line.currency), ())
        if line.amount <= 0 or (is_advice and any(since <= line.booked_on <= until for since, until in spans)):
            continue
        text = "\n".join(filter(None, (line.text, line.reference))) or None
        name, last4 = account_name(line.account), line.account[-LAST_DIGITS:]
        yield (
            line.id, name, last4, line.amount, line.currency, line.booked_on, None, text, line.reference or None,
            *known.get(line.file_sha256, (line.booked_on, line.booked_on - timedelta(days=1))),
        )  # fmt: skip


def _days(body: Mapping[str, object], created_at: datetime | None, calendar: BankCalendar) -> tuple[date, date] | None:
    """Return the local day of a transaction, and the bank day of its moment.

    The provider writes a posting, which is a day, as midnight UTC. If a date cannot be read the next one counts: one
    bad movement must not stop a run.
    """
    traded, posted = body.get("transaction_date"), body.get("post_date")
    with suppress(ValueError):
        if isinstance(traded, str) and traded:
            return _days_at(to_instant(traded), calendar)
    with suppress(ValueError):
        if isinstance(posted, str) and posted:
            on = date.fromisoformat(posted[:_DAY])
            return on, on
    return None if created_at is None else _days_at(created_at, calendar)


def _days_at(moment: datetime, calendar: BankCalendar) -> tuple[date, date]:
    local, cutoff = moment.astimezone(ZoneInfo(calendar.country.zone)), calendar.country.cutoff
    on = local.date()
    is_after_cut = cutoff is not None and calendar.is_bank_day(on) and local.time() >= cutoff
    return on, calendar.next_bank_day(on) if is_after_cut else calendar.on_or_after(on)


def join_files(files: Iterable[BankFile], calendar: BankCalendar) -> list[list[BankFile]]:
    """Group the files of each account into stretches of days without a hole, sorted by their first day."""
    stretches: list[list[BankFile]] = []
    # Of each stretch the files that a later one may still continue.
    ends: list[list[BankFile]] = []
    for file in sorted(files, key=lambda file: (file.account, file.currency, file.since, file.until, file.sha256)):
        ends = [[end for end in some if _touches(end, file, calendar)] for some in ends]
        met = [place for place, some in enumerate(ends) if any(_meets(end, file) for end in some)]
        home = met[0] if met else len(stretches)
        if not met:
            stretches.append([])
            ends.append([])
        for place in met[1:]:
            stretches[home] += stretches[place]
            ends[home] += ends[place]
            stretches[place], ends[place] = [], []
        stretches[home].append(file)
        ends[home].append(file)
    return [stretch for stretch in stretches if stretch]


def _touches(before: BankFile, after: BankFile, calendar: BankCalendar) -> bool:
    """Return True if no bank day lies between two files."""
    same = (before.account, before.currency) == (after.account, after.currency)
    return same and (after.since <= before.until or after.since <= calendar.next_bank_day(before.until))


def _meets(before: BankFile, after: BankFile) -> bool:
    """Return True if two files whose days touch have no line between them: balances, if both state them, must meet."""
    if after.since < before.until or before.closing is None or after.opening is None:
        return True
    if after.since > before.until:
        return after.opening == before.closing
    # The common day is in both whole, or it was split between them, in whichever order they are given.
    goes_on = after.opening in (before.closing, before.last_opening)
    return goes_on or (after.since == before.since and after.closing == before.opening)
