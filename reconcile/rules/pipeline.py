"""One reconciliation from frames to an explained result, in the order of the rules of money."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from reconcile.rules.ages import add_days
from reconcile.rules.bank import find_bank_differences
from reconcile.rules.candidates import match_customers, suggest_documents
from reconcile.rules.checks import check_result
from reconcile.rules.columns import to_mask, to_texts
from reconcile.rules.decisions import apply_decisions
from reconcile.rules.deposits import find_deposits, find_source_differences
from reconcile.rules.documents import find_customers, sort_documents, to_books
from reconcile.rules.findings import merge_currency_differences, sort_findings
from reconcile.rules.gate import find_conflicts, find_gaps, find_unknown_years, withhold
from reconcile.rules.identity import add_up, choose_fees, find_identity_breaks, find_off_tariff
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
    LineCode,
    Result,
    to_types,
)
from reconcile.rules.keys import Said, find_keys, read_metadata
from reconcile.rules.ledger import Ledger
from reconcile.rules.lines import build_documents, build_lines, name_exceptions
from reconcile.rules.outcomes import Code
from reconcile.rules.payments import choose_payments, find_payers, group_reversals, number_together, to_payments
from reconcile.rules.payouts import PAYMENT_TYPES, REFUND, find_misplaced, find_split_mismatches, place_items
from reconcile.rules.placement import (
    place_folios,
    place_keyed,
    place_set_aside,
    place_shared,
    set_aside,
    settle_agreeing,
)
from reconcile.rules.rates import add_rates
from reconcile.rules.references import match_references
from reconcile.rules.reversals import (
    find_disputes,
    find_lonely_notes,
    find_lonely_refunds,
    list_without_payout,
    name_dispute_lines,
)
from reconcile.rules.sets import match_parts, match_sets
from reconcile.rules.summary import complete_summary, summarize
from reconcile.rules.verdicts import decide_documents, find_overdue, find_payment_faults, index_misses

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
    suggest_documents(ledger)
    ledger.leave_rest()
    ledger.accept_rests()
    return ledger


def open_ledger(rows: DataFrame, inputs: Inputs) -> tuple[Ledger, Said]:
    """Open the ledger with nothing decided, and give what each payment's metadata says."""
    payments = choose_payments(rows, inputs.items)
    said = read_metadata(payments["metadata"])
    return _to_ledger(payments, said, rows, inputs), said


def _to_ledger(payments: DataFrame, said: Said, rows: DataFrame, inputs: Inputs) -> Ledger:
    documents = sort_documents(inputs)
    payers, owners = find_payers(payments, inputs.rules), find_customers(documents, inputs.rules)
    currencies = number_together(payments["currency"], documents["currency"])
    customers = number_together(payers, owners)
    return Ledger(
        payments=to_payments(
            payments,
            payers,
            (currencies[0], customers[0]),
            reversals=group_reversals(payments, rows, inputs.disputes),
            said=said,
        ),
        books=to_books(documents, (currencies[1], customers[1]), inputs),
        rules=inputs.rules,
    )


def reconcile(inputs: Inputs) -> Result:
    """Explain every payout, item and document of the inputs; pure, and the same for any order of the rows."""
    inputs = _typed(inputs)
    rows = place_items(inputs)
    fees = choose_fees(rows, inputs)
    sums, disputes = add_up(rows, fees, inputs)
    ledger = match_payments(rows, inputs)
    applied = ledger.applications()
    deposits = find_deposits(inputs)
    summary = summarize(rows, sums, deposits, inputs)
    standing, misses = decide_documents(ledger, inputs), index_misses(ledger, applied)
    found = [
        *find_gaps(inputs),
        *find_conflicts(inputs),
        *find_unknown_years(rows, inputs),
        *find_identity_breaks(sums, rows, inputs),
        *find_off_tariff(rows, fees, inputs),
        *find_bank_differences(summary, inputs),
        *find_source_differences(deposits, summary, inputs),
        *find_misplaced(rows, inputs),
        *find_split_mismatches(ledger.payments.frame),
        *add_rates(ledger, inputs),
        *find_payment_faults(ledger, applied, misses),
        *find_lonely_refunds(ledger, applied),
        *find_lonely_notes(ledger, applied),
        *find_disputes(ledger, applied, disputes, inputs),
        *find_overdue(ledger, standing, misses),
    ]
    parted = withhold(found, summary, inputs)
    findings = sort_findings(add_days(merge_currency_differences(parted.told), rows, summary, inputs))
    disputes += list_without_payout(inputs)
    lines = build_lines(rows, fees, ledger, applied, disputes=disputes, inputs=inputs)
    lines = name_exceptions(lines, sorted([*_name_lines(findings, rows), *name_dispute_lines(findings, disputes)]))
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
        payouts=to_types(inputs.payouts, PAYOUTS),
        items=to_types(inputs.items, ITEMS),
        documents=to_types(inputs.documents, DOCUMENTS),
        disputes=to_types(inputs.disputes, DISPUTES),
        fees=to_types(inputs.fees, FEES),
        gaps=to_types(inputs.gaps, GAPS),
        conflicts=to_types(inputs.conflicts, CONFLICTS),
        decisions=to_types(inputs.decisions, DECISIONS),
        bank=to_types(inputs.bank, BANK),
        tariff=inputs.tariff,
        rules=inputs.rules,
        calendar=inputs.calendar,
        rates=to_types(inputs.rates, RATES),
        unknown_customers=to_types(inputs.unknown_customers, UNKNOWN_CUSTOMERS),
    )


def _name_lines(findings: tuple[Finding, ...], rows: DataFrame) -> Iterator[LineCode]:
    """Say which line each finding of an item belongs to: the item's home, or the payout its subject names.

    Gives the code, and the payout, the kind and the id of the line.
    """
    own = [finding for finding in findings if finding.resource_id and finding.subject.startswith("resource:")]
    homes = _find_homes(rows, {str(finding.resource_id) for finding in own})
    for finding in own:
        identity, is_at = str(finding.resource_id), "@" in finding.subject
        for kind, home in homes.get(identity, ()):
            is_meant = (finding.code in _ON_REFUNDS) == (kind == REFUND) or finding.code == Code.FEE_OUT_OF_BAND
            if is_meant or is_at:
                yield finding.code, str(finding.payout_id) if is_at else home, kind, identity


def _find_homes(rows: DataFrame, ids: set[str]) -> dict[str, list[tuple[str, str]]]:
    """Give the kind and the payout of items with these ids, where they are at home."""
    is_named = pc.is_in(to_texts(rows["resource_id"]), value_set=pa.array(list(ids), type=pa.large_string()))
    is_meant = to_mask(is_named) & (rows["place"] == "home").to_numpy()
    chosen = rows.loc[is_meant, ["payout_id", "resource_type", "resource_id"]]
    kinds = chosen["resource_type"].where(~chosen["resource_type"].isin(PAYMENT_TYPES), "payment")
    columns = (
        values.to_numpy(dtype=object) for values in (chosen["resource_id"], kinds, chosen["payout_id"].fillna(""))
    )
    homes: dict[str, list[tuple[str, str]]] = {}
    for identity, kind, home in zip(*columns, strict=True):
        homes.setdefault(identity, []).append((kind, home))
    return homes
