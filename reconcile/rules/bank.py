"""Payouts against the bank: which movement brought which payout, and what is late, absent or different."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import Any

import pandas as pd
from pandas import DataFrame

from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import COUNT, DAY, MONEY, TEXT, Finding, Inputs, records
from reconcile.rules.outcomes import Code
from reconcile.rules.timing import local_times, shift

_BPS = 10_000
_COLUMNS = {"bank_date": DAY, "bank_movement_id": TEXT, "bank_amount": MONEY, "days_late": COUNT}


def match_bank(summary: DataFrame, inputs: Inputs) -> DataFrame:
    """Give each payout the bank movement that brought it: the one that names it, its amount, or the only near one."""
    taken: dict[str, Any] = {}
    if not inputs.bank.empty:
        wanted = _succeeded(summary, inputs)
        moves = records(inputs.bank.sort_values(["booked_on", "movement_id"], ignore_index=True))
        _take_named(wanted, moves, taken)
        _take_equal(wanted, moves, taken)
        _take_near(wanted, moves, taken, inputs.rules.bank_amount_bps)
    found = [_arrival(row, taken.get(row.payout_id), inputs) for row in records(summary)]
    return DataFrame(found, columns=list(_COLUMNS), index=summary.index).astype(_COLUMNS)


def has_bank(summary: DataFrame, inputs: Inputs) -> Any:
    """Tell for which payouts a bank is known: movements exist of the account they go to, or of no said account."""
    accounts = set(inputs.bank["account_last4"].dropna())
    is_any = bool(inputs.bank["account_last4"].isna().any())
    known = summary["recipient_account_last4"].isin(accounts) | is_any
    return known | (summary["recipient_account_last4"].isna() & (not inputs.bank.empty))


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


def _succeeded(summary: DataFrame, inputs: Inputs) -> list[Any]:
    chosen = summary[(summary["status"] == "succeeded") & summary["succeeded_at_utc"].notna()].copy()
    chosen["since"] = local_times(chosen["succeeded_at_utc"], inputs.calendar).dt.normalize()
    chosen["until"] = shift(chosen["expected_arrival"], inputs.rules.days_to_bank, inputs.calendar)
    return records(chosen.sort_values(["succeeded_at_utc", "payout_id"]))


def _may_be(payout: Any, move: Any) -> bool:
    same_account = pd.isna(move.account_last4) or pd.isna(payout.recipient_account_last4)
    same_account = same_account or move.account_last4 == payout.recipient_account_last4
    return bool(same_account and move.currency == payout.currency and move.booked_on >= payout.since)


def _take_named(wanted: list[Any], moves: list[Any], taken: dict[str, Any]) -> None:
    """Take the movements whose text names the payout as a whole word."""
    ids = {payout.payout_id: payout for payout in wanted}
    used = {move.movement_id for move in taken.values()}
    for move in moves:
        words = set(re.findall(r"[\w-]+", move.text)) if isinstance(move.text, str) else set()
        for payout_id in sorted(words & set(ids)):
            if payout_id not in taken and move.movement_id not in used and _may_be(ids[payout_id], move):
                taken[payout_id] = move
                used.add(move.movement_id)


def _take_equal(wanted: list[Any], moves: list[Any], taken: dict[str, Any]) -> None:
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
                is_free = move.movement_id not in used and _may_be(payout, move)
                if is_free and (is_late or move.booked_on <= payout.until):
                    taken[payout.payout_id] = move
                    used.add(move.movement_id)
                    break


def _take_near(wanted: list[Any], moves: list[Any], taken: dict[str, Any], near_bps: int) -> None:
    """Take a movement of another amount where payout and movement have only each other inside the window."""
    used = {move.movement_id for move in taken.values()}
    free = [move for move in moves if move.movement_id not in used]
    days = [move.booked_on for move in free]
    edges = [
        (payout, move)
        for payout in wanted
        if payout.payout_id not in taken
        for move in free[bisect_left(days, payout.since) : bisect_right(days, payout.until)]
        if _may_be(payout, move) and _is_near(payout, move, near_bps)
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
