"""People: who gets in, and what the trail says of it."""

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from consumer.facts.store import Store
from reports.access import people
from reports.access.people import LoginRefusedError, PeopleError, Role, Visitor
from reports.tables import AuditEntry, User
from tests.reports.conftest import EMAIL, PASSWORD

NOW = datetime(2026, 10, 8, 12, 0, tzinfo=UTC)


def fail(store: Store, times: int, at: datetime = NOW) -> None:
    for _ in range(times):
        with pytest.raises(LoginRefusedError):
            people.login(store, EMAIL, "otra clave más", now=at)


def test_the_right_password_gets_in(ana: Store) -> None:
    """A person is found whatever the case of the address, and the password itself is nowhere in the table."""
    assert people.login(ana, "  ANA@tienda.test ", PASSWORD, now=NOW).role == "finance"
    with ana.reading() as session:
        assert session.scalars(sa.select(User)).one().password_hash.startswith("$argon2id$")


@pytest.mark.parametrize(("email", "password"), [(EMAIL, "otra clave más"), ("nadie@tienda.test", PASSWORD), ("", "")])
def test_a_wrong_pair_is_refused(ana: Store, email: str, password: str) -> None:
    """Neither a wrong password nor an unknown person gets in."""
    with pytest.raises(LoginRefusedError):
        people.login(ana, email, password, now=NOW)


def test_a_disabled_person_stays_outside(ana: Store) -> None:
    """Disabling shuts out at once, also with the right password."""
    with ana.transaction() as session:
        people.disable_user(session, people.require_user(session, EMAIL), now=NOW)
    with pytest.raises(LoginRefusedError):
        people.login(ana, EMAIL, PASSWORD, now=NOW)


def test_the_same_person_is_not_added_twice(ana: Store) -> None:
    """A second user of one address is refused, whatever the case it is written in."""
    again = people.to_user("ANA@tienda.test", PASSWORD, Role.ADMIN, now=NOW)
    with ana.transaction() as session, pytest.raises(PeopleError, match="there is already a user"):
        people.add_user(session, again)


def test_ensuring_a_user_twice_leaves_one(store: Store) -> None:
    """The demo may start again and again with its own login."""
    people.ensure_user(store, EMAIL, PASSWORD, Role.VIEWER)
    people.ensure_user(store, EMAIL, "una clave nueva", "admin")
    assert people.login(store, EMAIL, "una clave nueva", now=NOW).role == "admin"


@pytest.mark.parametrize("password", ["", "short", "eleven char"])
def test_a_short_password_is_refused(password: str) -> None:
    """A password has twelve characters or more."""
    with pytest.raises(PeopleError, match="12 characters"):
        people.to_user(EMAIL, password, Role.VIEWER, now=NOW)


@pytest.mark.parametrize("email", ["", "ana", "@x.test", "ana@", "a na@x.test", "a@b@c"])
def test_an_address_that_is_none_is_refused(email: str) -> None:
    """A person is named by an email address."""
    with pytest.raises(PeopleError, match="is not an email address"):
        people.to_user(email, PASSWORD, Role.VIEWER, now=NOW)


def test_roles_reach_downwards() -> None:
    """An admin may what finance may, a viewer may only look."""
    assert Role.ADMIN.may(Role.FINANCE)
    assert Role.FINANCE.may(Role.VIEWER)
    assert not Role.VIEWER.may(Role.FINANCE)


def test_every_attempt_is_in_the_trail(ana: Store) -> None:
    """Who came in or was refused, and from where; a stranger's text is not kept, it may be a password."""
    people.login(ana, EMAIL, PASSWORD, now=NOW, visitor=Visitor("203.0.113.9"))
    fail(ana, 1)
    with pytest.raises(LoginRefusedError):
        people.login(ana, "una clave larga", "", now=NOW, visitor=Visitor("2001:db8::1"))
    with ana.reading() as session:
        rows = session.scalars(sa.select(AuditEntry).order_by(sa.text("id"))).all()
    assert [(row.who, row.action, row.address) for row in rows] == [
        (EMAIL, "login", "203.0.113.9"),
        (EMAIL, "login refused", ""),
        ("unknown", "login refused", "2001:db8::1"),
    ]
