"""Our webhook endpoints at the provider: made, listed, changed, tried out, and their secrets renewed."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import msgspec

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.meaning import JsonObject
from consumer.facts.settings import ConfigError, Connection, Settings
from consumer.provider.client import Provider
from consumer.provider.errors import ProviderError, UnreadableError
from consumer.provider.fields import UNREADABLE
from consumer.provider.routes import WEBHOOK_ENDPOINTS
from consumer.webhooks.keyring import NewSecret, end_secret, keep_secret

OVERLAP = timedelta(hours=24)
# A delivery that was signed just before its endpoint went may still be on its way.
_LAST_DELIVERIES = timedelta(hours=1)


class EndpointError(ProviderError):
    """An endpoint that cannot be made or renewed as asked; the message says what to do."""


class Endpoint(msgspec.Struct, frozen=True):
    """A webhook endpoint as the provider lists it."""

    id: str
    url: str
    status: str
    created_at: Annotated[datetime, msgspec.Meta(tz=True)]
    enabled_events: tuple[str, ...] = ()
    name: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class Rotation:
    """What a call of rotate did: made `new`, deleted `old`, or found that `old` still has to wait until `ends_at`."""

    new: Endpoint
    old: tuple[Endpoint, ...]
    ends_at: datetime
    made: bool
    deleted: bool


def to_address(settings: Settings, connection: Connection) -> str:
    """Return the address to which the provider is to deliver for this connection."""
    if settings.public_url is None:
        raise ConfigError("set CUADRE_PUBLIC_URL, such as https://pay.your-shop.example: the provider must reach us")
    return f"{settings.public_url}/webhooks" + ("" if connection.name == "main" else f"/{connection.name}")


def list_endpoints(provider: Provider) -> tuple[list[Endpoint], datetime]:
    """Read all endpoints, newest first, and the provider's clock."""
    found: dict[str, Endpoint] = {}
    now = utc_now()
    for page in provider.pages(WEBHOOK_ENDPOINTS):
        now = page.at or now
        found |= {endpoint.id: endpoint for endpoint in map(_to_endpoint, page.items)}
    return sorted(found.values(), key=lambda endpoint: (endpoint.created_at, endpoint.id), reverse=True), now


def create_endpoint(
    installation: Installation, provider: Provider, *, events: Sequence[str], name: str | None = None
) -> Endpoint:
    """Open an endpoint for our address and keep its secret encrypted; a second one is only made by rotation."""
    address = to_address(installation.settings, provider.connection)
    there = [endpoint for endpoint in list_endpoints(provider)[0] if endpoint.url == address]
    if there:
        raise EndpointError(f"{there[0].id} already delivers to {address}; cuadre webhook rotate renews its secret")
    return _open(installation, provider, {"url": address, "enabled_events": list(events), "name": name})


def rotate(installation: Installation, provider: Provider, *, overlap: timedelta = OVERLAP) -> Rotation:
    """Renew the secret of our endpoint in two calls that lie an overlap apart.

    1. With one endpoint at our address: open a second one with the same events and keep its secret.
    2. With several, once the newest is older than the overlap: delete the others and let their secrets end.
       Before that, nothing is changed.
    """
    address = to_address(installation.settings, provider.connection)
    listed, now = list_endpoints(provider)
    there = [endpoint for endpoint in listed if endpoint.url == address]
    if not there:
        raise EndpointError(f"no endpoint delivers to {address}; cuadre webhook create opens one")
    if len(there) == 1:
        old = there[0]
        body: JsonObject = {"url": address, "enabled_events": list(old.enabled_events), "name": old.name}
        new = _open(installation, provider, body)
        return Rotation(new, (old,), new.created_at + overlap, made=True, deleted=False)
    new, *rest = there
    ends_at = new.created_at + overlap
    if now >= ends_at:
        _close(installation, provider, rest)
    return Rotation(new, tuple(rest), ends_at, made=False, deleted=now >= ends_at)


def _open(installation: Installation, provider: Provider, body: JsonObject) -> Endpoint:
    answer = provider.create(WEBHOOK_ENDPOINTS, body, idempotency_key=str(uuid.uuid4()))
    endpoint, secret = _to_endpoint(answer.body), answer.value.get("secret")
    if not isinstance(secret, str) or not secret:
        raise UnreadableError(f"webhook_endpoints: {endpoint.id} was made and its secret was not shown; delete it")
    new = NewSecret(provider.connection.name, endpoint.created_at.date().isoformat(), endpoint.id, secret)
    with installation.store.transaction() as session:
        keep_secret(session, installation.settings, new, now=utc_now())
    return endpoint


def _close(installation: Installation, provider: Provider, endpoints: Sequence[Endpoint]) -> None:
    for endpoint in endpoints:
        provider.delete(WEBHOOK_ENDPOINTS, endpoint.id)
        with installation.store.transaction() as session:
            end_secret(
                session,
                connection=provider.connection.name,
                endpoint_id=endpoint.id,
                ends_at=utc_now() + _LAST_DELIVERIES,
            )


def _to_endpoint(raw: bytes) -> Endpoint:
    try:
        return msgspec.json.decode(raw, type=Endpoint)
    except UNREADABLE as error:
        raise UnreadableError("webhook_endpoints: the answer is not a webhook endpoint") from error
