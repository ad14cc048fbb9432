"""Names as people write them, and the names that the books' own numbering leaves out.

`fold` makes every character plain, `normalize` also drops the number sign and all separators. The exact writing of a
key is its text in capitals, as the columns have it.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate, islice, pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from reconcile.rules.columns import ArrowTexts, Ints, Mask, to_text_cells, to_texts
from reconcile.rules.documents import Books

# A number sign before a name, and what people put between the parts of one.
_SIGN = r"^(?:(?:#|NO\.|NRO\.|N°\.?)[ \t\r\n]*)+"
_BETWEEN = r"[ \t\r\n\-_/.]+"
_SIGNS, _SEPARATORS = re.compile(_SIGN), re.compile(_BETWEEN)
_GROUPED = rf"[0-9]{_BETWEEN}[0-9]"
# A superscript o is a degree sign here, every dash a hyphen, and invisible characters are dropped.
_PLAIN = str.maketrans(
    {"º": "°", "№": "N°"}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)
_WORD = re.compile(r"[A-Z0-9]+(?:[-_/.#][A-Z0-9]+)*")
_PART = re.compile(r"[A-Z0-9]+")
_ORDER = "^(?P<head>[A-Z0-9]*?)(?P<number>[0-9]{3,12})$"
_FOLIO = "^(?P<head>)(?P<number>[0-9]{1,12})$"
_SHORTEST_RUN = 10  # so few numbers are no numbering
_KIND = ("doc_type", "series")
_BAR = pa.scalar("|", type=pa.large_string())
_NONE: Ints = np.array([], dtype=np.int64)
_NEXT = 2  # here and there one is void before it is sent
_MOST_PARTS = 4  # a name of more parts is written together
_MOST_WORDS = 1000  # of a text longer than any comment only the beginning is read


def fold(text: str) -> str:
    """Write a text in plain capitals: one width, one form of each letter."""
    if text.isascii():
        return text.upper()
    plain = unicodedata.normalize("NFKC", text.translate(_PLAIN)).casefold()
    return unicodedata.normalize("NFKC", plain).upper().translate(_PLAIN)


def normalize(text: str) -> str:
    """Return a name without the number sign before it and without separators."""
    return _SEPARATORS.sub("", _SIGNS.sub("", fold(text).strip()))


def fold_column(texts: ArrowTexts) -> ArrowTexts:
    """Fold a column of Arrow texts; only plain ASCII may be left to Arrow."""
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
        return pc.ascii_upper(texts)
    return pa.array([None if text is None else fold(text) for text in texts.to_pylist()], type=texts.type)


def normalize_column(texts: ArrowTexts) -> ArrowTexts:
    """Return the same as `normalize` of a whole column."""
    return pc.replace_substring_regex(_drop_signs(texts), _BETWEEN, "")


def _drop_signs(texts: ArrowTexts) -> ArrowTexts:
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(fold_column(texts)), _SIGN, "")


def are_split_alike(left: ArrowTexts, right: ArrowTexts) -> Mask:
    """Return for pairs of writings of one name whether their digits are grouped alike, or one leaves groups together.

    `1/23` and `12/3` are the same signs and two names: each separates what the other writes together.
    """
    one, other = (pc.replace_substring_regex(_drop_signs(texts), _BETWEEN, "-") for texts in (left, right))
    is_grouped = pc.and_(pc.match_substring_regex(one, _GROUPED), pc.match_substring_regex(other, _GROUPED))
    alike = np.ones(len(one), dtype=bool)
    for place in pc.indices_nonzero(pc.and_(is_grouped, pc.not_equal(one, other))).to_pylist():
        some, others = _find_groups(one[place].as_py()), _find_groups(other[place].as_py())
        alike[place] = some <= others or others <= some
    return alike


def _find_groups(text: str) -> set[int]:
    """Return the places of separators between two digits, counted from the end of the name without separators."""
    parts = [part for part in text.split("-") if part]
    sizes = accumulate(len(part) for part in reversed(parts))
    between = zip(parts[-2::-1], parts[:0:-1], sizes, strict=False)
    return {size for left, right, size in between if left[-1].isdigit() and right[0].isdigit()}


def split_words(text: str) -> set[str]:
    """Return the words of a text without separators: each whole, each part, and neighbours written apart.

    `PED-00123`, `PED 00123` and `ped00123` say the same; O is read as zero, as people type it. Of more than two
    neighbours only those make a name that have letters as well as digits: any numbers stand side by side.
    """
    plain_text = fold(text)
    parts = _find_some(_PART, plain_text)
    whole = ("".join(_PART.findall(word)) for word in _find_some(_WORD, plain_text) if not word.isalnum())
    joined = (left + right for left, right in pairwise(parts))
    longer = (
        "".join(parts[start : start + size])
        for size in range(3, _MOST_PARTS + 1)
        for start in range(len(parts) - size + 1)
    )
    named = (word for word in longer if is_mixed(word))
    return {_strip(word) for word in (*whole, *parts, *joined, *named)} - {""}


def _find_some(pattern: re.Pattern[str], text: str) -> list[str]:
    return [found.group() for found in islice(pattern.finditer(text), _MOST_WORDS)]


def is_mixed(word: str) -> bool:
    """Return whether a word has letters and digits, as orders' names do and amounts and days do not."""
    return not word.isdigit() and not word.isalpha()


def simplify(word: str) -> str:
    return _strip("".join(_PART.findall(fold(word))))


def _strip(word: str) -> str:
    return word.replace("O", "0").lstrip("0")


def simplify_column(values: ArrowTexts) -> ArrowTexts:
    """Return `simplify` of a whole column."""
    bare = pc.replace_substring_regex(fold_column(values), "[^A-Z0-9]+", "")
    return pc.ascii_ltrim(pc.replace_substring(bare, "O", "0"), characters="0")


def find_left_out(books: Books, words: set[str]) -> set[str]:
    """Return those words that lie within a numbering of the books and that no document bears.

    Folios of one type and series, and order references that begin alike, are numbers given in turn where most follow
    one another closely. A number between two of them was then given too, if the hole is no larger than what is here.
    """
    asked: dict[tuple[bool, str], dict[str, int]] = {}
    for word in words:
        if found := re.match(_ORDER, word):
            asked.setdefault((False, found["head"]), {})[word] = int(found["number"])
    if bare := asked.get((False, "")):
        # It may be a folio too.
        asked[True, ""] = bare
    given = list_numbers(books.rows, [head for _, head in asked]) if asked else DataFrame()
    missing, borne = set[str](), set[str]()
    for (is_folio, head), names in asked.items():
        own, closed = (rows[(rows["head"] == head) & ((rows["run"] != "") == is_folio)]
                       for rows in (given, books.numbers))  # fmt: skip
        closed_runs = dict(iter(closed.groupby("run")))
        runs = {run: numbers.to_numpy() for run, numbers in own.groupby("run", observed=True)["number"]}
        for run in runs.keys() | closed_runs.keys():
            since, until = (closed_runs[run][name].to_numpy(dtype=np.int64) if run in closed_runs else _NONE
                            for name in ("since", "until"))  # fmt: skip
            numbers = runs.get(run, _NONE)
            stretches = join_stretches(np.concatenate([since, numbers]), np.concatenate([until, numbers]))
            is_borne, is_missing = _look_up(stretches, np.array(list(names.values())))
            borne |= set(np.array(list(names))[is_borne].tolist())
            missing |= set(np.array(list(names))[is_missing].tolist())
    return missing - borne


def list_numbers(documents: DataFrame, heads: Sequence[str] | None = None) -> DataFrame:
    """Return the folios that are numbers, each in the run of its type and series, and the order references that end
    in one, which begin with a head; `heads` are those that are asked for.
    """
    folios = simplify_column(to_texts(documents["folio"]))
    kinds = pc.binary_join_element_wise(*(pc.fill_null(to_texts(documents[name]), "") for name in _KIND), _BAR)
    orders = simplify_column(to_texts(documents["order_ref"]))
    found = [_to_numbers(folios, kinds, _FOLIO, heads)] if heads is None or "" in heads else []
    return pd.concat([*found, _to_numbers(orders, pa.repeat(pa.scalar("", kinds.type), len(orders)), _ORDER, heads)])


def _to_numbers(names: ArrowTexts, runs: ArrowTexts, pattern: str, heads: Sequence[str] | None) -> DataFrame:
    found = pc.extract_regex(names, pattern)
    is_asked = found.is_valid()
    if heads is not None:
        is_asked = pc.and_(is_asked, pc.is_in(pc.struct_field(found, "head"), value_set=pa.array(heads, names.type)))
    kept = found.filter(is_asked)
    return DataFrame({
        "run": to_text_cells(runs.filter(is_asked)),
        "head": to_text_cells(kept.field("head")),
        "number": kept.field("number").cast(pa.int64()).to_numpy(),
    })  # fmt: skip


def join_stretches(since: Ints, until: Ints) -> tuple[Ints, Ints]:
    """Return the first and last numbers of stretches without a hole that together hold the same numbers as some."""
    order = np.argsort(since, kind="stable")
    since, reached = since[order], np.maximum.accumulate(until[order])
    begins = np.flatnonzero(np.append(True, since[1:] > reached[:-1] + 1)) if len(since) else _NONE
    return since[begins], reached[np.append(begins[1:] - 1, len(since) - 1)] if len(since) else _NONE


def is_numbering(since: Ints, until: Ints) -> bool:
    """Return whether most of the numbers of some stretches follow one another closely."""
    count = int((until - since + 1).sum())
    far = int(np.count_nonzero(since[1:] - until[:-1] > _NEXT))
    return (count - 1 - far) * 2 >= count - 1


def _look_up(stretches: tuple[Ints, Ints], wanted: Ints) -> tuple[Mask, Mask]:
    """Return which numbers stretches hold, and which lie in a small hole of a numbering."""
    since, until = stretches
    at = np.searchsorted(since, wanted, side="right") - 1
    is_after, last = at >= 0, len(since) - 1
    is_borne = is_after & (wanted <= until[at])
    count = int((until - since + 1).sum())
    if count < _SHORTEST_RUN or not is_numbering(since, until):
        return is_borne, np.zeros(len(wanted), dtype=bool)
    hole = since[np.minimum(at + 1, last)] - until[at]
    return is_borne, is_after & (at < last) & ~is_borne & (hole <= count)
