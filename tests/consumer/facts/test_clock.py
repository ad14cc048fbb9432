"""Durations as a person says them."""

from datetime import timedelta

import pytest

from consumer.facts.clock import format_duration


@pytest.mark.parametrize(
    ("duration", "shown"),
    [
        (timedelta(), "0 seconds"),
        (timedelta(seconds=-3), "0 seconds"),
        (timedelta(seconds=1), "1 second"),
        (timedelta(seconds=59.6), "1 minute"),
        (timedelta(minutes=90), "1 hour 30 minutes"),
        (timedelta(days=2), "2 days"),
        (timedelta(days=1, seconds=5), "1 day 5 seconds"),
        (timedelta(days=49, hours=17, minutes=12, seconds=3), "49 days 17 hours"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_parts(duration: timedelta, shown: str) -> None:
    """Seconds and microseconds of a day are noise; nothing is less than zero."""
    assert format_duration(duration) == shown
