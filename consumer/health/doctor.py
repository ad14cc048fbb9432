"""The doctor: what is wrong with this installation and what to do about it."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypedDict, Unpack

from sqlmodel import Session

from consumer.alarms.outbox import failing_channels
from consumer.facts import disputes
from consumer.facts.addresses import is_on_this_machine, is_trusted
from consumer.facts.clock import format_duration, format_instant, utc_now
from consumer.facts.completeness import Way, percentiles
from consumer.facts.encryption import draft_of, open_all
from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.health import disk
from consumer.health.backup_age import check_backups
from consumer.health.capacity import check_room
from consumer.health.disk import Check, Verdict
from consumer.inbox.handlers import SUBSCRIBED
from consumer.inbox.watch import look
from consumer.provider.client import Provider, Transport, open_provider
from consumer.provider.errors import KeyRefusedError, ProviderError, UnreachableError
from consumer.provider.paging import EVENTS
from consumer.sync.backfill import MOST_SKEW
from consumer.sync.lateness import MOST_OVERLAP, overlap
from consumer.sync.reach import drift_left, short_of_today, streams_read
from consumer.sync.streams import STREAMS
from consumer.sync.sums import findings_of
from consumer.sync.windows import EVENTS_STREAM, unclosed_windows
from consumer.webhooks.endpoints import Endpoint, list_endpoints, to_address
from consumer.webhooks.keyring import OTHER_KEY, Keyring, KnownSecret, known_secrets

MOST_LAG = timedelta(minutes=5)
# A night each day, and the time that one takes.
MOST_BEHIND = timedelta(hours=26)
ENDPOINT, PROXY, FILES = "webhook endpoint", "proxy", "files of people"
_SUMMED = {stream.name for stream in STREAMS.values() if stream.look_over is not None}
_ADVICE: dict[type[ProviderError], str] = {
    UnreachableError: "check CUADRE_PROVIDER_URL and the network",
    KeyRefusedError: "check CUADRE_API_KEY",
}


class Questions(TypedDict, total=False):
    """What the doctor asks rooms that it may not import; it does without those it is not given."""

    # Which codes a run withholds while these streams are incomplete.
    withheld_by: Callable[[Iterable[str]], Sequence[str]]
    # From where people last came, as the trail says; newest first.
    addresses: Callable[[Installation], Sequence[str]]
    # Which files that people added are not there any more.
    lost_files: Callable[[Installation], list[str]]
    # Whether the next run leaves closed days out, and how far or why not; nothing where it is not to.
    horizon: Callable[[Installation, Connection], tuple[bool, str] | None]


def _no_lines(*_about: object) -> list[str]:
    return []


def examine(
    installation: Installation,
    name: str | None,
    *,
    transport: Transport | None = None,
    **questions: Unpack[Questions],
) -> Iterator[Check]:
    """Check the database, then each connection's provider, endpoint, gaps and inbox."""
    yield Check("", "settings", Verdict.OK, "read")
    yield disk.check_database(installation.store)
    yield from disk.check_replica(installation.store)
    yield from disk.check_disk(installation.store)
    yield from check_room(installation, now=utc_now())
    yield check_key(installation)
    with installation.store.reading() as session:
        yield from check_backups(session, is_nightly=installation.settings.backup_dir is not None, now=utc_now())
    yield check_proxy(installation, questions.get("addresses", _no_lines)(installation))
    yield check_files(disputes.list_lost(installation) + questions.get("lost_files", _no_lines)(installation))
    yield from check_books_folder(installation.settings.books_folder)
    with installation.store.reading() as session:
        yield from check_channels(session)
    for connection in installation.connections(name):
        yield from _secrets(installation, connection)
        with open_provider(installation, connection, transport=transport) as provider:
            yield from _provider(provider, installation)
        with installation.store.reading() as session:
            yield from _gaps(session, connection, questions.get("withheld_by", _no_lines))
            yield from _sums(session, connection.name)
            yield from _drift(session, connection.name)
            yield check_lateness(
                session, connection.name, floor=timedelta(seconds=installation.settings.overlap_seconds)
            )
            yield from check_inbox(session, connection, now=utc_now())
        if "horizon" in questions:
            yield from check_horizon(connection, questions["horizon"](installation, connection))


def check_horizon(connection: Connection, told: tuple[bool, str] | None) -> Iterator[Check]:
    """Yield what the next run may leave unread of closed days, where it is to."""
    if told is not None:
        stands, found = told
        verdict, advice = (Verdict.OK, "") if stands else (Verdict.WARNING, "cuadre reconcile freezes what is closed")
        yield Check(connection.name, "horizon", verdict, found, advice)


def check_files(lost: Sequence[str]) -> Check:
    """Return whether each file that people added to disputes and exceptions is where its row says."""
    if not lost:
        return Check("", FILES, Verdict.OK, "all that disputes and exceptions name are there")
    more = f" and {len(lost) - 1} more" if lost[1:] else ""
    advice = "copy evidence and attachments of the data folder back from a backup, or add the file again"
    return Check("", FILES, Verdict.FAILURE, f"{lost[0]}{more}: not there", advice)


def check_books_folder(folder: Path | None) -> Iterator[Check]:
    """Yield whether the watched folder can be used, and how many files in it were refused and still lie there."""
    name = "books folder"
    if folder is None:
        return
    refused = sum(1 for _ in folder.glob("*/*/**/refused/*.verdict.json"))
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        advice = "make the folder of CUADRE_BOOKS_FOLDER, and let the worker's user write in it"
        yield Check("", name, Verdict.WARNING, "not there, or not for this user to write", advice)
    elif refused:
        advice = "read the .verdict.json next to each in refused/, and take both away"
        yield Check("", name, Verdict.WARNING, f"files that were refused: {refused}", advice)
    else:
        yield Check("", name, Verdict.OK, "watched, nothing refused lies in it")


def _secrets(installation: Installation, connection: Connection) -> Iterator[Check]:
    """Yield the secrets of the settings and of rotation that are valid now, and when each was last used."""
    with installation.store.reading() as session:
        known = known_secrets(session, installation.settings, connection, now=utc_now())
    lost = [secret.label for secret in known if not secret.is_readable]
    if lost:
        advice = (
            "start with the key they were kept under, or cuadre webhook rotate --overlap-hours 0 makes a new secret"
        )
        found = f"{', '.join(lost)} cannot be read, so what they sign is refused: {OTHER_KEY}"
        yield Check(connection.name, "webhook secrets", Verdict.FAILURE, found, advice)
    elif known:
        are = "is" if len(known) == 1 else "are"
        found = f"{len(known)} {are} valid: {'; '.join(_describe(secret) for secret in known)}"
        yield Check(connection.name, "webhook secrets", Verdict.OK, found)
    else:
        advice = (
            "cuadre webhook create, or rotate where an endpoint exists, or set CUADRE_WEBHOOK_SECRETS; "
            "until then every webhook is answered 404"
        )
        yield Check(connection.name, "webhook secrets", Verdict.WARNING, "there is none", advice)


def _describe(secret: KnownSecret) -> str:
    words = []
    if secret.created_at is not None:
        words.append(f"made {format_instant(secret.created_at)}")
    if secret.ends_at is not None:
        words.append(f"ends {format_instant(secret.ends_at)}")
    words.append("never used" if secret.last_used_at is None else f"last used {format_instant(secret.last_used_at)}")
    return f"{secret.label} ({', '.join(words)})"


def _provider(provider: Provider, installation: Installation) -> Iterator[Check]:
    """Ask for what every key may read: products that were not bought are no failure."""
    name = provider.connection.name
    try:
        page = provider.page(EVENTS, size=1)
    except ProviderError as error:
        yield _failure(name, "provider", error, "ask the provider, naming the request")
        return
    found = f"the {provider.connection.mode} key is accepted"
    if provider.connection.provider_url.startswith("https://") or is_on_this_machine(provider.connection.provider_url):
        yield Check(name, "provider", Verdict.OK, found)
    else:
        advice = "write https:// in CUADRE_PROVIDER_URL, and renew the key if others could listen"
        yield Check(name, "provider", Verdict.WARNING, f"{found}, and goes there unencrypted", advice)
    yield _skew(provider.connection, page.at, tolerance=timedelta(seconds=installation.settings.signature_tolerance))
    try:
        endpoints, _now = list_endpoints(provider)
    except ProviderError as error:
        yield _failure(name, ENDPOINT, error, "ask the provider, naming the request")
        return
    yield _endpoint(provider.connection, endpoints, installation)


def check_key(installation: Installation) -> Check:
    """Return what the secret key opens, and which other key lies here."""
    path = installation.settings.generated_key
    with installation.store.reading() as session:
        found = open_all(session.connection(), installation.settings)
    where = "of CUADRE_SECRET_KEY" if path is None else f"in {path}"
    words = f"the key {where}: " + "; ".join(f"{one.purpose}: {one}" for one in found)
    if any(one.lost for one in found):
        advice = "start with the key they were kept under; if it is lost, cuadre webhook rotate and users totp-reset"
        return Check("", "secret key", Verdict.FAILURE, words, advice)
    if path is not None and draft_of(path).exists():
        words += f"; {draft_of(path).name} opens no more"
        advice = "a rotation was cut off before it changed anything: repeat cuadre secret-key rotate"
        return Check("", "secret key", Verdict.WARNING, words, advice)
    return Check("", "secret key", Verdict.OK, words)


def check_proxy(installation: Installation, seen: Sequence[str]) -> Check:
    """Return whether a proxy tells from where people come: without, all of them share one network's slow-down."""
    settings = installation.settings
    is_behind = settings.public_url is not None and not is_on_this_machine(settings.public_url)
    if not is_behind or not seen:
        return Check("", PROXY, Verdict.OK, "people come directly" if seen else "no request has come yet")
    if all(is_trusted(one, settings.trusted_proxies) for one in seen):
        advice = "let the proxy set X-Forwarded-For to the address it sees, as docs/operate.md shows"
        found = f"the last {len(seen)} logins seem to come from the proxy itself, {seen[0]}"
        return Check("", PROXY, Verdict.WARNING, found, advice)
    return Check("", PROXY, Verdict.OK, "it tells from where people come")


def _failure(name: str, check: str, error: ProviderError, otherwise: str) -> Check:
    return Check(name, check, Verdict.FAILURE, str(error), _ADVICE.get(type(error), otherwise))


def check_endpoint(installation: Installation, connection: Connection, *, transport: Transport | None = None) -> Check:
    """Check the clock and the webhook endpoint, as the hourly job does; a clock that is far off comes first."""
    if installation.settings.public_url is None and not Keyring(installation).secrets_of(connection, now=utc_now()):
        return Check(connection.name, ENDPOINT, Verdict.OK, "none is expected: no public address and no secret")
    with open_provider(installation, connection, transport=transport) as provider:
        try:
            endpoints, at = list_endpoints(provider)
        except ProviderError as error:
            return _failure(connection.name, ENDPOINT, error, "the next hour looks again")
    tolerance = timedelta(seconds=installation.settings.signature_tolerance)
    clock = _skew(connection, at, tolerance=tolerance)
    return clock if clock.verdict is Verdict.FAILURE else _endpoint(connection, endpoints, installation)


def _skew(connection: Connection, at: datetime | None, *, tolerance: timedelta) -> Check:
    name = connection.name
    if at is None:
        return Check(name, "clock", Verdict.WARNING, "the provider states no time", "check the machine's clock")
    skew = abs(utc_now() - at)
    if skew <= MOST_SKEW:
        return Check(name, "clock", Verdict.OK, f"{format_duration(skew)} from the provider's")
    advice = "set the machine's clock: signatures are refused when it is wrong"
    if is_on_this_machine(connection.provider_url):
        advice = "expected of a sandbox, as in the demo: it has a clock of its own"
    verdict = Verdict.FAILURE if skew > tolerance else Verdict.WARNING
    return Check(name, "clock", verdict, f"{format_duration(skew)} from the provider's", advice)


def _endpoint(connection: Connection, endpoints: Sequence[Endpoint], installation: Installation) -> Check:
    name = connection.name
    address = None if installation.settings.public_url is None else to_address(installation.settings, connection)
    ours = [e for e in endpoints if address is None or e.url == address]
    enabled = [e for e in ours if e.status == "enabled"]
    if not enabled:
        found = "disabled by the provider" if ours else "none points here"
        first = "set CUADRE_PUBLIC_URL and run " if address is None else ""
        advice = "cuadre webhook update" if ours else f"{first}cuadre webhook create"
        return Check(name, ENDPOINT, Verdict.WARNING, found, advice)
    missing = sorted(set(SUBSCRIBED) - {event for e in enabled for event in e.enabled_events})
    if missing:
        found = f"not subscribed to {len(missing)} types, such as {missing[0]}"
        return Check(name, ENDPOINT, Verdict.WARNING, found, "cuadre webhook update subscribes to all")
    return Check(name, ENDPOINT, Verdict.OK, "enabled and subscribed to every type")


def _gaps(
    session: Session, connection: Connection, withheld_by: Callable[[Iterable[str]], Sequence[str]]
) -> Iterator[Check]:
    """Yield what is not read whole, and what runs withhold because of it."""
    name, now = connection.name, utc_now()
    gaps = unclosed_windows(session, name)
    # Before the night has run, the running day is nowhere yet.
    short = [one for one in short_of_today(session, connection, now=now) if now - one.reached > MOST_BEHIND]
    if gaps:
        oldest = gaps[-1]
        since = "the beginning" if oldest.since is None else format_instant(oldest.since)
        found = f"{len(gaps)} windows are not closed, the oldest of {oldest.stream} from {since}"
        found += _withheld(withheld_by(gap.stream for gap in gaps))
        yield Check(name, "gaps", Verdict.WARNING, found, "cuadre backfill and cuadre pull all; cuadre gaps lists them")
    elif short:
        advice = "runs of this day are incomplete until the streams reach it; cuadre gaps says which and why"
        found = f"none, but {short[0]}{_withheld(withheld_by(short[0].streams))}"
        yield Check(name, "gaps", Verdict.WARNING, found, advice)
    else:
        yield _if_read(session, name, "gaps", "none", streams={EVENTS_STREAM, *STREAMS})


def _withheld(codes: Sequence[str]) -> str:
    return f"; until then runs withhold {', '.join(codes)}" if codes else ""


def check_lateness(session: Session, name: str, *, floor: timedelta) -> Check:
    """Return how late events of the last month came, and how far back the next backfill reads because of it."""
    now = utc_now()
    measured = {way: percentiles(session, name, way, now=now) for way in Way}
    parts = [f"{way} {found}" for way, found in measured.items() if found is not None]
    again = overlap(session, name, floor=floor, now=now)
    found = f"{'; '.join(parts) or 'not measured yet'}; the next backfill reads {format_duration(again)} again"
    if again >= MOST_OVERLAP > floor:
        advice = "some events come later than any overlap reaches on its own: set CUADRE_OVERLAP_SECONDS"
        return Check(name, "lateness", Verdict.WARNING, found, advice)
    return Check(name, "lateness", Verdict.OK, found)


def _sums(session: Session, name: str) -> Iterator[Check]:
    """Yield what the last pulls read whole and found not to add up."""
    found = findings_of(session, name)
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        report = "tax-statements" if found[0].stream == "tax-statements" else "statement-check"
        advice = f"ask the provider; cuadre report {report} shows the month"
        yield Check(name, "sums", Verdict.WARNING, f"{found[0].stream}: {found[0].problem}{more}", advice)
    else:
        yield _if_read(session, name, "sums", "balances and statements add up", streams=_SUMMED)


def _drift(session: Session, name: str) -> Iterator[Check]:
    left = {one.stream: one.count for one in drift_left(session, name)}
    if left:
        found = ", ".join(f"{count} of {stream}" for stream, count in left.items())
        yield Check(name, "drift", Verdict.WARNING, f"differences left: {found}", "cuadre drift --repair")
    else:
        yield _if_read(session, name, "drift", "no open difference; cuadre drift compares", streams={*STREAMS})


def _if_read(session: Session, name: str, check: str, found: str, *, streams: set[str]) -> Check:
    """Return what a check found, or a warning if none of the streams that it looks at was ever read."""
    if streams_read(session, name) & streams:
        return Check(name, check, Verdict.OK, found)
    return Check(name, check, Verdict.WARNING, "not read yet", "cuadre backfill and cuadre pull all")


def check_channels(session: Session) -> Iterator[Check]:
    """Yield the channels of alarms that do not take what is sent to them."""
    for failing in failing_channels(session):
        advice = "cuadre alerts test sends a message to each channel and says what each answers"
        found = f"{failing.messages} wait since {format_instant(failing.since)}: {failing.error}"
        yield Check("", f"channel:{failing.channel}", Verdict.WARNING, found, advice, failing.messages)


def check_inbox(session: Session, connection: Connection, *, now: datetime) -> Iterator[Check]:
    """Check for events that wait, unusual silence, quarantine and conflicts."""
    name = connection.name
    inbox = look(session, connection, now=now)
    if inbox.lag(now) > MOST_LAG:
        waits = format_instant(inbox.oldest_waiting_at or now)
        advice = "is cuadre serve or cuadre worker running?"
        count = inbox.waiting + inbox.failed
        yield Check(name, "inbox", Verdict.WARNING, f"an event waits since {waits}", advice, count)
    else:
        yield Check(name, "inbox", Verdict.OK, "nothing waits long")
    if inbox.silent_for is not None:
        advice = "is the endpoint reachable and enabled? cuadre backfill brings in what was missed"
        found = f"no webhook for {format_duration(inbox.silent_for)}, which is unusual"
        yield Check(name, "silence", Verdict.WARNING, found, advice)
    else:
        yield Check(name, "silence", Verdict.OK, "no longer than usual")
    again = "cuadre events quarantine shows why, cuadre events replay tries again"
    yield _count(name, "quarantine", inbox.quarantined, again)
    which = "cuadre events conflicts shows them; ask the provider which is right"
    yield _count(name, "conflicts", inbox.conflicts, which)


def _count(name: str, check: str, count: int, advice: str) -> Check:
    if count:
        return Check(name, check, Verdict.WARNING, f"{count} events", advice, count)
    return Check(name, check, Verdict.OK, "none")
