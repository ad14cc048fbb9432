"""The event log read in windows of time until nothing is missing, whatever webhooks brought or lost."""

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timedelta

from consumer.facts.clock import format_instant, utc_now
from consumer.facts.completeness import BEGINNING, complete_until
from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.tables.sync import Window
from consumer.inbox.record import is_listing_marked
from consumer.provider.client import Provider, Transport, open_provider
from consumer.provider.errors import ProviderError
from consumer.provider.routes import EVENTS
from consumer.sync import lateness
from consumer.sync.counts import Counts
from consumer.sync.coverage import Plan, Span, plan_news, plan_range
from consumer.sync.lateness import Sightings
from consumer.sync.log_window import WindowReader
from consumer.sync.outcome import OnPage, Outcome, StreamResult, StreamState, say_nothing
from consumer.sync.windows import (
    EVENTS_STREAM,
    all_windows,
    record_checkpoint,
    record_windows,
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


def backfill(  # noqa: PLR0913 - what to read, how far, and who watches
    installation: Installation,
    connection: Connection,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    back: timedelta = timedelta(),
    transport: Transport | None = None,
    on_page: OnPage = say_nothing,
) -> Outcome:
    """Close every gap of one connection's event log; `on_page` is told of each page.

    Without dates, at least `back` of what was complete already is read again. With dates the whole range is, unless
    a run was killed or failed within the last day: then what it began is gone on with.
    """
    with open_provider(installation, connection, transport=transport) as provider:
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

    1. Ask the provider for its clock; without an answer nothing is done.
    2. Write down the windows of this run; those left open by earlier runs join them.
    3. Read all windows side by side, a page and its cursor in one transaction.
    4. Close a window when a repeated read added nothing; a window that fails stays with its reason.
    """
    run = _Run(installation, provider, on_page)
    try:
        horizon = run.find_horizon()
        asked = since is not None or until is not None
        plan = run.plan(since, min(until or horizon, horizon), asked=asked, back=back)
        spans = run.split(plan.spans)
    except ProviderError as error:
        failed = StreamResult(run.name, EVENTS_STREAM, StreamState.INCOMPLETE, reason=str(error))
        return Outcome([failed], started=False)
    return Outcome([run.read_all(spans, reading=plan.reading)])


class _Run:
    """One run over one connection's log."""

    def __init__(self, installation: Installation, provider: Provider, on_page: OnPage) -> None:
        self.name = provider.connection.name
        self._store = installation.store
        self._settings = installation.settings
        self._provider = provider
        self._counts = Counts(on_page)
        self._sightings = Sightings(self.name)
        self._skew = timedelta()
        self._asked: set[int | None] = set()
        self._reads: deque[Future[None]] = deque()
        self._pool = ThreadPoolExecutor(max_workers=WORKERS)
        self._reader = WindowReader(
            installation.store,
            provider,
            workers=WORKERS,
            counts=self._counts,
            sightings=self._sightings,
            submit=self._submit,
        )

    def find_horizon(self) -> datetime:
        """Find the newest moment whose events have settled, by our clock or the provider's, whichever is behind."""
        page = self._provider.page(EVENTS, size=1)
        ours = utc_now()
        self._skew = abs(ours - page.at) if page.at else timedelta.max
        now = min(ours, page.at or ours)
        return (now - timedelta(seconds=self._settings.settle_seconds)).replace(microsecond=0)

    def plan(self, since: datetime | None, until: datetime, *, asked: bool, back: timedelta) -> Plan:
        """Decide which stretches this run asks for, besides those that earlier runs left open."""
        now = utc_now()
        with self._store.reading() as session:
            windows = all_windows(session, self.name, EVENTS_STREAM)
            if asked:
                return plan_range(windows, since, until, now=now)
            floor = timedelta(seconds=self._settings.overlap_seconds)
            overlap = lateness.overlap(session, self.name, floor=floor, now=now)
            plan = plan_news(windows, until, overlap=overlap, back=back, now=now)
            if not plan.below:
                self._sightings.frontier = complete_until(session, self.name, EVENTS_STREAM)
            self._sightings.is_marked = is_listing_marked(session.connection(), self.name)
        return plan

    def split(self, spans: Sequence[Span]) -> list[tuple[datetime | None, datetime]]:
        """Cut stretches into windows; the one that begins with the log is cut from its oldest event on."""
        windows: list[tuple[datetime | None, datetime]] = []
        for first, last in spans:
            start = self._find_log_start(last) if first == BEGINNING else first
            windows += [(None, start)] if first == BEGINNING else []
            windows += to_spans(start, last, shortest=SHORTEST_WINDOW, most=MOST_WINDOWS)
        return windows

    def _find_log_start(self, until: datetime) -> datetime:
        """Step back in doubling strides until the log has nothing older; what lies before is asked all the same."""
        start = until
        for doubling in range(_DOUBLINGS):
            start = until - timedelta(days=2**doubling)
            older = self._provider.pages(EVENTS, query={"until": format_instant(start)}, size=1)
            if not any(page.items for page in older):
                break
        return start

    def read_all(self, spans: Iterable[tuple[datetime | None, datetime]], *, reading: datetime | None) -> StreamResult:
        with self._store.transaction() as session:
            left = unclosed_windows(session, self.name, EVENTS_STREAM)
            new = record_windows(session, self.name, EVENTS_STREAM, spans, opened_at=reading or utc_now())
            windows = [*new, *left]
        with self._pool:
            self._submit(windows)
            try:
                while self._reads:  # a read that shares its window out adds to them before it ends
                    self._reads.popleft().result()
            finally:
                # Whatever ends the run early, a keystroke too, the other windows stop at their next page.
                self._reader.stopped.set()
        return self._conclude(reading)

    def _submit(self, windows: Sequence[Window]) -> None:
        self._counts.begin(len(windows))
        self._asked |= {window.id for window in windows}
        self._reads.extend(self._pool.submit(self._reader.read, window) for window in windows)

    def _conclude(self, reading: datetime | None) -> StreamResult:
        with self._store.transaction() as session:
            left = unclosed_windows(session, self.name, EVENTS_STREAM)
            # Another run may have begun since, and what it asks for is its own to tell.
            gaps = [window for window in left if window.id in self._asked]
            if self._skew <= MOST_SKEW:
                lateness.measure_webhooks(session.connection(), self.name, now=utc_now())
            record_checkpoint(session, self.name, EVENTS_STREAM, now=utc_now(), objects=self._counts.read)
        told = f"went on with the reading of {format_instant(reading.replace(microsecond=0))}" if reading else None
        if gaps:
            reasons = "; ".join(dict.fromkeys(gap.reason or "not read to its end" for gap in gaps))
            told = f"{len(gaps)} windows stay open: {reasons}"
        return StreamResult(
            self.name,
            EVENTS_STREAM,
            StreamState.INCOMPLETE if gaps else StreamState.COMPLETE,
            pages=self._counts.pages,
            read=self._counts.read,
            changed=self._counts.added,
            reason=told,
        )
