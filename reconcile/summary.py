"""A run in figures: counts, control totals per currency, exceptions by code; pure."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pandas import DataFrame

from reconcile.rules.inputs import Finding, Result

TOTALS = (
    "payments_gross", "charges_gross", "refunds_gross", "refund_adjustments", "disputes", "fee_total",
    "computed_amount", "payout_amount", "difference",
)  # fmt: skip
IDENTITY = "PAYOUT_IDENTITY"


def summarise(result: Result) -> dict[str, Any]:
    first = result.lines["outcome"][result.lines["line"] == 1]
    return {
        "complete": result.complete,
        "payouts": len(result.payouts),
        "payouts_closed": count_closed(result),
        "items": len(first),
        "items_by_outcome": _counts(first),
        "documents": len(result.documents),
        "documents_by_outcome": _counts(result.documents["outcome"]),
        "exceptions": dict(sorted(Counter(found.code for found in result.findings).items())),
        "at_risk": at_risk(result.findings),
        "severities": dict(sorted(Counter(found.severity for found in result.findings).items())),
        "totals": control_totals(result.payouts),
    }


def at_risk(findings: Iterable[Finding]) -> dict[str, int]:
    """What the findings of a run are worth together, per currency."""
    sums: Counter[str] = Counter()
    for found in findings:
        sums[found.currency] += found.amount_at_risk
    return dict(sorted(sums.items()))


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
