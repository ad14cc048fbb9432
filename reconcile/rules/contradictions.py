"""What speaks against a match: words that can only mean another sale, and void documents of the same amount."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
from pandas import DataFrame

from reconcile.rules.columns import Indices, Ints, Mask
from reconcile.rules.keys import decode_metadata, list_loose_words, to_text
from reconcile.rules.ledger import Ledger, Reason
from reconcile.rules.names import find_left_out, is_mixed, normalize, simplify, split_words
from reconcile.rules.outcomes import Code, Outcome, Stage
from reconcile.rules.payments import UNKNOWN

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
_MOST_LISTED = 20


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
    listed = [str(ledger.books.keys[doc]) for doc in voids[:_MOST_LISTED]]
    rivals = tuple(sorted({*docs, *voids}))
    reason = Reason(Stage.NONE, f"{rule}:void_equal", rivals, {"void_documents": listed})
    ledger.decide(payment, Outcome.AMBIGUOUS, reason, Code.AMBIGUOUS)
