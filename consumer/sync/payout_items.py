"""What each payout carries: its resources of all four types, counted against what the provider announces."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlmodel import Session

from consumer.facts.clock import utc_now
from consumer.facts.erasures import read_subjects
from consumer.facts.meaning import read_json, to_json
from consumer.facts.store import Store, put
from consumer.facts.tables.provider import Payout, PayoutCount, PayoutItem
from consumer.facts.tables.types import core_of
from consumer.facts.versions import Known, merge_all
from consumer.provider.client import Provider
from consumer.provider.errors import EndlessListError, ForeignLinkError, MissingError, ServerError, UnreadableError
from consumer.provider.fields import UnusableObjectError, identity, to_data
from consumer.provider.paging import PAYOUT_RESOURCES, Page
from consumer.provider.rows import Observation, observe, to_payout_item
from consumer.sync.windows import MOST_READS, Step, Steps

# The kind of object behind each type; both refund types hold refunds.
RESOURCE_KINDS = {
    "payment_intent": "payment_intent",
    "charge": "charge",
    "refund": "refund",
    "refund_adjustment": "refund",
}
FINAL = {"succeeded", "canceled", "returned"}
# What may be wrong with one payout alone; a key that is refused or a provider that is away ends the reading of all.
_OF_ONE_PAYOUT = (MissingError, ServerError, UnreadableError, EndlessListError, ForeignLinkError)
# Each list has been asked for several times over a minute; a month of payouts would take hours.
MOST_FAILURES = 3
_ITEM = core_of(PayoutItem)
_COUNT_KEY = ("connection", "payout_id", "resource_type")
_ITEM_KEY = (*_COUNT_KEY, "resource_id")


Item = tuple[str, str]  # its type and its id
Money = tuple[int, str]
KeepPlace = Callable[[str], Step]


@dataclass(slots=True)
class ItemsRead:
    pages: int = 0
    problems: list[str] = field(default_factory=list)


def read_payout_items(
    provider: Provider, steps: Steps, payouts: Iterable[str], *, after: str | None, keep_place: KeepPlace
) -> ItemsRead:
    """Read the items of these payouts; what does not add up is named.

    A place is the last list of items that was read to its end; a killed reading goes on behind it. Where the provider
    itself fails at a payout its other lists wait for the next reading. Raise ServerError if it fails at
    `MOST_FAILURES` payouts in a row.
    """
    done = ItemsRead()
    kinds = list(enumerate(RESOURCE_KINDS))
    failed: list[str] = []
    places = sorted((f"{payout} {number}", payout, kind) for payout in payouts for number, kind in kinds)
    for place, payout_id, resource_type in places:
        if payout_id in failed[-1:] or (after is not None and place <= after):
            continue
        try:
            _Items(provider, steps, payout_id, resource_type).read(done)
            failed.clear()
        except _OF_ONE_PAYOUT as error:
            failed = [*failed, payout_id] if isinstance(error, ServerError) else []
            if len(failed) == MOST_FAILURES:
                why = (
                    f"the provider failed at the items of {MOST_FAILURES} payouts in a row; the rest were not asked for"
                )
                raise ServerError(f"{why}: {error}") from error
            done.problems.append(f"{payout_id}: its items of type {resource_type}: {error}")
        if not done.problems:  # who goes on behind a place must not lose what went wrong before it
            steps.add(keep_place(place))
    return done


def read_again(store: Store, provider: Provider, payout_id: str) -> list[str]:
    """Read all items of one payout anew, known ones too; return what does not add up."""
    done, steps = ItemsRead(), Steps(store)
    for resource_type in RESOURCE_KINDS:
        _Items(provider, steps, payout_id, resource_type).read(done)
    steps.write()
    return done.problems


def items_here(store: Store, connection: str, payout_id: str) -> dict[Item, Money]:
    column = _ITEM.c
    mine = (column.connection == connection) & (column.payout_id == payout_id)
    asked = sa.select(column.resource_type, column.resource_id, column.amount, column.currency).where(mine)
    with store.reading() as session:
        return {(kind, id_): (amount, currency) for kind, id_, amount, currency in session.execute(asked)}


def items_there(provider: Provider, payout_id: str) -> dict[Item, Money]:
    """Return what the provider says a payout carries, without keeping it."""
    connection, found = provider.connection, {}
    for resource_type in RESOURCE_KINDS:
        query = {"resource_type": resource_type}
        for page in provider.pages(PAYOUT_RESOURCES, ids={"payout": payout_id}, query=query):
            seen = Observation(connection=connection.name, mode=connection.mode, seen_at=page.at or utc_now())
            for raw in page.items:
                item = to_payout_item(to_data(raw), seen, payout_id=payout_id, resource_type=resource_type)
                found[resource_type, item.resource_id] = (item.amount, item.currency)
    return found


def payouts_to_read(session: Session, connection: str) -> list[str]:
    """Return the payouts that are new, changed since their items were read, not final, or whose count did not agree."""
    read_at: dict[str, dict[str, datetime]] = defaultdict(dict)
    count, payout = core_of(PayoutCount).c, core_of(Payout).c
    agrees = count.announced.is_(None) | (count.announced == count.kept)
    counted = sa.select(count.payout_id, count.resource_type, count.pulled_at)
    for row in session.execute(counted.where(count.connection == connection, agrees)):
        read_at[row.payout_id][row.resource_type] = row.pulled_at
    payouts = sa.select(payout.id, payout.status, payout.updated_at)
    found = session.execute(payouts.where(payout.connection == connection, payout.gone_at.is_(None)))
    return sorted(row.id for row in found if not _is_known(row.status, row.updated_at, read_at[row.id]))


def _is_known(status: str, updated_at: datetime | None, read_at: dict[str, datetime]) -> bool:
    if status not in FINAL or set(read_at) != set(RESOURCE_KINDS):
        return False
    return updated_at is None or min(read_at.values()) >= updated_at


class _Items:
    """The resources of one type in one payout."""

    def __init__(self, provider: Provider, steps: Steps, payout_id: str, resource_type: str) -> None:
        self._steps = steps
        self._provider = provider
        self._payout_id = payout_id
        self._type = resource_type
        self._ids: set[str] = set()
        self._unusable: dict[str, str] = {}

    def read(self, done: ItemsRead) -> None:
        """Read the list until it agrees with its total or with itself; writes wait for the next request."""
        total: int | None = None
        pulled_at = datetime.max.replace(tzinfo=UTC)
        for _ in range(MOST_READS):
            earlier = set(self._ids)
            self._ids.clear()
            self._unusable.clear()
            totals = []
            self._steps.write()
            for page in self._pages():
                totals.append(page.total)
                # The earliest page's time, so that a change during the walk is read again.
                pulled_at = min(pulled_at, page.at or utc_now())
                self._keep(page)
                done.pages += 1
                if page.next is not None:
                    self._steps.write()
            total = totals[-1]
            sent = len(self._ids) + len(self._unusable)
            if set(totals) == {sent} if total is not None else len(totals) == 1 or earlier == self._ids:
                break
        else:
            if total is None:  # what was left out is unproved: every item stays and the next run asks again
                done.problems.append(f"{self._payout_id}: its items of type {self._type} differ with each reading")
                return
        done.problems += self._unusable.values()
        if total is not None and total != sent:
            done.problems.append(
                f"{self._payout_id}: {total} items of type {self._type} were announced and {sent} sent"
            )
        self._conclude(total, pulled_at)

    def _pages(self) -> Iterator[Page]:
        return self._provider.pages(
            PAYOUT_RESOURCES, ids={"payout": self._payout_id}, query={"resource_type": self._type}
        )

    def _keep(self, page: Page) -> None:
        connection = self._provider.connection
        seen = Observation(connection=connection.name, mode=connection.mode, seen_at=page.at or utc_now())
        items: list[PayoutItem] = []
        objects: list[Known] = []
        for raw in page.items:
            try:
                data = to_data(raw)
                item = to_payout_item(data, seen, payout_id=self._payout_id, resource_type=self._type)
                objects.append(observe(RESOURCE_KINDS[self._type], data, seen))
            except UnusableObjectError as error:
                which = identity(raw)[0] or "one without id"
                found = f"{self._payout_id}: an item of type {self._type}, {which}: {error}"
                self._unusable[hashlib.sha256(raw).hexdigest()] = found
                continue
            items.append(item)
            self._ids.add(item.resource_id)

        def write(session: Session) -> None:
            subjects = read_subjects(session.connection())
            for item in items:
                if subjects is not None and subjects.is_in(said := read_json(item.body)):
                    item.body = to_json(subjects.redact(said))
                put(session.connection(), PayoutItem, item.model_dump() | {"written_at": utc_now()}, keys=_ITEM_KEY)
            merge_all(session, objects)

        self._steps.add(write)

    def _conclude(self, total: int | None, pulled_at: datetime) -> None:
        connection = self._provider.connection.name
        column = _ITEM.c
        mine = (column.connection == connection) & (column.payout_id == self._payout_id)
        mine &= column.resource_type == self._type
        row = {
            "connection": connection,
            "payout_id": self._payout_id,
            "resource_type": self._type,
            "announced": total,
            "kept": len(self._ids),
            "pulled_at": pulled_at,
        }

        def write(session: Session) -> None:
            if total is None or total == len(self._ids):
                known = set(session.execute(sa.select(column.resource_id).where(mine)).scalars())
                for resource_id in sorted(known - self._ids):
                    session.execute(_ITEM.delete().where(mine, column.resource_id == resource_id))
            put(session.connection(), PayoutCount, row, keys=_COUNT_KEY)

        self._steps.add(write)
