"""One stream of one connection read into facts, a page and its place in the ledger in one transaction."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.tables.sync import Window, WindowState
from consumer.facts.versions import Change, Known, MixedModesError, merge_all
from consumer.provider.client import Provider, is_cursor_gone
from consumer.provider.errors import Missing, ProviderError, Refused
from consumer.provider.fields import identity, to_data
from consumer.provider.paging import Page, Walk
from consumer.provider.rows import KINDS, Observation, UnusableObject, observe
from consumer.sync.documents import fetch_documents
from consumer.sync.findings import Finding, record_findings
from consumer.sync.offers import NotOffered, Offer, is_unoffered
from consumer.sync.outcome import OnRead, read_quietly
from consumer.sync.payout_items import read_payout_items
from consumer.sync.streams import Again, Part, Stream
from consumer.sync.tally import Tally, resume
from consumer.sync.windows import (
    advance,
    all_windows,
    covered_until,
    record_checkpoint,
    record_windows,
    unclosed_windows,
)

MOST_READS = 4
MOST_RESTARTS = 5
ITEMS_PART = "payout items"
_FROM_THE_START: dict[str, object] = {"part": None, "cursor": None, "added_in_pass": 0}
_VERSION = {"version_at", "version_rank", "version_event"}


class Incomplete(ProviderError):  # noqa: N818 - says what the reading was
    """A list that was read to its end and still does not add up."""


class Reading:
    """Finishes what earlier runs left open, then asks for what is new."""

    def __init__(
        self,
        installation: Installation,
        provider: Provider,
        stream: Stream,
        *,
        since: datetime | None,
        until: datetime | None,
        on_read: OnRead = read_quietly,
    ) -> None:
        self.pages = 0
        self.objects = 0
        self.changed = 0
        self.connection = provider.connection.name
        self.stream = stream
        self._installation = installation
        self._store = installation.store
        self._provider = provider
        self._asked = (since, until)
        self._on_read = on_read
        self.findings: list[Finding] = []
        self._unusable: list[str] = []
        self._mark: str | None = None
        self._inside = False

    def run(self) -> None:
        """Raises ProviderError after writing its reason into the ledger."""
        with self._store.reading() as session:
            left = unclosed_windows(session, self.connection, self.stream.name)
        for window in reversed(left):
            self._read_window(window)
        self._read_window(self._open_window())
        self._look_over()

    def record_unread(self, reason: str) -> None:
        """Leave a gap for a stream that was asked for and never reached."""
        self._save(self._open_window(), state=WindowState.FAILED, reason=reason)

    def _open_window(self) -> Window:
        since, until = self._asked
        with self._store.transaction() as session:
            windows = all_windows(session, self.connection, self.stream.name)
            if since is None and until is None:
                closed = [window for window in windows if window.state == WindowState.CLOSED]
                known = covered_until(closed)
                overlap = timedelta(seconds=self._installation.settings.overlap_seconds)
                since = None if known is None else known - max(overlap, self.stream.lookback)
            now = utc_now()
            span = (since, until or now)
            return record_windows(session, self.connection, self.stream.name, [span], opened_at=now)[0]

    def _read_window(self, window: Window) -> None:
        self._unusable.clear()
        if window.state == WindowState.OPEN and window.reason:
            # A killed run had met what it could not keep: only a whole reading may close the window.
            self._save(window, **_FROM_THE_START)
            window = self._load(window)
        try:
            self._read_parts(window)
            if self.stream.name == "payouts":
                self._read_items(window)
            if self.stream.name == "account-statements":
                self._fetch_documents()
            if self._unusable:
                raise Incomplete("; ".join(dict.fromkeys(self._unusable)))
        except ProviderError as error:
            # One account without a list of movements, or one link, does not mean that nobody has one; a page did come.
            is_there = self._inside or self.stream.by_link or self._load(window).pages
            is_of_one = bool(is_there) and isinstance(error, Missing)
            if not is_of_one and is_unoffered(self._store, self.connection, self.stream.name, error):
                self._forget(window)
                raise NotOffered(error) from error
            place = {"state": WindowState.FAILED, "reason": str(error)[:1000]}
            self._save(self._load(window), **place | (_FROM_THE_START if self._unusable else {}))
            raise
        self._close(self._load(window))

    def _read_parts(self, window: Window) -> None:
        if window.part == ITEMS_PART:
            return
        self._inside = False
        parts = self.stream.parts(self._provider)
        self._inside = any(part.ids for part in parts)
        names = [part.name for part in parts]
        first = names.index(window.part) if window.part in names else 0
        if window.part not in names:
            self._save(window, part=None, cursor=None, added_in_pass=0)
        offer = Offer(self._store, self.connection, self.stream.name, parts)
        for part in parts[first:]:
            current = self._load(window)
            if current.part != part.name:
                self._save(current, part=part.name, cursor=None, added_in_pass=0)
            try:
                self._read_part(self._load(window), part)
                offer.note(part)
            except Refused as error:
                reached = self._load(window)
                if reached.cursor or reached.pages > current.pages:  # what began to answer is a list that is there
                    raise
                offer.note_refusal(part, error)
        if not self._load(window).pages:
            offer.check()
        self._mark = offer.mark

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
            earlier, window = tally, self._load(window)
            self._save(window, cursor=None, added_in_pass=0, pass_number=window.pass_number + 1)
            window = self._load(window)
        raise Incomplete(mismatch)

    def _walk(self, window: Window, part: Part) -> Tally | None:
        """Walk a list from the window's cursor; None where it was rightly left before its end."""
        tally, visits, restarts = resume(window), Walk(part.name), 0
        query = self.stream.to_query(window.since, self._asked[1])
        cursor: str | None = window.cursor or ""
        while cursor is not None:
            visits.check_step(cursor)
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
            window = self._keep(window, part, page, tally)
            if self._is_old(tally, page, window):
                return None
            cursor = page.next
        return tally

    def _is_old(self, tally: Tally, page: Page, window: Window) -> bool:
        """Say whether a list without filter has become older than asked; never while we hold less than it announces."""
        if self.stream.again is not Again.NEWEST or window.since is None or not tally.is_older_than(window.since):
            return False
        return page.total is None or self._held() >= page.total

    def _held(self) -> int:
        table = KINDS[self.stream.kind].table
        with self._store.reading() as session:
            mine = (sa.column("connection") == self.connection) & sa.column("gone_at").is_(None)
            held = sa.select(sa.func.count()).select_from(table).where(mine)
            return int(session.execute(held).scalar_one())

    def _keep(self, window: Window, part: Part, page: Page, tally: Tally) -> Window:
        rows = self._to_rows(part, page)
        place: dict[str, object] = {
            "state": WindowState.OPEN,
            "reason": "; ".join(dict.fromkeys(self._unusable))[:1000] or None,
            "part": part.name,
            "cursor": page.next,
            "added_in_pass": tally.count,
            "announced": tally.first_total,
            "pages": window.pages + 1,
            "events": window.events + len(page.items),
        }
        if window.pages == 0 and page.at is not None:
            # The stream is known up to the provider's moment, which need not be ours.
            place["until"] = min(window.until, page.at)
        try:
            with self._store.transaction() as session:
                changes = merge_all(session, rows)
                advance(session, window, **place)
        except MixedModesError as error:
            raise Incomplete(f"{error}: this database has served a key of the other mode") from error
        self.pages += 1
        self.objects += len(rows)
        self.changed += count_changed(changes)
        self._on_read(self.stream.name, self.pages, self.objects)
        return self._load(window)

    def _to_rows(self, part: Part, page: Page) -> list[Known]:
        connection = self._provider.connection
        observed = Observation(
            connection=connection.name,
            mode=connection.mode,
            seen_at=page.at or utc_now(),
            account_id=part.account_id,
        )
        rows = []
        for raw in page.items:
            try:
                rows.append(observe(self.stream.kind, to_data(raw), observed))
            except UnusableObject as error:
                # The others are kept; the stream ends incomplete and names what could not be.
                self._unusable.append(f"{identity(raw)[0] or 'an object without id'}: {error}")
        return rows

    def _read_items(self, window: Window) -> None:
        current = self._load(window)
        if current.part != ITEMS_PART:
            self._save(current, part=ITEMS_PART, cursor=None)
            current = self._load(window)

        def keep_place(session: Session, place: str) -> None:
            advance(session, current, cursor=place)

        done = read_payout_items(self._store, self._provider, after=current.cursor, keep_place=keep_place)
        self.pages += done.pages
        self._unusable += done.problems

    def _fetch_documents(self) -> None:
        done = fetch_documents(self._installation, self._provider)
        self._unusable += done.problems
        self.findings = done.findings

    def _look_over(self) -> None:
        """Keep what does not add up in what was read whole: it is said, and is not missing."""
        with self._store.reading() as session:
            self.findings += self.stream.look_over(session, self._provider.connection)
        with self._store.transaction() as session:
            record_findings(session, self.connection, self.stream.name, self.findings, now=utc_now())

    def _close(self, window: Window) -> None:
        with self._store.transaction() as session:
            now = utc_now()
            advance(session, window, state=WindowState.CLOSED, closed_at=now, part=self._mark, cursor=None, reason=None)
            record_checkpoint(session, self.connection, self.stream.name, now=now, objects=self.objects)

    def _forget(self, window: Window) -> None:
        """Leave no gap where there is nothing to read, and say so to whoever asks whether the stream is complete."""
        with self._store.transaction() as session:
            session.delete(session.get_one(Window, window.id))
            session.flush()
            record_checkpoint(session, self.connection, self.stream.name, now=utc_now(), objects=0, offered=False)

    def _save(self, window: Window, **changes: object) -> None:
        with self._store.transaction() as session:
            advance(session, window, **changes)

    def _load(self, window: Window) -> Window:
        with self._store.reading() as session:
            return session.get_one(Window, window.id)


def count_changed(changes: list[Change]) -> int:
    """Count what changed beside the moment of looking."""
    return sum(bool(set(change.columns) - _VERSION) for change in changes)
