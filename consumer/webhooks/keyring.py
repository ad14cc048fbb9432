"""The webhook secrets of each connection: those of the settings, and those rotation keeps encrypted in the database."""

import hashlib
import hmac
import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import cast

import sqlalchemy as sa
from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy.engine import Connection as DatabaseConnection
from sqlmodel import Session, select

from consumer.facts import encryption
from consumer.facts.installation import Installation
from consumer.facts.settings import Connection, Settings
from consumer.facts.store import put
from consumer.facts.tables.inbox import Secret, SecretUse
from consumer.facts.tables.types import core_of
from consumer.facts.work import Completion, WorkError

_FRESH_SECONDS = 5.0
_READ_SECONDS = 2.0
_NEVER = float("-inf")
_OF_SETTINGS = re.compile(r"settings \d+")
_IN_SETTINGS = (
    "secrets of the settings end there: take it out of CUADRE_WEBHOOK_SECRETS on every machine and start again"
)
OTHER_KEY = "CUADRE_SECRET_KEY is not the one it was kept under"
_NOTED_EVERY = timedelta(minutes=1)
_SECRET = core_of(Secret)
_LOG = logging.getLogger(__name__)


class KeyringUnavailableError(Exception):
    """The database cannot say which secrets there are, and the settings name none."""


@dataclass(frozen=True, slots=True)
class WebhookSecret:
    """One secret that may sign for a connection; `use` is where its last use is kept: a row, or connection and mark."""

    label: str
    value: bytes = field(repr=False)
    use: int | tuple[str, str]
    ends_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        return self.ends_at is None or now < self.ends_at


@dataclass(frozen=True, slots=True)
class Use:
    """A secret that just verified a request, and the moment it did."""

    secret: WebhookSecret
    at: datetime


def cipher(settings: Settings) -> Fernet:
    """Encryption under a key derived from the installation's secret key, for this purpose alone."""
    return encryption.cipher(settings, "webhook secrets")


def configured_secrets(settings: Settings, connection: Connection) -> tuple[WebhookSecret, ...]:
    """Return the secrets of the settings; a mark that only this installation can compute names them in the database."""
    key = hashlib.sha256(b"cuadre webhook secret marks\0" + settings.secret_key.get_secret_value().encode()).digest()
    values = [secret.get_secret_value().encode() for secret in connection.webhook_secrets]
    return tuple(
        WebhookSecret(f"settings {place}", value, (connection.name, hmac.new(key, value, "sha256").hexdigest()[:32]))
        for place, value in enumerate(values, start=1)
    )


def mark_anew(connection: DatabaseConnection, old: Settings, new: Settings) -> None:
    """Keep the last uses of the secrets of the settings under the marks that another key computes."""
    table = core_of(SecretUse)
    for one in old.all_connections:
        for before, after in zip(configured_secrets(old, one), configured_secrets(new, one), strict=True):
            (name, mark), (_, marked) = cast("tuple[str, str]", before.use), cast("tuple[str, str]", after.use)
            mine = (table.c.connection == name, table.c.mark == mark)
            connection.execute(sa.update(table).where(*mine).values(mark=marked))


@dataclass(frozen=True, slots=True)
class KnownSecret:
    """What may be shown of a secret; those of the settings have no dates but their last use."""

    label: str
    last_used_at: datetime | None
    created_at: datetime | None = None
    ends_at: datetime | None = None
    is_readable: bool = True


def known_secrets(session: Session, settings: Settings, connection: Connection, *, now: datetime) -> list[KnownSecret]:
    """List the secrets that are valid now and when any process last saw each of them used, the settings' first."""
    known = []
    for secret in configured_secrets(settings, connection):
        use = session.get(SecretUse, secret.use)
        known.append(KnownSecret(secret.label, None if use is None else use.last_used_at))
    rows = session.exec(
        select(Secret).where(Secret.connection == connection.name).order_by(sa.desc(_SECRET.c.created_at))
    )
    fernet = cipher(settings)
    valid = (row for row in rows if row.ends_at is None or now < row.ends_at)
    return known + [
        KnownSecret(row.label, row.last_used_at, row.created_at, row.ends_at, decrypt(fernet, row) is not None)
        for row in valid
    ]


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A secret the provider made for a new endpoint, to be kept."""

    connection: str
    label: str
    endpoint_id: str
    value: str = field(repr=False)


def keep_secret(session: Session, settings: Settings, new: NewSecret, *, now: datetime) -> Secret:
    """Keep a secret encrypted, in the caller's transaction; receivers use it within five seconds."""
    row = Secret(
        connection=new.connection,
        label=new.label,
        endpoint_id=new.endpoint_id,
        encrypted=cipher(settings).encrypt(new.value.encode()),
        created_at=now,
    )
    session.add(row)
    session.flush()
    return row


def end_secret(session: Session, *, connection: str, endpoint_id: str, ends_at: datetime) -> int:
    """Let the secrets of an endpoint end at a moment, if they do not end before; returns how many there are."""
    rows = session.exec(select(Secret).where(Secret.connection == connection, Secret.endpoint_id == endpoint_id)).all()
    for row in rows:
        row.ends_at = ends_at if row.ends_at is None else min(row.ends_at, ends_at)
    return len(rows)


def revoke_secret(session: Session, connection: Connection, named: str, *, now: datetime) -> Secret:
    """End the one secret with this label or endpoint now; raises WorkError if there is none or several."""
    if _OF_SETTINGS.fullmatch(named):
        raise WorkError(_IN_SETTINGS, Completion.MISUSED)
    rows = session.exec(select(Secret).where(Secret.connection == connection.name).order_by(_SECRET.c.id)).all()
    valid = [row for row in rows if row.ends_at is None or now < row.ends_at]
    found = [row for row in valid if named in (row.label, row.endpoint_id)]
    if not found:
        labels = Counter(row.label for row in valid)
        there = ", ".join(f"{label} ({count})" if count > 1 else label for label, count in labels.items())
        raise WorkError(
            f"{connection.name} has no webhook secret {named!r}; it has {there or 'none'}", Completion.MISUSED
        )
    if len(found) > 1:
        ids = " or ".join(row.endpoint_id for row in found)
        sentence = f"{len(found)} webhook secrets of {connection.name} are labelled {named!r}: give the endpoint, {ids}"
        raise WorkError(sentence, Completion.MISUSED)
    found[0].ends_at = now
    return found[0]


@dataclass(slots=True)
class _Attempt:
    """One reading of the database, under way or over."""

    began_at: float
    done: threading.Event = field(default_factory=threading.Event)


class Keyring:
    """Answers from memory what was read within the last seconds; older, it asks the database before it answers.

    A thread reads, so that a frozen database holds each request for a moment only. What is known then stays in use:
    `find_ended`, asked in the transaction that stores the event, has the last word on a secret.
    """

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._kept: dict[str, tuple[WebhookSecret, ...]] = {}
        self._read_at = _NEVER
        self._attempt = _Attempt(_NEVER)
        self._attempt.done.set()
        self._beginning = threading.Lock()
        self._is_away = False
        self._unreadable: set[int] = set()
        self._noting = threading.Lock()
        self._used: dict[int | tuple[str, str], datetime] = {}
        self._noted: dict[int | tuple[str, str], datetime] = {}
        self._configured = {
            one.name: configured_secrets(installation.settings, one) for one in installation.settings.all_connections
        }

    def secrets_of(self, connection: Connection, *, now: datetime) -> list[WebhookSecret]:
        """Return the secrets that may sign for the connection now, the settings' first."""
        if not self._is_fresh():
            self.refresh()
        configured = self._configured[connection.name]
        if self._read_at == _NEVER and not configured:
            raise KeyringUnavailableError("the database with the webhook secrets cannot be read")
        kept = self._kept.get(connection.name, ())
        return [*configured, *(secret for secret in kept if secret.is_valid(now))]

    def find_ended(self, connection: DatabaseConnection, uses: Collection[Use]) -> set[Use]:
        """Return those of the secrets just used that ended meanwhile, as the database says in this transaction."""
        ids = {use.secret.use for use in uses if isinstance(use.secret.use, int)}
        if not ids:
            return set()
        rows = connection.execute(sa.select(_SECRET.c.id, _SECRET.c.ends_at).where(_SECRET.c.id.in_(ids)))
        ends: dict[int | tuple[str, str], datetime | None] = {row.id: row.ends_at for row in rows}
        return {use for use in uses if use.secret.use in ids and not _is_before(use.at, ends, use.secret)}

    def note_use(self, secret: WebhookSecret, *, now: datetime) -> None:
        """Remember a use once a minute, to be written with the next events."""
        with self._noting:
            last = self._noted.get(secret.use)
            if last is None or now - last >= _NOTED_EVERY:
                self._used[secret.use] = self._noted[secret.use] = now

    def write_use(self, connection: DatabaseConnection) -> None:
        """Write when secrets were last used, in the transaction of the events they signed."""
        with self._noting:
            used, self._used = self._used, {}
        for use, used_at in sorted(used.items(), key=str):
            if isinstance(use, int):
                connection.execute(sa.update(_SECRET).where(_SECRET.c.id == use).values(last_used_at=used_at))
            else:
                row = {"connection": use[0], "mark": use[1], "last_used_at": used_at}
                put(connection, SecretUse, row, keys=["connection", "mark"])

    def _is_fresh(self) -> bool:
        return time.monotonic() - self._read_at < _FRESH_SECONDS

    def refresh(self) -> None:
        """Wait for the reading that is under way, or for a new one, until it has taken its time."""
        with self._beginning:
            attempt = self._attempt
            if attempt.done.is_set():
                if self._is_fresh():
                    return
                attempt = self._attempt = _Attempt(time.monotonic())
                threading.Thread(target=self._read, args=(attempt,), name="webhook-keyring", daemon=True).start()
        attempt.done.wait(max(0.0, attempt.began_at + _READ_SECONDS - time.monotonic()))

    def _read(self, attempt: _Attempt) -> None:
        try:
            with self._installation.store.reading() as session:
                rows = session.exec(select(Secret).order_by(sa.desc(_SECRET.c.created_at))).all()
            self._kept, self._read_at, self._is_away = self._unlock(rows), attempt.began_at, False
        except sa.exc.SQLAlchemyError as problem:
            if not self._is_away:
                _LOG.warning("the webhook secrets in the database cannot be read: %s", type(problem).__name__)
            self._is_away = True
        finally:
            attempt.done.set()

    def _unlock(self, rows: Sequence[Secret]) -> dict[str, tuple[WebhookSecret, ...]]:
        """Decrypt the secrets; one that was read before the secret key was rotated is known still."""
        fernet = cipher(self._installation.settings)
        known = {secret.use: secret for some in self._kept.values() for secret in some}
        kept: dict[str, list[WebhookSecret]] = {}
        for row in rows:
            assert row.id is not None
            value, before = decrypt(fernet, row), known.get(row.id)
            if value is not None:
                kept.setdefault(row.connection, []).append(WebhookSecret(row.label, value, row.id, row.ends_at))
                continue
            if before is not None:
                kept.setdefault(row.connection, []).append(replace(before, ends_at=row.ends_at))
            if row.id not in self._unreadable:
                self._unreadable.add(row.id)
                found, known_still = OTHER_KEY, "; it verifies until this process ends: start it with the new key"
                _LOG.warning("the webhook secret %r cannot be read: %s%s", row.label, found, known_still * bool(before))
        return {name: tuple(some) for name, some in kept.items()}


def _is_before(at: datetime, ends: Mapping[int | tuple[str, str], datetime | None], secret: WebhookSecret) -> bool:
    ends_at = ends.get(secret.use, at)
    return ends_at is None or at < ends_at


def decrypt(fernet: Fernet, row: Secret) -> bytes | None:
    """Return a kept secret, or None if it was kept under another key."""
    try:
        return fernet.decrypt(row.encrypted)
    except InvalidToken:
        return None
