"""The tables with a row for each sale, read whole or for the keys that are asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlmodel import SQLModel

from consumer.facts.installation import Connection
from consumer.facts.store import batches, one_of, to_ids
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import Charge, Customer, PaymentIntent, PayoutItem, Refund
from consumer.facts.tables.types import core_of
from reconcile.reading.items import CHARGE_SUBTYPE, CUSTOMERS, FACTS, LISTED, SALE, SOURCES
from reconcile.reading.queries import Column, Statement, empty_table, read_table, without_index
from reconcile.rules.columns import to_one_array
from reconcile.rules.inputs import DOCUMENTS, FEES, PAYMENT_TYPES, Schema
from reconcile.tables.books import LocalInvoice, ProviderFee


@dataclass(frozen=True, slots=True)
class Large:
    """A table with the columns read of it; `others` have another name there, `fixed` are the same in every row."""

    table: type[SQLModel]
    schema: Schema
    others: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)


_ID = {"resource_id": "id", **SALE}
LARGE = {
    "payout_item": Large(PayoutItem, LISTED),
    "payment_intent": Large(PaymentIntent, FACTS, _ID | {"resource_subtype": "subtype"}, {"kind": "payment_intent"}),
    "charge": Large(Charge, FACTS, _ID, {"kind": "charge", "resource_subtype": CHARGE_SUBTYPE}),
    "refund": Large(Refund, FACTS, _ID | {"parent_id": "resource_id"}, {"kind": "refund"}),
    "customer": Large(Customer, CUSTOMERS, {"customer_id": "id"}),
    "event": Large(Event, SOURCES, {"event_id": "id"}),
    "local_invoice": Large(LocalInvoice, DOCUMENTS),
    "provider_fee": Large(ProviderFee, FEES),
}


@dataclass(frozen=True, slots=True)
class Only:
    """What is read of the large tables: resources and documents by their ids, fees by their payout or resource.

    Of resources and documents what was written `since` a moment is read by its index, so that only the rest is looked
    up.
    """

    resources: Sequence[str] = ()
    documents: Sequence[str] = ()
    fees_of_payouts: Sequence[str] = ()
    fees_of_resources: Sequence[str] = ()
    since: datetime | None = None


# The column by which some rows of a large table are asked for.
_KEYS = {"payout_item": "resource_id", "event": "resource_id", "local_invoice": "doc_key"}
# The column that says when a row was written.
_WRITTEN = {"local_invoice": "updated_at", "event": None, "customer": None, "provider_fee": None}
# Tables with an index of that column alone.
_KEYED_ALONE = ("payout_item", "event")
_ROWS_AT_ONCE = 20_000


class LargeTables:
    """Queries of one connection and mode."""

    def __init__(self, database: sa.Connection, connection: Connection, only: Only | None = None) -> None:
        self._database, self._connection, self._only = database, connection, only

    def read(self, name: str) -> pa.Table:
        """Read a table, or what is wanted of it; of payments those alone that succeeded or that a payout carries."""
        if self._only is not None:
            return self._read_some(name, self._only)
        large, columns = LARGE[name], core_of(LARGE[name].table).c
        wanted = self._select(name).where(self._without_index(columns.connection) == self._connection.name)
        if name in PAYMENT_TYPES:
            wanted = wanted.where(sa.or_(columns.status == "succeeded", self._is_carried(columns.id)))
        return read_table(self._database, wanted, large.schema, along=core_of(large.table))

    def add_customers(self, customers: pa.Table, facts: pa.Table) -> pa.Table:
        """Return the customers that were read whole, or those that some facts name."""
        if self._only is None:
            return customers
        return self._read_by("customer", "id", pc.unique(facts["customer_id"]).drop_null().to_pylist())

    def _read_some(self, name: str, only: Only) -> pa.Table:
        if name == "customer":
            return empty_table(CUSTOMERS)
        if name == "local_invoice":
            return self._read_by(name, "doc_key", only.documents)
        if name == "provider_fee":
            both = (
                self._read_by(name, "payout_id", only.fees_of_payouts),
                self._read_listed_fees(only.fees_of_resources),
            )
            return pa.concat_tables(both).combine_chunks()
        return self._read_by(name, _KEYS.get(name, "id"), only.resources)

    def _read_by(self, name: str, key: str, values: Sequence[str]) -> pa.Table:
        """Read the rows of some keys, by the index of these: that of the connection has all rows there are."""
        large, columns = LARGE[name], core_of(LARGE[name].table).c
        by_connection = columns.connection if name not in _KEYED_ALONE else self._without_index(columns.connection)
        every, mine = self._select(name), self._connection.name
        if name in PAYMENT_TYPES:
            every = every.where(sa.or_(columns.status == "succeeded", self._is_carried(columns.id)))
        wanted, since = every.where(by_connection == mine), self._only and self._only.since
        written = _WRITTEN.get(name, "written_at")
        if since is None or written is None:
            return self._read_batches(wanted, large.schema, columns[key], values)
        at = columns[written]
        late = read_table(self._database, every.where(columns.connection == mine, at >= since), large.schema)
        if name == "payout_item":
            # A resource may be listed twice, before and since.
            wanted = wanted.where(sa.or_(at.is_(None), at < since))
        else:
            known = to_one_array(late["doc_key" if key == "doc_key" else "resource_id"])
            every_one = pa.array(values, type=pa.large_string())
            values = every_one.filter(pc.invert(pc.is_in(every_one, value_set=known))).to_pylist()
        return pa.concat_tables([late, self._read_batches(wanted, large.schema, columns[key], values)]).combine_chunks()

    def _read_listed_fees(self, resources: Sequence[str]) -> pa.Table:
        """Read the fees of resources in the payouts that list them."""
        fees, items = core_of(ProviderFee).c, core_of(PayoutItem).c
        same = (items.connection == fees.connection, items.payout_id == fees.payout_id)
        wanted = sa.select(*(fees[name] for name in FEES)).select_from(
            core_of(PayoutItem).join(core_of(ProviderFee), sa.and_(*same, items.resource_id == fees.resource_id))
        )
        mine = (self._without_index(items.connection) == self._connection.name, items.mode == self._connection.mode)
        return self._read_batches(wanted.where(*mine).distinct(), FEES, items.resource_id, resources)

    def _read_batches(self, wanted: Statement, schema: Schema, column: Column, values: Sequence[str]) -> pa.Table:
        dialect = self._database.dialect.name
        found = [
            read_table(self._database, wanted.where(one_of(column, dialect, to_ids(some))), schema)
            for some in batches(values, _ROWS_AT_ONCE)
        ]
        return pa.concat_tables([empty_table(schema), *found]).combine_chunks()

    def _is_carried(self, resource_id: Column) -> sa.Exists:
        """Return True if a payout lists a payment; asked row by row, since the status decides for most payments."""
        items = core_of(PayoutItem).c
        mine = (
            self._without_index(items.connection) == self._connection.name,
            items.mode == self._connection.mode,
        )
        return sa.select(items.resource_id).where(*mine, items.resource_id == resource_id).exists()

    def _without_index(self, column: Column) -> Column:
        return without_index(column, self._database)

    def _select(self, name: str) -> Statement:
        """Rows of any connection; provider objects of this mode that are not gone, and of events the sources."""
        large, columns = LARGE[name], core_of(LARGE[name].table).c
        wanted = sa.select(*(_name_column(large, column) for column in large.schema))
        if "mode" in columns:
            wanted = wanted.where(columns.mode == self._connection.mode)
        if "gone_at" in columns:
            wanted = wanted.where(columns.gone_at.is_(None))
        return wanted.where(*self._is_source()) if large.table is Event else wanted

    def _is_source(self) -> tuple[Column, ...]:
        """Events that said a resource succeeded (of a refund: any), whichever way they came in."""
        columns = core_of(Event).c
        succeeded = columns.type.in_([f"{kind}.succeeded" for kind in PAYMENT_TYPES])
        is_any = sa.or_(succeeded, columns.type.startswith("refund.", autoescape=True))
        # Else SQLite goes by the index of these columns, which nearly all events have.
        known = [self._without_index(column).is_not(None) for column in (columns.resource_id, columns.created_at)]
        return *known, is_any


def _name_column(large: Large, name: str) -> Column:
    columns, there = core_of(large.table).c, large.others.get(name, name)
    # A fact that a table of resources has no column for is unknown there.
    if name in large.fixed or (large.schema is FACTS and there not in columns):
        return sa.literal(large.fixed.get(name), sa.String).label(name)
    return columns[there].label(name)
