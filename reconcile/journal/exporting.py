"""Pure: what an export holds: entries of its days, corrections of what was exported before, and a check of both.

Days that an export covered keep what it said. What a run says otherwise of them is booked on the first day after
that no export covered.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from consumer.facts.money import format_decimal
from reconcile.journal.booking import BookedEntry, Bookkeeper, stand
from reconcile.journal.entries import JournalError
from reconcile.journal.postings import Entry

_DAY = timedelta(days=1)
# Where an export begins that asks for all days.
EARLIEST = date(1970, 1, 1)
# What a run says of an entry that it does not have any more.
GONE = b""


class Head(NamedTuple):
    """The newest of an entry and its corrections: its number, and the digest of what the run said."""

    sequence: int
    digest: bytes
    currency: str


class Moved(NamedTuple):
    """How much one exported entry moved the clearing account."""

    on: date
    currency: str
    amount: int


class Balance(NamedTuple):
    """What the provider owed at the end of a day, as the run's roll-forward says."""

    on: date
    currency: str
    opening: int
    closing: int


@dataclass(frozen=True, slots=True)
class Remembered:
    """What earlier exports held; entries are read when they are needed."""

    heads: Mapping[str, Head] = field(default_factory=dict)
    ranges: Sequence[tuple[date, date]] = ()
    moved: Sequence[Moved] = ()
    read_entry: Callable[[str], Sequence[BookedEntry]] = lambda _: ()
    read_day: Callable[[date], Sequence[BookedEntry]] = lambda _: ()

    def is_covered(self, on: date) -> bool:
        return any(since <= on <= until for since, until in self.ranges)

    def first_open(self, on: date) -> date:
        """Return the first day, from this one on, that no export covered."""
        while self.is_covered(on):
            on = max(until for since, until in self.ranges if since <= on <= until) + _DAY
        return on


class Planned(NamedTuple):
    """An entry of the export; `digest` is None where an earlier export held it already."""

    entry: BookedEntry
    digest: bytes | None


class DayEnd(NamedTuple):
    """The clearing balance at the end of a day, which the run's roll-forward and the entries agree on."""

    on: date
    balances: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Export:
    """The days asked for, what a run says and what was exported before. Days after `closed_until` are drafts."""

    entries: Callable[[], Iterable[Entry]]
    bookkeeper: Bookkeeper
    remembered: Remembered
    balances: Sequence[Balance]
    since: date
    until: date
    closed_until: date | None

    def plan(self) -> Iterator[Planned | DayEnd]:
        """Yield the entries by date and the end of each day, the first of them before the first entry.

        Raise JournalError if an account is missing, or if the clearing account is not what the provider owed.
        """
        corrections = self._list_corrections()
        self.bookkeeper.raise_missing()
        check = _Check(self, corrections.opening)
        yield DayEnd(max(self.since, EARLIEST) - _DAY, dict(check.balance))
        for planned in self._merge(corrections.by_day):
            yield from check.end_days(planned.entry.on - _DAY)
            check.add(planned.entry)
            yield planned
        yield from check.end_days(self.until)
        check.compare(self.until)
        self.bookkeeper.raise_missing()

    def _merge(self, corrections: Mapping[date, list[Planned]]) -> Iterator[Planned]:
        """Merge the days that earlier exports held, the run's entries of all others, and the corrections."""
        corrected = (on for on in corrections if self.since <= on <= self.until)
        waiting = sorted({*corrected, *self._list_covered()}, reverse=True)
        for entry in self.entries():
            if not self.since <= entry.on <= self.until or self.remembered.is_covered(entry.on):
                continue
            while waiting and waiting[-1] < entry.on:
                yield from self._of_day(waiting.pop(), corrections)
            if entry.key not in self.remembered.heads:
                yield Planned(self.mark(self.bookkeeper.book(entry)), entry.digest())
        while waiting:
            yield from self._of_day(waiting.pop(), corrections)

    def _of_day(self, on: date, corrections: Mapping[date, list[Planned]]) -> Iterator[Planned]:
        if self.remembered.is_covered(on):
            yield from (Planned(entry, None) for entry in self.remembered.read_day(on))
        else:
            yield from corrections.get(on, ())

    def _list_covered(self) -> set[date]:
        """Return the days of the range on which earlier exports booked anything."""
        return {moved.on for moved in self.remembered.moved if self.since <= moved.on <= self.until}

    def mark(self, entry: BookedEntry) -> BookedEntry:
        is_draft = self.closed_until is None or entry.on > self.closed_until
        return replace(entry, is_draft=True) if is_draft else entry

    def _list_corrections(self) -> "_Corrections":
        found = _Corrections(self.since)
        if not self.remembered.ranges:
            return found
        seen = set()
        for entry in self.entries():
            head = self.remembered.heads.get(entry.key)
            seen.add(entry.key)
            if head is not None and head.digest != entry.digest():
                self._correct(entry, head, found)
            elif head is None and self.remembered.is_covered(entry.on):
                late = self.bookkeeper.book(entry, on=self.remembered.first_open(entry.on))
                found.add(Planned(self.mark(late), entry.digest()))
        for key, head in self.remembered.heads.items():
            if key not in seen and head.digest != GONE:
                self._correct(Entry(key, self.remembered.read_entry(key)[0].on, head.currency, ()), head, found)
        return found

    def _correct(self, entry: Entry, head: Head, found: "_Corrections") -> None:
        """Correct an exported entry on the first open day; one that moved to another open day leaves its old one."""
        before = self.remembered.read_entry(entry.key)
        standing, sequence = stand(before), head.sequence + 1
        was_on, is_on = self.remembered.first_open(before[0].on), self.remembered.first_open(entry.on)
        digest = entry.digest() if entry.postings else GONE
        if standing and (was_on == is_on or not entry.postings):
            found.add_correction(self, self.bookkeeper.correct(standing, entry, on=was_on, sequence=sequence), digest)
            return
        if standing:
            gone = replace(entry, postings=())
            found.add_correction(self, self.bookkeeper.correct(standing, gone, on=was_on, sequence=sequence), GONE)
            sequence += 1
        moved = self.bookkeeper.book(entry, on=is_on, sequence=sequence)
        found.add(Planned(self.mark(moved), digest), is_own_day=is_on == entry.on)


@dataclass(slots=True)
class _Corrections:
    """What is booked on which day, and how much of it comes before the days asked for."""

    since: date
    by_day: dict[date, list[Planned]] = field(default_factory=lambda: defaultdict(list))
    opening: Counter[str] = field(default_factory=Counter)

    def add(self, planned: Planned, *, is_own_day: bool = False) -> None:
        """Add a correction. On its own day the run's roll-forward of that day counts it already."""
        self.by_day[planned.entry.on].append(planned)
        if planned.entry.on < self.since and not is_own_day:
            self.opening[planned.entry.currency] += planned.entry.clearing

    def add_correction(self, export: Export, entry: BookedEntry | None, digest: bytes) -> None:
        if entry is not None:
            self.add(Planned(export.mark(entry), digest))


class _Check:
    """Compares the clearing account of the export with what the run says the provider owed, day by day."""

    def __init__(self, export: Export, corrections: Counter[str]) -> None:
        self._remembered = export.remembered
        self.balance = _open(export)
        self.balance.update(corrections)
        self._owed: dict[str, int] = {}
        self._waiting: dict[date, list[Balance]] = defaultdict(list)
        for row in sorted(export.balances):
            if row.on < export.since:
                self._owed[row.currency] = row.closing
            else:
                self._waiting[row.on].append(row)
        self._days = sorted(self._waiting, reverse=True)

    def add(self, entry: BookedEntry) -> None:
        self.balance[entry.currency] += entry.clearing

    def end_days(self, until: date) -> Iterator[DayEnd]:
        """Yield the end of each day on which the run's roll-forward moved and that was not exported before."""
        while self._days and self._days[-1] <= until:
            on = self._days.pop()
            self._owed |= {row.currency: row.closing for row in self._waiting[on]}
            if not self._remembered.is_covered(on):
                self.compare(on)
                yield DayEnd(on, dict(self._owed))

    def compare(self, on: date) -> None:
        """Raise JournalError if the balance at the end of a day is not what was owed then."""
        if self._remembered.is_covered(on):
            return
        for currency in sorted({*self.balance, *self._owed}):
            journal, owed = self.balance[currency], self._owed.get(currency, 0)
            if journal != owed:
                raise JournalError(
                    "journal.clearing_differs", on=on, currency=currency, journal=format_decimal(journal, currency),
                    owed=format_decimal(owed, currency),
                )  # fmt: skip


def _open(export: Export) -> Counter[str]:
    """Return the clearing balance before the first day: what was exported, and what the run says of all other days."""
    opening: Counter[str] = Counter()
    for moved in export.remembered.moved:
        if moved.on < export.since:
            opening[moved.currency] += moved.amount
    for row in export.balances:
        if row.on < export.since and not export.remembered.is_covered(row.on):
            opening[row.currency] += row.closing - row.opening
    return opening
