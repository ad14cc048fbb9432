"""States of alarms: each change is sent once by any number of workers, in its time, and none is lost by a crash."""

import json
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any, NoReturn

import pytest
import sqlalchemy as sa
from sqlmodel import select

from consumer.alarms import outbox, states
from consumer.alarms.sending import send
from consumer.alarms.states import Change
from consumer.alarms.targets import read_targets
from consumer.alarms.wording import content_of
from consumer.facts.alarms import Severity, Signal
from consumer.facts.clock import format_instant
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.facts.tables.alarms import AlarmMessage
from consumer.facts.work import WorkError
from consumer.health.causes import Watch, is_quiet
from consumer.job_table import job_table
from tests.consumer.alarms.conftest import SECRET, MakeSettings, Receiver

NOW = datetime(2026, 11, 23, 13, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
LATE = Signal("main", "exception:PAYOUT_LATE", Severity.HIGH, 2, {"CLP": 500}, mark="2026-11-22 1")
GAPS = Signal("main", "gaps", Severity.MEDIUM)

Look = Callable[..., list[tuple[str, str, int]]]


def update(store: Store, found: Sequence[Signal], at: datetime, *, is_quiet: bool = False) -> list[Change]:
    with store.transaction() as session:
        return states.update(session, found, now=at, is_quiet=is_quiet)


@pytest.fixture
def look(store: Store) -> Look:
    """Look at what stands some minutes after the beginning; the changes that are to be sent."""

    def at(minute: float, *found: Signal, quiet: bool = False) -> list[tuple[str, str, int]]:
        changes = update(store, found, NOW + minute * MINUTE, is_quiet=quiet)
        return [(str(change.kind), change.alarm.cause, change.alarm.count) for change in changes]

    return at


def more(signal: Signal, *, count: int, mark: str = "", severity: Severity | None = None) -> Signal:
    return Signal(signal.connection, signal.cause, severity or signal.severity, count, mark=mark or signal.mark)


@pytest.mark.both_databases
def test_one_message_a_change(look: Look) -> None:
    """What stands is sent once; its end once, five minutes later; what comes back in between goes on."""
    assert look(0, LATE) == [("raised", LATE.cause, 2)]
    assert look(1, LATE) == []
    assert look(2) == []
    assert look(4, LATE) == []
    assert look(5) == []
    assert look(9) == []
    assert look(10) == [("resolved", LATE.cause, 2)]
    assert look(11) == []
    assert look(12, LATE) == [("raised", LATE.cause, 2)]


def test_more_of_it_is_sent_until_it_is_in_hand(look: Look, store: Store) -> None:
    """A later mark is news, fewer of them are not; once acknowledged only its end is, and the next time starts anew."""
    assert look(0, LATE) == [("raised", LATE.cause, 2)]
    assert look(1, more(LATE, count=1)) == []
    assert look(2, more(LATE, count=2, mark="2026-11-23 2")) == [("more", LATE.cause, 2)]
    with store.transaction() as session:
        states.acknowledge(session, "main", LATE.cause, by="ana@tienda.test", now=NOW)
    assert look(3, more(LATE, count=5, mark="2026-11-24 3")) == []
    assert look(4) == []
    assert look(9) == [("resolved", LATE.cause, 5)]
    assert look(10, LATE) == [("raised", LATE.cause, 2)]
    assert look(11, more(LATE, count=5, mark="2026-11-25 4")) == [("more", LATE.cause, 5)]


def test_what_becomes_graver_is_sent_again(look: Look) -> None:
    """From medium to high is a change, from high to medium is none."""
    assert look(0, GAPS) == [("raised", "gaps", 1)]
    assert look(1, more(GAPS, count=1, severity=Severity.HIGH)) == [("raised", "gaps", 1)]
    assert look(2, GAPS) == []


def test_quiet_hours_hold_back_what_is_not_high(look: Look) -> None:
    """At night only what is high is sent; what still stands in the morning comes then, what is over never."""
    assert look(0, GAPS, LATE, quiet=True) == [("raised", LATE.cause, 2)]
    assert look(1, quiet=True) == []
    assert look(7, Signal("main", "quarantine", Severity.MEDIUM), quiet=True) == [("resolved", LATE.cause, 2)]
    assert look(8, Signal("main", "quarantine", Severity.MEDIUM)) == [("raised", "quarantine", 1)]


@pytest.mark.parametrize(
    ("hours", "hour", "expected"),
    [("22:00-07:00", 1, True), ("22:00-07:00", 12, False), ("13:00-15:00", 17, True), (None, 1, False)],
)
def test_quiet_hours_are_local(alarmed: MakeSettings, hours: str | None, hour: int, expected: object) -> None:
    """Hours are those of the first connection's country, also across midnight; Santiago is three hours behind."""
    settings = alarmed(**({"quiet_hours": hours} if hours else {}))
    assert is_quiet(settings, NOW.replace(hour=hour)) is expected


def test_only_what_stands_can_be_taken_in_hand(store: Store) -> None:
    """A cause that is misspelt or over is refused with what to do."""
    with store.transaction() as session, pytest.raises(WorkError) as refused:
        states.acknowledge(session, "main", "gap", by="ana", now=NOW)
    assert str(refused.value) == "no alarm 'gap' stands; cuadre alerts list shows those that do"


@pytest.mark.both_databases
def test_many_workers_send_each_change_once(store: Store, alarmed: MakeSettings, receiver: Receiver) -> None:
    """Eight workers that look and deliver at the same moment make one message."""
    installation = Installation(alarmed(f"{receiver.url}/#{SECRET}"), store)
    barrier = threading.Barrier(8)

    def work() -> None:
        watch = Watch(installation, signals=lambda _s, _c, _n: [LATE], now=lambda: NOW)
        barrier.wait()
        watch.look()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [json.loads(got.body)["alarms"][0]["count"] for got in receiver.got] == [2]


def make_message(installation: Installation) -> None:
    with installation.store.transaction() as session:
        outbox.put_in(session, read_targets(installation.settings), content_of("test"), now=NOW)


def message(store: Store) -> AlarmMessage:
    with store.reading() as session:
        return session.exec(select(AlarmMessage)).one()


@pytest.mark.both_databases
def test_a_message_waits_longer_each_time_and_is_given_up(
    store: Store, alarmed: MakeSettings, receiver: Receiver
) -> None:
    """It is tried after one minute, two, four, an hour at most, for three days; meanwhile the doctor has a line."""
    installation = Installation(alarmed(f"{receiver.url}/#{SECRET}"), store)
    make_message(installation)
    receiver.status = 500
    targets, tried, at = read_targets(installation.settings), [], NOW
    while (waits := message(store).next_try_at) is not None:
        tried.append((waits - NOW) // MINUTE)
        at = waits
        assert outbox.deliver(installation, targets, now=at) == 0
        if len(tried) == 3:
            with store.reading() as session:
                (failing,) = outbox.failing_channels(session)
            assert (failing.messages, failing.error) == (1, "127.0.0.1 answered 500")
    assert tried[:9] == [0, 1, 3, 7, 15, 31, 63, 123, 183]
    assert timedelta(days=3) <= at - NOW <= timedelta(days=3, hours=1)
    with store.reading() as session:
        assert outbox.failing_channels(session) == []


def test_a_channel_that_comes_back_gets_what_waits(store: Store, alarmed: MakeSettings, receiver: Receiver) -> None:
    """What was refused arrives once the channel takes it, and no second time."""
    installation = Installation(alarmed(f"{receiver.url}/#{SECRET}"), store)
    make_message(installation)
    targets = read_targets(installation.settings)
    receiver.status = 500
    outbox.deliver(installation, targets, now=NOW)
    receiver.status = 200

    assert [outbox.deliver(installation, targets, now=NOW + minutes * MINUTE) for minutes in (0.5, 1, 9)] == [0, 1, 0]
    assert message(store).sent_at == NOW + MINUTE


@pytest.mark.both_databases
@pytest.mark.parametrize("sent_before", [0, 1])
def test_a_crash_while_sending_loses_no_message(
    store: Store, alarmed: MakeSettings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, sent_before: int
) -> None:
    """A worker that dies before it sent, or before it wrote that it did, leaves the message to another: two at most."""
    installation = Installation(alarmed(f"{receiver.url}/#{SECRET}"), store)
    make_message(installation)
    targets = read_targets(installation.settings)

    def die(*given: Any, **named: Any) -> None:
        if sent_before:
            send(*given, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(outbox, "send", die)
        with pytest.raises(KeyboardInterrupt):
            outbox.deliver(installation, targets, now=NOW)

    assert outbox.deliver(installation, targets, now=NOW + 2 * MINUTE) == 0
    assert outbox.deliver(installation, targets, now=NOW + 3 * MINUTE) == 1
    assert outbox.deliver(installation, targets, now=NOW + 9 * MINUTE) == 0
    assert len({json.loads(got.body)["id"] for got in receiver.got}) == 1
    assert len(receiver.got) == 1 + sent_before


def test_a_channel_that_left_the_settings_waits_for_no_one(
    store: Store, alarmed: MakeSettings, receiver: Receiver
) -> None:
    """Its messages are given up at once, with the reason."""
    make_message(Installation(alarmed(f"{receiver.url}/#{SECRET}"), store))
    installation = Installation(alarmed(), store)

    assert outbox.deliver(installation, {}, now=NOW) == 0
    left = message(store)
    assert (left.next_try_at, left.error) == (None, "channel.not_in_settings")


def test_old_messages_go(store: Store, alarmed: MakeSettings, receiver: Receiver) -> None:
    """What was sent is kept for ninety days."""
    installation = Installation(alarmed(f"{receiver.url}/#{SECRET}"), store)
    make_message(installation)
    outbox.forget(store, now=NOW + timedelta(days=91))
    assert message(store).sent_at is None
    outbox.deliver(installation, read_targets(installation.settings), now=NOW)
    outbox.forget(store, now=NOW + timedelta(days=90))
    assert message(store).sent_at == NOW
    outbox.forget(store, now=NOW + timedelta(days=91))
    with store.reading() as session:
        assert session.exec(select(AlarmMessage)).all() == []


def test_without_its_database_a_worker_sends_the_alarm_itself(
    store: Store, alarmed: MakeSettings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After two minutes, once; a channel that did not take it is asked again, and the end of it goes the usual way."""
    installation, at = Installation(alarmed(f"{receiver.url}/#{SECRET}"), store), [NOW]
    watch = Watch(installation, now=lambda: at[0])
    receiver.status = 500
    with monkeypatch.context() as patched:
        patched.setattr("consumer.health.disk.check_database", _refuse)
        for minute, tries in ((0, 0), (1, 0), (2, 1), (3, 2), (4, 2)):
            at[0] = NOW + minute * MINUTE
            watch.look()
            assert len(receiver.got) == tries
            receiver.status = 200 if minute >= 2 else 500
    bodies = [json.loads(got.body) for got in receiver.got]
    assert {body["id"] for body in bodies} == {f"cuadre-away-{int(NOW.timestamp())}"}
    assert bodies[0]["alarms"][0]["cause"] == "away"

    at[0] = NOW + 9 * MINUTE
    watch.look()
    watch.look()
    ends = [alarm for got in receiver.got[2:] for alarm in json.loads(got.body)["alarms"]]
    assert [(one["cause"], one["change"], one["since"]) for one in ends] == [
        ("away", "resolved", format_instant(NOW)),
    ]


def _refuse(_store: object) -> None:
    raise sa.exc.OperationalError("SELECT 1", {}, Exception("gone"))


def test_the_day_in_short_names_what_stands(store: Store, alarmed: MakeSettings, receiver: Receiver) -> None:
    """The digest of the configured hour is one job: its headline first, then each alarm."""
    installation = Installation(alarmed(f"{receiver.url}/#{SECRET}", alert_digest_at="08:00"), store)
    update(store, [GAPS, LATE], NOW)
    (digest,) = (
        job
        for job in job_table(installation, night=_no_work, cut=_no_work, backup=_no_work, headline=_lines)
        if job.name == "digest"
    )

    assert (digest.at, digest.zone) == (time(8), "America/Santiago")
    assert digest.run(NOW.date()) == "2 alarms stand; 1 messages"
    outbox.deliver(installation, read_targets(installation.settings), now=NOW + timedelta(days=365))
    body = json.loads(receiver.got[0].body)
    assert (body["kind"], body["headline"]) == ("digest", ["main: todavía no hay conciliaciones"])
    assert [one["cause"] for one in body["alarms"]] == [LATE.cause, "gaps"]


def _lines(_installation: Installation) -> list[str]:
    return ['alarm.headline_without_run {"connection":"main"}']


def _no_work(*_given: object) -> NoReturn:
    raise AssertionError
