"""Text references: whole words of a payment's texts that name a document, believed only with an equal amount."""

import re
from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reconcile.rules.assignment import MOST_NODES, Edge, components, forced_pairs
from reconcile.rules.candidates import pair_in_order
from reconcile.rules.columns import texts_of
from reconcile.rules.ledger import Ledger, Reason
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.payments import UNKNOWN

_WORD = re.compile(r"[A-Z0-9]+(?:[-_/.#][A-Z0-9]+)*")
_PART = re.compile(r"[A-Z0-9]+")
_SHORTEST = 2
_MOST_BEARERS = 50  # a word that so many documents bear names none of them


def match_references(ledger: Ledger) -> None:
    """Match payments whose texts name documents of their amount, where the tax id agrees or nothing else could be."""
    edges = _edges(ledger)
    strong = {edge for edge in edges if _same_customer(ledger, edge)}
    single = _only_candidates(ledger, [edge for edge in edges if edge not in strong])
    for component in components(sorted(strong | single)):
        _decide(ledger, component, single)


def words_of(text: str) -> set[str]:
    """List the words of a text without separators: each whole, each part, and neighbours written apart.

    `PED-00123`, `PED 00123` and `ped00123` say the same; O is read as zero, as people type it.
    """
    parts = _PART.findall(text.upper())
    whole = ("".join(_PART.findall(word)) for word in _WORD.findall(text.upper()) if not word.isalnum())
    joined = (left + right for left, right in pairwise(parts))
    return {_bare(word) for word in (*whole, *parts, *joined)} - {""}


def _plain(word: str) -> str:
    return _bare("".join(_PART.findall(word.upper())))


def _bare(word: str) -> str:
    return word.replace("O", "0").lstrip("0")


def _plain_column(values: Any) -> Any:
    """Do the same to a column; only plain ASCII may be left to Arrow, which writes fewer letters large than we do."""
    if not pc.all(pc.string_is_ascii(values)).as_py():
        return pa.array([None if text is None else _plain(text) for text in values.to_pylist()], type=pa.large_string())
    bare = pc.replace_substring_regex(pc.ascii_upper(values), "[^A-Z0-9]+", "")
    return pc.ascii_ltrim(pc.replace_substring(bare, "O", "0"), characters="0")


def _names(ledger: Ledger, payments: Any, words: set[str]) -> dict[str, set[int]]:
    """Index the documents these payments could equal by those of their names that are among the words.

    A document's names are its order reference, its folio alone and after its type or series, and its UUID.
    """
    could_equal = np.isin(ledger.open_now(), ledger.payments.amount[payments])
    could_equal[list(ledger.books.notes)] = True
    places = np.flatnonzero(ledger.books.is_claim & ~ledger.books.is_void & could_equal)
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
        said = _plain_column(column)
        found = np.flatnonzero(pc.is_in(said, value_set=wanted).to_numpy(zero_copy_only=False))
        for name, doc in zip(said.take(pa.array(found)).to_pylist(), places[found].tolist(), strict=True):
            names[name].add(doc)
    return {name: docs for name, docs in names.items() if len(docs) <= _MOST_BEARERS}


def _edges(ledger: Ledger) -> list[Edge]:
    """Pair payments still undecided with documents they name and whose open balance they equal."""
    texts = ledger.payments.frame["texts"]
    places = np.flatnonzero(ledger.is_left() & texts.notna().to_numpy())
    if not len(places):
        return []
    said = {
        payment: words_of(text)
        for payment, text in zip(places.tolist(), texts.to_numpy(dtype=object)[places], strict=True)
    }
    names = _names(ledger, places, set().union(*said.values()))
    edges = []
    for payment, words in said.items():
        named = {doc for word in words if word in names for doc in names[word]}
        edges += [(payment, doc) for doc in sorted(named) if _fits(ledger, payment, doc)]
    return edges


def _fits(ledger: Ledger, payment: int, doc: int) -> bool:
    if ledger.payments.currency[payment] != ledger.books.currency[doc] or (payment, doc) in ledger.forbidden:
        return False
    return ledger.is_equal(doc, payment) and not ledger.books.is_credited_before(doc, int(ledger.payments.day[payment]))


def _same_customer(ledger: Ledger, edge: Edge) -> bool:
    payer = ledger.payments.customer[edge[0]]
    return bool(payer != UNKNOWN and payer == ledger.books.customer[edge[1]])


def _only_candidates(ledger: Ledger, edges: list[Edge]) -> set[Edge]:
    """Keep references without the tax id only where no other open document anywhere has that amount."""
    balance = ledger.open_now()
    counts: dict[tuple[int, int], int] = defaultdict(int)
    wanted = {(int(ledger.payments.currency[p]), int(ledger.payments.amount[p])) for p, _ in edges}
    amounts = np.isin(balance, [amount for _, amount in wanted])
    for doc in np.flatnonzero(amounts & (balance > 0)).tolist():
        counts[(int(ledger.books.currency[doc]), int(balance[doc]))] += 1
    return {
        (payment, doc)
        for payment, doc in edges
        if counts[(int(ledger.payments.currency[payment]), int(ledger.payments.amount[payment]))] <= 1
    }


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
