"""Everything one run looks at, read in one view of the database into the frames that rules take."""

from collections.abc import Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from datetime import date, datetime, timedelta

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pandas import DataFrame
from sqlmodel import Session, SQLModel

from consumer.facts.bankdays import read_calendar
from consumer.facts.installation import Connection, Settings
from consumer.facts.store import batches
from consumer.facts.tables.inbox import Event, EventConflict
from consumer.facts.tables.orders import OrderAnswer
from consumer.facts.tables.provider import AccountMovement, Dispute, Entity, Payout, PayoutCount, PayoutItem, Transfer
from consumer.facts.tables.sync import Checkpoint, Window, WindowState
from consumer.facts.tables.types import core_of
from consumer.facts.taxids import GENERIC_RFCS, GENERIC_RUTS
from reconcile.books.bank_statements import LAST_DIGITS
from reconcile.reading.bank import account_name, read_bank
from reconcile.reading.gaps import Asked, Listed, clock_of_provider, find_gaps
from reconcile.reading.items import (
    build_items,
    build_unknown_customers,
    facts_of_bodies,
    mark_own,
    places_of_listed,
    unreadable_moments,
)
from reconcile.reading.large_tables import LargeTables, Only
from reconcile.reading.operations import read_operations
from reconcile.reading.payers import read_payers
from reconcile.reading.process import background_thread
from reconcile.reading.queries import Column, Statement, in_order, read_table, to_frame, to_known_frame, without_index
from reconcile.reading.transfers import WENT_BACK, to_transfers
from reconcile.rules.inputs import (
    CHANGED_DOCUMENTS,
    CONFLICTS,
    DECISIONS,
    DISPUTES,
    DOCUMENTS,
    FEES,
    ORDERS,
    PAYOUTS,
    RATES,
    TEXT,
    Inputs,
    Row,
    Schema,
    to_types,
)
from reconcile.rules.streams import STREAMS
from reconcile.rules.terms import to_rules, to_tariff
from reconcile.tables.books import ExchangeRate, LocalInvoice
from reconcile.tables.desk import Decision
from reconcile.tables.fiscal import FiscalDocument

_RESOURCES = ("payment_intent", "charge", "refund")
_LISTED_ORDER = ("payout_id", "resource_type", "resource_id")
_ISSUED = "issued"


def read_inputs(  # noqa: PLR0913 - a day, a moment and how much to read
    session: Session,
    connection: Connection,
    settings: Settings,
    *,
    as_of: date,
    now: datetime,
    only: Only | None = None,
    small: Inputs | None = None,
) -> Inputs:
    """Read what one run looks at, in one view of the database; `now` only says which days are over.

    `small` are inputs of the same view, of which all but the large tables is taken.
    """
    reader, calendar = _Reader(session, connection), read_calendar(settings.files_dir, connection.country_code)
    large = LargeTables(session.connection(), connection, only)
    # What was read is joined and sorted in a thread while the next tables are read.
    with background_thread() as worker:
        # The library of bank days is slow to load.
        worker.submit(calendar.on_or_after, as_of)
        items, unknown_customers = reader.items(large, worker)
        documents = worker.submit(to_known_frame, large.read("local_invoice"), DOCUMENTS, "doc_key")
        fees = to_frame(in_order(large.read("provider_fee"), ("payout_id", "resource_id")), FEES)
        if only is not None:
            fees = fees.drop_duplicates(ignore_index=True)
        if small is not None:
            return replace(
                small, fees=fees, items=items.result(), unknown_customers=unknown_customers.result(),
                documents=documents.result(),
            )  # fmt: skip
        return Inputs(
            connection=connection.name,
            country=connection.country_code,
            mode=connection.mode,
            as_of=as_of,
            payouts=reader.payouts(),
            disputes=reader.frame(Dispute, DISPUTES, "dispute_id", dispute_id="id"),
            fees=fees,
            gaps=reader.gaps(as_of, settle=timedelta(seconds=settings.settle_seconds), now=now),
            conflicts=reader.conflicts(),
            decisions=reader.decisions(),
            bank=read_bank(session.connection(), connection, calendar),
            rates=reader.frame(ExchangeRate, RATES, "currency", "on"),
            orders=reader.frame(OrderAnswer, ORDERS, "order_ref"),
            payers=read_payers(session.connection(), connection.name),
            operations=read_operations(session.connection(), connection),
            changed_documents=read_changed_documents(session.connection(), connection),
            tariff=to_tariff(settings.tariff),
            rules=to_rules(settings.rules),
            calendar=calendar,
            voucher_model=connection.voucher_model,
            items=items.result(),
            unknown_customers=unknown_customers.result(),
            documents=documents.result(),
        )


def read_documents(session: Session, connection: Connection) -> DataFrame:
    """Read the merchant's books."""
    books = LargeTables(session.connection(), connection).read("local_invoice")
    return to_known_frame(books, DOCUMENTS, "doc_key")


def read_decisions(session: Session, connection: Connection) -> DataFrame:
    """Read what people decided and did not undo."""
    return _Reader(session, connection).decisions()


def read_transfers(session: Session, connection: Connection) -> DataFrame:
    """Read the transfers whose money went back."""
    return _Reader(session, connection).transfers()


class _Reader:
    """Queries of one connection and mode."""

    def __init__(self, session: Session, connection: Connection) -> None:
        self._database = session.connection()
        self._connection = connection
        self._unreadable: list[tuple[str, str]] = []

    def _rows(self, statement: Statement) -> Sequence[Row]:
        return self._database.execute(statement).all()

    def _mine(self, table: type[SQLModel]) -> list[Column]:
        """Row of this connection; provider objects also of its mode and not gone at the provider."""
        columns = core_of(table).c
        conditions = [without_index(columns.connection, self._database) == self._connection.name]
        if "mode" in columns:
            conditions.append(columns.mode == self._connection.mode)
        if "gone_at" in columns:
            conditions.append(columns.gone_at.is_(None))
        return conditions

    def _table(self, table: type[SQLModel], schema: Schema, **others: str) -> pa.Table:
        """Read the columns of a schema from one table; `others` are those that have another name there."""
        columns = core_of(table).c
        named = [columns[others.get(name, name)].label(name) for name in schema]
        wanted = sa.select(*named).where(*self._mine(table))
        return read_table(self._database, wanted, schema, along=core_of(table))

    def frame(self, table: type[SQLModel], schema: Schema, *order: str, **others: str) -> DataFrame:
        return to_frame(in_order(self._table(table, schema, **others), order), schema)

    def payouts(self) -> DataFrame:
        numbers = dict.fromkeys(("recipient_last4", "recipient_account"), "recipient_number")
        found = self.frame(Payout, PAYOUTS, "created_at", "payout_id", payout_id="id", **numbers)
        named = {number: account_name(number) for number in found["recipient_account"].dropna().unique()}
        found["recipient_account"] = found["recipient_account"].map(named).astype(TEXT)
        found["recipient_last4"] = found["recipient_last4"].str[-LAST_DIGITS:]
        return to_types(found, PAYOUTS)

    def items(self, large: LargeTables, worker: Executor) -> tuple[Future[DataFrame], Future[DataFrame]]:
        """Read the items, and which payments name a customer who is not here."""
        carried = large.read("payout_item")
        listed = carried.filter(pc.is_in(carried["payout_id"], value_set=self._find_living()))
        facts = pa.concat_tables([large.read(name) for name in _RESOURCES]).combine_chunks()
        placing = worker.submit(places_of_listed, listed, facts)
        customers, sources = large.read("customer"), large.read("event")
        places = placing.result()
        if places.null_count:
            unknown = in_order(listed.filter(places.is_null()), _LISTED_ORDER)
            facts = pa.concat_tables([facts, self._facts_of_lists(unknown)]).combine_chunks()
            places = places_of_listed(listed, facts)
        customers = large.add_customers(customers, facts)
        split = mark_own(facts["split"], self._own_entities())
        unknown_customers = worker.submit(build_unknown_customers, facts, customers)
        items = worker.submit(
            build_items,
            listed,
            facts.set_column(facts.column_names.index("split"), "split", split),
            places,
            customers=customers,
            sources=sources,
            country=self._connection.country_code,
        )
        return items, unknown_customers

    def _find_living(self) -> pa.Array:
        """Return the payouts that are there; items of others were not paid to anyone."""
        living = self._rows(sa.select(core_of(Payout).c.id).where(*self._mine(Payout)))
        return pa.array([row.id for row in living], type=pa.large_string())

    def _facts_of_lists(self, unknown: pa.Table) -> pa.Table:
        columns = core_of(PayoutItem).c
        keys = (columns.payout_id, columns.resource_type, columns.resource_id)
        bodies: dict[tuple[str, ...], str] = {}
        for ids in batches(unknown["resource_id"].to_pylist()):
            wanted = sa.select(*keys, columns.body).where(*self._mine(PayoutItem), columns.resource_id.in_(ids))
            bodies |= {tuple(row[:3]): row[3] for row in self._rows(wanted)}
        named = zip(*(unknown[name].to_pylist() for name in ("payout_id", "resource_type", "resource_id")), strict=True)
        found = [msgspec.json.decode(bodies[key]) for key in named]
        self._unreadable += unreadable_moments(unknown, found)
        return facts_of_bodies(unknown, found)

    def _own_entities(self) -> frozenset[str]:
        columns = core_of(Entity).c
        rows = self._rows(sa.select(columns.id, columns.body).where(*self._mine(Entity)))
        return frozenset(row.id for row in rows if msgspec.json.decode(row.body).get("is_root") is True)

    def decisions(self) -> DataFrame:
        columns = core_of(Decision).c
        names = ("kind", "resource_id", "doc_key", "amount", "id", "at")
        wanted = sa.select(*(columns[name] for name in names)).where(*self._mine(Decision), columns.undone_by.is_(None))
        found = DataFrame.from_records([tuple(row) for row in self._rows(wanted)], columns=list(DECISIONS))
        found[["resource_id", "doc_key"]] = found[["resource_id", "doc_key"]].replace("", None)
        return to_types(found.sort_values("decision_id", ignore_index=True), DECISIONS)

    def conflicts(self) -> DataFrame:
        """Read the events that arrived under one id with two meanings, each with the amount of the body kept."""
        conflicts, events = core_of(EventConflict).c, core_of(Event).c
        name = self._connection.name
        mine = (events.connection == name, events.mode == self._connection.mode)
        doubted = sa.select(conflicts.id).where(conflicts.connection == name)
        wanted = sa.select(events.id, events.resource_id, events.body).where(*mine, events.id.in_(doubted))
        found = [(row.id, row.resource_id, _amount(row.body)) for row in self._rows(wanted)]
        frame = DataFrame(found, columns=list(CONFLICTS))
        return to_types(frame.sort_values("event_id", ignore_index=True), CONFLICTS)

    def transfers(self) -> DataFrame:
        columns = core_of(Transfer).c
        names = ("id", "direction", "status", "amount", "currency", "body")
        wanted = sa.select(*(columns[name] for name in names)).where(
            *self._mine(Transfer), columns.status.in_(WENT_BACK), columns.amount.is_not(None)
        )
        found = self._rows(wanted)
        return to_transfers(found, self._read_paired_movements() if found else ())

    def _read_paired_movements(self) -> list[str]:
        """Return the bodies of movements that returned another one or were returned."""
        body = core_of(AccountMovement).c.body
        unpaired = [body.like(f'%"return_pair_id":{space}null%') for space in ("", " ")]
        wanted = sa.select(body).where(*self._mine(AccountMovement), sa.not_(sa.or_(*unpaired)))
        return [row.body for row in self._rows(wanted)]

    def gaps(self, as_of: date, *, settle: timedelta, now: datetime) -> DataFrame:
        checkpoints, windows = core_of(Checkpoint).c, core_of(Window).c
        columns = (checkpoints.stream, checkpoints.complete_until, checkpoints.pulled_at, checkpoints.offered)
        reached = self._rows(sa.select(*columns).where(*self._mine(Checkpoint)))
        asked = self._rows(
            sa.select(windows.stream, windows.since, windows.until, windows.reason).where(
                *self._mine(Window), windows.state != WindowState.CLOSED
            )
        )
        return find_gaps(
            as_of,
            self._connection.country.zone,
            reached={row.stream: row.complete_until for row in reached},
            asked=[Asked(*row) for row in asked],
            listed=[Listed(*row) for row in self._find_miscounted()],
            unreadable=self._unreadable,
            settle=settle,
            left_out={row.stream for row in reached if not row.offered} | self._without_link_token(),
            provider_now=clock_of_provider(((row.complete_until, row.pulled_at) for row in reached), now=now),
        )

    def _without_link_token(self) -> set[str]:
        """Return the streams that cannot be pulled while no link token is set."""
        if self._connection.link_tokens:
            return set()
        return {name for name, gate in STREAMS.items() if gate.needs_link_token}

    def _find_miscounted(self) -> Sequence[Row]:
        """Return payouts whose items were not all kept: how many were announced and kept, None if never listed."""
        payouts, counts = core_of(Payout).c, core_of(PayoutCount).c
        same = sa.and_(payouts.connection == counts.connection, payouts.id == counts.payout_id)
        short = sa.select(payouts.id, payouts.created_at, counts.announced, counts.kept)
        return self._rows(
            short.outerjoin_from(core_of(Payout), core_of(PayoutCount), same).where(
                *self._mine(Payout), sa.or_(counts.kept.is_(None), counts.announced != counts.kept)
            )
        )


class _Envelope(msgspec.Struct):
    data: object = None


def _amount(body: bytes | None) -> int | None:
    """Return the amount of an event's object, None if it has none or its body was dropped."""
    if body is None:
        return None
    try:
        data = msgspec.json.decode(body, type=_Envelope).data
    except msgspec.DecodeError:
        return None
    amount = data.get("amount") if isinstance(data, dict) else None
    return amount if isinstance(amount, int) else None


def read_changed_documents(database: sa.Connection, connection: Connection) -> DataFrame:
    """Compare the merchant's tax documents with the books, and add what other XML of them stated.

    The books may state either total of a form that asks for another payment, and whom the public's document was for.
    """
    xml, books = core_of(FiscalDocument).c, core_of(LocalInvoice).c
    same = (books.connection == xml.connection) & (books.doc_key == xml.doc_key)
    is_other = {
        "total": books.total.not_in([xml.payable, xml.total]) & (books.currency == xml.currency),
        "customer_tax_id": (books.customer_tax_id != xml.receiver_tax_id)
        & (books.customer_tax_id != "")
        & xml.receiver_tax_id.not_in(["", *sorted(GENERIC_RFCS | GENERIC_RUTS)]),
        "issue_date": books.issue_date != xml.issue_date,
        "currency": books.currency != xml.currency,
    }
    asked = (
        sa.select(
            xml.doc_key, xml.currency, xml.payable, books.total, xml.other_fields, xml.other_payable,
            *(sa.case((found, 1), else_=0) for found in is_other.values()),
        )
        .outerjoin_from(core_of(FiscalDocument), core_of(LocalInvoice), same)
        .where(xml.connection == connection.name, xml.direction == _ISSUED)
        .where(sa.or_(xml.other_fields != "", *is_other.values()))
        .order_by(xml.doc_key)
    )  # fmt: skip
    rows = []
    for key, currency, stated, in_books, other, other_payable, *flags in database.execute(asked):
        in_books_fields = [name for name, flag in zip(is_other, flags, strict=True) if flag]
        fields = sorted({*in_books_fields, *other.split()})
        now = in_books if "total" in in_books_fields else other_payable if "total" in other.split() else stated
        rows.append((key, currency, stated, now - stated, " ".join(fields)))
    return to_types(DataFrame(rows, columns=list(CHANGED_DOCUMENTS)), CHANGED_DOCUMENTS)
