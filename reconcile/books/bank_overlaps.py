"""How a bank file relates to earlier ones: it continues them, it overlaps, or neither can be shown; pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import accumulate

from consumer.facts.messages import Message, Value
from reconcile.books.bank_statements import Statement
from reconcile.books.dialects import ADVICE_FORMS, SHEET_FORMS
from reconcile.books.documents import NO_LINE, Reject
from reconcile.tables.books import BankFile


@dataclass(frozen=True, slots=True)
class Said:
    """What a line says; two lines of one day may say the same and still be two."""

    booked_on: date
    amount: int
    currency: str
    text: str
    reference: str


@dataclass(frozen=True, slots=True)
class Place:
    """What a file must heed: lines `before` it on a day that was split are not its own, however alike."""

    before: Counter[Said] = field(default_factory=Counter)
    rejects: tuple[Reject, ...] = ()
    notes: tuple[Message, ...] = ()


def lines_said(statements: Sequence[Statement]) -> list[Said]:
    return [
        Said(row.booked_on, row.amount, statement.currency, row.text, row.reference)
        for statement in statements
        for row in statement.rows
    ]


def find_place(file: BankFile, lines: Sequence[Said], earlier: Sequence[BankFile], kept: Sequence[Said]) -> Place:
    """Compare a file with earlier ones of its account; `kept` are the lines they brought from its first day on.

    A wrong guess loses a deposit or counts it twice, so what balances contradict is refused.
    """
    touching = [other for other in earlier if _may_share_lines(file, other) and _common(file, other)]
    same = Counter(lines) & Counter(kept)
    split = set(_split_days(file, lines, touching))
    # A whole day exported again whose lines sum to zero looks like a day that was split.
    split = {on for on in split if not _sums_to_zero(same, on)}
    over = [other for other in touching if _common(file, other) - split]
    stranger = next((other for other in over if _family(other) != _family(file)), None)
    if stranger is not None:
        return Place(rejects=(_refuse_other_format(file, stranger),))
    # Files that speak of other days share no line: one dated outside its statement is one more, however alike.
    others = {said for said in same if said.booked_on in split or (not over and file.opening is not None)}
    stated = [other for other in over if other.opening is not None]
    agree = any(_counts_from_one_point(file, other, lines, kept) for other in stated if file.opening is not None)
    contradicted = _count_contradicted(file, over, lines, kept, split)
    if contradicted and (agree or file.opening is None or not stated):
        return Place(rejects=(_refuse_other_words(over[-1], contradicted),))
    place = Place(Counter(said for said in kept if said in others))
    same = Counter({said: count for said, count in same.items() if said not in others})
    if not same:
        return place
    if file.opening is None or not stated:
        return replace(place, notes=(_note_assumed(same),))
    if agree:
        return place
    return Place(rejects=(_refuse_other_balances(stated[-1], same),))


def _may_share_lines(file: BankFile, other: BankFile) -> bool:
    """Return False for advice and a statement: the lines of advice count only on days without a statement."""
    is_same_kind = (file.file_format in ADVICE_FORMS) == (other.file_format in ADVICE_FORMS)
    return is_same_kind and other.currency == file.currency


def _sums_to_zero(same: Counter[Said], on: date) -> bool:
    amounts = [said.amount * count for said, count in same.items() if said.booked_on == on]
    return bool(amounts) and sum(amounts) == 0


def _common(file: BankFile, other: BankFile) -> set[date]:
    since, until = max(file.since, other.since), min(file.until, other.until)
    return {since + timedelta(days=number) for number in range((until - since).days + 1)}


def _split_days(file: BankFile, lines: Sequence[Said], touching: Sequence[BankFile]) -> Iterator[date]:
    """Give the days within which another file ends where this one opens, or opens where this one closes.

    A file that already speaks of what lies on this one's side of that point makes it an overlap instead.
    """
    if file.opening is None or file.closing is None:
        return
    first, last = ([said.amount for said in lines if said.booked_on == on] for on in (file.since, file.until))
    after = set(accumulate(first, initial=file.opening))
    before = set(accumulate([-amount for amount in reversed(last)], initial=file.closing))
    ends = {other.closing for other in touching if other.until == file.since}
    starts = {other.opening for other in touching if other.since == file.until}
    if (
        file.opening in ends
        and not (ends & after - {file.opening})
        and not any(
            other.since <= file.since < other.until or (other.since, other.opening) == (file.since, file.opening)
            for other in touching
        )
    ):
        yield file.since
    if (
        file.closing in starts
        and not (starts & before - {file.closing})
        and not any(
            other.since < file.until <= other.until or (other.until, other.closing) == (file.until, file.closing)
            for other in touching
        )
    ):
        yield file.until


def _count_contradicted(
    file: BankFile, over: Sequence[BankFile], lines: Sequence[Said], kept: Sequence[Said], split: set[date]
) -> Counter[tuple[date, int]]:
    """Count kept lines that this file has not, though it has one of their day and amount under other words."""
    days = {on for other in over for on in _common(file, other)} - split
    gone = Counter(kept) - Counter(lines)
    new = Counter(lines) - Counter(kept)
    before = _days_and_amounts(said for said in gone.elements() if said.booked_on in days)
    return before & _days_and_amounts(new.elements())


def _days_and_amounts(said: Iterable[Said]) -> Counter[tuple[date, int]]:
    return Counter((one.booked_on, one.amount) for one in said)


def _counts_from_one_point(file: BankFile, other: BankFile, lines: Sequence[Said], kept: Sequence[Said]) -> bool:
    """Return True if the balances of both files show that equal lines are the same lines."""
    assert file.opening is not None
    assert other.opening is not None
    assert other.closing is not None
    if (file.since, file.opening) == (other.since, other.opening):
        return True
    if other.since > file.since:
        return file.opening + sum(said.amount for said in lines if said.booked_on < other.since) == other.opening
    since = [said.amount for said in kept if file.since <= said.booked_on <= other.until]
    return other.closing - sum(since) == file.opening


def _family(file: BankFile) -> str:
    return "sheet" if file.file_format in SHEET_FORMS else file.file_format


def _refuse_other_format(file: BankFile, other: BankFile) -> Reject:
    values: dict[str, Value] = {
        "file": other.name,
        "format": other.file_format,
        "since": max(file.since, other.since),
        "until": min(file.until, other.until),
    }
    return Reject(NO_LINE, "", "", Message("books.other_format_known", values))


def _refuse_other_words(other: BankFile, contradicted: Counter[tuple[date, int]]) -> Reject:
    values: dict[str, Value] = {
        "lines": contradicted.total(),
        "file": other.name,
        "day": min(day for day, _ in contradicted),
    }
    return Reject(NO_LINE, "", "", Message("books.same_days_other_words", values))


def _note_assumed(same: Counter[Said]) -> Message:
    return Message("books.same_lines_assumed", {"lines": same.total()})


def _refuse_other_balances(other: BankFile, same: Counter[Said]) -> Reject:
    values: dict[str, Value] = {"lines": same.total(), "file": other.name, "day": min(said.booked_on for said in same)}
    return Reject(NO_LINE, "opening", "", Message("books.same_lines_other_balances", values))
