"""The lists of the provider: their paths, a body read to its end within a time, and both paginations as pages.

Here stand the paths that more than their stream asks for; any other stands in its stream's row in `sync/streams.py`.
"""

import codecs
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import httpx
import msgspec

from consumer.provider.errors import EndlessListError, ForeignLinkError, UnreadableError, to_date
from consumer.provider.fields import UNREADABLE, identity


@dataclass(frozen=True, slots=True)
class Path:
    """One way to reach a collection and the pagination it speaks there."""

    text: str
    cursor: bool

    @property
    def limit_name(self) -> str:
        return "limit" if self.cursor else "per_page"


@dataclass(frozen=True, slots=True)
class Collection:
    """A list of objects; an item's path is the list's path with `/id` behind it."""

    name: str
    paths: tuple[Path, ...]
    by_link: bool = False


def v1(path: str, *, cursor: bool = False) -> Path:
    return Path(f"/v1/{path}", cursor)


def v2(path: str) -> Path:
    return Path(f"/v2/{path}", cursor=True)


# Where two paths stand, the first is the specification's and the second what the provider's SDKs use; where the
# specification shows none, the second is the same list in the other generation.
EVENTS = Collection("events", (v2("events"),))
WEBHOOK_ENDPOINTS = Collection("webhook_endpoints", (v1("webhook_endpoints"),))
PAYMENT_INTENTS_V1 = Collection("payment_intents_v1", (v1("payment_intents"),))
PAYMENT_INTENTS_V2 = Collection("payment_intents_v2", (v2("payment_intents"),))
REFUNDS = Collection("refunds", (v1("refunds"), v2("refunds")))
DISPUTES = Collection("disputes", (v1("disputes"), v2("disputes")))
BILLING_INVOICES = Collection("billing_invoices", (v2("invoices"),))
PAYOUT_RESOURCES = Collection("payout_resources", (v1("payouts/{payout}/resources"), v2("payouts/{payout}/resources")))
ACCOUNTS = Collection("accounts", (v1("transfers/accounts"), v2("accounts")))
LINK_ACCOUNTS = Collection("link_accounts", (v1("accounts"),), by_link=True)


# The client's own limit is of each wait; who sends a byte at a time would stay within it for ever.
MOST_SECONDS = 90.0


class _Timed(httpx.SyncByteStream):
    """A body that raises when it has not ended in time."""

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
    """Return the body as UTF-8 without a byte-order mark; one that does not fit its character set stays as it came."""
    body, charset = response.content, response.charset_encoding
    if charset is not None and charset.lower() not in {"utf-8", "utf8", "us-ascii"}:
        try:
            body = body.decode(charset).encode()
        except (LookupError, UnicodeError):
            return body
    return body.removeprefix(codecs.BOM_UTF8)


PAGE_SIZE = 300
_HIDDEN = "link_token"  # a parameter whose value must not leave this module
_REL = re.compile(r"rel\s*=\s*\"?([^\";,]*)", re.IGNORECASE)
_UNCLOSED = re.compile(r"^(\S+?);?\s")
# A provider may send a page twice; a reader that is sent there again and again walks in a circle.
MOST_VISITS = 5
_PORTS = {"http": 80, "https": 443}


_RAWS = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of a list: its items as raw JSON, the provider's clock, and the cursor of the page behind it.

    A cursor is the part of the next address that differs from what was asked: "" is the first page, None the end.
    """

    items: tuple[bytes, ...]
    at: datetime | None
    next: str | None
    total: int | None
    body: bytes = b""


def to_page(response: httpx.Response, path: Path, *, asked: dict[str, str], cursor: str) -> Page:
    """Read one page; `asked` is the query without the cursor, so that the next cursor holds only what differs."""
    body = to_utf8(response)
    try:
        items = tuple(bytes(raw) for raw in _RAWS.decode(body))
    except UNREADABLE as error:
        raise UnreadableError(f"{path.text}: the provider's answer is not a JSON list", status=200) from error
    total = response.headers.get("X-Total-Count", "")
    count = int(total) if total.isdecimal() else None
    link = response.headers.get("Link")
    following = _cursor_of(link, response.request.url, asked) if link is not None else None
    if link is None:
        following = _cursor_without_link(items, path, asked=asked | dict(parse_qsl(cursor)), total=count)
    return Page(items=items, at=to_date(response.headers), next=following, total=count, body=body)


def next_url(link: str) -> str | None:
    """Find the address of `rel="next"`, also where an address holds commas or its bracket was never closed."""
    for segment in link.split("<")[1:]:
        address, closed, rest = segment.partition(">")
        if not closed:
            unclosed = _UNCLOSED.match(segment)
            address, rest = (unclosed.group(1), segment[unclosed.end() :]) if unclosed else (segment, "")
        rel = _REL.search(rest)
        if rel and "next" in rel.group(1).lower().split():
            return address.strip()
    return None


def _cursor_of(link: str, asked_url: httpx.URL, asked: dict[str, str]) -> str | None:
    address = next_url(link)
    if address is None:
        return None
    target = urlsplit(urljoin(str(asked_url), address))
    if _origin(target.scheme, target.hostname, target.port) != _origin(
        asked_url.scheme, asked_url.host, asked_url.port
    ):
        raise ForeignLinkError(f"{asked_url.path}: the next page is on another host and was not followed")
    return urlencode([(k, v) for k, v in parse_qsl(target.query) if k != _HIDDEN and asked.get(k) != v])


def _origin(scheme: str, host: str | None, port: int | None) -> tuple[str, str | None, int | None]:
    return scheme, host, port or _PORTS.get(scheme)


def _cursor_without_link(
    items: tuple[bytes, ...], path: Path, *, asked: dict[str, str], total: int | None
) -> str | None:
    """Return the next cursor where there is no `Link` header: the last id, or a page while the total is not reached."""
    size = int(asked[path.limit_name])
    if len(items) > size:
        return None  # a list that knows no pages was sent whole
    if path.cursor:
        last = identity(items[-1])[0] if len(items) >= size else None
        return urlencode({"starting_after": last}) if last else None
    page = int(asked.get("page", "1"))
    # The provider's pages may be shorter than the size that was asked for.
    more = 0 < page * len(items) < total if total is not None else len(items) >= size
    return urlencode({"page": page + 1}) if more else None


def is_numbered(cursor: str) -> bool:
    """Return True if a cursor counts pages: objects removed from a list while it is read then shift the rest unseen."""
    return any(name == "page" for name, _ in parse_qsl(cursor))


class Walk:
    """Raises when the pages of one list lead in a circle, by repeated cursors or repeated pages."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._visits: Counter[str | int] = Counter()

    def check_step(self, cursor: str) -> None:
        self._count(cursor)

    def check_page(self, page: Page) -> None:
        if page.items:
            self._count(hash(page.body))

    def _count(self, seen: str | int) -> None:
        self._visits[seen] += 1
        if self._visits[seen] > MOST_VISITS:
            raise EndlessListError(f"{self._name}: the pages lead in a circle")
