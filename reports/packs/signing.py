"""The signature of a PDF: a comment between its end and the digest of all its bytes; pure."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from reports.packs import sealing
from reports.packs.manifest import sign, to_text

_WORDS = b"\n%cuadre ed25519 "
_SEAL = b"\n%" + sealing.BLANK


def finish(pdf: bytes, key: Ed25519PrivateKey | None) -> bytes:
    """Return a PDF that ends with room for its digest, signed where there is a key, and sealed."""
    content = pdf.removesuffix(_SEAL)
    if key is not None:
        content += _WORDS + to_text(key.public_key()).encode() + b" " + sign(content, key).strip()
    return sealing.to_sealed(content + _SEAL)


def read_signature(pdf: bytes) -> tuple[bytes, str, bytes]:
    """Return what a sealed PDF was signed over, the public key and the signature; the last two empty without one."""
    content, mark, signed = pdf[: -len(_SEAL)].rpartition(_WORDS)
    key, blank, signature = signed.partition(b" ")
    if not mark or not blank or b"\n" in signed:
        return pdf, "", b""
    return content, key.decode("ascii", errors="replace"), signature
