"""Documents from other hosts: allowed ones alone, over https, without the key, limited in size and time."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from urllib.parse import urlsplit

import httpx

from consumer.facts.settings import Settings
from consumer.provider.client import TIMEOUT, USER_AGENT, load_certificates
from consumer.provider.errors import ProviderError

MOST_BYTES = 20 * 1024 * 1024
# The limit below is of each wait; a host that sends a byte at a time would stay within it for ever.
MOST_SECONDS = 120.0
_PDF = b"%PDF-"
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_BUSY = {408, 429}


class NotFetchedError(ProviderError):
    """A document that was asked for and is not here; `retryable` says whether a later pull may have it."""

    def __init__(self, message: str, *, may_come: bool) -> None:
        super().__init__(message)
        self.may_come = may_come


class NotAllowedError(ProviderError):
    """A document whose host the settings do not name: only its link is kept."""


def download(
    url: str,
    settings: Settings,
    *,
    provider_url: str = "",
    transport: httpx.BaseTransport | None = None,
    clock: Callable[[], float] = time.monotonic,
    turn: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> bytes:
    """Fetch one PDF when its turn has come; messages name the host alone, since such addresses are signed.

    `provider_url` is that of the connection, where it differs from that of the settings.
    """
    host = check_allowed(url, settings, provider_url=provider_url)
    until = clock() + MOST_SECONDS
    headers, trusted = {"User-Agent": USER_AGENT}, load_certificates()
    try:
        with httpx.Client(
            transport=transport, timeout=TIMEOUT, follow_redirects=False, headers=headers, verify=trusted
        ) as http:
            content = _fetch(http, url, host, turn=turn, is_late=lambda: clock() > until)
    except (httpx.TransportError, httpx.DecodingError) as error:
        raise NotFetchedError(f"no answer from {host} ({type(error).__name__})", may_come=True) from None
    if not content.startswith(_PDF):
        raise NotFetchedError(f"what {host} sent is not a PDF", may_come=False)
    return content


def check_allowed(url: str, settings: Settings, *, provider_url: str = "") -> str:
    """Return the host of an address that may be asked, else raise; only the sandbox on this machine may speak http."""
    provider = urlsplit(provider_url or settings.provider_url)
    try:
        httpx.URL(url)
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except (ValueError, httpx.InvalidURL):
        raise NotAllowedError("its link is no address") from None
    if parts.username is not None or parts.password is not None:
        raise NotAllowedError(f"its link carries a login for {host}")
    is_sandbox = provider.scheme == "http" and provider.hostname in _LOOPBACK
    if is_sandbox and (parts.scheme, parts.netloc) == (provider.scheme, provider.netloc):
        return host
    allowed = {name.lower() for name in settings.download_hosts} or {provider.hostname or ""}
    if host not in allowed:
        raise NotAllowedError(f"{host or 'its host'} is not among CUADRE_DOWNLOAD_HOSTS")
    if parts.scheme != "https" or port not in {None, 443}:
        raise NotAllowedError(f"{host} is not asked over {parts.scheme or 'nothing'} port {port or 'default'}")
    return host


def _fetch(
    http: httpx.Client,
    url: str,
    host: str,
    *,
    turn: Callable[[], AbstractContextManager[None]],
    is_late: Callable[[], bool],
) -> bytes:
    with turn():
        begun = http.send(http.build_request("GET", url), stream=True)
    with closing(begun) as answer:
        if answer.status_code != httpx.codes.OK:
            may_come = answer.is_server_error or answer.status_code in _BUSY
            raise NotFetchedError(f"{host} answered {answer.status_code}", may_come=may_come)
        return _read(answer, host, is_late=is_late)


def _read(answer: httpx.Response, host: str, *, is_late: Callable[[], bool]) -> bytes:
    content = bytearray()
    for piece in answer.iter_bytes():
        content += piece
        if len(content) > MOST_BYTES:
            raise NotFetchedError(f"what {host} sends is larger than {MOST_BYTES // 1024 // 1024} MB", may_come=False)
        if is_late():
            raise NotFetchedError(f"{host} took longer than {MOST_SECONDS:.0f} s", may_come=True)
    return bytes(content)
