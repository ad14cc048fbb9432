"""The raw bytes of a request: all of them or none, never more than the limit, with and without a length."""

from typing import Any

_PIECE = 65_536
# A sender that is refused before it has finished sees a broken connection instead of the answer.
_DRAINED = 16 * 1024 * 1024


class BodyTooLargeError(Exception):
    pass


class BodyBrokenError(Exception):
    """The connection ended, or the framing was wrong, before the body was complete."""


def read_body(environ: dict[str, Any], limit: int) -> bytes:
    """Read a body of at most `limit` bytes; raises BodyTooLargeError, having drained a reasonable rest."""
    length = environ.get("CONTENT_LENGTH") or ""
    if length.isascii() and length.isdigit():
        announced: int | None = int(length[:20])
    elif environ.get("wsgi.input_terminated") or "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        announced = None
    else:
        return b""
    try:
        return _read(environ["wsgi.input"], announced, limit)
    except (OSError, ValueError) as problem:
        raise BodyBrokenError(type(problem).__name__) from None


def _read(stream: Any, announced: int | None, limit: int) -> bytes:
    most = _DRAINED + limit
    pieces: list[bytes] = []
    total = 0
    while total < most and (announced is None or total < announced):
        size = _PIECE if announced is None else min(_PIECE, announced - total)
        piece = stream.read(size)
        if not piece:
            break
        total += len(piece)
        if total <= limit:
            pieces.append(piece)
        else:
            pieces.clear()
    if total > limit or (announced is not None and announced > limit):
        raise BodyTooLargeError
    if announced is not None and total < announced:
        raise BodyBrokenError("shorter than announced")
    return b"".join(pieces)
