"""One reconciliation from frames to an explained result, and the checks that refuse one that does not balance."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame, Series

from reconcile.rules.candidates import match_customers, suggest_documents
from reconcile.rules.columns import Indices, Ints, add_by_place, are_in, find_places, join_keys, to_texts
from reconcile.rules.decisions import apply_decisions
from reconcile.rules.deposits import find_deposits, find_source_differences, list_bank_lines
from reconcile.rules.documents import find_customers, sort_documents, to_books
from reconcile.rules.expected import find_changed_documents, find_other_documents
from reconcile.rules.fees import choose_fees, find_off_tariff, find_split_mismatches
from reconcile.rules.findings import add_days, merge_currency_differences, sort_findings
from reconcile.rules.gate import find_conflicts, find_gaps, find_unknown_years, withhold
from reconcile.rules.inputs import DISPUTE, INPUTS, PAYMENT_TYPES, REFUND, Finding, Inputs, LineCode, Result, to_types
from reconcile.rules.keys import Said, find_keys, find_operations, find_parts, read_metadata
from reconcile.rules.ledger import Ledger, choose_payments, find_payers, group_reversals, number_together, to_payments
from reconcile.rules.lines import build_documents, build_lines, name_exceptions
from reconcile.rules.orders import find_order_differences
from reconcile.rules.outcomes import Code, Outcome
from reconcile.rules.payers import open_payers, read_patterns
from reconcile.rules.payouts import add_up, find_identity_breaks, find_misplaced, place_items
from reconcile.rules.placement import place_keyed, place_set_aside, set_aside
from reconcile.rules.references import match_references
from reconcile.rules.reversals import (
    describe_reversed,
    find_disputes,
    find_lonely_notes,
    find_lonely_refunds,
    list_without_payout,
    move_vat,
    name_dispute_lines,
)
from reconcile.rules.sets import match_parts, match_sets
from reconcile.rules.several_names import place_folios, place_shared, settle_agreeing
from reconcile.rules.summary import complete_summary, find_bank_differences, summarize
from reconcile.rules.verdicts import add_rates, decide_documents, find_overdue, find_payment_faults, index_misses

_ON_REFUNDS = frozenset({Code.REFUND_NO_CREDIT_NOTE})


class UnbalancedError(RuntimeError):
    """A result that must not be published; the message names the check and what broke it."""


def check_result(rows: DataFrame, ledger: Ledger, applied: DataFrame, result: Result) -> None:
    """Raise UnbalancedError if an item is lost or doubled, or an amount is not the sum of its parts."""
    problems = chain(
        _check_every_item_once(rows, result.lines),
        _check_sums(rows, result.lines),
        _check_payouts(result),
        _check_payments(ledger, applied),
        _check_documents(ledger, applied, result.documents),
    )
    for problem in problems:
        raise UnbalancedError(f"the result does not balance: {problem}")


def _check_every_item_once(rows: DataFrame, lines: DataFrame) -> Iterator[str]:
    names = ["payout_id", "resource_type", "resource_id"]
    firsts = lines.loc[(lines["line"] == 1) & (lines["resource_type"] != DISPUTE), names]
    if len(firsts) != len(rows):
        yield f"{len(rows)} items went in and {len(firsts)} came out"
    if not _are_the_same(rows[names], firsts):
        came_out = join_keys(firsts, names).unique()
        if len(came_out) != len(firsts):
            yield "an item has two first lines"
        found = pc.sum(pc.is_in(join_keys(rows, names), value_set=came_out)).as_py() or 0
        if found != len(rows):
            yield f"{len(rows) - found} items have no line"
    if (lines["outcome"] == Outcome.UNEXPLAINED).any():
        yield "an item was left unexplained"


def _are_the_same(rows: DataFrame, firsts: DataFrame) -> bool:
    """Return, where every id occurs once, whether each stands in a line of its own kind and payout."""
    places = pc.index_in(to_texts(rows["resource_id"]), value_set=to_texts(firsts["resource_id"]))
    if places.null_count or len(np.unique(places.to_numpy())) < len(rows):
        return False
    came_out = firsts.take(places.to_numpy())
    return all(
        to_texts(came_out[name]).fill_null("").equals(to_texts(rows[name]).fill_null(""))
        for name in ("payout_id", "resource_type")
    )


def _check_sums(rows: DataFrame, lines: DataFrame) -> Iterator[str]:
    is_item = lines["resource_type"] != DISPUTE
    went_in = _sum_by(rows["currency"], rows["signed"])
    came_out = _sum_by(lines["currency"][is_item], lines["amount_signed"][is_item])
    for currency, amount in went_in.items():
        other = came_out.get(currency)
        if other is None or int(other) != int(amount):
            yield f"{currency}: {amount} in, {other} out"


def _sum_by(keys: Series, amounts: Series) -> dict[str, int]:
    distinct = keys.unique()
    sums, _ = add_by_place(find_places(keys, distinct), amounts, len(distinct))
    return dict(zip(distinct, sums.tolist(), strict=True))


def _check_payouts(result: Result) -> Iterator[str]:
    payouts, lines = result.payouts, result.lines
    places = find_places(lines["payout_id"], payouts["payout_id"])
    is_own = lines["currency"].array == payouts["currency"].array.take(places, allow_fill=True)
    sums, _ = add_by_place(np.where(is_own, places, -1), lines["amount_signed"], len(payouts))
    wrong = (payouts["computed_amount"] + payouts["fee_total"]) != sums
    yield from (f"payout {payout_id} is not the sum of its lines" for payout_id in payouts["payout_id"][wrong])
    wrong = payouts["payout_amount"] - payouts["computed_amount"] != payouts["difference"]
    yield from (f"payout {payout_id} has a wrong difference" for payout_id in payouts["payout_id"][wrong])


def _check_payments(ledger: Ledger, applied: DataFrame) -> Iterator[str]:
    payments = applied["payment"].to_numpy()
    sums = _add_at(payments, applied, len(ledger.payments))
    is_beyond = (sums - ledger.payments.amount)[payments] > ledger.rules.amount_tolerance
    if is_beyond.any():
        yield "a payment was applied beyond its amount"


def _check_documents(ledger: Ledger, applied: DataFrame, documents: DataFrame) -> Iterator[str]:
    wanted, known = (pa.array(keys, type=pa.large_string()) for keys in (ledger.books.keys, documents["doc_key"]))
    places = pc.index_in(wanted, value_set=known)
    if places.null_count:
        yield "a document is missing"
    paid = (
        documents["paid"].to_numpy(dtype="int64")[places.to_numpy(zero_copy_only=False).astype("int64")]
        + ledger.reopened * ledger.books.is_claim
    )
    expected = _add_at(applied["doc"].to_numpy(), applied, len(paid)) * ledger.books.is_claim
    if not np.array_equal(paid, expected):
        yield "a document's paid amount is not the sum of what was applied to it"


def _add_at(places: Indices, applied: DataFrame, count: int) -> Ints:
    """Add up what was applied at each of so many places."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, places, applied["applied"].to_numpy())
    return sums


def match_payments(rows: DataFrame, inputs: Inputs) -> Ledger:
    """Decide every payment: by people, keys, references, customers and who pays for them, suggestions, the rest."""
    ledger, said = open_ledger(rows, inputs)
    apply_decisions(ledger, inputs.decisions)
    named = find_operations(inputs.operations, ledger.payments.ids, ledger.books)
    ledger.parts = find_parts(inputs.operations, ledger.payments.ids, ledger.books)
    keys, waiting = set_aside(ledger, settle_agreeing(ledger, find_keys(said, ledger.books, named)))
    payers = open_payers(ledger, inputs.payers)
    payers.name_keyed(keys)
    place_keyed(ledger, keys)
    place_shared(ledger, keys)
    place_folios(ledger, keys)
    torn = payers.find_torn()
    match_references(ledger)
    waiting = place_set_aside(ledger, waiting)
    payers.leave_torn(torn)
    _match_by_customer(ledger)
    if payers.count_as_customers():
        match_references(ledger)
        _match_by_customer(ledger)
    place_set_aside(ledger, waiting)
    # What these stages paid is not open any more.
    place_folios(ledger, keys)
    suggest_documents(ledger)
    ledger.leave_rest()
    ledger.accept_rests()
    payers.mark(said)
    return ledger


def _match_by_customer(ledger: Ledger) -> None:
    match_customers(ledger)
    match_parts(ledger)
    match_sets(ledger)


def open_ledger(rows: DataFrame, inputs: Inputs) -> tuple[Ledger, Said]:
    """Return a ledger without decisions, and what each payment's metadata says."""
    payments = choose_payments(rows, inputs.items)
    said = read_patterns(read_metadata(payments["metadata"]), payments, inputs.payers)
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
    frames: dict[str, Any] = {name: to_types(getattr(inputs, name), schema) for name, schema in INPUTS.items()}
    inputs = replace(inputs, **frames)
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
        *find_bank_differences(summary, rows, inputs),
        *find_source_differences(deposits, summary, inputs),
        *find_misplaced(rows, inputs),
        *find_split_mismatches(ledger.payments.frame),
        *add_rates(ledger, inputs),
        *find_payment_faults(ledger, applied, misses),
        *find_other_documents(rows, ledger, applied, inputs),
        *find_changed_documents(inputs),
        *find_lonely_refunds(ledger, applied),
        *find_lonely_notes(ledger, applied),
        *find_disputes(ledger, applied, disputes, inputs),
        *find_overdue(ledger, standing, misses),
        *find_order_differences(inputs),
    ]
    gated = withhold(found, summary, inputs)
    findings = sort_findings(add_days(merge_currency_differences(gated.reported), rows, summary, inputs))
    disputes += list_without_payout(inputs)
    collected, given_back = move_vat(ledger, applied, inputs.country)
    lines = build_lines(rows, fees, ledger, applied.assign(vat_moved=collected), disputes=disputes, inputs=inputs)
    lines = describe_reversed(lines, ledger, given_back)
    lines = name_exceptions(lines, sorted([*_name_lines(findings, rows), *name_dispute_lines(findings, disputes)]))
    result = Result(
        payouts=complete_summary(summary, lines, findings, inputs, withheld=gated.withheld),
        lines=lines,
        documents=build_documents(ledger, standing, applied, findings),
        findings=findings,
        complete=inputs.gaps.empty,
        bank=list_bank_lines(deposits, summary, inputs),
    )
    check_result(rows, ledger, applied, result)
    return result


def _name_lines(findings: tuple[Finding, ...], rows: DataFrame) -> Iterator[LineCode]:
    """Return the line of each finding of an item: in the item's home, or in the payout its subject names."""
    own = [finding for finding in findings if finding.resource_id and finding.subject.startswith("resource:")]
    homes = _find_homes(rows, {str(finding.resource_id) for finding in own})
    for finding in own:
        identity, is_at = str(finding.resource_id), "@" in finding.subject
        for kind, home in homes.get(identity, ()):
            is_meant = (finding.code in _ON_REFUNDS) == (kind == REFUND) or finding.code == Code.FEE_OUT_OF_BAND
            if is_meant or is_at:
                yield finding.code, str(finding.payout_id) if is_at else home, kind, identity


def _find_homes(rows: DataFrame, ids: set[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the kind and the payout of items with these ids, where they are at home."""
    is_meant = are_in(rows["resource_id"], ids) & (rows["place"] == "home").to_numpy()
    chosen = rows.loc[is_meant, ["payout_id", "resource_type", "resource_id"]]
    kinds = chosen["resource_type"].where(~chosen["resource_type"].isin(PAYMENT_TYPES), "payment")
    columns = (
        values.to_numpy(dtype=object) for values in (chosen["resource_id"], kinds, chosen["payout_id"].fillna(""))
    )
    homes: dict[str, list[tuple[str, str]]] = {}
    for identity, kind, home in zip(*columns, strict=True):
        homes.setdefault(identity, []).append((kind, home))
    return homes
