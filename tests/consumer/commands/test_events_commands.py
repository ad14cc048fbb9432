"""`cuadre events`: the contract's keys, newest first, filters, and a replay that says what it changes."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sqlmodel import select

from consumer.commands.events import events
from consumer.facts.installation import Installation
from consumer.facts.tables.inbox import Event, EventReplay
from consumer.facts.tables.provider import Refund
from consumer.inbox.apply import drain
from consumer.inbox.record import Arrival, prune, record_all
from tests.merchant import rows_of

Deliver = Callable[..., Arrival]
Make = Callable[..., dict[str, Any]]
NOW = datetime(2026, 10, 5, 12, 5, tzinfo=UTC)


@pytest.fixture
def cuadre(installation: Installation) -> Callable[..., Result]:
    """Run `cuadre events …` against the test's installation."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(events, arguments, obj=lambda: installation)

    return run


def record(installation: Installation, *arrivals: Arrival) -> None:
    with installation.store.connection() as connection:
        record_all(connection, arrivals)


def apply(installation: Installation) -> None:
    drain(installation.store, installation.settings, worker="w", now=lambda: NOW)


def test_list_gives_the_contracts_keys(
    installation: Installation, cuadre: Callable[..., Result], deliver: Deliver, make_event: Make
) -> None:
    """A line of the list has exactly the stated keys, times in UTC with a Z."""
    record(installation, deliver(make_event(), source="backfill"))

    assert rows_of(cuadre("list", "--json")) == [
        {
            "connection": "main",
            "id": "evt_1",
            "type": "refund.succeeded",
            "mode": "test",
            "created_at": "2026-10-05T11:00:00.250000Z",
            "received_at": "2026-10-05T12:00:00Z",
            "source": "backfill",
            "state": "waiting",
            "resource_id": "re_1",
            "attempts": 0,
            "error": None,
        }
    ]


def some_events(deliver: Deliver, make_event: Make) -> Sequence[Arrival]:
    return [
        deliver(make_event("evt_b", created_at="2026-10-02T02:59:59Z")),
        deliver(make_event("evt_d", created_at="2026-10-03T00:00:00Z", mode="live")),
        deliver(make_event("evt_none", created_at=None)),
        deliver(make_event("evt_a", created_at="2026-10-01T03:00:00Z")),
        deliver(make_event("evt_c", created_at="2026-10-02T03:00:00Z", type="comet.seen")),
    ]


SELECTIONS: list[tuple[tuple[str, ...], list[str]]] = [
    ((), ["evt_d", "evt_c", "evt_b", "evt_a", "evt_none"]),
    (("--limit", "2"), ["evt_d", "evt_c"]),
    (("--type", "comet.seen"), ["evt_c"]),
    (("--state", "quarantined"), ["evt_d", "evt_none"]),
    (("--since", "2026-10-02"), ["evt_d", "evt_c"]),
    (("--until", "2026-10-02"), ["evt_b", "evt_a"]),
    (("--since", "2026-10-01T03:00:00Z", "--until", "2026-10-02T02:59:59Z"), ["evt_a"]),
    (("--connection", "main", "--state", "waiting"), ["evt_b", "evt_a"]),
]


def test_list_filters_and_sorts(
    installation: Installation, cuadre: Callable[..., Result], deliver: Deliver, make_event: Make
) -> None:
    """Newest by created_at comes first, ranges are half-open, and a bare date is local midnight (Chile: 03:00Z)."""
    record(installation, *some_events(deliver, make_event))

    for arguments, ids in SELECTIONS:
        assert [line["id"] for line in rows_of(cuadre("list", "--json", *arguments))] == ids, arguments


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--since", "2026-10-02", "--until", "2026-10-01"),
        ("list", "--since", "soon"),
        ("list", "--state", "happy"),
        ("list", "--limit", "0"),
        ("replay",),
        ("replay", "evt_1", "--state", "failed"),
        ("show",),
    ],
)
def test_wrong_usage_exits_2(cuadre: Callable[..., Result], arguments: tuple[str, ...]) -> None:
    """A reversed range, a non-date or a replay of nothing in particular is wrong usage."""
    assert cuadre(*arguments).exit_code == 2


def test_quarantine_and_conflicts(
    installation: Installation, cuadre: Callable[..., Result], deliver: Deliver, make_event: Make
) -> None:
    """What is set aside and what contradicts each have their list."""
    first, other = deliver(make_event()), deliver(make_event(type="refund.failed"), source="backfill")
    record(installation, first, other, other, deliver(make_event("evt_2", mode="live")))

    assert [line["id"] for line in rows_of(cuadre("quarantine", "--json"))] == ["evt_2"]
    assert rows_of(cuadre("conflicts", "--json")) == [
        {
            "connection": "main",
            "id": "evt_1",
            "seen_at": "2026-10-05T12:00:00Z",
            "source": "backfill",
            "first_sha256": first.raw_sha256,
            "other_sha256": other.raw_sha256,
            "times": 2,
        }
    ]


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_check_exits_three_on_findings(
    installation: Installation, cuadre: Callable[..., Result], deliver: Deliver, make_event: Make
) -> None:
    """The lists exit 0 whatever they find; with --check a row is 3, as a script's alarm wants it."""
    record(installation, deliver(make_event()))
    assert [cuadre(name, "--check").exit_code for name in ("quarantine", "conflicts")] == [0, 0]
    record(installation, deliver(make_event(type="refund.failed")), deliver(make_event("evt_2", mode="live")))
    for name in ("quarantine", "conflicts"):
        assert cuadre(name, "--json").exit_code == 0
        checked = cuadre(name, "--check", "--json", "--limit", "1")
        assert (checked.exit_code, len(rows_of(checked))) == (3, 1)


def test_show_adds_body_and_deliveries(
    installation: Installation, cuadre: Callable[..., Result], deliver: Deliver, make_event: Make
) -> None:
    """One event is shown with its body as JSON and how often it was delivered; an unknown id exits 1."""
    event = make_event()
    record(installation, deliver(event), deliver(event))

    (line,) = rows_of(cuadre("show", "evt_1", "--json"))
    assert (line["body"], line["deliveries"], line["state"]) == (event, 2, "waiting")
    assert '"id": "re_1"' in cuadre("show", "evt_1").stdout
    missing = cuadre("show", "evt_9")
    assert (missing.exit_code, missing.stdout) == (1, "")
    assert "there is no event 'evt_9' in connection main" in missing.stderr


def test_a_dry_run_says_what_would_change_and_changes_nothing(
    installation: Installation, cuadre: Callable[..., Result], deliver: Deliver, make_event: Make
) -> None:
    """A replay can be asked about first: the object and its columns are named, the tables stay as they are."""
    record(installation, deliver(make_event()))
    apply(installation)
    with installation.store.transaction() as session:
        session.exec(select(Refund)).one().amount = 9

    dry = rows_of(cuadre("replay", "evt_1", "--dry-run", "--json"))

    assert dry == [
        {
            "connection": "main",
            "id": "evt_1",
            "type": "refund.succeeded",
            "state_before": "applied",
            "state_after": "applied",
            "changes": "refund re_1: amount 9 → 1500",
            "error": None,
        }
    ]
    with installation.store.reading() as session:
        assert session.exec(select(Refund.amount)).one() == 9
        assert session.exec(select(EventReplay)).all() == []
    assert rows_of(cuadre("replay", "evt_1", "--json")) == dry
    with installation.store.reading() as session:
        assert session.exec(select(Refund.amount)).one() == 1500
        (audit,) = session.exec(select(EventReplay))
    assert (audit.event_id, audit.state_before, audit.state_after, audit.changed) == ("evt_1", "applied", "applied", 1)
    assert audit.replayed_by


def test_a_replay_by_filter_takes_quarantined_events_again(
    installation: Installation, cuadre: Callable[..., Result], deliver: Deliver, make_event: Make, make_refund: Make
) -> None:
    """Events set aside are judged anew; what still cannot be applied makes the exit 3 and says why."""
    record(
        installation,
        deliver(make_event("evt_bad", data=make_refund(amount=None))),
        deliver(make_event("evt_good")),
    )
    apply(installation)
    with installation.store.transaction() as session:
        session.get_one(Event, ("main", "evt_good")).state = "quarantined"

    done = cuadre("replay", "--state", "quarantined", "--json")

    assert done.exit_code == 3
    assert [(line["id"], line["state_after"], line["error"]) for line in rows_of(done)] == [
        ("evt_bad", "quarantined", "amount is missing"),
        ("evt_good", "applied", None),
    ]
    assert "1 of 2 events cannot be applied" in done.stderr


def test_replaying_an_unknown_event_changes_nothing(
    installation: Installation, cuadre: Callable[..., Result], deliver: Deliver, make_event: Make
) -> None:
    """One wrong id stops the whole replay before it begins."""
    record(installation, deliver(make_event()))

    done = cuadre("replay", "evt_1", "evt_9")

    assert (done.exit_code, done.stdout) == (1, "")
    with installation.store.reading() as session:
        assert session.exec(select(Event.state)).one() == "waiting"


@pytest.mark.both_databases
def test_bodies_are_dropped_a_few_rows_at_a_time(
    installation: Installation, deliver: Deliver, make_event: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of seven events in steps of two, the six that are settled lose their bodies, each once."""
    monkeypatch.setattr("consumer.inbox.record._ROWS_AT_ONCE", 2)
    record(installation, *(deliver(make_event(f"evt_{number}")) for number in range(1, 7)))
    apply(installation)
    record(installation, deliver(make_event("evt_35")))
    later = NOW + timedelta(days=401)

    assert [prune(installation.store, installation.settings, now=later) for _ in range(2)] == [6, 0]
    with installation.store.reading() as session:
        assert session.exec(select(Event.id).where(Event.body != None)).all() == ["evt_35"]  # noqa: E711 - SQL


def test_pruned_events_keep_their_identity(
    installation: Installation, cuadre: Callable[..., Result], deliver: Deliver, make_event: Make
) -> None:
    """After 400 days the body is gone; a redelivery is still a duplicate, another meaning still a conflict."""
    event = make_event()
    record(installation, deliver(event), deliver(make_event("evt_2", mode="live")))
    apply(installation)
    assert prune(installation.store, installation.settings, now=NOW + timedelta(days=399)) == 0
    assert prune(installation.store, installation.settings, now=NOW + timedelta(days=401)) == 1

    with installation.store.connection() as connection:
        verdicts = record_all(connection, [deliver(event), deliver(make_event(type="refund.failed"))])
    assert [str(verdict) for verdict in verdicts] == ["duplicate", "conflict"]
    (line,) = rows_of(cuadre("show", "evt_1", "--json"))
    assert (line["body"], line["state"], line["deliveries"]) == (None, "applied", 3)
    replayed = cuadre("replay", "evt_1", "--json")
    assert (replayed.exit_code, rows_of(replayed)[0]["error"]) == (3, "the body was pruned by retention")
    with installation.store.reading() as session:
        assert session.get_one(Event, ("main", "evt_2")).body is not None
