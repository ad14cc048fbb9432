"""An export made: files written aside, the entries remembered, and then the files put in their place."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path

from sqlmodel import Session

from consumer.facts.durable import draft_folder, folder_for
from consumer.facts.installation import Connection, Installation
from reconcile.journal.accounts import Account, AccountMap
from reconcile.journal.bank import BankBook, BankRecord
from reconcile.journal.booking import BookedEntry, Bookkeeper
from reconcile.journal.entries import JournalError
from reconcile.journal.exporting import DayEnd, Export
from reconcile.journal.fields import About
from reconcile.journal.layout_cells import Notes
from reconcile.journal.layouts import Writer
from reconcile.journal.profiles import Of, Profile
from reconcile.journal.remembered import Made, last_export, pack, recall, remember
from reconcile.journal.source import Days, open_book
from reconcile.reading.bank_accounts import read_bank_account

_CLEARING, _BANK = "clearing", "bank"
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to export: the layouts, the folder for the files, the language of texts, and who asks."""

    profiles: Sequence[Profile]
    folder: Path
    language: str
    author: str
    at: datetime
    options: Mapping[str, str] = field(default_factory=dict)
    with_drafts: bool = False


@dataclass(slots=True)
class Outcome:
    """What became of an export; `notes` are texts that had to change, by layout."""

    run_id: str
    since: date
    until: date
    entries: int = 0
    drafts: int = 0
    lines: int = 0
    # The day of the first entry, where all days were asked for.
    first_on: date | None = None
    files: dict[str, list[Path]] = field(default_factory=dict)
    notes: dict[str, Notes] = field(default_factory=dict)


def export(
    installation: Installation, connection: Connection, accounts: AccountMap, days: Days, wanted: Wanted
) -> Outcome:
    """Write the files of an export and remember its entries; drafts are not remembered.

    1. Write every file into a folder aside. An entry that does not fit, a balance that does not tie, or a folder in the
       place of a file ends here.
    2. Remember the entries in one transaction, unless another export was made meanwhile.
    3. Put the files in their place. Killed before, the export is remembered, and making it again gives the same files.
    """
    outcome = Outcome(days.run.id, days.since, days.until)
    with folder_for(wanted.folder), draft_folder(wanted.folder, ".journal.") as draft:
        with installation.store.reading() as session:
            seen = last_export(session, connection.name)
            rows = list(_write(session, connection, accounts, days, wanted, folder=draft, outcome=outcome))
        _check_targets(wanted.folder, outcome)
        if not wanted.with_drafts:
            made = Made(
                connection.name, days.since, days.until, days.run.id, [one.name for one in wanted.profiles],
                wanted.author, wanted.at,
            )  # fmt: skip
            with installation.store.transaction() as writing:
                remember(writing, made, rows, seen=seen)
        for paths in outcome.files.values():
            for place, path in enumerate(paths):
                paths[place] = path.replace(wanted.folder / path.name)
    return outcome


def _check_targets(folder: Path, outcome: Outcome) -> None:
    for paths in outcome.files.values():
        for path in paths:
            if (folder / path.name).is_dir():
                raise JournalError("journal.target_is_folder", path=str(folder / path.name))


def _write(  # noqa: PLR0913 - what an export is of, and where it goes
    session: Session, connection: Connection, accounts: AccountMap, days: Days, wanted: Wanted, *, folder: Path,
    outcome: Outcome,
) -> Iterator[tuple[object, ...]]:  # fmt: skip
    """Write the files, and yield the rows of the entries that were not exported before."""
    book, balances = open_book(session, days.run, connection, accounts)
    plan = Export(
        book.entries, Bookkeeper(connection.name, accounts), recall(session, connection.name), balances, days.since,
        days.until, days.closed_until,
    )  # fmt: skip
    about = About(
        connection.name, connection.country_code, days.since, days.until, days.run.id, wanted.language,
        connection.tax_id or "", {**accounts.options, **wanted.options},
    )  # fmt: skip
    writers = [
        Writer(
            profile,
            about,
            lambda name: (folder / name).open("xb"),
            apart=[other for other in wanted.profiles if other.payments_of == profile.name],
        )
        for profile in wanted.profiles
    ]
    with ExitStack() as stack:
        for writer in writers:
            stack.callback(writer.close)
        bank = BankBook(read_bank_account(session, connection), days.since, days.until)
        yield from _write_all(plan, writers, days, wanted, bank=bank, outcome=outcome)
    for writer in writers:
        outcome.files[writer.profile.name] = [folder / file for file in writer.names]
        outcome.notes[writer.profile.name] = writer.notes


def _write_all(
    plan: Export, writers: Sequence[Writer], days: Days, wanted: Wanted, *, bank: BankBook, outcome: Outcome
) -> Iterator[tuple[object, ...]]:
    accounts = plan.bookkeeper.accounts
    for item in plan.plan():
        on = item.on if isinstance(item, DayEnd) else item.entry.on
        _write_bank(writers, accounts, bank.end_days(on - _DAY))
        if isinstance(item, DayEnd):
            of = Of.OPENING if item.on < days.since else Of.BALANCE
            _write_balances(writers, accounts.find(_CLEARING), item.on, item.balances, of)
            continue
        _count(outcome, item.entry)
        bank.add(item.entry)
        for writer in writers:
            writer.write(item.entry)
        if item.digest is not None and not wanted.with_drafts:
            yield pack(item.entry, item.digest)
    _write_bank(writers, accounts, bank.end_days(days.until))
    for writer in writers:
        writer.finish()


def _write_balances(
    writers: Sequence[Writer], account: Account | None, on: date, balances: Mapping[str, int], of: Of
) -> None:
    for currency, amount in sorted(balances.items()):
        if account is not None and (amount or of is Of.BALANCE):
            for writer in writers:
                writer.write_balance(on, account, amount, currency, of=of)


def _write_bank(writers: Sequence[Writer], accounts: AccountMap, records: Iterable[BankRecord]) -> None:
    for record in records:
        _write_balances(writers, accounts.find(_BANK), record.on, {record.currency: record.amount}, record.of)


def _count(outcome: Outcome, entry: BookedEntry) -> None:
    outcome.first_on = outcome.first_on or entry.on
    outcome.entries += 1
    outcome.drafts += entry.is_draft
    outcome.lines += 2 * len(entry.lines)
