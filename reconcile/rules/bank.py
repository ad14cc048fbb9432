"""Payouts against the bank: which movement brought which payout, and what is late, absent or different."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable
from typing import Any

import pandas as pd
from pandas import DataFrame

from reconcile.rules.columns import looked_up
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import COUNT, DAY, MONEY, TEXT, Finding, Inputs, records
from reconcile.rules.outcomes import Code
from reconcile.rules.timing import local_times, shift

_BPS = 10_000
MayBe = Callable[[Any, Any], bool]
_COLUMNS = {"bank_date": DAY, "bank_movement_id": TEXT, "bank_amount": MONEY, "days_late": COUNT}


def match_bank(summary: DataFrame, inputs: Inputs) -> DataFrame:
    """Give each payout the bank movement that brought it: the one that names it, its amount, or the only near one."""
    taken: dict[str, Any] = {}
    if not inputs.bank.empty:
        wanted = [payout for payout in _windows(summary, inputs) if payout.status == "succeeded"]
        inbound = inputs.bank[inputs.bank["amount"] > 0]
        moves = records(inbound.sort_values(["booked_on", "movement_id"], ignore_index=True))
        may_be = _Accounts(inputs).may_be
        _take_named(wanted, moves, taken, may_be)
        _take_equal(wanted, moves, taken, may_be)
        _take_near(wanted, moves, taken, may_be, near_bps=inputs.rules.bank_amount_bps)
    found = [_arrival(row, taken.get(row.payout_id), inputs) for row in records(summary)]
    return DataFrame(found, columns=list(_COLUMNS), index=summary.index).astype(_COLUMNS)


def has_bank(summary: DataFrame, inputs: Inputs) -> Any:
    """Tell for which payouts a bank is known: its account's movements are shown, or files cover its whole window."""
    known = pd.Series(data=False, index=summary.index)
    if inputs.bank.empty:
        return known
    accounts = _Accounts(inputs)
    covered = {payout.payout_id for payout in _windows(summary, inputs) if accounts.cover(payout)}
    return summary["payout_id"].isin(covered)


class _Accounts:
    """Which account a payout went to and a movement is of, as far as both are known.

    Whole numbers decide where both are there. Else the last digits do, unless two accounts share them.
    """

    def __init__(self, inputs: Inputs) -> None:
        bank, payouts = inputs.bank, inputs.payouts
        names = DataFrame({
            "account": pd.concat([bank["account"], payouts["recipient_account"]]),
            "last4": pd.concat([bank["account_last4"], payouts["recipient_last4"]]),
        }).dropna()  # fmt: skip
        counts = names.drop_duplicates()["last4"].value_counts()
        self._shared = frozenset(counts[counts > 1].index)
        self._stretches = records(bank[["account", "account_last4", "known_since", "known_until"]].drop_duplicates())

    def may_be(self, payout: Any, move: Any) -> bool:
        in_time = move.currency == payout.currency and move.booked_on >= payout.since
        return bool(in_time and self._is_same(payout, move))

    def cover(self, payout: Any) -> bool:
        """Tell whether the bank is known from the payout's success to the day it must have arrived."""
        return any(
            self._is_known(payout, stretch)
            and (pd.isna(stretch.known_since) or stretch.known_since <= payout.since)
            and (pd.isna(stretch.known_until) or payout.until <= stretch.known_until)
            for stretch in self._stretches
        )

    def _is_known(self, payout: Any, other: Any) -> bool:
        """Tell whether two are the same account, where a payout nobody knows the account of is on none."""
        named = not pd.isna(payout.account) or not pd.isna(payout.recipient_account_last4)
        return named and self._is_same(payout, other)

    def _is_same(self, payout: Any, other: Any) -> bool:
        if not pd.isna(payout.account) and not pd.isna(other.account):
            return bool(payout.account == other.account)
        if pd.isna(payout.recipient_account_last4) or pd.isna(other.account_last4):
            return True
        last4 = payout.recipient_account_last4
        return bool(last4 == other.account_last4 and last4 not in self._shared)


def bank_findings(summary: DataFrame, inputs: Inputs) -> list[Finding]:
    """Name payouts that are late, returned, not in the bank, or there with another amount."""
    today = pd.Timestamp(inputs.as_of)
    late_on = shift(summary["expected_arrival"], inputs.rules.days_to_late, inputs.calendar)
    gone_on = shift(summary["expected_arrival"], inputs.rules.days_to_bank, inputs.calendar)
    marks = {
        Code.PAYOUT_LATE: (summary["status"] == "in_progress") & (late_on <= today),
        Code.PAYOUT_RETURNED: summary["status"] == "returned",
        Code.PAYOUT_NOT_IN_BANK: (summary["status"] == "succeeded")
        & has_bank(summary, inputs)
        & summary["bank_movement_id"].isna()
        & (gone_on <= today),
    }
    found = [
        _finding(code, row, int(row.payout_amount)) for code, mark in marks.items() for row in records(summary[mark])
    ]
    differs = summary[(summary["bank_difference"] != 0).fillna(value=False)]
    return found + [_finding(Code.BANK_AMOUNT_DIFF, row, abs(int(row.bank_difference))) for row in records(differs)]


def _finding(code: Code, row: Any, at_risk: int) -> Finding:
    evidence = {
        "payout": int(row.payout_amount),
        "status": row.status,
        "expected_on": _day(row.expected_arrival),
        "bank_amount": None if pd.isna(row.bank_amount) else int(row.bank_amount),
        "bank_date": _day(row.bank_date),
    }
    about = About(f"payout:{row.payout_id}", row.currency, payout_id=row.payout_id, evidence=evidence)
    return to_finding(code, about, at_risk=at_risk)


def _day(value: Any) -> str | None:
    return None if pd.isna(value) else str(value.date().isoformat())


def _windows(summary: DataFrame, inputs: Inputs) -> list[Any]:
    """Give the payouts that succeeded with their account and the stretch of days in which the bank must show them."""
    chosen = summary[summary["succeeded_at_utc"].notna()].copy()
    chosen["since"] = local_times(chosen["succeeded_at_utc"], inputs.calendar).dt.normalize()
    chosen["until"] = shift(chosen["expected_arrival"], inputs.rules.days_to_bank, inputs.calendar)
    accounts = inputs.payouts.drop_duplicates("payout_id").set_index("payout_id")["recipient_account"]
    chosen["account"] = looked_up(chosen["payout_id"], accounts)
    return records(chosen.sort_values(["succeeded_at_utc", "payout_id"]))


def _take_named(wanted: list[Any], moves: list[Any], taken: dict[str, Any], may_be: MayBe) -> None:
    """Take the movements whose text names the payout as a whole word."""
    ids = {payout.payout_id: payout for payout in wanted}
    used = {move.movement_id for move in taken.values()}
    for move in moves:
        words = set(re.findall(r"[\w-]+", move.text)) if isinstance(move.text, str) else set()
        for payout_id in sorted(words & set(ids)):
            if payout_id not in taken and move.movement_id not in used and may_be(ids[payout_id], move):
                taken[payout_id] = move
                used.add(move.movement_id)


def _take_equal(wanted: list[Any], moves: list[Any], taken: dict[str, Any], may_be: MayBe) -> None:
    """Take equal amounts, first inside the window and then after it, oldest with oldest."""
    used = {move.movement_id for move in taken.values()}
    by_amount: dict[int, list[Any]] = {}
    for move in moves:
        by_amount.setdefault(int(move.amount), []).append(move)
    for is_late in (False, True):
        for payout in wanted:
            if payout.payout_id in taken:
                continue
            for move in by_amount.get(int(payout.payout_amount), ()):
                is_free = move.movement_id not in used and may_be(payout, move)
                if is_free and (is_late or move.booked_on <= payout.until):
                    taken[payout.payout_id] = move
                    used.add(move.movement_id)
                    break


def _take_near(wanted: list[Any], moves: list[Any], taken: dict[str, Any], may_be: MayBe, *, near_bps: int) -> None:
    """Take a movement of another amount where payout and movement have only each other inside the window."""
    used = {move.movement_id for move in taken.values()}
    free = [move for move in moves if move.movement_id not in used]
    days = [move.booked_on for move in free]
    edges = [
        (payout, move)
        for payout in wanted
        if payout.payout_id not in taken
        for move in free[bisect_left(days, payout.since) : bisect_right(days, payout.until)]
        if may_be(payout, move) and _is_near(payout, move, near_bps)
    ]
    payouts = Counter(payout.payout_id for payout, _ in edges)
    movements = Counter(move.movement_id for _, move in edges)
    for payout, move in edges:
        if payouts[payout.payout_id] == movements[move.movement_id] == 1:
            taken[payout.payout_id] = move


def _is_near(payout: Any, move: Any, near_bps: int) -> bool:
    return abs(int(move.amount) - int(payout.payout_amount)) * _BPS <= near_bps * int(payout.payout_amount)


def _arrival(row: Any, move: Any, inputs: Inputs) -> tuple[Any, ...]:
    if move is None:
        return (None, None, None, None)
    late = inputs.calendar.days_between(row.expected_arrival.date(), move.booked_on.date())
    return (move.booked_on, move.movement_id, int(move.amount), max(late, 0))
