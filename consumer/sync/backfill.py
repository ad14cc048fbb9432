"""The event log read in windows of time until nothing is missing, whatever webhooks brought or lost."""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta
from hashlib import sha256

import sqlalchemy as sa

from consumer.config import Connection
from consumer.facts.clock import format_instant, utc_now
from consumer.facts.completeness import complete_until
from consumer.facts.house import House
from consumer.facts.tables.sync import Window, WindowState
from consumer.inbox.record import Arrival, Verdict, is_listing_marked, mark_listed, record_all
from consumer.provider.client import Provider, Transport, is_cursor_gone, open_provider
from consumer.provider.errors import KeyRefused, ProviderError
from consumer.provider.paging import Page, Walk
from consumer.provider.routes import EVENTS
from consumer.sync import lateness
from consumer.sync.arrivals import to_arrivals
from consumer.sync.outcome import Outcome, StreamResult, StreamState
from consumer.sync.progress import OnPage, say_nothing, show_pages
from consumer.sync.sharing import to_shares
from consumer.sync.windows import (
    EVENTS_STREAM,
    advance,
    all_windows,
    covered_until,
    next_place,
    record_checkpoint,
    record_windows,
    to_spans,
    unclosed_windows,
)

WORKERS = 8
SHORTEST_WINDOW = timedelta(hours=6)
MOST_WINDOWS = 16
MOST_RESTARTS = 5
MOST_FRUITLESS = 3
# The provider does not say whether its bounds include the moment they name.
MARGIN = timedelta(seconds=1)
# Webhooks that come by a clock further from the provider's are no measure of lateness.
MOST_SKEW = timedelta(minutes=1)
_DOUBLINGS = 12
_NEW = Verdict.STORED

Span = tuple[datetime | None, datetime]


def backfill(
    house: House,
    connection: Connection,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    transport: Transport | None = None,
    progress: bool = False,
) -> Outcome:
    """Close every gap of one connection's event log; with `progress`, show how far it is on a terminal."""
    with open_provider(house, connection, transport=transport) as provider, show_pages(wanted=progress) as on_page:
        return read_log(house, provider, since=since, until=until, on_page=on_page)


def read_log(
    house: House,
    provider: Provider,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    on_page: OnPage = say_nothing,
) -> Outcome:
    """Read the log until every window is closed or has failed.

    1. Ask the provider for its clock; without an answer nothing is done.
    2. Write down the windows of this run; those left open by earlier runs join them.
    3. Read all windows side by side, a page and its cursor in one transaction.
    4. Close a window when a repeated read added nothing; a window that fails stays with its reason.
    """
    reader = _Reader(house, provider, on_page)
    try:
        horizon = reader.find_horizon()
        spans = reader.plan(since, min(until or horizon, horizon), asked=since is not None or until is not None)
    except ProviderError as error:
        failed = StreamResult(reader.name, EVENTS_STREAM, StreamState.INCOMPLETE, reason=str(error))
        return Outcome([failed], started=False)
    return Outcome([reader.read_all(spans)])


class _Reader:
    """One run over one connection's log."""

    def __init__(self, house: House, provider: Provider, on_page: OnPage) -> None:
        self.name = provider.connection.name
        self._store = house.store
        self._settings = house.settings
        self._provider = provider
        self._on_page = on_page
        self._windows = 0
        self._pages = 0
        self._failures = 0
        self._read_count = 0
        self._added = 0
        self._frontier: datetime | None = None
        self._is_marked = False
        self._skew = timedelta()
        self._stored: dict[int | None, set[bytes]] = {}
        self._under_way = 0
        self._reads: deque[Future[None]] = deque()
        self._pool = ThreadPoolExecutor(max_workers=WORKERS)
        self._stopped = threading.Event()
        self._counting = threading.Lock()
        # SQLite has one writer; threads that queue here wake faster than its own busy loop.
        self._writing: AbstractContextManager[object] = threading.Lock() if self._store.is_sqlite else nullcontext()

    def find_horizon(self) -> datetime:
        """Find the newest moment whose events have settled, by our clock or the provider's, whichever is behind."""
        page = self._provider.page(EVENTS, size=1)
        ours = utc_now()
        self._skew = abs(ours - page.at) if page.at else timedelta.max
        now = min(ours, page.at or ours)
        return (now - timedelta(seconds=self._settings.settle_seconds)).replace(microsecond=0)

    def plan(self, since: datetime | None, until: datetime, *, asked: bool) -> list[Span]:
        """Decide which stretches this run asks for, beside those that earlier runs left open."""
        if not asked:
            with self._store.reading() as session:
                known = covered_until(all_windows(session, self.name, EVENTS_STREAM))
                self._frontier = complete_until(session, self.name, EVENTS_STREAM)
                self._is_marked = is_listing_marked(session.connection(), self.name)
                floor = timedelta(seconds=self._settings.overlap_seconds)
                again = lateness.overlap(session, self.name, floor=floor, now=utc_now())
            since = None if known is None else known - again
        if since is not None:
            return list(to_spans(since, until, shortest=SHORTEST_WINDOW, most=MOST_WINDOWS))
        start = self._find_log_start(until)
        return [(None, start), *to_spans(start, until, shortest=SHORTEST_WINDOW, most=MOST_WINDOWS)]

    def _find_log_start(self, until: datetime) -> datetime:
        """Step back in doubling strides until the log has nothing older; what lies before is asked all the same."""
        start = until
        for doubling in range(_DOUBLINGS):
            start = until - timedelta(days=2**doubling)
            older = self._provider.pages(EVENTS, query={"until": format_instant(start)}, size=1)
            if not any(page.items for page in older):
                break
        return start

    def read_all(self, spans: list[Span]) -> StreamResult:
        with self._store.transaction() as session:
            left = unclosed_windows(session, self.name, EVENTS_STREAM)
            windows = [*record_windows(session, self.name, EVENTS_STREAM, spans, now=utc_now()), *left]
        with self._pool:
            self._submit(windows)
            try:
                while self._reads:  # a read that shares its window out adds to them before it ends
                    self._reads.popleft().result()
            finally:
                # Whatever ends the run early, a keystroke too, the other windows stop at their next page.
                self._stopped.set()
        return self._conclude()

    def _submit(self, windows: Sequence[Window]) -> None:
        with self._counting:
            self._windows += len(windows)
            self._under_way += len(windows)
            self._reads.extend(self._pool.submit(self._read, window) for window in windows)

    def _conclude(self) -> StreamResult:
        with self._store.transaction() as session:
            gaps = unclosed_windows(session, self.name, EVENTS_STREAM)
            if self._skew <= MOST_SKEW:
                lateness.measure_webhooks(session.connection(), self.name, now=utc_now())
            record_checkpoint(session, self.name, EVENTS_STREAM, now=utc_now(), objects=self._read_count)
        reasons = "; ".join(dict.fromkeys(gap.reason or "not read to its end" for gap in gaps))
        return StreamResult(
            self.name,
            EVENTS_STREAM,
            StreamState.INCOMPLETE if gaps else StreamState.COMPLETE,
            pages=self._pages,
            read=self._read_count,
            changed=self._added,
            reason=f"{len(gaps)} windows stay open: {reasons}" if gaps else None,
        )

    def _read(self, window: Window) -> None:
        try:
            self._read_while_pages_come(window)
        finally:
            with self._counting:
                self._under_way -= 1

    def _read_while_pages_come(self, window: Window) -> None:
        """Read one window until it closes or fails; in a storm it tries again while pages still come."""
        fruitless = 0
        while not self._stopped.is_set():
            own = window.pages
            try:
                self._read_until_closed(window)
            except ProviderError as error:
                window = self._load(window)
                fruitless = 0 if window.pages > own else fruitless + 1
                with self._counting:
                    self._failures += 1
                    is_alive = self._failures < WORKERS
                if error.retryable and fruitless < MOST_FRUITLESS and is_alive:
                    continue
                self._fail(window, error)
            return

    def _read_until_closed(self, window: Window) -> None:
        window, walk, restarts = self._load(window), Walk(EVENTS.name), 0
        while window.state != WindowState.CLOSED and not self._stopped.is_set():
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
            was_pass = window.pass_number
            window = self._keep(window, page)
            if window.state == WindowState.FAILED:
                return
            walk = walk if window.pass_number == was_pass else Walk(EVENTS.name)

    def _keep(self, window: Window, page: Page) -> Window:
        """Store one page's events and the window's new place together, and return the window as it then is."""
        now = utc_now()
        mark = sha256(b"\0".join(page.items)).digest()
        stored = self._stored.setdefault(window.id, set())
        # What this run has stored is not read again to find that it is known.
        items = () if mark in stored else page.items
        arrivals = to_arrivals(items, connection=self._provider.connection, received_at=now)
        shares = to_shares(window, page, most=WORKERS + 1 - self._under_way)
        with self._writing, self._store.connection() as connection:
            verdicts = record_all(connection, arrivals)
            added = sum(verdict is _NEW for verdict in verdicts)
            place = next_place(window, page, added=added, now=now)
            self._measure(connection, list(zip(arrivals, verdicts, strict=True)), now)
            if shares:
                place["since"] = shares[-1][0]
            # Where another run read the same page, its place holds and our events are its duplicates.
            is_ours = advance(connection, window, **place)
            shared = record_windows(connection, self.name, EVENTS_STREAM, shares[:-1], now=now) if is_ours else []
        stored.add(mark)
        self._submit(shared)
        if is_ours:
            for name, value in place.items():
                setattr(window, name, value)
        current = window if is_ours else self._load(window)
        if current.state == WindowState.CLOSED:
            self._stored.pop(window.id, None)
        with self._counting:
            self._added += added
            self._pages += 1
            self._failures = 0
            self._read_count += len(page.items)
            self._on_page(current, self._windows, self._added)
        return current

    def _measure(self, connection: sa.Connection, judged: Sequence[tuple[Arrival, Verdict]], now: datetime) -> None:
        """Note how late the list showed events for the first time, behind what was complete when this run began."""
        shown = [arrival for arrival, verdict in judged if verdict is _NEW]
        others = [arrival for arrival, verdict in judged if verdict is not _NEW]
        first = mark_listed(connection, others)
        if self._frontier is None:
            return
        if self._is_marked:  # before marks were kept, an event may have been listed long ago
            shown += [arrival for arrival in others if arrival.key in first]
        dates = [arrival.created_at for arrival in shown if arrival.created_at is not None]
        late = [max(0, int((self._frontier - at).total_seconds())) for at in dates]
        lateness.record_list_lateness(connection, self.name, late, on=now.date())

    def _fail(self, window: Window, error: ProviderError) -> None:
        self._save(window, state=WindowState.FAILED, reason=str(error))
        if isinstance(error, KeyRefused):
            self._stopped.set()

    def _save(self, window: Window, **changes: object) -> None:
        with self._writing, self._store.transaction() as session:
            advance(session, window, **changes)

    def _load(self, window: Window) -> Window:
        with self._store.reading() as session:
            return session.get_one(Window, window.id)


def _to_query(window: Window) -> dict[str, str]:
    query = {"until": format_instant(window.until + MARGIN)}
    if window.since is not None:
        query["since"] = format_instant(window.since - MARGIN)
    return query
