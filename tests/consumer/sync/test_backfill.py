"""The event log read in windows, against a list server that misbehaves as asked."""

import threading
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import httpx
import pytest

from consumer.facts.completeness import complete_until
from consumer.facts.installation import Installation
from consumer.facts.tables.inbox import Event
from consumer.facts.work import Completion
from consumer.provider.client import RETRIES, Provider
from consumer.sync.backfill import read_log
from consumer.sync.windows import all_windows
from tests.consumer.sync.conftest import gaps, stored

SETTLED = datetime(2026, 10, 1, 2, 59, tzinfo=UTC)
LAST_DAY = datetime(2026, 9, 30, 3, tzinfo=UTC)
REFUSED = httpx.Response(401, json={"error": {"type": "authentication_error", "code": "invalid_api_key"}})
BROKEN = httpx.Response(500, json={"error": {"type": "api_error", "code": "internal_server_error"}})


def reached(installation: Installation) -> datetime | None:
    with installation.store.reading() as session:
        return complete_until(session, "main", "events")


def everything(count: int) -> set[str]:
    return {f"evt_{number}" for number in range(count)}


def test_a_first_run_reads_back_to_the_end_of_the_log(installation: Installation, provider: Provider) -> None:
    """A first run from an empty database keeps every event and is complete up to the provider's settled moment."""
    outcome = read_log(installation, provider)
    assert outcome.status is Completion.DONE
    assert outcome.lines == ["main: events: complete, 80 read, 40 new or changed, 34 pages"]
    assert stored(installation) == everything(40)
    assert reached(installation) == SETTLED
    assert gaps(installation) == []


def test_events_are_kept_to_the_byte(installation: Installation, provider: Provider, log_server: Any) -> None:
    """What is stored is the provider's own text of the event, not our rendering of it."""
    read_log(installation, provider, since=LAST_DAY)
    with installation.store.reading() as session:
        body = session.get_one(Event, ("main", "evt_0")).body
    assert body == (
        b'{"id": "evt_0", "object": "event", "type": "test.made_up", "mode": "test", '
        b'"created_at": "2026-10-01T02:00:00Z"}'
    )
    assert log_server.asked[0] == {"limit": "1"}


def test_a_later_run_reads_the_overlap_and_what_is_new(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """The second run asks from an hour before the first one's end and finds what became visible late."""
    read_log(installation, provider)
    log_server.add(100, datetime(2026, 10, 1, 2, 30, tzinfo=UTC))
    log_server.add(101, datetime(2026, 10, 1, 4, 30, tzinfo=UTC))
    log_server.now += timedelta(hours=2)
    log_server.asked.clear()
    assert read_log(installation, provider).status is Completion.DONE
    assert {"evt_100", "evt_101"} <= stored(installation)
    assert {asked.get("since") for asked in log_server.asked[1:]} == {"2026-10-01T01:58:59Z"}
    assert reached(installation) == SETTLED + timedelta(hours=2)


def test_the_overlap_grows_with_measured_lateness(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """After an event that the list showed 50 minutes late, the next run reads back 100 minutes instead of 60."""
    read_log(installation, provider)
    log_server.add(100, SETTLED - timedelta(minutes=50))
    log_server.now += timedelta(hours=2)
    read_log(installation, provider)
    log_server.asked.clear()
    assert read_log(installation, provider).complete
    assert {asked.get("since") for asked in log_server.asked[1:]} == {"2026-10-01T03:18:59Z"}


def test_an_event_that_shows_between_two_reads_is_found(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """A window closes only after a repeated read that added nothing, so a late event inside it is not lost."""

    def show_late(_query: dict[str, str]) -> None:
        if len(log_server.asked) == 3:
            log_server.add(100, datetime(2026, 9, 30, 12, tzinfo=UTC))

    log_server.before = show_late
    since = datetime(2026, 9, 30, 11, tzinfo=UTC)
    assert read_log(installation, provider, since=since, until=since + timedelta(hours=4)).complete
    assert stored(installation) == {"evt_2", "evt_100"}
    assert len(log_server.asked) == 4


@pytest.mark.parametrize("kill_at", range(2, 8))
def test_a_run_killed_at_any_page_is_finished_by_the_next(
    installation: Installation, provider: Provider, log_server: Any, kill_at: int
) -> None:
    """Whichever request dies, the next run ends with the same rows and asks at most one page again."""
    log_server.page_size = 1
    since, until = datetime(2026, 9, 30, 8, tzinfo=UTC), datetime(2026, 9, 30, 21, tzinfo=UTC)

    def die(_query: dict[str, str]) -> None:
        if len(log_server.asked) == kill_at:
            raise SystemExit

    log_server.before = die
    with pytest.raises(SystemExit):
        read_log(installation, provider, since=since, until=until)
    assert gaps(installation)
    log_server.before = lambda _query: None
    outcome = read_log(installation, provider, since=until, until=until)
    assert outcome.status is Completion.DONE
    assert stored(installation) == {"evt_1", "evt_2", "evt_3"}
    # Two probes for the provider's clock and six pages; only the killed one is asked again.
    assert len(log_server.asked) == 2 + 6 + 1


def test_a_window_that_fails_stays_with_its_reason(
    installation: Installation, provider: Provider, log_server: Any, pauses: list[float]
) -> None:
    """One broken stretch is a gap with its reason; the rest closes, the exit is 3, and the next run mends it."""

    def break_one(query: dict[str, str]) -> httpx.Response | None:
        return BROKEN if query.get("since", "").startswith("2026-09-30T10:59:39") else None

    log_server.before = break_one
    outcome = read_log(installation, provider, since=LAST_DAY)
    assert outcome.status is Completion.PARTLY_DONE
    (gap,) = gaps(installation)
    assert gap.since == datetime(2026, 9, 30, 10, 59, 40, tzinfo=UTC)
    assert gap.until == datetime(2026, 9, 30, 18, 59, 20, tzinfo=UTC)
    assert gap.state == "failed"
    assert reached(installation) == gap.since
    assert gap.reason == "GET /v2/events: the provider answered 500 internal_server_error"
    assert [int(pause) for pause in pauses][:5] == [1, 2, 4, 8, 16]
    assert len(pauses) <= 15
    log_server.before = lambda _query: None
    assert read_log(installation, provider).status is Completion.DONE
    assert gaps(installation) == []
    assert reached(installation) == SETTLED


def test_a_storm_is_outlasted_while_pages_still_come(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """Where more than half of the answers are errors the run still ends complete."""
    chance = Random(7)  # noqa: S311 - a storm that is the same every time

    def storm(_query: dict[str, str]) -> httpx.Response | None:
        return BROKEN if chance.random() < 0.6 else None

    log_server.before = storm
    assert read_log(installation, provider, since=LAST_DAY).status is Completion.DONE
    assert stored(installation) == {"evt_0", "evt_1", "evt_2", "evt_3"}


def test_after_a_storm_a_window_goes_on_at_its_page(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """A page that fails more often than a request is repeated is asked for again, and none before it."""
    log_server.page_size = 1
    log_server.events.clear()
    since = datetime(2026, 9, 30, 8, tzinfo=UTC)
    for number in (1, 2, 3):
        log_server.add(number, since + timedelta(minutes=number))

    def fail(_query: dict[str, str]) -> httpx.Response | None:
        # Behind the look for the provider's clock and two pages.
        return BROKEN if 4 <= len(log_server.asked) < 4 + 2 * (RETRIES + 1) else None

    log_server.before = fail
    assert read_log(installation, provider, since=since, until=since + timedelta(hours=1)).complete
    cursors = [query.get("starting_after") for query in log_server.asked[1:]]
    assert cursors == [None, "evt_3", *["evt_2"] * (2 * (RETRIES + 1) + 1), None, "evt_3", "evt_2"]


def test_a_page_that_vanishes_is_a_gap(installation: Installation, provider: Provider, log_server: Any) -> None:
    """A page that is missing for good leaves its window open with the reason and exit 3; the next run mends it."""
    gone = httpx.Response(404, json={"error": {"type": "invalid_request_error", "code": "missing_resource"}})
    log_server.page_size = 1
    log_server.before = lambda query: gone if query.get("starting_after") == "evt_0" else None
    outcome = read_log(installation, provider, since=LAST_DAY)
    assert outcome.status is Completion.PARTLY_DONE
    (gap,) = gaps(installation)
    assert gap.reason == "GET /v2/events: the provider answered 404 missing_resource"
    log_server.before = lambda _query: None
    assert read_log(installation, provider, since=LAST_DAY).status is Completion.DONE
    assert gaps(installation) == []
    assert {"evt_0", "evt_1", "evt_2", "evt_3"} <= stored(installation)


def test_a_key_refused_at_once_does_nothing(installation: Installation, provider: Provider, log_server: Any) -> None:
    """A wrong key ends the run before anything is asked, with exit 1 and no window."""
    log_server.before = lambda _query: REFUSED
    outcome = read_log(installation, provider)
    assert outcome.status is Completion.NOTHING_DONE
    assert len(log_server.asked) == 1
    assert gaps(installation) == []


def test_a_key_refused_in_mid_run_stops_the_run(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """Once the key is refused no window asks again; what is missing stays in the ledger and the exit is 3."""
    log_server.before = lambda _query: REFUSED if len(log_server.asked) > 20 else None
    outcome = read_log(installation, provider)
    assert outcome.status is Completion.PARTLY_DONE
    assert 0 < len(gaps(installation)) < 17
    assert len(log_server.asked) <= 20 + 8
    assert reached(installation) != SETTLED


def test_an_unreachable_provider_does_nothing(installation: Installation, provider: Provider, log_server: Any) -> None:
    """No answer at the start is exit 1."""

    def refuse(_query: dict[str, str]) -> None:
        raise httpx.ConnectError("refused")

    log_server.before = refuse
    outcome = read_log(installation, provider)
    assert outcome.status is Completion.NOTHING_DONE
    assert outcome.lines[0].endswith("GET /v2/events: no answer from http://provider.test (ConnectError)")


def test_a_pruned_cursor_restarts_the_window(installation: Installation, provider: Provider, log_server: Any) -> None:
    """Where the event of a cursor is gone, the window is read from its newest end again."""
    log_server.page_size = 1
    refused = httpx.Response(
        400, json={"error": {"type": "invalid_request_error", "code": "missing_cursor", "param": "starting_after"}}
    )
    struck: list[str] = []

    def prune(query: dict[str, str]) -> httpx.Response | None:
        if "starting_after" in query and len(struck) < 3:
            struck.append(query["starting_after"])
            return refused
        return None

    log_server.before = prune
    assert read_log(installation, provider, since=LAST_DAY).status is Completion.DONE
    assert stored(installation) == {"evt_0", "evt_1", "evt_2", "evt_3"}
    assert len(struck) == 3


def test_an_event_without_an_id_keeps_its_window_open(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """What cannot be kept once is a gap with that reason, never a silent skip."""
    log_server.events.append({"id": None, "created_at": "2026-09-30T12:00:00Z"})
    outcome = read_log(
        installation, provider, since=datetime(2026, 9, 30, 11, tzinfo=UTC), until=LAST_DAY + timedelta(hours=10)
    )
    assert outcome.status is Completion.PARTLY_DONE
    assert gaps(installation)[0].reason == (
        "events: the list holds an event that cannot be kept: "
        "the event's id must be text of 1 to 255 printable characters"
    )


def test_a_log_that_never_rests_is_not_called_complete(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """A window in which every read finds more is left open after ten reads."""

    def grow(_query: dict[str, str]) -> None:
        log_server.add(1000 + len(log_server.asked), datetime(2026, 9, 30, 22, tzinfo=UTC))

    log_server.before = grow
    log_server.page_size = 300
    since = datetime(2026, 9, 30, 21, 30, tzinfo=UTC)
    outcome = read_log(installation, provider, since=since, until=since + timedelta(hours=1))
    assert outcome.status is Completion.PARTLY_DONE
    assert gaps(installation)[0].reason == "events kept appearing in 10 reads"


@pytest.mark.both_databases
def test_two_runs_at_once_both_end_complete(installation: Installation, provider: Provider) -> None:
    """A second run on the same windows takes their pages as they are; neither loses an event."""
    outcomes = []
    runs = [threading.Thread(target=lambda: outcomes.append(read_log(installation, provider))) for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert read_log(installation, provider).status is Completion.DONE
    assert stored(installation) == everything(40)
    with installation.store.reading() as session:
        windows = all_windows(session, "main", "events")
    assert {window.state for window in windows} == {"closed"}


def test_a_stretch_asked_for_by_hand_does_not_hide_what_lies_before(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """After `--since` alone, the first run without dates still goes back to the end of the log."""
    assert read_log(installation, provider, since=LAST_DAY).complete
    assert len(stored(installation)) == 4
    assert read_log(installation, provider).complete
    assert stored(installation) == everything(40)
    assert {"until": "2026-09-29T03:00:00Z", "limit": "1"} in log_server.asked
