"""The provider over HTTP: one client that waits its turn, retries what may help, and never shows a secret."""

import hashlib
import logging
import secrets
import ssl
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import TracebackType
from typing import Generic, Self, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

import httpx
import msgspec
from pydantic import SecretStr

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.meaning import JsonObject
from consumer.facts.settings import Connection, Settings
from consumer.provider.budget import Budget
from consumer.provider.errors import (
    MissingError,
    ProviderError,
    RefusedError,
    UnreachableError,
    UnreadableError,
    to_date,
    to_error,
)
from consumer.provider.fields import UNREADABLE
from consumer.provider.paging import PAGE_SIZE, Collection, Page, Path, Walk, read_in_time, to_page, to_utf8

USER_AGENT = "cuadre/0.1"
RETRIES = 5
# A provider that asks for a longer pause is better asked again by the next run.
LONGEST_PAUSE = 120.0
TIMEOUT = httpx.Timeout(connect=10.0, read=30.0, write=10.0, pool=5.0)
_LIMITS = httpx.Limits(max_connections=64, max_keepalive_connections=32)
_FIRST_ERROR = 300
_ABOUT_THE_REQUEST = {400, 404, 410, 422}

_NO_IDS: Mapping[str, str] = {}

# What carries requests: tests put another one in.
Transport = httpx.BaseTransport
Query = Mapping[str, str | list[str]]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Answer(Generic[Result]):
    """The answer to a call about one object: the object, its exact bytes, and the provider's clock."""

    value: Result
    body: bytes
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that goes out as a form."""

    name: str
    content: bytes
    media: str


@dataclass(frozen=True, slots=True)
class _Call:
    method: str
    path: str
    query: Query
    link: SecretStr | None = None
    body: Mapping[str, object] | None = None
    idempotency_key: str | None = None
    file: Upload | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def is_repeatable(self) -> bool:
        return self.method in {"GET", "DELETE"} or self.idempotency_key is not None


@cache
def load_certificates() -> ssl.SSLContext:
    """Return what addresses are checked against: loaded once, since that takes 20 ms of the processor."""
    return httpx.create_ssl_context()


class Provider:
    """The API of one connection. Safe for many threads; use it as a context manager."""

    def __init__(
        self,
        connection: Connection,
        settings: Settings,
        budget: Budget,
        *,
        transport: Transport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        headers = {"Authorization": connection.api_key.get_secret_value(), "User-Agent": USER_AGENT}
        if connection.api_version:
            headers[f"{settings.header_prefix}-Version"] = connection.api_version
        # Both libraries log whole addresses, and some carry a link token.
        for name in ("httpx", "httpcore"):
            logging.getLogger(name).setLevel(logging.WARNING)
        self.connection = connection
        self.transport = transport
        self._origin = connection.provider_url
        self._budget = budget
        self._address = _to_address(connection.provider_url)
        self._sleep = sleep
        self._tell = tell
        # The provider's moment of the last list that was read.
        self.heard_at: datetime | None = None
        self._has_answered = False
        self._generations: dict[tuple[str, bool], Path] = {}
        self._http = httpx.Client(
            headers=headers, timeout=TIMEOUT, limits=_LIMITS, transport=transport, follow_redirects=False,
            verify=load_certificates(),
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.close()
        self._budget.close()

    def __repr__(self) -> str:
        return f"Provider({self.connection.name!r})"

    def turn(self) -> AbstractContextManager[None]:
        """Wait for one request's turn in the shared budget, for what is fetched outside the API."""
        return self._budget.spend()

    def get(
        self, collection: Collection, item: str, *, ids: Mapping[str, str] = _NO_IDS, link: SecretStr | None = None
    ) -> Answer[JsonObject]:
        """Fetch one object."""
        return self._on_its_path(
            collection, lambda path: self._object(_Call("GET", _fill(path, ids, item), {}, link)), is_list=False
        )

    def page(
        self,
        collection: Collection,
        *,
        ids: Mapping[str, str] = _NO_IDS,
        query: Query | None = None,
        cursor: str = "",
        size: int = PAGE_SIZE,
        link: SecretStr | None = None,
    ) -> Page:
        """Fetch one page of a list: the first, or the one a cursor names."""

        def fetch(path: Path) -> Page:
            asked = {path.limit_name: str(size), **(query or {})}
            plain = {name: value for name, value in asked.items() if isinstance(value, str)}
            call = _Call("GET", _fill(path, ids), asked | dict(parse_qsl(cursor)), link)
            return self._repeat(call, lambda response: to_page(response, path, asked=plain, cursor=cursor))

        page = self._on_its_path(collection, fetch, is_list=True)
        self.heard_at = page.at or self.heard_at
        return page

    def pages(
        self,
        collection: Collection,
        *,
        ids: Mapping[str, str] = _NO_IDS,
        query: Query | None = None,
        cursor: str = "",
        size: int = PAGE_SIZE,
        link: SecretStr | None = None,
    ) -> Iterator[Page]:
        """Yield the pages of a list to its end, in either pagination; an empty page with a next one goes on."""
        walk = Walk(collection.name)
        following: str | None = cursor
        while following is not None:
            walk.check_step(following)
            page = self.page(collection, query=query, cursor=following, size=size, link=link, ids=ids)
            walk.check_page(page)
            yield page
            following = page.next

    def create(
        self,
        collection: Collection,
        body: Mapping[str, object],
        *,
        idempotency_key: str,
        action: str | None = None,
        file: Upload | None = None,
    ) -> Answer[JsonObject]:
        """Post a new object, a file, or an action such as `<id>/cancel`; the key makes asking again safe."""
        path = _fill(collection.paths[0], {}) + (f"/{action}" if action else "")
        return self._object(_Call("POST", path, {}, body=body, idempotency_key=idempotency_key, file=file))

    def update(self, collection: Collection, item: str, body: Mapping[str, object]) -> Answer[JsonObject]:
        return self._object(_Call("PATCH", _fill(collection.paths[0], {}, item), {}, body=body))

    def delete(self, collection: Collection, item: str) -> None:
        """Delete an object; one that is gone is what was wanted, as after a try whose answer was lost."""
        with suppress(MissingError):
            self._repeat(_Call("DELETE", _fill(collection.paths[0], {}, item), {}), lambda _response: None)

    def _object(self, call: _Call) -> Answer[JsonObject]:
        return self._repeat(call, lambda response: _to_object(call, response))

    def _on_its_path(self, collection: Collection, fetch: Callable[[Path], Result], *, is_list: bool) -> Result:
        """Use the generation of the path that this provider answers, once found; lists and objects may differ in it."""
        key = (collection.name, is_list)
        known = self._generations.get(key)
        if known is not None or len(collection.paths) == 1:
            return fetch(known or collection.paths[0])
        refused: MissingError | None = None
        for path in collection.paths:
            try:
                found = fetch(path)
            except MissingError as error:
                refused = refused or error
            else:
                self._generations[key] = path
                return found
        raise refused or AssertionError(collection)

    def _repeat(self, call: _Call, read: Callable[[httpx.Response], Result]) -> Result:
        for attempt in range(RETRIES):
            try:
                return self._once(call, read)
            except ProviderError as error:
                pause = max(2**attempt + secrets.randbelow(1000) / 1000, error.retry_after or 0.0)
                if not (error.retryable and call.is_repeatable) or pause > LONGEST_PAUSE or self._is_closed(error):
                    raise
                if self._tell is not None:
                    self._tell(f"{error}; asking again in {pause:.0f} s")
            self._sleep(pause)
        return self._once(call, read)

    def _is_closed(self, error: ProviderError) -> bool:
        """Return True if an address that has never answered refuses connections: a wrong setting, not an outage."""
        return isinstance(error, UnreachableError) and error.is_closed and not self._has_answered

    def _once(self, call: _Call, read: Callable[[httpx.Response], Result]) -> Result:
        query = dict(call.query)
        if call.link is not None:
            query["link_token"] = call.link.get_secret_value()
        headers = {"Idempotency-Key": call.idempotency_key} if call.idempotency_key else {}
        content = None if call.body is None or call.file is not None else msgspec.json.encode(dict(call.body))
        if content is not None:
            headers["Content-Type"] = "application/json"
        files = None
        if call.file is not None:
            # A repeat under the same key must be the same bytes.
            boundary = hashlib.sha256(str(call.idempotency_key).encode()).hexdigest()
            headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"
            files = {"file": (call.file.name, call.file.content, call.file.media)}
        request = self._http.build_request(
            call.method, self._origin + call.path, params=query, headers=headers, content=content, files=files
        )
        try:
            # The budget's turn ends with the head of the answer: by then the provider has counted the request.
            with self._budget.spend():
                response = self._http.send(request, stream=True)
            read_in_time(response)
        except (httpx.TransportError, httpx.DecodingError) as error:
            # The library's error holds the request and with it the key; only its kind goes on.
            message = f"{call}: no answer from {self._address} ({type(error).__name__})"
            raise UnreachableError(message, is_closed=isinstance(error, httpx.ConnectError)) from None
        self._has_answered = True
        if response.status_code >= _FIRST_ERROR:
            raise to_error(str(call), response, now=utc_now())
        return read(response)


def open_provider(
    installation: Installation, connection: Connection, *, transport: Transport | None = None
) -> Provider:
    """Build the client of one connection on the installation's shared budget."""
    budget = Budget(installation.store, installation.settings.rate_limit)
    # A person at a terminal sees each pause; a log gets one line, when all tries have failed.
    tell = _tell if sys.stderr.isatty() else None
    return Provider(connection, installation.settings, budget, transport=transport, tell=tell)


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def is_cursor_gone(error: ProviderError) -> bool:
    """Return True if a page may have been refused because what its cursor names is gone: ask for the first one then.

    The form of such a refusal is not documented; one about something else meets the first page as well.
    """
    return isinstance(error, RefusedError) and error.status in _ABOUT_THE_REQUEST


def _to_address(url: str) -> str:
    """Return the address without the password that it may hold."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _fill(path: Path, ids: Mapping[str, str], item: str | None = None) -> str:
    text = path.text.format_map({name: quote(value, safe="") for name, value in ids.items()})
    return text if item is None else f"{text}/{quote(item, safe='')}"


def _to_object(call: _Call, response: httpx.Response) -> Answer[JsonObject]:
    try:
        body = to_utf8(response)
        value = msgspec.json.decode(body, type=JsonObject)
    except UNREADABLE as error:
        raise UnreadableError(
            f"{call}: the provider's answer is not a JSON object", status=response.status_code
        ) from error
    return Answer(value=value, body=body, at=to_date(response.headers))
