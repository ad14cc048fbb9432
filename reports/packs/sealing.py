"""A file that ends with the SHA-256 of all its bytes before, so that any change of it shows; pure but for the file."""

import hashlib
from pathlib import Path

# The words before the digest: a ZIP has them in its comment, a PDF in a comment after its end.
WORDS = b"cuadre sha256 "
DIGITS = 64
# What is written before the digest is known.
BLANK = WORDS + b"0" * DIGITS
_PIECE = 1 << 20


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
