"""Pages of a list of the database."""

from datetime import UTC, datetime, timedelta

import pytest

from consumer.facts.bulk import insert_rows
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.types import core_of
from reports.queries import listing, operations
from reports.queries.listing import Wanted

pytestmark = pytest.mark.both_databases

NOON = datetime(2026, 10, 8, 12, tzinfo=UTC)


def test_a_page_far_down_shows_what_follows_the_page_before(store: Store) -> None:
    """Of 1,202 events, newest first, the rows from the 1,000th on are as near ones are: none twice, none left out."""
    names = "connection id type mode source state received_at created_at last_arrival_at raw_sha256 meaning_sha256"
    rows = [
        ["main", f"evt_{n:04}", "payment_intent.succeeded", "test", "webhook", "applied", at, at, at, "0", "0"]
        for n in range(1_202)
        for at in [NOON + timedelta(minutes=n // 3)]
    ]
    with store.connection() as connection:
        insert_rows(connection, core_of(Event), names.split(), rows, alike={"arrivals": 1, "attempts": 0})
    events = next(one for one in operations.LISTS if one.name == "events")
    with store.reading() as session:
        pages = [listing.read(session, events, Wanted(["main"], number=number)) for number in (20, 21, 25)]

    found = [[row["id"] for row in page.rows] for page in pages]
    assert [(len(ids), ids[0], ids[-1]) for ids in found] == [
        (50, "evt_0251", "evt_0202"),
        (50, "evt_0201", "evt_0152"),
        (2, "evt_0001", "evt_0000"),
    ]
