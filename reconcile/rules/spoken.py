"""What a payment's texts say: its own lines, and metadata under names that are no identity keys."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from reconcile.rules.ledger import Ledger
from reconcile.rules.metadata import loose_words
from reconcile.rules.names import words_of
from reconcile.rules.writing import are_split_alike, folded

_NAMES = ("order_ref", "folio", "uuid")
_HEADS = ("doc_type", "series")
_LONGEST = 100  # a longer name is only looked for as it is written


def texts_said(ledger: Ledger, payments: Any) -> dict[int, list[str]]:
    """Give the texts of those payments that have any."""
    frame = ledger.payments.frame
    columns = (frame[name].take(payments).to_numpy(dtype=object) for name in ("texts", "metadata"))
    found: dict[int, list[str]] = {}
    for payment, text, metadata in zip([int(payment) for payment in payments], *columns, strict=True):
        texts = [text] if isinstance(text, str) else []
        if texts := texts + loose_words(metadata):
            found[payment] = texts
    return found


def words_in(texts: Iterable[str]) -> set[str]:
    return set().union(*map(words_of, texts))


def exact_names(ledger: Ledger, docs: Iterable[int]) -> dict[int, set[str]]:
    """Give documents' names as the books write them: the order, folio alone and after type or series, UUID."""
    places = sorted(set(docs))
    columns = {name: ledger.books.column(name, np.array(places, dtype=np.int64)) for name in (*_NAMES, *_HEADS)}
    values = {name: column.astype(object) for name, column in columns.items()}
    return {doc: _names_of({name: column[row] for name, column in values.items()}) for row, doc in enumerate(places)}


def _names_of(values: dict[str, Any]) -> set[str]:
    said = {name: value.strip().upper() for name, value in values.items() if isinstance(value, str)}
    folio = said.get("folio", "").lstrip("0")
    heads = {said[name] + said["folio"] for name in _HEADS if name in said and folio}
    return ({said[name] for name in ("order_ref", "uuid") if name in said} | heads | {folio}) - {""}


def is_exact(texts: Iterable[str], names: Iterable[str]) -> bool:
    """Tell whether a text has one of the names as it is written in the books, zeros before it aside."""
    told = "\n".join(map(str.upper, texts))
    return any(_is_whole(told, at, at + len(name)) for name in names for at in _places(told, name))


def _places(told: str, name: str) -> Iterator[int]:
    at = told.find(name)
    while at >= 0:
        yield at
        at = told.find(name, at + 1)


def _is_whole(told: str, start: int, end: int) -> bool:
    """Tell whether what stands there is a word and no part of one."""
    while start and told[start - 1] == "0":
        start -= 1
    around = told[max(start - 1, 0) : start], told[end : end + 1]
    return not any(sign.isascii() and sign.isalnum() for sign in around)


def is_grouped_so(texts: Iterable[str], name: str, writing: str) -> bool:
    """Tell whether a text that has a name in other writing groups its digits as the books do, or not at all."""
    if len(name) > _LONGEST:
        return False
    pattern = "[^A-Z0-9]*".join("[O0]" if sign == "0" else sign for sign in name)
    found = [match.group() for text in texts for match in re.finditer(pattern, folded(text))]
    own = pa.array([writing] * len(found), type=pa.large_string())
    return bool(are_split_alike(pa.array(found, type=pa.large_string()), own).any())
