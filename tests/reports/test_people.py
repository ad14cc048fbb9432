"""People and tokens: what is kept, who gets in, and how long the door stays shut after failures."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from consumer.facts.store import Store
from reports import people
from reports.people import LockedError, LoginRefusedError, PeopleError, Role
from reports.tables import AuditEntry, Token, User

NOW = datetime(2026, 10, 8, 12, 0, tzinfo=UTC)
EMAIL, PASSWORD = "ana@tienda.test", "una clave larga"


@pytest.fixture
def ana(store: Store) -> Store:
    with store.transaction() as session:
        people.add_user(session, EMAIL, PASSWORD, Role.FINANCE, now=NOW)
    return store


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


def test_five_failures_shut_the_door_for_a_quarter_of_an_hour(ana: Store) -> None:
    """Even the right password is refused while the account is locked, and works again after."""
    fail(ana, 5)
    with pytest.raises(LockedError):
        people.login(ana, EMAIL, PASSWORD, now=NOW + timedelta(minutes=14))
    assert people.login(ana, EMAIL, PASSWORD, now=NOW + timedelta(minutes=15)).email == EMAIL


def test_guesses_side_by_side_meet_the_same_lock(ana: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A right guess that was being hashed while others shut the door stays outside, and does not open it."""

    def hash_slowly(_hash: str, _password: str) -> bool:
        with ana.transaction() as session:
            session.execute(sa.update(User).values(locked_until=NOW + timedelta(minutes=15)))
        return True

    with monkeypatch.context() as patch:
        patch.setattr(people, "_is_right", hash_slowly)
        with pytest.raises(LockedError):
            people.login(ana, EMAIL, PASSWORD, now=NOW)
    with pytest.raises(LockedError):
        people.login(ana, EMAIL, PASSWORD, now=NOW + timedelta(minutes=14))


def test_a_success_forgets_earlier_failures(ana: Store) -> None:
    """Four slips, a success and four slips lock nobody out."""
    fail(ana, 4)
    people.login(ana, EMAIL, PASSWORD, now=NOW)
    fail(ana, 4)
    assert people.login(ana, EMAIL, PASSWORD, now=NOW).failed_logins == 0


def test_a_disabled_person_stays_outside(ana: Store) -> None:
    """Disabling shuts out at once, and a session that is open ends."""
    key = people.fingerprint(people.login(ana, EMAIL, PASSWORD, now=NOW))
    assert people.user_of_session(ana, key) is not None
    with ana.transaction() as session:
        people.disable_user(session, EMAIL, now=NOW)
    assert people.user_of_session(ana, key) is None
    with pytest.raises(LoginRefusedError):
        people.login(ana, EMAIL, PASSWORD, now=NOW)


def test_a_new_password_ends_older_sessions(ana: Store) -> None:
    """A session names the password it was opened with."""
    key = people.fingerprint(people.login(ana, EMAIL, PASSWORD, now=NOW))
    people.ensure_user(ana, EMAIL, "una clave nueva", Role.FINANCE)
    assert people.user_of_session(ana, key) is None


@pytest.mark.parametrize("key", ["", "x", "1", "1.abc", "99.abc", "١.x"])
def test_a_made_up_session_is_nobody(ana: Store, key: str) -> None:
    """A session key that was not given out names no one."""
    assert people.user_of_session(ana, key) is None


def test_ensuring_a_user_twice_leaves_one(store: Store) -> None:
    """The demo may start again and again with its own login."""
    people.ensure_user(store, EMAIL, PASSWORD, Role.VIEWER)
    people.ensure_user(store, EMAIL, "una clave nueva", "admin")
    assert people.login(store, EMAIL, "una clave nueva", now=NOW).role == "admin"


@pytest.mark.parametrize("password", ["", "short", "eleven char"])
def test_a_short_password_is_refused(store: Store, password: str) -> None:
    """A password has twelve characters or more."""
    with store.transaction() as session, pytest.raises(PeopleError, match="12 characters"):
        people.add_user(session, EMAIL, password, Role.VIEWER, now=NOW)


@pytest.mark.parametrize("email", ["", "ana", "@x.test", "ana@", "a na@x.test", "a@b@c"])
def test_an_address_that_is_none_is_refused(store: Store, email: str) -> None:
    """A person is named by an email address."""
    with store.transaction() as session, pytest.raises(PeopleError, match="is not an email address"):
        people.add_user(session, email, PASSWORD, Role.VIEWER, now=NOW)


def test_a_token_is_kept_as_its_digest_only(store: Store) -> None:
    """The database never holds what would open the door."""
    with store.transaction() as session:
        token = people.create_token(session, "erp", Role.VIEWER, now=NOW)
    with store.reading() as session:
        row = session.scalars(sa.select(Token)).one()
    assert token.startswith("cuadre_")
    assert token not in (row.sha256, row.name)
    assert len(row.sha256) == 64


def test_a_token_works_until_it_is_revoked(store: Store) -> None:
    """A revoked or made-up token opens nothing; the last use is kept."""
    with store.transaction() as session:
        token = people.create_token(session, "erp", Role.VIEWER, now=NOW)
    assert people.find_token(store, token, now=NOW) is not None
    with store.reading() as session:
        assert session.scalars(sa.select(Token)).one().last_used_at == NOW
    with store.transaction() as session:
        people.revoke_token(session, "erp", now=NOW)
    assert people.find_token(store, token, now=NOW) is None
    assert people.find_token(store, token + "x", now=NOW) is None


def test_roles_reach_downwards() -> None:
    """An admin may what finance may, a viewer may only look."""
    assert Role.ADMIN.may(Role.FINANCE)
    assert Role.FINANCE.may(Role.VIEWER)
    assert not Role.VIEWER.may(Role.FINANCE)


def test_every_attempt_is_in_the_trail(ana: Store) -> None:
    """Who came in and who was refused can be read later; a stranger's text is not kept, it may be a password."""
    people.login(ana, EMAIL, PASSWORD, now=NOW)
    fail(ana, 1)
    with pytest.raises(LoginRefusedError):
        people.login(ana, "una clave larga", "", now=NOW)
    with ana.reading() as session:
        rows = session.scalars(sa.select(AuditEntry).order_by(sa.text("id"))).all()
    assert [(row.who, row.action) for row in rows] == [
        (EMAIL, "login"),
        (EMAIL, "login refused"),
        ("unknown", "login refused"),
    ]
