"""A run in figures: counts, control totals per currency, exceptions by code; pure."""

from collections import Counter
from typing import Any

from pandas import DataFrame

from reconcile.rules.inputs import Result
from reconcile.rules.outcomes import Recon

TOTALS = (
    "payments_gross", "charges_gross", "refunds_gross", "refund_adjustments", "disputes", "fee_total",
    "computed_amount", "payout_amount", "difference",
)  # fmt: skip
IDENTITY = "PAYOUT_IDENTITY"
# What a published run left open: per currency the amount, each peso once, and how many exceptions it covers.
VALUE_AT_RISK = "value_at_risk"


def summarise(result: Result) -> dict[str, Any]:
    first = result.lines["outcome"][result.lines["line"] == 1]
    return {
        "complete": result.complete,
        "payouts": len(result.payouts),
        "payouts_closed": count_closed(result),
        "payouts_no_bank": int((result.payouts["status_recon"] == Recon.NO_BANK).sum()),
        "items": len(first),
        "items_by_outcome": _counts(first),
        "documents": len(result.documents),
        "documents_by_outcome": _counts(result.documents["outcome"]),
        "exceptions": dict(sorted(Counter(found.code for found in result.findings).items())),
        "severities": dict(sorted(Counter(found.severity for found in result.findings).items())),
        "totals": control_totals(result.payouts),
    }


def count_closed(result: Result) -> int:
    """Payouts whose difference is zero or an exception of exactly that size."""
    named = {found.payout_id: found.amount_at_risk for found in result.findings if found.code == IDENTITY}
    pairs = zip(result.payouts["payout_id"], result.payouts["difference"], strict=True)
    return sum(int(difference) == 0 or named.get(payout_id) == abs(int(difference)) for payout_id, difference in pairs)


def control_totals(payouts: DataFrame) -> dict[str, dict[str, int]]:
    """Sums of the lines of all payouts, per currency, in minor units."""
    sums = payouts.groupby("currency")[list(TOTALS)].sum()
    return {str(currency): {name: int(row[name]) for name in TOTALS} for currency, row in sums.iterrows()}


def _counts(words: Any) -> dict[str, int]:
    return {str(word): int(count) for word, count in sorted(words.value_counts().items())}
