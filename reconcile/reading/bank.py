"""What arrived at the bank, as the rules read it: movements of the accounts payouts go to, else bank files; pure."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import msgspec
from pandas import DataFrame

from consumer.facts.bankdays import BankCalendar
from consumer.facts.clock import local_date, to_instant
from reconcile.books.bank_statements import LAST_DIGITS, account_digits
from reconcile.books.bank_stretches import join_files
from reconcile.books.tables import BankFile
from reconcile.rules.inputs import BANK, typed

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

    A file counts only for accounts of which the provider shows no movement.
    """
    shown = [*own, *linked]
    arrived = [row for row in own if row.direction == _INBOUND]
    arrived += [row for row in linked if row.amount is not None and row.amount > 0 and row.status == _CONFIRMED]
    rows = list(_lines(arrived, numbers, calendar.country.zone))
    if imported is not None:
        rows += _file_lines(imported, {account_digits(numbers[row.account_id]) for row in shown}, calendar)
    frame = DataFrame(rows, columns=list(BANK))
    return typed(frame.sort_values("movement_id", ignore_index=True), BANK)


def _lines(rows: Iterable[Any], numbers: Mapping[str, str], zone: str) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        body = msgspec.json.decode(row.body)
        booked_on = _booked_on(body, row.created_at, zone)
        if booked_on is None:
            continue
        texts = [body[name] for name in _TEXTS if isinstance(body.get(name), str)]
        number = numbers[row.account_id]
        text = "\n".join(texts) or None
        yield (
            row.id, account_name(number), number[-LAST_DIGITS:], row.amount, row.currency, booked_on, text, None, None,
        )  # fmt: skip


def _file_lines(imported: Imported, shown: set[str], calendar: BankCalendar) -> Iterator[tuple[Any, ...]]:
    """Give each stretch that files speak of as a row without money, then each line with the stretch of its file."""
    known: dict[str, tuple[date, date]] = {}
    for number, files in enumerate(join_files(imported.files, calendar), start=1):
        account, currency, since = files[0].account, files[0].currency, files[0].since
        until = max(file.until for file in files)
        known |= {file.sha256: (since, until) for file in files}
        name, last4 = account_name(account), account[-LAST_DIGITS:]
        if account not in shown:
            yield f"known_{number}", name, last4, 0, currency, since, None, since, until
    for line in imported.lines:
        if line.account in shown or line.amount <= 0:
            continue
        text = "\n".join(filter(None, (line.text, line.reference))) or None
        name, last4 = account_name(line.account), line.account[-LAST_DIGITS:]
        yield line.id, name, last4, line.amount, line.currency, line.booked_on, text, *known[line.file_sha256]


def _booked_on(body: Mapping[str, Any], created_at: datetime | None, zone: str) -> date | None:
    """The local day of the transaction; a posting is a day already, which the provider writes as midnight UTC.

    A date that nobody can read is passed over for the next one known: one bad movement must not stop a run.
    """
    traded, posted = body.get("transaction_date"), body.get("post_date")
    with suppress(ValueError):
        if isinstance(traded, str) and traded:
            return local_date(to_instant(traded), zone)
    with suppress(ValueError):
        if isinstance(posted, str) and posted:
            return date.fromisoformat(posted[:_DAY])
    return None if created_at is None else local_date(created_at, zone)
