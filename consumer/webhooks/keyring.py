"""The webhook secrets of each connection: those of the settings, and those rotation keeps encrypted in the database."""

import base64
import hashlib
import hmac
import logging
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import sqlalchemy as sa
from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy.engine import Connection as DatabaseConnection
from sqlmodel import Session, select

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection, Settings
from consumer.facts.store import put
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.inbox import Secret, SecretUse

_FRESH_SECONDS = 5.0
_FIRST_LOAD_SECONDS = 2.0
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


def cipher(settings: Settings) -> Fernet:
    """Encryption under a key derived from the installation's secret key, for this purpose alone."""
    key = hashlib.sha256(b"cuadre webhook secrets\0" + settings.secret_key.get_secret_value().encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))


def configured_secrets(settings: Settings, connection: Connection) -> tuple[WebhookSecret, ...]:
    """Return the secrets of the settings; a mark that only this installation can compute names them in the database."""
    key = hashlib.sha256(b"cuadre webhook secret marks\0" + settings.secret_key.get_secret_value().encode()).digest()
    values = [secret.get_secret_value().encode() for secret in connection.webhook_secrets]
    return tuple(
        WebhookSecret(f"settings {place}", value, (connection.name, hmac.new(key, value, "sha256").hexdigest()[:32]))
        for place, value in enumerate(values, start=1)
    )


@dataclass(frozen=True, slots=True)
class KnownSecret:
    """What may be shown of a secret; those of the settings have no dates but their last use."""

    label: str
    last_used_at: datetime | None
    created_at: datetime | None = None
    ends_at: datetime | None = None


def known_secrets(session: Session, settings: Settings, connection: Connection, *, now: datetime) -> list[KnownSecret]:
    """List the secrets that are valid now and when any process last saw each of them used, the settings' first."""
    known = []
    for secret in configured_secrets(settings, connection):
        use = session.get(SecretUse, secret.use)
        known.append(KnownSecret(secret.label, None if use is None else use.last_used_at))
    rows = session.exec(
        select(Secret).where(Secret.connection == connection.name).order_by(sa.desc(_SECRET.c.created_at))
    )
    kept = [KnownSecret(row.label, row.last_used_at, row.created_at, row.ends_at) for row in rows]
    return known + [one for one in kept if one.ends_at is None or now < one.ends_at]


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
    """Let the secrets of an endpoint end at a moment; returns how many there were."""
    rows = session.exec(select(Secret).where(Secret.connection == connection, Secret.endpoint_id == endpoint_id)).all()
    for row in rows:
        row.ends_at = ends_at
    return len(rows)


class Keyring:
    """Answers from memory; the database is read again in the background, so a frozen one never holds a request."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._kept: dict[str, tuple[WebhookSecret, ...]] | None = None
        self._read_at = float("-inf")
        self._reading = threading.Lock()
        self._noting = threading.Lock()
        self._used: dict[int | tuple[str, str], datetime] = {}
        self._noted: dict[int | tuple[str, str], datetime] = {}
        self._configured = {
            one.name: configured_secrets(installation.settings, one) for one in installation.settings.all_connections
        }

    def secrets_of(self, connection: Connection, *, now: datetime) -> list[WebhookSecret]:
        """Return the secrets that may sign for the connection now, the settings' first."""
        self._refresh()
        configured = self._configured[connection.name]
        if self._kept is None and not configured:
            raise KeyringUnavailableError("the database with the webhook secrets cannot be read")
        kept = (self._kept or {}).get(connection.name, ())
        return [*configured, *(secret for secret in kept if secret.is_valid(now))]

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

    def _refresh(self) -> None:
        if time.monotonic() - self._read_at < _FRESH_SECONDS or not self._reading.acquire(blocking=self._kept is None):
            return
        try:
            if time.monotonic() - self._read_at < _FRESH_SECONDS:
                return
            self._read_at = time.monotonic()
            reader = threading.Thread(target=self._read, name="webhook-keyring", daemon=True)
            reader.start()
            if self._kept is None:
                reader.join(_FIRST_LOAD_SECONDS)
        finally:
            self._reading.release()

    def _read(self) -> None:
        try:
            with self._installation.store.reading() as session:
                rows = session.exec(select(Secret).order_by(sa.desc(_SECRET.c.created_at))).all()
        except sa.exc.SQLAlchemyError as problem:
            _LOG.warning("the webhook secrets in the database cannot be read: %s", type(problem).__name__)
            return
        fernet = cipher(self._installation.settings)
        kept: dict[str, list[WebhookSecret]] = {}
        for row in rows:
            value = _decrypt(fernet, row)
            if value is not None and row.id is not None:
                kept.setdefault(row.connection, []).append(WebhookSecret(row.label, value, row.id, row.ends_at))
        self._kept = {name: tuple(some) for name, some in kept.items()}


def _decrypt(fernet: Fernet, row: Secret) -> bytes | None:
    try:
        return fernet.decrypt(row.encrypted)
    except InvalidToken:
        _LOG.warning(
            "the webhook secret %r cannot be read: CUADRE_SECRET_KEY is not the one it was kept under", row.label
        )
        return None
