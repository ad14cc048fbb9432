"""Merging observations: every order of arrival, on both databases, ends in the same row."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import settings as thorough
from hypothesis import strategies as st
from sqlmodel import Session, col, select

from consumer.facts.store import Store
from consumer.facts.tables.provider import Payout, Refund
from consumer.facts.versions import KEPT, Known, MixedModesError, merge_all, preview
from consumer.provider.rows import Observation, observe

pytestmark = pytest.mark.both_databases

START = datetime(2026, 10, 5, 12, 0, tzinfo=UTC)


def refund(minute: int, event: str = "", **fields: Any) -> Known:
    data = {"id": "re_1", "amount": 1500, "currency": "CLP", "status": "created"} | fields
    return observe("refund", data, Observation("main", "test", START + timedelta(minutes=minute), event))


def kept(store: Store) -> Refund:
    with store.reading() as session:
        return session.exec(select(Refund)).one()


def body(store: Store) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(kept(store).body)
    return value


def test_the_newer_observation_wins_in_either_order(store: Store) -> None:
    """An older state that arrives late changes nothing."""
    with store.transaction() as session:
        assert merge_all(session, [refund(2, "evt_2", status="succeeded")])
        assert not merge_all(session, [refund(1, "evt_1", status="in_progress")])

    assert kept(store).status == "succeeded"


def test_the_same_observation_again_changes_nothing(store: Store) -> None:
    """A second application of one event writes nothing."""
    with store.transaction() as session:
        assert merge_all(session, [refund(1, "evt_1")])
        assert not merge_all(session, [refund(1, "evt_1")])


def test_a_tie_in_time_goes_to_the_later_state(store: Store) -> None:
    """Two states in the same instant: the one further along the graph wins, and a bounced refund stands last."""
    with store.transaction() as session:
        for status in ("failed", "succeeded", "in_progress"):
            merge_all(session, [refund(1, f"evt_{status}", status=status)])

    assert kept(store).status == "failed"


def test_succeeded_is_not_the_end(store: Store) -> None:
    """A payout that was returned after it succeeded is returned, and both times are known."""
    with store.transaction() as session:
        for minute, status in ((5, "returned"), (1, "in_progress"), (3, "succeeded")):
            data = {"id": "po_1", "amount": 9, "currency": "CLP", "status": status}
            seen = Observation("main", "test", START + timedelta(minutes=minute), status)
            merge_all(session, [observe("payout", data, seen)])

    with store.reading() as session:
        payout = session.exec(select(Payout)).one()
    assert (payout.status, payout.succeeded_at, payout.ended_at) == (
        "returned",
        START + timedelta(minutes=3),
        START + timedelta(minutes=5),
    )


def test_a_field_the_newer_observation_lacks_stays(store: Store) -> None:
    """What only events carry survives a later read, with the version it comes from; null is a value, not a lack."""
    with store.transaction() as session:
        merge_all(session, [refund(1, "evt_1", split_applied=[{"amount": 9}], resource_id="pi_1")])
        merge_all(session, [refund(2, resource_id=None)])

    assert body(store)["split_applied"] == [{"amount": 9}]
    assert body(store)[KEPT] == {"split_applied": ["2026-10-05T12:01:00Z", 1, "evt_1"]}
    assert kept(store).resource_id is None


def test_a_column_follows_the_kept_field(store: Store) -> None:
    """A column read from a field that the newest observation lacks keeps its value too."""
    with store.transaction() as session:
        merge_all(session, [refund(1, "evt_1", resource_id="pi_1")])
        merge_all(session, [refund(2)])

    assert kept(store).resource_id == "pi_1"


def test_an_older_observation_may_correct_an_even_older_field(store: Store) -> None:
    """A field that was kept from an old observation gives way to one in between, not to one before."""
    with store.transaction() as session:
        for minute, fields in ((9, {}), (2, {"note": "old"}), (5, {"note": "newer"}), (1, {"note": "oldest"})):
            merge_all(session, [refund(minute, "evt", **fields)])

    assert body(store)["note"] == "newer"


def test_live_and_test_never_mix(store: Store) -> None:
    """The same id in the other mode of one connection is an error, not an update."""
    live = observe(
        "refund",
        {"id": "re_1", "amount": 1, "currency": "CLP", "status": "created"},
        Observation("main", "live", START),
    )
    with store.transaction() as session:
        merge_all(session, [refund(1)])
        with pytest.raises(MixedModesError):
            merge_all(session, [live])


def test_connections_are_apart(store: Store) -> None:
    """The same id in two connections is two rows."""
    other = refund(1)
    other.connection = "mexico"
    with store.transaction() as session:
        assert len(merge_all(session, [refund(1), other])) == 2


def test_what_was_gone_and_is_seen_later_is_back(store: Store) -> None:
    """An observation newer than the moment an object was missed proves that it is there."""
    with store.transaction() as session:
        merge_all(session, [refund(1)])
        session.exec(select(Refund)).one().gone_at = START + timedelta(minutes=5)
        session.flush()
        merge_all(session, [refund(4, status="in_progress")])
    assert kept(store).gone_at == START + timedelta(minutes=5)
    with store.transaction() as session:
        merge_all(session, [refund(6)])
    assert kept(store).gone_at is None


def test_a_preview_changes_nothing(store: Store) -> None:
    """What a merge would change can be asked without changing it."""
    with store.transaction() as session:
        merge_all(session, [refund(1)])
    with store.reading() as session:
        (change,) = preview(session, [refund(2, "evt_2", status="succeeded")])

    assert change.columns == ["body", "status", "succeeded_at", "version_at", "version_event", "version_rank"]
    assert kept(store).status == "created"


OBSERVATIONS = st.lists(
    st.builds(
        lambda minute, event, status, fields: (minute, event, {"status": status} | fields),
        st.integers(0, 3),
        st.sampled_from(["", "evt_1", "evt_2"]),
        st.sampled_from(["created", "in_progress", "succeeded", "failed"]),
        st.fixed_dictionaries(
            {},
            optional={
                "note": st.sampled_from([None, "a", "b", {"x": 1, "y": 2}, {"y": 2, "x": 1}]),
                "resource_id": st.sampled_from([None, "pi_1", "pi_2"]),
                "updated_at": st.sampled_from([None, "2026-10-05T12:01:30Z", "2026-10-05T12:02:00Z"]),
                "succeeded_at": st.sampled_from([None, "2026-10-05T11:00:00Z", "2026-10-05T12:30:00Z"]),
            },
        ),
    ),
    min_size=1,
    max_size=6,
)


@thorough(max_examples=60)
@given(seen=OBSERVATIONS, data=st.data())
def test_any_order_ends_in_the_same_row(
    store: Store, seen: list[tuple[int, str, dict[str, Any]]], data: st.DataObject
) -> None:
    """Any permutation with repeats, one by one or in one batch, gives the row of the order given."""
    shuffled = data.draw(st.permutations(seen + data.draw(st.lists(st.sampled_from(seen), max_size=3))))

    def final(session: Session, order: list[tuple[int, str, dict[str, Any]]], *, batch: bool) -> dict[str, Any]:
        nested = session.begin_nested()
        rows = [refund(minute, event, **fields) for minute, event, fields in order]
        if batch:
            merge_all(session, rows)
        else:
            for row in rows:
                merge_all(session, [row])
        values = session.exec(select(Refund)).one().model_dump(exclude={"written_at"})
        nested.rollback()
        session.expire_all()
        return values

    with store.transaction() as session:
        expected = final(session, seen, batch=False)
        assert final(session, shuffled, batch=False) == expected
        assert final(session, shuffled, batch=True) == expected


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_who_comes_second_with_a_row_gives_back_its_own_before_it_waits(store: Store) -> None:
    """Another transaction inserts re_2 first, and a third locks it and wants re_1: none waits for the other."""
    other = {"id": "re_2", "amount": 900, "currency": "CLP", "status": "created"}
    second = observe("refund", other, Observation("main", "test", START, "evt_9"))
    done: list[str] = []

    def interfere(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith("INSERT") and not done:
            done.append("inserted first")
            with store.transaction() as rival:
                merge_all(rival, [second])
        elif "FOR UPDATE" in statement and done == ["inserted first"]:
            done.append("locked")
            with store.transaction() as rival:
                rival.execute(sa.text("SET LOCAL lock_timeout = '5s'"))
                merge_all(rival, [refund(0, "evt_0"), second])

    with store.transaction() as session:
        raw = session.connection()
        sa.event.listen(raw, "before_cursor_execute", interfere)
        merge_all(session, [refund(1, "evt_1", status="succeeded"), second])
        sa.event.remove(raw, "before_cursor_execute", interfere)

    assert done == ["inserted first", "locked"]
    with store.reading() as session:
        assert [row.status for row in session.exec(select(Refund).order_by(col(Refund.id)))] == ["succeeded", "created"]
