"""The doctor: what could be wrong with this installation, each finding with what to do about it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import msgspec
import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.config import Connection
from consumer.facts.clock import format_instant, utc_now
from consumer.facts.house import House
from consumer.facts.tables.inbox import Event, EventConflict, EventState
from consumer.inbox.handlers import HANDLERS
from consumer.provider.client import Provider, Transport, open_provider
from consumer.provider.errors import ProviderError
from consumer.provider.paging import Page
from consumer.provider.routes import PAYOUTS, WEBHOOK_ENDPOINTS
from consumer.sync.windows import unclosed_windows

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
        yield from _secrets(connection)
        with open_provider(house, connection, transport=transport) as provider:
            yield from _provider(provider, house)
        with house.store.reading() as session:
            yield from _gaps(session, connection.name)
            yield from _inbox(session, connection.name)


def _secrets(connection: Connection) -> Iterator[Check]:
    count = len(connection.webhook_secrets)
    if count:
        yield Check(connection.name, "webhook secrets", Verdict.OK, f"{count} configured")
    else:
        advice = "run cuadre webhook create, or set CUADRE_WEBHOOK_SECRETS; until then the receiving route answers 404"
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
    mine = col(Event.connection) == name
    unsettled = col(Event.state).in_([EventState.WAITING, EventState.FAILED])
    oldest = session.exec(select(sa.func.min(Event.received_at)).where(mine, unsettled)).one()
    if oldest is not None and utc_now() - oldest > MOST_LAG:
        advice = "is cuadre serve or cuadre worker running?"
        yield Check(name, "inbox", Verdict.WARNING, f"an event waits since {format_instant(oldest)}", advice)
    else:
        yield Check(name, "inbox", Verdict.OK, "nothing waits long")
    last = session.exec(select(sa.func.max(Event.received_at)).where(mine)).one()
    yield Check(name, "last event", Verdict.OK, "none yet" if last is None else format_instant(last))
    quarantined = session.exec(
        select(sa.func.count()).select_from(Event).where(mine, Event.state == EventState.QUARANTINED)
    ).one()
    yield _count(
        name, "quarantine", quarantined, "cuadre events quarantine shows why, cuadre events replay tries again"
    )
    conflicts = session.exec(
        select(sa.func.count()).select_from(EventConflict).where(col(EventConflict.connection) == name)
    ).one()
    yield _count(name, "conflicts", conflicts, "cuadre events conflicts shows them; ask the provider which is right")


def _count(name: str, check: str, count: int, advice: str) -> Check:
    if count:
        return Check(name, check, Verdict.WARNING, f"{count} events", advice)
    return Check(name, check, Verdict.OK, "empty")
