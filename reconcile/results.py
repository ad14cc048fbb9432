"""A run's result as rows of tables: typed columns that queries need, and all report columns as JSON; pure."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pandas as pd
from pandas import DataFrame

from consumer.facts.clock import format_instant
from reconcile.exceptions import exception_id
from reconcile.rules.inputs import Result

Rows = list[dict[str, Any]]


def payout_rows(result: Result, connection: str, run_id: str) -> Rows:
    frame = result.payouts
    typed = zip(*(_plain(frame[name]) for name in ("payout_id", "status_recon", "difference")), strict=True)
    days = _days(frame["payout_date"])
    return [
        {
            "connection": connection, "run_id": run_id, "payout_id": payout_id, "payout_date": day,
            "status_recon": status, "difference": difference, "columns": columns,
        }
        for (payout_id, status, difference), day, columns in zip(typed, days, to_json(frame), strict=True)
    ]  # fmt: skip


def line_rows(result: Result, connection: str, run_id: str) -> Rows:
    frame = result.lines
    names = ("payout_id", "resource_type", "resource_id", "doc_key", "outcome")
    typed = zip(*(_plain(frame[name]) for name in names), strict=True)
    dates = dict(zip(result.payouts["payout_id"], _days(result.payouts["payout_date"]), strict=True))
    bodies = to_json(frame.drop(columns=["doc_key"]))
    return [
        {
            "connection": connection, "run_id": run_id, "position": position, "payout_id": values[0],
            "payout_date": dates.get(values[0]), "resource_type": values[1], "resource_id": values[2],
            "doc_key": values[3], "outcome": values[4], "columns": columns,
        }
        for position, (values, columns) in enumerate(zip(typed, bodies, strict=True))
    ]  # fmt: skip


def document_rows(result: Result, connection: str, run_id: str) -> Rows:
    frame = result.documents
    names = ("doc_key", "outcome", "paid", "credited", "balance")
    typed = zip(*(_plain(frame[name]) for name in names), strict=True)
    return [
        dict(zip(names, values, strict=True)) | {"connection": connection, "run_id": run_id, "columns": columns}
        for values, columns in zip(typed, to_json(frame), strict=True)
    ]


def finding_rows(result: Result, connection: str, run_id: str) -> Rows:
    return [
        {
            "connection": connection, "run_id": run_id, "code": found.code, "severity": found.severity,
            "exception_id": exception_id(connection, found.code, found.subject), "subject": found.subject,
            "amount_at_risk": found.amount_at_risk, "currency": found.currency,
        }
        for found in result.findings
    ]  # fmt: skip


def to_json(frame: DataFrame) -> Iterator[str]:
    """One JSON object per row: money in minor units, moments and days as ISO text, null for what is unknown."""
    names = list(frame.columns)
    encoder = msgspec.json.Encoder()
    for values in zip(*(_plain(frame[name]) for name in names), strict=True):
        yield encoder.encode(dict(zip(names, values, strict=True))).decode()


def _days(values: Any) -> Sequence[Any]:
    return [None if pd.isna(value) else value.date() for value in values]


def _plain(values: Any) -> Sequence[Any]:
    """A column as plain Python values with None for what is missing."""
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        return [None if value is pd.NaT else format_instant(value) for value in values.dt.to_pydatetime()]
    if pd.api.types.is_datetime64_dtype(values.dtype):
        return values.dt.strftime("%Y-%m-%d").astype(object).where(values.notna(), None).tolist()  # type: ignore[no-any-return]
    return values.astype(object).where(values.notna(), None).tolist()  # type: ignore[no-any-return]
