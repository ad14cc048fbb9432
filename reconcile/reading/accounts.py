"""Where payouts arrive: movements of the accounts they go to, and the merchant's own bank files, read for the rules."""

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from pandas import DataFrame
from sqlmodel import SQLModel

from consumer.facts.bankdays import BankCalendar
from consumer.facts.installation import Connection
from consumer.facts.tables.business import AccountMovement, AccountNumber, LinkAccount, LinkMovement
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.provider import Payout
from reconcile.books.bank_statements import account_digits
from reconcile.reading.bank import Imported, bank_lines
from reconcile.tables import BankFile, BankLine


def read_bank(database: sa.Connection, connection: Connection, calendar: BankCalendar) -> DataFrame:
    """Read movements of those accounts that payouts were sent to, and what bank files say."""
    reader = _Accounts(database, connection)
    recipients = reader.recipients()
    own, linked = reader.own_numbers(recipients), reader.linked_numbers(recipients)
    return bank_lines(
        own=reader.movements(AccountMovement, own, "direction"),
        linked=reader.movements(LinkMovement, linked, "status"),
        numbers=own | linked,
        calendar=calendar,
        imported=reader.imported(),
    )


class _Accounts:
    """Queries of one connection and mode."""

    def __init__(self, database: sa.Connection, connection: Connection) -> None:
        self._database, self._connection = database, connection

    def _rows(self, statement: sa.Select[Any]) -> Sequence[Any]:
        return self._database.execute(statement).all()

    def _mine(self, columns: Any) -> list[Any]:
        conditions = [columns.connection == self._connection.name, columns.mode == self._connection.mode]
        return [*conditions, columns.gone_at.is_(None)]

    def recipients(self) -> set[str]:
        """Numbers of accounts as whole digits, however each side writes them."""
        columns = _columns(Payout)
        rows = self._rows(sa.select(columns.recipient_number).where(*self._mine(columns)).distinct())
        return {account_digits(row[0]) for row in rows if row[0]}

    def own_numbers(self, recipients: set[str]) -> dict[str, str]:
        columns = _columns(AccountNumber)
        rows = self._rows(sa.select(columns.account_id, columns.number).where(*self._mine(columns)))
        return {row.account_id: row.number for row in rows if row.number and account_digits(row.number) in recipients}

    def linked_numbers(self, recipients: set[str]) -> dict[str, str]:
        columns = _columns(LinkAccount)
        rows = self._rows(sa.select(columns.id, columns.body).where(*self._mine(columns)))
        numbers = {row.id: msgspec.json.decode(row.body).get("number") for row in rows}
        return {
            account: number
            for account, number in numbers.items()
            if isinstance(number, str) and account_digits(number) in recipients
        }

    def movements(self, table: type[SQLModel], accounts: dict[str, str], extra: str) -> Sequence[Any]:
        if not accounts:
            return []
        columns = _columns(table)
        names = ("id", "account_id", "amount", "currency", "created_at", "body", extra)
        wanted = sa.select(*(columns[name] for name in names)).where(
            *self._mine(columns), columns.account_id.in_(sorted(accounts))
        )
        return self._rows(wanted.order_by(columns.id))

    def imported(self) -> Imported:
        lines, files = _columns(BankLine), _columns(BankFile)
        names = ("id", "account", "booked_on", "amount", "currency", "text", "reference", "file_sha256")
        mine = sa.select(*(lines[name] for name in names)).where(lines.connection == self._connection.name)
        own = sa.select(files).where(files.connection == self._connection.name)
        return Imported(self._rows(mine), [BankFile(**row) for row in self._database.execute(own).mappings()])


def _columns(table: type[SQLModel]) -> Any:
    return core_of(table).c
