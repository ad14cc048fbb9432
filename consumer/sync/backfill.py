"""The event log read in windows of time until no event is missing, those that webhooks lost among them."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256

import sqlalchemy as sa

from consumer.facts.clock import format_instant, utc_now
from consumer.facts.completeness import BEGINNING, complete_until
from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Source
from consumer.facts.tables.sync import Window, WindowState
from consumer.inbox.record import Arrival, UnusableEventError, Verdict, is_listing_marked, read_arrival, record_all
from consumer.provider.client import Provider, is_cursor_gone, open_provider
from consumer.provider.errors import KeyRefusedError, ProviderError, UnreadableError
from consumer.provider.paging import EVENTS, Page, Walk
from consumer.sync import lateness
from consumer.sync.lateness import Sightings
from consumer.sync.outcomes import OnPage, Outcome, StreamResult, StreamState, say_nothing
from consumer.sync.windows import (
    EVENTS_STREAM,
    MOST_RESTARTS,
    Plan,
    Span,
    advance,
    all_windows,
    next_place,
    plan_news,
    plan_range,
    record_checkpoint,
    record_windows,
    to_shares,
    to_spans,
    unclosed_windows,
)

WORKERS = 8
SHORTEST_WINDOW = timedelta(hours=6)
MOST_WINDOWS = 16
# Webhooks that come by a clock further from the provider's are no measure of lateness.
MOST_SKEW = timedelta(minutes=1)
# Lateness that was never met cannot be measured, so a night reads the log again as far back as it compares objects.
A_NIGHT_BACK = timedelta(days=7)
_DOUBLINGS = 12
MOST_FRUITLESS = 3
# The provider does not say whether its bounds include the moment they name.
MARGIN = timedelta(seconds=1)
_NEW = Verdict.STORED


@dataclass(slots=True)
class _Counts:
    """`under_way` windows of all `windows` are not read to their end; `failures` are those since the last good page."""

    on_page: OnPage = say_nothing
    windows: int = 0
    under_way: int = 0
    pages: int = 0
    read: int = 0
    added: int = 0
    failures: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, windows: int) -> None:
        with self._lock:
            self.windows += windows
            self.under_way += windows

    def end(self) -> None:
        with self._lock:
            self.under_way -= 1

    def note_page(self, window: Window, page: Page, *, added: int) -> None:
        with self._lock:
            self.pages += 1
            self.read += len(page.items)
            self.added += added
            self.failures = 0
            self.on_page(window, self.windows, self.added)

    def note_failure(self) -> int:
        """Count one more failure and return how many came in a row."""
        with self._lock:
            self.failures += 1
            return self.failures


class _WindowReader:
    """Reads windows of one connection's log for any number of threads; parts of a long one go to idle ones."""

    def __init__(
        self,
        store: Store,
        provider: Provider,
        *,
        workers: int,
        counts: _Counts,
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
                fruitless = 0 if window.pages > own else fruitless + 1
                is_alive = self._counts.note_failure() < self._workers
                if error.retryable and fruitless < MOST_FRUITLESS and is_alive:
                    continue
                self._fail(window, error)
            return

    def _read_until_closed(self, window: Window) -> None:
        walk, restarts = Walk(EVENTS.name), 0
        while window.state != WindowState.CLOSED and not self.stopped.is_set():
            walk.check_step(window.cursor or "")
            try:
                page = self._provider.page(EVENTS, query=_to_query(window), cursor=window.cursor or "")
            except ProviderError as error:
                restarts += 1
                if not (is_cursor_gone(error) and window.cursor) or restarts > MOST_RESTARTS:
                    raise
                self._save(window, cursor=None)
                walk = Walk(EVENTS.name)
                continue
            walk.check_page(page)
            was_pass = window.pass_number
            self._keep(window, page)
            if window.state == WindowState.FAILED:
                return
            walk = walk if window.pass_number == was_pass else Walk(EVENTS.name)

    def _keep(self, window: Window, page: Page) -> None:
        """Store one page's events and the window's new place together."""
        now = utc_now()
        mark = sha256(page.body).digest()
        stored = self._stored.setdefault(window.id, set())
        # What this run has stored is not read again to find that it is known.
        items = () if mark in stored else page.items
        arrivals = _to_arrivals(items, connection=self._provider.connection, received_at=now)
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
        if window.state == WindowState.CLOSED:
            self._stored.pop(window.id, None)
        self._counts.note_page(window, page, added=added)

    def _record_shares(self, connection: sa.Connection, window: Window, shares: Sequence[Span]) -> list[Window]:
        # Parts of a window belong to its reading, whenever they are cut.
        name = self._provider.connection.name
        return record_windows(connection, name, EVENTS_STREAM, shares, opened_at=window.opened_at)

    def _fail(self, window: Window, error: ProviderError) -> None:
        self._save(window, state=WindowState.FAILED, reason=str(error))
        if isinstance(error, KeyRefusedError):
            self.stopped.set()

    def _save(self, window: Window, **changes: object) -> None:
        with self._writing, self._store.transaction() as session:
            advance(session, window, **changes)


def _to_query(window: Window) -> dict[str, str]:
    query: dict[str, datetime] = {"until": window.until + MARGIN}
    if window.since is not None:
        query["since"] = window.since - MARGIN
    return {name: format_instant(moment) for name, moment in query.items()}


def _to_arrivals(items: Sequence[bytes], *, connection: Connection, received_at: datetime) -> list[Arrival]:
    """Read a page; an item without a usable id is an error, since it could never be kept once."""
    try:
        return [
            read_arrival(raw, connection=connection, source=Source.BACKFILL, received_at=received_at) for raw in items
        ]
    except UnusableEventError as error:
        raise UnreadableError(f"events: the list holds an event that cannot be kept: {error}") from error


class _Run:
    """One run over one connection's log."""

    def __init__(self, installation: Installation, provider: Provider, on_page: OnPage) -> None:
        self.name = provider.connection.name
        self._store = installation.store
        self._settings = installation.settings
        self._provider = provider
        self._counts = _Counts(on_page)
        self._skew = timedelta()
        self._asked: set[int | None] = set()
        self._reads: deque[Future[None]] = deque()
        self._pool = ThreadPoolExecutor(max_workers=WORKERS)

    def find_horizon(self) -> datetime:
        """Return the newest moment whose events have settled, by the earlier of our clock and the provider's."""
        page = self._provider.page(EVENTS, size=1)
        ours = utc_now()
        self._skew = abs(ours - page.at) if page.at else timedelta.max
        now = min(ours, page.at or ours)
        return (now - timedelta(seconds=self._settings.settle_seconds)).replace(microsecond=0)

    def plan(self, since: datetime | None, until: datetime, *, asked: bool, back: timedelta) -> tuple[Plan, Sightings]:
        """Decide which stretches this run asks for in addition to those that earlier runs left open.

        A run whose range is given measures no lateness.
        """
        now = utc_now()
        with self._store.reading() as session:
            windows = all_windows(session, self.name, EVENTS_STREAM)
            if asked:
                return plan_range(windows, since, until, now=now), Sightings(self.name, None, is_marked=False)
            floor = timedelta(seconds=self._settings.overlap_seconds)
            overlap = lateness.overlap(session, self.name, floor=floor, now=now)
            plan = plan_news(windows, until, overlap=overlap, back=back, now=now)
            frontier = None if plan.below else complete_until(session, self.name, EVENTS_STREAM)
            is_marked = is_listing_marked(session.connection(), self.name)
        return plan, Sightings(self.name, frontier, is_marked=is_marked)

    def split(self, spans: Sequence[Span]) -> list[tuple[datetime | None, datetime]]:
        """Cut stretches into windows; the one that begins with the log is cut from its oldest event on."""
        windows: list[tuple[datetime | None, datetime]] = []
        for first, last in spans:
            start = self._find_log_start(last) if first == BEGINNING else first
            windows += [(None, start)] if first == BEGINNING else []
            windows += to_spans(start, last, shortest=SHORTEST_WINDOW, most=MOST_WINDOWS)
        return windows

    def _find_log_start(self, until: datetime) -> datetime:
        """Step back in doubling strides until the log has no older event; what lies before is asked all the same."""
        start = until
        for doubling in range(_DOUBLINGS):
            start = until - timedelta(days=2**doubling)
            older = self._provider.pages(EVENTS, query={"until": format_instant(start)}, size=1)
            if not any(page.items for page in older):
                break
        return start

    def read_all(
        self, spans: Iterable[tuple[datetime | None, datetime]], sightings: Sightings, *, reading: datetime | None
    ) -> StreamResult:
        with self._store.transaction() as session:
            left = unclosed_windows(session, self.name, EVENTS_STREAM)
            new = record_windows(session, self.name, EVENTS_STREAM, spans, opened_at=reading or utc_now())
            windows = [*new, *left]
        reader = _WindowReader(
            self._store,
            self._provider,
            workers=WORKERS,
            counts=self._counts,
            sightings=sightings,
            submit=lambda some: self._submit(reader, some),
        )
        with self._pool:
            self._submit(reader, windows)
            try:
                while self._reads:  # a read that shares its window out adds to them before it ends
                    self._reads.popleft().result()
            finally:
                # Where the run ends early, by a keystroke too, the other windows stop at their next page.
                reader.stopped.set()
        return self._conclude(reading)

    def _submit(self, reader: _WindowReader, windows: Sequence[Window]) -> None:
        self._counts.begin(len(windows))
        self._asked |= {window.id for window in windows}
        self._reads.extend(self._pool.submit(reader.read, window) for window in windows)

    def _conclude(self, reading: datetime | None) -> StreamResult:
        with self._store.transaction() as session:
            left = unclosed_windows(session, self.name, EVENTS_STREAM)
            # Another run may have begun since; it reports its own windows.
            gaps = [window for window in left if window.id in self._asked]
            if self._skew <= MOST_SKEW:
                lateness.measure_webhooks(session.connection(), self.name, now=utc_now())
            record_checkpoint(session, self.name, EVENTS_STREAM, now=utc_now(), objects=self._counts.read)
        sentence = f"went on with the reading of {format_instant(reading.replace(microsecond=0))}" if reading else None
        if gaps:
            reasons = "; ".join(dict.fromkeys(gap.reason or "not read to its end" for gap in gaps))
            sentence = f"{len(gaps)} windows stay open: {reasons}"
        return StreamResult(
            self.name,
            EVENTS_STREAM,
            StreamState.INCOMPLETE if gaps else StreamState.COMPLETE,
            pages=self._counts.pages,
            read=self._counts.read,
            changed=self._counts.added,
            reason=sentence,
        )


def backfill(
    installation: Installation,
    connection: Connection,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    back: timedelta = timedelta(),
    on_page: OnPage = say_nothing,
) -> Outcome:
    """Close every gap of one connection's event log; `on_page` is called with each page.

    Without dates, at least `back` of what was complete already is read again. With dates the whole range is, unless
    a run was killed or failed within the last day: then what it began is gone on with.
    """
    with open_provider(installation, connection) as provider:
        return read_log(installation, provider, since=since, until=until, back=back, on_page=on_page)


def read_log(
    installation: Installation,
    provider: Provider,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    back: timedelta = timedelta(),
    on_page: OnPage = say_nothing,
) -> Outcome:
    """Read the log until every window is closed or has failed.

    1. Ask the provider for its clock; end here without an answer.
    2. Write down the windows of this run; those left open by earlier runs join them.
    3. Read all windows side by side, a page and its cursor in one transaction.
    4. Close a window when a repeated read added no event; a window that fails stays with its reason.
    """
    run = _Run(installation, provider, on_page)
    try:
        horizon = run.find_horizon()
        asked = since is not None or until is not None
        plan, sightings = run.plan(since, min(until or horizon, horizon), asked=asked, back=back)
        spans = run.split(plan.spans)
    except ProviderError as error:
        failed = StreamResult(run.name, EVENTS_STREAM, StreamState.INCOMPLETE, reason=str(error))
        return Outcome([failed], started=False)
    return Outcome([run.read_all(spans, sightings, reading=plan.reading)])
