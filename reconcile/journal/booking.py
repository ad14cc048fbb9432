"""Pure: entries with the merchant's accounts, and what a later fact does to one that was exported.

What was exported is never rewritten. Where a run now says otherwise, the lines that changed are reversed and posted
anew in a correction of their own; a payment whose document was found later is moved from one account to the other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from reconcile.journal.accounts import Account, AccountMap
from reconcile.journal.entries import JournalError
from reconcile.journal.postings import (
    ENTRY_TYPES,
    RECLASSIFIED,
    RECLASSIFIES,
    REVERSAL,
    Entry,
    EntryType,
    Posting,
    kind_of_entry,
    name_by_content,
)

_CLEARING = "clearing"
Name = tuple[str, str]


class Booked(Struct, frozen=True, array_like=True):
    """A posting with its two accounts; `reverses` names the line that it takes back."""

    kind: str
    external_id: str
    amount: int
    debit: Account
    credit: Account
    posting: Posting
    reverses: str = ""


class BookedEntry(Struct, frozen=True):
    """An entry as a ledger takes it: debit is credit line by line; `sequence` is 0 until it is corrected."""

    key: str
    sequence: int
    external_id: str
    on: date
    currency: str
    lines: tuple[Booked, ...]
    is_draft: bool = False

    @property
    def type(self) -> EntryType:
        return ENTRY_TYPES[kind_of_entry(self.key)]

    @property
    def clearing(self) -> int:
        """Return how much the entry moves the clearing account."""
        debits = sum(line.amount for line in self.lines if line.debit.key == _CLEARING)
        return debits - sum(line.amount for line in self.lines if line.credit.key == _CLEARING)


@dataclass(slots=True)
class Bookkeeper:
    """Puts the merchant's accounts to postings, and remembers which it did not find."""

    connection: str
    accounts: AccountMap
    missing: dict[tuple[str, str], int] = field(default_factory=dict)
    _found: dict[tuple[str, str], Account | None] = field(default_factory=dict)

    def book(self, entry: Entry, *, on: date | None = None, sequence: int = 0) -> BookedEntry:
        return self._to_entry(entry.key, sequence, on or entry.on, entry.currency, self._book(entry, sequence))

    def correct(self, standing: Mapping[Name, Booked], entry: Entry, *, on: date, sequence: int) -> BookedEntry | None:
        """Return what makes of the lines that stand those of today; None if no line differs."""
        wanted = {line.posting.name: line for line in self._book(entry, sequence)}
        kept = {name for name, line in standing.items() if name in wanted and wanted[name].posting == line.posting}
        old = [line for name, line in standing.items() if name not in kept]
        new = [line for name, line in wanted.items() if name not in kept]
        lines = tuple(_correct(old, new, sequence))
        return self._to_entry(entry.key, sequence, on, entry.currency, lines) if lines else None

    def raise_missing(self) -> None:
        """Refuse to go on where accounts are missing, naming every one."""
        if self.missing:
            names = ", ".join(f"{key} ({means})" if means else key for key, means in sorted(self.missing))
            raise JournalError("journal.accounts_missing", keys=names, connection=self.connection)

    def _book(self, entry: Entry, sequence: int) -> tuple[Booked, ...]:
        return tuple(
            Booked(
                posting.kind,
                name_by_content(self.connection, entry.key, *posting.name, str(sequence)),
                abs(posting.amount),
                self._account(posting.sides.debit, posting.means),
                self._account(posting.sides.credit, posting.means),
                posting,
            )
            for posting in entry.postings
        )

    def _account(self, key: str, means: str) -> Account:
        if (key, means) not in self._found:
            self._found[key, means] = self.accounts.find(key, means)
        account = self._found[key, means]
        if account is None:
            # By means only where others of the key have an account.
            name = (key, "")
            self.missing[name] = self.missing.get(name, 0) + 1
            return Account(key, "")
        return account

    def _to_entry(self, key: str, sequence: int, on: date, currency: str, lines: tuple[Booked, ...]) -> BookedEntry:
        name = name_by_content(self.connection, key, str(sequence))
        return BookedEntry(key, sequence, name, on, currency, lines)


def _correct(old: Iterable[Booked], new: Sequence[Booked], sequence: int) -> Iterator[Booked]:
    moved = {line.posting.operation: line for line in new if line.kind in RECLASSIFIES.values()}
    taken: set[str] = set()
    for line in old:
        other = moved.get(line.posting.operation) if line.kind in RECLASSIFIES else None
        if other is not None and other.amount == line.amount and other.external_id not in taken:
            taken.add(other.external_id)
            yield replace(other, kind=RECLASSIFIED, debit=line.credit, reverses=line.external_id)
        else:
            name = name_by_content(line.external_id, REVERSAL, str(sequence))
            yield Booked(REVERSAL, name, line.amount, line.credit, line.debit, line.posting, line.external_id)
    yield from (line for line in new if line.external_id not in taken)


def stand(entries: Iterable[BookedEntry]) -> Mapping[Name, Booked]:
    """Return the lines that stand after an entry and its corrections, by kind and subject."""
    found: dict[str, Booked] = {}
    for entry in entries:
        for line in entry.lines:
            before = found.pop(line.reverses, None) if line.reverses else None
            if line.kind == RECLASSIFIED and before is not None:
                found[line.external_id] = replace(line, kind=line.posting.kind, debit=before.debit, reverses="")
            elif line.kind != REVERSAL:
                found[line.external_id] = line
    return {line.posting.name: line for line in found.values()}
