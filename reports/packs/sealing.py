"""A file that ends with the SHA-256 of all its bytes before, so that any change of it shows; pure but for the file."""

import hashlib
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from reports.packs.manifest import sign, to_text

# The words before the digest: a ZIP has them in its comment, a PDF in a comment after its end.
WORDS = b"cuadre sha256 "
DIGITS = 64
# What is written before the digest is known.
BLANK = WORDS + b"0" * DIGITS
_PIECE = 1 << 20
_SIGNED_BY = b"\n%cuadre ed25519 "
_SEAL = b"\n%" + BLANK


def seal(path: Path) -> None:
    """Write the digest over the blank one that a file ends with."""
    with path.open("r+b") as file:
        length = path.stat().st_size - DIGITS
        digest = _digest_of(path, length)
        file.seek(length)
        file.write(digest)


def to_sealed(content: bytes) -> bytes:
    """Return bytes that end with room for the digest, with the digest in it."""
    body = content[:-DIGITS]
    return body + hashlib.sha256(body).hexdigest().encode()


def is_sealed(path: Path) -> bool:
    """Return True if a file ends with the digest of all its bytes before."""
    length = path.stat().st_size - DIGITS
    if length < len(WORDS):
        return False
    with path.open("rb") as file:
        file.seek(length - len(WORDS))
        end = file.read()
    return end == WORDS + _digest_of(path, length)


def _digest_of(path: Path, length: int) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while length and (piece := file.read(min(length, _PIECE))):
            digest.update(piece)
            length -= len(piece)
    return digest.hexdigest().encode()


def finish(pdf: bytes, key: Ed25519PrivateKey | None) -> bytes:
    """Return a PDF that ends with room for its digest, signed where there is a key, and sealed."""
    content = pdf.removesuffix(_SEAL)
    if key is not None:
        content += _SIGNED_BY + to_text(key.public_key()).encode() + b" " + sign(content, key).strip()
    return to_sealed(content + _SEAL)


def read_signature(pdf: bytes) -> tuple[bytes, str, bytes]:
    """Return what a sealed PDF was signed over, the public key and the signature; the last two empty without one."""
    content, mark, signed = pdf[: -len(_SEAL)].rpartition(_SIGNED_BY)
    key, blank, signature = signed.partition(b" ")
    if not mark or not blank or b"\n" in signed:
        return pdf, "", b""
    return content, key.decode("ascii", errors="replace"), signature
