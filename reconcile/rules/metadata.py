"""What a payment's metadata says: its words, its order reference, whether it is one of several parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

# What metadata can say that identifies a sale, in the order in which equally strong names speak.
NAMES = ("uuid", "invoice", "invoice_id", "doc_type", "folio", "order_ref", "order_id", "installments")
_DECODER = msgspec.json.Decoder()
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Said:
    """For each name the payments that give it, ascending, and what they give; of so many payments."""

    payments: int
    words: Mapping[str, tuple[Sequence[int], Sequence[str]]]

    def order_refs(self) -> Any:
        """Give the order reference each payment states, to be shown."""
        found = np.full(self.payments, None, dtype=object)
        for name in ("invoice", "order_id", "order_ref"):
            places, texts = self.words[name]
            found[list(places)] = texts
        return found

    def in_parts(self) -> Any:
        """Tell which payments declare instalments."""
        found = np.zeros(self.payments, dtype=bool)
        places, texts = self.words["installments"]
        found[list(places)] = [_is_several(text) for text in texts]
        return found


def _is_several(text: str) -> bool:
    return text.isascii() and text.isdigit() and text.lstrip("0") not in {"", "1"}


def read_metadata(column: Any) -> Said:
    """Read what each payment says about itself; metadata that is no object says nothing."""
    words: dict[str, tuple[list[int], list[str]]] = {name: ([], []) for name in NAMES}
    texts = column.to_numpy(dtype=object)
    for place, text in enumerate(texts):
        for name, value in read_said(text).items():
            if name in words and (said := to_text(value)):
                words[name][0].append(place)
                words[name][1].append(said)
    return Said(len(texts), words)


def read_said(text: Any) -> Mapping[str, Any]:
    """Read all that one payment says."""
    value = _DECODER.decode(text) if isinstance(text, str) else _NOTHING
    return value if isinstance(value, dict) else _NOTHING


def to_text(value: Any) -> str:
    if type(value) is str:
        return value.strip()
    return "" if value is None or isinstance(value, bool | dict | list) else str(value).strip()
