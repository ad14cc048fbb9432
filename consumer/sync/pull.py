"""Lists of the provider read into facts: everything at first, later from where the stream was complete.

A page and its place in the ledger are one transaction, so a killed pull goes on behind the last page it kept.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.tables.sync import Window, WindowState
from consumer.facts.versions import Change, Known, merge_all
from consumer.provider.client import Provider, is_cursor_gone, open_provider
from consumer.provider.errors import KeyRefusedError, MissingError, ProviderError, RefusedError, UnreachableError
from consumer.provider.fields import UnusableObjectError, identity, to_data
from consumer.provider.paging import Page, Walk
from consumer.provider.rows import KINDS, Observation, observe
from consumer.sync.documents import fetch_documents
from consumer.sync.offers import NotOfferedError, Offer, is_unoffered
from consumer.sync.outcomes import OnRead, Outcome, StreamResult, StreamState, read_quietly
from consumer.sync.payout_items import payouts_to_read, read_payout_items
from consumer.sync.streams import STREAMS, Again, Part, Stream
from consumer.sync.sums import Finding, record_findings
from consumer.sync.tally import Tally, resume
from consumer.sync.windows import (
    MOST_READS,
    MOST_RESTARTS,
    IncompleteError,
    Step,
    Steps,
    advance,
    all_windows,
    covered_until,
    record_checkpoint,
    record_windows,
    unclosed_windows,
)

__all__ = ["STREAMS", "pull", "read_streams"]

ITEMS_PART = "payout items"
_FROM_THE_START: dict[str, object] = {"part": None, "cursor": None, "added_in_pass": 0}
_VERSION = {"version_at", "version_rank", "version_event"}


class _Reading:
    """One stream of one connection: finishes what earlier runs left open, then asks for what is new."""

    def __init__(
        self,
        installation: Installation,
        provider: Provider,
        stream: Stream,
        *,
        since: datetime | None,
        until: datetime | None,
        on_read: OnRead,
    ) -> None:
        self.pages = 0
        self.objects = 0
        self.changed = 0
        self.connection = provider.connection.name
        self.stream = stream
        self.findings: list[Finding] = []
        self._installation = installation
        self._store = installation.store
        self._provider = provider
        self._asked = (since, until)
        self._on_read = on_read
        self._steps = Steps(installation.store)
        self._unusable: list[str] = []
        self._is_inside = False

    def run(self) -> None:
        """Read the stream whole; raise ProviderError after writing its reason into the ledger."""
        with self._store.transaction() as session:
            left = unclosed_windows(session, self.connection, self.stream.name)
            news = [] if left else [self._open_window(session)]
        for window in reversed(left):
            self._read_window(window, is_last=False)
        if left:
            with self._store.transaction() as session:
                news = [self._open_window(session)]
        self._read_window(news[0], is_last=True)

    def record_unread(self, reason: str) -> None:
        """Leave a gap for a stream that was asked for and never reached."""
        with self._store.transaction() as session:
            advance(session, self._open_window(session), state=WindowState.FAILED, reason=reason)

    def _open_window(self, session: Session) -> Window:
        since, until = self._asked
        if since is None and until is None:
            windows = all_windows(session, self.connection, self.stream.name)
            known = covered_until([window for window in windows if window.state == WindowState.CLOSED])
            overlap = timedelta(seconds=self._installation.settings.overlap_seconds)
            since = None if known is None else known - max(overlap, self.stream.lookback)
        now = utc_now()
        return record_windows(session, self.connection, self.stream.name, [(since, until or now)], opened_at=now)[0]

    def _read_window(self, window: Window, *, is_last: bool) -> None:
        self._unusable.clear()
        if window.state == WindowState.OPEN and window.reason:
            # A killed run had met what it could not keep: only a whole reading may close the window.
            self._save(window, **_FROM_THE_START)
        try:
            mark = self._read_parts(window)
            if self.stream.name == "payouts":
                self._read_items(window)
            if self.stream.name == "account-statements":
                self._fetch_documents()
            if self._unusable:
                self._steps.write()
                raise IncompleteError("; ".join(dict.fromkeys(self._unusable)))
            self._steps.add(lambda session: self._close(session, window, mark))
            if is_last:
                self._look_over()
            self._steps.write()
        except ProviderError as error:
            # One account without a list of movements, or one link, does not mean that there is none; a page did come.
            is_there = self._is_inside or self.stream.by_link or window.pages
            is_of_one = bool(is_there) and isinstance(error, MissingError)
            if not is_of_one and is_unoffered(self._store, self.connection, self.stream.name, error):
                self._forget(window)
                raise NotOfferedError(error) from error
            place = {"state": WindowState.FAILED, "reason": str(error)[:1000]}
            self._save(window, **place | (_FROM_THE_START if self._unusable else {}))
            raise

    def _read_parts(self, window: Window) -> str | None:
        """Read the lists of the stream; return what the closed window is to remember of them."""
        if window.part == ITEMS_PART:
            return None
        self._is_inside = False
        parts = self.stream.parts(self._provider)
        self._is_inside = any(part.ids for part in parts)
        names = [part.name for part in parts]
        if window.part is not None and window.part not in names:
            self._save(window, **_FROM_THE_START)
        first = names.index(window.part) if window.part in names else 0
        offer = Offer(self._store, self.connection, self.stream.name, parts)
        for part in parts[first:]:
            if part.name != (window.part or names[0]):
                self._save(window, part=part.name, cursor=None, added_in_pass=0)
            pages = window.pages
            try:
                self._read_part(window, part)
                offer.note(part)
            except RefusedError as error:
                if window.cursor or window.pages > pages:  # what began to answer is a list that is there
                    raise
                offer.note_refusal(part, error)
        if not window.pages:
            offer.check()
        return offer.mark

    def _read_part(self, window: Window, part: Part) -> None:
        """Read one list until what was read agrees with the total that the provider announces, or with itself."""
        earlier: Tally | None = None
        for _ in range(MOST_READS):
            tally = self._walk(window, part)
            if tally is None or (tally.agrees and tally.is_proved(earlier)):
                return
            mismatch = f"{part.name}: the provider announced {tally.total} objects and sent {tally.count}"
            if tally.total is None:
                mismatch = f"{part.name}: no total was announced and each of {MOST_READS} readings found others"
            earlier = tally
            self._steps.write()
            self._save(window, cursor=None, added_in_pass=0, pass_number=window.pass_number + 1)
        raise IncompleteError(mismatch)

    def _walk(self, window: Window, part: Part) -> Tally | None:
        """Walk a list from the window's cursor; None where it was rightly left before its end."""
        tally, visits, restarts = resume(window), Walk(part.name), 0
        query = self.stream.to_query(window.since, self._asked[1])
        cursor: str | None = window.cursor or ""
        while cursor is not None:
            visits.check_step(cursor)
            self._steps.write()
            try:
                page = self._provider.page(part.collection, ids=part.ids, query=query, cursor=cursor, link=part.link)
            except ProviderError as error:
                restarts += 1
                if not (is_cursor_gone(error) and cursor) or restarts > MOST_RESTARTS:
                    raise
                tally, visits, cursor = Tally(), Walk(part.name), ""
                continue
            visits.check_page(page)
            tally.notice(page)
            self._keep(window, part, page, tally)
            if self._is_old(tally, page, window):
                return None
            cursor = page.next
        return tally

    def _is_old(self, tally: Tally, page: Page, window: Window) -> bool:
        """Return True if a list without filter became older than asked and we hold all that it announces."""
        if self.stream.again is not Again.NEWEST or window.since is None or not tally.is_older_than(window.since):
            return False
        self._steps.write()
        return page.total is None or self._count_held() >= page.total

    def _count_held(self) -> int:
        table = KINDS[self.stream.kind].table
        with self._store.reading() as session:
            mine = (sa.column("connection") == self.connection) & sa.column("gone_at").is_(None)
            held = sa.select(sa.func.count()).select_from(table).where(mine)
            return int(session.execute(held).scalar_one())

    def _keep(self, window: Window, part: Part, page: Page, tally: Tally) -> None:
        """Convert a page's objects, to be written with the place behind it."""
        known = self._observe(part, page)
        reason = "; ".join(dict.fromkeys(self._unusable))[:1000] or None
        read, announced = tally.count, tally.first_total

        def write(session: Session) -> None:
            # The stream is known up to the provider's moment, which need not be ours.
            until = window.until if window.pages or page.at is None else min(window.until, page.at)
            changes = merge_all(session, known)
            advance(
                session,
                window,
                state=WindowState.OPEN,
                reason=reason,
                part=part.name,
                cursor=page.next,
                added_in_pass=read,
                announced=announced,
                pages=window.pages + 1,
                events=window.events + len(page.items),
                until=until,
            )
            self.pages += 1
            self.objects += len(known)
            self.changed += count_changed(changes)
            self._on_read(self.stream.name, self.pages, self.objects)

        self._steps.add(write)

    def _observe(self, part: Part, page: Page) -> list[Known]:
        connection = self._provider.connection
        seen = Observation(
            connection=connection.name,
            mode=connection.mode,
            seen_at=page.at or utc_now(),
            account_id=part.account_id,
        )
        known = []
        for raw in page.items:
            try:
                known.append(observe(self.stream.kind, to_data(raw), seen))
            except UnusableObjectError as error:
                # The others are kept; the stream ends incomplete and names what could not be.
                self._unusable.append(f"{identity(raw)[0] or 'an object without id'}: {error}")
        return known

    def _read_items(self, window: Window) -> None:
        wanted: list[str] = []

        def begin(session: Session) -> None:
            if window.part != ITEMS_PART:
                advance(session, window, part=ITEMS_PART, cursor=None)
            wanted.extend(payouts_to_read(session, self.connection))

        def keep_place(place: str) -> Step:
            return lambda session: advance(session, window, cursor=place)

        self._steps.add(begin)
        self._steps.write()
        done = read_payout_items(self._provider, self._steps, wanted, after=window.cursor, keep_place=keep_place)
        self.pages += done.pages
        self._unusable += done.problems

    def _fetch_documents(self) -> None:
        self._steps.write()
        done = fetch_documents(self._installation, self._provider)
        self._unusable += done.problems
        self.findings = done.findings

    def _look_over(self) -> None:
        """Keep what does not add up in what was read whole: it is reported, and is not missing."""
        if self.stream.look_over is not None:
            self._steps.write()
            with self._store.reading() as session:
                self.findings += self.stream.look_over(session, self._provider.connection)
        name = self.stream.name
        self._steps.add(lambda session: record_findings(session, self.connection, name, self.findings, now=utc_now()))

    def _close(self, session: Session, window: Window, mark: str | None) -> None:
        now = utc_now()
        # Where no account is, no page of its movements says how late it is there, but the list of accounts does.
        heard_at = None if window.pages else self._provider.heard_at
        until = min(window.until, heard_at or window.until)
        place = {"part": mark, "cursor": None, "reason": None, "until": until}
        advance(session, window, state=WindowState.CLOSED, closed_at=now, **place)
        record_checkpoint(session, self.connection, self.stream.name, now=now, objects=self.objects)

    def _forget(self, window: Window) -> None:
        """Leave no gap for a stream that is not offered, and record that."""
        with self._store.transaction() as session:
            session.delete(session.get_one(Window, window.id))
            session.flush()
            record_checkpoint(session, self.connection, self.stream.name, now=utc_now(), objects=0, offered=False)

    def _save(self, window: Window, **changes: object) -> None:
        self._steps.add(lambda session: advance(session, window, **changes))
        self._steps.write()


def count_changed(changes: list[Change]) -> int:
    """Count the objects of which more changed than the moment of looking."""
    return sum(bool(set(change.columns) - _VERSION) for change in changes)


def pull(
    installation: Installation,
    connection: Connection,
    streams: Sequence[str],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    on_read: OnRead = read_quietly,
) -> Outcome:
    """Fetch and keep the named streams of one connection; `on_read` is called with how far it is."""
    wanted = [STREAMS[name] for name in streams]
    with open_provider(installation, connection) as provider:
        return read_streams(installation, provider, wanted, since=since, until=until, on_read=on_read)


def read_streams(
    installation: Installation,
    provider: Provider,
    streams: Iterable[Stream],
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    on_read: OnRead = read_quietly,
) -> Outcome:
    """Read one stream after the other; a stream that fails leaves its window in the ledger and the next one goes on.

    A key that is refused ends the run, and so does a provider that is away at the start or for two streams in a row.
    """
    results: list[StreamResult] = []
    over: str | None = None
    was_away = True  # the provider has not answered yet
    for stream in streams:
        reading = _Reading(installation, provider, stream, since=since, until=until, on_read=on_read)
        if stream.by_link and not provider.connection.link_tokens:
            reason = "skipped, no link token is set (CUADRE_LINK_TOKENS)"
            results.append(StreamResult(provider.connection.name, stream.name, StreamState.SKIPPED, reason=reason))
            continue
        try:
            if over is not None:
                reading.record_unread(over)
            else:
                reading.run()
            results.append(_to_result(reading, over))
            was_away = False
        except NotOfferedError as error:
            was_away = False
            reason = f"skipped, {error.why}: {error}"
            results.append(StreamResult(provider.connection.name, stream.name, StreamState.SKIPPED, reason=reason))
        except ProviderError as error:
            results.append(_to_result(reading, str(error)))
            is_away = isinstance(error, UnreachableError)
            if isinstance(error, KeyRefusedError):
                over = "not read: the key was refused"
            elif is_away and was_away and not reading.pages:
                over = "not read: no answer from the provider"
            was_away = is_away
    outcome = Outcome(results)
    outcome.started = outcome.pages > 0
    return outcome


def _to_result(reading: _Reading, failure: str | None) -> StreamResult:
    found = "; ".join(finding.problem for finding in reading.findings)
    return StreamResult(
        reading.connection,
        reading.stream.name,
        StreamState.COMPLETE if failure is None else StreamState.INCOMPLETE,
        pages=reading.pages,
        read=reading.objects,
        changed=reading.changed,
        reason=failure or found or None,
    )
