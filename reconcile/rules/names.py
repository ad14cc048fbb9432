"""Names as people write them, compared without separators; and the names which the books' own numbering leaves out."""

import re
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from reconcile.rules.columns import codes_of, joined_keys, texts_of
from reconcile.rules.documents import Books
from reconcile.rules.writing import folded, folded_column

_WORD = re.compile(r"[A-Z0-9]+(?:[-_/.#][A-Z0-9]+)*")
_PART = re.compile(r"[A-Z0-9]+")
_ORDER = "^(?P<head>[A-Z0-9]*?)(?P<number>[0-9]{3,12})$"
_FOLIO = "^(?P<head>)(?P<number>[0-9]{1,12})$"
_SHORTEST_RUN = 10  # so few numbers are no numbering
_NEXT = 2  # here and there one is void before anybody sees it
_MOST_PARTS = 4  # a name of more parts is written together
_MOST_WORDS = 1000  # of a text longer than any comment only the beginning is read


def words_of(text: str) -> set[str]:
    """List the words of a text without separators: each whole, each part, and neighbours written apart.

    `PED-00123`, `PED 00123` and `ped00123` say the same; O is read as zero, as people type it. Of more than two
    neighbours only those make a name that have letters as well as digits: any numbers stand beside each other.
    """
    plain_text = folded(text)
    parts = _some(_PART, plain_text)
    whole = ("".join(_PART.findall(word)) for word in _some(_WORD, plain_text) if not word.isalnum())
    joined = (left + right for left, right in pairwise(parts))
    longer = (
        "".join(parts[start : start + size])
        for size in range(3, _MOST_PARTS + 1)
        for start in range(len(parts) - size + 1)
    )
    named = (word for word in longer if is_mixed(word))
    return {_bare(word) for word in (*whole, *parts, *joined, *named)} - {""}


def _some(pattern: re.Pattern[str], text: str) -> list[str]:
    return [found.group() for found in islice(pattern.finditer(text), _MOST_WORDS)]


def is_mixed(word: str) -> bool:
    """Tell whether a word has letters and digits, as orders' names do and amounts and days do not."""
    return not word.isdigit() and not word.isalpha()


def plain(word: str) -> str:
    return _bare("".join(_PART.findall(folded(word))))


def _bare(word: str) -> str:
    return word.replace("O", "0").lstrip("0")


def plain_column(values: Any) -> Any:
    """Do the same to a column of Arrow texts."""
    bare = pc.replace_substring_regex(folded_column(values), "[^A-Z0-9]+", "")
    return pc.ascii_ltrim(pc.replace_substring(bare, "O", "0"), characters="0")


def left_out(books: Books, words: set[str]) -> set[str]:
    """Give those words that lie within a numbering of the books and that no document bears.

    Folios of one type and series, and order references that begin alike, are numbers given in turn where most follow
    one another closely. A number between two of them was then given too, if the hole is no larger than what is here.
    """
    asked = {word: (found["head"], int(found["number"])) for word in words if (found := re.match(_ORDER, word))}
    bare = {word: name for word, name in asked.items() if not name[0]}
    return (_missing(_folios(books), bare) if bare else set()) | (_missing(_orders(books), asked) if asked else set())


def _missing(given: DataFrame, asked: dict[str, tuple[str, int]]) -> set[str]:
    """Look each name up in the holes of the stretches that bear its head; what one stretch bears is nowhere missing."""
    words: dict[str, list[str]] = {}
    for word, (head, _) in asked.items():
        words.setdefault(head, []).append(word)
    given = given[given["head"].isin(list(words))]
    missing: set[str] = set()
    borne: set[str] = set()
    for (begin, _), run in given.groupby(["head", "run"], observed=True)["number"]:
        numbers, own = np.unique(run.to_numpy()), words[str(begin)]
        wanted = np.array([asked[word][1] for word in own])
        borne |= set(np.array(own)[np.isin(wanted, numbers)].tolist())
        missing |= set(np.array(own)[_are_in_holes(numbers, wanted)].tolist())
    return missing - borne


def _are_in_holes(numbers: Any, wanted: Any) -> Any:
    """Tell which numbers are in a small hole of a stretch; where most are far apart there is none."""
    steps = np.diff(numbers)
    if len(numbers) < _SHORTEST_RUN or np.count_nonzero(steps <= _NEXT) * 2 < len(steps):
        return np.zeros(len(wanted), dtype=bool)
    at = np.searchsorted(numbers, wanted)
    is_within = (at > 0) & (at < len(numbers))
    return is_within & (steps[np.clip(at, 1, len(steps)) - 1] <= len(numbers))


def _folios(books: Books) -> DataFrame:
    """List the folios that are numbers, each in the stretch of its type and series."""
    kinds = DataFrame({name: books.column(name) for name in ("doc_type", "series")})
    return _numbers(plain_column(texts_of(books.column("folio"))), codes_of(joined_keys(kinds, [*kinds])), _FOLIO)


def _orders(books: Books) -> DataFrame:
    """List the order references that end in a number, each in the stretch of those that begin alike."""
    names = plain_column(texts_of(books.column("order_ref")))
    return _numbers(names, np.zeros(len(books), dtype=np.int64), _ORDER)


def _numbers(names: Any, runs: Any, pattern: str) -> DataFrame:
    found = pc.extract_regex(names, pattern)
    is_number = found.is_valid().to_numpy(zero_copy_only=False)
    kept = found.drop_null()
    heads = kept.field("head").dictionary_encode()
    return DataFrame({
        "head": pd.Categorical.from_codes(heads.indices, heads.dictionary.to_pylist()),
        "run": runs[is_number],
        "number": kept.field("number").cast(pa.int64()).to_numpy(),
    })  # fmt: skip
