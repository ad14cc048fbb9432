"""The doctor: what could be wrong with this installation, each finding with what to do about it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec
from sqlmodel import Session

from consumer.config import Connection
from consumer.facts.clock import format_instant, utc_now
from consumer.facts.house import House
from consumer.inbox.handlers import HANDLERS
from consumer.inbox.watch import look
from consumer.provider.client import Provider, Transport, open_provider
from consumer.provider.errors import ProviderError
from consumer.provider.paging import Page
from consumer.provider.routes import PAYOUTS, WEBHOOK_ENDPOINTS
from consumer.sync.windows import unclosed_windows
from consumer.webhooks.keyring import Keyring

MOST_SKEW = timedelta(minutes=1)
MOST_LAG = timedelta(minutes=5)


class Verdict(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at; `advice` says what to do and is empty when all is well."""

    connection: str
    check: str
    verdict: Verdict
    found: str
    advice: str = ""


KEYS = ("connection", "check", "verdict", "found", "advice")


def examine(house: House, name: str | None, *, transport: Transport | None = None) -> Iterator[Check]:
    """Look at the database, then at each connection's provider, endpoint, gaps and inbox."""
    kind = "SQLite" if house.store.is_sqlite else "PostgreSQL"
    yield Check("", "settings", Verdict.OK, "read")
    yield Check("", "database", Verdict.OK, f"{kind}, migrated")
    for connection in house.connections(name):
        yield from _secrets(house, connection)
        with open_provider(house, connection, transport=transport) as provider:
            yield from _provider(provider, house)
        with house.store.reading() as session:
            yield from _gaps(session, connection.name)
            yield from _inbox(session, connection.name)


def _secrets(house: House, connection: Connection) -> Iterator[Check]:
    """Count the secrets of the settings and of rotation that are valid now."""
    count = len(Keyring(house).secrets_of(connection, now=utc_now()))
    if count:
        yield Check(connection.name, "webhook secrets", Verdict.OK, f"{count} valid")
    else:
        advice = "cuadre webhook create (rotate, where an endpoint exists), or CUADRE_WEBHOOK_SECRETS; until then 404"
        yield Check(connection.name, "webhook secrets", Verdict.WARNING, "none configured", advice)


def _provider(provider: Provider, house: House) -> Iterator[Check]:
    name = provider.connection.name
    try:
        page = provider.page(PAYOUTS, size=1)
        endpoints = provider.page(WEBHOOK_ENDPOINTS, size=300)
    except ProviderError as error:
        advice = "check CUADRE_PROVIDER_URL and CUADRE_API_KEY"
        yield Check(name, "provider", Verdict.FAILURE, str(error), advice)
        return
    yield Check(name, "provider", Verdict.OK, f"the {provider.connection.mode} key is accepted")
    yield _skew(name, page.at)
    yield _endpoint(name, endpoints, house.settings.public_url)


def _skew(name: str, at: datetime | None) -> Check:
    if at is None:
        return Check(name, "clock", Verdict.WARNING, "the provider states no time", "check the machine's clock")
    skew = abs(utc_now() - at)
    if skew <= MOST_SKEW:
        return Check(name, "clock", Verdict.OK, f"{skew.total_seconds():.0f} s from the provider's")
    advice = "set the machine's clock: signatures are refused when it is wrong"
    return Check(name, "clock", Verdict.WARNING, f"{skew} from the provider's", advice)


class _Endpoint(msgspec.Struct):
    url: str
    status: str
    enabled_events: list[str]


def _endpoint(name: str, page: Page, public_url: str | None) -> Check:
    endpoints = [msgspec.json.decode(item, type=_Endpoint) for item in page.items]
    ours = [e for e in endpoints if public_url is None or e.url.startswith(public_url)]
    enabled = [e for e in ours if e.status == "enabled"]
    if not enabled:
        found = "disabled by the provider" if ours else "none points here"
        advice = "cuadre webhook update" if ours else "set CUADRE_PUBLIC_URL and run cuadre webhook create"
        return Check(name, "webhook endpoint", Verdict.WARNING, found, advice)
    missing = sorted(set(HANDLERS) - {event for e in enabled for event in e.enabled_events})
    if missing:
        found = f"not subscribed to {len(missing)} types, such as {missing[0]}"
        return Check(name, "webhook endpoint", Verdict.WARNING, found, "cuadre webhook update subscribes to all")
    return Check(name, "webhook endpoint", Verdict.OK, "enabled and subscribed to every type")


def _gaps(session: Session, name: str) -> Iterator[Check]:
    gaps = unclosed_windows(session, name)
    if gaps:
        oldest = gaps[-1]
        since = "the beginning" if oldest.since is None else format_instant(oldest.since)
        found = f"{len(gaps)} windows are not closed, the oldest of {oldest.stream} from {since}"
        yield Check(name, "gaps", Verdict.WARNING, found, "cuadre backfill and cuadre pull all; cuadre gaps lists them")
    else:
        yield Check(name, "gaps", Verdict.OK, "none")


def _inbox(session: Session, name: str) -> Iterator[Check]:
    now = utc_now()
    inbox = look(session, name, now=now)
    if inbox.lag(now) > MOST_LAG:
        waits = format_instant(inbox.oldest_waiting_at or now)
        advice = "is cuadre serve or cuadre worker running?"
        yield Check(name, "inbox", Verdict.WARNING, f"an event waits since {waits}", advice)
    else:
        yield Check(name, "inbox", Verdict.OK, "nothing waits long")
    if inbox.silent_for is not None:
        advice = "is the endpoint reachable and enabled? cuadre backfill brings in what was missed"
        yield Check(name, "silence", Verdict.WARNING, f"no webhook for {inbox.silent_for}, which is unusual", advice)
    else:
        yield Check(name, "silence", Verdict.OK, "no longer than usual")
    again = "cuadre events quarantine shows why, cuadre events replay tries again"
    yield _count(name, "quarantine", inbox.quarantined, again)
    which = "cuadre events conflicts shows them; ask the provider which is right"
    yield _count(name, "conflicts", inbox.conflicts, which)


def _count(name: str, check: str, count: int, advice: str) -> Check:
    if count:
        return Check(name, check, Verdict.WARNING, f"{count} events", advice)
    return Check(name, check, Verdict.OK, "none")
