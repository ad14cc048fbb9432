"""Streams that end before the running day are named, with the reason and what to do."""

from datetime import UTC, datetime

from click.testing import CliRunner

from consumer.commands.sync import gaps
from consumer.facts.installation import Installation
from consumer.facts.tables.sync import Checkpoint, Window
from consumer.sync.reach import short_of_today

NOW = datetime(2026, 10, 5, 15, tzinfo=UTC)


def note(installation: Installation, stream: str, reached: datetime | None, pulled_at: datetime) -> None:
    with installation.store.transaction() as session:
        session.add(Checkpoint(connection="main", stream=stream, complete_until=reached, pulled_at=pulled_at))


def reported(installation: Installation, *, now: datetime = NOW) -> list[str]:
    with installation.store.reading() as session:
        return [str(short) for short in short_of_today(session, installation.settings.connection("main"), now=now)]


def test_a_stream_that_reaches_today_is_not_named(installation: Installation) -> None:
    """Data of the running day, however early, is today's; the UTC day begins before the Chilean."""
    note(installation, "payouts", datetime(2026, 10, 5, 0, 0, 1, tzinfo=UTC), NOW)
    assert reported(installation) == []


def test_streams_nobody_read_today_are_named_with_what_to_do(installation: Installation) -> None:
    """Two streams of yesterday's night share a sentence that names the command."""
    night = datetime(2026, 10, 4, 6, 20, 30, tzinfo=UTC)
    note(installation, "payouts", datetime(2026, 10, 4, 6, 15, tzinfo=UTC), night)
    note(installation, "refunds", datetime(2026, 10, 4, 6, 16, tzinfo=UTC), night)
    (short,) = reported(installation)
    assert short == (
        "2 streams reach no further than 2026-10-04T06:16:00Z: last read 2026-10-04T06:20:30Z: "
        "cuadre backfill and cuadre pull all (payouts refunds)"
    )


def test_of_many_streams_some_are_named_and_all_are_listed_below(installation: Installation) -> None:
    """A line of the doctor stays a line; `cuadre gaps` lists them all under its sentence."""
    night = datetime(2026, 10, 4, 6, 20, tzinfo=UTC)
    for stream in ("account-movements", "charges", "disputes", "payouts", "refunds"):
        note(installation, stream, night, night)
    (short,) = reported(installation)
    assert short.endswith("cuadre backfill and cuadre pull all (account-movements charges disputes and 2 more)")
    shown = CliRunner().invoke(gaps, [], obj=lambda: installation)
    assert shown.stderr.splitlines()[-1] == "  account-movements charges disputes payouts refunds"


def test_a_provider_whose_clock_stands_behind_is_the_hint(installation: Installation) -> None:
    """A stream read today that ends days ago points at the provider's clock."""
    note(installation, "events", datetime(2026, 10, 1, 14, 58, tzinfo=UTC), datetime(2026, 10, 5, 14, 58, tzinfo=UTC))
    (short,) = reported(installation)
    assert short == (
        "events reaches no further than 2026-10-01T14:58:00Z: read today, but the provider's clock stood 4 days "
        "behind this machine's"
    )


def test_what_a_gap_holds_back_is_not_laid_to_the_clock(installation: Installation) -> None:
    """A stream with a window that is not closed is told by that window alone."""
    note(installation, "events", datetime(2026, 10, 1, 14, 58, tzinfo=UTC), datetime(2026, 10, 5, 14, 58, tzinfo=UTC))
    with installation.store.transaction() as session:
        session.add(Window(connection="main", stream="events", until=NOW, state="failed", opened_at=NOW))
    assert reported(installation) == []


def test_the_list_of_gaps_says_it_beside_an_empty_list(installation: Installation) -> None:
    """`cuadre gaps` prints no row and names the stream on the other channel."""
    note(installation, "payouts", datetime(2026, 10, 4, tzinfo=UTC), datetime(2026, 10, 4, tzinfo=UTC))
    shown = CliRunner().invoke(gaps, ["--json"], obj=lambda: installation)
    assert shown.exit_code == 0
    assert shown.stdout == ""
    assert shown.stderr.startswith("main: payouts reaches no further than 2026-10-04T00:00:00Z: last read 2026-10-04")
