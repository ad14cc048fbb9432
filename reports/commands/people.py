"""`cuadre users`: who may log in, with which role, from where, and with what."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.commands.terminal import json_option, limit_option, login_name, print_rows, say
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation, OpenInstallation
from reports.access import attempts, keys, people, second_factor, sessions
from reports.access.people import PeopleError, Role
from reports.tables import User

# Where the trail names an address, a command names this.
TERMINAL = "terminal"
_ROLES = click.Choice([role.value for role in Role])
_KEYS = ("email", "role", "state", "second_factor", "created_at", "disabled_at", "locked_until")
_SESSION_KEYS = ("email", "session", "opened_at", "expires_at", "address")
_password_file = click.option(
    "--password-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Read the password from it."
)
_role = click.option("--role", type=_ROLES, default=Role.VIEWER.value, show_default=True)


@contextmanager
def changing(installation: Installation, action: str, subject: str) -> Iterator[Session]:
    """Open a transaction that also writes the trail; a refusal becomes one line."""
    who = login_name()
    with installation.store.transaction() as session:
        yield session
        people.note_in(session, who, action, subject, now=utc_now(), address=TERMINAL)


@click.group()
def users() -> None:
    """People who may log in."""


@users.command("add")
@click.argument("email")
@_role
@_password_file
@click.pass_obj
def users_add(open_installation: OpenInstallation, *, email: str, role: str, password_file: Path | None) -> None:
    """Add a person; the password comes from a file or a prompt, or is made up and printed once."""
    password, is_made_up = _password(password_file)
    installation = open_installation()
    with changing(installation, "add user", f"{email} {role}") as session:
        user = people.add_user(session, people.to_user(email, password, Role(role), now=utc_now()))
    say(f"{user.email} may log in as {role}")
    _print_once(password if is_made_up else None)


def _password(file: Path | None) -> tuple[str, bool]:
    if file is not None:
        return file.read_text(encoding="utf-8").strip("\r\n"), False
    if sys.stdin.isatty():
        prompt = "Password (empty: one is made up)"
        given: str = click.prompt(prompt, hide_input=True, default="", show_default=False, err=True)
        if given:
            return given, False
    return people.new_password(), True


def _print_once(password: str | None) -> None:
    if password is not None:
        say("the password, made up and not shown again; keep it or hand it over safely:")
        click.echo(password)


@users.command("invite")
@click.argument("email")
@_role
@click.pass_obj
def users_invite(open_installation: OpenInstallation, *, email: str, role: str) -> None:
    """Add a person and print a link, good once and for 72 hours, by which they choose a password."""
    installation = open_installation()
    with changing(installation, "invite", f"{email} {role}") as session:
        user = people.invite_user(session, email, Role(role), now=utc_now())
        key = keys.make_link(session, user, now=utc_now())
    say(f"{user.email} is invited as {role}")
    _print_link(installation, key)


def _print_link(installation: Installation, key: str) -> None:
    say("the link, good once and for 72 hours, and not shown again:")
    click.echo(f"{installation.settings.public_url or ''}/welcome/{key}")
    if installation.settings.public_url is None:
        say("put the address of your pages before it, or set CUADRE_PUBLIC_URL")


@users.command("password")
@click.argument("email")
@_password_file
@click.option("--link", is_flag=True, help="Print a link by which the person chooses it.")
@click.pass_obj
def users_password(open_installation: OpenInstallation, *, email: str, password_file: Path | None, link: bool) -> None:
    """Give a person another password, from a file, a prompt or made up; their sessions end."""
    installation = open_installation()
    if link:
        with changing(installation, "link", email) as session:
            key = keys.make_link(session, people.require_user(session, email), now=utc_now())
        _print_link(installation, key)
        return
    password, is_made_up = _password(password_file)
    with changing(installation, "change password", email) as session:
        # Hashed before the first statement: it takes too long to hold the one write lock of SQLite.
        password_hash = people.hash_password(password)
        user = people.require_user(session, email)
        people.set_password(session, user, password_hash, now=utc_now())
    say(f"{user.email} has a new password, and every session has ended")
    _print_once(password if is_made_up else None)


@users.command("list")
@json_option
@limit_option
@click.pass_obj
def users_list(open_installation: OpenInstallation, *, as_json: bool, limit: int | None) -> None:
    """List people, newest first."""
    with open_installation().store.reading() as session:
        newest = sa.select(User).order_by(col(User.created_at).desc(), col(User.id).desc()).limit(limit)
        waits = attempts.waits_of_accounts(session, now=utc_now())
        factors = second_factor.people_with_one(session)
        rows = [
            {
                "email": user.email,
                "role": str(user.role),
                "state": people.state_of_user(user),
                "second_factor": user.id in factors,
                "created_at": user.created_at,
                "disabled_at": user.disabled_at,
                "locked_until": waits.get(attempts.account_of(user.email)),
            }
            for user in session.scalars(newest)
        ]
    print_rows(rows, _KEYS, as_json=as_json)


@users.command("role")
@click.argument("email")
@click.argument("role", type=_ROLES)
@click.pass_obj
def users_role(open_installation: OpenInstallation, *, email: str, role: str) -> None:
    """Give a person another role; a lower one ends their sessions."""
    with changing(open_installation(), "role", f"{email} {role}") as session:
        people.change_role(session, people.require_user(session, email), Role(role), now=utc_now())
    say(f"{email} is {role} from now on")


@users.command("sessions")
@click.argument("email", required=False)
@json_option
@limit_option
@click.pass_obj
def users_sessions(open_installation: OpenInstallation, *, email: str | None, as_json: bool, limit: int | None) -> None:
    """List who is logged in, newest first, of one person or of all."""
    with open_installation().store.reading() as session:
        user = people.require_user(session, email) if email else None
        found = sessions.open_sessions(session, user, now=utc_now())[:limit]
    rows = [
        {
            "email": person.email,
            "session": sessions.handle_of(row),
            "opened_at": row.opened_at,
            "expires_at": row.expires_at,
            "address": row.address,
        }
        for row, person in found
    ]
    print_rows(rows, _SESSION_KEYS, as_json=as_json)


@users.command("end-sessions")
@click.argument("email")
@click.option("--session", "handle", default="", help="One of those that users sessions lists; default all.")
@click.pass_obj
def users_end_sessions(open_installation: OpenInstallation, *, email: str, handle: str) -> None:
    """Log a person out everywhere, or end one session."""
    with changing(open_installation(), "end-sessions", email) as session:
        user = people.require_user(session, email)
        ended = sessions.end_sessions(session, user, now=utc_now(), handle=handle)
        if handle and not ended:
            raise PeopleError("people.unknown_session", session=handle)
    say(f"{ended} sessions of {user.email} have ended" if ended != 1 else f"1 session of {user.email} has ended")


def _change(name: str, words: str, done: str) -> click.Command:
    """Return a command that changes one thing of a person."""

    @click.command(name, help=words)
    @click.argument("email")
    @click.pass_obj
    def command(open_installation: OpenInstallation, *, email: str) -> None:
        with changing(open_installation(), name, email) as session:
            user = people.require_user(session, email)
            people.CHANGES[name](session, user, utc_now())
        say(done.format(email=user.email))

    return command


for _made in (
    _change(
        "disable",
        "Shut a person out, at once and also where they are logged in.",
        "{email} can no longer log in",
    ),
    _change("enable", "Let a person in again who was shut out.", "{email} may log in again"),
    _change("unlock", "Let a person whose logins are slowed down try again at once.", "{email} may try again at once"),
    _change(
        "totp-reset",
        "Take the second factor of a person away whose device is lost; their sessions end.",
        "{email} logs in with the password alone until a second factor is set up again",
    ),
):
    users.add_command(_made)
