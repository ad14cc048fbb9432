"""People: who gets in, and how long the door stays shut after failures of an account or an address."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from consumer.facts.store import Store
from reports import people
from reports.people import AddressShutError, LockedError, LoginRefusedError, PeopleError, Role
from reports.tables import AuditEntry, LoginAddress, User

NOW = datetime(2026, 10, 8, 12, 0, tzinfo=UTC)
EMAIL, PASSWORD = "ana@tienda.test", "una clave larga"


@pytest.fixture
def ana(store: Store) -> Store:
    with store.transaction() as session:
        people.add_user(session, people.to_user(EMAIL, PASSWORD, Role.FINANCE, now=NOW))
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


@pytest.mark.both_databases
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


@pytest.mark.both_databases
def test_processes_count_the_same_failures(ana: Store) -> None:
    """Guesses that are spread over several processes meet one lock: they are counted in the database."""
    other = Store(ana.url.render_as_string(hide_password=False))
    for store in (ana, other, ana, other, ana):
        fail(store, 1)
    for store in (ana, other):
        with pytest.raises(LockedError):
            people.login(store, EMAIL, PASSWORD, now=NOW)
    other.close()


def test_a_success_forgets_earlier_failures(ana: Store) -> None:
    """Four slips, a success and four slips lock nobody out."""
    fail(ana, 4)
    people.login(ana, EMAIL, PASSWORD, now=NOW)
    fail(ana, 4)
    assert people.login(ana, EMAIL, PASSWORD, now=NOW).failed_logins == 0


def test_a_disabled_person_stays_outside(ana: Store) -> None:
    """Disabling shuts out at once, also with the right password."""
    with ana.transaction() as session:
        people.disable_user(session, EMAIL, now=NOW)
    with pytest.raises(LoginRefusedError):
        people.login(ana, EMAIL, PASSWORD, now=NOW)


def guess(store: Store, times: int, address: str, at: datetime = NOW) -> None:
    for number in range(times):
        with pytest.raises(LoginRefusedError):
            people.login(store, f"nadie{number}@tienda.test", "una clave cualquiera", now=at, address=address)


def test_an_address_that_guesses_waits_and_nobody_else_does(ana: Store) -> None:
    """After thirty failures of any names an address is refused with the right password too; another comes in."""
    guess(ana, 30, "203.0.113.9")
    with pytest.raises(AddressShutError):
        people.login(ana, EMAIL, PASSWORD, now=NOW + timedelta(minutes=14), address="203.0.113.9")
    assert people.login(ana, EMAIL, PASSWORD, now=NOW, address="198.51.100.7").email == EMAIL
    assert people.login(ana, EMAIL, PASSWORD, now=NOW + timedelta(minutes=15), address="203.0.113.9").email == EMAIL


def test_addresses_that_behave_again_are_forgotten(ana: Store) -> None:
    """A count lasts a quarter of an hour and its row goes with it."""
    guess(ana, 3, "203.0.113.9")
    guess(ana, 1, "198.51.100.7", NOW + timedelta(minutes=15))
    with ana.reading() as session:
        rows = session.scalars(sa.select(LoginAddress)).all()
    assert [(row.address, row.failures) for row in rows] == [("198.51.100.7", 1)]


def test_without_an_address_nobody_is_held_back(ana: Store) -> None:
    """Logins that come from no known address are not counted together: each account's own lock still holds."""
    guess(ana, 31, "")
    assert people.login(ana, EMAIL, PASSWORD, now=NOW, address="").email == EMAIL
    with ana.reading() as session:
        assert session.scalars(sa.select(LoginAddress)).all() == []


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
