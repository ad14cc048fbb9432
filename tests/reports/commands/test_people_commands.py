"""`cuadre users` and `cuadre tokens`: what they change, what they print, and what the trail says of it."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from sqlmodel import col

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from cuadre import Commands
from reports.access import keys, people, second_factor, sessions
from reports.access.people import LoginRefusedError, Role
from reports.tables import AuditEntry, SecondFactor, Token

LUZ, PASSWORD = "luz@tienda.test", "una clave larga"
Run = Callable[..., Result]


@pytest.fixture
def run(reconciled: Installation) -> Run:
    """Run a command on an installation with Ana, its admin, and Luz of finance."""
    with reconciled.store.transaction() as session:
        people.add_user(session, people.to_user(LUZ, PASSWORD, Role.FINANCE, now=utc_now()))

    def invoke(*args: str) -> Result:
        return CliRunner().invoke(Commands(), args, obj=lambda: reconciled)

    return invoke


def enter(installation: Installation, email: str = LUZ, password: str = PASSWORD) -> str:
    """Log in and return the key of the session."""
    user = people.login(installation.store, email, password, now=utc_now())
    return sessions.open_session(installation.store, user, now=utc_now(), address="203.0.113.9")


def is_in(installation: Installation, key: str) -> bool:
    return sessions.user_of_session(installation.store, key, now=utc_now()) is not None


def trail(installation: Installation) -> list[tuple[str, str, str]]:
    with installation.store.reading() as session:
        rows = session.scalars(sa.select(AuditEntry).order_by(col(AuditEntry.id)))
        return [(row.action, row.subject, row.address) for row in rows if row.address == "terminal"]


def test_a_new_password_ends_what_the_old_one_opened(run: Run, reconciled: Installation) -> None:
    """It is made up and printed once; the old one and its sessions are dead."""
    before = enter(reconciled)
    result = run("users", "password", LUZ)
    assert "has a new password, and every session has ended" in result.stderr
    assert not is_in(reconciled, before)
    assert is_in(reconciled, enter(reconciled, password=result.stdout.strip()))
    with pytest.raises(LoginRefusedError):
        enter(reconciled)
    assert trail(reconciled) == [("change password", LUZ, "terminal")]


def test_a_person_is_invited_by_a_link(run: Run, reconciled: Installation) -> None:
    """The link alone is on standard output; until it is used no password opens, and the list says invited."""
    result = run("users", "invite", "eva@tienda.test", "--role", "admin")
    path = result.stdout.strip()
    assert path.startswith("/welcome/")
    with pytest.raises(LoginRefusedError):
        enter(reconciled, "eva@tienda.test", "")
    listed = [json.loads(line) for line in run("users", "list", "--json").stdout.splitlines()]
    assert [row["state"] for row in listed if row["email"] == "eva@tienda.test"] == ["invited"]
    keys.accept_link(reconciled.store, path.removeprefix("/welcome/"), "otra clave larga", now=utc_now())
    assert people.login(reconciled.store, "eva@tienda.test", "otra clave larga", now=utc_now()).role == "admin"


def test_a_link_for_a_new_password(run: Run, reconciled: Installation) -> None:
    """The newest link of a person works; the password there was works until it is used."""
    first, second = (run("users", "password", LUZ, "--link").stdout.strip() for _ in range(2))
    assert keys.find_link(reconciled.store, first.removeprefix("/welcome/"), now=utc_now()) is None
    assert keys.find_link(reconciled.store, second.removeprefix("/welcome/"), now=utc_now()) is not None
    assert is_in(reconciled, enter(reconciled))


def test_a_role_changes_and_a_lower_one_ends_sessions(run: Run, reconciled: Installation) -> None:
    """Who is made admin goes on; who is made viewer logs in anew."""
    key = enter(reconciled)
    assert run("users", "role", LUZ, "admin").stderr == "luz@tienda.test is admin from now on\n"
    assert is_in(reconciled, key)
    run("users", "role", LUZ, "viewer")
    assert not is_in(reconciled, key)
    assert trail(reconciled) == [("role", f"{LUZ} admin", "terminal"), ("role", f"{LUZ} viewer", "terminal")]


@pytest.mark.parametrize("args", [("disable", "ana@tienda.test"), ("role", "ana@tienda.test", "finance")])
def test_the_last_admin_stays(run: Run, reconciled: Installation, args: tuple[str, ...]) -> None:
    """With no admin left no one could let one in; a second admin makes it possible."""
    refused = run("users", *args)
    assert (refused.exit_code, trail(reconciled)) == (1, [])
    assert "the last admin is ana@tienda.test: make another person admin first" in refused.stderr
    run("users", "role", LUZ, "admin")
    assert run("users", *args).exit_code == 0


def test_who_is_let_in_again_logs_in_anew(run: Run, reconciled: Installation) -> None:
    """A session from before does not come back with the access."""
    key = enter(reconciled)
    run("users", "disable", LUZ)
    assert run("users", "enable", LUZ).stderr == "luz@tienda.test may log in again\n"
    assert not is_in(reconciled, key)
    assert is_in(reconciled, enter(reconciled))


def test_sessions_are_listed_and_ended(run: Run, reconciled: Installation) -> None:
    """Each has a name that ends it alone; without one all of a person end."""
    first, second, other = enter(reconciled), enter(reconciled), enter(reconciled, "ana@tienda.test")
    rows = [json.loads(line) for line in run("users", "sessions", LUZ, "--json").stdout.splitlines()]
    assert list(rows[0]) == ["email", "session", "opened_at", "expires_at", "address"]
    assert [(row["email"], row["address"]) for row in rows] == [(LUZ, "203.0.113.9")] * 2
    assert len(run("users", "sessions", "--json").stdout.splitlines()) == 3
    handle = sessions.digest(first)[:12]
    assert run("users", "end-sessions", LUZ, "--session", handle).stderr == "1 session of luz@tienda.test has ended\n"
    assert [is_in(reconciled, key) for key in (first, second, other)] == [False, True, True]
    assert "there is no open session" in run("users", "end-sessions", LUZ, "--session", handle).stderr
    assert run("users", "end-sessions", LUZ).exit_code == 0
    assert [is_in(reconciled, key) for key in (first, second, other)] == [False, False, True]


def test_a_lost_device_is_reset(run: Run, reconciled: Installation) -> None:
    """The second factor goes with its sessions, and the password alone opens."""
    settings, now = reconciled.settings, utc_now()
    with reconciled.store.transaction() as session:
        luz = people.id_of(people.require_user(session, LUZ))
        second_factor.begin(session, settings, luz, now=now)
        session.get_one(SecondFactor, luz).confirmed_at = now
    key = enter(reconciled)
    assert "logs in with the password alone" in run("users", "totp-reset", LUZ).stderr
    assert not is_in(reconciled, key)
    with reconciled.store.reading() as session:
        assert not second_factor.is_on(session, luz)


def test_a_token_ends_on_its_day(run: Run, reconciled: Installation) -> None:
    """From local midnight of that day it opens nothing, and the list says expired."""
    token = run("tokens", "create", "erp", "--expires", "2999-01-01").stdout.strip()
    end = datetime.fromisoformat("2999-01-01T03:00:00+00:00")
    find = keys.find_token
    assert find(reconciled.store, token, now=end - timedelta(seconds=1)) is not None
    assert find(reconciled.store, token, now=end) is None
    refused = run("tokens", "create", "alt", "--expires", "2020-01-01")
    assert (refused.exit_code, refused.stderr) == (1, "Error: the end of a token lies in the future\n")
    with reconciled.store.transaction() as session:
        session.execute(sa.update(Token).values(expires_at=utc_now() - timedelta(days=1)))
    (line,) = run("tokens", "list", "--json").stdout.splitlines()
    row = json.loads(line)
    assert (row["name"], row["state"], row["expires_at"] is not None) == ("erp", "expired", True)
    assert token not in line


def test_a_token_for_books_needs_a_role_that_may_write(run: Run) -> None:
    """One that could open nothing is not made; the line says which role it needs."""
    refused = run("tokens", "create", "erp", "--scope", "books")
    assert (refused.exit_code, refused.stderr) == (
        2, "Error: scope books alone opens nothing to a viewer: give --role finance\n",
    )  # fmt: skip
    assert run("tokens", "create", "erp", "--scope", "books", "--role", "finance").exit_code == 0


@pytest.mark.parametrize(
    "args", [("enable",), ("unlock",), ("totp-reset",), ("end-sessions",), ("password",), ("sessions",)]
)
def test_an_unknown_person_is_one_sentence(run: Run, reconciled: Installation, args: tuple[str, ...]) -> None:
    """No command of people ends in a traceback or a line of the trail."""
    result = run("users", *args, "eva@tienda.test")
    assert (result.exit_code, result.stderr) == (1, "Error: there is no user eva@tienda.test\n")
    assert trail(reconciled) == []
