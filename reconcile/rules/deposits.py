"""Deposits at the bank, each once: accounts, the lines of both sources paired, and days on which the sources differ."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import NamedTuple

import pandas as pd
from pandas import DataFrame

from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import BANK_RESULTS, Evidence, Finding, Inputs, Row, empty_frame, rows_of, to_types
from reconcile.rules.names import simplify
from reconcile.rules.outcomes import Code
from reconcile.rules.terms import BPS

_SHORTEST = 4
_WORD = re.compile(r"[\w-]+")
_KEY = re.compile(r"[a-z]+_\w+")
Key = tuple[object, ...]
Keys = Callable[["_Line"], Iterable[Key]]
Span = tuple[pd.Timestamp, pd.Timestamp]
_MOST_LINES = 20
Place = tuple[str, str]


def is_of_file(line: Row) -> bool:
    """Return whether a row of the bank comes from an imported file; the others are movements the provider shows."""
    return not pd.isna(line.known_until)


class Accounts:
    """Compare accounts as far as they are known.

    Whole numbers decide where both are there. Else the last digits do, unless two accounts share them.
    """

    def __init__(self, inputs: Inputs) -> None:
        bank, payouts = inputs.bank, inputs.payouts
        self._stretches: list[Row] = []
        self._shared: frozenset[str] = frozenset()
        self._whole: dict[str, str] = {}
        if bank.empty:
            return
        names = DataFrame({
            "account": pd.concat([bank["account"], payouts["recipient_account"]]),
            "last4": pd.concat([bank["account_last4"], payouts["recipient_last4"]]),
        }).dropna().drop_duplicates()  # fmt: skip
        counts = names["last4"].value_counts()
        self._shared = frozenset(counts[counts > 1].index)
        self._whole = dict(zip(names["last4"], names["account"], strict=True))
        columns = ["account", "account_last4", "currency", "known_since", "known_until"]
        self._stretches = rows_of(bank[columns].drop_duplicates())

    def name_of(self, line: Row) -> str | None:
        """Return one name for all lines of an account; None where its last digits are those of several."""
        if not pd.isna(line.account):
            return str(line.account)
        if pd.isna(line.account_last4) or line.account_last4 in self._shared:
            return None
        return str(self._whole.get(line.account_last4, line.account_last4))

    def may_be(self, payout: Row, line: Row) -> bool:
        """Return whether a line is of the payout's account and currency, and not from before it succeeded."""
        in_time = line.currency == payout.currency and line.booked_on >= payout.since
        return bool(in_time and self._is_same(payout, line))

    def cover(self, payout: Row) -> bool:
        """Return whether a source shows every day from the payout's success to the one by which it must be there."""
        return any(
            begins and (pd.isna(stretch.known_until) or payout.until <= stretch.known_until)
            for stretch, begins in self._find_spoken(payout)
        )

    def begin(self, payout: Row) -> bool:
        """Return whether a source shows the day on which the payout succeeded."""
        return any(
            begins and (pd.isna(stretch.known_until) or payout.since <= stretch.known_until)
            for stretch, begins in self._find_spoken(payout)
        )

    def _find_spoken(self, payout: Row) -> list[tuple[Row, bool]]:
        """Return the stretches of a payout's account and currency, and whether each begins early enough for it."""
        if pd.isna(payout.account) and pd.isna(payout.recipient_account_last4):
            return []
        return [
            (stretch, pd.isna(stretch.known_since) or stretch.known_since <= payout.since)
            for stretch in self._stretches
            if stretch.currency == payout.currency and self._is_same(payout, stretch)
        ]

    def _is_same(self, payout: Row, other: Row) -> bool:
        if not pd.isna(payout.account) and not pd.isna(other.account):
            return bool(payout.account == other.account)
        if pd.isna(payout.recipient_account_last4) or pd.isna(other.account_last4):
            return True
        last4 = payout.recipient_account_last4
        return bool(last4 == other.account_last4 and last4 not in self._shared)


class Deposit(NamedTuple):
    """Money that came in once: the line that stands for it, and the line of the other source that shows it too."""

    line: Row
    twin: Row | None = None
    account: str | None = None
    # Payouts that its lines name.
    payouts: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[Row, ...]:
        return (self.line,) if self.twin is None else (self.line, self.twin)

    @property
    def amounts(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(int(line.amount) for line in self.lines))


class _Line(NamedTuple):
    row: Row
    account: str | None
    payouts: tuple[str, ...]
    reference: str


def find_deposits(inputs: Inputs) -> list[Deposit]:
    """Return every deposit once, oldest first; the provider's line stands for those that both sources show.

    Lines of one account are paired by a payout both name or by one reference, then by amount and bank day. So n lines
    of one source and m equal ones of the other are max(n, m) deposits.
    """
    if inputs.bank.empty:
        return []
    inbound = inputs.bank[inputs.bank["amount"] > 0]
    rows = rows_of(inbound.sort_values(["booked_on", "movement_id"], ignore_index=True))
    lines = list(_read(rows, inputs))
    shown = [line for line in lines if not is_of_file(line.row)]
    filed = [line for line in lines if is_of_file(line.row)]
    twins = _pair(shown, filed, inputs) if shown and filed else {}
    paired = {twin.row.movement_id for twin in twins.values()}
    return [_to_deposit(line, twins.get(line.row.movement_id)) for line in lines if line.row.movement_id not in paired]


def _read(rows: list[Row], inputs: Inputs) -> Iterator[_Line]:
    accounts, ids = Accounts(inputs), set(inputs.payouts["payout_id"])
    for row in rows:
        words = _WORD.findall(row.text) if isinstance(row.text, str) else ()
        payouts = tuple(sorted({word for word in words if word in ids}))
        yield _Line(row, accounts.name_of(row), payouts, _to_reference(row.reference))


def _to_reference(text: object) -> str:
    """Return a reference as both sources may write it; words and numbers too short to identify anything are none."""
    if not isinstance(text, str) or not any(char.isdigit() for char in text):
        return ""
    bare = simplify(text)
    return bare if len(bare) >= _SHORTEST else ""


def _to_deposit(line: _Line, twin: _Line | None) -> Deposit:
    if twin is None:
        return Deposit(line.row, None, line.account, line.payouts)
    return Deposit(line.row, twin.row, line.account, tuple(sorted({*line.payouts, *twin.payouts})))


def _pair(shown: list[_Line], filed: list[_Line], inputs: Inputs) -> dict[str, _Line]:
    """Pair lines one to one; give the file's line of each movement that has one."""
    twins: dict[str, _Line] = {}
    used: set[str] = set()
    near = _Nearness(inputs)

    def free(lines: list[_Line]) -> list[_Line]:
        return [line for line in lines if line.account is not None and line.row.movement_id not in used]

    def keep(pairs: Iterable[tuple[_Line, _Line]]) -> None:
        for line, twin in pairs:
            if not {line.row.movement_id, twin.row.movement_id} & used:
                twins[line.row.movement_id] = twin
                used.update((line.row.movement_id, twin.row.movement_id))

    keys: Keys
    for keys in (_by_payout_and_amount, _by_payout):
        keep((a[0], b[0]) for a, b in _group(free(shown), free(filed), keys) if len(a) == len(b) == 1)
    for keys in (_by_reference_and_amount, _by_reference):
        for group in _group(free(shown), free(filed), keys):
            keep(pair for pair in _pair_near(*group, near) if _are_alike(*pair, inputs.rules.bank_amount_bps))
    # Lines that name different payouts are two deposits, so of a pair by amount one at most names any.
    amounts = (_by_amount(is_named=True), _by_amount(is_twin_named=True), _by_amount())
    for keys in (_by_payout_and_amount, *amounts):
        for group in _group(free(shown), free(filed), keys):
            keep(_pair_by_day(*group, near))
    return twins


def _to_place(line: _Line) -> Key:
    return line.account, line.row.currency


def _by_payout_and_amount(line: _Line) -> Iterable[Key]:
    return ((*_to_place(line), payout, int(line.row.amount)) for payout in line.payouts)


def _by_payout(line: _Line) -> Iterable[Key]:
    return ((*_to_place(line), payout) for payout in line.payouts)


def _by_reference_and_amount(line: _Line) -> Iterable[Key]:
    return ((*_to_place(line), line.reference, int(line.row.amount)),) if line.reference else ()


def _by_reference(line: _Line) -> Iterable[Key]:
    return ((*_to_place(line), line.reference),) if line.reference else ()


def _by_amount(*, is_named: bool = False, is_twin_named: bool = False) -> Keys:
    """Return the key by amount of those movements and lines of files that name a payout, or that name none."""

    def keys(line: _Line) -> Iterable[Key]:
        wanted = is_twin_named if is_of_file(line.row) else is_named
        return ((*_to_place(line), int(line.row.amount)),) if bool(line.payouts) is wanted else ()

    return keys


def _group(shown: list[_Line], filed: list[_Line], keys: Keys) -> Iterator[tuple[list[_Line], list[_Line]]]:
    """Return the lines of both sources that have a key in common, in the order of the lines."""
    of_files: dict[Key, list[_Line]] = {}
    for line in filed:
        for key in keys(line):
            of_files.setdefault(key, []).append(line)
    of_provider: dict[Key, list[_Line]] = {}
    for line in shown:
        for key in keys(line):
            if key in of_files:
                of_provider.setdefault(key, []).append(line)
    return ((lines, of_files[key]) for key, lines in of_provider.items())


class _Nearness:
    """Days of the bank, each reckoned once."""

    def __init__(self, inputs: Inputs) -> None:
        self._calendar, self._days = inputs.calendar, inputs.rules.days_to_bank
        self._bank_days: dict[pd.Timestamp, pd.Timestamp] = {}
        self._edges: dict[pd.Timestamp, Span] = {}

    def bank_day(self, day: pd.Timestamp) -> pd.Timestamp:
        if day not in self._bank_days:
            self._bank_days[day] = pd.Timestamp(self._calendar.on_or_after(day.date()))
        return self._bank_days[day]

    def edges(self, day: pd.Timestamp) -> Span:
        """Return the first and the last day on which the other source may book the same reference."""
        if day not in self._edges:
            first, last = (self._calendar.shift(day.date(), days) for days in (-self._days, self._days))
            self._edges[day] = pd.Timestamp(first), pd.Timestamp(last)
        return self._edges[day]


def _pair_near(shown: list[_Line], filed: list[_Line], near: _Nearness) -> Iterator[tuple[_Line, _Line]]:
    """Pair lines of one reference that have only each other within a few bank days, as references come again."""
    for line in shown:
        found = _choose_within(filed, near.edges(line.row.booked_on))
        if len(found) == 1 and len(_choose_within(shown, near.edges(found[0].row.booked_on))) == 1:
            yield line, found[0]


def _are_alike(line: _Line, twin: _Line, most_bps: int) -> bool:
    """Return whether two amounts may be one deposit's: banks keep charges, but some lines all bear one number."""
    small, large = sorted((int(line.row.amount), int(twin.row.amount)))
    return (large - small) * BPS <= most_bps * large


def _choose_within(lines: list[_Line], edges: Span) -> list[_Line]:
    first = bisect_left(lines, edges[0], key=_to_day)
    # Two are as many as matter.
    return lines[first : min(first + 2, bisect_right(lines, edges[1], key=_to_day))]


def _to_day(line: _Line) -> pd.Timestamp:
    day: pd.Timestamp = line.row.booked_on
    return day


def _pair_by_day(shown: list[_Line], filed: list[_Line], near: _Nearness) -> Iterator[tuple[_Line, _Line]]:
    """Pair equal lines of one bank day, as many as there can be.

    A file may book a movement on its own day, or after the bank's cut on the next bank day. The movement whose last
    day comes first goes first, which leaves no pair out.
    """
    waiting: list[tuple[pd.Timestamp, int]] = []
    at = 0
    for twin in filed:
        day = near.bank_day(twin.row.booked_on)
        while at < len(shown) and near.bank_day(shown[at].row.booked_on) <= day:
            own = near.bank_day(shown[at].row.booked_on)
            last = shown[at].row.bank_day
            heappush(waiting, (own if pd.isna(last) else max(own, last), at))
            at += 1
        while waiting and waiting[0][0] < day:
            heappop(waiting)
        if waiting:
            yield shown[heappop(waiting)[1]], twin


def list_bank_lines(deposits: list[Deposit], summary: DataFrame, inputs: Inputs) -> DataFrame:
    """Return what came into the accounts payouts go to, oldest first, each line with the payout it brought.

    A deposit that both sources show alike is one row; where their amounts differ each line is one.
    """
    if not deposits:
        return empty_frame(BANK_RESULTS)
    known = inputs.payouts[["recipient_account", "recipient_last4"]]
    accounts, endings = set(known["recipient_account"].dropna()), set(known["recipient_last4"].dropna())
    brought = summary[summary["bank_movement_id"].notna()]
    payouts = dict(zip(brought["bank_movement_id"], brought["payout_id"], strict=True))
    rows: list[tuple[object, ...]] = []
    for deposit in deposits:
        if deposit.line.account not in accounts and deposit.line.account_last4 not in endings:
            continue
        paid = next((payouts[line.movement_id] for line in deposit.lines if line.movement_id in payouts), None)
        if len(deposit.amounts) == 1:
            rows.append(_to_bank_row(deposit.line, deposit.twin, paid))
        else:
            rows += [_to_bank_row(line, None, paid) for line in deposit.lines]
    frame = DataFrame(rows, columns=list(BANK_RESULTS)).sort_values(["bank_day", "movement_id"], ignore_index=True)
    return to_types(frame, BANK_RESULTS)


def _to_bank_row(line: Row, twin: Row | None, payout_id: str | None) -> tuple[object, ...]:
    own = "file" if is_of_file(line) else "movements"
    of_file = line.movement_id if own == "file" else None
    both = [one for one in (line, twin) if one is not None and isinstance(one.text, str)]
    texts = dict.fromkeys(text for one in both for text in one.text.split("\n") if text and text != one.reference)
    # People do not need a key of the provider where the bank wrote a text.
    said = [text for text in texts if not _KEY.fullmatch(text)] or list(texts)
    description = " · ".join(said) or None
    return (
        line.account_last4, line.booked_on, line.amount, line.currency, description, line.reference,
        own if twin is None else "both", line.movement_id, of_file if twin is None else twin.movement_id, payout_id,
    )  # fmt: skip


def find_source_differences(deposits: list[Deposit], summary: DataFrame, inputs: Inputs) -> list[Finding]:
    """Find the accounts and days of which the two sources show different sums, with the lines that have no equal.

    Two amounts of one payout are `BANK_AMOUNT_DIFF` of that payout, and no finding here.
    """
    is_filed = inputs.bank["known_until"].notna()
    if is_filed.all() or not is_filed.any():
        return []
    known = set(summary["bank_movement_id"][(summary["bank_difference"] != 0).fillna(value=False)])
    whole = _WholeDays(inputs)
    lines: dict[tuple[Place, pd.Timestamp], list[Row]] = {}
    for deposit in deposits:
        if deposit.account is None or len(deposit.amounts) < len(deposit.lines):
            continue
        if any(line.movement_id in known for line in deposit.lines) and deposit.twin is not None:
            continue
        place = (deposit.account, str(deposit.line.currency))
        if all(whole.show(place, line) for line in deposit.lines):
            lines.setdefault((place, deposit.line.booked_on), []).extend(deposit.lines)
    return list(_to_findings(lines))


def _to_findings(lines: dict[tuple[Place, pd.Timestamp], list[Row]]) -> Iterator[Finding]:
    for ((account, currency), day), unequal in lines.items():
        shown = [line for line in unequal if not is_of_file(line)]
        filed = [line for line in unequal if is_of_file(line)]
        difference = _add_up(shown) - _add_up(filed)
        if not difference:
            continue
        last4 = unequal[0].account_last4
        evidence = {
            "account": f"…{last4}",
            "bank_date": day.date().isoformat(),
            "only_in_movements": _add_up(shown),
            "only_in_files": _add_up(filed),
            "movement_lines": _list_lines(shown),
            "file_lines": _list_lines(filed),
        }
        # Enough of the account's name to distinguish two that end alike, and too little to guess a number from.
        subject = f"bank:{last4}-{account[:4]}:{day.date().isoformat()}"
        about = About(subject, currency, evidence=evidence, fact_on=day.date())
        yield to_finding(Code.BANK_SOURCES_DIFFER, about, at_risk=abs(difference))


def _add_up(lines: Iterable[Row]) -> int:
    return sum(int(line.amount) for line in lines)


def _list_lines(lines: list[Row]) -> list[Evidence]:
    return [{"line": line.movement_id, "amount": int(line.amount)} for line in lines[:_MOST_LINES]]


class _WholeDays:
    """Which days each source shows whole: a file those it speaks of, the provider those from an account's first line.

    The as-of day is not over, so no source shows it whole.
    """

    def __init__(self, inputs: Inputs) -> None:
        accounts, self._today = Accounts(inputs), pd.Timestamp(inputs.as_of)
        self._first: dict[Place, pd.Timestamp] = {}
        stretches: dict[Place, set[Span]] = {}
        columns = ["account", "account_last4", "currency", "booked_on", "known_since", "known_until"]
        for row in rows_of(inputs.bank[columns].drop_duplicates()):
            name = accounts.name_of(row)
            if name is None:
                continue
            place = (name, str(row.currency))
            if is_of_file(row):
                stretches.setdefault(place, set()).add((row.known_since, row.known_until))
            else:
                self._first[place] = min(row.booked_on, self._first.get(place, row.booked_on))
        self._stretches = {place: sorted(some) for place, some in stretches.items()}

    def show(self, place: Place, line: Row) -> bool:
        """Return whether both sources show the days on which each of them may have booked the line."""
        first, day = self._first.get(place), line.booked_on
        last = day if is_of_file(line) or pd.isna(line.bank_day) else max(day, line.bank_day)
        if first is None or day < first or last >= self._today:
            return False
        return any(since <= day and last <= until for since, until in self._stretches.get(place, ()))
