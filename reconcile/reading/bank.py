"""What arrived at the bank, as the rules read it: movements of the accounts payouts go to, and bank files; pure."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from pandas import DataFrame

from consumer.facts.bankdays import BankCalendar
from consumer.facts.clock import to_instant
from reconcile.books.bank_statements import LAST_DIGITS, account_digits
from reconcile.books.bank_stretches import join_files
from reconcile.rules.inputs import BANK, typed
from reconcile.tables import BankFile

_DAY = len("2026-10-31")
_NAME_LENGTH = 16
_SHORTEST = 5
_INBOUND, _CONFIRMED = "inbound", "confirmed"
_TEXTS = ("comment", "description", "reference_id", "resource_id")


def account_name(number: str | None) -> str | None:
    """Name an account without showing its number; masked or short digits name none."""
    digits = account_digits(number or "")
    if len(digits) < _SHORTEST or "*" in (number or ""):
        return None
    return hashlib.sha256(digits.encode()).hexdigest()[:_NAME_LENGTH]


@dataclass(frozen=True, slots=True)
class Imported:
    """Lines of imported bank files, and the files: their accounts, days and balances."""

    lines: Iterable[Any] = ()
    files: Iterable[BankFile] = ()


def bank_lines(
    *,
    own: Iterable[Any],
    linked: Iterable[Any],
    numbers: Mapping[str, str],
    calendar: BankCalendar,
    imported: Imported | None = None,
) -> DataFrame:
    """Build the bank's lines; a business account says the direction in a word, a linked account in the sign.

    Both sources are told in full: the rules see which of their lines are one deposit.
    """
    of_own, of_linked = list(_moves(own, calendar)), list(_moves(linked, calendar))
    begun_own, begun_linked = _first_days(of_own), _first_days(of_linked)
    rows = [_line(move, numbers, known_since=None) for move in of_own if move.row.direction == _INBOUND]
    rows += [
        _line(move, numbers, known_since=begun_linked[_place(move)]) for move in of_linked if _has_arrived(move.row)
    ]
    rows += _accounts(begun_own, numbers, may_begin_late=False)
    rows += _accounts(begun_linked, numbers, may_begin_late=True)
    if imported is not None:
        rows += _file_lines(imported, calendar)
    frame = DataFrame(rows, columns=list(BANK))
    return typed(frame.sort_values("movement_id", ignore_index=True), BANK)


class _Move(NamedTuple):
    """A movement the provider shows, with its days."""

    row: Any
    body: Mapping[str, Any]
    booked_on: date
    bank_day: date


def _has_arrived(linked: Any) -> bool:
    return linked.amount is not None and linked.amount > 0 and linked.status == _CONFIRMED


def _moves(rows: Iterable[Any], calendar: BankCalendar) -> Iterator[_Move]:
    for row in rows:
        body = msgspec.json.decode(row.body)
        found = _days(body, row.created_at, calendar)
        if found is not None:
            yield _Move(row, body, *found)


def _line(move: _Move, numbers: Mapping[str, str], *, known_since: date | None) -> tuple[Any, ...]:
    row, body, number = move.row, move.body, numbers[move.row.account_id]
    texts = [body[name] for name in _TEXTS if isinstance(body.get(name), str)]
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
) -> Iterator[tuple[Any, ...]]:
    """Give each account of which movements are shown as a row without money, from its first movement on."""
    for (account_id, currency), since in sorted(first.items()):
        number = numbers[account_id]
        yield (
            f"shown_{account_id}_{currency}", account_name(number), number[-LAST_DIGITS:], 0, currency, since, None,
            None, None, since if may_begin_late else None, None,
        )  # fmt: skip


def _file_lines(imported: Imported, calendar: BankCalendar) -> Iterator[tuple[Any, ...]]:
    """Give each stretch that files speak of as a row without money, then each line with the stretch of its file."""
    known: dict[str, tuple[date, date]] = {}
    for number, files in enumerate(join_files(imported.files, calendar), start=1):
        account, currency, since = files[0].account, files[0].currency, files[0].since
        until = max(file.until for file in files)
        known |= {file.sha256: (since, until) for file in files}
        yield (
            f"known_{number}", account_name(account), account[-LAST_DIGITS:], 0, currency, since, None, None, None,
            since, until,
        )  # fmt: skip
    for line in imported.lines:
        if line.amount <= 0:
            continue
        text = "\n".join(filter(None, (line.text, line.reference))) or None
        name, last4 = account_name(line.account), line.account[-LAST_DIGITS:]
        yield (
            line.id, name, last4, line.amount, line.currency, line.booked_on, None, text, line.reference or None,
            *known[line.file_sha256],
        )  # fmt: skip


def _days(body: Mapping[str, Any], created_at: datetime | None, calendar: BankCalendar) -> tuple[date, date] | None:
    """Return the local day of a transaction, and the bank day of its moment.

    A posting is a day already, which the provider writes as midnight UTC. An unreadable date is passed over for the
    next one known: one bad movement must not stop a run.
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
