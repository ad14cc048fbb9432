"""The accounts that payouts go to, as movements and bank files show them: statements and what each says of its days."""

from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.clock import local_date, to_instant
from consumer.facts.installation import Connection
from consumer.facts.tables.provider import AccountMovement, AccountStatement
from reconcile.books.bank_statements import account_digits
from reconcile.reading.bank import Accounts
from reconcile.reading.transfers import INBOUND
from reconcile.tables.books import BankFile, BankLine


class Statement(NamedTuple):
    """What a statement says: its first and last day, and the balances before and after them."""

    since: date
    until: date
    currency: str
    opening: int
    closing: int


class BankAccount(NamedTuple):
    """Statements of one account, oldest first and without an overlap; its lines by id, with day and signed amount."""

    statements: tuple[Statement, ...]
    lines: Mapping[str, tuple[date, int]]


def read_bank_account(session: Session, connection: Connection) -> BankAccount | None:
    """Return the account payouts go to, from bank files with balances, else from the provider's statements.

    Return None if there are no statements, or if payouts go to several accounts that have some.
    """
    accounts = Accounts(session.connection(), connection)
    recipients = accounts.recipients()
    found = _read_files(session, connection, recipients) or [
        _read_account(session, connection, identity) for identity in sorted(accounts.find_own_numbers(recipients))
    ]
    held = [one for one in found if one.statements]
    return held[0] if len(held) == 1 else None


def _read_files(session: Session, connection: Connection, recipients: set[str]) -> list[BankAccount]:
    mine = (col(BankFile.connection) == connection.name, col(BankFile.opening).is_not(None))
    files = session.scalars(sa.select(BankFile).where(*mine, col(BankFile.closing).is_not(None))).all()
    found = []
    for account in sorted({file.account for file in files if account_digits(file.account) in recipients}):
        own = (col(BankLine.connection) == connection.name, col(BankLine.account) == account)
        lines = sa.select(col(BankLine.id), col(BankLine.booked_on), col(BankLine.amount)).where(*own)
        statements = [
            Statement(file.since, file.until, file.currency, file.opening or 0, file.closing or 0)
            for file in files
            if file.account == account
        ]
        found.append(
            BankAccount(_drop_overlaps(statements), {row[0]: (row[1], row[2]) for row in session.execute(lines)})
        )
    return found


def _read_account(session: Session, connection: Connection, identity: str) -> BankAccount:
    statements = [
        Statement(
            date.fromisoformat(body["start_date"]), date.fromisoformat(body["end_date"]),
            body.get("currency") or connection.country.currency, body["initial_balance_cents"],
            body["final_balance_cents"],
        )
        for body in _read_bodies(session, connection, AccountStatement, identity)
    ]  # fmt: skip
    zone = connection.country.zone
    lines = {
        str(body["id"]): (
            local_date(to_instant(str(body["transaction_date"])), zone),
            int(body["amount"]) * (1 if body["direction"] == INBOUND else -1),
        )
        for body in _read_bodies(session, connection, AccountMovement, identity)
    }
    return BankAccount(_drop_overlaps(statements), lines)


def _read_bodies(
    session: Session, connection: Connection, table: type[AccountStatement] | type[AccountMovement], identity: str
) -> list[dict[str, Any]]:  # objects of the provider as they came
    mine = (col(table.connection) == connection.name, col(table.mode) == connection.mode)
    bodies = sa.select(col(table.body)).where(*mine, col(table.account_id) == identity, col(table.gone_at).is_(None))
    return [msgspec.json.decode(body) for body in session.scalars(bodies)]


def _drop_overlaps(statements: list[Statement]) -> tuple[Statement, ...]:
    kept: list[Statement] = []
    for one in sorted(statements):
        if not kept or one.since > kept[-1].until:
            kept.append(one)
    return tuple(kept)
