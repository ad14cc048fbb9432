"""A reading of the event log that was killed or failed is gone on with; what a run asks for otherwise is read anew."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from consumer.facts.clock import utc_now
from consumer.facts.completeness import Way, complete_until, percentiles
from consumer.facts.installation import Installation
from consumer.facts.tables.sync import Window
from consumer.facts.work import Completion
from consumer.provider.client import Provider
from consumer.sync.backfill import A_NIGHT_BACK, read_log
from consumer.sync.windows import all_windows
from tests.consumer.sync.conftest import gaps, stored

SETTLED = datetime(2026, 10, 1, 2, 59, tzinfo=UTC)
TEN_DAYS_AGO = datetime(2026, 9, 21, 2, 59, tzinfo=UTC)
BROKEN = httpx.Response(500, json={"error": {"type": "api_error", "code": "internal_server_error"}})


class Runs:
    """Runs over one log, counted together; `lost` is how many requests died with the process that made them."""

    def __init__(self, installation: Installation, provider: Provider, log_server: Any) -> None:
        self._run = installation, provider
        self._server = log_server
        self.lost = 0

    def kill(self, at: int, **asked: Any) -> None:
        """Let a run die at this request of its own, with all that its threads ask from then on."""
        begun = len(self._server.asked)

        def die(_query: dict[str, str]) -> None:
            if len(self._server.asked) >= begun + at:
                self.lost += 1
                raise SystemExit

        self._server.before = die
        with pytest.raises(SystemExit):
            read_log(*self._run, **asked)
        self._server.before = lambda _query: None

    def finish(self, **asked: Any) -> int:
        """Run to the end and answer how many requests that took."""
        begun = len(self._server.asked)
        assert read_log(*self._run, **asked).status is Completion.DONE
        return len(self._server.asked) - begun

    @property
    def answered(self) -> int:
        return len(self._server.asked) - self.lost


@pytest.fixture
def runs(installation: Installation, provider: Provider, log_server: Any) -> Runs:
    """A page for each event, so that the log's ten days are 80 pages in 16 windows, each read twice."""
    log_server.page_size = 1
    return Runs(installation, provider, log_server)


def make_older(installation: Installation, age: timedelta) -> None:
    """Let the windows have been opened that much earlier."""
    with installation.store.transaction() as session:
        for window in all_windows(session, "main", "events"):
            window.opened_at -= age
            session.add(window)


def everything(count: int) -> list[str]:
    return sorted(f"evt_{number}" for number in range(count))


def test_a_reading_with_a_date_asks_80_pages(runs: Runs, installation: Installation) -> None:
    """What the tests below are measured against: a look at the clock and 80 pages."""
    assert runs.finish(since=TEN_DAYS_AGO) == 1 + 80
    assert sorted(stored(installation)) == everything(40)


@pytest.mark.parametrize(("first", "second"), [(2, 2), (10, 40), (30, 20), (60, 15)])
def test_a_reading_with_a_date_killed_twice_goes_on_where_it_was(
    runs: Runs, installation: Installation, first: int, second: int
) -> None:
    """A kill costs a look at the clock and at most a page a window; the gaps listed in between are what was left."""
    runs.kill(first, since=TEN_DAYS_AGO)
    assert {gap.state for gap in gaps(installation)} == {"open"}
    runs.kill(second, since=TEN_DAYS_AGO)
    assert 0 < len(gaps(installation)) <= 16
    runs.finish(since=TEN_DAYS_AGO)
    assert runs.answered == 80 + 3
    assert runs.lost <= 2 * 16
    assert sorted(stored(installation)) == everything(40)
    assert gaps(installation) == []
    with installation.store.reading() as session:
        assert complete_until(session, "main", "events") == SETTLED
        assert len(all_windows(session, "main", "events")) == 16


def test_a_first_run_without_dates_killed_twice_goes_on_where_it_was(runs: Runs, installation: Installation) -> None:
    """Of the last hour nothing is asked again either: the next run reads it."""
    runs.kill(25)
    runs.kill(25)
    runs.finish()
    # The clock each time, five steps back to where the log begins, 40 events and seven windows without any.
    assert runs.answered == 3 + 5 + 80 + 14
    assert sorted(stored(installation)) == everything(40)


def test_a_night_killed_twice_goes_on_where_it_was(runs: Runs, installation: Installation) -> None:
    """The seven days that a night reads again are read again once, not once for each kill."""
    runs.finish()
    unharmed = runs.finish(back=A_NIGHT_BACK)
    assert unharmed == 1 + 56
    begun = runs.answered
    runs.kill(20, back=A_NIGHT_BACK)
    runs.kill(20, back=A_NIGHT_BACK)
    runs.finish(back=A_NIGHT_BACK)
    assert runs.answered - begun == 3 + 56
    assert gaps(installation) == []


def test_time_that_passed_since_the_kill_is_read_too(runs: Runs, installation: Installation, log_server: Any) -> None:
    """Two hours later the run goes on and adds one window of those two hours, which have an event."""
    runs.kill(20, since=TEN_DAYS_AGO)
    log_server.now += timedelta(hours=2)
    log_server.add(100, SETTLED + timedelta(hours=1))
    runs.finish(since=TEN_DAYS_AGO)
    assert runs.answered == 2 + 80 + 2
    assert sorted(stored(installation)) == sorted([*everything(40), "evt_100"])
    with installation.store.reading() as session:
        assert complete_until(session, "main", "events") == SETTLED + timedelta(hours=2)


def test_an_event_late_by_less_than_the_overlap_is_found_after_a_kill(
    runs: Runs, installation: Installation, log_server: Any
) -> None:
    """What the list shows late of a window that was closed before the kill is found by the run after, as ever."""
    close_newest_and_kill(runs, installation)
    log_server.add(100, SETTLED - timedelta(minutes=30))
    log_server.now += timedelta(minutes=50)
    runs.finish()
    assert "evt_100" in sorted(stored(installation))


def close_newest_and_kill(runs: Runs, installation: Installation) -> None:
    """Leave a first run's newest window closed and another one open."""
    runs.kill(8)
    with installation.store.transaction() as session:
        windows = all_windows(session, "main", "events")
        newest = max(windows, key=lambda window: window.until)
        newest.state, newest.cursor, newest.closed_at = "closed", None, newest.opened_at
        session.add(newest)


@pytest.mark.parametrize(
    ("since", "until", "more"),
    [
        # Narrower: nothing new is asked, and all that was left open is read.
        (TEN_DAYS_AGO + timedelta(days=5), None, 0),
        # Wider by ten days without events: sixteen windows more, each read twice.
        (TEN_DAYS_AGO - timedelta(days=10), None, 32),
        # Apart: the day before, four windows of six hours.
        (TEN_DAYS_AGO - timedelta(days=1), TEN_DAYS_AGO, 8),
    ],
)
def test_another_range_goes_on_too(
    runs: Runs, installation: Installation, since: datetime, until: datetime | None, more: int
) -> None:
    """After a kill, a run of another range asks for what was left open and for what was not asked for yet."""
    runs.kill(40, since=TEN_DAYS_AGO)
    runs.finish(since=since, until=until)
    assert runs.answered == 2 + 80 + more
    assert sorted(stored(installation)) == everything(40)


def test_a_reading_that_ended_is_read_anew(runs: Runs, installation: Installation, log_server: Any) -> None:
    """The same range asked again reads all of it again: so an event that was shown weeks late is mended."""
    runs.kill(20, since=TEN_DAYS_AGO)
    runs.finish(since=TEN_DAYS_AGO)
    log_server.add(100, TEN_DAYS_AGO + timedelta(hours=10))
    assert runs.finish(since=TEN_DAYS_AGO) == 1 + 80 + 2
    assert sorted(stored(installation)) == sorted([*everything(40), "evt_100"])


def test_a_reading_killed_more_than_a_day_ago_is_read_anew(
    runs: Runs, installation: Installation, log_server: Any
) -> None:
    """What was closed two days ago is asked again, and what was left open is still read to its end, once."""
    runs.kill(40, since=TEN_DAYS_AGO)
    make_older(installation, timedelta(days=2))
    log_server.add(100, SETTLED - timedelta(minutes=30))
    runs.finish(since=TEN_DAYS_AGO)
    assert "evt_100" in sorted(stored(installation))
    assert gaps(installation) == []


def test_the_answer_says_that_the_run_went_on(runs: Runs, installation: Installation, provider: Provider) -> None:
    """Who asked for a range hears that parts of it were read by an earlier run, and when that began."""
    runs.kill(20, since=TEN_DAYS_AGO)
    with installation.store.transaction() as session:
        opened = sa.update(Window).values(opened_at=utc_now().replace(microsecond=0) - timedelta(hours=3))
        session.execute(opened)
        (began,) = {window.opened_at for window in all_windows(session, "main", "events")}
    (result,) = read_log(installation, provider, since=TEN_DAYS_AGO).results
    assert result.state == "complete"
    assert result.reason == f"went on with the reading of {began:%Y-%m-%dT%H:%M:%SZ}"
    (result,) = read_log(installation, provider, since=TEN_DAYS_AGO).results
    assert result.reason is None


def test_a_window_that_fails_does_not_keep_the_others_from_being_read_again(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """Days after one window failed, the same range is read anew around it, and it is finished where it was."""

    def break_one(query: dict[str, str]) -> httpx.Response | None:
        return BROKEN if query.get("since", "").startswith("2026-09-28T03:59:59") else None

    log_server.before = break_one
    since = datetime(2026, 9, 28, 4, tzinfo=UTC)
    assert read_log(installation, provider, since=since).status is Completion.PARTLY_DONE
    log_server.add(100, SETTLED - timedelta(hours=20))
    log_server.before = lambda _query: None
    make_older(installation, timedelta(days=2))
    assert read_log(installation, provider, since=since).status is Completion.DONE
    assert "evt_100" in sorted(stored(installation))
    assert gaps(installation) == []


def test_a_run_without_dates_reads_what_one_with_a_date_did_not(
    runs: Runs, installation: Installation, log_server: Any
) -> None:
    """After the last five days by hand, a first run asks for what lies before them and for the last hour again."""
    since = TEN_DAYS_AGO + timedelta(days=5)
    assert runs.finish(since=since) == 1 + 40
    log_server.asked.clear()
    runs.finish()
    again = [query for query in log_server.asked if query.get("since", "") >= "2026-09-26T02:59:00Z"]
    assert again == [{"limit": "300", "until": "2026-10-01T02:59:01Z", "since": "2026-10-01T01:58:59Z"}] * 2
    # The clock, four steps back, twenty events and seven windows without any, each read twice, and the last hour.
    assert len(log_server.asked) == 1 + 4 + 40 + 14 + 2
    assert sorted(stored(installation)) == everything(40)


def test_a_hole_between_two_ranges_is_found_by_a_run_without_dates(
    runs: Runs, installation: Installation, log_server: Any
) -> None:
    """What lies between ranges that were read is asked for with an hour before it, and nothing else but the end."""
    runs.finish(until=TEN_DAYS_AGO)
    runs.finish(since=TEN_DAYS_AGO + timedelta(days=2))
    log_server.asked.clear()
    runs.finish()
    assert len(sorted(stored(installation))) == 40
    bounds = {(query["since"], query["until"]) for query in log_server.asked[1:]}
    assert min(bounds) == ("2026-09-21T01:58:59Z", "2026-09-21T08:06:31Z")
    assert sorted(bounds)[-2:] == [
        ("2026-09-22T20:51:29Z", "2026-09-23T02:59:01Z"),
        ("2026-10-01T01:58:59Z", "2026-10-01T02:59:01Z"),
    ]


def test_old_events_of_a_first_run_are_not_called_late(runs: Runs, installation: Installation) -> None:
    """What lies before a range that was read by hand is old, and makes no overlap longer."""
    runs.finish(since=TEN_DAYS_AGO + timedelta(days=9))
    runs.finish()
    with installation.store.reading() as session:
        assert percentiles(session, "main", Way.LIST, now=utc_now()) is None
