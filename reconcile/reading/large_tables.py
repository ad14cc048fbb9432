"""The large tables a run reads, as queries: each whole, in no particular order."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import sqlalchemy as sa
from sqlmodel import SQLModel

from consumer.facts.installation import Connection
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import Charge, Customer, PaymentIntent, PayoutItem, Refund
from reconcile.reading.columnar import Column, Statement, read_table, without_index
from reconcile.reading.items import CHARGE_SUBTYPE, CUSTOMERS, FACTS, LISTED, SALE, SOURCES
from reconcile.rules.inputs import DOCUMENTS, FEES, Schema
from reconcile.rules.payouts import PAYMENT_TYPES
from reconcile.tables import LocalInvoice, ProviderFee


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


class LargeTables:
    """Queries of one connection and mode."""

    def __init__(self, database: sa.Connection, connection: Connection) -> None:
        self._database, self._connection = database, connection

    def read(self, name: str) -> pa.Table:
        """Read a table whole; of payments those alone that succeeded or that a payout carries."""
        large, columns = LARGE[name], core_of(LARGE[name].table).c
        wanted = self._selected(name).where(without_index(columns.connection, self._database) == self._connection.name)
        if name in PAYMENT_TYPES:
            wanted = wanted.where(sa.or_(columns.status == "succeeded", self._is_carried(columns.id)))
        return read_table(self._database, wanted, large.schema, along=core_of(large.table))

    def _is_carried(self, resource_id: Column) -> sa.Exists:
        """Return True if a payout lists a payment; asked row by row, since the status decides for most payments."""
        items = core_of(PayoutItem).c
        mine = (
            without_index(items.connection, self._database) == self._connection.name,
            items.mode == self._connection.mode,
        )
        return sa.select(items.resource_id).where(*mine, items.resource_id == resource_id).exists()

    def _selected(self, name: str) -> Statement:
        """Rows of any connection; provider objects of this mode that are not gone, and of events the sources."""
        large, columns = LARGE[name], core_of(LARGE[name].table).c
        wanted = sa.select(*(_named(large, column) for column in large.schema))
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
        known = [
            without_index(column, self._database).is_not(None) for column in (columns.resource_id, columns.created_at)
        ]
        return *known, is_any


def _named(large: Large, name: str) -> Column:
    columns, there = core_of(large.table).c, large.others.get(name, name)
    # A fact that a table of resources has no column for is unknown there.
    if name in large.fixed or (large.schema is FACTS and there not in columns):
        return sa.literal(large.fixed.get(name), sa.String).label(name)
    return columns[there].label(name)
