"""Payments without a key: documents of that customer and amount inside the window, and suggestions without one.

What speaks against a match stands here too: words that can only mean another sale, and void documents of one amount.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from typing import Literal

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

from reconcile.rules.columns import Indices, Ints, Mask
from reconcile.rules.keys import decode_metadata, list_loose_words, to_text
from reconcile.rules.ledger import MOST_LISTED, UNKNOWN, Ledger, Reason
from reconcile.rules.names import find_left_out, is_mixed, normalize, simplify, split_words
from reconcile.rules.outcomes import Code, Outcome, Stage

Options = dict[int, list[int]]
_LARGE_BLOCK = 10_000
_DAYS = 1 << 24
_MOST_RIVALS = 50


def match_customers(ledger: Ledger) -> None:
    """Match tax id, amount and window: unique both ways, or interchangeable where all is equal."""
    left, right = _number_blocks(ledger, ["currency", "amount", "customer"], ledger.payments.customer != UNKNOWN)
    if left.empty:
        return
    is_large = _count_pairs(left, right) > _LARGE_BLOCK
    large = set(is_large.index[is_large])
    edges = _list_edges(ledger, left[~left["block"].isin(large)], right[~right["block"].isin(large)])
    edges = edges[~are_contradicted(ledger, edges["payment"].to_numpy(), edges["doc"].to_numpy())]
    is_lone = _are_lone(edges)
    voids = find_void_rivals(ledger, left["payment"].to_numpy())
    contested = edges[edges["payment"].isin(list(voids))]
    named: Options = defaultdict(list)
    for payment, doc in zip(contested["payment"].tolist(), contested["doc"].tolist(), strict=True):
        named[payment].append(doc)
    for payment, docs in named.items():
        leave_to_void(ledger, payment, "customer", docs, voids[payment])
    is_free = ~edges["payment"].isin(list(voids))
    edges, is_lone = edges[is_free], is_lone[is_free]
    reason = Reason(Stage.CUSTOMER, "customer:tax_id+amount+window")
    ledger.match_exactly(edges["payment"][is_lone].to_numpy(), edges["doc"][is_lone].to_numpy(), reason)
    equals = Reason(Stage.CUSTOMER, "customer:interchangeable")
    for options in _group_options(edges[~is_lone]):
        pair_in_order(ledger, options, equals)
    for block in sorted(large):
        payments, docs = left[left["block"] == block], right[right["block"] == block]
        for payment in payments["payment"][payments["payment"].isin(list(voids))].tolist():
            leave_to_void(ledger, payment, "customer", docs["doc"].head(_MOST_RIVALS).tolist(), voids[payment])
        payments = payments[~payments["payment"].isin(list(voids))]
        names_other = are_of_such_sales(ledger, payments["payment"].to_numpy(), docs["doc"].to_numpy())
        _pair_by_deadline(ledger, payments[~names_other], docs, equals)


def suggest_documents(ledger: Ledger) -> None:
    """Suggest a document to a payment without tax id, where amount and window, or its own day, leave one each."""
    left, right = _number_blocks(ledger, ["currency", "amount"], ledger.payments.customer == UNKNOWN)
    if left.empty:
        return
    left["candidates"] = _count_before(
        right["block"] * _DAYS + right["since"], left["block"] * _DAYS + left["day"], "right"
    )
    left["candidates"] -= _count_before(
        right["block"] * _DAYS + right["until"], left["block"] * _DAYS + left["day"], "left"
    )
    points = left["block"] * _DAYS + left["day"]
    right["claims"] = _count_before(points, right["block"] * _DAYS + right["until"], "right")
    right["claims"] -= _count_before(points, right["block"] * _DAYS + right["since"], "left")
    edges = _list_edges(ledger, left[left["candidates"] == 1], right[right["claims"] == 1])
    _suggest(ledger, edges.assign(candidates=1), "suggestion:amount+window")
    rest = left[(left["candidates"] > 1) & ~left["payment"].isin(edges["payment"])]
    edges = _pair_own_day(ledger, rest, right[~right["doc"].isin(edges["doc"])], left)
    _suggest(ledger, edges, "suggestion:amount+day")
    rest = left[(left["candidates"] > 0) & ledger.left[left["payment"]]]
    # Payments with as many candidates share their reason.
    reasons = {count: Reason(Stage.NONE, "none:amount_only", (), {"candidates": count})
               for count in rest["candidates"].unique().tolist()}  # fmt: skip
    for payment, count in zip(rest["payment"].tolist(), rest["candidates"].tolist(), strict=True):
        ledger.decide(payment, Outcome.NO_DOCUMENT, reasons[count], Code.PAYMENT_NO_INVOICE)


def _suggest(ledger: Ledger, edges: DataFrame, rule: str) -> None:
    columns = (edges[name].tolist() for name in ("payment", "doc", "candidates"))
    for payment, doc, count in zip(*columns, strict=True):
        evidence = {"suggestion": ledger.books.keys[doc], "candidates": count}
        reason = Reason(Stage.SUGGESTION, rule, (doc,), evidence)
        ledger.decide(payment, Outcome.SUGGESTED, reason, Code.PAYMENT_NO_INVOICE)


def _pair_own_day(ledger: Ledger, left: DataFrame, right: DataFrame, every: DataFrame) -> DataFrame:
    """Pair payments that have several candidates with the one of their own day, where they are alone there too."""
    same = ["block", "day"]
    alone = ~every.duplicated(same, keep=False)
    left = left[left["payment"].isin(every["payment"][alone])]
    issued = right.assign(day=ledger.books.issue[right["doc"]])
    issued = issued[~issued.duplicated(same, keep=False)]
    edges = _list_edges(ledger, left, issued.drop(columns="day"))
    edges = edges[ledger.books.issue[edges["doc"]] == edges["day"]]
    return DataFrame(edges.merge(left[["payment", "candidates"]], on="payment"))


def pair_in_order(ledger: Ledger, options: Options, reason: Reason) -> None:
    """Pair equals with equals: payments oldest first, each with the document that is due first.

    Taking the earliest due at each step also pairs as many as possible, since windows are stretches of days.
    """
    taken: set[int] = set()
    books = ledger.books
    group = sorted({doc for docs in options.values() for doc in docs})
    for payment in sorted(options):
        free = [doc for doc in options[payment] if doc not in taken and ledger.is_equal(doc, payment)]
        if free:
            doc = min(free, key=lambda place: (_is_dead_later(ledger, payment, place), int(books.until[place]), place))
            taken.add(doc)
            _pair(ledger, (payment, doc), reason, tuple(other for other in group if other != doc))


def _is_dead_later(ledger: Ledger, payment: int, doc: int) -> bool:
    """Return whether a document was called off after this payment, and the payment was not given back."""
    return ledger.books.is_called_off(doc) and payment not in ledger.payments.reversals


def _pair_by_deadline(ledger: Ledger, left: DataFrame, right: DataFrame, reason: Reason) -> None:
    """Pair a large block as `pair_in_order` does, without listing every pair that could be."""
    coming = sorted(zip(right["since"].tolist(), right["until"].tolist(), right["doc"].tolist(), strict=True))
    waiting: list[tuple[int, int]] = []
    place = 0
    for payment, day in sorted(zip(left["payment"].tolist(), left["day"].tolist(), strict=True)):
        while place < len(coming) and coming[place][0] <= day:
            heappush(waiting, coming[place][1:])
            place += 1
        refused = []
        while waiting:
            until, doc = heappop(waiting)
            if until < day:
                continue
            if (payment, doc) not in ledger.forbidden and ledger.is_equal(doc, payment):
                _pair(ledger, (payment, doc), reason, ())
                break
            refused.append((until, doc))
        for entry in refused:
            heappush(waiting, entry)


def _pair(ledger: Ledger, edge: tuple[int, int], reason: Reason, rivals: tuple[int, ...]) -> None:
    payment, doc = edge
    ledger.apply(payment, doc, int(ledger.payments.amount[payment]))
    ledger.decide(payment, Outcome.INTERCHANGEABLE, Reason(reason.stage, reason.rule, rivals))


def _number_blocks(ledger: Ledger, names: list[str], is_meant: Mask) -> tuple[DataFrame, DataFrame]:
    """Number the blocks that hold payments as well as documents, and give both sides of them."""
    payments = np.flatnonzero(ledger.left & is_meant)
    if not len(payments) or not len(ledger.books):
        return DataFrame(), DataFrame()
    columns = {name: getattr(ledger.payments, name)[payments] for name in ("currency", "amount", "customer", "day")}
    left, right = DataFrame({"payment": payments} | columns), _list_asks(ledger)
    if "customer" in names:
        right = right[right["customer"] != UNKNOWN].copy()
    both = pd.concat([left[names], right[names]], ignore_index=True)
    block = both.groupby(names, sort=True).ngroup().to_numpy()
    left["block"], right["block"] = block[: len(left)], block[len(left) :]
    return left[left["block"].isin(right["block"])].copy(), right[right["block"].isin(left["block"])].copy()


def _count_pairs(left: DataFrame, right: DataFrame) -> Series:
    return left["block"].value_counts(sort=False) * right["block"].value_counts(sort=False)


def _count_before(values: Series, points: Series, side: Literal["left", "right"]) -> Indices:
    return np.searchsorted(np.sort(values.to_numpy()), points.to_numpy(), side=side)


def _list_edges(ledger: Ledger, left: DataFrame, right: DataFrame) -> DataFrame:
    """Pair payments and documents of one block whose dates fit."""
    edges = left[["payment", "block", "day"]].merge(right[["doc", "block", "since", "until"]], on="block")
    edges = edges[(edges["since"] <= edges["day"]) & (edges["day"] <= edges["until"])]
    edges = edges[_are_possible(ledger, edges)].drop_duplicates(["payment", "doc"])
    return edges.sort_values(["payment", "doc"], ignore_index=True)


def _are_possible(ledger: Ledger, edges: DataFrame) -> Mask:
    """Leave out what people forbade, and documents that asked for another amount when the payment came."""
    keep = np.ones(len(edges), dtype=bool)
    pairs = list(zip(edges["payment"].tolist(), edges["doc"].tolist(), strict=True))
    for place in np.flatnonzero(edges["doc"].isin([*ledger.books.notes, *ledger.went_back])):
        payment, doc = pairs[place]
        is_dead = ledger.books.is_credited_before(doc, int(ledger.payments.day[payment]))
        keep[place] = not is_dead and ledger.is_equal(doc, payment)
    if ledger.forbidden:
        keep &= np.array([pair not in ledger.forbidden for pair in pairs], dtype=bool)
    return keep


def _list_asks(ledger: Ledger) -> DataFrame:
    """Return what documents ask for: their open balance, and where notes changed it each earlier one."""
    books, balance = ledger.books, ledger.open_now()
    docs = np.flatnonzero(balance > 0)
    asks = [(docs, balance[docs])]
    for doc in sorted(books.notes):
        if books.is_claim[doc] and not books.is_void[doc]:
            steps = np.cumsum([0, *(note.amount for note in books.notes[doc])])
            earlier = np.unique(books.total[doc] - ledger.net_paid(doc) - steps)
            earlier = earlier[earlier > 0]
            asks.append((np.full(len(earlier), doc), earlier))
    places, amounts = np.concatenate([ask[0] for ask in asks]), np.concatenate([ask[1] for ask in asks])
    columns = {name: getattr(books, name)[places] for name in ("currency", "customer", "since", "until")}
    return DataFrame({"doc": places, "amount": amounts} | columns).drop_duplicates(["doc", "amount"])


def _are_lone(edges: DataFrame) -> Series:
    """Return which edges are unique both ways."""
    return ~edges["payment"].duplicated(keep=False) & ~edges["doc"].duplicated(keep=False)


def _group_options(edges: DataFrame) -> list[Options]:
    """Group edges by block: all payments and documents in one are equal."""
    blocks: dict[int, Options] = {}
    for block, payment, doc in zip(*(edges[name].tolist() for name in ("block", "payment", "doc")), strict=True):
        blocks.setdefault(block, defaultdict(list))[payment].append(doc)
    return [blocks[key] for key in sorted(blocks)]


# What each key is compared with; a folio is compared where its type is the document's, or neither says one.
_PEERS: Mapping[str, tuple[str, ...]] = {
    "order_ref": ("order_ref",),
    "order_id": ("order_ref",),
    "uuid": ("uuid",),
    "invoice": ("order_ref", "uuid", "doc_key"),
    "invoice_id": ("order_ref", "uuid", "doc_key"),
}
_FOLIO, _TYPE = "folio", "doc_type"
_NAMES = ("order_ref", "uuid", "doc_key", _TYPE, _FOLIO)
_UUID = re.compile(r"[0-9A-F]{32}")
_NUMBER = re.compile(r"\d+")
_SHORTEST = 3

Words = Mapping[str, str]
# What a name is: a document's, of which type where it is a folio and that is said, and the make of the word.
Make = tuple[str, str | None, str]
_SAME = ["customer", "currency", "amount"]


def are_of_such_sales(ledger: Ledger, payments: Indices, docs: Indices) -> Mask:
    """Return which payments name a sale by a key of the make some of these documents' names are of."""
    known = {make for names in _read_names(ledger, docs) for make in _list_makes_borne(names)}
    said = _read_keys(ledger, payments)
    return np.array([any(make in known for make in _list_makes_said(words)) for words in said], dtype=bool)


def are_contradicted(ledger: Ledger, payments: Indices, docs: Indices) -> Mask:
    """Return for each pair of a payment and a document whether the payment's words can only mean another sale.

    For payments whose keys found no document: what they name may be missing from the books. Where a person declined
    what the key names, the key is no evidence any more.
    """
    found = _do_keys_contradict(ledger, payments, docs) | _do_texts_contradict(ledger, payments, docs)
    if not ledger.forbidden or not found.any():
        return found
    declined = np.array(sorted(ledger.forbidden), dtype=np.int64)
    is_named = ~_do_keys_contradict(ledger, declined[:, 0], declined[:, 1])
    return found & ~np.isin(payments, declined[is_named, 0])


def _do_keys_contradict(ledger: Ledger, payments: Indices, docs: Indices) -> Mask:
    """Read each payment and each document once, however many pairs they are in."""
    payers, payment_at = np.unique(payments, return_inverse=True)
    said = _read_keys(ledger, payers)
    makes = [frozenset(_list_makes_said(words)) for words in said]
    found = np.array([bool(words) for words in said], dtype=bool)[payment_at]
    places = np.flatnonzero(found)
    named, doc_at = np.unique(docs[places], return_inverse=True)
    called = [(names, frozenset(_list_makes_borne(names))) for names in _read_names(ledger, named)]
    for place, payment, doc in zip(places.tolist(), payment_at[places].tolist(), doc_at.tolist(), strict=True):
        names, borne = called[doc]
        is_of_the_make = not borne.isdisjoint(makes[payment])
        found[place] = is_of_the_make and not any(is_slip(*pair) for pair in _list_pairs(said[payment], names))
    return found


def _do_texts_contradict(ledger: Ledger, payments: Indices, docs: Indices) -> Mask:
    """Find the pairs whose payment's text names what the books' numbering leaves out, and no slip for this document.

    In metadata any bare number may stand, of a cart or a shop; there only a name with letters speaks against.
    """
    found = np.zeros(len(payments), dtype=bool)
    frame, asking = ledger.payments.frame, np.unique(payments)
    columns = (frame[name].take(asking).to_numpy(dtype=object) for name in ("texts", "metadata"))
    said = {
        payment: words
        for payment, *texts in zip(asking.tolist(), *columns, strict=True)
        if (words := _list_names(*texts))
    }
    missing = find_left_out(ledger.books, set().union(*said.values())) if said else set()
    speaking = {payment for payment, words in said.items() if not missing.isdisjoint(words)}
    places = np.flatnonzero(np.isin(payments, list(speaking)))
    for place, names in zip(places.tolist(), _read_names(ledger, docs[places]), strict=True):
        words = said[int(payments[place])] & missing
        found[place] = not any(is_slip(word, name) for word in words for name in names.values())
    return found


def _list_names(text: object, metadata: object) -> set[str]:
    words = split_words(text) if isinstance(text, str) else set()
    return words | {word for loose in list_loose_words(metadata) for word in split_words(loose) if is_mixed(word)}


def is_slip(word: str, name: str) -> bool:
    """Return whether who meant the name could have written the word: cut short, turned round, or one sign wrong.

    Where only the last sign differs a neighbour is meant: numbers are given in turn, and siblings' stand side by side.
    """
    left, right = simplify(word), simplify(name)
    short, long = sorted((left, right), key=len)
    if sorted(left) == sorted(right) or (len(short) >= _SHORTEST and (long.startswith(short) or long.endswith(short))):
        return True
    if len(long) - len(short) > 1 or left[:-1] == right[:-1]:
        return False
    first = next((place for place, sign in enumerate(short) if sign != long[place]), len(short))
    return short[first + (len(short) == len(long)) :] == long[first + 1 :]


def _read_keys(ledger: Ledger, payments: Indices) -> list[Words]:
    texts = ledger.payments.frame["metadata"].take(payments).to_numpy(dtype=object)
    return [_to_keys(decode_metadata(text)) if isinstance(text, str) else {} for text in texts]


def _read_names(ledger: Ledger, docs: Indices) -> Iterator[Words]:
    """Return what each document is called."""
    columns = {name: ledger.books.column(name, docs) for name in _NAMES}
    for row in range(len(docs)):
        values = ((name, column[row]) for name, column in columns.items())
        yield {name: normalize(value) for name, value in values if isinstance(value, str)}


def _to_keys(said: Mapping[str, object]) -> Words:
    words = {name: normalize(to_text(said[name])) for name in (*_PEERS, _TYPE, _FOLIO) if name in said}
    return {name: word for name, word in words.items() if word} if words.keys() - {_TYPE} else {}


def _list_pairs(words: Words, names: Words) -> Iterator[tuple[str, str]]:
    for key, peers in _PEERS.items():
        if key in words:
            yield from ((words[key], names[peer]) for peer in peers if peer in names)
    if _FOLIO in words and _FOLIO in names and words.get(_TYPE) in (None, names.get(_TYPE)):
        yield words[_FOLIO], names[_FOLIO]


def _list_makes_said(words: Words) -> Iterator[Make]:
    for key, peers in _PEERS.items():
        if key in words:
            yield from ((peer, None, _to_make(words[key])) for peer in peers)
    if _FOLIO in words:
        yield _FOLIO, words.get(_TYPE), _to_make(words[_FOLIO])


def _list_makes_borne(names: Words) -> Iterator[Make]:
    yield from ((name, None, _to_make(names[name])) for name in (*_PEERS["invoice"], _FOLIO) if name in names)
    if _FOLIO in names:
        yield _FOLIO, names.get(_TYPE), _to_make(names[_FOLIO])


def _to_make(word: str) -> str:
    """Return what normal words of one make have in common; bare numbers must be of one length."""
    if _UUID.search(word):
        return "UUID"
    return f"{len(word)} digits" if word.isdigit() else _NUMBER.sub("9", word)


def find_void_rivals(
    ledger: Ledger, payments: Indices, *, amounts: Ints | None = None, at_any_day: bool = False
) -> dict[int, list[int]]:
    """Return the void documents each payment may be for: of its payer, amount and dates, and not issued again.

    Asked with other amounts, each payment stands for one it is a part of.
    """
    books, paid = ledger.books, ledger.payments
    amounts = paid.amount[payments] if amounts is None else amounts
    may_be = books.is_void & books.is_claim & (books.customer != UNKNOWN) & np.isin(books.total, amounts)
    docs = np.array([doc for doc in np.flatnonzero(may_be).tolist() if not _is_replaced(ledger, doc)], dtype=np.int64)
    if not len(docs) or not len(payments):
        return {}
    left = {"payment": payments, "customer": paid.customer[payments], "currency": paid.currency[payments]}
    right = {"doc": docs, "customer": books.customer[docs], "currency": books.currency[docs]}
    pairs = DataFrame(left | {"amount": amounts}).merge(DataFrame(right | {"amount": books.total[docs]}), on=_SAME)
    asking, voids = pairs["payment"].to_numpy(), pairs["doc"].to_numpy()
    days = paid.day[asking]
    fits = at_any_day | ((books.since[voids] <= days) & (days <= books.until[voids]))
    fits &= ~are_contradicted(ledger, asking, voids)
    found: dict[int, list[int]] = defaultdict(list)
    for payment, doc in sorted(set(zip(asking[fits].tolist(), voids[fits].tolist(), strict=True)) - ledger.forbidden):
        found[payment].append(doc)
    return dict(found)


def _is_replaced(ledger: Ledger, doc: int) -> bool:
    return any(not ledger.books.is_void[other] for other in ledger.books.reissues.get(doc, ()))


def leave_to_void(ledger: Ledger, payment: int, rule: str, docs: list[int], voids: list[int]) -> None:
    """Call a payment ambiguous between what it could be matched to and the void documents it may be for."""
    listed = [str(ledger.books.keys[doc]) for doc in voids[:MOST_LISTED]]
    rivals = tuple(sorted({*docs, *voids}))
    reason = Reason(Stage.NONE, f"{rule}:void_equal", rivals, {"void_documents": listed})
    ledger.decide(payment, Outcome.AMBIGUOUS, reason, Code.AMBIGUOUS)
