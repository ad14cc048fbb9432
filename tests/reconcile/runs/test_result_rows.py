"""Result rows as they are kept: JSON of every report column, exact for any text."""

import json
from datetime import UTC, date, datetime

import pandas as pd

from reconcile.rules.inputs import DAY, MOMENT, MONEY, TEXT, to_types
from reconcile.runs.publication import to_json

MOMENTS = [
    datetime(2026, 9, 10, 15, tzinfo=UTC),
    datetime(2026, 9, 10, 15, 0, 0, 123000, tzinfo=UTC),
    None,
    datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC),
]
DAYS = [date(2026, 9, 10), None, date(2026, 12, 31), date(2026, 1, 1)]


def test_every_kind_of_cell_becomes_json() -> None:
    """Amounts are whole numbers, moments and days ISO text, unknown cells null, any text survives."""
    frame = pd.DataFrame({
        "amount": pd.array([9_007_199_254_740_993, -5, None, 0], dtype="Int64"),
        "moment": pd.Series(MOMENTS).astype("datetime64[us, UTC]"),
        "day": pd.Series(DAYS).astype("datetime64[us]"),
        "text": ['a "quoted" \\ back', "", None, "Ñ\nline\ttab\x01"],
        "plain": ['say "x"', "C:\\temp", None, "null"],
        "empty": [None, None, None, None],
    })  # fmt: skip
    schema = {"amount": MONEY, "moment": MOMENT, "day": DAY, "text": TEXT, "plain": TEXT, "empty": TEXT}
    rows = [json.loads(text) for text in to_json(to_types(frame, schema))]
    assert rows == [
        {"amount": 9007199254740993, "moment": "2026-09-10T15:00:00Z", "day": "2026-09-10",
         "text": 'a "quoted" \\ back', "plain": 'say "x"', "empty": None},
        {"amount": -5, "moment": "2026-09-10T15:00:00.123000Z", "day": None,
         "text": "", "plain": "C:\\temp", "empty": None},
        {"amount": None, "moment": None, "day": "2026-12-31", "text": None, "plain": None, "empty": None},
        {"amount": 0, "moment": "2026-01-01T00:00:10Z", "day": "2026-01-01",
         "text": "Ñ\nline\ttab\x01", "plain": "null", "empty": None},
    ]  # fmt: skip


def test_no_rows_give_no_json() -> None:
    """An empty result has no rows."""
    assert to_json(to_types(pd.DataFrame({"a": []}), {"a": TEXT})) == []
