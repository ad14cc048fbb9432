"""The mirror compared with the provider: every object touched in the last days, stream by stream, and its repair."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.meaning import read_json
from consumer.facts.settings import Connection
from consumer.facts.store import Row, batches, one_of, to_ids
from consumer.facts.tables.sync import Drift
from consumer.facts.tables.types import core_of
from consumer.facts.versions import Known, merge_all, redact, stamp, to_values
from consumer.provider.client import Provider, open_provider
from consumer.provider.errors import KeyRefusedError, MissingError, ProviderError, RefusedError, UnreachableError
from consumer.provider.fields import UnusableObjectError, identity, to_data
from consumer.provider.paging import EVENTS, Page
from consumer.provider.rows import KINDS, Observation, observe
from consumer.sync.differences import Difference, DriftKind, compare, compare_items
from consumer.sync.offers import Offer, was_unoffered
from consumer.sync.outcomes import OnRead, Outcome, StreamResult, StreamState, read_quietly
from consumer.sync.payout_items import FINAL, items_here, items_there, read_again
from consumer.sync.streams import STREAMS, Again, Part, Stream

_DRIFT = core_of(Drift)
_IDS_A_STATEMENT = 500


@dataclass(slots=True)
class DriftOutcome(Outcome):
    """What was found; `left` is what still differs after a repair, or all of it without one."""

    found: list[tuple[str, Difference]] = field(default_factory=list)
    left: int = 0


class Mirror:
    """One stream's rows compared with the provider's objects."""

    def __init__(
        self,
        installation: Installation,
        provider: Provider,
        stream: Stream,
        *,
        since: datetime,
        on_read: OnRead = read_quietly,
    ) -> None:
        self.found: list[Difference] = []
        self.unusable: list[str] = []
        self.stream = stream
        self._on_read = on_read
        self.pages = 0
        self.read = 0
        self._store = installation.store
        self._provider = provider
        self._name = provider.connection.name
        self._kind = KINDS[stream.kind]
        self._core = core_of(self._kind.table)
        self._since = since
        self._listed: set[str] = set()
        self._shown: dict[str, Known] = {}
        self._parts: list[Part] = []
        self._mended: set[str] = set()

    @property
    def left(self) -> int:
        """Return how many differences no repair has mended."""
        return sum(difference.id not in self._mended for difference in self.found)

    def compare_all(self) -> None:
        self._parts = self.stream.parts(self._provider)
        offer = Offer(self._store, self._name, self.stream.name, self._parts)
        for part in self._parts:
            try:
                self._walk(part)
                offer.note(part)
            except RefusedError as error:
                # A list that once answered is not believed to be empty: what it held would be taken for gone.
                offer.note_refusal(part, error)
        offer.check()
        for ours in self._expected_rows():
            self.read += 1
            try:
                fresh = self._get(ours)
                if fresh is None:
                    self.found.append(Difference(ours["id"], DriftKind.MISSING_THERE))
                else:
                    self._note(ours, fresh)
            except UnusableObjectError as error:
                self._set_aside(ours["id"], error)
        if self.stream.name == "payouts":
            self._compare_items()

    def _compare_items(self) -> None:
        """Compare what settled payouts carry; every pull reads the items of the others anew."""
        differing = {difference.id for difference in self.found}
        for id_, ours in self._load(sorted(self._listed - differing)).items():
            if ours["status"] not in FINAL:
                continue
            try:
                theirs = items_there(self._provider, id_)
            except UnusableObjectError as error:
                self._set_aside(id_, error)
                continue
            self.found += compare_items(id_, items_here(self._store, self._name, id_), theirs)

    def _walk(self, part: Part) -> None:
        query = self.stream.to_query(self._since, None)
        for page in self._provider.pages(part.collection, ids=part.ids, query=query, link=part.link):
            self.pages += 1
            rows = self._observe_page(page, part)
            ours = self._load(list(rows))
            for id_, row in rows.items():
                self.read += 1
                if id_ in self._listed:
                    continue
                self._listed.add(id_)
                try:
                    self._note(ours.get(id_), row)
                except UnusableObjectError as error:
                    self._set_aside(id_, error)
            self._on_read(self.stream.name, self.pages, self.read)
            if self._is_old(page):
                return

    def _observe_page(self, page: Page, part: Part) -> dict[str, Known]:
        """Read what can be compared; what cannot is there all the same, and is named."""
        rows: dict[str, Known] = {}
        for raw in page.items:
            try:
                row = self._observe(raw, part, page.at)
                rows[row.id] = row
            except UnusableObjectError as error:
                id_, _ = identity(raw)
                self._set_aside(id_, error)
                self._listed |= {id_} if id_ else set()
        with self._store.reading() as session:
            return {row.id: row for row in redact(session, list(rows.values()))}

    def _set_aside(self, id_: str | None, error: UnusableObjectError) -> None:
        self.unusable.append(f"{id_ or 'an object without id'} cannot be compared: {error}")

    def _note(self, ours: Row | None, theirs: Known) -> None:
        if ours is not None and _is_later(ours, to_values(theirs)):
            # A change may have reached us after the list was written, so the object itself decides.
            theirs = self._get(ours) or theirs
            ours = self._load([theirs.id])[theirs.id]
        differences = compare(ours, to_values(theirs), self._kind, unstable=self.stream.unstable)
        if differences:
            self.found += differences
            self._shown[theirs.id] = theirs

    def _is_old(self, page: Page) -> bool:
        if self.stream.again is not Again.NEWEST or not page.items:
            return False
        dates = [_moment(identity(raw)[1]) for raw in page.items]
        return all(date is not None and date < self._since for date in dates)

    def _expected_rows(self) -> list[Row]:
        """Return our rows that the lists should have shown, or that changed here in the window."""
        columns = self._core.c
        wanted = (columns.connection == self._name) & columns.gone_at.is_(None)
        if self.stream.again is not Again.EVERYTHING:
            since = self._since
            wanted &= (columns.created_at >= since) | (columns.updated_at >= since) | (columns.version_at >= since)
        with self._store.reading() as session:
            rows = [dict(row) for row in session.execute(sa.select(self._core).where(wanted)).mappings()]
        return [row for row in rows if row["id"] not in self._listed and self._is_touched(row)]

    def _is_touched(self, row: Row) -> bool:
        if self.stream.again is Again.EVERYTHING:
            return True
        dated = _moment(read_json(row["body"]).get(self.stream.dated))
        moments = (row["created_at"], row["updated_at"], dated)
        return any(at is not None and at >= self._since for at in moments)

    def _get(self, ours: Row) -> Known | None:
        """Read one object by itself; None where the provider has it nowhere."""
        parts = [part for part in self._parts if not part.ids or part.account_id == ours.get("account_id")]
        parts += [Part(collection.name, collection) for collection in self.stream.elsewhere]
        for part in parts:
            try:
                answer = self._provider.get(part.collection, ours["id"], ids=part.ids, link=part.link)
            except MissingError:
                continue
            with self._store.reading() as session:
                return redact(session, [self._observe(answer.body, part, answer.at)])[0]
        return None

    def _observe(self, raw: bytes, part: Part, at: datetime | None) -> Known:
        connection = self._provider.connection
        seen = Observation(
            connection=connection.name, mode=connection.mode, seen_at=at or utc_now(), account_id=part.account_id
        )
        return observe(self.stream.kind, to_data(raw), seen)

    def _load(self, ids: Sequence[str]) -> dict[str, Row]:
        with self._store.reading() as session:
            return self._load_in(session, ids)

    def _load_in(self, session: Session, ids: Sequence[str]) -> dict[str, Row]:
        found: dict[str, Row] = {}
        dialect = session.connection().dialect.name
        for some in batches(ids, _IDS_A_STATEMENT):
            own = (self._core.c.connection == self._name, one_of(self._core.c.id, dialect, to_ids(some)))
            found |= {row["id"]: dict(row) for row in session.execute(sa.select(self._core).where(*own)).mappings()}
        return found

    def repair_all(self) -> None:
        """Read each differing object again and let that reading win.

        An object is mended when none of its fields differs any more; one that cannot be read now is not.
        """
        for id_ in dict.fromkeys(difference.id for difference in self.found):
            ours = self._load([id_]).get(id_)
            try:
                fresh = self._get(ours or {"id": id_}) or self._shown.get(id_)
            except UnusableObjectError as error:
                self._set_aside(id_, error)
                continue
            with self._store.transaction() as session:
                if fresh is None:
                    self._mark_gone(session, id_)
                    left = []
                else:
                    current = self._load_in(session, [id_]).get(id_)
                    merge_all(session, [_with_winning_version(fresh, current)])
                    ours = self._load_in(session, [id_]).get(id_)
                    left = compare(ours, to_values(fresh), self._kind, unstable=self.stream.unstable)
            if fresh is not None and self.stream.name == "payouts":
                problems = read_again(self._store, self._provider, id_)
                self.unusable += problems
                if problems:
                    continue
            if not left:
                self._mended.add(id_)

    def _mark_gone(self, session: Session, id_: str) -> None:
        mine = (self._core.c.connection == self._name) & (self._core.c.id == id_)
        session.execute(self._core.update().where(mine).values(gone_at=utc_now(), **stamp(self._core)))

    def record(self) -> None:
        """Keep what was found until the next comparison, for the report and the page."""
        now = utc_now()
        rows = [
            {
                "connection": self._name,
                "stream": self.stream.name,
                "id": difference.id,
                "field": difference.field or "",
                "kind": difference.kind.value,
                "ours": difference.ours,
                "theirs": difference.theirs,
                "found_at": now,
                "repaired_at": now if difference.id in self._mended else None,
            }
            for difference in self.found
        ]
        mine = (_DRIFT.c.connection == self._name) & (_DRIFT.c.stream == self.stream.name)
        with self._store.transaction() as session:
            session.execute(_DRIFT.delete().where(mine))
            if rows:
                session.execute(_DRIFT.insert(), rows)


def _with_winning_version(fresh: Known, ours: Row | None) -> Known:
    """Return a fresh reading with a version above ours: the provider decides what its object is."""
    if ours is None:
        return fresh
    version = (ours["version_at"], ours["version_rank"], ours["version_event"])
    if fresh.version <= version:
        fresh.version = (*version[:2], f"{version[2]}~")
    gone_at = ours["gone_at"]
    if gone_at is not None and fresh.version[0] <= gone_at:
        fresh.version = (gone_at + timedelta(microseconds=1), *fresh.version[1:])
    return fresh


def _is_later(ours: Row, theirs: Row) -> bool:
    return (
        ours["updated_at"] is not None
        and theirs["updated_at"] is not None
        and ours["updated_at"] > theirs["updated_at"]
    )


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def drift(
    installation: Installation,
    connection: Connection,
    *,
    days: int = 7,
    repair: bool = False,
    on_read: OnRead = read_quietly,
) -> DriftOutcome:
    """Compare every stream of one connection with the provider; with `repair`, mend what differs."""
    with open_provider(installation, connection) as provider:
        return compare_streams(installation, provider, STREAMS.values(), days=days, repair=repair, on_read=on_read)


def compare_streams(
    installation: Installation,
    provider: Provider,
    streams: Iterable[Stream],
    *,
    days: int,
    repair: bool,
    on_read: OnRead = read_quietly,
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
        mirror = Mirror(installation, provider, stream, since=now - timedelta(days=days), on_read=on_read)
        try:
            mirror.compare_all()
            failure = _mend(mirror) if repair else None
        except ProviderError as error:
            if was_unoffered(installation.store, name, stream.name, error):
                continue
            outcome.results.append(StreamResult(name, stream.name, StreamState.INCOMPLETE, reason=str(error)))
            if isinstance(error, (KeyRefusedError, UnreachableError)):
                break
            continue
        # What was found stands, also where its mending ended early.
        mirror.record()
        outcome.left += mirror.left
        outcome.found += [(stream.name, difference) for difference in mirror.found]
        outcome.results.append(_to_result(name, mirror, failure, repair=repair))
        if isinstance(failure, (KeyRefusedError, UnreachableError)):
            break
    return outcome


def _mend(mirror: Mirror) -> ProviderError | None:
    try:
        mirror.repair_all()
    except ProviderError as error:
        return error
    return None


def _to_result(name: str, mirror: Mirror, failure: ProviderError | None, *, repair: bool) -> StreamResult:
    left = mirror.left
    reasons = list(dict.fromkeys([*mirror.unusable, *([str(failure)] if failure else [])]))
    if left and repair:
        reasons.append("1 difference is left" if left == 1 else f"{left} differences are left")
    state = StreamState.INCOMPLETE if mirror.unusable or (repair and left) else StreamState.COMPLETE
    stream = mirror.stream.name
    return StreamResult(name, stream, state, mirror.pages, mirror.read, len(mirror.found), "; ".join(reasons) or None)
