"""Which input rows a run may leave out: cells that were settled in closed days and that nothing open reaches; pure.

A run that read everything and one that read what may matter call the same functions, so both judge the same rows.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame, Series

from reconcile.rules.columns import ArrowTexts, Ints, Mask, to_mask, to_texts
from reconcile.rules.inputs import DOCUMENTS, MONEY, PAYMENT_TYPES, SAID, SETTLED, TEXT, Inputs, to_types
from reconcile.rules.keys import Said, list_loose_words, read_metadata
from reconcile.rules.names import normalize, simplify, simplify_column, split_words

ITEM, DOCUMENT, DISPUTE, PAYOUT, DEPOSIT = "item", "document", "dispute", "payout", "deposit"
KEY = ["kind", "key", "part"]
# Cells have numbers above these; what is carried has none, and settled payouts belong to no one cell.
CARRIED, OF_PAYOUT = 0, -1
# A name that so many cells bear identifies none of them.
MOST_BEARERS = 50
_ITEM = ["payout_id", "resource_type", "resource_id", "resource_subtype", "parent_id", "status", "currency", "amount",
         "occurred_at", *SAID, "split", "fee_total"]  # fmt: skip
_DEPOSIT = ["bank_date", "bank_movement_id", "bank_amount"]
_SHORTEST = 2
_QUOTES_OF_ONE = 4
_SIGN = "^[#Nnº°№]"


@dataclass(frozen=True, slots=True)
class Touched:
    """Cells and payouts that must be judged again."""

    cells: frozenset[int]
    payouts: frozenset[str]


@dataclass(frozen=True, slots=True)
class Apart:
    """The rows to be judged, and what was frozen and is gone."""

    inputs: Inputs
    gone: frozenset[tuple[str, str]]


def digest_rows(inputs: Inputs) -> DataFrame:
    """Return kind, key, part and digest of every row that may be frozen; a digest is of all that decides."""
    items = inputs.items.merge(inputs.fees.drop_duplicates(["payout_id", "resource_id"]), how="left", validate="m:1")
    parts = items["payout_id"].fillna("") + " " + items["resource_type"]
    frames = [
        _to_rows(ITEM, items["resource_id"], items[_ITEM], parts),
        _to_rows(DOCUMENT, inputs.documents["doc_key"], inputs.documents[list(DOCUMENTS)]),
        _to_rows(DISPUTE, inputs.disputes["dispute_id"], inputs.disputes),
        _to_rows(PAYOUT, inputs.payouts["payout_id"], inputs.payouts),
    ]
    return pd.concat(frames, ignore_index=True).astype(dict.fromkeys(KEY, TEXT))


def digest_deposits(payouts: DataFrame) -> DataFrame:
    """Return what the bank showed of the payouts of a result, as rows that may be frozen but for their last day."""
    return _to_rows(DEPOSIT, payouts["payout_id"], payouts[_DEPOSIT]).astype(dict.fromkeys(KEY, TEXT))


def _to_rows(kind: str, keys: Series, cells: DataFrame, parts: "Series[str] | str" = "") -> DataFrame:
    digest = pd.util.hash_pandas_object(cells, index=False).to_numpy().view(np.int64)
    return DataFrame({"kind": kind, "key": keys.astype(object), "part": parts, "digest": digest})


def payout_of(parts: Series) -> Series:
    """Return the payout of an item's part, empty where no payout lists it."""
    payouts = pc.replace_substring_regex(to_texts(parts), " [^ ]*$", "")
    return Series(payouts.to_numpy(zero_copy_only=False), index=parts.index, dtype=TEXT)


def find_touched(
    inputs: Inputs, frozen: DataFrame, named: Mapping[str, set[str]], reopened: Collection[str]
) -> Touched:
    """Find the settled cells and payouts that later facts, decisions or rows outside of them reach.

    `frozen` has every carried row and the settled rows that were read, `named` is what `list_named` returns, and
    `reopened` are payouts to be judged again.
    """
    settled = set(frozen["key"][frozen["cell"] == OF_PAYOUT])
    frozen = frozen[frozen["kind"] != DEPOSIT]
    is_near = (frozen["cell"] != CARRIED) | ((frozen["kind"] == ITEM) & payout_of(frozen["part"]).isin(settled))
    known = frozen[is_near]
    now = _digest_near(inputs, known, settled)
    # Missing numbers would make numbers of a float, which cannot tell one cell from another.
    known, now = known.astype({"cell": MONEY, "digest": MONEY}), now.astype({"digest": MONEY})
    both = known.merge(now, on=KEY, how="outer", suffixes=("", "_now"))
    both["cell"] = both["cell"].fillna(CARRIED)
    is_changed = (both["digest"] != both["digest_now"]).fillna(value=True).astype(bool)
    payouts = payout_of(both["part"]).where(both["kind"] == ITEM, both["key"].where(both["kind"] == PAYOUT, ""))
    touched = (set(payouts[is_changed]) | set(reopened)) & settled
    is_named = pd.concat([(both["kind"] == kind) & both["key"].isin(keys)
                          for kind, keys in named.items()], axis=1).any(axis=1)  # fmt: skip
    cells = set(both["cell"][is_changed | payouts.isin(touched) | is_named].tolist()) - {CARRIED, OF_PAYOUT}
    return Touched(frozenset(cells), frozenset(touched))


def _digest_near(inputs: Inputs, known: DataFrame, settled: set[str]) -> DataFrame:
    """Digest the rows that are known, those of settled payouts, and all payouts and disputes."""
    items, documents = inputs.items, inputs.documents
    is_near = _is_in(items["resource_id"], _keys(known, ITEM)) | items["payout_id"].isin(settled).to_numpy(dtype=bool)
    is_known = _is_in(documents["doc_key"], _keys(known, DOCUMENT))
    return digest_rows(replace(inputs, items=items[is_near], documents=documents[is_known]))


def list_named(inputs: Inputs, frozen: DataFrame) -> dict[str, set[str]]:
    """Return the resources and documents that a row outside of settled cells, a decision or a doubted event names."""
    settled = frozen[frozen["cell"] > CARRIED]
    outside = inputs.items[~_are_among(inputs.items, settled)]
    is_other = ~_is_in(inputs.disputes["dispute_id"], _keys(settled, DISPUTE))
    named = (outside["resource_id"][_is_in(outside["resource_id"], _keys(settled, ITEM))], outside["parent_id"],
             inputs.disputes["resource_id"][is_other], inputs.conflicts["resource_id"],
             inputs.decisions["resource_id"])  # fmt: skip
    return {ITEM: set[str]().union(*(column.dropna() for column in named)),
            DOCUMENT: {*inputs.decisions["doc_key"].dropna(), *inputs.changed_documents["doc_key"]}}  # fmt: skip


def set_apart(inputs: Inputs, frozen: DataFrame, touched: Touched) -> Apart:
    """Leave out the rows of all settled cells that nothing touched."""
    is_left = ~frozen["cell"].isin([CARRIED, OF_PAYOUT, *touched.cells])
    left, rest = frozen[is_left], frozen[~is_left & (frozen["kind"] != DEPOSIT)]
    deposits = frozen[(frozen["kind"] == DEPOSIT) & ~frozen["key"].isin(touched.payouts)]
    settled = to_types(DataFrame({"payout_id": deposits["key"], "last_day": deposits["part"]}), SETTLED)
    items = inputs.items[~_are_among(inputs.items, left)]
    unknown = inputs.unknown_customers
    kept = replace(
        inputs,
        items=items.reset_index(drop=True),
        documents=_keep(inputs.documents, "doc_key", left, DOCUMENT),
        disputes=_keep(inputs.disputes, "dispute_id", left, DISPUTE),
        fees=_keep_fees(inputs.fees, items, settled["payout_id"]),
        settled=settled.sort_values("payout_id", ignore_index=True),
        unknown_customers=unknown[_is_in(unknown["resource_id"], items["resource_id"])].reset_index(drop=True),
    )
    return Apart(kept, frozenset(_find_gone(kept, rest)))


def _keep_fees(fees: DataFrame, items: DataFrame, payouts: Series) -> DataFrame:
    """Keep the fees of listed items, and all fees of payouts that are judged as a whole."""
    is_settled = _is_in(fees["payout_id"], payouts)
    some = fees[is_settled]
    listed = items["payout_id"] + " " + items["resource_id"]
    is_settled[is_settled] = ~_is_in(some["payout_id"] + " " + some["resource_id"], listed)
    return fees[~is_settled].reset_index(drop=True)


def _keys(rows: DataFrame, kind: str) -> Series:
    return rows["key"][rows["kind"] == kind]


def _name_items(items: DataFrame) -> Series:
    return items["resource_id"] + " " + items["payout_id"].fillna("") + " " + items["resource_type"]


def _are_among(items: DataFrame, rows: DataFrame) -> Mask:
    """Return which items are among some frozen rows."""
    own = rows[rows["kind"] == ITEM]
    found = _is_in(items["resource_id"], own["key"])
    found[found] = _is_in(_name_items(items[found]), own["key"] + " " + own["part"])
    return found


def _keep(frame: DataFrame, name: str, left: DataFrame, kind: str) -> DataFrame:
    return frame[~_is_in(frame[name], _keys(left, kind))].reset_index(drop=True)


def _is_in(values: Series, among: Series) -> Mask:
    """Return which texts are among others; pandas would make an object of each."""
    found = pc.is_in(to_texts(values), value_set=to_texts(among), skip_nulls=True)
    return to_mask(found).copy()


def _find_gone(inputs: Inputs, frozen: DataFrame) -> set[tuple[str, str]]:
    """Return the subjects of closed figures whose frozen rows are no longer there."""
    own = frozen[frozen["kind"] == ITEM]
    listed = inputs.items[_is_in(inputs.items["resource_id"], own["key"])]
    lost = own[~_is_in(own["key"] + " " + own["part"], _name_items(listed))]
    gone = {(ITEM, f"{part.rpartition(' ')[2]} {key}") for part, key in zip(lost["part"], lost["key"], strict=True)}
    here = {DOCUMENT: inputs.documents["doc_key"], DISPUTE: inputs.disputes["dispute_id"],
            PAYOUT: inputs.payouts["payout_id"]}  # fmt: skip
    for kind, names in here.items():
        keys = _keys(frozen, kind)
        gone |= {(kind, key) for key in keys[~_is_in(keys, names)]}
    return gone


def list_names(documents: DataFrame) -> DataFrame:
    """Return the words of documents' names with the place of their document; each word once a document."""
    folio = documents["folio"]
    columns = [documents["order_ref"], documents["uuid"], documents["doc_key"], folio]
    columns += [documents["doc_type"] + folio, documents["series"].fillna("") + folio]
    named = [DataFrame({"word": words, "place": places}) for words, places in map(_to_words, columns)]
    return pd.concat(named, ignore_index=True).drop_duplicates()


def list_words(inputs: Inputs) -> frozenset[int]:
    """Return what rows say: keys of payments, the texts of those whose keys name no document here, references.

    The order of a document is said too: where a settled one bears it, both are meant by whoever names it.
    """
    is_sale = inputs.items["resource_type"].isin(PAYMENT_TYPES)
    sales = inputs.items[is_sale].drop_duplicates(["resource_type", "resource_id"])
    said = read_metadata(sales["metadata"])
    asked = [(words, places[at]) for places, texts in said.words.values() for words, at in [_to_words(texts)]]
    words, places = (np.concatenate(column) for column in zip(*asked, strict=True))
    rest = _choose_talking(sales, said)
    if rest.any():
        decided = places[np.isin(words, list_names(inputs.documents)["word"].to_numpy())]
        rest[decided] = False
    references = inputs.documents["ref_number"].dropna()
    parts, orders = references.str.split().explode().astype(TEXT), inputs.documents["order_ref"]
    named, _ = _to_words(pd.concat([references, parts, orders], ignore_index=True))
    return frozenset([*words.tolist(), *named.tolist(), *_read_texts(sales[rest])])


def _choose_talking(sales: DataFrame, said: Said) -> Mask:
    """Return which payments have a text, or metadata that is more than one plain name of a sale."""
    metadata = to_texts(sales["metadata"])
    is_plain = to_mask(pc.fill_null(pc.equal(pc.count_substring(metadata, '"'), _QUOTES_OF_ONE), fill_value=False))
    is_silent = to_mask(metadata.is_null()) | (is_plain & said.names_sale())
    return ~is_silent | sales["texts"].notna().to_numpy(dtype=bool)


def _read_texts(sales: DataFrame) -> list[int]:
    words: set[str] = set()
    for text, metadata in zip(sales["texts"], sales["metadata"], strict=True):
        said = [text] if isinstance(text, str) else []
        words.update(*map(split_words, [*said, *(list_loose_words(metadata) if isinstance(metadata, str) else ())]))
    wanted = [word for word in sorted(words) if len(word) >= _SHORTEST]
    return [int(word) for word in _hash(np.array(wanted, dtype=object))]


def _to_words(names: Series | ArrowTexts) -> tuple[Ints, Ints]:
    """Return the plainest writing of each name, also without a number sign before it, and whose name it is."""
    every = to_texts(names)
    places, texts = np.flatnonzero(to_mask(every.is_valid())), every.drop_null()
    signed = pc.indices_nonzero(pc.match_substring_regex(pc.utf8_ltrim_whitespace(texts), _SIGN))
    bare = [simplify(normalize(text)) for text in texts.take(signed).to_pylist()]
    plain = pa.concat_arrays([simplify_column(texts), pa.array(bare, type=texts.type)])
    at = np.concatenate([places, places[signed.to_numpy()]])
    is_said = pc.not_equal(plain, "")
    return _hash(plain.filter(is_said).to_numpy(zero_copy_only=False)), at[to_mask(is_said)]


def _hash(words: np.ndarray) -> Ints:
    return pd.util.hash_array(words.astype(object), categorize=False).view(np.int64)
