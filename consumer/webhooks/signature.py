"""Verification of a webhook's signature over the raw bytes, as strict as the header allows and never a crash."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

# A clock needs 10 digits until the year 2286; more digits than this are no time.
_LONGEST_TIME = 20


class SignatureError(Exception):
    """A request that does not prove where it comes from.

    SignatureError
      UnreadableSignatureError   400: the header is missing, repeated or malformed
      UntimelySignatureError     400: the time is too old or too far ahead
      ForgedSignatureError       401: no signature in it matches
    """

    status: ClassVar[int] = 400

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class UnreadableSignatureError(SignatureError):
    pass


class UntimelySignatureError(SignatureError):
    pass


class ForgedSignatureError(SignatureError):
    status = 401


@dataclass(frozen=True, slots=True)
class SignatureHeader:
    """What the header says: the time exactly as received, and every v1 in it."""

    time: bytes
    signatures: tuple[bytes, ...]


def verify(body: bytes, header: str | bytes | None, secrets: Sequence[bytes], *, now: datetime, tolerance: int) -> int:
    """Return the position of the secret that signed this body, or raise what is wrong with it.

    Several `v1` and several secrets are all tried, in constant time on bytes; unknown keys are ignored. The signed
    time is the text as received, so `t` is never rendered anew.
    """
    read = read_header(header)
    check_time(read.time, now=now, tolerance=tolerance)
    found: int | None = None
    for position, secret in enumerate(secrets):
        expected = hmac.digest(secret, read.time + b"." + body, "sha256").hex().encode("ascii")
        matches = [hmac.compare_digest(expected, signature) for signature in read.signatures]
        if any(matches) and found is None:
            found = position
    if found is None:
        raise ForgedSignatureError("forged", "no v1 signature matches this body and its time")
    return found


def read_header(header: str | bytes | None) -> SignatureHeader:
    """Read `t=…,v1=…` in any order; a repeated header arrives joined by a comma and so shows as a second `t`."""
    if not header:
        raise UnreadableSignatureError("header_missing", "the signature header is missing")
    raw = header if isinstance(header, bytes) else header.encode("utf-8", "replace")
    times: list[bytes] = []
    signatures: list[bytes] = []
    for part in raw.split(b","):
        key, equals, value = part.strip(b" \t").partition(b"=")
        if not equals:
            raise UnreadableSignatureError("header_unreadable", "the signature header is not a list of key=value")
        if key == b"t":
            times.append(value)
        elif key == b"v1":
            signatures.append(value)
    if len(times) != 1:
        problem = "time_repeated" if times else "time_missing"
        raise UnreadableSignatureError(problem, "the signature header must hold t exactly once")
    if not signatures:
        raise UnreadableSignatureError("v1_missing", "the signature header holds no v1")
    return SignatureHeader(times[0], tuple(signatures))


def check_time(text: bytes, *, now: datetime, tolerance: int) -> None:
    """Refuse a time that is not whole ASCII digits, or further from now than the tolerance in either direction."""
    if not text.isdigit() or len(text) > _LONGEST_TIME:
        raise UnreadableSignatureError("time_unreadable", "t must be a whole number of seconds")
    age = int(now.timestamp()) - int(text)
    if age > tolerance:
        raise UntimelySignatureError("too_old", "the signature's time is too old")
    if -age > tolerance:
        raise UntimelySignatureError("too_far_ahead", "the signature's time is too far ahead")
