"""What each payout carries: its resources of all four types, counted against what the provider announces."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, select

from consumer.facts.clock import utc_now
from consumer.facts.store import Store, put
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.provider import Payout, PayoutCount, PayoutItem
from consumer.facts.versions import merge_all
from consumer.provider.client import Provider
from consumer.provider.errors import Broken, EndlessList, ForeignLink, Missing, Unreadable
from consumer.provider.fields import identity, to_data
from consumer.provider.paging import Page
from consumer.provider.routes import PAYOUT_RESOURCES
from consumer.provider.rows import Observation, UnusableObject, observe, to_payout_item

# The kind of object behind each type; both refund types hold refunds.
RESOURCE_KINDS = {
    "payment_intent": "payment_intent",
    "charge": "charge",
    "refund": "refund",
    "refund_adjustment": "refund",
}
FINAL = {"succeeded", "canceled", "returned"}
MOST_READS = 4
# What may be wrong with one payout alone; a key that is refused or a provider that is away ends the reading of all.
_OF_ONE_PAYOUT = (Missing, Broken, Unreadable, EndlessList, ForeignLink)
_ITEM = core_of(PayoutItem)
_COUNT_KEY = ("connection", "payout_id", "resource_type")
_ITEM_KEY = (*_COUNT_KEY, "resource_id")


Item = tuple[str, str]  # its type and its id
Money = tuple[int, str]
KeepPlace = Callable[[Session, str], None]


@dataclass(slots=True)
class ItemsRead:
    pages: int = 0
    problems: list[str] = field(default_factory=list)


def keep_nothing(_session: Session, _place: str) -> None:
    pass


def read_payout_items(
    store: Store, provider: Provider, *, after: str | None = None, keep_place: KeepPlace = keep_nothing
) -> ItemsRead:
    """Read the items of every payout whose items are not known for sure; what does not add up is named.

    A place is the last list of items that was read to its end; a killed reading goes on behind it.
    """
    done = ItemsRead()
    with store.reading() as session:
        wanted = payouts_to_read(session, provider.connection.name)
    kinds = list(enumerate(RESOURCE_KINDS))
    places = sorted((f"{payout} {number}", payout, kind) for payout in wanted for number, kind in kinds)
    for place, payout_id, resource_type in places:
        if after is not None and place <= after:
            continue

        def conclude(session: Session, place: str = place) -> None:
            if not done.problems:  # whoever goes on behind a place must not lose what went wrong before it
                keep_place(session, place)

        try:
            _Items(store, provider, payout_id, resource_type).read(done, conclude)
        except _OF_ONE_PAYOUT as error:
            done.problems.append(f"{payout_id}: its items of type {resource_type}: {error}")
    return done


def read_again(store: Store, provider: Provider, payout_id: str) -> list[str]:
    """Read all items of one payout anew, whatever is known of them; returns what does not add up."""
    done = ItemsRead()
    for resource_type in RESOURCE_KINDS:
        _Items(store, provider, payout_id, resource_type).read(done, lambda _session: None)
    return done.problems


def items_here(store: Store, connection: str, payout_id: str) -> dict[Item, Money]:
    column = _ITEM.c
    mine = (column.connection == connection) & (column.payout_id == payout_id)
    asked = sa.select(column.resource_type, column.resource_id, column.amount, column.currency).where(mine)
    with store.reading() as session:
        return {(kind, id_): (amount, currency) for kind, id_, amount, currency in session.execute(asked)}


def items_there(provider: Provider, payout_id: str) -> dict[Item, Money]:
    """Read what the provider says a payout carries, and keep nothing of it."""
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
    """Name the payouts that are new, changed since their items were read, not final, or whose count did not agree."""
    read_at: dict[str, dict[str, datetime]] = defaultdict(dict)
    for count in session.exec(select(PayoutCount).where(PayoutCount.connection == connection)):
        if count.announced is None or count.announced == count.kept:
            read_at[count.payout_id][count.resource_type] = count.pulled_at
    payouts = session.exec(select(Payout).where(Payout.connection == connection, sa.column("gone_at").is_(None)))
    return sorted(payout.id for payout in payouts if not _is_known(payout, read_at[payout.id]))


def _is_known(payout: Payout, read_at: dict[str, datetime]) -> bool:
    if payout.status not in FINAL or set(read_at) != set(RESOURCE_KINDS):
        return False
    return payout.updated_at is None or min(read_at.values()) >= payout.updated_at


class _Items:
    """The resources of one type in one payout."""

    def __init__(self, store: Store, provider: Provider, payout_id: str, resource_type: str) -> None:
        self._store = store
        self._provider = provider
        self._payout_id = payout_id
        self._type = resource_type
        self._ids: set[str] = set()
        self._pulled_at: datetime | None = None
        self._unusable: dict[str, str] = {}

    def read(self, done: ItemsRead, keep_place: Callable[[Session], None]) -> None:
        total: int | None = None
        for _ in range(MOST_READS):
            earlier = set(self._ids)
            self._ids.clear()
            self._unusable.clear()
            totals = []
            for page in self._pages():
                totals.append(page.total)
                self._keep(page)
                done.pages += 1
            total = totals[-1]
            sent = len(self._ids) + len(self._unusable)
            if set(totals) == {sent} if total is not None else len(totals) == 1 or earlier == self._ids:
                break
        else:
            if total is None:  # nothing proves what was left out, so nothing is taken away and the next run asks again
                done.problems.append(f"{self._payout_id}: its items of type {self._type} differ with each reading")
                return
        done.problems += self._unusable.values()
        if total is not None and total != sent:
            done.problems.append(
                f"{self._payout_id}: {total} items of type {self._type} were announced and {sent} sent"
            )
        self._conclude(total, keep_place)

    def _pages(self) -> Iterator[Page]:
        return self._provider.pages(
            PAYOUT_RESOURCES, ids={"payout": self._payout_id}, query={"resource_type": self._type}
        )

    def _keep(self, page: Page) -> None:
        connection = self._provider.connection
        # The earliest page's time, so that a change during the walk is read again.
        self._pulled_at = self._pulled_at or page.at or utc_now()
        observed = Observation(connection=connection.name, mode=connection.mode, seen_at=page.at or utc_now())
        with self._store.transaction() as session:
            objects = []
            for raw in page.items:
                try:
                    data = to_data(raw)
                    item = to_payout_item(data, observed, payout_id=self._payout_id, resource_type=self._type)
                    objects.append(observe(RESOURCE_KINDS[self._type], data, observed))
                except UnusableObject as error:
                    which = identity(raw)[0] or "one without id"
                    found = f"{self._payout_id}: an item of type {self._type}, {which}: {error}"
                    self._unusable[hashlib.sha256(raw).hexdigest()] = found
                    continue
                put(session.connection(), PayoutItem, item.model_dump(), keys=_ITEM_KEY)
                self._ids.add(item.resource_id)
            merge_all(session, objects)

    def _conclude(self, total: int | None, keep_place: Callable[[Session], None]) -> None:
        connection = self._provider.connection.name
        column = _ITEM.c
        mine = (column.connection == connection) & (column.payout_id == self._payout_id)
        mine &= column.resource_type == self._type
        with self._store.transaction() as session:
            if total is None or total == len(self._ids):
                known = set(session.execute(sa.select(column.resource_id).where(mine)).scalars())
                for resource_id in sorted(known - self._ids):
                    session.execute(_ITEM.delete().where(mine, column.resource_id == resource_id))
            count = {
                "connection": connection,
                "payout_id": self._payout_id,
                "resource_type": self._type,
                "announced": total,
                "kept": len(self._ids),
                "pulled_at": self._pulled_at or utc_now(),
            }
            put(session.connection(), PayoutCount, count, keys=_COUNT_KEY)
            keep_place(session)
