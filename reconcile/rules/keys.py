"""Identity keys: what a payment's metadata names, and which documents bear that name."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from reconcile.rules.documents import Books
from reconcile.rules.inputs import records
from reconcile.rules.metadata import to_text

# What a payment may say, strongest first: the metadata names, and the namespace each value is looked up in.
UUID, DOC_KEY, FOLIO, ORDER, LONE_FOLIO = "uuid", "doc_key", "folio", "order", "lone_folio"
_RANKS = {"uuid": 0, "invoice": 1, "invoice_id": 1, "doc_type+folio": 2, "order_ref": 3, "order_id": 4, "folio": 5}
_SPACES = {
    "uuid": (UUID,),
    "order_ref": (ORDER,),
    "order_id": (ORDER,),
    "invoice": (ORDER, UUID, DOC_KEY),
    "invoice_id": (ORDER, UUID, DOC_KEY),
}
_MOST_BEARERS = 50  # a name that so many documents bear identifies none of them


@dataclass(slots=True)
class Keys:
    """`certain` holds arrays of payments, documents and rules; `several` the payments whose keys name more than one."""

    payments: Any
    docs: Any
    rules: Any
    several: dict[int, list[tuple[str, tuple[int, ...]]]] = field(default_factory=dict)


def find_keys(said: list[dict[str, Any]], books: Books) -> Keys:
    """Look up every name the payments give; many documents under one name are kept together."""
    asked = DataFrame(_asked(said), columns=["payment", "rule", "space", "value"]).astype({"value": "str"})
    pairs = [
        group.merge(_names(books, str(space)), on="value")[["payment", "rule", "doc"]]
        for space, group in asked.groupby("space", sort=True)
    ]
    if not pairs:
        return Keys(np.array([], dtype=np.int64), np.array([], dtype=np.int64), np.array([], dtype=object))
    found = pd.concat(pairs).drop_duplicates()
    found = _living(found, books)
    found["rank"] = found["rule"].map(_RANKS)
    found = found.sort_values(["payment", "rank", "doc"], kind="stable")
    only = found.drop_duplicates(["payment", "doc"])
    is_certain = ~only["payment"].duplicated(keep=False)
    certain, rest = only[is_certain], found[found["payment"].isin(only["payment"][~is_certain])]
    return Keys(
        certain["payment"].to_numpy(dtype=np.int64),
        certain["doc"].to_numpy(dtype=np.int64),
        certain["rule"].to_numpy(dtype=object),
        _grouped(rest),
    )


def _living(found: DataFrame, books: Books) -> Any:
    """Where one name is borne by valid and by void documents, the valid ones are meant."""
    is_valid = ~books.is_void[found["doc"].to_numpy(dtype=np.int64)]
    has_valid = pd.Series(is_valid, index=found.index).groupby([found["payment"], found["rule"]]).transform("any")
    return found[is_valid | ~has_valid].copy()


def _grouped(rest: DataFrame) -> dict[int, list[tuple[str, tuple[int, ...]]]]:
    several: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
    bundled: dict[tuple[int, int, str], list[int]] = {}
    for row in records(rest):
        bundled.setdefault((row.payment, row.rank, row.rule), []).append(row.doc)
    for (payment, _, rule), docs in sorted(bundled.items()):
        several.setdefault(payment, []).append((rule, tuple(docs)))
    return several


def _asked(said: list[dict[str, Any]]) -> list[tuple[int, str, str, str]]:
    return [(payment, *name) for payment, words in enumerate(said) if words for name in _names_in(words)]


def _names_in(words: dict[str, Any]) -> Iterable[tuple[str, str, str]]:
    for name, value in words.items():
        spaces = _SPACES.get(name)
        text = to_text(value).upper() if spaces else ""
        if spaces and text:
            yield from ((name, space, text) for space in spaces)
    folio = to_text(words.get("folio")).upper().lstrip("0")
    kind = to_text(words.get("doc_type")).upper()
    if folio and kind:
        yield "doc_type+folio", FOLIO, f"{kind}|{folio}"
    elif folio:
        yield "folio", LONE_FOLIO, folio


def _names(books: Books, space: str) -> Any:
    """List the names documents bear in one namespace; only claims can be named."""
    frame = books.frame
    column = {UUID: "uuid", DOC_KEY: "doc_key", ORDER: "order_ref"}.get(space, "folio")
    values = frame[column].str.strip().str.upper()
    if column == "folio":
        values = values.str.lstrip("0")
    if space == FOLIO:
        values = frame["doc_type"].str.upper() + "|" + values
    names = DataFrame({"value": values, "doc": np.arange(len(frame))})
    can_be_named = books.is_claim
    if space == LONE_FOLIO:
        can_be_named = can_be_named & ~books.is_void
    names = names[can_be_named & names["value"].notna().to_numpy() & (names["value"] != "").to_numpy()]
    bearers = names.groupby("value")["doc"].transform("size")
    return names[bearers <= (1 if space == LONE_FOLIO else _MOST_BEARERS)]
