"""Signed events with values no database likes, in every field of every type: kept, settled, in no other event's way."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from sqlmodel import func, select

from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.facts.tables.inbox import EVENT_KEYS, Event, Source
from consumer.inbox.apply import drain
from consumer.inbox.events import Filter, list_events
from consumer.inbox.record import Verdict, read_arrival, record_all
from sandbox.serve import create_sandbox
from tests.thoroughness import for_run

pytestmark = pytest.mark.both_databases

NOW = datetime(2026, 11, 5, 12, 5, tzinfo=UTC)
EXAMPLES = for_run(short=400, full=20_000)
# As JSON writes them, since some of them no Python value does.
HOSTILE = (
    '"\\u0000"', '"po\\u0000st"', '"\\ud800"', '"\\udc00 cut \\ud83d"', '"\\u202e\\u0007\\u007f"', '""', '" "',
    "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" * 400, "-0", "1e400", "1E-400", "1.5",
    "0.1e1", "null", "true", "[]", "{}", '{"id":1,"id":"two"}', "[[[[[[[[[[[[[[[[[[[[null]]]]]]]]]]]]]]]]]]]]",
    '"' + "ñ" * 70_000 + '"', '"0001-01-01T00:00:00Z"', '"9999-12-31T23:59:59-12:00"', '"2026-02-30T00:00:00Z"',
    '"2026-10-05"', '"\'; DROP TABLE event; --"', '"$1 %s :x \\\\"',
)  # fmt: skip
MARK = "\ufdd0"


@cache
def examples() -> list[dict[str, Any]]:
    """One event of each type that the sandbox announces in a month."""
    world = create_sandbox("busy-month", scale=0.1).world
    world.advance(timedelta(days=2))
    found: dict[str, dict[str, Any]] = {}
    for event in world.logs["test"].newest_first(None, None, after=None):
        found.setdefault(event.type, event.envelope())
    return list(found.values())


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place inside an event but its id."""
    if path and path != ("id",):
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    if isinstance(value, list):
        for place, inner in enumerate(value[:1]):
            yield from paths(inner, (*path, place))


def spoiled(number: int, example: dict[str, Any], path: tuple[str | int, ...], value: str) -> bytes:
    body = json.loads(json.dumps(example)) | {"id": f"evt_{number}"}
    inner = body
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = MARK
    return json.dumps(body, ensure_ascii=False).replace(f'"{MARK}"', value).encode()


def test_hostile_values_are_kept_and_settled(store: Store, settings: Settings) -> None:
    """Each is stored at once, ends applied, ignored or quarantined with a reason, and good events among them apply."""
    chosen = random.Random(7)  # noqa: S311
    cases = [(example, path, value) for example in examples() for path in paths(example) for value in HOSTILE]
    some = chosen.sample(cases, min(EXAMPLES, len(cases)))
    bodies = [spoiled(number, *case) for number, case in enumerate(some)]
    good = [json.dumps(one | {"id": f"evt_good_{number}"}).encode() for number, one in enumerate(examples())]
    connection = settings.connection("main")
    arrivals = [
        read_arrival(b, connection=connection, source=Source.WEBHOOK, received_at=NOW) for b in [*bodies, *good]
    ]
    chosen.shuffle(arrivals)
    for start in range(0, len(arrivals), 64):
        with store.connection() as line:
            assert set(record_all(line, arrivals[start : start + 64])) == {Verdict.STORED}

    for again in range(12):
        drain(store, settings, worker="w", now=lambda again=again: NOW + timedelta(days=again))  # type: ignore[misc]

    with store.reading() as session:
        states = Counter(dict(session.exec(select(Event.state, func.count()).group_by(Event.state)).all()))
        assert set(states) <= {"applied", "ignored", "quarantined"}, states
        silent = session.exec(select(Event.id).where(Event.state == "quarantined", Event.error == None)).all()  # noqa: E711
        assert silent == []
        unsettled = session.exec(select(Event).where(Event.id.like("evt_good_%"), Event.state == "quarantined")).all()  # type: ignore[attr-defined]
        assert [(event.type, event.error) for event in unsettled] == []
        listed = list(list_events(session, (connection,), Filter(), None))
    assert len(listed) == len(arrivals)
    assert all(json.dumps([str(row[key]) for key in EVENT_KEYS]) for row in listed)
