"""One reconciliation from frames to an explained result, in the order of the rules of money."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from reconcile.rules.ages import with_days
from reconcile.rules.bank import bank_findings
from reconcile.rules.candidates import match_customers, suggest
from reconcile.rules.checks import check_result
from reconcile.rules.columns import mask_of, texts_of
from reconcile.rules.decisions import apply_decisions
from reconcile.rules.deposits import find_deposits, source_findings
from reconcile.rules.documents import document_customers, sorted_documents, to_books
from reconcile.rules.findings import in_order, told_once
from reconcile.rules.gate import calendar_findings, conflict_findings, gap_findings, part
from reconcile.rules.identity import add_up, identity_findings, item_fees, items_off_tariff
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
    UNKNOWN_CUSTOMERS,
    Finding,
    Inputs,
    Result,
    typed,
)
from reconcile.rules.keys import Said, find_keys, read_metadata
from reconcile.rules.ledger import Ledger
from reconcile.rules.lines import build_documents, build_lines, name_exceptions
from reconcile.rules.outcomes import Code
from reconcile.rules.payments import customers_of, payment_rows, reversals_of, shared_codes, to_payments
from reconcile.rules.payouts import PAYMENT_TYPES, REFUND, misplaced, place_items, split_mismatches
from reconcile.rules.placement import (
    place_folios,
    place_keyed,
    place_set_aside,
    place_shared,
    set_aside,
    settle_agreeing,
)
from reconcile.rules.rates import note_rates
from reconcile.rules.references import match_references
from reconcile.rules.reversals import (
    dispute_findings,
    lines_without_payout,
    names_of_lines,
    note_findings,
    refund_findings,
)
from reconcile.rules.sets import match_parts, match_sets
from reconcile.rules.summary import complete_summary, summarize
from reconcile.rules.verdicts import document_outcomes, nearest_misses, overdue_findings, payment_findings

_ON_REFUNDS = frozenset({Code.REFUND_NO_CREDIT_NOTE})


def match_payments(rows: DataFrame, inputs: Inputs) -> Ledger:
    """Decide every payment: decisions of people, keys, references, customers, parts, sets, suggestions, the rest."""
    ledger, said = open_ledger(rows, inputs)
    apply_decisions(ledger, inputs.decisions)
    keys, waiting = set_aside(ledger, settle_agreeing(ledger, find_keys(said, ledger.books)))
    del said
    place_keyed(ledger, keys)
    place_shared(ledger, keys)
    place_folios(ledger, keys)
    match_references(ledger)
    waiting = place_set_aside(ledger, waiting)
    match_customers(ledger)
    match_parts(ledger)
    match_sets(ledger)
    place_set_aside(ledger, waiting)
    # What these stages paid is not open any more.
    place_folios(ledger, keys)
    suggest(ledger)
    ledger.leave_rest()
    ledger.accept_rests()
    return ledger


def open_ledger(rows: DataFrame, inputs: Inputs) -> tuple[Ledger, Said]:
    """Open the ledger with nothing decided, and give what each payment's metadata says."""
    payments = payment_rows(rows, inputs.items)
    said = read_metadata(payments["metadata"])
    return _open(payments, said, rows, inputs), said


def _open(payments: DataFrame, said: Said, rows: DataFrame, inputs: Inputs) -> Ledger:
    documents = sorted_documents(inputs)
    payers, owners = customers_of(payments, inputs.rules), document_customers(documents, inputs.rules)
    currencies = shared_codes(payments["currency"], documents["currency"])
    customers = shared_codes(payers, owners)
    return Ledger(
        payments=to_payments(
            payments,
            payers,
            (currencies[0], customers[0]),
            reversals=reversals_of(payments, rows, inputs.disputes),
            said=said,
        ),
        books=to_books(documents, (currencies[1], customers[1]), inputs),
        rules=inputs.rules,
    )


def reconcile(inputs: Inputs) -> Result:
    """Explain every payout, item and document of the inputs; pure, and the same for any order of the rows."""
    inputs = _typed(inputs)
    rows = place_items(inputs)
    fees = item_fees(rows, inputs)
    sums, disputes = add_up(rows, fees, inputs)
    ledger = match_payments(rows, inputs)
    applied = ledger.applications()
    deposits = find_deposits(inputs)
    summary = summarize(rows, sums, deposits, inputs)
    standing, misses = document_outcomes(ledger, inputs), nearest_misses(ledger, applied)
    found = [
        *gap_findings(inputs),
        *conflict_findings(inputs),
        *calendar_findings(rows, inputs),
        *identity_findings(sums, rows, inputs),
        *items_off_tariff(rows, fees, inputs),
        *bank_findings(summary, inputs),
        *source_findings(deposits, summary, inputs),
        *misplaced(rows, inputs),
        *split_mismatches(ledger.payments.frame),
        *note_rates(ledger, inputs),
        *payment_findings(ledger, applied, misses),
        *refund_findings(ledger, applied),
        *note_findings(ledger, applied),
        *dispute_findings(ledger, applied, disputes, inputs),
        *overdue_findings(ledger, standing, misses),
    ]
    parted = part(found, summary, inputs)
    findings = in_order(with_days(told_once(parted.told), rows, summary, inputs))
    disputes += lines_without_payout(inputs)
    lines = build_lines(rows, fees, ledger, applied, disputes=disputes, inputs=inputs)
    lines = name_exceptions(lines, sorted([*_codes(findings, rows), *names_of_lines(findings, disputes)]))
    result = Result(
        payouts=complete_summary(summary, lines, findings, inputs, unsaid=parted.unsaid),
        lines=lines,
        documents=build_documents(ledger, standing, applied, findings),
        findings=findings,
        complete=inputs.gaps.empty,
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
        unknown_customers=typed(inputs.unknown_customers, UNKNOWN_CUSTOMERS),
    )


def _codes(findings: tuple[Finding, ...], rows: DataFrame) -> Iterator[tuple[str, str, str, str]]:
    """Say which line each finding of an item belongs to: the item's home, or the payout its subject names.

    Gives the code, and the payout, the kind and the id of the line.
    """
    own = [finding for finding in findings if finding.resource_id and finding.subject.startswith("resource:")]
    homes = _homes(rows, {str(finding.resource_id) for finding in own})
    for finding in own:
        identity, is_at = str(finding.resource_id), "@" in finding.subject
        for kind, home in homes.get(identity, ()):
            is_meant = (finding.code in _ON_REFUNDS) == (kind == REFUND) or finding.code == Code.FEE_OUT_OF_BAND
            if is_meant or is_at:
                yield finding.code, str(finding.payout_id) if is_at else home, kind, identity


def _homes(rows: DataFrame, ids: set[str]) -> dict[str, list[tuple[str, str]]]:
    """Give the kind and the payout of items with these ids, where they are at home."""
    is_named = pc.is_in(texts_of(rows["resource_id"]), value_set=pa.array(list(ids), type=pa.large_string()))
    is_meant = mask_of(is_named) & (rows["place"] == "home").to_numpy()
    chosen = rows.loc[is_meant, ["payout_id", "resource_type", "resource_id"]]
    kinds = chosen["resource_type"].where(~chosen["resource_type"].isin(PAYMENT_TYPES), "payment")
    columns = (
        values.to_numpy(dtype=object) for values in (chosen["resource_id"], kinds, chosen["payout_id"].fillna(""))
    )
    homes: dict[str, list[tuple[str, str]]] = {}
    for identity, kind, home in zip(*columns, strict=True):
        homes.setdefault(identity, []).append((kind, home))
    return homes
