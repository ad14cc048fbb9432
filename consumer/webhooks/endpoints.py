"""Our webhook endpoints at the provider: made, listed, changed, tried out, and their secrets renewed."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import msgspec
from sqlmodel import select

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.meaning import JsonObject
from consumer.facts.settings import ConfigError, Connection, Settings
from consumer.facts.tables.inbox import Secret
from consumer.provider.client import Provider
from consumer.provider.errors import ProviderError, UnreadableError
from consumer.provider.fields import UNREADABLE
from consumer.provider.paging import WEBHOOK_ENDPOINTS
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
    """What a call of rotate did: made `new`, deleted `old`, both, or found that `old` has to wait until `ends_at`."""

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


def rotate(installation: Installation, provider: Provider, *, overlap: timedelta | None = None) -> Rotation:
    """Renew the secret of our endpoint: in one call without overlap, else in two.

    1. With one endpoint at our address: open a second one with the same events, and keep its secret and the overlap.
    2. With several, once the overlap is over: let the secrets of the others end and delete them.
       Before that, nothing is changed. An overlap that is given again takes the place of the one kept.
    """
    address = to_address(installation.settings, provider.connection)
    listed, now = list_endpoints(provider)
    kept = _secrets_by_endpoint(installation, provider.connection)
    there = sorted((one for one in listed if one.url == address), key=lambda one: _age(one, kept), reverse=True)
    if not there:
        raise EndpointError(f"no endpoint delivers to {address}; cuadre webhook create opens one")
    is_made = len(there) == 1
    if is_made:
        (old,) = there
        body: JsonObject = {"url": address, "enabled_events": list(old.enabled_events), "name": old.name}
        there.insert(0, _open(installation, provider, body, overlap=OVERLAP if overlap is None else overlap))
        kept = _secrets_by_endpoint(installation, provider.connection)
    new, *rest = there
    ends_at = _end_of_overlap(new, kept.get(new.id), overlap)
    is_now = overlap is not None and not overlap
    is_over = is_now or now >= ends_at
    if is_over:
        _close(installation, provider, rest, ends_at=utc_now() + (timedelta() if is_now else _LAST_DELIVERIES))
    return Rotation(new, tuple(rest), ends_at, made=is_made, deleted=is_over)


def _secrets_by_endpoint(installation: Installation, connection: Connection) -> dict[str, Secret]:
    with installation.store.reading() as session:
        return {
            row.endpoint_id: row for row in session.exec(select(Secret).where(Secret.connection == connection.name))
        }


def _age(endpoint: Endpoint, kept: Mapping[str, Secret]) -> tuple[bool, datetime, int]:
    """Return what orders endpoints from the oldest, before it those whose secret was revoked.

    Of two made in one second, our own record knows which came later.
    """
    row = kept.get(endpoint.id)
    return row is None or row.ends_at is None, endpoint.created_at, (row.id or 0) if row else 0


def _end_of_overlap(new: Endpoint, row: Secret | None, overlap: timedelta | None) -> datetime:
    if overlap is None and row is not None and row.overlap_until is not None:
        return row.overlap_until
    return new.created_at + (OVERLAP if overlap is None else overlap)


def _open(
    installation: Installation, provider: Provider, body: JsonObject, *, overlap: timedelta | None = None
) -> Endpoint:
    answer = provider.create(WEBHOOK_ENDPOINTS, body, idempotency_key=str(uuid.uuid4()))
    endpoint, secret = _to_endpoint(answer.body), answer.value.get("secret")
    if not isinstance(secret, str) or not secret:
        raise UnreadableError(f"webhook_endpoints: {endpoint.id} was made and its secret was not shown; delete it")
    new = NewSecret(provider.connection.name, endpoint.created_at.date().isoformat(), endpoint.id, secret)
    with installation.store.transaction() as session:
        row = keep_secret(session, installation.settings, new, now=utc_now())
        row.overlap_until = None if overlap is None else endpoint.created_at + overlap
    return endpoint


def _close(installation: Installation, provider: Provider, endpoints: Sequence[Endpoint], *, ends_at: datetime) -> None:
    """Let the secret end before its endpoint goes: the other way round a kill between the two leaves it valid."""
    for endpoint in endpoints:
        with installation.store.transaction() as session:
            end_secret(session, connection=provider.connection.name, endpoint_id=endpoint.id, ends_at=ends_at)
        provider.delete(WEBHOOK_ENDPOINTS, endpoint.id)


def _to_endpoint(raw: bytes) -> Endpoint:
    try:
        return msgspec.json.decode(raw, type=Endpoint)
    except UNREADABLE as error:
        raise UnreadableError("webhook_endpoints: the answer is not a webhook endpoint") from error
