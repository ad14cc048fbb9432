"""Deposits that account movements and bank files tell, each once: the lines of both sources paired one to one; pure."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Any, NamedTuple

import pandas as pd

from reconcile.rules.bank_accounts import Accounts, is_of_file
from reconcile.rules.inputs import Inputs, records
from reconcile.rules.names import plain

_SHORTEST = 4
_BPS = 10_000
_WORD = re.compile(r"[\w-]+")
Keys = Callable[["_Line"], Iterable[tuple[Any, ...]]]


class Deposit(NamedTuple):
    """Money that came in once: the line that stands for it, and the line of the other source that tells it too."""

    line: Any
    twin: Any = None
    account: str | None = None
    # Payouts that its lines name.
    payouts: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[Any, ...]:
        return (self.line,) if self.twin is None else (self.line, self.twin)

    @property
    def amounts(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(int(line.amount) for line in self.lines))


class _Line(NamedTuple):
    row: Any
    account: str | None
    payouts: tuple[str, ...]
    reference: str


def find_deposits(inputs: Inputs) -> list[Deposit]:
    """Return every deposit once, oldest first; the provider's line stands for those that both sources tell.

    Lines of one account are paired by a payout both name or by one reference, then by amount and bank day. So n lines
    of one source and m equal ones of the other are max(n, m) deposits.
    """
    inbound = inputs.bank[inputs.bank["amount"] > 0]
    rows = records(inbound.sort_values(["booked_on", "movement_id"], ignore_index=True))
    lines = list(_read(rows, inputs))
    shown = [line for line in lines if not is_of_file(line.row)]
    filed = [line for line in lines if is_of_file(line.row)]
    twins = _pair(shown, filed, inputs) if shown and filed else {}
    told = {twin.row.movement_id for twin in twins.values()}
    return [_to_deposit(line, twins.get(line.row.movement_id)) for line in lines if line.row.movement_id not in told]


def _read(rows: list[Any], inputs: Inputs) -> Iterator[_Line]:
    accounts, ids = Accounts(inputs), set(inputs.payouts["payout_id"])
    for row in rows:
        words = _WORD.findall(row.text) if isinstance(row.text, str) else ()
        payouts = tuple(sorted({word for word in words if word in ids}))
        yield _Line(row, accounts.name_of(row), payouts, _reference(row.reference))


def _reference(text: Any) -> str:
    """Return a reference as both sources may write it; words and numbers too short to identify anything are none."""
    if not isinstance(text, str) or not any(char.isdigit() for char in text):
        return ""
    bare = plain(text)
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
    for keys in (_payout_and_amount, _payout):
        keep((a[0], b[0]) for a, b in _groups(free(shown), free(filed), keys) if len(a) == len(b) == 1)
    for keys in (_reference_and_amount, _reference_alone):
        for group in _groups(free(shown), free(filed), keys):
            keep(pair for pair in _only_near(*group, near) if _are_alike(*pair, inputs.rules.bank_amount_bps))
    # Lines that name different payouts are two deposits, so of a pair by amount one at most names any.
    amounts = (_amount_of(is_named=True), _amount_of(is_twin_named=True), _amount_of())
    for keys in (_payout_and_amount, *amounts):
        for group in _groups(free(shown), free(filed), keys):
            keep(_by_day(*group, near))
    return twins


def _place(line: _Line) -> tuple[Any, ...]:
    return line.account, line.row.currency


def _payout_and_amount(line: _Line) -> Iterable[tuple[Any, ...]]:
    return ((*_place(line), payout, int(line.row.amount)) for payout in line.payouts)


def _payout(line: _Line) -> Iterable[tuple[Any, ...]]:
    return ((*_place(line), payout) for payout in line.payouts)


def _reference_and_amount(line: _Line) -> Iterable[tuple[Any, ...]]:
    return ((*_place(line), line.reference, int(line.row.amount)),) if line.reference else ()


def _reference_alone(line: _Line) -> Iterable[tuple[Any, ...]]:
    return ((*_place(line), line.reference),) if line.reference else ()


def _amount_of(*, is_named: bool = False, is_twin_named: bool = False) -> Keys:
    """Return the key by amount of those movements and lines of files that name a payout, or that name none."""

    def keys(line: _Line) -> Iterable[tuple[Any, ...]]:
        wanted = is_twin_named if is_of_file(line.row) else is_named
        return ((*_place(line), int(line.row.amount)),) if bool(line.payouts) is wanted else ()

    return keys


def _groups(shown: list[_Line], filed: list[_Line], keys: Keys) -> Iterator[tuple[list[_Line], list[_Line]]]:
    """Give the lines of both sources that have a key in common, in the order of the lines."""
    of_files: dict[tuple[Any, ...], list[_Line]] = {}
    for line in filed:
        for key in keys(line):
            of_files.setdefault(key, []).append(line)
    of_provider: dict[tuple[Any, ...], list[_Line]] = {}
    for line in shown:
        for key in keys(line):
            if key in of_files:
                of_provider.setdefault(key, []).append(line)
    return ((lines, of_files[key]) for key, lines in of_provider.items())


class _Nearness:
    """Days of the bank, each reckoned once."""

    def __init__(self, inputs: Inputs) -> None:
        self._calendar, self._days = inputs.calendar, inputs.rules.days_to_bank
        self._bank_days: dict[Any, Any] = {}
        self._edges: dict[Any, tuple[Any, Any]] = {}

    def bank_day(self, day: Any) -> Any:
        if day not in self._bank_days:
            self._bank_days[day] = pd.Timestamp(self._calendar.on_or_after(day.date()))
        return self._bank_days[day]

    def edges(self, day: Any) -> tuple[Any, Any]:
        """Return the first and the last day on which the other source may book the same reference."""
        if day not in self._edges:
            first, last = (self._calendar.shift(day.date(), days) for days in (-self._days, self._days))
            self._edges[day] = pd.Timestamp(first), pd.Timestamp(last)
        return self._edges[day]


def _only_near(shown: list[_Line], filed: list[_Line], near: _Nearness) -> Iterator[tuple[_Line, _Line]]:
    """Pair lines of one reference that have only each other within a few bank days, as references come again."""
    for line in shown:
        found = _within(filed, near.edges(line.row.booked_on))
        if len(found) == 1 and len(_within(shown, near.edges(found[0].row.booked_on))) == 1:
            yield line, found[0]


def _are_alike(line: _Line, twin: _Line, most_bps: int) -> bool:
    """Tell whether two amounts may be one deposit's: banks keep charges, but some lines all bear one number."""
    small, large = sorted((int(line.row.amount), int(twin.row.amount)))
    return (large - small) * _BPS <= most_bps * large


def _within(lines: list[_Line], edges: tuple[Any, Any]) -> list[_Line]:
    first = bisect_left(lines, edges[0], key=_booked_on)
    # Two are as many as matter.
    return lines[first : min(first + 2, bisect_right(lines, edges[1], key=_booked_on))]


def _booked_on(line: _Line) -> Any:
    return line.row.booked_on


def _by_day(shown: list[_Line], filed: list[_Line], near: _Nearness) -> Iterator[tuple[_Line, _Line]]:
    """Pair equal lines of one bank day, as many as there can be.

    A file may book a movement on its own day, or after the bank's cut on the next bank day. The movement whose last
    day comes first goes first, which leaves no pair out.
    """
    waiting: list[tuple[Any, int]] = []
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
