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

from consumer.config import Connection
from consumer.facts.money import format_decimal
from consumer.facts.observed import core_of
from consumer.facts.tables.business import AccountMovement, AccountStatement
from consumer.provider.rows import UnusableObject
from consumer.provider.rows.fields import instant, required_amount
from consumer.sync.findings import Finding

_PARTS = ("initial_balance_cents", "total_credited_cents", "total_debited_cents", "final_balance_cents")


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
    """Name each account whose movements do not lead from balance to balance: one is missing or wrong."""
    by_account: dict[str, list[Entry]] = defaultdict(list)
    currency = connection.country.currency
    for row in _rows(session, AccountMovement, connection.name):
        entry = _to_entry(row)
        if entry is not None:
            by_account[row["account_id"]].append(entry)
    findings = []
    for account, entries in sorted(by_account.items()):
        broken = find_breaks(entries)
        if broken:
            first = broken[0]
            told = (
                f"{account}: the running balance breaks in {len(broken)} places, "
                f"first by {format_decimal(first.off, currency)} {currency} between {first.before} and {first.after}"
            )
            findings.append(Finding(account, told))
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
    """Name each statement whose opening balance and totals do not make its closing balance."""
    findings = []
    for row in _rows(session, AccountStatement, connection.name):
        body = json.loads(row["body"])
        try:
            opening, credited, debited, closing = (required_amount(body, name) for name in _PARTS)
        except UnusableObject as error:
            findings.append(Finding(row["id"], f"{row['id']}: cannot be added up: {error}"))
            continue
        off = closing - (opening + credited - debited)
        if off:
            currency = connection.country.currency
            told = f"{row['id']}: its closing balance is {format_decimal(off, currency)} {currency} off its own sums"
            findings.append(Finding(row["id"], told))
    return findings


def _rows(session: Session, table: type[AccountMovement | AccountStatement], connection: str) -> Iterator[Any]:
    core = core_of(table)
    asked = sa.select(core).where(core.c.connection == connection, core.c.gone_at.is_(None)).order_by(core.c.id)
    yield from session.execute(asked.execution_options(yield_per=1000)).mappings()


def _to_entry(row: Any) -> Entry | None:
    try:
        at = instant(json.loads(row["body"]), "transaction_date")
    except UnusableObject:
        return None
    if at is None:
        return None
    signed = row["amount"] if row["direction"] == "inbound" else -row["amount"]
    return Entry(row["id"], at, signed, row["balance"])
