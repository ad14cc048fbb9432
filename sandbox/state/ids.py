"""Ids with the provider's prefixes, drawn from a seed: the same start gives the same ids."""

import hashlib

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LENGTH = 24


def draw(prefix: str, *parts: object) -> str:
    """Return an id that depends on every part alone."""
    return f"{prefix}_{token(*parts, prefix)}"


def token(*parts: object) -> str:
    """Opaque letters and digits that depend on every part."""
    number = int.from_bytes(digest(*parts)[:20])
    letters = []
    for _ in range(LENGTH):
        number, index = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[index])
    return "".join(letters)


def digest(*parts: object) -> bytes:
    """Thirty-two bytes that depend on every part and on their order."""
    text = "\x1f".join(str(part) for part in parts)
    return hashlib.sha256(text.encode()).digest()
