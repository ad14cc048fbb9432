"""The body of an answer: read to its end within a time, and as UTF-8 whatever it was sent in."""

import codecs
import time
from collections.abc import Callable, Iterator

import httpx

# The client's own limit is of each wait; who sends a byte at a time would stay within it for ever.
MOST_SECONDS = 90.0


class _Timed(httpx.SyncByteStream):
    """A body that is given up where it has not ended in time."""

    def __init__(self, stream: httpx.SyncByteStream, is_late: Callable[[], bool]) -> None:
        self._stream = stream
        self._is_late = is_late

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            if self._is_late():
                raise httpx.ReadTimeout(f"the answer did not end within {MOST_SECONDS:.0f} s")
            yield piece

    def close(self) -> None:
        self._stream.close()


def read_in_time(response: httpx.Response, *, clock: Callable[[], float] = time.monotonic) -> None:
    """Read a streamed answer whole and close it, or raise as for one that stopped coming."""
    until = clock() + MOST_SECONDS
    if isinstance(response.stream, httpx.SyncByteStream):
        response.stream = _Timed(response.stream, lambda: clock() > until)
    try:
        response.read()
    finally:
        response.close()


def to_utf8(response: httpx.Response) -> bytes:
    """The body without a byte-order mark, and from the character set it names; what does not fit stays as it came."""
    body, charset = response.content, response.charset_encoding
    if charset is not None and charset.lower() not in {"utf-8", "utf8", "us-ascii"}:
        try:
            body = body.decode(charset).encode()
        except (LookupError, UnicodeError):
            return body
    return body.removeprefix(codecs.BOM_UTF8)
