"""The mirror held against the provider: every object touched in the last days, stream by stream."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlmodel import Session

from consumer.config import Connection
from consumer.facts.clock import utc_now
from consumer.facts.house import House
from consumer.facts.observed import core_of
from consumer.facts.tables.provider import ProviderObject
from consumer.facts.tables.sync import Drift
from consumer.facts.versions import merge_all
from consumer.provider.client import Provider, Transport, open_provider
from consumer.provider.errors import KeyRefused, Missing, ProviderError, Refused, Unreadable
from consumer.provider.paging import Page
from consumer.provider.routes import EVENTS
from consumer.provider.rows import KINDS, Observation, UnusableObject, to_row
from consumer.sync.comparison import Difference, DriftKind, compare
from consumer.sync.outcome import Outcome, StreamResult, StreamState
from consumer.sync.streams import STREAMS
from consumer.sync.streams.stream import Again, Part, Stream

_DRIFT: sa.Table = Drift.__table__  # type: ignore[attr-defined]
_NOT_OFFERED = {403, 404}
_IDS_A_STATEMENT = 500


@dataclass(slots=True)
class DriftOutcome(Outcome):
    """What was found; `left` is what still differs after a repair, or all of it without one."""

    found: list[tuple[str, Difference]] = field(default_factory=list)
    left: int = 0


def drift(
    house: House,
    connection: Connection,
    *,
    days: int = 7,
    repair: bool = False,
    transport: Transport | None = None,
) -> DriftOutcome:
    """Compare every stream of one connection with the provider; with `repair`, mend what differs."""
    with open_provider(house, connection, transport=transport) as provider:
        return compare_streams(house, provider, STREAMS.values(), days=days, repair=repair)


def compare_streams(
    house: House, provider: Provider, streams: Iterable[Stream], *, days: int, repair: bool
) -> DriftOutcome:
    """Compare one stream after the other; a stream whose list fails is incomplete and the next one goes on."""
    outcome = DriftOutcome(started=False)
    name = provider.connection.name
    try:
        now = min(utc_now(), provider.page(EVENTS, size=1).at or utc_now())
    except ProviderError as error:
        outcome.results.append(StreamResult(name, "drift", StreamState.INCOMPLETE, reason=str(error)))
        return outcome
    outcome.started = True
    for stream in streams:
        if stream.by_link and not provider.connection.link_tokens:
            continue
        mirror = _Mirror(house, provider, stream, since=now - timedelta(days=days))
        try:
            mirror.compare_all()
            left = mirror.repair_all() if repair else len(mirror.found)
            mirror.record(repaired=repair)
        except ProviderError as error:
            outcome.results.append(StreamResult(name, stream.name, StreamState.INCOMPLETE, reason=str(error)))
            if isinstance(error, KeyRefused):
                break
            continue
        outcome.left += left
        outcome.found += [(stream.name, difference) for difference in mirror.found]
        reason = None if not left else f"{left} differences are left" if repair else f"{left} differences"
        state = StreamState.INCOMPLETE if repair and left else StreamState.COMPLETE
        outcome.results.append(
            StreamResult(name, stream.name, state, mirror.pages, mirror.read, len(mirror.found), reason)
        )
    return outcome


class _Mirror:
    """One stream's rows beside the provider's objects."""

    def __init__(self, house: House, provider: Provider, stream: Stream, *, since: datetime) -> None:
        self.found: list[Difference] = []
        self.pages = 0
        self.read = 0
        self._store = house.store
        self._provider = provider
        self._name = provider.connection.name
        self._stream = stream
        self._kind = KINDS[stream.kind]
        self._core = core_of(self._kind.table)
        self._since = since
        self._listed: set[str] = set()
        self._shown: dict[str, ProviderObject] = {}
        self._parts: list[Part] = []
        self._still: set[Difference] = set()

    def compare_all(self) -> None:
        self._parts = self._stream.parts(self._provider)
        for part in self._parts:
            try:
                self._walk(part)
            except Refused as error:
                if not (part.is_optional and error.status in _NOT_OFFERED):
                    raise
        for ours in self._expected():
            fresh = self._get(ours)
            if fresh is None:
                self.found.append(Difference(ours["id"], DriftKind.MISSING_THERE))
            else:
                self._note(ours, fresh)

    def _walk(self, part: Part) -> None:
        query = self._stream.to_query(self._since, None)
        for page in self._provider.pages(part.collection, ids=part.ids, query=query, link=part.link):
            self.pages += 1
            rows = [row for row in (self._to_row(raw, part, page.at) for raw in page.items) if row is not None]
            ours = self._load([row.id for row in rows])
            for row in rows:
                self.read += 1
                if row.id not in self._listed:
                    self._listed.add(row.id)
                    self._note(ours.get(row.id), row)
            if self._is_old(page):
                return

    def _note(self, ours: dict[str, Any] | None, theirs: ProviderObject) -> None:
        if ours is not None and _is_later(ours, theirs):
            # A change may have reached us after the list was written, so the object itself decides.
            theirs = self._get(ours) or theirs
            ours = self._load([theirs.id])[theirs.id]
        differences = compare(ours, theirs, self._kind, unstable=self._stream.unstable)
        if differences:
            self.found += differences
            self._shown[theirs.id] = theirs

    def _is_old(self, page: Page) -> bool:
        if self._stream.again is not Again.NEWEST or not page.items:
            return False
        dates = [_moment(msgspec.json.decode(raw).get("created_at")) for raw in page.items]
        return all(date is not None and date < self._since for date in dates)

    def _expected(self) -> list[dict[str, Any]]:
        """Find our rows that the lists should have shown, or that changed here in the window."""
        columns = self._core.c
        wanted = (columns.connection == self._name) & columns.gone_at.is_(None)
        if self._stream.again is not Again.EVERYTHING:
            since = self._since
            wanted &= (columns.created_at >= since) | (columns.updated_at >= since) | (columns.version_at >= since)
        with self._store.reading() as session:
            rows = [dict(row) for row in session.execute(sa.select(self._core).where(wanted)).mappings()]
        return [row for row in rows if row["id"] not in self._listed and self._is_touched(row)]

    def _is_touched(self, row: dict[str, Any]) -> bool:
        if self._stream.again is Again.EVERYTHING:
            return True
        dated = _moment(json.loads(row["body"]).get(self._stream.dated))
        moments = (row["created_at"], row["updated_at"], dated)
        return any(at is not None and at >= self._since for at in moments)

    def _get(self, ours: dict[str, Any]) -> ProviderObject | None:
        """Read one object by itself; None where the provider has it nowhere."""
        parts = [part for part in self._parts if not part.ids or part.account_id == ours.get("account_id")]
        parts += [Part(collection.name, collection) for collection in self._stream.elsewhere]
        for part in parts:
            try:
                answer = self._provider.get(part.collection, ours["id"], ids=part.ids, link=part.link)
            except Missing:
                continue
            return self._to_row(answer.body, part, answer.at)
        return None

    def _to_row(self, raw: bytes, part: Part, at: datetime | None) -> ProviderObject | None:
        connection = self._provider.connection
        seen = Observation(
            connection=connection.name, mode=connection.mode, seen_at=at or utc_now(), account_id=part.account_id
        )
        try:
            return to_row(self._stream.kind, msgspec.json.decode(raw), seen)
        except UnusableObject as error:
            raise Unreadable(f"{part.name}: an object cannot be compared: {error}") from error

    def _load(self, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        with self._store.reading() as session:
            return self._load_in(session, ids)

    def _load_in(self, session: Session, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for start in range(0, len(ids), _IDS_A_STATEMENT):
            some = list(ids[start : start + _IDS_A_STATEMENT])
            asked = sa.select(self._core).where(self._core.c.connection == self._name, self._core.c.id.in_(some))
            found |= {row["id"]: dict(row) for row in session.execute(asked).mappings()}
        return found

    def repair_all(self) -> int:
        """Read each differing object again and let that reading win; returns how many differences are left."""
        for id_ in dict.fromkeys(difference.id for difference in self.found):
            ours = self._load([id_]).get(id_)
            fresh = self._get(ours or {"id": id_}) or self._shown.get(id_)
            with self._store.transaction() as session:
                if fresh is None:
                    self._mark_gone(session, id_)
                    continue
                current = self._load_in(session, [id_]).get(id_)
                merge_all(session, [_winning(fresh, current)])
                left = compare(
                    self._load_in(session, [id_]).get(id_), fresh, self._kind, unstable=self._stream.unstable
                )
            self._still |= set(left)
        return len(self._still)

    def _mark_gone(self, session: Session, id_: str) -> None:
        mine = (self._core.c.connection == self._name) & (self._core.c.id == id_)
        session.execute(self._core.update().where(mine).values(gone_at=utc_now()))

    def record(self, *, repaired: bool) -> None:
        """Keep what was found until the next comparison, for the report and the page."""
        now = utc_now()
        still = {(difference.id, difference.field) for difference in self._still}
        rows = [
            {
                "connection": self._name,
                "stream": self._stream.name,
                "id": difference.id,
                "field": difference.field or "",
                "kind": difference.kind.value,
                "ours": difference.ours,
                "theirs": difference.theirs,
                "found_at": now,
                "repaired_at": now if repaired and (difference.id, difference.field) not in still else None,
            }
            for difference in self.found
        ]
        mine = (_DRIFT.c.connection == self._name) & (_DRIFT.c.stream == self._stream.name)
        with self._store.transaction() as session:
            session.execute(_DRIFT.delete().where(mine))
            if rows:
                session.execute(_DRIFT.insert(), rows)


def _winning(fresh: ProviderObject, ours: dict[str, Any] | None) -> ProviderObject:
    """Give a fresh reading a version that stands above ours: the provider decides what its object is."""
    if ours is None:
        return fresh
    version = (ours["version_at"], ours["version_rank"], ours["version_event"])
    if (fresh.version_at, fresh.version_rank, fresh.version_event) <= version:
        fresh.version_at, fresh.version_rank, fresh.version_event = version[0], version[1], version[2] + "~"
    if ours["gone_at"] is not None and fresh.version_at <= ours["gone_at"]:
        fresh.version_at = ours["gone_at"] + timedelta(microseconds=1)
    return fresh


def _is_later(ours: dict[str, Any], theirs: ProviderObject) -> bool:
    return ours["updated_at"] is not None and theirs.updated_at is not None and ours["updated_at"] > theirs.updated_at


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
