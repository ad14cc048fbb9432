"""Encryption of what the database keeps, under the installation's secret key."""

import base64
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa
from cryptography.fernet import Fernet, InvalidToken
from sqlalchemy.engine import Connection

from consumer.facts.settings import Settings

ERASURES = "erasures"
# Tables with a column `encrypted`: what its key is derived for, and the column that names a row.
ENCRYPTED = {"webhook_secret": ("webhook secrets", "label"), "second_factor": ("second factors", "person_id"),
             "erasing_key": (ERASURES, "label")}  # fmt: skip
_NEXT = "secret_key.next"
_LOCK = sa.text(f"LOCK TABLE {', '.join(ENCRYPTED)} IN EXCLUSIVE MODE")


def draft_of(path: Path) -> Path:
    """Return where a new secret key lies until it takes the place of the one in use."""
    return path.with_name(_NEXT)


def cipher(settings: Settings, purpose: str) -> Fernet:
    """Return encryption under a key that is derived for one purpose alone."""
    key = hashlib.sha256(f"cuadre {purpose}\0{settings.secret_key.get_secret_value()}".encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))


def unlock(fernet: Fernet, encrypted: bytes) -> bytes | None:
    """Return what was encrypted, None where it was under another key."""
    try:
        return fernet.decrypt(encrypted)
    except InvalidToken:
        return None


class Opener:
    """Opens the key, and goes on with it where the secret key was rotated while this process runs."""

    def __init__(self, fernet: Fernet) -> None:
        self.encrypt = fernet.encrypt
        self._fernet = fernet
        self._known: bytes | None = None

    def open(self, encrypted: bytes) -> bytes | None:
        # A rotation changes what the key is kept under, and never the key.
        self._known = unlock(self._fernet, encrypted) or self._known
        return self._known


@dataclass(slots=True)
class Opened:
    """How much of one purpose a key opens: the number of rows, and the names of those that it does not open."""

    purpose: str
    rows: int = 0
    lost: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"does not open {', '.join(self.lost)}" if self.lost else f"opens all {self.rows}"


def open_all(connection: Connection, settings: Settings) -> list[Opened]:
    """Try the key of the settings on everything that is encrypted."""
    return [_go_through(connection, table, settings, None) for table in ENCRYPTED]


def encrypt_anew(connection: Connection, old: Settings, new: Settings) -> list[Opened]:
    """Encrypt under the new key what the old one opens; the rest stays as it is."""
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK)
    return [_go_through(connection, table, old, new) for table in ENCRYPTED]


def _go_through(connection: Connection, name: str, old: Settings, new: Settings | None) -> Opened:
    purpose, label = ENCRYPTED[name]
    encrypted = sa.column("encrypted", sa.LargeBinary)
    table = sa.table(name, sa.column(label, sa.String), encrypted)
    found, opener = Opened(purpose), cipher(old, purpose)
    for row in connection.execute(sa.select(table)).all():
        found.rows += 1
        try:
            content = opener.decrypt(row.encrypted)
        except InvalidToken:
            found.lost.append(str(row[0]))
            continue
        if new is not None:
            # What is encrypted holds random bytes, so that it names one row.
            changing = sa.update(table).where(encrypted == row.encrypted)
            connection.execute(changing.values(encrypted=cipher(new, purpose).encrypt(content)))
    return found
