"""When a run may call something missing: each stream reaches the as-of day, whatever our own clock says."""

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta

import pytest

from reconcile.reading.gaps import Asked, Listed, clock_of_provider, find_gaps
from reconcile.rules.streams import NEEDED, STREAMS

ZONE = "America/Santiago"
AS_OF = date(2026, 10, 1)
SETTLE = timedelta(seconds=60)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _gaps(
    reached: dict[str, datetime | None],
    *,
    as_of: date = AS_OF,
    asked: tuple[Asked, ...] = (),
    listed: tuple[Listed, ...] = (),
    zone: str = ZONE,
    provider_now: datetime | None = None,
    left_out: Collection[str] = (),
) -> list[tuple[str, str]]:
    found = find_gaps(
        as_of,
        zone,
        reached=reached,
        asked=asked,
        listed=listed,
        settle=SETTLE,
        provider_now=provider_now,
        left_out=left_out,
    )
    return list(zip(found["stream"], found["reason"], strict=True))


def _all(until: str, **other: str) -> dict[str, datetime | None]:
    return {stream: _at(other.get(stream, until)) for stream in NEEDED}


@pytest.mark.parametrize("zone", ["America/Santiago", "America/Mexico_City"])
def test_data_pulled_at_the_first_moment_of_the_day_is_todays(zone: str) -> None:
    """At three in the morning UTC of the first of October, the day has begun by one of its two calendars."""
    assert _gaps(_all("2026-10-01T02:59:00"), zone=zone) == []


def test_yesterdays_data_is_not_todays() -> None:
    """A stream that ends before the as-of day is a gap."""
    gaps = _gaps(_all("2026-10-01T12:00:00", refunds="2026-09-30T12:00:00"))
    assert gaps == [("refunds", 'note.read_up_to {"until":"2026-09-30T12:00:00Z"}')]


def test_a_day_is_over_when_one_stream_has_seen_its_last_moment_settle() -> None:
    """In Santiago it ends at three UTC: a stream at a minute before has it whole, a second earlier it is unknown."""
    others = "2026-10-01T12:00:00"
    over = _gaps(_all(others, refunds="2026-10-02T02:59:00"))
    assert [stream for stream, _ in over] == [stream for stream in STREAMS if stream in NEEDED and stream != "refunds"]
    assert _gaps(_all(others, refunds="2026-10-02T02:58:59")) == []


def test_a_short_list_of_items_is_a_gap_at_its_payouts_moment() -> None:
    """It holds the payout's own moment and nothing after it; without that moment it is open on both sides."""
    noon = _at("2026-09-30T12:00:00")
    listed = [Listed("po_1", noon, 3, 2), Listed("po_2", None, 3, 2), Listed("po_3", noon, 3, 3)]
    found = find_gaps(AS_OF, ZONE, reached=_all("2026-10-01T12:00:00"), asked=(), listed=listed, settle=SETTLE)
    assert found["payout_id"].tolist() == ["po_1", "po_2"]
    assert set(found["stream"]) == {"payout-items"}
    assert (found["since"][0], found["until"][0]) == (noon, noon + timedelta(microseconds=1))
    assert found[["since", "until"]].loc[1].isna().all()


def test_a_day_that_is_over_must_be_whole() -> None:
    """Once any stream has passed the end of the day, the others must reach it too."""
    ends = "2026-10-02T03:00:00"
    assert _gaps(_all("2026-10-02T02:59:00")) == []
    gaps = _gaps(_all(ends, disputes="2026-10-01T18:00:00"))
    assert gaps == [("disputes", 'note.read_up_to {"until":"2026-10-01T18:00:00Z"}')]


def test_a_day_ahead_of_all_data_is_incomplete() -> None:
    """A run for next week on today's data says so for every stream."""
    assert [stream for stream, _ in _gaps(_all("2026-10-01T12:00:00"), as_of=date(2026, 10, 8))] == list(NEEDED)


def test_a_day_over_by_the_providers_clock_must_be_whole() -> None:
    """Four days later, data read at noon of the day does not pass for all of it."""
    read = [(moment, _at("2026-10-01T12:00:10")) for moment in _all("2026-10-01T12:00:00").values()]
    now = clock_of_provider(read, now=_at("2026-10-05T09:00:00"))

    assert now == _at("2026-10-05T08:59:50")
    assert [stream for stream, _ in _gaps(_all("2026-10-01T12:00:00"), provider_now=now)] == list(NEEDED)


def test_a_provider_whose_clock_stands_weeks_behind_is_not_over() -> None:
    """A sandbox read a minute ago stands where it stood, however late it is here."""
    read = [(moment, _at("2026-11-21T09:00:00")) for moment in _all("2026-10-01T12:00:00").values()]
    now = clock_of_provider(read, now=_at("2026-11-21T09:01:00"))

    assert now == _at("2026-10-01T12:01:00")
    assert _gaps(_all("2026-10-01T12:00:00"), provider_now=now) == []


def test_a_stream_never_read_is_a_gap() -> None:
    """What was not pulled may hold anything."""
    reached = _all("2026-10-01T12:00:00")
    del reached["charges"]
    assert _gaps(reached) == [("charges", "note.never_read")]


def test_a_stream_that_is_not_offered_is_no_gap() -> None:
    """A product the merchant never bought holds nothing that could be missing."""
    reached = _all("2026-10-01T12:00:00")
    reached["charges"] = None

    assert _gaps(reached, left_out={"charges"}) == []
    assert _gaps(reached) == [("charges", "note.not_complete")]


def test_a_window_that_is_not_closed_is_a_gap() -> None:
    """Failed windows count with their reason, unless they begin after the day; open ones where the stream is short."""
    before = Asked("events", _at("2026-09-01T00:00:00"), _at("2026-09-02T00:00:00"), "503 three times")
    after = Asked("payouts", _at("2026-10-05T00:00:00"), _at("2026-10-06T00:00:00"), None)
    assert _gaps(_all("2026-10-01T12:00:00"), asked=(before, after)) == [("events", "503 three times")]
    first = Asked("refunds", None, _at("2026-10-01T13:00:00"), None)
    assert _gaps(_all("2026-10-01T12:00:00", refunds="2026-09-30T12:00:00"), asked=(first,)) == [
        ("refunds", "note.not_read_to_end")
    ]


def test_a_window_that_is_read_again_is_no_gap() -> None:
    """Another process reads anew what is complete already: the run of this one is whole."""
    again = Asked("payouts", _at("2026-09-03T00:00:00"), _at("2026-10-01T13:00:00"), None)
    assert _gaps(_all("2026-10-01T12:00:00"), asked=(again,)) == []


def test_payouts_whose_items_are_short_or_unlisted_are_gaps() -> None:
    """Each payout says how many items it has; where none is said, what is there is taken."""
    listed = (
        Listed("po_1", _at("2026-09-30T18:00:00"), 3, 2),
        Listed("po_2", _at("2026-09-30T18:00:00"), None, None),
        Listed("po_3", _at("2026-09-30T18:00:00"), None, 4),
    )
    assert _gaps(_all("2026-10-01T12:00:00"), listed=listed) == [
        ("payout-items", 'note.items_short {"payout":"po_1","announced":3,"kept":2}'),
        ("payout-items", 'note.items_never_listed {"payout":"po_2"}'),
    ]


FURTHER = [name for name, gate in STREAMS.items() if not gate.is_needed and name != "payout-items"]


@pytest.mark.parametrize("stream", FURTHER)
def test_a_further_stream_is_a_gap_once_it_was_asked_for(stream: str) -> None:
    """Who has no business accounts never asks for them; what was asked for must reach the day like any other."""
    reached = _all("2026-10-01T12:00:00")
    assert _gaps(reached) == []
    assert _gaps(reached | {stream: _at("2026-09-30T12:00:00")}) == [
        (stream, 'note.read_up_to {"until":"2026-09-30T12:00:00Z"}')
    ]
    failed = Asked(stream, None, _at("2026-10-01T12:00:00"), "503 three times")
    assert _gaps(reached, asked=(failed,)) == [(stream, "503 three times")]
    assert _gaps(reached, asked=(failed,), left_out={stream}) == []


def test_a_further_stream_pulled_on_the_day_and_empty_is_no_gap() -> None:
    """A merchant without business accounts pulls their lists, finds nothing and is complete."""
    assert _gaps(_all("2026-10-01T12:00:00") | dict.fromkeys(FURTHER, _at("2026-10-01T06:15:00"))) == []
