"""Streams that end before the running day are named, with the reason and what to do."""

from datetime import UTC, datetime

from click.testing import CliRunner

from consumer.commands.gaps import gaps
from consumer.facts.house import House
from consumer.facts.tables.sync import Checkpoint, Window
from consumer.sync.reach import short_of_today

NOW = datetime(2026, 10, 5, 15, tzinfo=UTC)


def note(house: House, stream: str, reached: datetime | None, pulled_at: datetime) -> None:
    with house.store.transaction() as session:
        session.add(Checkpoint(connection="main", stream=stream, complete_until=reached, pulled_at=pulled_at))


def told(house: House, *, now: datetime = NOW) -> list[str]:
    with house.store.reading() as session:
        return [str(short) for short in short_of_today(session, house.settings.connection("main"), now=now)]


def test_a_stream_that_reaches_today_is_not_named(house: House) -> None:
    """Data of the running day, however early, is today's; the UTC day begins before the Chilean."""
    note(house, "payouts", datetime(2026, 10, 5, 0, 0, 1, tzinfo=UTC), NOW)
    assert told(house) == []


def test_streams_nobody_read_today_are_named_with_what_to_do(house: House) -> None:
    """Two streams of yesterday's night share a sentence that names the command."""
    night = datetime(2026, 10, 4, 6, 20, 30, tzinfo=UTC)
    note(house, "payouts", datetime(2026, 10, 4, 6, 15, tzinfo=UTC), night)
    note(house, "refunds", datetime(2026, 10, 4, 6, 16, tzinfo=UTC), night)
    (short,) = told(house)
    assert short == (
        "2 streams reach no further than 2026-10-04T06:16:00Z: last read 2026-10-04T06:20:30Z: "
        "cuadre backfill and cuadre pull all (payouts refunds)"
    )


def test_of_many_streams_some_are_named_and_all_are_listed_below(house: House) -> None:
    """A line of the doctor stays a line; `cuadre gaps` lists them all under its sentence."""
    night = datetime(2026, 10, 4, 6, 20, tzinfo=UTC)
    for stream in ("account-movements", "charges", "disputes", "payouts", "refunds"):
        note(house, stream, night, night)
    (short,) = told(house)
    assert short.endswith("cuadre backfill and cuadre pull all (account-movements charges disputes and 2 more)")
    shown = CliRunner().invoke(gaps, [], obj=lambda: house)
    assert shown.stderr.splitlines()[-1] == "  account-movements charges disputes payouts refunds"


def test_a_provider_whose_clock_stands_behind_is_the_hint(house: House) -> None:
    """A stream read today that ends days ago points at the provider's clock."""
    note(house, "events", datetime(2026, 10, 1, 14, 58, tzinfo=UTC), datetime(2026, 10, 5, 14, 58, tzinfo=UTC))
    (short,) = told(house)
    assert short == (
        "events reaches no further than 2026-10-01T14:58:00Z: read today, but the provider's clock stood 4 days "
        "behind this machine's"
    )


def test_what_a_gap_holds_back_is_not_laid_to_the_clock(house: House) -> None:
    """A stream with a window that is not closed is told by that window alone."""
    note(house, "events", datetime(2026, 10, 1, 14, 58, tzinfo=UTC), datetime(2026, 10, 5, 14, 58, tzinfo=UTC))
    with house.store.transaction() as session:
        session.add(Window(connection="main", stream="events", until=NOW, state="failed", opened_at=NOW))
    assert told(house) == []


def test_the_list_of_gaps_says_it_beside_an_empty_list(house: House) -> None:
    """`cuadre gaps` prints no row and names the stream on the other channel."""
    note(house, "payouts", datetime(2026, 10, 4, tzinfo=UTC), datetime(2026, 10, 4, tzinfo=UTC))
    shown = CliRunner().invoke(gaps, ["--json"], obj=lambda: house)
    assert shown.exit_code == 0
    assert shown.stdout == ""
    assert shown.stderr.startswith("main: payouts reaches no further than 2026-10-04T00:00:00Z: last read 2026-10-04")
