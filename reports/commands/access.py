"""The commands that say who may log in or download: people and the tokens of programs."""

import sys
from datetime import datetime
from pathlib import Path

import click
import sqlalchemy as sa
from sqlmodel import col

from consumer.commands.terminal import CommandError, json_option, limit_option, print_rows, say
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation, OpenInstallation
from reports import attempts
from reports.keys import Scope, create_token, invite, revoke_token
from reports.people import PeopleError, Role, add_user, disable_user, new_password, to_user, unlock_user
from reports.shapes.spans import Row
from reports.tables import User

_ROLES = click.Choice([role.value for role in Role])
_SCOPES = click.Choice([scope.value for scope in Scope])


@click.group()
def users() -> None:
    """People who may log in."""


@users.command("add")
@click.argument("email")
@click.option("--role", type=_ROLES, default=Role.VIEWER.value, show_default=True)
@click.option("--password-file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_obj
def users_add(open_installation: OpenInstallation, *, email: str, role: str, password_file: Path | None) -> None:
    """Add a person; the password comes from a file or a prompt, or is made up and printed once."""
    password, is_made_up = _password(password_file)
    try:
        user = to_user(email, password, Role(role), now=utc_now())
        with open_installation().store.transaction() as session:
            add_user(session, user)
    except PeopleError as error:
        raise CommandError(str(error)) from None
    say(f"{user.email} may log in as {role}")
    if is_made_up:
        say("the password, made up and not shown again; keep it or hand it over safely:")
        click.echo(password)


def _password(file: Path | None) -> tuple[str, bool]:
    if file is not None:
        return file.read_text(encoding="utf-8").strip("\r\n"), False
    if sys.stdin.isatty():
        prompt = "Password (empty: one is made up)"
        given: str = click.prompt(prompt, hide_input=True, default="", show_default=False, err=True)
        if given:
            return given, False
    return new_password(), True


@users.command("list")
@json_option
@limit_option
@click.pass_obj
def users_list(open_installation: OpenInstallation, *, as_json: bool, limit: int | None) -> None:
    """List people, newest first."""
    with open_installation().store.reading() as session:
        newest = sa.select(User).order_by(col(User.created_at).desc(), col(User.id).desc()).limit(limit)
        waits = attempts.waits_of_accounts(session, now=utc_now())
        rows = [_user_row(user, waits.get(attempts.account_of(user.email))) for user in session.scalars(newest)]
    print_rows(rows, ("email", "role", "created_at", "disabled_at", "locked_until"), as_json=as_json)


def _user_row(user: User, waits_until: datetime | None) -> Row:
    return {
        "email": user.email,
        "role": str(user.role),
        "created_at": user.created_at,
        "disabled_at": user.disabled_at,
        "locked_until": waits_until,
    }


@users.command("disable")
@click.argument("email")
@click.pass_obj
def users_disable(open_installation: OpenInstallation, *, email: str) -> None:
    """Shut a person out, at once and also where they are logged in."""
    try:
        with open_installation().store.transaction() as session:
            disable_user(session, email, now=utc_now())
    except PeopleError as error:
        raise CommandError(str(error)) from None
    say(f"{email} can no longer log in")


@users.command("unlock")
@click.argument("email")
@click.pass_obj
def users_unlock(open_installation: OpenInstallation, *, email: str) -> None:
    """Let a person whose logins are slowed down try again at once."""
    try:
        with open_installation().store.transaction() as session:
            user = unlock_user(session, email)
    except PeopleError as error:
        raise CommandError(str(error)) from None
    say(f"{user.email} may try again at once")


@click.group()
def tokens() -> None:
    """Keys with which programs download reports."""


@tokens.command("create")
@click.argument("name")
@click.option("--role", type=_ROLES, default=Role.VIEWER.value, show_default=True)
@click.option("--scope", "scopes", multiple=True, type=_SCOPES, help="What it opens; repeat (default all).")
@click.pass_obj
def tokens_create(open_installation: OpenInstallation, *, name: str, role: str, scopes: tuple[str, ...]) -> None:
    """Make a token and print it; it cannot be shown again."""
    wanted = tuple(map(Scope, scopes)) or tuple(Scope)
    try:
        with open_installation().store.transaction() as session:
            token = create_token(session, name, Role(role), now=utc_now(), scopes=wanted)
    except PeopleError as error:
        raise CommandError(str(error)) from None
    say("keep this token now: it is not shown again")
    click.echo(token)


@tokens.command("revoke")
@click.argument("name")
@click.pass_obj
def tokens_revoke(open_installation: OpenInstallation, *, name: str) -> None:
    """End a token at once."""
    try:
        with open_installation().store.transaction() as session:
            revoke_token(session, name, now=utc_now())
    except PeopleError as error:
        raise CommandError(str(error)) from None
    say(f"token {name} no longer works")


def greet(installation: Installation, address: str) -> None:
    """Print how the first person logs in, unless there is a login already."""
    key = invite(installation.store, now=utc_now())
    if key is not None:
        link = f"{installation.settings.public_url or address}/welcome/{key}"
        say(f"no login exists yet; this link makes the first admin, once, within 24 hours: {link}")
