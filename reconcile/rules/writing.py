"""Keys as people write them: the same name with other separators, letters of another width, or a number sign before it.

`folded` makes every character plain; `normal` also drops the number sign and all separators. The exact writing of a key
is its text in capitals, as the columns have it.
"""

import re
import unicodedata
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# A number sign before a name, and what people put between the parts of one.
_SIGN = r"^(?:(?:#|NO\.|NRO\.|N°\.?)[ \t\r\n]*)+"
_BETWEEN = r"[ \t\r\n\-_/.]+"
_SIGNS, _SEPARATORS = re.compile(_SIGN), re.compile(_BETWEEN)
_GROUPED = rf"[0-9]{_BETWEEN}[0-9]"
# A superscript o is a degree sign here, every dash a hyphen, and what nobody sees is not there.
_PLAIN = str.maketrans(
    {"º": "°", "№": "N°"}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)


def folded(text: str) -> str:
    """Write a text in plain capitals: one width, one form of each letter."""
    if text.isascii():
        return text.upper()
    plain = unicodedata.normalize("NFKC", text.translate(_PLAIN)).casefold()
    return unicodedata.normalize("NFKC", plain).upper().translate(_PLAIN)


def normal(text: str) -> str:
    """Give a name without the number sign before it and without separators."""
    return _SEPARATORS.sub("", _SIGNS.sub("", folded(text).strip()))


def folded_column(texts: Any) -> Any:
    """Fold a column of Arrow texts; only plain ASCII may be left to Arrow."""
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return pc.ascii_upper(texts)
    return pa.array([None if text is None else folded(text) for text in texts.to_pylist()], type=texts.type)


def normal_column(texts: Any) -> Any:
    """Give the same as `normal` of a whole column."""
    return pc.replace_substring_regex(_unsigned(texts), _BETWEEN, "")


def _unsigned(texts: Any) -> Any:
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(folded_column(texts)), _SIGN, "")


def are_split_alike(left: Any, right: Any) -> Any:
    """Tell of pairs of writings of one name whether their digits are grouped alike, or one leaves groups together.

    `1/23` and `12/3` are the same signs and two names: each separates what the other writes together.
    """
    one, other = (pc.replace_substring_regex(_unsigned(texts), _BETWEEN, "-") for texts in (left, right))
    is_grouped = pc.and_(pc.match_substring_regex(one, _GROUPED), pc.match_substring_regex(other, _GROUPED))
    alike = np.ones(len(one), dtype=bool)
    for place in pc.indices_nonzero(pc.and_(is_grouped, pc.not_equal(one, other))).to_pylist():
        some, others = _groups(one[place].as_py()), _groups(other[place].as_py())
        alike[place] = some <= others or others <= some
    return alike


def _groups(text: str) -> set[int]:
    """Give before how many signs of the bare name a separator stands between two digits; zeros may begin it or not."""
    parts = [part for part in text.split("-") if part]
    sizes = accumulate(len(part) for part in reversed(parts))
    between = zip(parts[-2::-1], parts[:0:-1], sizes, strict=False)
    return {size for left, right, size in between if left[-1].isdigit() and right[0].isdigit()}
