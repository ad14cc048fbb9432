"""The row of each payout: what it held, what it should be, the deposit that brought it, and how it stands."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

from reconcile.rules.columns import (
    Indices,
    Ints,
    Words,
    are_in,
    expect_arrivals,
    find_places,
    look_up,
    shift_days,
    sort_rows,
    to_local_times,
    to_payout_bank_days,
    to_windows,
)
from reconcile.rules.decisions import TIE
from reconcile.rules.deposits import Accounts, Deposit
from reconcile.rules.fees import format_fee_rates
from reconcile.rules.findings import OF_PAID_AGAIN, About, to_finding
from reconcile.rules.gate import mark_touched
from reconcile.rules.inputs import (
    COUNT,
    DAY,
    MONEY,
    PAYMENT_TYPES,
    SUMMARY,
    TEXT,
    Finding,
    Inputs,
    Row,
    rows_of,
    to_types,
)
from reconcile.rules.outcomes import APPLIED, DEAD, Code, Recon, Severity
from reconcile.rules.payouts import find_carried_again
from reconcile.rules.terms import BPS

MayBe = Callable[[Row, Row], bool]
_COLUMNS = {"bank_date": DAY, "bank_movement_id": TEXT, "bank_amount": MONEY, "days_late": COUNT}
_SUMS = {
    "payments_count": "payments_count",
    "payments_gross": "payments",
    "charges_count": "charges_count",
    "charges_gross": "charges",
    "refunds_count": "refunds_count",
    "refunds_gross": "refunds",
    "refund_adjustments": "adjustments",
    "disputes": "disputes",
    "fee_total": "fee",
    "fee_net": "fee_net",
    "fee_vat": "fee_vat",
    "fee_source": "fee_source",
    "computed_amount": "computed",
    "payout_amount": "amount",
    "difference": "difference",
}
_OPENING = frozenset({
    Code.PAYOUT_IDENTITY,
    Code.PAYOUT_LATE,
    Code.PAYOUT_NOT_IN_BANK,
    Code.BANK_AMOUNT_DIFF,
    Code.FEE_OUT_OF_BAND,
})  # fmt: skip


def match_bank(summary: DataFrame, deposits: list[Deposit], inputs: Inputs) -> DataFrame:
    """Return each payout the deposit that brought it: tied by a person, naming it, of its amount, or the only near one.

    `bank_known` says whether a source shows every day on which it must arrive, `bank_begun` whether it shows the first.
    """
    taken: dict[str, Deposit] = {}
    accounts, windows = Accounts(inputs), [] if inputs.bank.empty else _list_windows(summary, inputs)
    if deposits:
        wanted = [payout for payout in windows if payout.status == "succeeded"]
        _take_tied(wanted, deposits, taken, inputs.decisions)
        _take_named(wanted, deposits, taken, accounts.may_be)
        _take_equal(wanted, deposits, taken, accounts.may_be)
        _take_near(wanted, deposits, taken, accounts.may_be, near_bps=inputs.rules.bank_amount_bps)
    ids = summary["payout_id"]
    matched = DataFrame({name: Series(pd.NA, index=ids.index, dtype=dtype) for name, dtype in _COLUMNS.items()})
    if taken:
        found = [_describe_arrival(row, taken.get(row.payout_id), inputs) for row in rows_of(summary)]
        matched = DataFrame(found, columns=list(_COLUMNS), index=ids.index).astype(_COLUMNS)
    matched["bank_known"] = ids.isin([payout.payout_id for payout in windows if accounts.cover(payout)])
    matched["bank_begun"] = ids.isin([payout.payout_id for payout in windows if accounts.begin(payout)])
    return matched


def find_bank_differences(summary: DataFrame, rows: DataFrame, inputs: Inputs) -> list[Finding]:
    """Name payouts that are late, returned, not in the bank, or there with another amount."""
    today = pd.Timestamp(inputs.as_of)
    late_on = shift_days(summary["expected_arrival"], inputs.rules.days_to_late, inputs.calendar)
    gone_on = shift_days(summary["expected_arrival"], inputs.rules.days_to_bank, inputs.calendar)
    marks = {
        Code.PAYOUT_LATE: (summary["status"] == "in_progress") & (late_on <= today),
        Code.PAYOUT_NOT_IN_BANK: (summary["status"] == "succeeded")
        & summary["bank_known"]
        & summary["bank_movement_id"].isna()
        & (gone_on <= today),
    }
    found = [
        _to_finding(code, row, int(row.payout_amount)) for code, mark in marks.items() for row in rows_of(summary, mark)
    ]
    again = _find_paid_again(summary, rows)
    found += [
        _to_finding(Code.PAYOUT_RETURNED, row, int(row.payout_amount), again.get(row.payout_id))
        for row in rows_of(summary, summary["status"] == "returned")
    ]
    differs = (summary["bank_difference"] != 0).fillna(value=False)
    return found + [
        _to_finding(Code.BANK_AMOUNT_DIFF, row, abs(int(row.bank_difference))) for row in rows_of(summary, differs)
    ]


def _find_paid_again(summary: DataFrame, rows: DataFrame) -> dict[str, str]:
    """Return the payouts of which payouts that succeeded paid every item again, with the ids of these."""
    if not are_in(summary["status"], DEAD).any():
        return {}
    paid = summary["payout_id"][summary["status"] == "succeeded"]
    again = find_carried_again(rows)
    again = again[again["again_in"].isin(paid)]
    items, carried = rows["payout_id"].value_counts(), again.groupby("payout_id")
    return {
        str(payout_id): " ".join(sorted(set(own["again_in"])))
        for payout_id, own in carried
        if own["thing"].nunique() == items[payout_id]
    }


def _to_finding(code: Code, row: Row, at_risk: int, again: str | None = None) -> Finding:
    evidence = {
        "payout": int(row.payout_amount),
        "status": row.status,
        "expected_on": _format_day(row.expected_arrival),
        "bank_amount": None if pd.isna(row.bank_amount) else int(row.bank_amount),
        "bank_date": _format_day(row.bank_date),
    }
    evidence |= {} if again is None else {"paid_again_in": again}
    about = About(f"payout:{row.payout_id}", row.currency, payout_id=row.payout_id, evidence=evidence)
    if again is None:
        return to_finding(code, about, at_risk=at_risk)
    return to_finding(code, about, at_risk=at_risk, severity=Severity.INFO, action=OF_PAID_AGAIN)


def _format_day(value: pd.Timestamp) -> str | None:
    return None if pd.isna(value) else str(value.date().isoformat())


def _list_windows(summary: DataFrame, inputs: Inputs) -> list[Row]:
    """Return the payouts that succeeded with their account and the stretch of days in which the bank must show them."""
    chosen = summary[summary["succeeded_at_utc"].notna()].copy()
    chosen["since"] = to_local_times(chosen["succeeded_at_utc"], inputs.calendar).dt.normalize()
    chosen["until"] = shift_days(chosen["expected_arrival"], inputs.rules.days_to_bank, inputs.calendar)
    accounts = inputs.payouts.drop_duplicates("payout_id").set_index("payout_id")["recipient_account"]
    chosen["account"] = look_up(chosen["payout_id"], accounts)
    return rows_of(chosen.sort_values(["succeeded_at_utc", "payout_id"]))


def _take_tied(wanted: list[Row], deposits: list[Deposit], taken: dict[str, Deposit], decisions: DataFrame) -> None:
    """Take the deposits that people tied to a payout, earlier decisions first; either of its lines names a deposit."""
    ties = decisions[decisions["kind"] == TIE].sort_values("decision_id")
    if ties.empty:
        return
    by_line = {line.movement_id: deposit for deposit in deposits for line in deposit.lines}
    currencies = {payout.payout_id: payout.currency for payout in wanted}
    used: set[str] = set()
    for tie in rows_of(ties):
        deposit = by_line.get(tie.doc_key)
        if deposit is None or tie.resource_id in taken or deposit.line.movement_id in used:
            continue
        if currencies.get(tie.resource_id) == deposit.line.currency:
            taken[tie.resource_id] = deposit
            used.add(deposit.line.movement_id)


def _take_named(wanted: list[Row], deposits: list[Deposit], taken: dict[str, Deposit], may_be: MayBe) -> None:
    """Take the deposits whose text names the payout as a whole word, those of its amount first."""
    payouts = {payout.payout_id: payout for payout in wanted}
    used = _list_used(taken)
    naming = [deposit for deposit in deposits if deposit.payouts]
    for is_equal in (True, False):
        for deposit in naming:
            for payout_id in deposit.payouts:
                payout = payouts.get(payout_id)
                if payout is None or payout_id in taken or deposit.line.movement_id in used:
                    continue
                if is_equal and int(payout.payout_amount) not in deposit.amounts:
                    continue
                if may_be(payout, deposit.line):
                    taken[payout_id] = deposit
                    used.add(deposit.line.movement_id)


def _take_equal(wanted: list[Row], deposits: list[Deposit], taken: dict[str, Deposit], may_be: MayBe) -> None:
    """Take equal amounts, first inside the window and then after it, oldest with oldest."""
    used = _list_used(taken)
    by_amount: dict[int, list[Deposit]] = {}
    for deposit in deposits:
        for amount in deposit.amounts:
            by_amount.setdefault(amount, []).append(deposit)
    for is_late in (False, True):
        for payout in wanted:
            if payout.payout_id in taken:
                continue
            equal = by_amount.get(int(payout.payout_amount), [])
            for at in range(bisect_left(equal, payout.since, key=_to_day), len(equal)):
                line = equal[at].line
                if not is_late and line.booked_on > payout.until:
                    break
                if line.movement_id not in used and may_be(payout, line):
                    taken[payout.payout_id] = equal[at]
                    used.add(line.movement_id)
                    break


def _take_near(
    wanted: list[Row], deposits: list[Deposit], taken: dict[str, Deposit], may_be: MayBe, *, near_bps: int
) -> None:
    """Take a deposit of another amount where payout and deposit have only each other inside the window."""
    used = _list_used(taken)
    free = [deposit for deposit in deposits if deposit.line.movement_id not in used]
    edges = [
        (payout, deposit)
        for payout in wanted
        if payout.payout_id not in taken
        for deposit in free[
            bisect_left(free, payout.since, key=_to_day) : bisect_right(free, payout.until, key=_to_day)
        ]
        if may_be(payout, deposit.line) and _is_near(payout, deposit, near_bps)
    ]
    payouts = Counter(payout.payout_id for payout, _ in edges)
    movements = Counter(deposit.line.movement_id for _, deposit in edges)
    for payout, deposit in edges:
        if payouts[payout.payout_id] == movements[deposit.line.movement_id] == 1:
            taken[payout.payout_id] = deposit


def _list_used(taken: dict[str, Deposit]) -> set[str]:
    return {deposit.line.movement_id for deposit in taken.values()}


def _to_day(deposit: Deposit) -> pd.Timestamp:
    day: pd.Timestamp = deposit.line.booked_on
    return day


def _is_near(payout: Row, deposit: Deposit, near_bps: int) -> bool:
    near = near_bps * int(payout.payout_amount)
    return any(abs(amount - int(payout.payout_amount)) * BPS <= near for amount in deposit.amounts)


def _describe_arrival(row: Row, deposit: Deposit | None, inputs: Inputs) -> tuple[object, ...]:
    """Show the line that brought the payout; of two amounts the one that differs more, so that it is seen."""
    if deposit is None:
        return (None, None, None, None)
    line = max(deposit.lines, key=lambda line: abs(int(line.amount) - int(row.payout_amount)))
    late = inputs.calendar.days_between(row.expected_arrival.date(), line.booked_on.date())
    return (line.booked_on, line.movement_id, int(line.amount), max(late, 0))


def summarize(rows: DataFrame, sums: DataFrame, deposits: list[Deposit], inputs: Inputs) -> DataFrame:
    """Return the payouts with their dates, sums and bank movement; what matching decided is added later."""
    payouts = sort_rows(inputs.payouts, ["created_at", "payout_id"])
    added = sums.reindex(payouts["payout_id"].to_numpy())
    local = to_local_times(payouts["created_at"], inputs.calendar)
    last = _find_last_days(rows, payouts["payout_id"], inputs)
    bank_day = to_payout_bank_days(payouts["created_at"], last, inputs.calendar)
    since, until = to_windows(bank_day, inputs.calendar)
    summary = DataFrame({
        "payout_id": payouts["payout_id"],
        "mode": inputs.mode,
        "country": inputs.country,
        "currency": payouts["currency"],
        "status": payouts["status"],
        "created_at_utc": payouts["created_at"],
        "succeeded_at_utc": payouts["succeeded_at"],
        "payout_date": local.dt.normalize(),
        "bank_day": bank_day,
        "window_start": since,
        "window_end": until,
        "recipient_institution": payouts["recipient_institution"],
        "recipient_account_last4": payouts["recipient_last4"],
        "fee_rate_pct": format_fee_rates(added).to_numpy(),
        "expected_arrival": expect_arrivals(bank_day, inputs.rules.payout_schedule, inputs.calendar),
        **{name: added[source].to_numpy() for name, source in _SUMS.items()},
    })  # fmt: skip
    summary = summary.assign(**match_bank(summary, deposits, inputs))
    summary["bank_difference"] = summary["bank_amount"] - summary["payout_amount"]
    return summary


def _find_last_days(rows: DataFrame, payouts: Series, inputs: Inputs) -> Series:
    """Return the last bank day of each payout's items, settled ones too; NaT where it has none."""
    last = np.full(len(payouts) + 1, np.datetime64("NaT"), dtype="datetime64[us]")
    for ids, days in ((rows["payout_id"], rows["bank_day"]), (inputs.settled["payout_id"], inputs.settled["last_day"])):
        np.fmax.at(last, find_places(ids, payouts), days.to_numpy())
    return Series(last[:-1])


def complete_summary(
    summary: DataFrame,
    lines: DataFrame,
    findings: tuple[Finding, ...],
    inputs: Inputs,
    *,
    withheld: frozenset[str] = frozenset(),
) -> DataFrame:
    """Add how many items are matched, how many exceptions there are and how each payout stands.

    Of a `withheld` payout some finding is withheld, such as that it is missing: it is not waiting for its day either.
    """
    is_first = (lines["line"] == 1) & lines["resource_type"].isin(PAYMENT_TYPES) & lines["payout_id"].notna()
    is_matched = are_in(lines["outcome"], APPLIED)[is_first]
    places = find_places(lines["payout_id"][is_first], summary["payout_id"])
    named = Counter(finding.payout_id for finding in findings)
    counts: dict[str, Ints | list[int]] = {
        "matched_count": _count(places[is_matched], summary),
        "unmatched_count": _count(places[~is_matched], summary),
        "exceptions": [named[payout] for payout in summary["payout_id"]],
    }
    summary = summary.assign(**{name: Series(count, dtype=COUNT) for name, count in counts.items()})
    summary["status_recon"] = _decide_standing(summary, findings, inputs, withheld)
    return to_types(summary, SUMMARY)


def _count(places: Indices, summary: DataFrame) -> Ints:
    return np.bincount(places[places >= 0], minlength=len(summary))


def _keeps_open(finding: Finding) -> bool:
    """Return whether a payout is unexplained by it: as a whole, or by an item that is no part of its sum."""
    is_whole = finding.code in _OPENING and finding.subject.startswith("payout:")
    return is_whole or (finding.code == Code.CURRENCY_DIFF and "payout_currency" in finding.evidence)


def _decide_standing(
    summary: DataFrame, findings: tuple[Finding, ...], inputs: Inputs, withheld: frozenset[str]
) -> Words:
    """Say how each payout stands; one that ties out is closed only where the bank shows it."""
    opening = {finding.payout_id for finding in findings if _keeps_open(finding)}
    due_on = shift_days(summary["expected_arrival"], inputs.rules.days_to_bank, inputs.calendar)
    is_due = due_on <= pd.Timestamp(inputs.as_of)
    # Where the bank is known to its last day and shows no deposit, only what is withheld keeps it from being open.
    waits = summary["bank_known"] | (summary["bank_begun"] & ~is_due)
    rules = [
        (summary["status"] == "canceled", Recon.CANCELED),
        (summary["status"] == "returned", Recon.RETURNED),
        (mark_touched(summary, inputs), Recon.INCOMPLETE),
        (summary["payout_id"].isin(opening) | (summary["difference"] != 0), Recon.OPEN),
        (summary["payout_id"].isin(withheld), Recon.INCOMPLETE),
        (summary["bank_movement_id"].notna(), Recon.CLOSED),
        ((summary["status"] != "succeeded") | waits, Recon.NOT_DUE),
    ]
    marks = [mark.to_numpy(dtype=bool) for mark, _ in rules]
    return np.select(marks, [str(word) for _, word in rules], default=str(Recon.NO_BANK))
