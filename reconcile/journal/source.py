"""What a journal is made of, read from the database: a published run, and the provider's tax documents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from consumer.facts.clock import local_date
from consumer.facts.installation import Connection, Settings
from reconcile.desk.decisions import Kind
from reconcile.fiscal.fees import list_documents
from reconcile.fiscal.reading import read_bills
from reconcile.journal.accepted import Accepted, list_accepted, reasons_of_payments
from reconcile.journal.accounts import FILE, AccountMap, AccountsError, read_accounts
from reconcile.journal.collected import Row, Terms
from reconcile.journal.entries import PAYOUT, Book, JournalError, Pieces
from reconcile.journal.exporting import EARLIEST, Balance
from reconcile.journal.remembered import DOCUMENT, first_open
from reconcile.kept import chunks, extracts
from reconcile.kept.pieces import Rows
from reconcile.kept.records import find_run, last_run, read_closed_periods
from reconcile.rules.clearing import ClearingError
from reconcile.tables.closing import Period
from reconcile.tables.desk import Decision
from reconcile.tables.runs import Run


@dataclass(frozen=True, slots=True)
class Days:
    """The days of an export, the run it is of, and the last day whose books are closed."""

    run: Run
    since: date
    until: date
    closed_until: date | None


def load_accounts(settings: Settings, connection: Connection) -> AccountMap:
    """Read the account map in the folder of `cuadre.toml`; raise AccountsError if there is none."""
    path = settings.config_dir / FILE
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise AccountsError("journal.no_accounts", file=path.name, country=connection.country_code) from None
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise AccountsError("journal.accounts_unreadable", file=str(path), problem=reason) from None
    names = tuple(one.name for one in settings.all_connections)
    return read_accounts(text, connection.name, connection.country_code, names)


def open_book(session: Session, run: Run, connection: Connection, accounts: AccountMap) -> tuple[Book, list[Balance]]:
    """Return a run as the journal reads it, and what the provider owed at the end of each day."""
    if run.scope_from or run.scope_to or run.scope_payout:
        raise JournalError("journal.run_of_part", run=run.number)
    issuer = accounts.provider_tax_id or connection.provider_tax_id
    decisions = _read_accepted(session, run, connection)
    known = read_bills(session, connection, run, issuer) if issuer else None
    documents = list(list_documents(known, connection.country.currency)) if known else []
    terms = Terms(
        connection.country_code,
        accounts.rounding_limit(connection.country.currency),
        reasons_of_payments(decisions),
    )
    accepted = list(list_accepted(decisions, _read_documents(session, run, decisions)))
    book = Book(read_lines(session, run), read_payouts(session, run), terms, documents, accepted)
    try:
        rows = extracts.read(session, run, chunks.ROLLFORWARD).to_pylist()
    except ClearingError as problem:
        raise JournalError("journal.not_counted", problem=str(problem)) from None
    return book, [Balance(row["date"], row["currency"], row["opening"], row["closing"]) for row in rows]


def _read_accepted(session: Session, run: Run, connection: Connection) -> list[Accepted]:
    """Return the decisions to accept a difference that held when the run was made."""
    undoing = aliased(Decision)
    mine = (col(Decision.connection) == run.connection, col(Decision.kind) == Kind.ADJUST)
    held = sa.or_(col(Decision.undone_by).is_(None), col(undoing.at) > run.started_at)
    query = (
        sa.select(Decision)
        .outerjoin(undoing, col(undoing.id) == col(Decision.undone_by))
        .where(*mine, col(Decision.at) <= run.started_at, held)
    )
    zone = connection.country.zone
    return [
        Accepted(one.id or 0, local_date(one.at, zone), one.reason_type, one.resource_id, one.doc_key, one.amount)
        for one in session.scalars(query.order_by(col(Decision.id)))
    ]


def _read_documents(session: Session, run: Run, decisions: Sequence[Accepted]) -> Iterator[Row]:
    keys = pa.array(sorted({one.doc_key for one in decisions if one.doc_key}), pa.string())
    if len(keys):
        for table in chunks.tables(session, run, chunks.DOCUMENT, names=DOCUMENT):
            yield from table.filter(pc.is_in(table["doc_key"].cast(pa.string()), value_set=keys)).to_pylist()


def read_lines(session: Session, run: Run) -> Pieces:
    """Return the lines of a run, of which nothing is read yet."""
    lines = Rows(session, run, chunks.LINE)
    found = lines.pieces()
    return Pieces(len(found), lambda number, names: lines.read(found[number], names))


def read_payouts(session: Session, run: Run) -> pa.Table:
    return extracts.read(session, run, chunks.PAYOUT, PAYOUT)


def find_period(session: Session, connection: str, number: int) -> Period:
    found = next((period for period in read_closed_periods(session, connection) if period.id == number), None)
    if found is None:
        raise JournalError("journal.no_period", number=number, connection=connection)
    return found


def choose_days(
    session: Session, connection: str, *, since: date | None, until: date | None, with_drafts: bool, today: date
) -> Days:
    """Choose the run for some days: of closed days the one they were closed on, with drafts the newest.

    Raise JournalError if a day is not closed and drafts were not asked for.
    """
    periods = read_closed_periods(session, connection)
    closed_until = periods[-1].until if periods else None
    newest = last_run(session, connection, today=today)
    if newest is None:
        raise JournalError("journal.no_run", connection=connection)
    first = since or first_open(session, connection)
    if with_drafts:
        return Days(newest, first, until or newest.as_of, closed_until)
    if closed_until is None:
        raise JournalError("journal.nothing_closed", connection=connection)
    last = until or closed_until
    if last > closed_until:
        raise JournalError("journal.not_closed", until=last, closed=closed_until)
    if first > last and since is not None:
        raise JournalError("journal.not_closed", until=since, closed=closed_until)
    period = next(one for one in periods if one.until >= last)
    if first > last:
        raise JournalError("journal.all_exported", until=last, period=period.id or 0)
    run = find_run(session, connection, period.run_id)
    if run is None:
        raise JournalError("journal.no_run", connection=connection)
    return Days(run, first, last, closed_until)


def choose_period(session: Session, connection: str, number: int, *, today: date) -> Days:
    """Choose the days of one closed period; raise JournalError if there is none of this number."""
    period = find_period(session, connection, number)
    since = period.since or EARLIEST
    return choose_days(session, connection, since=since, until=period.until, with_drafts=False, today=today)


def choose_periods(
    session: Session, connection: str, *, since: date | None, until: date | None, today: date
) -> list[Days]:
    """Choose closed days, those of each period apart: each is of the run that it was closed on."""
    choose = partial(choose_days, session, connection, with_drafts=False, today=today)
    whole = choose(since=since, until=until)
    found, first = [], whole.since
    for period in read_closed_periods(session, connection):
        last = min(period.until, whole.until)
        if first <= last:
            found.append(choose(since=first, until=last))
            first = last + timedelta(days=1)
    return found
