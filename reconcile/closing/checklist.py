"""What to look at before days are closed, and what closing them will freeze."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col

from consumer.facts.approvals import State
from consumer.facts.bankdays import BankCalendar
from consumer.facts.clock import local_date
from consumer.facts.installation import Connection
from consumer.facts.store import count_rows
from consumer.facts.tables.approvals import ApprovalRequest
from consumer.facts.tables.sync import Window, WindowState
from reconcile.kept import chunks, extracts, records
from reconcile.rules.at_risk import Stake, add_up_risks
from reconcile.rules.outcomes import Recon
from reconcile.tables.books import LocalInvoice
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import PayoutResult, Run

CHECK_KEYS = ("check", "count", "amount", "currency", "day")
_A_DAY = timedelta(days=1)
# Payouts whose money no source shows, or that do not tie out.
_UNSETTLED = (Recon.OPEN, Recon.NO_BANK, Recon.NOT_DUE, Recon.INCOMPLETE)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the checklist: `count` things to look at, their money, and the day it is about."""

    check: str
    count: int
    amount: int | None = None
    currency: str = ""
    day: date | None = None


@dataclass(frozen=True, slots=True)
class Frozen:
    """What closing would freeze; `since` is None for everything there is."""

    since: date | None
    until: date
    payouts: int
    documents: int


def find_checks(
    session: Session, connection: Connection, until: date, *, calendar: BankCalendar, waiting: int, now: datetime
) -> list[Check]:
    """Return every check in its order, those with nothing to look at too; `waiting` decisions wait for a run."""
    newest = records.last_run(session, connection.name, today=local_date(now, connection.country.zone))
    return [
        _find_gaps(session, connection.name, newest),
        *_find_exceptions(session, connection.name, until),
        _find_payouts(session, connection.name, newest, until),
        *_find_files(session, connection.name, newest, until, calendar),
        _find_decisions(session, connection.name, waiting, now),
    ]


def find_frozen(session: Session, connection: str, run: Run | None, since: date | None, until: date) -> Frozen:
    """Count the payouts of the days by their date, and the documents by their date of issue."""
    run_id = run.id if run is not None else ""
    payouts = (col(PayoutResult.connection) == connection, col(PayoutResult.run_id) == run_id)
    documents = (col(LocalInvoice.connection) == connection,)
    return Frozen(
        since,
        until,
        count_rows(session, PayoutResult, *payouts, *_within(col(PayoutResult.payout_date), since, until)),
        count_rows(session, LocalInvoice, *documents, *_within(col(LocalInvoice.issue_date), since, until)),
    )


def _within(
    column: Mapped[date] | Mapped[date | None], since: date | None, until: date
) -> list[sa.ColumnElement[bool]]:
    return [column <= until, *([column >= since] if since is not None else [])]


def _find_gaps(session: Session, connection: str, run: Run | None) -> Check:
    """Count windows that are not read, and the newest run where it lacked data."""
    is_open = (col(Window.connection) == connection, col(Window.state) != WindowState.CLOSED)
    lacking = 1 if run is None or not run.complete else 0
    return Check(
        "gaps", max(count_rows(session, Window, *is_open), lacking), day=run.as_of if run is not None else None
    )


def _find_exceptions(session: Session, connection: str, until: date) -> Iterator[Check]:
    """Add up what is open about the days, each peso once."""
    row = ExceptionRow
    about = sa.func.coalesce(col(row.fact_on), col(row.opened_on)) <= until
    named = (row.code, row.subject, row.currency, row.amount_at_risk, row.payout_id, row.doc_key, row.resource_id)
    query = sa.select(*(col(name) for name in named))
    query = query.where(col(row.connection) == connection, col(row.resolved_on).is_(None), about)
    totals = add_up_risks(Stake(*found) for found in session.execute(query))
    for currency, total in sorted(totals.items(), key=lambda one: -one[1].amount):
        yield Check("exceptions", total.exceptions, total.amount, currency)
    if not totals:
        yield Check("exceptions", 0)


def _find_payouts(session: Session, connection: str, run: Run | None, until: date) -> Check:
    mine = (col(PayoutResult.connection) == connection, col(PayoutResult.run_id) == (run.id if run else ""))
    unsettled = (col(PayoutResult.status_recon).in_(_UNSETTLED), col(PayoutResult.payout_date) <= until)
    return Check("payouts", count_rows(session, PayoutResult, *mine, *unsettled))


def _find_files(
    session: Session, connection: str, run: Run | None, until: date, calendar: BankCalendar
) -> Iterator[Check]:
    """Say up to which day the bank and the books reach, and how many bank days of the period come after."""
    lines = extracts.read(session, run, chunks.BANK, ["bank_day"])["bank_day"].to_pylist() if run is not None else []
    last_line = max((on for on in lines if on is not None), default=None)
    newest = sa.select(sa.func.max(col(LocalInvoice.issue_date))).where(col(LocalInvoice.connection) == connection)
    documents: date | None = session.scalar(newest.where(col(LocalInvoice.issue_date) <= until))
    for check, last in (("bank", last_line), ("books", documents)):
        # Without any file the days cannot be counted, and one thing is missing: the file.
        missing = 1 if last is None else sum(calendar.is_bank_day(on) for on in _days_after(_to_date(last), until))
        yield Check(check, missing, day=None if last is None else _to_date(last))


def _to_date(on: date) -> date:
    return on.date() if isinstance(on, datetime) else on


def _days_after(last: date, until: date) -> Sequence[date]:
    return [last + _A_DAY * number for number in range(1, max(0, (until - last).days) + 1)]


def _find_decisions(session: Session, connection: str, waiting: int, now: datetime) -> Check:
    """Count requests that wait for a second person, and decisions that no run has applied."""
    request, waits = ApprovalRequest, (State.WAITING, State.APPROVED)
    asked = (col(request.connection) == connection, col(request.state).in_(waits), col(request.expires_at) > now)
    return Check("decisions", count_rows(session, request, *asked) + waiting)
