"""The time of day that a line shows."""

import pandas as pd

from reconcile.rules.columns import format_clock_times


def test_the_time_of_day_is_cut_to_seconds() -> None:
    """Parts of a second are left out and never round up to the next day; an unknown moment has no time."""
    moments = pd.Series(pd.to_datetime(["2026-09-10T23:59:59.999999", "2026-09-10T00:00:00.000000", "NaT"]))
    shown = format_clock_times(moments.astype("datetime64[us]"))
    assert str(shown.dtype) == "str"
    assert [None if pd.isna(text) else text for text in shown] == ["23:59:59", "00:00:00", None]
