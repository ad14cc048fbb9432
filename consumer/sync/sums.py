"""Sums of a stream that was read whole: findings are kept until its next pull, for its outcome and the doctor.

Business accounts: each movement's balance follows from the one before, and each statement adds up. Monthly F29: a
rectified form replaces the one before, so that one form of each taxpayer and month is in force.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.meaning import read_json
from consumer.facts.money import format_decimal
from consumer.facts.settings import Connection
from consumer.facts.tables.provider import Account, AccountMovement, AccountStatement, TaxStatement
from consumer.facts.tables.sync import StreamFinding
from consumer.facts.tables.types import core_of
from consumer.provider import fields
from consumer.provider.fields import UnusableObjectError, instant, required_amount

_PARTS = ("initial_balance_cents", "total_credited_cents", "total_debited_cents", "final_balance_cents")
_SIGNS = {"inbound": 1, "outbound": -1}
_IN_FORCE = "vigente"


@dataclass(frozen=True, slots=True)
class Finding:
    """`subject` is the id of what it is about; `problem` is one sentence without secret."""

    subject: str
    problem: str


def record_findings(
    session: Session, connection: str, stream: str, findings: Iterable[Finding], *, now: datetime
) -> None:
    """Replace a stream's findings by those of this pull."""
    mine = (col(StreamFinding.connection) == connection) & (col(StreamFinding.stream) == stream)
    session.execute(sa.delete(StreamFinding).where(mine))
    problems = {finding.subject: finding.problem for finding in findings}
    session.add_all(
        StreamFinding(connection=connection, stream=stream, subject=subject, problem=problem, found_at=now)
        for subject, problem in problems.items()
    )


def findings_of(session: Session, connection: str) -> list[StreamFinding]:
    asked = select(StreamFinding).where(StreamFinding.connection == connection)
    return list(session.exec(asked.order_by(StreamFinding.stream, StreamFinding.subject)))


@dataclass(frozen=True, slots=True)
class Entry:
    """One movement: its signed amount, and the balance after it if the provider gave one."""

    id: str
    at: datetime
    signed: int
    balance: int | None


@dataclass(frozen=True, slots=True)
class Break:
    """Two neighbours whose balances differ by `off` more than the movements between them."""

    before: str
    after: str
    off: int


def running_balances(session: Session, connection: Connection) -> list[Finding]:
    """Return each account with a balance that its movements do not explain: one is missing or wrong.

    A movement without a readable direction or time has no place among the others and is a finding of its own.
    """
    by_account: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    astray: dict[str, list[str]] = defaultdict(list)
    for row in _rows(session, AccountMovement, connection.name):
        account = row["account_id"]
        try:
            by_account[account, row["currency"]].append(_to_entry(row))
        except UnusableObjectError as error:
            astray[account].append(f"{row['id']}: {error}")
    findings = [
        Finding(f"{account} astray", f"{account}: {len(found)} movements cannot be followed, first {found[0]}")
        for account, found in sorted(astray.items())
    ]
    for (account, currency), entries in sorted(by_account.items()):
        broken = find_breaks(entries)
        if broken:
            first = broken[0]
            problem = (
                f"{account}: the running balance breaks in {len(broken)} places, "
                f"first by {format_decimal(first.off, currency)} {currency} between {first.before} and {first.after}"
            )
            findings.append(Finding(f"{account} {currency}", problem))
    return findings


def find_breaks(entries: Iterable[Entry]) -> list[Break]:
    """Return the breaks in a balance over time; movements of one instant are put in the order that fits."""
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
    """Return the entries of one instant in a chain: each opens with the balance the one before left."""
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
    """Return each statement whose opening balance and totals do not make its closing balance.

    A statement has its account's currency; where that is not known yet the message gives minor units.
    """
    findings = []
    accounts = _rows(session, Account, connection.name)
    currencies = {row["id"]: row["currency"] for row in accounts if row["currency"] is not None}
    for row in _rows(session, AccountStatement, connection.name):
        body = read_json(row["body"])
        try:
            opening, credited, debited, closing = (required_amount(body, name) for name in _PARTS)
        except UnusableObjectError as error:
            findings.append(Finding(row["id"], f"{row['id']}: cannot be added up: {error}"))
            continue
        off = closing - (opening + credited - debited)
        if off:
            currency = currencies.get(row["account_id"])
            difference = f"{off} minor units" if currency is None else f"{format_decimal(off, currency)} {currency}"
            findings.append(Finding(row["id"], f"{row['id']}: its closing balance is {difference} off its own sums"))
    return findings


def _rows(
    session: Session, table: type[Account | AccountMovement | AccountStatement], connection: str
) -> Iterator[sa.RowMapping]:
    core = core_of(table)
    asked = sa.select(core).where(core.c.connection == connection, core.c.gone_at.is_(None)).order_by(core.c.id)
    yield from session.execute(asked.execution_options(yield_per=1000)).mappings()


def _to_entry(row: sa.RowMapping) -> Entry:
    sign = _SIGNS.get(row["direction"])
    if sign is None:
        raise UnusableObjectError("direction is neither inbound nor outbound")
    at = instant(read_json(row["body"]), "transaction_date")
    if at is None:
        raise UnusableObjectError("transaction_date is missing")
    return Entry(row["id"], at, sign * row["amount"], row["balance"])


def forms_in_force(session: Session, connection: Connection) -> list[Finding]:
    """Return each month of a taxpayer of which more than one form says that it is in force."""
    core = core_of(TaxStatement)
    mine = (core.c.connection == connection.name) & core.c.gone_at.is_(None) & core.c.period.is_not(None)
    asked = sa.select(core.c.id, core.c.period, core.c.document_number, core.c.body).where(mine).order_by(core.c.id)
    in_force: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in session.execute(asked):
        body = read_json(row.body)
        if str(body.get("status")).lower() == _IN_FORCE:
            taxpayer = fields.part(body, "taxpayer").get("id")
            in_force[str(taxpayer), row.period].append(row.document_number or row.id)
    return [
        Finding(" ".join((period, *numbers)), _to_sentence(period, numbers))
        for (_, period), numbers in sorted(in_force.items())
        if len(numbers) > 1
    ]


def _to_sentence(period: str, numbers: list[str]) -> str:
    return f"F29 of {period}: {len(numbers)} forms are in force: {', '.join(numbers)}"
