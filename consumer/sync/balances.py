"""The sums of business accounts: each movement's balance follows from the one before, each statement adds up."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.money import format_decimal
from consumer.facts.settings import Connection
from consumer.facts.tables.business import Account, AccountMovement, AccountStatement
from consumer.facts.tables.columns import core_of
from consumer.provider.fields import instant, required_amount
from consumer.provider.rows import UnusableObject
from consumer.sync.findings import Finding

_PARTS = ("initial_balance_cents", "total_credited_cents", "total_debited_cents", "final_balance_cents")
_SIGNS = {"inbound": 1, "outbound": -1}


@dataclass(frozen=True, slots=True)
class Entry:
    """One movement: what it did to the balance, and the balance after it where the provider told one."""

    id: str
    at: datetime
    signed: int
    balance: int | None


@dataclass(frozen=True, slots=True)
class Break:
    """Two neighbours between which the balance moved by `off` that no movement explains."""

    before: str
    after: str
    off: int


def running_balances(session: Session, connection: Connection) -> list[Finding]:
    """Name each account whose movements do not lead from balance to balance: one is missing or wrong.

    A movement whose way or moment cannot be told has no place among the others, and is said by itself.
    """
    by_account: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    astray: dict[str, list[str]] = defaultdict(list)
    for row in _rows(session, AccountMovement, connection.name):
        account = row["account_id"]
        try:
            by_account[account, row["currency"]].append(_to_entry(row))
        except UnusableObject as error:
            astray[account].append(f"{row['id']}: {error}")
    findings = [
        Finding(f"{account} astray", f"{account}: {len(found)} movements cannot be followed, first {found[0]}")
        for account, found in sorted(astray.items())
    ]
    for (account, currency), entries in sorted(by_account.items()):
        broken = find_breaks(entries)
        if broken:
            first = broken[0]
            told = (
                f"{account}: the running balance breaks in {len(broken)} places, "
                f"first by {format_decimal(first.off, currency)} {currency} between {first.before} and {first.after}"
            )
            findings.append(Finding(f"{account} {currency}", told))
    return findings


def find_breaks(entries: Iterable[Entry]) -> list[Break]:
    """Follow the balance through time; movements of one instant are taken in the order that fits. Pure."""
    found: list[Break] = []
    balance: int | None = None
    last = ""
    for _, group in groupby(sorted(entries, key=lambda entry: (entry.at, entry.id)), key=lambda entry: entry.at):
        for entry in _in_order(list(group), balance):
            if balance is not None and entry.balance is not None and balance + entry.signed != entry.balance:
                found.append(Break(last, entry.id, entry.balance - entry.signed - balance))
            carried = None if balance is None else balance + entry.signed
            balance, last = carried if entry.balance is None else entry.balance, entry.id
    return found


def _in_order(entries: list[Entry], balance: int | None) -> Iterator[Entry]:
    """Chain the entries of one instant: each next one opens with the balance the last one left."""
    waiting: dict[int | None, list[Entry]] = defaultdict(list)
    for entry in entries:
        waiting[None if entry.balance is None else entry.balance - entry.signed].append(entry)
    left = {entry.balance for entry in entries}
    while waiting:
        opening = balance if balance in waiting else next((one for one in waiting if one not in left), None)
        if opening not in waiting:
            opening = next(iter(waiting))
        entry = waiting[opening].pop(0)
        if not waiting[opening]:
            del waiting[opening]
        balance = entry.balance
        yield entry


def statement_sums(session: Session, connection: Connection) -> list[Finding]:
    """Name each statement whose opening balance and totals do not make its closing balance.

    A statement bears no currency: it is its account's, and where that is not known yet no amount is worded.
    """
    findings = []
    accounts = _rows(session, Account, connection.name)
    currencies = {row["id"]: row["currency"] for row in accounts if row["currency"] is not None}
    for row in _rows(session, AccountStatement, connection.name):
        body = json.loads(row["body"])
        try:
            opening, credited, debited, closing = (required_amount(body, name) for name in _PARTS)
        except UnusableObject as error:
            findings.append(Finding(row["id"], f"{row['id']}: cannot be added up: {error}"))
            continue
        off = closing - (opening + credited - debited)
        if off:
            currency = currencies.get(row["account_id"])
            told = f"{off} minor units" if currency is None else f"{format_decimal(off, currency)} {currency}"
            findings.append(Finding(row["id"], f"{row['id']}: its closing balance is {told} off its own sums"))
    return findings


def _rows(
    session: Session, table: type[Account | AccountMovement | AccountStatement], connection: str
) -> Iterator[Any]:
    core = core_of(table)
    asked = sa.select(core).where(core.c.connection == connection, core.c.gone_at.is_(None)).order_by(core.c.id)
    yield from session.execute(asked.execution_options(yield_per=1000)).mappings()


def _to_entry(row: Any) -> Entry:
    sign = _SIGNS.get(row["direction"])
    if sign is None:
        raise UnusableObject("direction is neither inbound nor outbound")
    at = instant(json.loads(row["body"]), "transaction_date")
    if at is None:
        raise UnusableObject("transaction_date is missing")
    return Entry(row["id"], at, sign * row["amount"], row["balance"])
