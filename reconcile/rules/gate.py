"""The gate: what is not known yet is said, and nothing that depends on it is called missing."""

from collections import Counter
from typing import Any

import pandas as pd
from pandas import DataFrame

from consumer.facts.clock import format_instant
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import Finding, Inputs, records
from reconcile.rules.outcomes import WITHHELD_WHILE_INCOMPLETE, Code


def gap_findings(inputs: Inputs) -> list[Finding]:
    """Name each stream that has gaps once, with all of them."""
    found = []
    for stream, gaps in inputs.gaps.sort_values(["stream", "since", "until"]).groupby("stream", sort=True):
        listed = [
            {
                "since": _moment(gap.since),
                "until": _moment(gap.until),
                "reason": None if pd.isna(gap.reason) else gap.reason,
            }
            for gap in records(gaps)
        ]
        about = About(f"stream:{stream}", inputs.calendar.country.currency, evidence={"gaps": listed})
        found.append(to_finding(Code.DATA_GAP, about, at_risk=0))
    return found


def conflict_findings(inputs: Inputs) -> list[Finding]:
    conflicts = inputs.conflicts.sort_values(["event_id", "resource_id"]).drop_duplicates("event_id")
    return [_conflict(row, inputs.calendar.country.currency) for row in records(conflicts)]


def _conflict(row: Any, currency: str) -> Finding:
    resource = None if pd.isna(row.resource_id) else str(row.resource_id)
    amount = None if pd.isna(row.amount) else int(row.amount)
    about = About(f"event:{row.event_id}", currency, resource_id=resource, evidence={"amount": amount})
    return to_finding(Code.EVENT_CONFLICT, about, at_risk=amount or 0)


def calendar_findings(rows: DataFrame, inputs: Inputs) -> list[Finding]:
    """Name each year in which something happened and whose bank holidays nobody knows."""
    dates = [inputs.payouts["created_at"], rows["local_date"], inputs.documents["issue_date"],
             inputs.documents["due_date"]]  # fmt: skip
    counts: Counter[int] = Counter({inputs.as_of.year: 1})
    for column in dates:
        counts.update({int(year): int(count) for year, count in column.dropna().dt.year.value_counts().items()})
    unknown = sorted(year for year in counts if not inputs.calendar.knows(year))
    return [_unknown_year(year, counts[year], inputs) for year in unknown]


def _unknown_year(year: int, dates: int, inputs: Inputs) -> Finding:
    country = inputs.calendar.country
    evidence = {"year": year, "dates": dates, "calendar": inputs.calendar.edition}
    return to_finding(
        Code.CALENDAR_GAP, About(f"calendar:{country.code}:{year}", country.currency, evidence=evidence), at_risk=0
    )


def allowed(findings: list[Finding], *, complete: bool) -> list[Finding]:
    """Withhold everything that says "missing" while data is incomplete."""
    if complete:
        return findings
    return [finding for finding in findings if finding.code not in WITHHELD_WHILE_INCOMPLETE]


def unsaid_payouts(findings: list[Finding], *, complete: bool) -> frozenset[str | None]:
    """Name the payouts that would be called missing at the bank if nothing else were."""
    return frozenset(
        finding.payout_id for finding in findings if not complete and finding.code == Code.PAYOUT_NOT_IN_BANK
    )


def touched(summary: DataFrame, inputs: Inputs) -> Any:
    """Tell which payouts a gap may concern: the one it names, else those whose window or life it overlaps."""
    last = summary["created_at_utc"].where(
        summary["succeeded_at_utc"].isna() | (summary["succeeded_at_utc"] < summary["created_at_utc"]),
        summary["succeeded_at_utc"],
    )
    first = summary["window_start"].where(
        summary["window_start"] < summary["created_at_utc"], summary["created_at_utc"]
    )
    mark = pd.Series(data=False, index=summary.index)
    for gap in records(inputs.gaps):
        if not pd.isna(gap.payout_id):
            mark |= summary["payout_id"] == gap.payout_id
            continue
        starts = True if pd.isna(gap.since) else last >= gap.since
        ends = True if pd.isna(gap.until) else first < gap.until
        mark |= starts & ends
    return mark


def _moment(value: Any) -> str | None:
    return None if pd.isna(value) else format_instant(value.to_pydatetime())
