"""Matching payments with documents, stage by stage, each on what the earlier ones left."""

from pandas import DataFrame

from reconcile.rules.borrowed_keys import place_set_aside, set_aside
from reconcile.rules.candidates import match_customers, suggest
from reconcile.rules.decisions import apply_decisions
from reconcile.rules.documents import document_customers, sorted_documents, to_books
from reconcile.rules.inputs import Inputs
from reconcile.rules.keys import find_keys
from reconcile.rules.ledger import Ledger
from reconcile.rules.metadata import Said, read_metadata
from reconcile.rules.parts import match_parts
from reconcile.rules.payments import customers_of, payment_rows, reversals_of, shared_codes, to_payments
from reconcile.rules.placement import place_keyed
from reconcile.rules.references import match_references
from reconcile.rules.sets import match_sets
from reconcile.rules.shared_keys import place_folios, place_shared, settle_agreeing


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
