"""The journal to be looked at: entries as they were exported, and as the run says for all other days."""

from collections.abc import Iterator
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
from sqlmodel import Session

from consumer.facts.installation import Connection, Settings
from reconcile.journal.booking import BookedEntry, Bookkeeper
from reconcile.journal.entries import PAYOUT, Book, Pieces
from reconcile.journal.exporting import EARLIEST, Export, Planned
from reconcile.journal.postings import KEYS
from reconcile.journal.remembered import recall
from reconcile.journal.source import load_accounts, open_book
from reconcile.kept import chunks
from reconcile.kept.records import last_closed
from reconcile.tables.runs import Run


def list_entries(
    session: Session, settings: Settings, connection: Connection, run: Run, since: date | None, until: date | None
) -> Iterator[BookedEntry]:
    """Yield the entries of some days as an export of this moment would hold them; nothing is remembered.

    Raise RefusalError if there is no account map, an account is missing, or clearing is not what the provider owed.
    """
    accounts = load_accounts(settings, connection)
    book, balances = open_book(session, run, connection, accounts)
    closed = last_closed(session, connection.name)
    plan = Export(
        book.entries, Bookkeeper(connection.name, accounts), recall(session, connection.name), balances,
        since or EARLIEST, until or run.as_of, closed.until if closed else None,
    )  # fmt: skip
    return (item.entry for item in plan.plan() if isinstance(item, Planned))


def list_entries_of_payout(
    session: Session, settings: Settings, connection: Connection, run: Run, payout_id: str
) -> list[BookedEntry]:
    """Return what one payout moves: its items on their days, the payout itself, and its arrival in the bank.

    Raise RefusalError if there is no account map or an account is missing.
    """
    accounts = load_accounts(settings, connection)
    whole, _ = open_book(session, run, connection, accounts)
    lines = list(chunks.line_tables(session, run, paid_out=True, payout_id=payout_id))
    own = whole.payouts.filter(pc.equal(whole.payouts["payout_id"].cast(pa.string()), payout_id)).select(PAYOUT)
    book = Book(Pieces(len(lines), lambda number, names: lines[number].select(list(names))), own, whole.terms)
    bookkeeper = Bookkeeper(connection.name, accounts)
    entries = [bookkeeper.book(entry) for entry in book.entries()]
    bookkeeper.raise_missing()
    return entries


def find_missing(session: Session, settings: Settings, connection: Connection, run: Run) -> list[tuple[str, int]]:
    """Return the keys of the account map that a run posts to without an account, each with its number of lines."""
    accounts = load_accounts(settings, connection)
    book, _ = open_book(session, run, connection, accounts)
    bookkeeper = Bookkeeper(connection.name, accounts)
    for entry in book.entries():
        bookkeeper.book(entry)
    counts = {key: count for (key, _), count in bookkeeper.missing.items()}
    return [(key, counts[key]) for key in KEYS if key in counts]
