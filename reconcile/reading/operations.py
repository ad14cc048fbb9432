"""Payments that a payment complement names: by the operation it states, which the payment or its transfer bears."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec
import sqlalchemy as sa
from pandas import DataFrame

from consumer.facts.installation import Connection
from consumer.facts.tables.provider import PaymentIntent, Transfer
from consumer.facts.tables.types import core_of
from reconcile.rules.inputs import OPERATIONS, empty_frame, to_types
from reconcile.rules.names import normalize
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment

_ROWS = 1_000
_INBOUND = "inbound"


def read_operations(database: sa.Connection, connection: Connection) -> DataFrame:
    """Read which documents the valid complements name for each payment; empty where there is no complement."""
    documents = _read_documents(database, connection)
    if not documents:
        return empty_frame(OPERATIONS)
    tracked = read_tracking_keys(database, connection)
    parts = {
        (payment, key): part
        for payment, at in _read_payments(database, connection)
        for operation in (normalize(tracked.get(at, "")), at[0])
        for key, part in documents.get(operation, {}).items()
    }
    found = [(*names, part) for names, part in sorted(parts.items(), key=lambda one: one[0])]
    return to_types(DataFrame(found, columns=list(OPERATIONS)), OPERATIONS) if found else empty_frame(OPERATIONS)


def _read_documents(database: sa.Connection, connection: Connection) -> Mapping[str, dict[str, int | None]]:
    """Return the documents that the merchant's valid complements settle, by the operation of the payment.

    Each has the part that was paid of it, or None if several complements say one or it is in another currency.
    """
    payments, documents = core_of(FiscalPayment).c, core_of(FiscalDocument).c
    same = (documents.connection == payments.connection) & (documents.doc_key == payments.doc_key)
    asked = (
        sa.select(payments.operation, payments.paid_key, payments.paid, payments.paid_currency == payments.currency)
        .join(core_of(FiscalDocument), same)
        .where(payments.connection == connection.name, payments.operation != "", payments.paid_key != "")
        .where(documents.status == "valid", documents.direction == "issued")
    )
    found: dict[str, dict[str, int | None]] = defaultdict(dict)
    for operation, key, paid, is_same_money in database.execute(asked):
        if name := normalize(operation):
            found[name][key] = paid if is_same_money and key not in found[name] else None
    return found


def read_tracking_keys(database: sa.Connection, connection: Connection) -> dict[tuple[str, int], str]:
    """Return the tracking keys of transfers that came in, by normalised reference and amount.

    Of several transfers with one reference and amount none is certain.
    """
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for transfer in _read_bodies(database, connection, Transfer, direction=_INBOUND):
        if transfer.tracking_key and transfer.at:
            found[transfer.at].add(transfer.tracking_key.strip())
    return {at: name for at, names in found.items() if len(names) == 1 for name in names}


def _read_payments(database: sa.Connection, connection: Connection) -> Iterator[tuple[str, tuple[str, int]]]:
    for payment in _read_bodies(database, connection, PaymentIntent, status="succeeded"):
        if payment.id and payment.at:
            yield payment.id, payment.at


class _Said(msgspec.Struct):
    """What of a payment or transfer is read: bodies have many fields, and most of them have no complement."""

    id: str | None = None
    reference_id: str | None = None
    amount: int | None = None
    tracking_key: str | None = None

    @property
    def at(self) -> tuple[str, int] | None:
        name = normalize(self.reference_id) if self.reference_id else ""
        return (name, self.amount) if name and self.amount is not None else None


_decode = msgspec.json.Decoder(_Said).decode


def _read_bodies(
    database: sa.Connection, connection: Connection, table: type[PaymentIntent | Transfer], **values: str
) -> Iterator[_Said]:
    columns = core_of(table).c
    mine = (columns.connection == connection.name, columns.mode == connection.mode, columns.gone_at.is_(None))
    asked = sa.select(columns.body).where(*mine, *(columns[name] == value for name, value in values.items()))
    for body in database.execute(asked.execution_options(yield_per=_ROWS)).scalars():
        # A field of another type than is documented says nothing here.
        with suppress(msgspec.ValidationError):
            yield _decode(body)
