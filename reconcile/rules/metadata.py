"""What a payment's metadata says: its words, its order reference, whether it is one of several parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from reconcile.rules.columns import texts_of

# What metadata can say that identifies a sale, in the order in which equally strong names speak.
NAMES = ("uuid", "invoice", "invoice_id", "doc_type", "folio", "order_ref", "order_id", "installments")
_DECODER = msgspec.json.Decoder()
_NOTHING: Mapping[str, Any] = {}
_QUOTES_OF_ONE = 4
# From here on a float may stand for another whole number than the one that was written.
_EXACT = 2.0**53


@dataclass(frozen=True, slots=True)
class Said:
    """For each name the payments that give it and what they give, as Arrow texts; of so many payments."""

    payments: int
    words: Mapping[str, tuple[Any, Any]]

    def order_refs(self) -> Any:
        """Give the order reference each payment states, to be shown."""
        stated = [self.words[name] for name in ("invoice", "order_id", "order_ref")]
        at = np.full(self.payments, -1, dtype=np.int64)
        at[np.concatenate([places for places, _ in stated])] = np.arange(sum(len(texts) for _, texts in stated))
        return pa.concat_arrays([texts for _, texts in stated]).take(pa.array(at, mask=at < 0))

    def in_parts(self) -> Any:
        """Tell which payments declare instalments."""
        found = np.zeros(self.payments, dtype=bool)
        places, texts = self.words["installments"]
        found[places] = [_is_several(text) for text in texts.to_pylist()]
        return found


def _is_several(text: str) -> bool:
    return text.isascii() and text.isdigit() and text.lstrip("0") not in {"", "1"}


def read_metadata(column: Any) -> Said:
    """Read what each payment says about itself; metadata that is no object says nothing."""
    texts = texts_of(column)
    plain, is_read = _plain_words(texts)
    words: dict[str, tuple[list[int], list[str]]] = {name: ([], []) for name in NAMES}
    rest = np.flatnonzero(~is_read)
    for place, text in zip(rest.tolist(), texts.take(pa.array(rest)).to_pylist(), strict=True):
        for name, value in read_said(text).items():
            if name in words and (said := to_text(value)):
                words[name][0].append(place)
                words[name][1].append(said)
    return Said(len(texts), {name: _joined(plain[name], words[name]) for name in NAMES})


def _plain_words(texts: Any) -> tuple[dict[str, tuple[Any, Any]], Any]:
    """Read all metadata at once that is one plain word under one name, as most of it is; tell which that is."""
    is_one = pc.and_(pc.equal(pc.count_substring(texts, '"'), _QUOTES_OF_ONE), pc.ends_with(texts, '"}'))
    is_plain = pc.and_(pc.string_is_ascii(texts), pc.invert(pc.match_substring(texts, "\\")))
    may_be_read = pc.and_(is_one, is_plain)
    is_read = texts.is_null().to_numpy(zero_copy_only=False).copy()
    words = {}
    for name in NAMES:
        head = f'{{"{name}":"'
        places = pc.indices_nonzero(pc.and_(may_be_read, pc.starts_with(texts, head))).to_numpy()
        is_read[places] = True
        said = pc.utf8_trim_whitespace(pc.utf8_slice_codeunits(texts.take(pa.array(places)), len(head), -2))
        says = pc.not_equal(said, "")
        words[name] = places[says.to_numpy(zero_copy_only=False)].astype(np.int64), said.filter(says)
    return words, is_read


def _joined(some: tuple[Any, Any], others: tuple[list[int], list[str]]) -> tuple[Any, Any]:
    texts = pa.array(others[1], type=pa.large_string())
    return np.concatenate([some[0], np.array(others[0], dtype=np.int64)]), pa.concat_arrays([some[1], texts])


def read_said(text: Any) -> Mapping[str, Any]:
    """Read all that one payment says."""
    value = _DECODER.decode(text) if isinstance(text, str) else _NOTHING
    return value if isinstance(value, dict) else _NOTHING


def loose_words(text: Any) -> list[str]:
    """Give what metadata says under names that are no identity keys, at whatever depth: words and whole numbers."""
    waiting = [value for name, value in read_said(text).items() if name not in NAMES]
    found = []
    for value in waiting:
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif not isinstance(value, float) and (word := to_text(value)):
            found.append(word)
    return found


def to_text(value: Any) -> str:
    """Write a value as a name: a number is its digits, and one with a fraction names nothing."""
    if type(value) is str:
        return value.strip()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _EXACT else ""
    return "" if value is None or isinstance(value, bool | dict | list) else str(value).strip()
