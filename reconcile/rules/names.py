"""Names as people write them, compared without separators; and the names which the books' own numbering leaves out."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from reconcile.rules.columns import codes_of, in_capitals, joined_keys, texts_of
from reconcile.rules.documents import Books

_WORD = re.compile(r"[A-Z0-9]+(?:[-_/.#][A-Z0-9]+)*")
_PART = re.compile(r"[A-Z0-9]+")
_ORDER = "^(?P<head>[A-Z0-9]*?)(?P<number>[0-9]{3,12})$"
_FOLIO = "^(?P<head>)(?P<number>[0-9]{1,12})$"
_SHORTEST_RUN = 10  # so few numbers are no numbering
_NEXT = 2  # here and there one is void before anybody sees it


def words_of(text: str) -> set[str]:
    """List the words of a text without separators: each whole, each part, and neighbours written apart.

    `PED-00123`, `PED 00123` and `ped00123` say the same; O is read as zero, as people type it.
    """
    parts = _PART.findall(text.upper())
    whole = ("".join(_PART.findall(word)) for word in _WORD.findall(text.upper()) if not word.isalnum())
    joined = (left + right for left, right in pairwise(parts))
    return {_bare(word) for word in (*whole, *parts, *joined)} - {""}


def plain(word: str) -> str:
    return _bare("".join(_PART.findall(word.upper())))


def _bare(word: str) -> str:
    return word.replace("O", "0").lstrip("0")


def plain_column(values: Any) -> Any:
    """Do the same to a column of Arrow texts."""
    bare = pc.replace_substring_regex(in_capitals(values), "[^A-Z0-9]+", "")
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
