"""`cuadre users connections` and `link`: which connections a person sees, and whom the identity provider names."""

import click

from consumer.commands.terminal import CommandError, say
from consumer.facts.clock import utc_now
from consumer.facts.installation import OpenInstallation
from consumer.facts.work import Completion
from reports.access.identities import link
from reports.access.people import hash_password, new_password, require_user
from reports.access.visibility import limit, to_limit
from reports.commands.people import changing, users

__all__ = ["users", "users_connections", "users_link"]


@users.command("connections")
@click.argument("email")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "is_all", is_flag=True, help="Let them see every connection, also those to come.")
@click.option("--none", "is_none", is_flag=True, help="Let them see no connection.")
@click.pass_obj
def users_connections(
    open_installation: OpenInstallation, *, email: str, names: tuple[str, ...], is_all: bool, is_none: bool
) -> None:
    """Say which connections a person sees, or let them see those named alone."""
    if sum((bool(names), is_all, is_none)) > 1:
        raise CommandError("give names of connections, or --all, or --none", Completion.MISUSED)
    installation = open_installation()
    known = [own.name for own in installation.settings.all_connections]
    if names or is_all or is_none:
        seen = "all" if is_all else " ".join(names) or "none"
        with changing(installation, "connections", f"{email}: {seen}") as session:
            limit(session, require_user(session, email), None if is_all else names, known=known)
        say(f"{email} sees {'every connection' if is_all else ', '.join(names) or 'no connection'} from now on")
        return
    with installation.store.reading() as session:
        own = to_limit(require_user(session, email))
    for name in known if own is None else sorted(own):
        click.echo(name)


@users.command("link")
@click.argument("email")
@click.argument("subject")
@click.pass_obj
def users_link(open_installation: OpenInstallation, *, email: str, subject: str) -> None:
    """Let a subject of the identity provider be a person known here; their password and their sessions end."""
    installation = open_installation()
    issuer = installation.settings.oidc_issuer
    if issuer is None:
        raise CommandError("no identity provider is set: CUADRE_OIDC_ISSUER", Completion.MISUSED)
    password_hash = hash_password(new_password())
    with changing(installation, "link user", f"{email} {issuer} {subject}") as session:
        link(session, email, issuer, subject, password_hash=password_hash, now=utc_now())
    say(f"{email} logs in by the identity provider from now on")
