"""Which input rows a run may leave out: cells that were settled in closed days and that nothing open reaches; pure.

A run that read everything and one that read what may matter call the same functions, so both judge the same rows.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

from reconcile.rules.columns import Ints, Mask, to_texts
from reconcile.rules.inputs import DOCUMENTS, PAYMENT_TYPES, SAID, TEXT, Inputs
from reconcile.rules.keys import list_loose_words, read_metadata
from reconcile.rules.names import normalize, simplify, simplify_column, split_words

ITEM, DOCUMENT, DISPUTE, PAYOUT, DEPOSIT = "item", "document", "dispute", "payout", "deposit"
KEY = ["kind", "key", "part"]
# Cells by number from 1; what is carried has none, and settled payouts belong to no one cell.
CARRIED, OF_PAYOUT = 0, -1
# A name that so many cells bear identifies none of them.
MOST_BEARERS = 50
_ITEM = ["payout_id", "resource_type", "resource_id", "resource_subtype", "parent_id", "status", "currency", "amount",
         "occurred_at", *SAID, "split", "fee_total"]  # fmt: skip
_DEPOSIT = ["bank_date", "bank_movement_id", "bank_amount"]
_SHORTEST = 2


@dataclass(frozen=True, slots=True)
class Touched:
    """Cells and payouts that must be judged again, and the names that what is judged says."""

    cells: frozenset[int]
    payouts: frozenset[str]
    words: frozenset[int]


@dataclass(frozen=True, slots=True)
class Apart:
    """The rows to be judged, the settled payouts whose rows stay as they are, and what was frozen and is gone."""

    inputs: Inputs
    payouts: frozenset[str]
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
    """Return what the bank showed of the payouts of a result, as rows that may be frozen."""
    return _to_rows(DEPOSIT, payouts["payout_id"], payouts[_DEPOSIT]).astype(dict.fromkeys(KEY, TEXT))


def _to_rows(kind: str, keys: Series, cells: DataFrame, parts: "Series[str] | str" = "") -> DataFrame:
    digest = pd.util.hash_pandas_object(cells, index=False).to_numpy().view(np.int64)
    return DataFrame({"kind": kind, "key": keys.astype(object), "part": parts, "digest": digest})


def payout_of(parts: Series) -> Series:
    """Return the payout of an item's part, empty where no payout lists it."""
    return parts.str.rsplit(" ", n=1).str[0]


def find_touched(inputs: Inputs, frozen: DataFrame, reopened: Collection[str] = ()) -> Touched:
    """Find the settled cells and payouts that later facts, decisions or rows outside of them reach.

    `frozen` has every carried row and every row of the cells that were read; `reopened` are payouts to be judged again.
    """
    both = frozen.merge(digest_rows(inputs), on=KEY, how="outer", suffixes=("", "_now"))
    both["cell"] = both["cell"].fillna(CARRIED).astype("int64")
    is_changed = both["digest"].isna() | both["digest_now"].isna() | (both["digest"] != both["digest_now"])
    is_changed &= both["kind"] != DEPOSIT
    settled = set(both["key"][both["cell"] == OF_PAYOUT])
    payouts = payout_of(both["part"]).where(both["kind"] == ITEM, both["key"].where(both["kind"] == PAYOUT, ""))
    touched = (set(payouts[is_changed]) | set(reopened)) & settled
    cells = set(both["cell"][is_changed | payouts.isin(touched)])
    reached = _find_reached(inputs, both)
    cells |= set(both["cell"][reached])
    cells -= {CARRIED, OF_PAYOUT}
    is_outside = (both["cell"] == CARRIED) | both["cell"].isin(cells)
    return Touched(frozenset(cells), frozenset(touched), _list_words(inputs, both[is_outside]))


def _find_reached(inputs: Inputs, both: DataFrame) -> "Series[bool]":
    """Return which rows something outside of their cells names: another row, a decision, a doubted event."""
    outside = both[both["cell"] == CARRIED]
    resources = set(outside["key"][outside["kind"] == ITEM])
    parents = inputs.items["parent_id"][inputs.items["resource_id"].isin(resources)]
    others = inputs.disputes["dispute_id"].isin(outside["key"][outside["kind"] == DISPUTE])
    named = (parents, inputs.disputes["resource_id"][others], inputs.conflicts["resource_id"],
             inputs.decisions["resource_id"])  # fmt: skip
    resources = resources.union(*(column.dropna() for column in named))
    is_item = (both["kind"] == ITEM) & both["key"].isin(resources)
    return is_item | ((both["kind"] == DOCUMENT) & both["key"].isin(set(inputs.decisions["doc_key"].dropna())))


def set_apart(inputs: Inputs, frozen: DataFrame, touched: Touched) -> Apart:
    """Leave out the rows of all settled cells that nothing touched."""
    is_left = ~frozen["cell"].isin([CARRIED, OF_PAYOUT, *touched.cells])
    left = frozen[is_left]
    payouts = frozenset(frozen["key"][(frozen["kind"] == PAYOUT) & (frozen["cell"] == OF_PAYOUT)]) - touched.payouts
    names = (
        inputs.items["resource_id"] + " " + inputs.items["payout_id"].fillna("") + " " + inputs.items["resource_type"]
    )
    items = inputs.items[~names.isin(_keys(left, ITEM, left["key"] + " " + left["part"]))]
    listed = items[["payout_id", "resource_id"]].dropna().drop_duplicates()
    is_whole = ~inputs.fees["payout_id"].isin(payouts).to_numpy()
    is_listed = inputs.fees[["payout_id", "resource_id"]].merge(listed, how="left", indicator=True)["_merge"] == "both"
    unknown = inputs.unknown_customers
    kept = replace(
        inputs,
        items=items.reset_index(drop=True),
        documents=_keep(inputs.documents, "doc_key", left, DOCUMENT),
        disputes=_keep(inputs.disputes, "dispute_id", left, DISPUTE),
        fees=inputs.fees[is_whole | is_listed.to_numpy()].reset_index(drop=True),
        unknown_customers=unknown[unknown["resource_id"].isin(items["resource_id"])].reset_index(drop=True),
    )
    rest = frozen[~is_left & ~frozen["kind"].isin([DEPOSIT])]
    there = digest_rows(kept)[KEY].merge(rest[KEY], how="right", indicator=True)
    gone = there[there["_merge"] == "right_only"]
    return Apart(kept, payouts, frozenset(_to_subjects(gone)))


def _keys(rows: DataFrame, kind: str, keys: Series) -> Series:
    return keys[rows["kind"] == kind]


def _keep(frame: DataFrame, name: str, left: DataFrame, kind: str) -> DataFrame:
    return frame[~frame[name].isin(_keys(left, kind, left["key"]))].reset_index(drop=True)


def _to_subjects(rows: DataFrame) -> set[tuple[str, str]]:
    """Return the subjects of closed figures that rows are about."""
    subjects = (rows["part"].str.rsplit(" ", n=1).str[-1] + " " + rows["key"]).where(rows["kind"] == ITEM, rows["key"])
    return set(zip(rows["kind"], subjects, strict=True))


def list_names(documents: DataFrame) -> DataFrame:
    """Return the words of documents' names with the place of their document; each word once a document."""
    folio = documents["folio"]
    columns = [documents["order_ref"], documents["uuid"], documents["doc_key"], folio]
    columns += [documents["doc_type"] + folio, documents["series"].fillna("") + folio]
    named = [DataFrame({"word": words, "place": places}) for words, places in map(_to_words, columns)]
    return pd.concat(named, ignore_index=True).drop_duplicates()


def _list_words(inputs: Inputs, outside: DataFrame) -> frozenset[int]:
    """Return what rows outside say: keys of payments, the texts of those whose keys name nothing open, references."""
    documents = inputs.documents[inputs.documents["doc_key"].isin(outside["key"][outside["kind"] == DOCUMENT])]
    is_sale = inputs.items["resource_type"].isin(PAYMENT_TYPES)
    is_outside = inputs.items["resource_id"].isin(outside["key"][outside["kind"] == ITEM])
    sales = inputs.items[is_sale & is_outside].drop_duplicates(["resource_type", "resource_id"])
    said = [
        DataFrame({"word": words, "place": places[found]})
        for places, texts in read_metadata(sales["metadata"]).words.values()
        for words, found in [_to_words(pd.Series(texts.to_pylist(), dtype=object))]
    ]
    asked = pd.concat(said, ignore_index=True)
    is_known = asked["word"].isin(list_names(documents)["word"])
    decided = np.zeros(len(sales), dtype=bool)
    decided[asked["place"][is_known].to_numpy(dtype=np.int64)] = True
    references, _ = _to_words(documents["ref_number"])
    return frozenset([*asked["word"].tolist(), *references.tolist(), *_read_texts(sales[~decided])])


def _read_texts(sales: DataFrame) -> list[int]:
    words: set[str] = set()
    for text, metadata in zip(sales["texts"], sales["metadata"], strict=True):
        said = [text] if isinstance(text, str) else []
        words.update(*map(split_words, [*said, *(list_loose_words(metadata) if isinstance(metadata, str) else ())]))
    wanted = [word for word in sorted(words) if len(word) >= _SHORTEST]
    return [int(word) for word in _hash(np.array(wanted, dtype=object))]


def _to_words(names: Series) -> tuple[Ints, Ints]:
    """Return the plainest writing of each name, also without a number sign before it, and whose name it is."""
    known = names.notna().to_numpy(dtype=bool)
    places = np.flatnonzero(known)
    texts = names[known].to_numpy(dtype=object)
    plain = simplify_column(to_texts(pd.Series(texts, dtype="str"))).to_numpy(zero_copy_only=False)
    has_sign = np.array([text.lstrip()[:1] in "#NnºN°№" for text in texts], dtype=bool)
    bare = np.array([simplify(normalize(text)) for text in texts[has_sign]], dtype=object)
    both, at = np.concatenate([plain, bare]), np.concatenate([places, places[has_sign]])
    said: Mask = both != ""
    return _hash(both[said]), at[said]


def _hash(words: np.ndarray) -> Ints:
    return pd.util.hash_array(words.astype(object), categorize=False).view(np.int64)
