"""One window of the event log, read a page and a transaction at a time until a repeated read adds nothing."""

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from hashlib import sha256

import sqlalchemy as sa

from consumer.facts.clock import format_instant, utc_now
from consumer.facts.store import Store
from consumer.facts.tables.sync import Window, WindowState
from consumer.inbox.record import Verdict, record_all
from consumer.provider.client import Provider, is_cursor_gone
from consumer.provider.errors import KeyRefused, ProviderError
from consumer.provider.paging import Page, Walk
from consumer.provider.routes import EVENTS
from consumer.sync.arrivals import to_arrivals
from consumer.sync.counts import Counts
from consumer.sync.lateness import Sightings
from consumer.sync.sharing import Span, to_shares
from consumer.sync.windows import EVENTS_STREAM, advance, next_place, record_windows

MOST_RESTARTS = 5
MOST_FRUITLESS = 3
# The provider does not say whether its bounds include the moment they name.
MARGIN = timedelta(seconds=1)
_NEW = Verdict.STORED


class WindowReader:
    """Reads windows of one connection's log for any number of threads; parts of a long one go to idle ones."""

    def __init__(
        self,
        store: Store,
        provider: Provider,
        *,
        workers: int,
        counts: Counts,
        sightings: Sightings,
        submit: Callable[[Sequence[Window]], None],
    ) -> None:
        self.stopped = threading.Event()
        self._store = store
        self._provider = provider
        self._workers = workers
        self._counts = counts
        self._sightings = sightings
        self._submit = submit
        self._stored: dict[int | None, set[bytes]] = {}
        # SQLite has one writer; threads that queue here wake faster than its own busy loop.
        self._writing: AbstractContextManager[object] = threading.Lock() if store.is_sqlite else nullcontext()

    def read(self, window: Window) -> None:
        try:
            self._read_while_pages_come(window)
        finally:
            self._counts.end()

    def _read_while_pages_come(self, window: Window) -> None:
        """Read one window until it closes or fails; in a storm it tries again while pages still come."""
        fruitless = 0
        while not self.stopped.is_set():
            own = window.pages
            try:
                self._read_until_closed(window)
            except ProviderError as error:
                window = self._load(window)
                fruitless = 0 if window.pages > own else fruitless + 1
                is_alive = self._counts.note_failure() < self._workers
                if error.retryable and fruitless < MOST_FRUITLESS and is_alive:
                    continue
                self._fail(window, error)
            return

    def _read_until_closed(self, window: Window) -> None:
        window, walk, restarts = self._load(window), Walk(EVENTS.name), 0
        while window.state != WindowState.CLOSED and not self.stopped.is_set():
            walk.check_step(window.cursor or "")
            try:
                page = self._provider.page(EVENTS, query=_to_query(window), cursor=window.cursor or "")
            except ProviderError as error:
                restarts += 1
                if not (is_cursor_gone(error) and window.cursor) or restarts > MOST_RESTARTS:
                    raise
                self._save(window, cursor=None)
                window, walk = self._load(window), Walk(EVENTS.name)
                continue
            walk.check_page(page)
            was_pass = window.pass_number
            window = self._keep(window, page)
            if window.state == WindowState.FAILED:
                return
            walk = walk if window.pass_number == was_pass else Walk(EVENTS.name)

    def _keep(self, window: Window, page: Page) -> Window:
        """Store one page's events and the window's new place together, and return the window as it then is."""
        now = utc_now()
        mark = sha256(page.body).digest()
        stored = self._stored.setdefault(window.id, set())
        # What this run has stored is not read again to find that it is known.
        items = () if mark in stored else page.items
        arrivals = to_arrivals(items, connection=self._provider.connection, received_at=now)
        shares = to_shares(window, page, most=self._workers + 1 - self._counts.under_way)
        with self._writing, self._store.connection() as connection:
            verdicts = record_all(connection, arrivals)
            added = sum(verdict is _NEW for verdict in verdicts)
            place = next_place(window, page, added=added, now=now)
            self._sightings.note(connection, list(zip(arrivals, verdicts, strict=True)), now=now)
            if shares:
                place["since"] = shares[-1][0]
            # Where another run read the same page, its place holds and our events are its duplicates.
            is_ours = advance(connection, window, **place)
            shared = self._record_shares(connection, window, shares[:-1]) if is_ours else []
        stored.add(mark)
        if shared:
            self._submit(shared)
        current = _moved(window, place) if is_ours else self._load(window)
        if current.state == WindowState.CLOSED:
            self._stored.pop(window.id, None)
        self._counts.note_page(current, page, added=added)
        return current

    def _record_shares(self, connection: sa.Connection, window: Window, shares: Sequence[Span]) -> list[Window]:
        # Parts of a window belong to its reading, whenever they are cut.
        name = self._provider.connection.name
        return record_windows(connection, name, EVENTS_STREAM, shares, opened_at=window.opened_at)

    def _fail(self, window: Window, error: ProviderError) -> None:
        self._save(window, state=WindowState.FAILED, reason=str(error))
        if isinstance(error, KeyRefused):
            self.stopped.set()

    def _save(self, window: Window, **changes: object) -> None:
        with self._writing, self._store.transaction() as session:
            advance(session, window, **changes)

    def _load(self, window: Window) -> Window:
        with self._store.reading() as session:
            return session.get_one(Window, window.id)


def _moved(window: Window, place: dict[str, object]) -> Window:
    for name, value in place.items():
        setattr(window, name, value)
    return window


def _to_query(window: Window) -> dict[str, str]:
    query: dict[str, datetime] = {"until": window.until + MARGIN}
    if window.since is not None:
        query["since"] = window.since - MARGIN
    return {name: format_instant(moment) for name, moment in query.items()}
