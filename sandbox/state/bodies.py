"""Bodies of requests: read as one object of bounded depth, and the answers given under each `Idempotency-Key`."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

import msgspec
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.wrappers import Request

from sandbox.state.refusal import RefusalError, invalid
from sandbox.state.store import Object

FORMS = {"multipart/form-data", "application/x-www-form-urlencoded"}
DEEPEST = 64
LONGEST_KEY = 255
KEPT_FOR = timedelta(hours=24)
MISMATCH = "idempotency_key_reused"  # the provider's own code is not published


def read_body(incoming: Request) -> Object:
    """Return the fields of a JSON object or of a form. Raise `invalid_json` or `invalid_hash`."""
    body = read_form(incoming.form) if _is_form(incoming) else _read_json(incoming.get_data())
    _check_depth(body)
    return body


def _is_form(incoming: Request) -> bool:
    # `curl -d` calls JSON a form; no field of a form begins with a brace, it would be encoded.
    return incoming.mimetype in FORMS and not incoming.get_data().startswith(b"{")


def _read_json(raw: bytes) -> Object:
    if not raw:
        return {}
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise invalid("json", "body", "valid JSON") from None
    if not isinstance(body, dict):
        raise invalid("hash", "body", "a JSON object")
    return body


def _check_depth(body: Object) -> None:
    # Deeper ones could be read but not written again: what is stored must always be answerable.
    level: list[Object | list[object]] = [body]
    for _ in range(DEEPEST):
        within = (inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer))
        level = [inner for inner in within if isinstance(inner, dict | list)]
        if not level:
            return
    raise invalid("hash", "body", f"nested no deeper than {DEEPEST}")


def fingerprint(incoming: Request) -> bytes:
    """Return the same bytes for the same parameters: the order of JSON names and a form's boundary do not count."""
    if _is_form(incoming):
        fields = sorted(incoming.form.items(multi=True))
        files = [(name, file.filename, _digest(file)) for name, file in incoming.files.items(multi=True)]
        return repr((fields, sorted(files, key=repr))).encode(errors="backslashreplace")
    raw = incoming.get_data()
    try:
        return msgspec.json.encode(msgspec.json.decode(raw), order="sorted")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return raw


def _digest(file: FileStorage) -> str:
    content = file.stream.read()
    file.stream.seek(0)
    return hashlib.sha256(content).hexdigest()


def read_form(form: MultiDict[str, str]) -> Object:
    """`mx_direct_debit[max_amount]=5` becomes `{"mx_direct_debit": {"max_amount": "5"}}`."""
    fields: Object = {}
    for name, value in form.items(multi=True):
        _place(fields, name.replace("]", "").split("["), value)
    return fields


def _place(fields: Object, path: list[str], value: str) -> None:
    for name in path[:-1]:
        inner = fields.setdefault(name, {})
        fields = inner if isinstance(inner, dict) else fields
    fields[path[-1]] = value


@dataclass(frozen=True, slots=True)
class Asked:
    """A POST with its key; without a key its answer is not kept."""

    mode: str
    key: str | None
    fingerprint: str

    @classmethod
    def read(cls, incoming: Request, mode: str) -> Self:
        key = incoming.headers.get("Idempotency-Key") if incoming.method == "POST" else None
        if key is not None and not 0 < len(key) <= LONGEST_KEY:
            raise invalid("string", "Idempotency-Key", f"text of 1 to {LONGEST_KEY} characters")
        if key is None:
            return cls(mode, None, "")
        content = b"\n".join((incoming.full_path.encode(), fingerprint(incoming)))
        return cls(mode, key, hashlib.sha256(content).hexdigest())


@dataclass(frozen=True, slots=True)
class Known:
    """An answer that was given."""

    fingerprint: str
    at: datetime
    status: int
    body: bytes


class Answers:
    """The answers of the last day, errors included."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Known] = {}

    def recall(self, asked: Asked, now: datetime) -> Known | None:
        """Return the answer given under this key. Raises when it was given to another request."""
        known = self._known.get((asked.mode, asked.key)) if asked.key else None
        if known is None or now - known.at >= KEPT_FOR:
            return None
        if known.fingerprint != asked.fingerprint:
            raise RefusalError(
                409, MISMATCH, "This Idempotency-Key was used with other parameters", param="Idempotency-Key"
            )
        return known

    def remember(self, asked: Asked, now: datetime, status: int, body: bytes) -> None:
        if asked.key:
            self._known[asked.mode, asked.key] = Known(asked.fingerprint, now, status, body)
