"""Text references: whole words of a payment's texts that name a document, believed only with an equal amount."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reconcile.rules.candidates import find_void_rivals, leave_to_void, pair_in_order
from reconcile.rules.columns import Indices, Ints, to_mask, to_texts
from reconcile.rules.keys import list_loose_words
from reconcile.rules.ledger import UNKNOWN, Ledger, Reason
from reconcile.rules.names import are_split_alike, fold, simplify, simplify_column, split_words
from reconcile.rules.outcomes import Code, Outcome, Stage

Edge = tuple[int, int]
MOST_NODES = 200
_NAMES = ("order_ref", "folio", "uuid")
_HEADS = ("doc_type", "series")
_LONGEST = 100  # a longer name is only looked for as it is written
_SHORTEST = 2
_MOST_BEARERS = 50  # a word that so many documents bear names none of them


def group_components(edges: list[Edge]) -> list[list[Edge]]:
    """Group edges whose ends hang together, in the order of their smallest edge."""
    above: dict[int, int] = {}
    for payment, doc in edges:
        # Documents are numbered downwards, so that no payment bears the same number.
        above[_find_top(above, ~doc)] = _find_top(above, payment)
    grouped: dict[int, list[Edge]] = {}
    for edge in sorted(edges):
        grouped.setdefault(_find_top(above, edge[0]), []).append(edge)
    return list(grouped.values())


def _find_top(above: dict[int, int], node: int) -> int:
    """Follow a node to the one its component is known by, and shorten the way for the next call."""
    while (over := above.setdefault(node, node)) != node:
        above[node] = node = above.setdefault(over, over)
    return node


def choose_pairs(edges: list[Edge]) -> list[Edge]:
    """Choose as many pairs as can be had at once."""
    left, right = sorted({edge[0] for edge in edges}), sorted({edge[1] for edge in edges})
    places = {node: place for place, node in enumerate(left)}, {node: place for place, node in enumerate(right)}
    gain = np.zeros((len(left), len(right)), dtype=np.int64)
    for payment, doc in edges:
        gain[places[0][payment], places[1][doc]] = 1
    # Slow to load and large: most runs have no component of more than one edge.
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415

    rows, columns = linear_sum_assignment(gain, maximize=True)
    return [(left[row], right[column]) for row, column in _list_chosen(gain, rows, columns)]


def keep_forced_pairs(edges: list[Edge]) -> list[Edge]:
    """Keep of the best pairs those that every equally good assignment contains: forbid each in turn and solve again."""
    if len(edges) == 1:
        return edges
    best = choose_pairs(edges)
    return [pair for pair in best if len(choose_pairs([edge for edge in edges if edge != pair])) < len(best)]


def _list_chosen(gain: Ints, rows: Indices, columns: Indices) -> list[Edge]:
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True) if gain[row, column]]


def read_texts(ledger: Ledger, payments: Sequence[int] | Indices) -> dict[int, list[str]]:
    """Return the texts of those payments that have any."""
    frame = ledger.payments.frame
    columns = (frame[name].take(payments).to_numpy(dtype=object) for name in ("texts", "metadata"))
    found: dict[int, list[str]] = {}
    for payment, text, metadata in zip([int(payment) for payment in payments], *columns, strict=True):
        texts = [text] if isinstance(text, str) else []
        if texts := texts + list_loose_words(metadata):
            found[payment] = texts
    return found


def list_words(texts: Iterable[str]) -> set[str]:
    return set().union(*map(split_words, texts))


def list_exact_names(ledger: Ledger, docs: Iterable[int]) -> dict[int, set[str]]:
    """Return documents' names as the books write them: the order, folio alone and after type or series, UUID."""
    places = sorted(set(docs))
    columns = {name: ledger.books.column(name, np.array(places, dtype=np.int64)) for name in (*_NAMES, *_HEADS)}
    values = {name: column.astype(object) for name, column in columns.items()}
    return {doc: _list_names({name: column[row] for name, column in values.items()}) for row, doc in enumerate(places)}


def _list_names(values: dict[str, object]) -> set[str]:
    said = {name: value.strip().upper() for name, value in values.items() if isinstance(value, str)}
    folio = said.get("folio", "").lstrip("0")
    heads = {said[name] + said["folio"] for name in _HEADS if name in said and folio}
    return ({said[name] for name in ("order_ref", "uuid") if name in said} | heads | {folio}) - {""}


def is_exact(texts: Iterable[str], names: Iterable[str]) -> bool:
    """Return whether a text has one of the names as it is written in the books, zeros before it aside."""
    text = "\n".join(map(str.upper, texts))
    return any(_is_whole(text, at, at + len(name)) for name in names for at in _find_places(text, name))


def _find_places(text: str, name: str) -> Iterator[int]:
    at = text.find(name)
    while at >= 0:
        yield at
        at = text.find(name, at + 1)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return whether what stands there is a word and no part of one."""
    while start and text[start - 1] == "0":
        start -= 1
    around = text[max(start - 1, 0) : start], text[end : end + 1]
    return not any(sign.isascii() and sign.isalnum() for sign in around)


def is_grouped_so(texts: Iterable[str], name: str, writing: str) -> bool:
    """Return whether a text that has a name in other writing groups its digits as the books do, or not at all."""
    if len(name) > _LONGEST:
        return False
    pattern = "[^A-Z0-9]*".join("[O0]" if sign == "0" else sign for sign in name)
    found = [match.group() for text in texts for match in re.finditer(pattern, fold(text))]
    own = pa.array([writing] * len(found), type=pa.large_string())
    return bool(are_split_alike(pa.array(found, type=pa.large_string()), own).any())


def match_references(ledger: Ledger) -> None:
    """Match payments whose texts name documents of their amount, where the tax id agrees or no other could be meant.

    A void document of the payer's with that amount is a rival even where the text says which one is meant.
    """
    edges = _list_edges(ledger)
    voids = find_void_rivals(ledger, np.unique([payment for payment, _ in edges]).astype(np.int64))
    strong = {edge for edge in edges if _is_same_customer(ledger, edge)}
    single = _keep_only_candidates(ledger, [edge for edge in edges if edge not in strong and edge[0] not in voids])
    for payment in sorted({payment for payment, _ in strong} & voids.keys()):
        leave_to_void(ledger, payment, "reference", [doc for place, doc in edges if place == payment], voids[payment])
    strong = {edge for edge in strong if edge[0] not in voids}
    for component in group_components(sorted(strong | single)):
        _decide(ledger, component, single)


def _index_names(ledger: Ledger, payments: list[int], words: set[str]) -> dict[str, set[int]]:
    """Index the documents these payments could equal by those of their names that are among the words."""
    could_equal = np.isin(ledger.open_now(), ledger.payments.amount[payments])
    could_equal[list(ledger.books.notes)] = True
    return _index_named(ledger, np.flatnonzero(ledger.books.is_claim & ~ledger.books.is_void & could_equal), words)


def find_named_documents(ledger: Ledger, payments: list[int], docs: Indices) -> dict[int, set[int]]:
    """Return which of some documents the texts of each payment name."""
    said = {at: list_words(texts) for at, texts in read_texts(ledger, payments).items()}
    names = _index_named(ledger, docs, set().union(*said.values()))
    return {at: {doc for word in words for doc in names.get(word, ())} for at, words in said.items()}


def _index_named(ledger: Ledger, places: Indices, words: set[str]) -> dict[str, set[int]]:
    """Index documents by those of their names that are among the words.

    A document's names are its order reference, its folio alone and after its type or series, and its UUID.
    """
    order, folio, uuid, kind, series = (
        to_texts(ledger.books.column(name, places)) for name in ("order_ref", "folio", "uuid", "doc_type", "series")
    )
    no_separator = pa.scalar("", type=pa.large_string())
    heads = (pc.binary_join_element_wise(head, folio, no_separator) for head in (kind, series))
    wanted = pa.array([word for word in words if len(word) >= _SHORTEST], type=pa.large_string())
    names: dict[str, set[int]] = defaultdict(set)
    for column in (order, folio, uuid, *heads):
        if column.null_count == len(column):
            continue
        said = simplify_column(column)
        found = np.flatnonzero(to_mask(pc.is_in(said, value_set=wanted)))
        for name, doc in zip(said.take(pa.array(found)).to_pylist(), places[found].tolist(), strict=True):
            names[name].add(doc)
    return {name: docs for name, docs in names.items() if len(docs) <= _MOST_BEARERS}


def _list_edges(ledger: Ledger) -> list[Edge]:
    """Pair payments still undecided with documents they name and whose open balance they equal."""
    texts = read_texts(ledger, np.flatnonzero(ledger.is_left()))
    if not texts:
        return []
    said = {payment: list_words(lines) for payment, lines in texts.items()}
    names = _index_names(ledger, list(said), set().union(*said.values()))
    edges = []
    for payment, words in said.items():
        named = {doc for word in words if word in names for doc in names[word]}
        edges += [(payment, doc) for doc in sorted(named)]
    return _drop_mistakable(ledger, _keep_fitting(ledger, edges), texts) if edges else []


def _drop_mistakable(ledger: Ledger, edges: list[Edge], texts: dict[int, list[str]]) -> list[Edge]:
    """Drop what is named in other writing, where another document's name would become the same."""
    own = list_exact_names(ledger, (doc for _, doc in edges))
    loose = [edge for edge in edges if not is_exact(texts[edge[0]], own[edge[1]])]
    if not loose:
        return edges
    common = {edge: {simplify(name) for name in own[edge[1]]} & list_words(texts[edge[0]]) for edge in loose}
    bearers = _index_named(ledger, np.flatnonzero(ledger.books.is_claim), set().union(*common.values()))
    called = list_exact_names(ledger, set().union(*bearers.values()))
    single = {
        name
        for name, docs in bearers.items()
        if set.intersection(*(_choose_becoming(name, called[doc]) for doc in docs))
    }
    mistakable = {
        (payment, doc)
        for payment, doc in loose
        if not any(
            is_grouped_so(texts[payment], name, writing)
            for name in common[payment, doc] & single
            for writing in _choose_becoming(name, own[doc])
        )
    }
    return [edge for edge in edges if edge not in mistakable]


def _choose_becoming(name: str, writings: set[str]) -> set[str]:
    """Return those writings that become this name."""
    return {writing for writing in writings if simplify(writing) == name}


def _keep_fitting(ledger: Ledger, edges: list[Edge]) -> list[Edge]:
    payments, docs = np.array(edges, dtype=np.int64).T
    books, days = ledger.books, ledger.payments.day
    fits = ledger.are_equal(docs, payments) & (ledger.payments.currency[payments] == books.currency[docs])
    return [
        (payment, doc)
        for (payment, doc), is_fit in zip(edges, fits.tolist(), strict=True)
        if is_fit and (payment, doc) not in ledger.forbidden and not books.is_credited_before(doc, int(days[payment]))
    ]


def _is_same_customer(ledger: Ledger, edge: Edge) -> bool:
    payer = ledger.payments.customer[edge[0]]
    return bool(payer != UNKNOWN and payer == ledger.books.customer[edge[1]])


def _keep_only_candidates(ledger: Ledger, edges: list[Edge]) -> set[Edge]:
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
    certain = keep_forced_pairs(component) if len(payments) + len(docs) <= MOST_NODES else []
    for payment, doc in certain:
        ledger.apply(payment, doc, int(ledger.payments.amount[payment]))
        rule = "reference:only_candidate" if (payment, doc) in single else "reference:tax_id"
        rivals = tuple(other for place, other in component if place == payment and other != doc)
        ledger.decide(payment, Outcome.MATCHED, Reason(Stage.REFERENCE, rule, rivals))
    taken = {edge[0] for edge in certain}, {edge[1] for edge in certain}
    rest = [edge for edge in component if edge[0] not in taken[0] and edge[1] not in taken[1]]
    if len({int(ledger.books.customer[doc]) for _, doc in rest}) == 1 and not any(edge in single for edge in rest):
        reason = Reason(Stage.REFERENCE, "reference:interchangeable")
        pair_in_order(ledger, _group_options(rest), reason)
        return
    for payment in sorted({edge[0] for edge in rest}):
        rivals = tuple(doc for place, doc in rest if place == payment)
        listed = [ledger.books.keys[doc] for doc in rivals]
        reason = Reason(Stage.NONE, "reference:several", rivals, {"named_documents": listed})
        ledger.decide(payment, Outcome.AMBIGUOUS, reason, Code.AMBIGUOUS)


def _group_options(edges: list[Edge]) -> dict[int, list[int]]:
    options: dict[int, list[int]] = defaultdict(list)
    for payment, doc in sorted(edges):
        options[payment].append(doc)
    return options
