"""The event log read in windows of time until nothing is missing, whatever webhooks brought or lost."""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta

from consumer.config import Connection
from consumer.facts.clock import format_instant, utc_now
from consumer.facts.house import House
from consumer.facts.tables.sync import Window, WindowState
from consumer.inbox.record import Arrival, Verdict, record_all
from consumer.provider.client import Provider, Transport, is_cursor_gone, open_provider
from consumer.provider.errors import KeyRefused, ProviderError
from consumer.provider.paging import Page, Walk
from consumer.provider.routes import EVENTS
from consumer.sync.arrivals import to_arrivals
from consumer.sync.outcome import Outcome, StreamResult, StreamState
from consumer.sync.progress import OnPage, say_nothing, show_pages
from consumer.sync.sharing import to_shares
from consumer.sync.windows import (
    EVENTS_STREAM,
    advance,
    all_windows,
    complete_until,
    covered_until,
    record_checkpoint,
    record_windows,
    to_spans,
    unclosed_windows,
    worst_lateness,
)

WORKERS = 8
SHORTEST_WINDOW = timedelta(hours=6)
MOST_WINDOWS = 16
MOST_PASSES = 10
MOST_RESTARTS = 5
MOST_FRUITLESS = 3
# The provider does not say whether its bounds include the moment they name.
MARGIN = timedelta(seconds=1)
# An overlap of twice the worst lateness of a month leaves room for a worse one.
LATENESS_MEMORY = timedelta(days=30)
LATENESS_FACTOR = 2
_DOUBLINGS = 12
_NEW = Verdict.STORED
_GROWING = f"events kept appearing in {MOST_PASSES} reads"

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
        now = min(utc_now(), page.at or utc_now())
        return (now - timedelta(seconds=self._settings.settle_seconds)).replace(microsecond=0)

    def plan(self, since: datetime | None, until: datetime, *, asked: bool) -> list[Span]:
        """Decide which stretches this run asks for, beside those that earlier runs left open."""
        if not asked:
            with self._store.reading() as session:
                known = covered_until(all_windows(session, self.name, EVENTS_STREAM))
                self._frontier = complete_until(session, self.name, EVENTS_STREAM)
                late = worst_lateness(session, self.name, EVENTS_STREAM, since=utc_now() - LATENESS_MEMORY)
            overlap = max(timedelta(seconds=self._settings.overlap_seconds), late * LATENESS_FACTOR)
            since = None if known is None else known - overlap
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
        with self._store.reading() as session:
            arrivals = to_arrivals(session, page.items, connection=self._provider.connection, received_at=now)
        shares = to_shares(window, page, most=WORKERS + 1 - self._under_way)
        with self._writing, self._store.transaction() as session:
            verdicts = record_all(session.connection(), arrivals)
            added = sum(verdict is _NEW for verdict in verdicts)
            place = _next_place(window, page, added=added, now=now)
            place |= self._late_place(window, [a for a, v in zip(arrivals, verdicts, strict=True) if v is _NEW])
            if shares:
                place["since"] = shares[-1][0]
            # Where another run read the same page, its place holds and our events are its duplicates.
            is_ours = advance(session, window, **place)
            shared = record_windows(session, self.name, EVENTS_STREAM, shares[:-1], now=now) if is_ours else []
        self._submit(shared)
        current = self._load(window)
        with self._counting:
            self._added += added
            self._pages += 1
            self._failures = 0
            self._read_count += len(page.items)
            self._on_page(current, self._windows, self._added)
        return current

    def _late_place(self, window: Window, new: Sequence[Arrival]) -> dict[str, object]:
        """Note how late the list showed an event of a time that was complete when this run began."""
        dates = [arrival.created_at for arrival in new if arrival.created_at is not None]
        if self._frontier is None or not dates or min(dates) >= self._frontier:
            return {}
        late = int((self._frontier - min(dates)).total_seconds())
        return {"late_seconds": max(late, window.late_seconds or 0)}

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


def _next_place(window: Window, page: Page, *, added: int, now: datetime) -> dict[str, object]:
    """Say where a window stands after a page; it closes after a repeated read that added nothing."""
    added_in_pass = window.added_in_pass + added
    counted = len(page.items) if window.pass_number == 1 else added
    place: dict[str, object] = {"pages": window.pages + 1, "events": window.events + counted, "reason": None}
    if page.next is not None:
        return place | {"state": WindowState.OPEN, "cursor": page.next, "added_in_pass": added_in_pass}
    place |= {"cursor": None, "added_in_pass": 0}
    if window.pass_number > 1 and added_in_pass == 0:
        return place | {"state": WindowState.CLOSED, "closed_at": now}
    if window.pass_number >= MOST_PASSES:
        return place | {"state": WindowState.FAILED, "pass_number": 1, "reason": _GROWING}
    return place | {"state": WindowState.OPEN, "pass_number": window.pass_number + 1}
