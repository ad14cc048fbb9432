"""Logins kept on the server: they end when they are left, when they are old, and with the password they began with."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from consumer.facts.store import Store
from reports.access import people, sessions
from reports.access.people import Role
from reports.tables import LoginSession
from tests.reports.conftest import EMAIL, PASSWORD

NOW = datetime(2026, 10, 8, 12, 0, tzinfo=UTC)


def enter(store: Store, at: datetime = NOW) -> str:
    return sessions.open_session(store, people.login(store, EMAIL, PASSWORD, now=at), now=at)


def is_in(store: Store, key: str, at: datetime = NOW) -> bool:
    return sessions.user_of_session(store, key, now=at) is not None


def test_a_session_that_is_left_is_dead_everywhere(ana: Store) -> None:
    """The key opens nothing after the end, and another session of the same person goes on."""
    left, other = enter(ana), enter(ana)
    sessions.end_session(ana, left, now=NOW)
    assert (is_in(ana, left), is_in(ana, other)) == (False, True)


def test_a_session_ends_after_twelve_hours(ana: Store) -> None:
    """However busy it was; and rows of sessions long over are forgotten at the next login."""
    key = enter(ana)
    assert is_in(ana, key, NOW + timedelta(hours=11, minutes=59))
    assert not is_in(ana, key, NOW + timedelta(hours=12))
    enter(ana, NOW + timedelta(hours=25))
    with ana.reading() as session:
        assert len(session.scalars(sa.select(LoginSession)).all()) == 1


def test_the_key_is_not_in_the_database(ana: Store) -> None:
    """Who reads the table cannot make a cookie of it."""
    key = enter(ana)
    with ana.reading() as session:
        row = session.scalars(sa.select(LoginSession)).one()
    assert key not in (row.sha256, row.password_sha256)
    assert not is_in(ana, row.sha256)


def test_a_disabled_person_is_out_at_once(ana: Store) -> None:
    """A session that is open ends when its person is disabled."""
    key = enter(ana)
    with ana.transaction() as session:
        people.disable_user(session, people.require_user(session, EMAIL), now=NOW)
    assert not is_in(ana, key)


def test_a_new_password_ends_older_sessions(ana: Store) -> None:
    """A session remembers the password it was opened with."""
    key = enter(ana)
    people.ensure_user(ana, EMAIL, "una clave nueva", Role.FINANCE)
    assert not is_in(ana, key)


@pytest.mark.parametrize("key", ["", "x", "1", "1.abc", "99.abc", "١.x"])
def test_a_made_up_session_is_nobody(ana: Store, key: str) -> None:
    """A session key that was not given out names no one."""
    assert not is_in(ana, key)
