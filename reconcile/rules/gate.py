"""The gate: a stream that is incomplete is named, and what it could disprove is withheld."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Self

import pandas as pd
from pandas import DataFrame, Series

from consumer.facts.clock import format_instant, local_date
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import Finding, Inputs, Row, rows_of
from reconcile.rules.outcomes import Code
from reconcile.rules.streams import OF_SUMS, PAYER_STREAMS, STREAMS, Touches, withheld_by


def find_gaps(inputs: Inputs) -> list[Finding]:
    """Name each stream that has gaps once, with all of them and the codes it withholds."""
    found: list[Finding] = []
    if inputs.gaps.empty:
        return found
    for stream, gaps in inputs.gaps.sort_values(["stream", "since", "until"]).groupby("stream", sort=True):
        listed = [
            {
                "since": _format_moment(gap.since),
                "until": _format_moment(gap.until),
                "reason": None if pd.isna(gap.reason) else gap.reason,
            }
            for gap in rows_of(gaps)
        ]
        about = About(
            f"stream:{stream}",
            inputs.calendar.country.currency,
            evidence={"gaps": listed, "withheld": withheld_by([str(stream)])},
            fact_on=_to_first_day(gaps, inputs.calendar.country.zone),
        )
        found.append(to_finding(Code.DATA_GAP, about, at_risk=0))
    return found


def find_conflicts(inputs: Inputs) -> list[Finding]:
    if inputs.conflicts.empty:
        return []
    conflicts = inputs.conflicts.sort_values(["event_id", "resource_id"]).drop_duplicates("event_id")
    return [_to_conflict(row, inputs.calendar.country.currency) for row in rows_of(conflicts)]


def _to_conflict(row: Row, currency: str) -> Finding:
    resource = None if pd.isna(row.resource_id) else str(row.resource_id)
    amount = None if pd.isna(row.amount) else int(row.amount)
    about = About(f"event:{row.event_id}", currency, resource_id=resource, evidence={"amount": amount})
    return to_finding(Code.EVENT_CONFLICT, about, at_risk=amount or 0)


def find_unknown_years(rows: DataFrame, inputs: Inputs) -> list[Finding]:
    """Name each year in which something happened and whose bank holidays are unknown."""
    dates = [inputs.payouts["created_at"], rows["local_date"], inputs.documents["issue_date"],
             inputs.documents["due_date"]]  # fmt: skip
    counts: Counter[int] = Counter({inputs.as_of.year: 1})
    for column in dates:
        counts.update({int(year): int(count) for year, count in column.dropna().dt.year.value_counts().items()})
    unknown = sorted(year for year in counts if not inputs.calendar.knows(year))
    return [_to_unknown_year(year, counts[year], inputs) for year in unknown]


def _to_unknown_year(year: int, dates: int, inputs: Inputs) -> Finding:
    country = inputs.calendar.country
    evidence = {"year": year, "dates": dates, "calendar": inputs.calendar.edition}
    return to_finding(
        Code.CALENDAR_GAP, About(f"calendar:{country.code}:{year}", country.currency, evidence=evidence), at_risk=0
    )


@dataclass(frozen=True, slots=True)
class Gated:
    """The findings a run reports, and the payouts of which it withholds some."""

    reported: list[Finding]
    withheld: frozenset[str]


def withhold(findings: list[Finding], summary: DataFrame, inputs: Inputs) -> Gated:
    """Withhold what an incomplete stream could disprove; `reconcile.rules.streams` says what that is."""
    if inputs.gaps.empty:
        return Gated(findings, frozenset())
    doubt = _Doubt.of(findings, summary, inputs)
    reported: list[Finding] = []
    withheld = set()
    for finding in findings:
        if not doubt.reaches(finding):
            reported.append(finding)
        elif finding.payout_id is not None:
            withheld.add(finding.payout_id)
    return Gated(reported, frozenset(withheld))


@dataclass(frozen=True, slots=True)
class _Doubt:
    """What incomplete streams leave open: the payouts each may concern, and the payments without a known payer."""

    payouts: Mapping[str, frozenset[str]]
    nameless: frozenset[str]

    @classmethod
    def of(cls, findings: list[Finding], summary: DataFrame, inputs: Inputs) -> Self:
        marks = _mark_by_stream(summary, inputs)
        payouts = {stream: frozenset(summary.loc[mark, "payout_id"]) for stream, mark in marks.items()}
        missed = {str(found.resource_id) for found in findings if found.code == Code.PAYMENT_NO_INVOICE}
        return cls(payouts, frozenset(missed & _find_nameless(inputs)) if PAYER_STREAMS & set(payouts) else frozenset())

    def reaches(self, finding: Finding) -> bool:
        return any(self._holds(stream, finding) for stream in self.payouts)

    def _holds(self, stream: str, finding: Finding) -> bool:
        if finding.code not in STREAMS[stream].withheld:
            return False
        if finding.code in OF_SUMS:
            return finding.subject.startswith("payout:") and finding.payout_id in self.payouts[stream]
        if stream in PAYER_STREAMS and finding.code == Code.PAYMENT_NO_INVOICE:
            return finding.resource_id in self.nameless
        if stream in PAYER_STREAMS and finding.code == Code.INVOICE_NO_PAYMENT:
            return bool(self.nameless)
        return True


def _find_nameless(inputs: Inputs) -> set[str]:
    """Return the payments without a tax id, and those whose customer is not here: the sender may be another."""
    without = inputs.items.loc[inputs.items["customer_tax_id"].isna(), "resource_id"]
    return {*without, *inputs.unknown_customers["resource_id"]}


def mark_touched(summary: DataFrame, inputs: Inputs) -> Series:
    """Mark the payouts that a gap may concern."""
    mark = pd.Series(data=False, index=summary.index)
    for marked in _mark_by_stream(summary, inputs).values():
        mark |= marked
    return mark


def _mark_by_stream(summary: DataFrame, inputs: Inputs) -> dict[str, Series]:
    """Mark for each incomplete stream the payouts its gaps may concern, as `Touches` says."""
    marks: dict[str, Series] = {}
    for gap in rows_of(inputs.gaps):
        earlier = marks.get(gap.stream, pd.Series(data=False, index=summary.index))
        marks[gap.stream] = earlier | _mark_overlap(summary, gap)
    is_shown = summary["bank_movement_id"].notna() & (summary["bank_difference"] == 0).fillna(value=False)
    awaits = (summary["status"] == "succeeded") & ~is_shown
    limits = {Touches.AT_BANK: awaits, Touches.NONE: pd.Series(data=False, index=summary.index)}
    return {stream: mark & limits.get(STREAMS[stream].touches, mark) for stream, mark in marks.items()}


def _mark_overlap(summary: DataFrame, gap: Row) -> Series:
    """Mark the payout a gap names, else those whose window or life it overlaps."""
    if not pd.isna(gap.payout_id):
        return summary["payout_id"].eq(gap.payout_id)
    last = summary["created_at_utc"].where(
        summary["succeeded_at_utc"].isna() | (summary["succeeded_at_utc"] < summary["created_at_utc"]),
        summary["succeeded_at_utc"],
    )
    first = summary["window_start"].where(
        summary["window_start"] < summary["created_at_utc"], summary["created_at_utc"]
    )
    starts = True if pd.isna(gap.since) else last >= gap.since
    ends = True if pd.isna(gap.until) else first < gap.until
    overlaps: Series = pd.Series(data=True, index=summary.index) & starts & ends
    return overlaps


def _to_first_day(gaps: DataFrame, zone: str) -> date | None:
    """Return the day the first gap began; None where one of them reaches back without an end."""
    return None if gaps["since"].isna().any() else local_date(gaps["since"].min().to_pydatetime(), zone)


def _format_moment(value: pd.Timestamp) -> str | None:
    return None if pd.isna(value) else format_instant(value.to_pydatetime())
