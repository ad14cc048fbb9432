"""Identity keys: what a payment's metadata says, and which documents bear the name it gives."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame, Series

from reconcile.rules.columns import (
    ArrowTexts,
    Indices,
    Ints,
    Mask,
    Words,
    expand,
    to_capitals,
    to_codes,
    to_mask,
    to_texts,
)
from reconcile.rules.documents import Books
from reconcile.rules.inputs import rows_of
from reconcile.rules.names import are_split_alike, fold_column, normalize_column

# What metadata can say that identifies a sale, in the order in which equally strong names speak.
ORDER_REF = "order_ref"
NAMES = ("uuid", "invoice", "invoice_id", "doc_type", "folio", ORDER_REF, "order_id", "installments")
_NO_SALE = frozenset({"doc_type", "installments"})
_DECODER = msgspec.json.Decoder()
_NOTHING: Mapping[str, object] = {}
_QUOTES_OF_ONE = 4
# From here on a float may stand for another whole number than the one that was written.
_EXACT = 2.0**53
# What a payment may say, strongest first: the metadata names, and the namespace each value is looked up in.
UUID, DOC_KEY, TYPED_FOLIO, ORDER, FOLIO = "uuid", "doc_key", "doc_type+folio", "order", "folio"
# Named by a payment complement that bears the payment's operation.
OPERATION = "operation"
_RANKS = {
    "uuid": 0, "invoice": 1, "invoice_id": 1, TYPED_FOLIO: 2, OPERATION: 3, "order_ref": 4, "order_id": 5, FOLIO: 6,
}  # fmt: skip
_RULES = np.array(list(_RANKS), dtype=object)
_SPACES = {
    DOC_KEY: ("invoice", "invoice_id"),
    TYPED_FOLIO: (TYPED_FOLIO,),
    FOLIO: (FOLIO,),
    ORDER: ("invoice", "invoice_id", "order_ref", "order_id"),
    UUID: ("uuid", "invoice", "invoice_id"),
}
_MOST_BEARERS = 50  # a name that so many documents bear identifies none of them
_SPREADSHEET = r"(^|[|])[ ]*[0-9]+[.]0{1,2}[ ]*$"
_BAR = pa.scalar("|", type=pa.large_string())
Asked = tuple[Indices, ArrowTexts]
# Names, the documents that bear them, and where those of each name begin.
Borne = tuple[ArrowTexts, Indices, Indices]


@dataclass(frozen=True, slots=True)
class Said:
    """For each name the payments that give it and what they give, as Arrow texts; of so many payments.

    `by_pattern` are those whose order reference an accepted pattern found, with the number of its rule.
    """

    payments: int
    words: Mapping[str, Asked]
    by_pattern: Mapping[int, int] = field(default_factory=dict)

    def names_sale(self) -> Mask:
        """Return which payments give a name of a sale."""
        found = np.zeros(self.payments, dtype=bool)
        for name, (places, _) in self.words.items():
            if name not in _NO_SALE:
                found[places] = True
        return found

    def order_refs(self) -> ArrowTexts:
        """Return the order reference each payment states, to be shown."""
        stated = [self.words[name] for name in ("invoice", "order_id", "order_ref")]
        at = np.full(self.payments, -1, dtype=np.int64)
        at[np.concatenate([places for places, _ in stated])] = np.arange(sum(len(texts) for _, texts in stated))
        return pa.concat_arrays([texts for _, texts in stated]).take(pa.array(at, mask=at < 0))

    def in_parts(self) -> Mask:
        """Return which payments declare instalments."""
        found = np.zeros(self.payments, dtype=bool)
        places, texts = self.words["installments"]
        found[places] = [_is_several(text) for text in texts.to_pylist()]
        return found


def _is_several(text: str) -> bool:
    return text.isascii() and text.isdigit() and text.lstrip("0") not in {"", "1"}


def read_metadata(column: Series) -> Said:
    """Read what each payment says about itself; metadata that is no object is ignored."""
    texts = to_texts(column)
    plain, is_read = _read_plain(texts)
    words: dict[str, tuple[list[int], list[str]]] = {name: ([], []) for name in NAMES}
    rest = np.flatnonzero(~is_read)
    for place, text in zip(rest.tolist(), texts.take(pa.array(rest)).to_pylist(), strict=True):
        for name, value in decode_metadata(text).items():
            if name in words and (said := to_text(value)):
                words[name][0].append(place)
                words[name][1].append(said)
    return Said(len(texts), {name: _join(plain[name], words[name]) for name in NAMES})


def _read_plain(texts: ArrowTexts) -> tuple[dict[str, Asked], Mask]:
    """Read all metadata at once that is one plain word under one name, as most of it is, and return which that is."""
    is_one = pc.and_(pc.equal(pc.count_substring(texts, '"'), _QUOTES_OF_ONE), pc.ends_with(texts, '"}'))
    is_plain = pc.and_(pc.string_is_ascii(texts), pc.invert(pc.match_substring(texts, "\\")))
    may_be_read = pc.and_(is_one, is_plain)
    is_read = to_mask(texts.is_null()).copy()
    words = {}
    for name in NAMES:
        head = f'{{"{name}":"'
        places = pc.indices_nonzero(pc.and_(may_be_read, pc.starts_with(texts, head))).to_numpy()
        is_read[places] = True
        said = pc.utf8_trim_whitespace(pc.utf8_slice_codeunits(texts.take(pa.array(places)), len(head), -2))
        says = pc.not_equal(said, "")
        words[name] = places[to_mask(says)].astype(np.int64), said.filter(says)
    return words, is_read


def _join(some: Asked, others: tuple[list[int], list[str]]) -> Asked:
    texts = pa.array(others[1], type=pa.large_string())
    return np.concatenate([some[0], np.array(others[0], dtype=np.int64)]), pa.concat_arrays([some[1], texts])


def decode_metadata(text: object) -> Mapping[str, object]:
    """Read all that one payment says."""
    value = _DECODER.decode(text) if isinstance(text, str) else _NOTHING
    return value if isinstance(value, dict) else _NOTHING


def list_loose_words(text: object) -> list[str]:
    """Return the words and whole numbers of metadata, at any depth, under names that are no identity keys."""
    waiting = [value for name, value in decode_metadata(text).items() if name not in NAMES]
    found = []
    for value in waiting:
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif not isinstance(value, float) and (word := to_text(value)):
            found.append(word)
    return found


def to_text(value: object) -> str:
    """Write a value as a name: a number is its digits, and one with a fraction is no name."""
    if type(value) is str:
        return value.strip()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _EXACT else ""
    return "" if value is None or isinstance(value, bool | dict | list) else str(value).strip()


@dataclass(slots=True)
class Keys:
    """`certain` holds arrays of payments, documents and rules; `several` the payments whose keys name more than one."""

    payments: Indices
    docs: Indices
    rules: Words
    several: dict[int, list[tuple[str, tuple[int, ...]]]] = field(default_factory=dict)


def find_keys(said: Said, books: Books, operations: Ints | None = None) -> Keys:
    """Look up every name the payments give; many documents under one name are kept together.

    `operations` are the columns that `find_operations` returns.
    """
    named = np.empty((3, 0), dtype=np.int64) if operations is None else operations
    found = np.concatenate([named, *_find(_list_asked(said), books)], axis=1)
    payments, rules, docs = _drop_void_folios(found, books)
    # Almost every payment has one document under one name; only the others need to be compared with themselves.
    is_lone = np.bincount(payments, minlength=said.payments)[payments] == 1
    rest = DataFrame({"payment": payments[~is_lone], "rule": _RULES[rules[~is_lone]], "doc": docs[~is_lone]})
    agreeing, several = _compare(rest, books)
    columns = [np.concatenate([own, agreeing[name].to_numpy(dtype=np.int64)])
               for name, own in (("payment", payments[is_lone]), ("doc", docs[is_lone]))]  # fmt: skip
    names = np.concatenate([_RULES[rules[is_lone]], agreeing["rule"].to_numpy(dtype=object)])
    order = np.argsort(columns[0], kind="stable")
    return Keys(columns[0][order], columns[1][order], names[order], several)


def find_operations(frame: DataFrame, ids: Words, books: Books) -> Ints:
    """Return columns of payment, rule and document for what payment complements say; only claims are named."""
    payment, doc, _ = _locate_operations(frame, ids, books)
    return np.stack([payment, np.full(len(payment), list(_RANKS).index(OPERATION), dtype=np.int64), doc])


def find_parts(frame: DataFrame, ids: Words, books: Books) -> dict[tuple[int, int], int]:
    """Return what complements say each payment paid of each document, where that is certain."""
    places = zip(*(column.tolist() for column in _locate_operations(frame, ids, books)), strict=True)
    return {(payment, doc): part for payment, doc, part in places if part}


def _locate_operations(frame: DataFrame, ids: Words, books: Books) -> tuple[Indices, Indices, Ints]:
    payments = pc.index_in(to_texts(frame["resource_id"]), value_set=pa.array(ids, type=pa.large_string()))
    docs = pc.index_in(to_texts(frame["doc_key"]), value_set=pa.array(books.keys, type=pa.large_string()))
    payment, doc = (column.fill_null(-1).to_numpy().astype(np.int64) for column in (payments, docs))
    is_known = (payment >= 0) & (doc >= 0)
    is_known[is_known] = books.is_claim[doc[is_known]]
    return payment[is_known], doc[is_known], frame["part"].fillna(0).to_numpy(dtype=np.int64)[is_known]


def _drop_void_folios(found: Ints, books: Books) -> Ints:
    """Drop folios alone that only void documents bear; they are a key only where an open one has it."""
    payments, rules, docs = found
    is_alone = rules == list(_RANKS).index(FOLIO)
    is_void = is_alone & books.is_void[docs]
    if not is_void.any():
        return found
    return found[:, ~is_void | np.isin(payments, payments[is_alone & ~is_void])]


def _compare(found: DataFrame, books: Books) -> tuple[DataFrame, dict[int, list[tuple[str, tuple[int, ...]]]]]:
    """Divide what several names or documents are found for: those that agree after all, and the rest."""
    found = _keep_living(found.drop_duplicates(), books)
    found["rank"] = found["rule"].map(_RANKS)
    found = found.sort_values(["payment", "rank", "doc"], kind="stable")
    only = found.drop_duplicates(["payment", "doc"])
    is_certain = ~only["payment"].duplicated(keep=False)
    return only[is_certain], _group(found[found["payment"].isin(only["payment"][~is_certain])])


def _keep_living(found: DataFrame, books: Books) -> DataFrame:
    """Where valid and void documents bear one name of a sale, the valid ones are meant; a folio is no such name."""
    is_valid = ~books.is_void[found["doc"].to_numpy(dtype=np.int64)]
    if is_valid.all():
        return found.copy()
    has_valid = pd.Series(is_valid, index=found.index).groupby([found["payment"], found["rule"]]).transform("any")
    living: DataFrame = found[is_valid | ~has_valid | found["rule"].isin((TYPED_FOLIO, FOLIO))].copy()
    return living


def _group(rest: DataFrame) -> dict[int, list[tuple[str, tuple[int, ...]]]]:
    several: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
    bundled: dict[tuple[int, int, str], list[int]] = {}
    for row in rows_of(rest):
        bundled.setdefault((row.payment, row.rank, row.rule), []).append(row.doc)
    for (payment, _, rule), docs in sorted(bundled.items()):
        several.setdefault(payment, []).append((rule, tuple(docs)))
    return several


def _list_asked(said: Said) -> dict[str, Asked]:
    """Return what payments ask for under each rule, as documents' names are compared."""
    asked = {name: (places, to_capitals(texts)) for name, (places, texts) in said.words.items() if name in _RANKS}
    places, folios = _strip_zeros(*asked[FOLIO])
    kinds, types = said.words["doc_type"]
    at = pc.index_in(pa.array(places), value_set=pa.array(kinds))
    bare, has_kind = at.is_null(), at.is_valid()
    heads = to_capitals(types).take(at.drop_null())
    with_kind = pc.binary_join_element_wise(heads, folios.filter(has_kind), _BAR)
    asked[TYPED_FOLIO] = places[to_mask(has_kind)], with_kind
    asked[FOLIO] = places[to_mask(bare)], folios.filter(bare)
    return {name: pair for name, pair in asked.items() if len(pair[1])}


def _strip_zeros(places: Indices, folios: ArrowTexts) -> Asked:
    """Drop the zeros before each folio, and folios of zeros alone."""
    bare = pc.utf8_ltrim(folios, characters="0")
    says = pc.not_equal(bare, "")
    return places[to_mask(says)], bare.filter(says)


def _find(asked: dict[str, Asked], books: Books) -> Iterator[Ints]:
    """Return columns of payment, rule and document: of the exact writing, and where that names none, of another one."""
    left = {rule: np.ones(len(texts), dtype=bool) for rule, (_, texts) in asked.items()}
    for space, rules in _SPACES.items():
        wanted = [rule for rule in rules if rule in asked]
        if not wanted:
            continue
        borne = _list_names(books, space)
        for rule in wanted:
            places, texts = asked[rule]
            at = pc.index_in(texts, value_set=borne[0])
            is_known = to_mask(at.is_valid())
            left[rule] &= ~is_known
            yield _list_bearers(rule, places[is_known], at.drop_null().to_numpy(), borne)
    rest = {rule: _choose(asked[rule], mask) for rule, mask in left.items() if mask.any()}
    for space, rules in _SPACES.items():
        wanted = [rule for rule in rules if rule in rest]
        if wanted:
            yield from _find_written_otherwise(space, {rule: rest[rule] for rule in wanted}, _list_names(books, space))


def _choose(asked: Asked, mask: Mask) -> Asked:
    places, texts = asked
    return places[mask], texts.filter(pa.array(mask))


def _list_bearers(rule: str, places: Indices, codes: Ints, borne: Borne) -> Ints:
    """Return one column for each document that bears the name of a payment's code."""
    _, docs, first = borne
    codes = codes.astype(np.int64)
    sizes = first[codes + 1] - first[codes]
    payments = np.repeat(places, sizes)
    rank = np.full(len(payments), list(_RANKS).index(rule), dtype=np.int64)
    return np.stack([payments, rank, docs[expand(first[codes], sizes)]])


def _find_written_otherwise(space: str, asked: dict[str, Asked], borne: Borne) -> Iterator[Ints]:
    """Find names in other writing; one that two documents' names would become identifies neither."""
    names = borne[0]
    normals = _normalize(space, names)
    codes = to_codes(normals)
    is_only = (np.bincount(codes)[codes] == 1) & to_mask(pc.not_equal(normals, ""))
    only = np.flatnonzero(is_only)
    value_set = normals.take(pa.array(only))
    for rule, (places, texts) in asked.items():
        at = pc.index_in(_normalize(space, texts), value_set=value_set)
        is_known = to_mask(at.is_valid())
        found = only[at.drop_null().to_numpy()]
        is_meant = are_split_alike(texts.filter(pa.array(is_known)), names.take(pa.array(found)))
        yield _list_bearers(rule, places[is_known][is_meant], found[is_meant], borne)


def _normalize(space: str, names: ArrowTexts) -> ArrowTexts:
    """Return the normal form of names of one namespace; a folio has no zeros before it, nor has one after its type.

    A number that a spreadsheet wrote as `12.0` has none: it is 12 there, and 120 without its separator.
    """
    names = pc.if_else(pc.match_substring_regex(fold_column(names), _SPREADSHEET), "", names)
    if space == FOLIO:
        return pc.utf8_ltrim(normalize_column(names), characters="0")
    if space != TYPED_FOLIO:
        return normalize_column(names)
    parts = pc.extract_regex(names, "(?s)^(?P<kind>[^|]*)[|](?P<folio>.*)$")
    kind, folio = (
        normalize_column(parts.field("kind")),
        pc.utf8_ltrim(normalize_column(parts.field("folio")), characters="0"),
    )
    return pc.if_else(pc.equal(folio, ""), "", pc.binary_join_element_wise(kind, folio, _BAR))


def _list_names(books: Books, space: str) -> Borne:
    """Return the names documents bear in one namespace, with each name's documents as a stretch; only claims are named.

    Of name i the documents stand from `first[i]` up to `first[i + 1]`.
    """
    column = {UUID: "uuid", DOC_KEY: "doc_key", ORDER: "order_ref"}.get(space, "folio")
    values = to_capitals(pc.utf8_trim_whitespace(to_texts(books.column(column))))
    if column == "folio":
        values = pc.utf8_ltrim(values, characters="0")
    is_named = to_mask(pc.not_equal(values, "").fill_null(False))
    if space == TYPED_FOLIO:
        kinds = to_capitals(to_texts(books.column("doc_type")))
        values = pc.binary_join_element_wise(kinds, values, _BAR)
        is_named = is_named & to_mask(values.is_valid())
    docs = np.flatnonzero(is_named & books.is_claim)
    names = values.take(pa.array(docs)).dictionary_encode()
    codes = names.indices.to_numpy().astype(np.int64)
    bearers = np.bincount(codes, minlength=len(names.dictionary))
    is_few = bearers <= _MOST_BEARERS
    first = np.concatenate([[0], np.cumsum(np.where(is_few, bearers, 0))])
    kept = is_few[codes]
    order = np.argsort(codes[kept], kind="stable")
    return names.dictionary, docs[kept][order], first
