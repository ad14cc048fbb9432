"""The row of each payout: what it held, what it should be, where it is and how it stands."""

import numpy as np
import pandas as pd
from pandas import DataFrame

from reconcile.rules.bank import match_bank
from reconcile.rules.columns import Words, look_up
from reconcile.rules.deposits import Deposit
from reconcile.rules.gate import mark_touched
from reconcile.rules.identity import format_fee_rates
from reconcile.rules.inputs import COUNT, DAY, SUMMARY, TEXT, Finding, Inputs, to_types
from reconcile.rules.outcomes import APPLIED, Code, Recon
from reconcile.rules.payouts import PAYMENT_TYPES
from reconcile.rules.timing import expect_arrivals, shift_days, to_local_times, to_payout_bank_days, to_windows

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


def summarize(rows: DataFrame, sums: DataFrame, deposits: list[Deposit], inputs: Inputs) -> DataFrame:
    """Give the payouts with their dates, sums and bank movement; what matching decided is added later."""
    payouts = inputs.payouts.sort_values(["created_at", "payout_id"], ignore_index=True)
    added = sums.reindex(payouts["payout_id"].to_numpy())
    local = to_local_times(payouts["created_at"], inputs.calendar)
    last = look_up(payouts["payout_id"], rows.groupby("payout_id")["bank_day"].max()).astype(DAY)
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
    })  # fmt: skip
    for name, source in _SUMS.items():
        summary[name] = added[source].to_numpy()
    summary = summary.join(match_bank(summary, deposits, inputs))
    summary["bank_difference"] = summary["bank_amount"] - summary["payout_amount"]
    return summary


def complete_summary(
    summary: DataFrame,
    lines: DataFrame,
    findings: tuple[Finding, ...],
    inputs: Inputs,
    *,
    unsaid: frozenset[str] = frozenset(),
) -> DataFrame:
    """Add how many items are matched, how many exceptions there are and how each payout stands.

    Of an `unsaid` payout something is withheld, such as that it is missing: it is not waiting for its day either.
    """
    is_first = (lines["line"] == 1) & lines["resource_type"].isin(PAYMENT_TYPES) & lines["payout_id"].notna()
    firsts = lines.loc[is_first, ["payout_id", "outcome"]]
    is_matched = firsts["outcome"].isin([str(word) for word in APPLIED])
    matched = is_matched.groupby(firsts["payout_id"]).sum()
    counted = firsts.groupby("payout_id").size()
    ids = summary["payout_id"]
    summary["matched_count"] = look_up(ids, matched).fillna(0).astype(COUNT)
    summary["unmatched_count"] = look_up(ids, counted - matched).fillna(0).astype(COUNT)
    named = pd.Series([finding.payout_id for finding in findings], dtype=TEXT)
    summary["exceptions"] = look_up(ids, named.value_counts()).fillna(0).astype(COUNT)
    summary["status_recon"] = _decide_standing(summary, findings, inputs, unsaid)
    return to_types(summary, SUMMARY)


def _keeps_open(finding: Finding) -> bool:
    """Tell whether a payout is unexplained by it: as a whole, or by an item that is no part of its sum."""
    is_whole = finding.code in _OPENING and finding.subject.startswith("payout:")
    return is_whole or (finding.code == Code.CURRENCY_DIFF and "payout_currency" in finding.evidence)


def _decide_standing(
    summary: DataFrame, findings: tuple[Finding, ...], inputs: Inputs, unsaid: frozenset[str]
) -> Words:
    """Say how each payout stands; one that ties out is closed only where the bank shows it."""
    opening = {finding.payout_id for finding in findings if _keeps_open(finding)}
    due_on = shift_days(summary["expected_arrival"], inputs.rules.days_to_bank, inputs.calendar)
    is_due = due_on <= pd.Timestamp(inputs.as_of)
    # Where the bank is known to its last day and shows nothing, only what is withheld keeps it from being open.
    waits = summary["bank_known"] | (summary["bank_begun"] & ~is_due)
    rules = [
        (summary["status"] == "canceled", Recon.CANCELED),
        (summary["status"] == "returned", Recon.RETURNED),
        (mark_touched(summary, inputs), Recon.INCOMPLETE),
        (summary["payout_id"].isin(opening) | (summary["difference"] != 0), Recon.OPEN),
        (summary["payout_id"].isin(unsaid), Recon.INCOMPLETE),
        (summary["bank_movement_id"].notna(), Recon.CLOSED),
        ((summary["status"] != "succeeded") | waits, Recon.NOT_DUE),
    ]
    marks = [mark.to_numpy(dtype=bool) for mark, _ in rules]
    return np.select(marks, [str(word) for _, word in rules], default=str(Recon.NO_BANK))
