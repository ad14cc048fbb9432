"""Which duties of a period are due when, and which causes change its figures most if they are mended today."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import NamedTuple

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.bankdays import BankCalendar
from consumer.facts.installation import Connection
from reconcile.books.tax_registers import PERIOD, YEAR
from reconcile.fiscal.comparing import Tie
from reconcile.fiscal.declared import read_declared
from reconcile.fiscal.facts import Duty, causes, facts_of
from reconcile.fiscal.tie_out import end_of
from reconcile.tables.fiscal import DeclaredFigure, FiscalDocument, RegisterFile

# An alarm comes so many days before.
NEAR = 3


class Due(NamedTuple):
    """A duty of one period, and the days that are left; none are left on the day itself, fewer after it."""

    duty: Duty
    period: str
    on: date
    days_left: int


class Lever(NamedTuple):
    """A cause that something can be done about, the VAT that depends on it, and of how many documents."""

    cause: str
    tax: int
    documents: int


def is_period(text: str) -> bool:
    """Return True if a text is a month as 2026-10, or a year."""
    return bool(PERIOD.fullmatch(text) or YEAR.fullmatch(text))


def month_before(on: date) -> str:
    """Return the month before that of a day, whose duties are due in it."""
    return f"{on.replace(day=1) - timedelta(days=1):%Y-%m}"


def list_due(country: str, period: str, calendar: BankCalendar, today: date) -> list[Due]:
    """Return the duties of a month in the order of their days."""
    found = []
    for duty in facts_of(country).duties:
        on = end_of(period) + timedelta(days=duty.day)
        on = calendar.on_or_after(on) if duty.bank else on
        found.append(Due(duty, period, on, (on - today).days))
    return sorted(found, key=lambda due: due.on)


def find_near(session: Session, connection: Connection, calendar: BankCalendar, today: date) -> Iterator[Due]:
    """Yield the duties of last month to be alarmed about: near, and no figure of that month is declared.

    Without any register, tax document or declared figure the merchant does not keep this control here.
    """
    period = month_before(today)
    due = [one for one in list_due(connection.country_code, period, calendar, today) if one.duty.alarm]
    near = [one for one in due if 0 <= one.days_left <= NEAR and _is_owed(session, connection.name, one.duty)]
    if near and is_kept(session, connection.name) and period not in read_declared(session, connection):
        yield from near


def _is_owed(session: Session, connection: str, duty: Duty) -> bool:
    if not duty.method:
        return True
    issued = (col(FiscalDocument.connection) == connection, col(FiscalDocument.direction) == "issued")
    asked = sa.select(sa.literal(1)).where(*issued, col(FiscalDocument.payment_method) == duty.method)
    return session.scalar(asked.limit(1)) is not None


def is_kept(session: Session, connection: str) -> bool:
    """Return whether the merchant keeps the tax control here: a register, tax document or declared figure came in."""
    tables = (RegisterFile, FiscalDocument, DeclaredFigure)
    return any(
        session.scalar(sa.select(sa.literal(1)).where(col(table.connection) == connection).limit(1)) for table in tables
    )


def find_levers(ties: Sequence[Tie], most: int = NEAR) -> list[Lever]:
    """Return the causes on which most VAT depends, of those that do not wait for others; a document counts once."""
    tax: dict[tuple[str, str], int] = {}
    for part in (part for tie in ties for part in tie.parts if not causes()[part.cause].waits):
        tax[part.cause, part.doc_key] = max(tax.get((part.cause, part.doc_key), 0), abs(part.tax))
    sums: dict[str, Lever] = {}
    for (cause, _), amount in tax.items():
        known = sums.get(cause, Lever(cause, 0, 0))
        sums[cause] = Lever(cause, known.tax + amount, known.documents + 1)
    found = [lever for lever in sums.values() if lever.tax]
    return sorted(found, key=lambda lever: (-lever.tax, lever.cause))[:most]
