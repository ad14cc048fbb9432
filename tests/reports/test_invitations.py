"""The first admin's link: works once, for a day, and only while no login exists."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
import sqlalchemy as sa

from consumer.facts.store import Store
from reports.access import keys, people
from reports.access.keys import LinkOverError
from reports.access.people import PeopleError, Role
from reports.tables import AuditEntry, User

NOW = datetime(2026, 10, 8, 12, 0, tzinfo=UTC)
EMAIL, PASSWORD = "ana@tienda.test", "una clave larga"


def made(store: Store, at: datetime = NOW) -> str:
    key = keys.make_first_link(store, now=at)
    assert key is not None
    return key


def test_the_link_makes_one_admin(store: Store) -> None:
    """The first who opens it is the admin; the second reads that it is over."""
    key = made(store)
    assert keys.accept_first_link(store, key, EMAIL, PASSWORD, now=NOW).role == "admin"
    assert people.login(store, EMAIL, PASSWORD, now=NOW).email == EMAIL
    with pytest.raises(LinkOverError):
        keys.accept_first_link(store, key, "otra@tienda.test", PASSWORD, now=NOW)


def test_nobody_waits_while_the_password_is_hashed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashing takes a tenth of a second; meanwhile another may write, even on a database with one write lock."""
    key, hashed = made(store), people.to_user(EMAIL, PASSWORD, Role.ADMIN, now=NOW)

    def write_meanwhile(*_asked: Any, **_more: Any) -> User:
        with store.connection() as connection:
            connection.execute(sa.insert(AuditEntry).values(at=NOW, who="x", action="login", subject="login"))
        return hashed

    monkeypatch.setattr(keys, "to_user", write_meanwhile)
    assert keys.accept_first_link(store, key, EMAIL, PASSWORD, now=NOW).email == EMAIL


def test_a_refused_password_leaves_the_link_open(store: Store) -> None:
    """Nothing is used up by a password that is too short."""
    key = made(store)
    with pytest.raises(PeopleError, match="12 characters"):
        keys.accept_first_link(store, key, EMAIL, "corta", now=NOW)
    assert keys.find_link(store, key, now=NOW) is not None


def test_links_of_two_servers_work_until_one_is_used(store: Store) -> None:
    """Each start prints a link of its own; a link ends after 24 hours, and all of them with the first admin."""
    first, second = made(store), made(store)
    for key in (first, second):
        assert keys.find_link(store, key, now=NOW + timedelta(hours=23)) is not None
        assert keys.find_link(store, key, now=NOW + timedelta(hours=24)) is None
    assert keys.accept_first_link(store, second, EMAIL, PASSWORD, now=NOW).role == "admin"
    assert keys.find_link(store, first, now=NOW) is None


def test_no_link_where_somebody_can_log_in(store: Store) -> None:
    """Once there is a person no link is made, and an older one is dead."""
    key = made(store)
    with store.transaction() as session:
        people.add_user(session, people.to_user(EMAIL, PASSWORD, Role.VIEWER, now=NOW))
    assert keys.make_first_link(store, now=NOW) is None
    assert keys.find_link(store, key, now=NOW) is None


@pytest.mark.parametrize("key", ["", "x", "a" * 300])
def test_a_made_up_link_leads_nowhere(store: Store, key: str) -> None:
    """A key that was never printed is no link."""
    made(store)
    assert keys.find_link(store, key, now=NOW) is None


def test_two_who_open_the_link_at_once_make_one_admin(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find it open and both hash their password; one becomes the admin, the other reads that it is over."""
    key, both_hash = made(store), Barrier(2)
    hashed = people.to_user(EMAIL, PASSWORD, Role.ADMIN, now=NOW).password_hash

    def hash_together(email: str, _password: str, role: Role, *, now: datetime) -> User:
        both_hash.wait(timeout=120)
        return User(email=email, password_hash=hashed, role=role, created_at=now)

    def open_it(email: str) -> str:
        try:
            return keys.accept_first_link(store, key, email, PASSWORD, now=NOW).role
        except LinkOverError:
            return "over"

    monkeypatch.setattr(keys, "to_user", hash_together)
    with ThreadPoolExecutor(2) as pool:
        found = sorted(pool.map(open_it, ["ana@tienda.test", "eva@tienda.test"]))
    assert found == ["admin", "over"]
    with store.reading() as session:
        assert len(session.scalars(sa.select(User)).all()) == 1
