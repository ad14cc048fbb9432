"""Bodies of requests: JSON or a form, read as one object of bounded depth, and equal when they say the same."""

import hashlib
from typing import Any

import msgspec
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.wrappers import Request

from sandbox.state.refusal import invalid

FORMS = {"multipart/form-data", "application/x-www-form-urlencoded"}
DEEPEST = 64


def read_body(incoming: Request) -> dict[str, Any]:
    """The fields of a JSON object or of a form. Raises `invalid_json` or `invalid_hash`."""
    body = read_form(incoming.form) if _is_form(incoming) else _read_json(incoming.get_data())
    _check_depth(body)
    return body


def _is_form(incoming: Request) -> bool:
    # `curl -d` calls JSON a form; no field of a form begins with a brace, it would be encoded.
    return incoming.mimetype in FORMS and not incoming.get_data().startswith(b"{")


def _read_json(raw: bytes) -> dict[str, Any]:
    if not raw:
        return {}
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise invalid("json", "body", "valid JSON") from None
    if not isinstance(body, dict):
        raise invalid("hash", "body", "a JSON object")
    return body


def _check_depth(body: dict[str, Any]) -> None:
    # Deeper ones could be read but not written again: what is stored must always be answerable.
    level: list[Any] = [body]
    for _ in range(DEEPEST):
        within = (inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer))
        level = [inner for inner in within if isinstance(inner, dict | list)]
        if not level:
            return
    raise invalid("hash", "body", f"nested no deeper than {DEEPEST}")


def fingerprint(incoming: Request) -> bytes:
    """The same bytes for the same parameters: the order of JSON names and a form's boundary do not count."""
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


def read_form(form: MultiDict[str, str]) -> dict[str, Any]:
    """`mx_direct_debit[max_amount]=5` becomes `{"mx_direct_debit": {"max_amount": "5"}}`."""
    fields: dict[str, Any] = {}
    for name, value in form.items(multi=True):
        _place(fields, name.replace("]", "").split("["), value)
    return fields


def _place(fields: dict[str, Any], path: list[str], value: str) -> None:
    for name in path[:-1]:
        inner = fields.setdefault(name, {})
        fields = inner if isinstance(inner, dict) else fields
    fields[path[-1]] = value
