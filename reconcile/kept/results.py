"""A run's result as rows of tables: payouts with their report columns as JSON, findings, chunks of the rest; pure."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from reconcile.kept import chunks, extracts
from reconcile.rules.inputs import Finding, Result

PAYOUT_NAMES = ("payout_id", "status_recon", "difference", "payout_date", "columns")
FINDING_NAMES = ("exception_id", "code", "severity", "subject", "amount_at_risk", "currency")
ROWS_AT_ONCE = 20_000
_TEXT = pa.large_string()


def payout_rows(result: Result) -> Iterator[tuple[Any, ...]]:
    """Give the cells of `PAYOUT_NAMES`; the run's own are alike in all of them."""
    for frame, columns in _slices(result.payouts):
        typed = (_plain(frame[name]) for name in ("payout_id", "status_recon", "difference"))
        yield from zip(*typed, _days(frame["payout_date"]), columns, strict=True)


def chunk_rows(result: Result) -> Iterator[dict[str, Any]]:
    """Give one chunk at a time, so that a large run is never packed as a whole.

    Frames are made tables at once, as another thread may take the chunks: a table never changes, and a frame may move
    its columns together when it is asked for some.
    """
    lines, documents = chunks.pack_lines(result.lines, result.payouts), chunks.pack_documents(result.documents)
    return chain(lines, documents, extracts.pack(result))


def finding_rows(found: Mapping[str, Finding]) -> Iterator[tuple[Any, ...]]:
    """Give the cells of `FINDING_NAMES`; the run's own are alike in all of them."""
    for identity, one in found.items():
        yield identity, one.code, one.severity, one.subject, one.amount_at_risk, one.currency


def _slices(frame: DataFrame) -> Iterator[tuple[DataFrame, list[str]]]:
    """A frame in pieces with their JSON, so that a large run is never text as a whole."""
    for start in range(0, len(frame), ROWS_AT_ONCE):
        piece = frame.iloc[start : start + ROWS_AT_ONCE]
        yield piece, to_json(piece)


def to_json(frame: DataFrame) -> list[str]:
    """One JSON object per row: money in minor units, moments and days as ISO text, null for what is unknown."""
    parts: list[Any] = []
    for name in frame.columns:
        lead = "{" if not parts else ","
        parts += [pa.scalar(f'{lead}"{name}":', type=_TEXT), _to_json_text(pa.array(frame[name]))]
    joined = pc.binary_join_element_wise(*parts, pa.scalar("}", type=_TEXT), pa.scalar("", type=_TEXT))
    return joined.to_pylist() if len(frame) else []


def _to_json_text(values: Any) -> Any:
    """A column as JSON values, whole columns at a time: rows of a large run are many."""
    if pa.types.is_timestamp(values.type):
        quoted = _in_quotes(chunks.to_iso(values))
    elif pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        quoted = _in_quotes(_escaped(values.cast(_TEXT)))
    elif pa.types.is_integer(values.type) or pa.types.is_null(values.type):
        quoted = values.cast(_TEXT)
    else:
        raise TypeError(f"a column of {values.type} has no place in a result")
    return quoted.cast(_TEXT).fill_null("null")


def _in_quotes(values: Any) -> Any:
    mark, between = pa.scalar('"', type=_TEXT), pa.scalar("", type=_TEXT)
    return pc.binary_join_element_wise(mark, values.cast(_TEXT), mark, between)


def _escaped(values: Any) -> Any:
    if pc.any(pc.match_substring_regex(values, r"[\x00-\x1f]")).as_py():
        encoder = msgspec.json.Encoder()
        inner = [None if text is None else encoder.encode(text).decode()[1:-1] for text in values.to_pylist()]
        return pa.array(inner, type=_TEXT)
    return pc.replace_substring(pc.replace_substring(values, "\\", "\\\\"), '"', '\\"')


def _days(values: Any) -> Sequence[Any]:
    return [None if pd.isna(value) else value.date() for value in values]


def _plain(values: Any) -> Sequence[Any]:
    """A column as plain Python values with None for what is missing."""
    return values.astype(object).where(values.notna(), None).tolist()  # type: ignore[no-any-return]
