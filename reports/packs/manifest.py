"""What an archive of a month says of itself: its period and run, its files with their digests, one digest over all."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from msgspec import Struct
from msgspec.structs import replace

from consumer.facts.messages import RefusalError

MANIFEST, SIGNATURE, SUMMARY, INPUTS = "manifest.json", "manifest.sig", "summary.pdf", "inputs.json"
FORMAT = "cuadre-month 1"
Versions: TypeAlias = Mapping[str, str]


class KeyFileError(RefusalError):
    """A key that cannot be read, or that is not one of Ed25519."""


class File(Struct, frozen=True, forbid_unknown_fields=True):
    """One file of the archive."""

    name: str
    size: int
    sha256: str


class About(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which closed period an archive is of, on which run it rests, and how its tables are written."""

    connection: str
    country: str
    mode: str
    period: int
    since: str | None
    until: str
    as_of: str
    run_id: str
    run_number: int
    closed_by: str
    closed_at: str
    reason: str
    profile: str
    language: str
    # Made after a person was erased from it: the words differ from an archive made before, its amounts do not.
    erased: bool = False


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """The manifest; `data_sha256` is over all files but the summary, which shows it, and `sha256` over all of this."""

    format: str
    about: About
    versions: Versions
    files: tuple[File, ...]
    data_sha256: str
    # The Ed25519 key that signed, as base64 of its 32 bytes; empty if it is not signed.
    public_key: str
    sha256: str

    def to_bytes(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


_decode = msgspec.json.Decoder(Manifest).decode


def make_manifest(about: About, versions: Versions, files: Sequence[File], key: Ed25519PrivateKey | None) -> Manifest:
    public_key = "" if key is None else to_text(key.public_key())
    blank = Manifest(FORMAT, about, versions, tuple(files), digest_data(files), public_key, "")
    return replace(blank, sha256=digest_manifest(blank))


def digest_data(files: Sequence[File]) -> str:
    """Return the digest over the names and digests of all files but the summary."""
    lines = "".join(f"{file.sha256}  {file.name}\n" for file in files if file.name != SUMMARY)
    return hashlib.sha256(lines.encode()).hexdigest()


def digest_manifest(manifest: Manifest) -> str:
    return hashlib.sha256(replace(manifest, sha256="").to_bytes()).hexdigest()


def read_manifest(content: bytes) -> Manifest | None:
    """Return the manifest, or None if it is not as `to_bytes` wrote it."""
    try:
        found = _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    is_whole = found.to_bytes() == content and found.sha256 == digest_manifest(found)
    return found if is_whole and found.data_sha256 == digest_data(found.files) else None


def load_private_key(pem: str) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError("verify.no_private_key")
    return key


def load_public_key(pem: bytes, name: str) -> str:
    try:
        key = load_pem_public_key(pem)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise KeyFileError("verify.no_public_key", file=name)
    return to_text(key)


def to_text(key: Ed25519PublicKey) -> str:
    return base64.b64encode(key.public_bytes_raw()).decode()


def sign(content: bytes, key: Ed25519PrivateKey) -> bytes:
    return base64.b64encode(key.sign(content)) + b"\n"


def is_signature(signature: bytes, content: bytes, public_key: str) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
        key.verify(base64.b64decode(signature.strip(), validate=True), content)
    except (ValueError, InvalidSignature):
        return False
    return True
