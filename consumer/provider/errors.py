"""What can go wrong with the provider, and what each kind of failure means for the caller.

ProviderError                 anything below; `retryable` says whether asking again may help
├── UnreachableError               no answer: refused, reset, timed out
├── UnreadableError                an answer that is not what the specification promises
├── ForeignLinkError               a page that points to another origin; never followed
├── EndlessListError               pages that lead in a circle
└── RefusedError                   the provider answered with an error status
    ├── KeyRefusedError            401: the key is wrong, expired or of another mode
    ├── MissingError               404, 410: no such object or path in this mode
    ├── ThrottledError             429: too many requests
    └── ServerError                5xx: the provider's own failure
"""

from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import ClassVar

import httpx
import msgspec

from consumer.facts.meaning import JsonObject


class ProviderError(Exception):
    """A call that failed; the message names no secret, no query and no personal data."""

    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        request_id: str | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.request_id = request_id
        self.code = code
        self.retry_after = retry_after


class UnreachableError(ProviderError):
    """No answer came; `is_closed` is True if the connection itself was refused."""

    retryable = True

    def __init__(self, message: str, *, is_closed: bool = False) -> None:
        super().__init__(message)
        self.is_closed = is_closed


class UnreadableError(ProviderError):
    # A truncated or mistyped body is usually a proxy's accident, so one more look is worth it.
    retryable = True


class ForeignLinkError(ProviderError):
    pass


class EndlessListError(ProviderError):
    pass


class RefusedError(ProviderError):
    pass


class KeyRefusedError(RefusedError):
    pass


class MissingError(RefusedError):
    pass


class ThrottledError(RefusedError):
    retryable = True


class ServerError(RefusedError):
    retryable = True


_KINDS: dict[int, type[RefusedError]] = {
    401: KeyRefusedError,
    404: MissingError,
    410: MissingError,
    429: ThrottledError,
}
_FIRST_SERVER_ERROR = 500


def to_error(call: str, response: httpx.Response, *, now: datetime) -> RefusedError:
    """Name a refusal from its status and, where the body is the error object, from what it says."""
    status, request_id = response.status_code, response.headers.get("X-Request-Id")
    body = _error_object(response.content)
    code = _text(body, "code")
    kind = ServerError if status >= _FIRST_SERVER_ERROR else _KINDS.get(status, RefusedError)
    param = _text(body, "param")
    words = [f"{call}: the provider answered {status}", code, f"on {param}" if param else None]
    message = " ".join(word for word in words if word)
    return kind(
        message + (f" (request {request_id})" if request_id else ""),
        status=status,
        request_id=request_id,
        code=code,
        retry_after=to_seconds(response.headers.get("Retry-After"), now=to_date(response.headers) or now),
    )


def to_seconds(retry_after: str | None, *, now: datetime) -> float | None:
    """Read `Retry-After` in both its forms; the date form counts from the answer's own clock."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    until = _parse_http_date(retry_after)
    return None if until is None else max(0.0, (until - now).total_seconds())


def to_date(headers: httpx.Headers) -> datetime | None:
    """Read the provider's clock from the `Date` of its answer."""
    text = headers.get("Date")
    return None if text is None else _parse_http_date(text)


def _parse_http_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else None


def _error_object(body: bytes) -> JsonObject:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    inner = found.get("error") if isinstance(found, dict) else None
    return inner if isinstance(inner, dict) else {}


def _text(body: JsonObject, name: str) -> str | None:
    value = body.get(name)
    return value[:80] if isinstance(value, str) else None
