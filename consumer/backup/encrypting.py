"""The secrets of an installation under a passphrase: scrypt makes the key, AES-GCM seals and notices any change."""

import secrets

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from consumer.facts.work import WorkError

# 64 MB and a fifth of a second for each guess.
_COST = 2**16
_PURPOSE = b"cuadre backup 1"


class Sealed(msgspec.Struct, frozen=True):
    """A sealed content with what makes its key again from the passphrase."""

    salt: bytes
    nonce: bytes
    content: bytes
    cost: int = _COST


def seal(passphrase: str, content: bytes) -> Sealed:
    salt, nonce = secrets.token_bytes(16), secrets.token_bytes(12)
    return Sealed(salt, nonce, _cipher(passphrase, salt, _COST).encrypt(nonce, content, _PURPOSE))


def unseal(passphrase: str, sealed: Sealed) -> bytes:
    """Return the content, or raise WorkError if the passphrase is another one."""
    if sealed.cost != _COST:
        raise WorkError("this backup was sealed by another version of Cuadre: install that one")
    try:
        return _cipher(passphrase, sealed.salt, sealed.cost).decrypt(sealed.nonce, sealed.content, _PURPOSE)
    except InvalidTag:
        raise WorkError("CUADRE_BACKUP_PASSPHRASE is not the one this backup was made with") from None


def _cipher(passphrase: str, salt: bytes, cost: int) -> AESGCM:
    return AESGCM(Scrypt(salt=salt, length=32, n=cost, r=8, p=1).derive(passphrase.encode()))
