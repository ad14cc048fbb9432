"""How fast passwords may be guessed: no person is locked out, every guesser slows down, no answer tells who exists."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from consumer.facts.store import Store
from reports.access import attempts, people
from reports.access.people import LoginRefusedError, Role, SlowedError, Visitor
from reports.tables import KnownDevice, LoginFailure

NOW = datetime(2026, 10, 8, 12, 0, tzinfo=UTC)
EMAIL, PASSWORD = "ana@tienda.test", "una clave larga"
OFFICE, ATTACKER = "198.51.100.7", "203.0.113.9"
PHONE = "a-device-of-ana"
STRANGER = Visitor(ATTACKER)


@pytest.fixture
def ana(store: Store) -> Store:
    with store.transaction() as session:
        user = people.add_user(session, people.to_user(EMAIL, PASSWORD, Role.FINANCE, now=NOW))
        session.flush()
        assert user.id is not None
        attempts.remember_device(session, PHONE, user.id, now=NOW)
    return store


def guess(store: Store, times: int, *, email: str = EMAIL, visitor: Visitor = STRANGER) -> None:
    for _ in range(times):
        with pytest.raises(LoginRefusedError):
            people.login(store, email, "otra clave más", now=NOW, visitor=visitor)


def wait_of(store: Store, email: str = EMAIL, visitor: Visitor = STRANGER) -> timedelta:
    with pytest.raises(SlowedError) as slowed:
        people.login(store, email, PASSWORD, now=NOW, visitor=visitor)
    return slowed.value.until - NOW


def test_five_guesses_lock_nobody_out(ana: Store) -> None:
    """The network that guessed waits a second, then two; its person comes in from elsewhere at once."""
    guess(ana, 5)
    assert wait_of(ana) == timedelta(seconds=1)
    later = NOW + timedelta(seconds=1)
    with pytest.raises(LoginRefusedError):
        people.login(ana, EMAIL, "otra clave más", now=later, visitor=Visitor(ATTACKER))
    with pytest.raises(SlowedError) as slowed:
        people.login(ana, EMAIL, PASSWORD, now=later, visitor=Visitor(ATTACKER))
    assert slowed.value.until == later + timedelta(seconds=2)
    assert people.login(ana, EMAIL, PASSWORD, now=NOW, visitor=Visitor(OFFICE)).email == EMAIL


def test_a_known_device_is_never_refused_the_right_password(ana: Store) -> None:
    """Neither its account under attack nor its own network makes it wait; ten wrong passwords make it unknown."""
    with ana.transaction() as session:
        for network in ("", ATTACKER):
            row = LoginFailure(account=attempts.account_of(EMAIL), network=network, failures=100, last_at=NOW)
            session.add(row)
    known = Visitor(ATTACKER, PHONE)
    assert wait_of(ana) == timedelta(minutes=15)
    guess(ana, 9, visitor=known)
    assert people.login(ana, EMAIL, PASSWORD, now=NOW, visitor=known).email == EMAIL
    guess(ana, 1, visitor=known)
    assert wait_of(ana, visitor=known) == timedelta(minutes=15)
    with ana.reading() as session:
        assert session.scalars(sa.select(KnownDevice)).all() == []


def test_a_device_is_known_to_its_person_alone(ana: Store) -> None:
    """Another person's device waits as a stranger does, and a made-up key belongs to no person."""
    with ana.transaction() as session:
        people.add_user(session, people.to_user("luz@tienda.test", PASSWORD, Role.VIEWER, now=NOW))
    guess(ana, 5, email="luz@tienda.test")
    for device in (PHONE, "made-up", ""):
        assert wait_of(ana, "luz@tienda.test", Visitor(ATTACKER, device)) == timedelta(seconds=1)


def test_one_network_cannot_shut_out_everybody(ana: Store) -> None:
    """After thirty failures of any names it waits itself, whatever name it tries; another network does not."""
    for number in range(30):
        guess(ana, 1, email=f"nadie{number}@tienda.test")
    assert wait_of(ana) == timedelta(seconds=1)
    assert people.login(ana, EMAIL, PASSWORD, now=NOW, visitor=Visitor(OFFICE)).email == EMAIL
    assert people.login(ana, EMAIL, PASSWORD, now=NOW, visitor=Visitor(ATTACKER, PHONE)).email == EMAIL


def test_guesses_from_everywhere_slow_an_account_down_and_do_not_shut_it(ana: Store) -> None:
    """With a network for every guess the account itself waits, thirty seconds at most."""
    for number in range(20):
        guess(ana, 1, visitor=Visitor(f"203.0.113.{number}"))
    assert wait_of(ana, visitor=Visitor(OFFICE)) == timedelta(seconds=1)
    with ana.transaction() as session:
        session.execute(sa.update(LoginFailure).values(failures=1000))
    assert wait_of(ana, visitor=Visitor("192.0.2.1")) == timedelta(seconds=30)


def test_a_home_network_of_version_six_counts_as_one(ana: Store) -> None:
    """Who has a /64 has 2^64 addresses, and one count."""
    for number in range(5):
        guess(ana, 1, visitor=Visitor(f"2001:db8:1:2::{number:x}"))
    assert wait_of(ana, visitor=Visitor("2001:db8:1:2:ffff::1")) == timedelta(seconds=1)
    assert people.login(ana, EMAIL, PASSWORD, now=NOW, visitor=Visitor("2001:db8:1:3::1")).email == EMAIL


def test_an_unknown_name_waits_like_a_known_one(ana: Store) -> None:
    """The answers to the same guesses are the same, so that they do not say who exists."""
    guess(ana, 5)
    guess(ana, 5, email="nadie@tienda.test", visitor=Visitor(OFFICE))
    assert wait_of(ana) == wait_of(ana, "nadie@tienda.test", Visitor(OFFICE)) == timedelta(seconds=1)


@pytest.mark.parametrize("email", [EMAIL, "nadie@tienda.test"])
def test_every_refusal_hashes_once(ana: Store, email: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known, unknown or disabled: the one slow step is the same, so the time tells nothing either."""
    hashed: list[str] = []
    real = people._is_right

    def watched(password_hash: str, password: str) -> bool:
        hashed.append(password_hash[:9])
        return real(password_hash, password)

    monkeypatch.setattr(people, "_is_right", watched)
    guess(ana, 1, email=email)
    with ana.transaction() as session:
        people.disable_user(session, people.require_user(session, EMAIL), now=NOW)
    guess(ana, 1, email=email)
    assert hashed == ["$argon2id", "$argon2id"]


@pytest.mark.both_databases
def test_guesses_side_by_side_are_counted_before_they_are_hashed(ana: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one guess is hashed the next ones meet its count, in other processes too: no burst of them is free."""
    other = Store(ana.url.render_as_string(hide_password=False))
    waits: list[timedelta] = []

    def hash_slowly(_hash: str, _password: str) -> bool:
        waits.append(wait_of(other))
        return False

    guess(ana, 4)
    monkeypatch.setattr(people, "_is_right", hash_slowly)
    guess(ana, 1)
    assert waits == [timedelta(seconds=1)]
    other.close()


def test_a_success_forgets_what_was_counted_against_the_account(ana: Store) -> None:
    """Four slips, a success and four slips cost no wait; the network keeps its own count."""
    guess(ana, 4, visitor=Visitor(OFFICE))
    people.login(ana, EMAIL, PASSWORD, now=NOW, visitor=Visitor(OFFICE))
    guess(ana, 4, visitor=Visitor(OFFICE))
    assert people.login(ana, EMAIL, PASSWORD, now=NOW, visitor=Visitor(OFFICE)).email == EMAIL
    with ana.reading() as session:
        rows = session.scalars(sa.select(LoginFailure)).all()
    assert [(row.account, row.network, row.failures) for row in rows] == [("", OFFICE, 8)]


def test_an_admin_unlocks_at_once(ana: Store) -> None:
    """What was counted against the account goes, from every network."""
    guess(ana, 5)
    with ana.reading() as session:
        until = attempts.waits_of_accounts(session, now=NOW)[attempts.account_of(EMAIL)]
    assert until == NOW + timedelta(seconds=1)
    with ana.transaction() as session:
        people.unlock_user(session, people.require_user(session, " ANA@tienda.test"))
    assert people.login(ana, EMAIL, PASSWORD, now=NOW, visitor=Visitor(ATTACKER)).email == EMAIL


def test_failures_are_forgotten_after_a_quarter_of_an_hour(ana: Store) -> None:
    """Rows of those who behave again go with the next attempt of anybody."""
    guess(ana, 3)
    people.login(ana, EMAIL, PASSWORD, now=NOW + timedelta(minutes=15), visitor=Visitor(OFFICE))
    with ana.reading() as session:
        rows = session.scalars(sa.select(LoginFailure)).all()
    assert [(row.network, row.failures) for row in rows] == [(OFFICE, 0)]
