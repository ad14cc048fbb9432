"""Days on which account movements and bank files both show everything, and not the same deposits; pure."""

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from pandas import DataFrame

from reconcile.rules.bank_accounts import Accounts, is_of_file
from reconcile.rules.deposits import Deposit
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import Finding, Inputs, records
from reconcile.rules.outcomes import Code

_MOST_LINES = 20
Place = tuple[str, str]


def source_findings(deposits: list[Deposit], summary: DataFrame, inputs: Inputs) -> list[Finding]:
    """Name each account and day of which the two sources tell different sums, with the lines that have no equal.

    Two amounts of one payout are `BANK_AMOUNT_DIFF` of that payout, and not told again.
    """
    told = set(summary["bank_movement_id"][(summary["bank_difference"] != 0).fillna(value=False)])
    whole = _WholeDays(inputs)
    lines: dict[tuple[Place, Any], list[Any]] = {}
    for deposit in deposits:
        if deposit.account is None or len(deposit.amounts) < len(deposit.lines):
            continue
        if any(line.movement_id in told for line in deposit.lines) and deposit.twin is not None:
            continue
        place = (deposit.account, str(deposit.line.currency))
        if all(whole.show(place, line) for line in deposit.lines):
            lines.setdefault((place, deposit.line.booked_on), []).extend(deposit.lines)
    return list(_findings(lines))


def _findings(lines: dict[tuple[Place, Any], list[Any]]) -> Iterator[Finding]:
    for ((account, currency), day), told in lines.items():
        shown = [line for line in told if not is_of_file(line)]
        filed = [line for line in told if is_of_file(line)]
        difference = _sum(shown) - _sum(filed)
        if not difference:
            continue
        last4 = told[0].account_last4
        evidence = {
            "account": f"…{last4}",
            "bank_date": day.date().isoformat(),
            "only_in_movements": _sum(shown),
            "only_in_files": _sum(filed),
            "movement_lines": _listed(shown),
            "file_lines": _listed(filed),
        }
        # Enough of the account's name to tell two that end alike apart, and too little to guess a number from.
        subject = f"bank:{last4}-{account[:4]}:{day.date().isoformat()}"
        about = About(subject, currency, evidence=evidence, fact_on=day.date())
        yield to_finding(Code.BANK_SOURCES_DIFFER, about, at_risk=abs(difference))


def _sum(lines: Iterable[Any]) -> int:
    return sum(int(line.amount) for line in lines)


def _listed(lines: list[Any]) -> list[dict[str, Any]]:
    return [{"line": line.movement_id, "amount": int(line.amount)} for line in lines[:_MOST_LINES]]


class _WholeDays:
    """Which days each source shows whole: a file those it speaks of, the provider those from an account's first line.

    The as-of day is not over, so no source shows it whole.
    """

    def __init__(self, inputs: Inputs) -> None:
        accounts, self._today = Accounts(inputs), pd.Timestamp(inputs.as_of)
        self._first: dict[Place, Any] = {}
        stretches: dict[Place, set[tuple[Any, Any]]] = {}
        columns = ["account", "account_last4", "currency", "booked_on", "known_since", "known_until"]
        for row in records(inputs.bank[columns].drop_duplicates()):
            name = accounts.name_of(row)
            if name is None:
                continue
            place = (name, str(row.currency))
            if is_of_file(row):
                stretches.setdefault(place, set()).add((row.known_since, row.known_until))
            else:
                self._first[place] = min(row.booked_on, self._first.get(place, row.booked_on))
        self._stretches = {place: sorted(some) for place, some in stretches.items()}

    def show(self, place: Place, line: Any) -> bool:
        """Tell whether both sources show the days on which each of them may have booked the line."""
        first, day = self._first.get(place), line.booked_on
        last = day if is_of_file(line) or pd.isna(line.bank_day) else max(day, line.bank_day)
        if first is None or day < first or last >= self._today:
            return False
        return any(since <= day and last <= until for since, until in self._stretches.get(place, ()))
