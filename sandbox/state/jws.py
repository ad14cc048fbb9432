"""Verifies the JSON Web Signature of the calls that move money: RS256 over the raw body, with a fresh nonce."""

import base64
import binascii
import hashlib
import hmac
import time
from dataclasses import dataclass, field

import msgspec

from sandbox.state.refusal import RefusalError, UnauthenticatedError

TOLERANCE = 300  # seconds of real time between signing and arriving
NONCE_LENGTH = 32
RSA_ENCRYPTION = bytes.fromhex("06092a864886f70d010101")
# DigestInfo of SHA-256, as PKCS #1 v1.5 writes it in front of the digest.
SHA256_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
SEQUENCE, INTEGER, BIT_STRING = 0x30, 0x02, 0x03
LONG_LENGTH = 0x80


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
    """The RSA key of a `BEGIN PUBLIC KEY` block. Raises UnreadableKeyError."""
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
    """The value of the first DER element, and what follows it."""
    if content[0] != tag:
        raise ValueError(tag)
    length, start = content[1], 2
    if length & LONG_LENGTH:
        width = length & ~LONG_LENGTH
        length, start = int.from_bytes(content[2 : 2 + width]), 2 + width
    if len(content) < start + length:
        raise ValueError(length)
    return content[start : start + length], content[start + length :]
