"""A run's result as rows of tables: payouts with their report columns as JSON, findings, chunks of the rest; pure."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from reconcile import chunks
from reconcile.exceptions import exception_id
from reconcile.rules.inputs import Result

Rows = list[dict[str, Any]]
ROWS_AT_ONCE = 20_000
_TEXT = pa.large_string()


def payout_rows(result: Result, connection: str, run_id: str) -> Iterator[Rows]:
    for frame, columns in _slices(result.payouts):
        typed = zip(*(_plain(frame[name]) for name in ("payout_id", "status_recon", "difference")), strict=True)
        days = _days(frame["payout_date"])
        yield [
            {
                "connection": connection, "run_id": run_id, "payout_id": payout_id, "payout_date": day,
                "status_recon": status, "difference": difference, "columns": text,
            }
            for (payout_id, status, difference), day, text in zip(typed, days, columns, strict=True)
        ]  # fmt: skip


def chunk_rows(result: Result, connection: str, run_id: str) -> Iterator[Rows]:
    """Give one chunk at a time, so that a large run is never packed as a whole."""
    own = {"connection": connection, "run_id": run_id}
    for packed in (chunks.pack_lines(result.lines, result.payouts), chunks.pack_documents(result.documents)):
        yield from ([own | chunk] for chunk in packed)


def finding_rows(result: Result, connection: str, run_id: str) -> Iterator[Rows]:
    if result.findings:
        yield [
            {
                "connection": connection, "run_id": run_id, "code": found.code, "severity": found.severity,
                "exception_id": exception_id(connection, found.code, found.subject), "subject": found.subject,
                "amount_at_risk": found.amount_at_risk, "currency": found.currency,
            }
            for found in result.findings
        ]  # fmt: skip


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
