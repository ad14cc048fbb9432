"""Findings: what they are about, their order, and the day each is aged from."""

from collections.abc import Iterable, Sequence
from datetime import date
from operator import attrgetter
from typing import NamedTuple

import pandas as pd
from msgspec import Struct
from msgspec.structs import replace
from pandas import DataFrame, Series

from consumer.facts.bankdays import BankCalendar
from reconcile.rules.columns import are_in, to_local_times
from reconcile.rules.inputs import Evidence, Finding, Inputs
from reconcile.rules.outcomes import SEVERITIES, WITHOUT_DOCUMENT, Code, Severity

# What to do about a payment that has no document but a void one of just its amount.
OF_VOID = "Refund the payment, or issue the document again: the customer's document of this amount is void"
# What to do about a payout that came back, where others have paid every item of it since.
OF_PAID_AGAIN = "Check the recipient account's data with the provider; other payouts have paid every item of it since"
# Which day the age of a code counts from: the first of these that is known. What is not listed counts from the payment
# or refund it names, else from the day its payout was made; a rule that knows better sets the day itself.
FACTS: dict[str, tuple[str, ...]] = {
    Code.INVOICE_NO_PAYMENT: ("due",),
    Code.CREDIT_NOTE_NO_REFUND: ("issued",),
    Code.DOCUMENT_CHANGED: ("issued",),
    Code.PAYOUT_LATE: ("expected",),
    Code.PAYOUT_NOT_IN_BANK: ("expected",),
    Code.PAYOUT_RETURNED: ("ended", "expected"),
    Code.BANK_AMOUNT_DIFF: ("in_bank", "expected"),
}
_OTHERS = ("occurred", "made")


class About(Struct):
    """What a finding is about: its subject, the ids it touches, and the days and the customer only its rule knows."""

    subject: str
    currency: str
    payout_id: str | None = None
    resource_id: str | None = None
    doc_key: str | None = None
    evidence: Evidence = {}
    fact_on: date | None = None
    due_on: date | None = None
    customer_name: str | None = None


def to_finding(
    code: Code, about: About, *, at_risk: int, severity: Severity | None = None, action: str = ""
) -> Finding:
    """Word a finding; what was found may weigh more or less than its code does, and ask for another action."""
    return Finding(
        code=str(code),
        severity=str(severity or code.severity),
        subject=about.subject,
        title=code.sentence,
        amount_at_risk=int(at_risk),
        currency=about.currency,
        payout_id=about.payout_id,
        resource_id=about.resource_id,
        doc_key=about.doc_key,
        evidence=about.evidence,
        suggested_action=action or code.action,
        fact_on=about.fact_on,
        due_on=about.due_on,
        customer_name=about.customer_name,
    )


def merge_currency_differences(findings: list[Finding]) -> list[Finding]:
    """Merge the two findings of a payment whose currency is neither its document's nor its payout's, at risk once."""
    differing = [finding for finding in findings if finding.code == Code.CURRENCY_DIFF]
    of_payouts = {(found.resource_id, found.payout_id): found for found in differing if "@" in found.subject}
    of_documents = {(found.resource_id, found.payout_id): found for found in differing if "@" not in found.subject}
    kept = [finding for finding in findings if finding.code != Code.CURRENCY_DIFF]
    for at, found in of_documents.items():
        evidence = of_payouts.pop(at).evidence if at in of_payouts else {}
        kept.append(replace(found, evidence=evidence | found.evidence))
    return [*kept, *of_payouts.values()]


def sort_findings(findings: list[Finding]) -> tuple[Finding, ...]:
    """Sort by severity, code and subject, which is a total order."""
    alike: dict[tuple[int, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((SEVERITIES.index(finding.severity), finding.code), []).append(finding)
    subject = attrgetter("subject")
    return tuple(finding for kind in sorted(alike) for finding in sorted(alike[kind], key=subject))


def count_bank_days(since: date, on: date, calendar: BankCalendar) -> int:
    """Return the bank days from the day of an exception's fact to another day, never below zero."""
    return max(0, calendar.days_between(since, on))


class _Known(NamedTuple):
    """What is known of one payment, document or payout: named days, and where it has them a due date and a customer."""

    days: dict[str, date | None]
    due_on: date | None = None
    customer_name: str | None = None


_NOTHING = _Known({})
_RESOURCE = "resource:"


def add_days(findings: Sequence[Finding], rows: DataFrame, summary: DataFrame, inputs: Inputs) -> list[Finding]:
    """Add the days and customers that the rules did not set.

    Who paid or got back is the customer of a payment or refund. A document that a payment only names, and was not
    applied to, is no evidence of its customer nor of when it is due. A finding of which no such day is known, as of a
    year without a calendar, keeps none.
    """
    items = _read_items(_to_ids(found.resource_id for found in findings), rows)
    documents = _read_documents(_to_ids(found.doc_key for found in findings), inputs)
    payouts = _read_payouts(_to_ids(found.payout_id for found in findings), summary, inputs)
    completed = []
    for found in findings:
        item = items.get(found.resource_id or "", _NOTHING)
        document = documents.get(found.doc_key or "", _NOTHING)
        payout = payouts.get(found.payout_id or "", _NOTHING)
        days = item.days | document.days | payout.days
        own = _NOTHING if found.code in WITHOUT_DOCUMENT else document
        names = (own.customer_name, item.customer_name)
        if found.subject.startswith(_RESOURCE):
            names = names[::-1]
        first = (days[name] for name in FACTS.get(found.code, _OTHERS) if days.get(name) is not None)
        completed.append(
            replace(
                found,
                fact_on=found.fact_on or next(first, None),
                due_on=found.due_on or own.due_on,
                customer_name=found.customer_name or names[0] or names[1],
            )
        )
    return completed


def _to_ids(names: Iterable[str | None]) -> set[str]:
    return {name for name in names if name is not None}


def _read_items(ids: set[str], rows: DataFrame) -> dict[str, _Known]:
    """Read the first appearance of each item: a refund that failed comes back under the same id."""
    chosen = _choose_rows(ids, rows[["resource_id", "local_date", "customer_name"]], "resource_id")
    first = chosen.sort_values("local_date", kind="stable").drop_duplicates("resource_id")
    columns = (first["resource_id"].tolist(), _to_dates(first["local_date"]), _to_texts(first["customer_name"]))
    return {key: _Known({"occurred": on}, customer_name=name) for key, on, name in zip(*columns, strict=True)}


def _read_documents(ids: set[str], inputs: Inputs) -> dict[str, _Known]:
    columns = ["doc_key", "issue_date", "due_date", "customer_name"]
    chosen = _choose_rows(ids, inputs.documents[columns], "doc_key").drop_duplicates("doc_key")
    due = chosen["due_date"].fillna(chosen["issue_date"] + pd.Timedelta(days=inputs.rules.due_days))
    rows = zip(
        chosen["doc_key"].tolist(), _to_dates(chosen["issue_date"]), _to_dates(due), _to_dates(chosen["due_date"]),
        _to_texts(chosen["customer_name"]), strict=True,
    )  # fmt: skip
    return {
        key: _Known({"issued": issued, "due": by_rule}, stated, name) for key, issued, by_rule, stated, name in rows
    }


def _read_payouts(ids: set[str], summary: DataFrame, inputs: Inputs) -> dict[str, _Known]:
    chosen = _choose_rows(ids, summary[["payout_id", "payout_date", "expected_arrival", "bank_date"]], "payout_id")
    ended = _choose_rows(ids, inputs.payouts[["payout_id", "ended_at"]], "payout_id")
    ended_on = dict(zip(ended["payout_id"], _to_dates(to_local_times(ended["ended_at"], inputs.calendar)), strict=True))
    named = (_to_dates(chosen[name]) for name in ("payout_date", "expected_arrival", "bank_date"))
    return {
        key: _Known({"made": made, "expected": expected, "in_bank": in_bank, "ended": ended_on.get(key)})
        for key, made, expected, in_bank in zip(chosen["payout_id"].tolist(), *named, strict=True)
    }


def _choose_rows(ids: set[str], frame: DataFrame, name: str) -> DataFrame:
    chosen: DataFrame = frame[are_in(frame[name], ids)]
    return chosen


def _to_dates(column: Series) -> list[date | None]:
    return [None if pd.isna(value) else value.date() for value in column]


def _to_texts(column: Series) -> list[str | None]:
    return [None if pd.isna(value) else str(value) for value in column]
