"""A window that turns out to be long is shared out among idle workers: where to cut, from how dense a page was."""

from datetime import datetime, timedelta
from itertools import pairwise

import msgspec

from consumer.facts.tables.sync import Window
from consumer.provider.paging import Page

# Below this many pages a share's own repeated read costs more than its company gains.
LONG_PAGES = 12
PAGES_A_SHARE = 4

Span = tuple[datetime, datetime]


class _Dated(msgspec.Struct):
    created_at: datetime | None = None


_DECODER = msgspec.json.Decoder(_Dated)


def to_shares(window: Window, page: Page, *, most: int) -> list[Span]:
    """Cut what is left behind a page into at most this many stretches, oldest first; the last one stays the window's.

    Nothing is cut where little is left, where nothing tells how dense the log is, or in a repeated read.
    """
    if window.since is None or window.pass_number > 1 or page.next is None or most <= 1 or not page.items:
        return []
    newest, oldest = _moment(page.items[0]), _moment(page.items[-1])
    if newest is None or oldest is None or not window.since < oldest < newest:
        return []
    left = oldest - window.since
    pages = left / (newest - oldest)
    if pages < LONG_PAGES:
        return []
    count = min(most, int(pages // PAGES_A_SHARE))
    step = timedelta(seconds=int(left.total_seconds()) // count)
    edges = [window.since + step * number for number in range(count)]
    return [*pairwise(edges), (edges[-1], window.until)]


def _moment(raw: bytes) -> datetime | None:
    try:
        at = _DECODER.decode(raw).created_at
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return at if at is not None and at.tzinfo is not None else None
