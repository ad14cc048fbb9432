"""`cuadre tokens`: the keys of programs; and the first login."""

from datetime import date

import click
import sqlalchemy as sa
from sqlmodel import col

from consumer.commands.terminal import CommandError, Moment, json_option, limit_option, print_rows, say
from consumer.facts.clock import to_utc, utc_now
from consumer.facts.installation import Installation, OpenInstallation
from consumer.facts.work import Completion
from reports.access.keys import Scope, create_token, make_first_link, revoke_token, state_of_token
from reports.access.people import Role
from reports.access.visibility import limit_token
from reports.commands.people import changing
from reports.tables import Token

_ROLES = click.Choice([role.value for role in Role])
_SCOPES = click.Choice([scope.value for scope in Scope])
_KEYS = ("name", "role", "scopes", "state", "created_at", "expires_at", "last_used_at", "revoked_at")


@click.group()
def tokens() -> None:
    """Keys with which programs download reports."""


@tokens.command("create")
@click.argument("name")
@click.option("--role", type=_ROLES, default=Role.VIEWER.value, show_default=True)
@click.option("--scope", "scopes", multiple=True, type=_SCOPES, help="What it opens; repeat (default all).")
@click.option("--expires", type=Moment(), help="When it ends, such as 2027-06-30 (default never).")
@click.option("--connection", "names", multiple=True, metavar="NAME", help="What it sees; repeat (default all).")
@click.pass_obj
def tokens_create(
    open_installation: OpenInstallation,
    *,
    name: str,
    role: str,
    scopes: tuple[str, ...],
    expires: date | None,
    names: tuple[str, ...],
) -> None:
    """Make a token and print it; it cannot be shown again."""
    if set(scopes) == {Scope.BOOKS} and not Role(role).may(Role.FINANCE):
        raise CommandError("scope books alone opens nothing to a viewer: give --role finance", Completion.MISUSED)
    wanted, installation = tuple(map(Scope, scopes)) or tuple(Scope), open_installation()
    zone = installation.settings.all_connections[0].country.zone
    with changing(installation, "token", name) as session:
        token = create_token(session, name, Role(role), now=utc_now(), scopes=wanted, expires_at=to_utc(expires, zone))
        if names:
            known = [own.name for own in installation.settings.all_connections]
            limit_token(session, name, names, known=known)
    say("keep this token now: it is not shown again")
    click.echo(token)


@tokens.command("list")
@json_option
@limit_option
@click.pass_obj
def tokens_list(open_installation: OpenInstallation, *, as_json: bool, limit: int | None) -> None:
    """List the tokens, newest first, with when each was last used and ends."""
    with open_installation().store.reading() as session:
        newest = sa.select(Token).order_by(col(Token.created_at).desc(), col(Token.id).desc()).limit(limit)
        tokens = session.scalars(newest).all()
    own = [name for name in _KEYS if name != "state"]
    rows = [
        {name: getattr(token, name) for name in own} | {"state": state_of_token(token, now=utc_now())}
        for token in tokens
    ]
    print_rows(rows, _KEYS, as_json=as_json)


@tokens.command("revoke")
@click.argument("name")
@click.pass_obj
def tokens_revoke(open_installation: OpenInstallation, *, name: str) -> None:
    """End a token at once."""
    with changing(open_installation(), "revoke token", name) as session:
        revoke_token(session, name, now=utc_now())
    say(f"token {name} no longer works")


def greet(installation: Installation, address: str) -> None:
    """Print how the first person logs in, unless there is a login already."""
    key = make_first_link(installation.store, now=utc_now())
    if key is not None:
        link = f"{installation.settings.public_url or address}/welcome/{key}"
        say(f"no login exists yet; this link makes the first admin, once, within 24 hours: {link}")
