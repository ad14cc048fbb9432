"""How a request proves itself: secret keys, the addresses they work from, and the JSON Web Signature."""

import base64
import binascii
import hashlib
import hmac
import ipaddress
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from sandbox.state.refusal import RefusalError, UnauthenticatedError

KEYS = {"sk_test_sandbox": "test", "sk_live_sandbox": "live"}
MOST_KEYS = 10
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
TOLERANCE = 300  # seconds of real time between signing and arriving
NONCE_LENGTH = 32
RSA_ENCRYPTION = bytes.fromhex("06092a864886f70d010101")
# DigestInfo of SHA-256, as PKCS #1 v1.5 writes it in front of the digest.
SHA256_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
SEQUENCE, INTEGER, BIT_STRING = 0x30, 0x02, 0x03
LONG_LENGTH = 0x80


@dataclass(frozen=True, slots=True)
class Key:
    """A secret key: it decides the mode, and may end some day."""

    secret: str
    mode: str
    name: str
    expires_at: datetime | None = None


class Keyring:
    """The keys there are. Both of the sandbox's own are among them from the beginning."""

    def __init__(self) -> None:
        self._keys = {secret: Key(secret, mode, f"sandbox {mode}") for secret, mode in KEYS.items()}
        self.networks: tuple[Network, ...] = ()  # none: from anywhere

    def add(self, key: Key) -> None:
        if len(self._keys) >= MOST_KEYS:
            raise RefusalError(409, "api_key_limit_reached", f"An organization holds up to {MOST_KEYS} secret keys")
        self._keys[key.secret] = key

    def revoke(self, secret: str) -> None:
        """Forget the key, if it is known."""
        self._keys.pop(secret, None)

    def authenticate(self, header: str | None, now: datetime) -> str:
        """Return the mode of the key, with or without the word Bearer. Raise `invalid_api_key` or `expired_api_key`."""
        secret = (header or "").strip()
        if secret.lower().startswith("bearer "):
            secret = secret[len("bearer ") :].strip()
        key = self._keys.get(secret)
        if key is None:
            raise UnauthenticatedError
        if key.expires_at is not None and key.expires_at <= now:
            raise UnauthenticatedError("expired_api_key", "The API key has expired")
        return key.mode

    def check_address(self, address: str | None) -> None:
        """Raise the provider's 403 where the organization allows other addresses only."""
        if self.networks and not _is_within(address, self.networks):
            code = "allowed_cidr_blocks_does_not_contain_ip"
            raise RefusalError(403, code, "Requests from this address are not allowed")


def _is_within(address: str | None, networks: Iterable[Network]) -> bool:
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        return False
    return any(found in network for network in networks)


def read_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Blocks of addresses as 10.0.0.0/8. Raise ValueError."""
    return tuple(ipaddress.ip_network(text) for text in texts)


@dataclass(frozen=True, slots=True)
class PublicKey:
    """An RSA public key."""

    modulus: int
    exponent: int

    def verifies(self, signature: bytes, signed: bytes) -> bool:
        size = (self.modulus.bit_length() + 7) // 8
        if len(signature) != size:
            return False
        opened = pow(int.from_bytes(signature), self.exponent, self.modulus).to_bytes(size)
        info = SHA256_INFO + hashlib.sha256(signed).digest()
        padding = b"\xff" * (size - len(info) - 3)
        return hmac.compare_digest(opened, b"\x00\x01" + padding + b"\x00" + info)


@dataclass(slots=True)
class Signatures:
    """The public key of the organization and the nonces it has used."""

    key: PublicKey | None = None
    nonces: set[str] = field(default_factory=set)

    def check(self, header: str | None, body: bytes, header_name: str) -> None:
        """Raise the provider's refusal unless the header signs this body, now and for the first time."""
        if self.key is None:
            raise _refuse("missing_active_jws_public_key", "The organization has no JWS public key")
        if not header:
            raise _refuse("missing_jws_signature_header", f"Missing header {header_name}")
        protected, dot, signature = header.partition(".")
        if not dot or "." in signature:
            raise _refuse("invalid_jws_signature_header", "The signature has two parts with a full stop between them")
        nonce = _check_claims(_decode_claims(protected))
        signed = f"{protected}.{_encode(body)}".encode()
        if not self.key.verifies(_decode(signature), signed):
            raise _refuse("invalid_jws_signature_header", "The signature does not fit the body")
        if nonce in self.nonces:
            raise _refuse("jws_nonce_already_used", "The nonce was used before")
        self.nonces.add(nonce)


def _decode_claims(protected: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(_decode(protected), type=dict[str, object])
    except msgspec.MsgspecError:
        raise _refuse("invalid_jws_signature_header", "The protected part is not a JSON object") from None


def _check_claims(claims: dict[str, object]) -> str:
    if claims.get("alg") != "RS256":
        raise _refuse("invalid_jws_signature_algorithm", "The algorithm must be RS256")
    if claims.get("crit") != ["ts", "nonce"]:
        raise _refuse("invalid_jws_signature_header", "crit must name ts and nonce")
    nonce, signed_at = claims.get("nonce"), claims.get("ts")
    if not isinstance(nonce, str) or len(nonce) != NONCE_LENGTH:
        raise _refuse("invalid_jws_signature_nonce", f"The nonce must have {NONCE_LENGTH} characters")
    if not isinstance(signed_at, int) or isinstance(signed_at, bool):
        raise _refuse("invalid_jws_signature_timestamp_format", "ts must be whole seconds")
    if abs(int(time.time()) - signed_at) > TOLERANCE:
        raise _refuse("invalid_jws_signature_timestamp_value", "ts is too far from now")
    return nonce


def _refuse(code: str, message: str) -> RefusalError:
    return UnauthenticatedError(code, message)


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _refuse("invalid_jws_signature_header", "The signature is not base64url") from None


class UnreadableKeyError(ValueError):
    """The text is no RSA public key in PEM."""


def read_public_key(pem: str) -> PublicKey:
    """Return the RSA key of a `BEGIN PUBLIC KEY` block. Raise UnreadableKeyError."""
    lines = [line for line in pem.strip().splitlines() if line and not line.startswith("-----")]
    try:
        content = base64.b64decode("".join(lines), validate=True)
        outer, _ = _take(content, SEQUENCE)
        algorithm, rest = _take(outer, SEQUENCE)
        bits, _ = _take(rest, BIT_STRING)
        numbers, _ = _take(bits[1:], SEQUENCE)
        modulus, rest = _take(numbers, INTEGER)
        exponent, _ = _take(rest, INTEGER)
    except (ValueError, IndexError):
        raise UnreadableKeyError("The key must be an RSA public key in PEM") from None
    if not algorithm.startswith(RSA_ENCRYPTION):
        raise UnreadableKeyError("The key must be an RSA key")
    return PublicKey(int.from_bytes(modulus), int.from_bytes(exponent))


def _take(content: bytes, tag: int) -> tuple[bytes, bytes]:
    """Return the value of the first DER element, and what follows it."""
    if content[0] != tag:
        raise ValueError(tag)
    length, start = content[1], 2
    if length & LONG_LENGTH:
        width = length & ~LONG_LENGTH
        length, start = int.from_bytes(content[2 : 2 + width]), 2 + width
    if len(content) < start + length:
        raise ValueError(length)
    return content[start : start + length], content[start + length :]
