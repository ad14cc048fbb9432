"""Text references: whole words of a payment's texts that name a document, believed only with an equal amount."""

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reconcile.rules.assignment import MOST_NODES, Edge, components, forced_pairs
from reconcile.rules.candidates import pair_in_order
from reconcile.rules.columns import texts_of
from reconcile.rules.ledger import Ledger, Reason
from reconcile.rules.names import plain, plain_column
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.payments import UNKNOWN
from reconcile.rules.spoken import exact_names, is_exact, is_grouped_so, texts_said, words_in
from reconcile.rules.void_rivals import leave_to_void, void_rivals

_SHORTEST = 2
_MOST_BEARERS = 50  # a word that so many documents bear names none of them


def match_references(ledger: Ledger) -> None:
    """Match payments whose texts name documents of their amount, where the tax id agrees or nothing else could be.

    A void document of the payer's with that amount is a rival even where the text says which one is meant.
    """
    edges = _edges(ledger)
    voids = void_rivals(ledger, np.unique([payment for payment, _ in edges]).astype(np.int64))
    strong = {edge for edge in edges if _same_customer(ledger, edge)}
    single = _only_candidates(ledger, [edge for edge in edges if edge not in strong and edge[0] not in voids])
    for payment in sorted({payment for payment, _ in strong} & voids.keys()):
        leave_to_void(ledger, payment, "reference", [doc for place, doc in edges if place == payment], voids[payment])
    strong = {edge for edge in strong if edge[0] not in voids}
    for component in components(sorted(strong | single)):
        _decide(ledger, component, single)


def _names(ledger: Ledger, payments: Any, words: set[str]) -> dict[str, set[int]]:
    """Index the documents these payments could equal by those of their names that are among the words."""
    could_equal = np.isin(ledger.open_now(), ledger.payments.amount[payments])
    could_equal[list(ledger.books.notes)] = True
    return _named(ledger, np.flatnonzero(ledger.books.is_claim & ~ledger.books.is_void & could_equal), words)


def documents_named(ledger: Ledger, payments: list[int], docs: Any) -> dict[int, set[int]]:
    """Give which of some documents the texts of each payment name."""
    said = {at: words_in(texts) for at, texts in texts_said(ledger, payments).items()}
    names = _named(ledger, docs, set().union(*said.values()))
    return {at: {doc for word in words for doc in names.get(word, ())} for at, words in said.items()}


def _named(ledger: Ledger, places: Any, words: set[str]) -> dict[str, set[int]]:
    """Index documents by those of their names that are among the words.

    A document's names are its order reference, its folio alone and after its type or series, and its UUID.
    """
    order, folio, uuid, kind, series = (
        texts_of(ledger.books.column(name, places)) for name in ("order_ref", "folio", "uuid", "doc_type", "series")
    )
    nothing = pa.scalar("", type=pa.large_string())
    heads = (pc.binary_join_element_wise(head, folio, nothing) for head in (kind, series))
    wanted = pa.array([word for word in words if len(word) >= _SHORTEST], type=pa.large_string())
    names: dict[str, set[int]] = defaultdict(set)
    for column in (order, folio, uuid, *heads):
        if column.null_count == len(column):
            continue
        said = plain_column(column)
        found = np.flatnonzero(pc.is_in(said, value_set=wanted).to_numpy(zero_copy_only=False))
        for name, doc in zip(said.take(pa.array(found)).to_pylist(), places[found].tolist(), strict=True):
            names[name].add(doc)
    return {name: docs for name, docs in names.items() if len(docs) <= _MOST_BEARERS}


def _edges(ledger: Ledger) -> list[Edge]:
    """Pair payments still undecided with documents they name and whose open balance they equal."""
    texts = texts_said(ledger, np.flatnonzero(ledger.is_left()))
    if not texts:
        return []
    said = {payment: words_in(lines) for payment, lines in texts.items()}
    names = _names(ledger, list(said), set().union(*said.values()))
    edges = []
    for payment, words in said.items():
        named = {doc for word in words if word in names for doc in names[word]}
        edges += [(payment, doc) for doc in sorted(named)]
    return _unmistakable(ledger, _fitting(ledger, edges), texts) if edges else []


def _unmistakable(ledger: Ledger, edges: list[Edge], texts: dict[int, list[str]]) -> list[Edge]:
    """Leave out what is named in other writing, where another document's name would become the same."""
    own = exact_names(ledger, (doc for _, doc in edges))
    loose = [edge for edge in edges if not is_exact(texts[edge[0]], own[edge[1]])]
    if not loose:
        return edges
    common = {edge: {plain(name) for name in own[edge[1]]} & words_in(texts[edge[0]]) for edge in loose}
    bearers = _named(ledger, np.flatnonzero(ledger.books.is_claim), set().union(*common.values()))
    called = exact_names(ledger, set().union(*bearers.values()))
    single = {
        name for name, docs in bearers.items() if set.intersection(*(_becoming(name, called[doc]) for doc in docs))
    }
    mistakable = {
        (payment, doc)
        for payment, doc in loose
        if not any(
            is_grouped_so(texts[payment], name, writing)
            for name in common[payment, doc] & single
            for writing in _becoming(name, own[doc])
        )
    }
    return [edge for edge in edges if edge not in mistakable]


def _becoming(name: str, writings: set[str]) -> set[str]:
    """Give those writings that become this name."""
    return {writing for writing in writings if plain(writing) == name}


def _fitting(ledger: Ledger, edges: list[Edge]) -> list[Edge]:
    payments, docs = np.array(edges, dtype=np.int64).T
    books, days = ledger.books, ledger.payments.day
    fits = ledger.are_equal(docs, payments) & (ledger.payments.currency[payments] == books.currency[docs])
    return [
        (payment, doc)
        for (payment, doc), is_fit in zip(edges, fits.tolist(), strict=True)
        if is_fit and (payment, doc) not in ledger.forbidden and not books.is_credited_before(doc, int(days[payment]))
    ]


def _same_customer(ledger: Ledger, edge: Edge) -> bool:
    payer = ledger.payments.customer[edge[0]]
    return bool(payer != UNKNOWN and payer == ledger.books.customer[edge[1]])


def _only_candidates(ledger: Ledger, edges: list[Edge]) -> set[Edge]:
    """Keep references without the tax id only where no other open document has that amount."""
    balance = ledger.open_now()
    payments = np.array([payment for payment, _ in edges], dtype=np.int64)
    currencies, amounts = ledger.payments.currency[payments], ledger.payments.amount[payments]
    docs = np.flatnonzero(np.isin(balance, amounts) & (balance > 0))
    counts = Counter(zip(ledger.books.currency[docs].tolist(), balance[docs].tolist(), strict=True))
    asked = zip(edges, currencies.tolist(), amounts.tolist(), strict=True)
    return {edge for edge, currency, amount in asked if counts[currency, amount] <= 1}


def _decide(ledger: Ledger, component: list[Edge], single: set[Edge]) -> None:
    """Match what is certain; what is equal in every respect is interchangeable; the rest is ambiguous."""
    payments, docs = {edge[0] for edge in component}, {edge[1] for edge in component}
    if len(docs) == 1:
        # Of several payments for one document the oldest is meant; the others look further.
        component = component[:1]
    certain = forced_pairs(component) if len(payments) + len(docs) <= MOST_NODES else []
    for payment, doc in certain:
        ledger.apply(payment, doc, int(ledger.payments.amount[payment]))
        rule = "reference:only_candidate" if (payment, doc) in single else "reference:tax_id"
        rivals = tuple(other for place, other in component if place == payment and other != doc)
        ledger.decide(payment, Outcome.MATCHED, Reason(Stage.REFERENCE, rule, rivals))
    taken = {edge[0] for edge in certain}, {edge[1] for edge in certain}
    rest = [edge for edge in component if edge[0] not in taken[0] and edge[1] not in taken[1]]
    if len({int(ledger.books.customer[doc]) for _, doc in rest}) == 1 and not any(edge in single for edge in rest):
        reason = Reason(Stage.REFERENCE, "reference:interchangeable")
        pair_in_order(ledger, _options(rest), reason)
        return
    for payment in sorted({edge[0] for edge in rest}):
        rivals = tuple(doc for place, doc in rest if place == payment)
        evidence = {"named_documents": [ledger.books.keys[doc] for doc in rivals]}
        ledger.decide(
            payment, Outcome.AMBIGUOUS, Reason(Stage.NONE, "reference:several", rivals, evidence), Code.AMBIGUOUS
        )


def _options(edges: list[Edge]) -> dict[int, list[int]]:
    options: dict[int, list[int]] = defaultdict(list)
    for payment, doc in sorted(edges):
        options[payment].append(doc)
    return options
