"""`cuadre webhook`: our endpoint at the provider."""

import uuid
from datetime import timedelta

import click

from consumer.commands.terminal import CommandError, json_option, on_connection, print_rows, say
from consumer.facts.clock import format_instant, utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.work import Completion
from consumer.inbox.handlers import HANDLERS, SUBSCRIBED
from consumer.provider.client import open_provider
from consumer.provider.paging import WEBHOOK_ENDPOINTS
from consumer.webhooks.endpoints import OVERLAP, Endpoint, create_endpoint, list_endpoints
from consumer.webhooks.endpoints import rotate as rotate_secret
from consumer.webhooks.keyring import revoke_secret

KEYS = ("connection", "id", "status", "url", "name", "events", "created_at")
_OVERLAP_HOURS = int(OVERLAP.total_seconds()) // 3600
_EVENTS = click.option(
    "--event",
    "events",
    multiple=True,
    type=click.Choice(sorted(HANDLERS)),
    help="Repeatable; default all the provider lists.",
)


@click.group()
def webhook() -> None:
    """Our endpoint at the provider: where it delivers events."""


@webhook.command("create")
@on_connection
@_EVENTS
@click.option("--name", help="What the provider's dashboard shows.")
@json_option
def create(
    installation: Installation, connection: Connection, *, events: tuple[str, ...], name: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Open the endpoint for CUADRE_PUBLIC_URL; its secret is kept encrypted in the database."""
    with open_provider(installation, connection) as provider:
        endpoint = create_endpoint(installation, provider, events=events or SUBSCRIBED, name=name)
    _print([endpoint], connection.name, as_json=as_json)
    say("its secret is kept, encrypted; receivers use it within five seconds")


@webhook.command("list")
@on_connection
@json_option
def list_(installation: Installation, connection: Connection, *, as_json: bool) -> None:
    """List the endpoints the provider has for us, newest first."""
    with open_provider(installation, connection) as provider:
        endpoints, _now = list_endpoints(provider)
    _print(endpoints, connection.name, as_json=as_json)


@webhook.command("update")
@click.argument("endpoint_id", metavar="ID")
@on_connection
@click.option("--enable/--disable", "enabled", default=None, help="Deliver, or stop delivering.")
@click.option("--url", help="Deliver to this https address.")
@click.option("--name", help="What the provider's dashboard shows.")
@_EVENTS
@json_option
def update(
    installation: Installation, connection: Connection, *, endpoint_id: str, enabled: bool | None,
    url: str | None, name: str | None, events: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Change an endpoint; events given replace its list as a whole."""
    given: dict[str, object] = {"disabled": None if enabled is None else not enabled, "url": url, "name": name}
    given["enabled_events"] = list(events) or None
    changes = {key: value for key, value in given.items() if value is not None}
    if not changes:
        raise CommandError("nothing to change: give --enable, --disable, --url, --name or --event", Completion.MISUSED)
    with open_provider(installation, connection) as provider:
        provider.update(WEBHOOK_ENDPOINTS, endpoint_id, changes)
        endpoints, _now = list_endpoints(provider)
    _print([found for found in endpoints if found.id == endpoint_id], connection.name, as_json=as_json)


@webhook.command("rotate")
@on_connection
@click.option(
    "--overlap-hours",
    type=click.FloatRange(min=0),
    help=f"How long both endpoints deliver; 0 means now (default {_OVERLAP_HOURS}, or what the first call said).",
)
def rotate(installation: Installation, connection: Connection, *, overlap_hours: float | None) -> None:
    """Renew the endpoint's secret: run once to open a second endpoint, again after the overlap to delete the first."""
    overlap = None if overlap_hours is None else timedelta(hours=overlap_hours)
    with open_provider(installation, connection) as provider:
        done = rotate_secret(installation, provider, overlap=overlap)
    old = ", ".join(endpoint.id for endpoint in done.old)
    if done.deleted:
        say(f"{old} is deleted; {done.new.id} delivers alone")
    elif done.made:
        again = f"run this again after {format_instant(done.ends_at)} to delete {old}"
        say(f"{done.new.id} and {old} are both open; {again}")
    else:
        say(f"{old} stays until {format_instant(done.ends_at)}; nothing was changed")


@webhook.command("revoke")
@click.argument("label")
@on_connection
def revoke(installation: Installation, connection: Connection, *, label: str) -> None:
    """End a secret at once on every machine, by its label in `cuadre doctor` or the id of its endpoint."""
    with installation.store.transaction() as session:
        ended = revoke_secret(session, connection, label, now=utc_now())
    advice = "cuadre webhook rotate --overlap-hours 0 makes a new one and deletes it"
    say(f"the secret of {ended.endpoint_id} is ended everywhere; its endpoint still delivers, answered 401: {advice}")


@webhook.command("test")
@click.argument("endpoint_id", metavar="ID")
@on_connection
@click.option("--type", "type_", type=click.Choice(sorted(HANDLERS)), default="payout.succeeded", show_default=True)
def test(installation: Installation, connection: Connection, *, endpoint_id: str, type_: str) -> None:
    """Let the provider send a made-up event to an endpoint."""
    with open_provider(installation, connection) as provider:
        provider.create(
            WEBHOOK_ENDPOINTS, {"type": type_}, idempotency_key=str(uuid.uuid4()), action=f"{endpoint_id}/test"
        )
    say(f"{type_} is on its way; cuadre events list shows it when it arrives")


def _print(endpoints: list[Endpoint], connection_name: str, *, as_json: bool) -> None:
    rows = [
        {
            "connection": connection_name,
            "id": endpoint.id,
            "status": endpoint.status,
            "url": endpoint.url,
            "name": endpoint.name,
            "events": list(endpoint.enabled_events) if as_json else len(endpoint.enabled_events),
            "created_at": endpoint.created_at,
        }
        for endpoint in endpoints
    ]
    print_rows(rows, KEYS, as_json=as_json)
