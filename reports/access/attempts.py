"""How fast passwords may be guessed: failures are counted by account, by network and by both, and waits grow.

Nothing here says whether an account exists: names are counted by their digest, known or not. A device that its person
has logged in with before is never made to wait, until ten wrong passwords make it an unknown one.
"""

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.addresses import network_of
from consumer.facts.store import insert_once
from reports.access.sessions import digest
from reports.tables import KnownDevice, LoginFailure

# A count is removed once no login failed for as long as the longest wait.
_FORGOTTEN_AFTER = timedelta(minutes=15)
DEVICE_LASTS = timedelta(days=180)
_WRONG_FROM_A_DEVICE = 10


@dataclass(frozen=True, slots=True)
class Limit:
    """How many failures cost no wait, and how long the wait becomes at most; it doubles from a second."""

    free: int
    longest: timedelta

    def wait_after(self, failures: int) -> timedelta:
        if failures < self.free:
            return timedelta()
        # Beyond twelve doublings any of the longest is reached.
        return min(timedelta(seconds=2 ** min(failures - self.free, 12)), self.longest)


# One network guessing at one account waits longest. An office behind one address mistypes a few times a morning. An
# account that is guessed at from everywhere must leave its person a turn.
_PAIR = Limit(free=5, longest=timedelta(minutes=15))
_NETWORK = Limit(free=30, longest=timedelta(minutes=15))
_ACCOUNT = Limit(free=20, longest=timedelta(seconds=30))
# Who guesses at codes knows the password already, and six digits are soon guessed.
_CODES = Limit(free=10, longest=timedelta(minutes=15))
_OF_CODES = "+codes"


@dataclass(frozen=True, slots=True)
class Origin:
    """Which account is tried and from which network; either counts alone and both together."""

    account: str
    network: str

    def limits(self) -> Iterator[tuple[str, str, Limit]]:
        yield self.account, "", _limit_of(self.account)
        if self.network:
            yield "", self.network, _NETWORK
            yield self.account, self.network, _PAIR


def _limit_of(account: str) -> Limit:
    return _CODES if account.endswith(_OF_CODES) else _ACCOUNT


def origin_of(email: str, address: str, *, for_codes: bool = False) -> Origin:
    return Origin(account_of(email) + (_OF_CODES if for_codes else ""), network_of(address))


def account_of(email: str) -> str:
    """Return what an account is counted by: what is typed as a name may be a password."""
    return hashlib.sha256(b"cuadre account\0" + email.encode("utf-8", "replace")).hexdigest()[:32]


def wait_until(session: Session, origin: Origin, *, now: datetime) -> datetime | None:
    """Return the moment until which this origin has to wait, or None if it may try now."""
    ends = [end for end in _ends(session, origin) if end > now]
    return max(ends, default=None)


def _ends(session: Session, origin: Origin) -> Iterator[datetime]:
    for account, network, limit in origin.limits():
        row = session.get(LoginFailure, (account, network))
        if row is not None and (wait := limit.wait_after(row.failures)):
            yield row.last_at + wait


def count_attempt(session: Session, origin: Origin, *, now: datetime) -> None:
    """Count an attempt as failed before its password is looked at, so that guesses side by side are all counted."""
    session.execute(sa.delete(LoginFailure).where(col(LoginFailure.last_at) <= now - _FORGOTTEN_AFTER))
    rows = [{"account": one, "network": other, "failures": 0, "last_at": now} for one, other, _ in origin.limits()]
    insert_once(session.connection(), LoginFailure, rows, keys=["account", "network"])
    for row in rows:
        is_this = (col(LoginFailure.account) == row["account"], col(LoginFailure.network) == row["network"])
        one_more = sa.update(LoginFailure).where(*is_this)
        session.execute(one_more.values(failures=LoginFailure.failures + 1, last_at=now))


def take_back(session: Session, origin: Origin) -> None:
    """Take back one attempt, whose password was right; what failed before stays counted."""
    for account, network, _ in origin.limits():
        is_this = (col(LoginFailure.account) == account, col(LoginFailure.network) == network)
        session.execute(sa.update(LoginFailure).where(*is_this).values(failures=LoginFailure.failures - 1))


def forgive(session: Session, origin: Origin) -> None:
    """Take back the attempt that completed a login, and what was counted against its account."""
    take_back(session, origin)
    unlock(session, origin.account.removesuffix(_OF_CODES))


def unlock(session: Session, account: str) -> None:
    """Forget what was counted against an account, from everywhere."""
    session.execute(sa.delete(LoginFailure).where(col(LoginFailure.account).in_([account, account + _OF_CODES])))


def waits_of_accounts(session: Session, *, now: datetime) -> dict[str, datetime]:
    """Return until when an account has to wait, from some networks or from all."""
    found: dict[str, datetime] = {}
    for row in session.scalars(sa.select(LoginFailure).where(col(LoginFailure.account) != "")):
        end = row.last_at + (_PAIR if row.network else _limit_of(row.account)).wait_after(row.failures)
        account = row.account.removesuffix(_OF_CODES)
        if end > now:
            found[account] = max(end, found.get(account, end))
    return found


def new_device() -> str:
    return secrets.token_urlsafe(32)


def is_known(session: Session, device: str, person_id: int, *, now: datetime) -> bool:
    """Return True if this person has logged in with this device lately."""
    row = session.get(KnownDevice, (digest(device), person_id)) if device else None
    return row is not None and row.seen_at > now - DEVICE_LASTS


def remember_device(session: Session, device: str, person_id: int, *, now: datetime) -> None:
    session.execute(sa.delete(KnownDevice).where(col(KnownDevice.seen_at) <= now - DEVICE_LASTS))
    session.merge(KnownDevice(sha256=digest(device), person_id=person_id, failures=0, seen_at=now))


def count_wrong(session: Session, device: str, person_id: int) -> None:
    """Count a wrong password from a known device, which after ten of them is known no more."""
    row = session.get(KnownDevice, (digest(device), person_id), with_for_update=True)
    if row is None:
        return
    row.failures += 1
    if row.failures >= _WRONG_FROM_A_DEVICE:
        session.delete(row)


def forget_devices(session: Session, person_id: int) -> None:
    session.execute(sa.delete(KnownDevice).where(col(KnownDevice.person_id) == person_id))
