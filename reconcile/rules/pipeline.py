"""One reconciliation from frames to an explained result, in the order of the rules of money."""

import pandas as pd
from pandas import DataFrame

from reconcile.rules.bank import bank_findings
from reconcile.rules.checks import check_result
from reconcile.rules.document_results import build_documents
from reconcile.rules.fees import item_fees, items_off_tariff
from reconcile.rules.findings import in_order
from reconcile.rules.gate import allowed, calendar_findings, conflict_findings, gap_findings
from reconcile.rules.identity import add_up, identity_findings
from reconcile.rules.inputs import (
    BANK,
    CONFLICTS,
    DECISIONS,
    DISPUTES,
    DOCUMENTS,
    FEES,
    GAPS,
    ITEMS,
    PAYOUTS,
    RATES,
    Finding,
    Inputs,
    Result,
    typed,
)
from reconcile.rules.lines import build_lines, name_exceptions
from reconcile.rules.matching import match_payments
from reconcile.rules.outcomes import Code
from reconcile.rules.payouts import PAYMENT_TYPES, REFUND, misplaced, place_items
from reconcile.rules.rates import note_rates
from reconcile.rules.refunds import note_findings, refund_findings
from reconcile.rules.splits import split_mismatches
from reconcile.rules.summary import complete_summary, summarize
from reconcile.rules.verdicts import document_outcomes, overdue_findings, payment_findings

_ON_REFUNDS = frozenset({Code.REFUND_NO_CREDIT_NOTE})


def reconcile(inputs: Inputs) -> Result:
    """Explain every payout, item and document of the inputs; pure, and the same for any order of the rows."""
    inputs = _typed(inputs)
    complete = inputs.gaps.empty
    rows = place_items(inputs)
    fees = item_fees(rows, inputs)
    sums, disputes = add_up(rows, fees, inputs)
    ledger = match_payments(rows, inputs)
    applied = ledger.applications()
    summary = summarize(rows, sums, inputs)
    standing = document_outcomes(ledger, inputs)
    found = [
        *gap_findings(inputs),
        *conflict_findings(inputs),
        *calendar_findings(rows, inputs),
        *identity_findings(sums, rows, inputs),
        *items_off_tariff(rows, fees, inputs),
        *bank_findings(summary, inputs),
        *misplaced(rows, inputs),
        *split_mismatches(ledger.payments.frame),
        *note_rates(ledger, inputs),
        *payment_findings(ledger, applied),
        *refund_findings(ledger),
        *note_findings(ledger),
        *overdue_findings(ledger, standing),
    ]
    findings = in_order(allowed(found, complete=complete))
    lines = build_lines(rows, fees, ledger, applied, disputes=disputes, inputs=inputs)
    lines = name_exceptions(lines, _codes(findings, rows))
    result = Result(
        payouts=complete_summary(summary, lines, findings, inputs),
        lines=lines,
        documents=build_documents(ledger, standing, applied, findings),
        findings=findings,
        complete=complete,
    )
    check_result(rows, ledger, applied, result)
    return result


def _typed(inputs: Inputs) -> Inputs:
    return Inputs(
        connection=inputs.connection,
        country=inputs.country,
        mode=inputs.mode,
        as_of=inputs.as_of,
        payouts=typed(inputs.payouts, PAYOUTS),
        items=typed(inputs.items, ITEMS),
        documents=typed(inputs.documents, DOCUMENTS),
        disputes=typed(inputs.disputes, DISPUTES),
        fees=typed(inputs.fees, FEES),
        gaps=typed(inputs.gaps, GAPS),
        conflicts=typed(inputs.conflicts, CONFLICTS),
        decisions=typed(inputs.decisions, DECISIONS),
        bank=typed(inputs.bank, BANK),
        tariff=inputs.tariff,
        rules=inputs.rules,
        calendar=inputs.calendar,
        rates=typed(inputs.rates, RATES),
    )


def _codes(findings: tuple[Finding, ...], rows: DataFrame) -> DataFrame:
    """List which line each finding of an item belongs to: the item's home, or the payout its subject names."""
    own = [finding for finding in findings if finding.subject.startswith("resource:") and finding.resource_id]
    frame = DataFrame({
        "code": [finding.code for finding in own],
        "resource_id": [finding.resource_id for finding in own],
        "payout_id": [finding.payout_id if "@" in finding.subject else None for finding in own],
        "at": ["@" in finding.subject for finding in own],
    }).astype({"code": "str", "resource_id": "str", "payout_id": "str"})  # fmt: skip
    homes = rows[rows["place"] == "home"]
    kinds = homes["resource_type"].where(~homes["resource_type"].isin(PAYMENT_TYPES), "payment")
    places = DataFrame({"resource_id": homes["resource_id"], "kind": kinds, "home": homes["payout_id"].fillna("")})
    frame = frame.merge(places, on="resource_id", how="left")
    wants_refund = frame["code"].isin([str(code) for code in _ON_REFUNDS])
    keeps = (wants_refund == (frame["kind"] == REFUND)) | (frame["code"] == str(Code.FEE_OUT_OF_BAND))
    frame["payout_id"] = frame["payout_id"].where(frame["at"], frame["home"])
    return pd.DataFrame(frame[keeps | frame["at"]])
