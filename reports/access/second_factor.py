"""The second factor: codes that a device computes from a secret (RFC 6238), and recovery codes for when it is lost."""

import base64
import hmac
import secrets
import struct
from datetime import datetime
from urllib.parse import quote

import sqlalchemy as sa
from cryptography.fernet import InvalidToken
from sqlmodel import Session, col

from consumer.facts.encryption import cipher
from consumer.facts.messages import RefusalError
from consumer.facts.settings import Settings
from reports.access.sessions import digest
from reports.tables import RecoveryCode, SecondFactor

_STEP_SECONDS, _DIGITS, _SECRET_BYTES = 30, 6, 20
# A device's clock may be off by one step either way.
_DRIFT = (0, -1, 1)
PURPOSE = "second factors"
_RECOVERY_CODES, _RECOVERY_BYTES, _RECOVERY_GROUP = 10, 10, 4


class FactorError(RefusalError):
    """A second factor that cannot be set up; the message says why."""


def code_at(secret: bytes, step: int) -> str:
    """Return the code of one step of thirty seconds."""
    mac = hmac.digest(secret, struct.pack(">Q", step), "sha1")
    start = mac[-1] & 0x0F
    number = struct.unpack(">I", mac[start : start + 4])[0] & 0x7FFFFFFF
    return str(number % 10**_DIGITS).zfill(_DIGITS)


def find_step(secret: bytes, code: str, *, now: datetime, after: int) -> int | None:
    """Return the step that a code is of, if it is one of now and later than `after`."""
    current = int(now.timestamp()) // _STEP_SECONDS
    steps = [current + drift for drift in _DRIFT if current + drift > after]
    return next((step for step in steps if hmac.compare_digest(code_at(secret, step), code)), None)


def address_of(secret: str, email: str) -> str:
    """Return what a device reads from a picture: who the codes are for, and the secret."""
    return f"otpauth://totp/Cuadre:{quote(email)}?secret={secret}&issuer=Cuadre"


def begin(session: Session, settings: Settings, person_id: int, *, now: datetime) -> str:
    """Keep a new secret and return it as devices take it; it counts once a code of it was given."""
    if is_on(session, person_id):
        raise FactorError("people.factor_is_on")
    secret = secrets.token_bytes(_SECRET_BYTES)
    sealed = cipher(settings, PURPOSE).encrypt(secret)
    session.merge(SecondFactor(person_id=person_id, encrypted=sealed, begun_at=now))
    return base64.b32encode(secret).decode()


def find_begun(session: Session, settings: Settings, person_id: int) -> str | None:
    """Return the secret that waits for its first code."""
    row = session.get(SecondFactor, person_id)
    secret = None if row is None or row.confirmed_at is not None else _unseal(settings, row)
    return None if secret is None else base64.b32encode(secret).decode()


def confirm(session: Session, settings: Settings, person_id: int, code: str, *, now: datetime) -> list[str]:
    """Turn the second factor on with the first code of the device, and return the recovery codes."""
    row = session.get(SecondFactor, person_id, with_for_update=True)
    secret = None if row is None or row.confirmed_at is not None else _unseal(settings, row)
    if row is None or secret is None:
        raise FactorError("people.factor_not_begun")
    step = find_step(secret, _plain(code), now=now, after=row.last_step)
    if step is None:
        raise FactorError("people.code_wrong")
    row.confirmed_at, row.last_step = now, step
    return renew_recovery_codes(session, person_id)


def is_on(session: Session, person_id: int) -> bool:
    row = session.get(SecondFactor, person_id)
    return row is not None and row.confirmed_at is not None


def people_with_one(session: Session) -> set[int]:
    """Return the people whose second factor is on."""
    return set(
        session.scalars(sa.select(col(SecondFactor.person_id)).where(col(SecondFactor.confirmed_at).is_not(None)))
    )


def accept(session: Session, settings: Settings, person_id: int, code: str, *, now: datetime) -> bool:
    """Return True if this is a code of the device or a recovery code; each is accepted once."""
    row = session.get(SecondFactor, person_id)
    if row is None or row.confirmed_at is None:
        return False
    code = _plain(code)
    secret = _unseal(settings, row)
    step = None if secret is None else find_step(secret, code, now=now, after=row.last_step)
    if step is None:
        return _use_recovery_code(session, person_id, code)
    # Two requests with one code: the later finds the step taken.
    mine = (col(SecondFactor.person_id) == person_id, col(SecondFactor.last_step) < step)
    used = sa.update(SecondFactor).where(*mine).values(last_step=step).returning(col(SecondFactor.person_id))
    return session.execute(used).first() is not None


def _use_recovery_code(session: Session, person_id: int, code: str) -> bool:
    mine = (col(RecoveryCode.sha256) == _digest(code), col(RecoveryCode.person_id) == person_id)
    return session.execute(sa.delete(RecoveryCode).where(*mine).returning(col(RecoveryCode.sha256))).first() is not None


def renew_recovery_codes(session: Session, person_id: int) -> list[str]:
    """Make ten codes in place of those there were and return them: the only time they can be seen."""
    session.execute(sa.delete(RecoveryCode).where(col(RecoveryCode.person_id) == person_id))
    codes = [base64.b32encode(secrets.token_bytes(_RECOVERY_BYTES)).decode().lower() for _ in range(_RECOVERY_CODES)]
    session.add_all(RecoveryCode(sha256=_digest(code), person_id=person_id) for code in codes)
    return ["-".join(code[at : at + _RECOVERY_GROUP] for at in range(0, len(code), _RECOVERY_GROUP)) for code in codes]


def count_recovery_codes(session: Session, person_id: int) -> int:
    query = sa.select(sa.func.count()).where(col(RecoveryCode.person_id) == person_id)
    return session.scalar(query) or 0


def turn_off(session: Session, person_id: int) -> None:
    session.execute(sa.delete(SecondFactor).where(col(SecondFactor.person_id) == person_id))
    session.execute(sa.delete(RecoveryCode).where(col(RecoveryCode.person_id) == person_id))


def _unseal(settings: Settings, row: SecondFactor) -> bytes | None:
    """Return a secret, or None if it was kept under another key of the installation."""
    try:
        return cipher(settings, PURPOSE).decrypt(row.encrypted)
    except InvalidToken:
        return None


def _plain(code: str) -> str:
    """Return a code without the blanks and dashes that people type between its groups."""
    return "".join(letter for letter in code if letter.isascii() and letter.isalnum()).lower()


def _digest(code: str) -> str:
    return digest(f"cuadre recovery code\0{code}")
