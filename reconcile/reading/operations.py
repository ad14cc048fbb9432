"""Payments that a payment complement names: by the operation it states, which the payment or its transfer bears."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

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
_decode = msgspec.json.Decoder(dict[str, object]).decode


def read_operations(database: sa.Connection, connection: Connection) -> DataFrame:
    """Read which documents the valid complements name for each payment; empty where there is no complement."""
    documents = _read_documents(database, connection)
    if not documents:
        return empty_frame(OPERATIONS)
    transfers = _read_transfers(database, connection, documents)
    found = sorted({
        (payment, key)
        for payment, reference, amount in _read_payments(database, connection)
        for operation in {reference, transfers.get((reference, amount), "")}
        for key in documents.get(operation, ())
    })  # fmt: skip
    return to_types(DataFrame(found, columns=list(OPERATIONS)), OPERATIONS) if found else empty_frame(OPERATIONS)


def _read_documents(database: sa.Connection, connection: Connection) -> Mapping[str, set[str]]:
    """Return the documents that the merchant's valid complements settle, by the operation of the payment."""
    payments, documents = core_of(FiscalPayment).c, core_of(FiscalDocument).c
    same = (documents.connection == payments.connection) & (documents.doc_key == payments.doc_key)
    asked = (
        sa.select(payments.operation, payments.paid_key)
        .join(core_of(FiscalDocument), same)
        .where(payments.connection == connection.name, payments.operation != "", payments.paid_key != "")
        .where(documents.status == "valid", documents.direction == "issued")
    )
    found: dict[str, set[str]] = defaultdict(set)
    for operation, key in database.execute(asked):
        if name := normalize(operation):
            found[name].add(key)
    return found


def _read_transfers(
    database: sa.Connection, connection: Connection, known: Mapping[str, set[str]]
) -> dict[tuple[str, int], str]:
    """Return the tracking keys that complements state, by reference and amount of the transfer that came in with them.

    Of several transfers with one reference and amount none is certain.
    """
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for body in _read_bodies(database, connection, Transfer, direction=_INBOUND):
        key, reference, amount = (body.get(name) for name in ("tracking_key", "reference_id", "amount"))
        name = normalize(key) if isinstance(key, str) else ""
        if name and isinstance(reference, str) and isinstance(amount, int):
            found[normalize(reference), amount].add(name)
    return {at: name for at, names in found.items() if len(names) == 1 for name in names if name in known}


def _read_payments(database: sa.Connection, connection: Connection) -> Iterator[tuple[str, str, int]]:
    for body in _read_bodies(database, connection, PaymentIntent, status="succeeded"):
        identity, reference, amount = (body.get(name) for name in ("id", "reference_id", "amount"))
        if isinstance(identity, str) and isinstance(reference, str) and isinstance(amount, int):
            name = normalize(reference)
            if name:
                yield identity, name, amount


def _read_bodies(
    database: sa.Connection, connection: Connection, table: type[PaymentIntent | Transfer], **values: str
) -> Iterator[Mapping[str, object]]:
    columns = core_of(table).c
    mine = (columns.connection == connection.name, columns.mode == connection.mode, columns.gone_at.is_(None))
    asked = sa.select(columns.body).where(*mine, *(columns[name] == value for name, value in values.items()))
    for body in database.execute(asked.execution_options(yield_per=_ROWS)).scalars():
        yield _decode(body)
