"""Tables into the frames that rules read: the only query module of this room."""

from collections.abc import Sequence
from concurrent.futures import Executor, Future
from datetime import date, datetime, timedelta
from typing import Any

import msgspec
import pyarrow as pa
import sqlalchemy as sa
from pandas import DataFrame
from sqlmodel import Session, SQLModel

from consumer.facts.bankdays import BankCalendar
from consumer.facts.calendars import read_calendar
from consumer.facts.house import Connection, Settings
from consumer.facts.tables.business import Entity, Transfer
from consumer.facts.tables.inbox import Event, EventConflict
from consumer.facts.tables.provider import (
    Charge,
    Customer,
    Dispute,
    PaymentIntent,
    Payout,
    PayoutCount,
    PayoutItem,
    Refund,
)
from consumer.facts.tables.sync import Checkpoint, Window, WindowState
from reconcile.accounts import read_bank
from reconcile.bank import account_name
from reconcile.bodies import SALE, facts_of_bodies, mark_own, unreadable_moments
from reconcile.books.bank_statements import LAST_DIGITS
from reconcile.columnar import batches, in_order, read_table, to_frame, to_known_frame, whole
from reconcile.conflicts import conflicting_amounts
from reconcile.gaps import Asked, Listed, clock_of_provider, find_gaps
from reconcile.items import (
    CHARGE_SUBTYPE,
    CUSTOMERS,
    FACTS,
    LISTED,
    SOURCES,
    build_items,
    places_of_listed,
)
from reconcile.rules.inputs import (
    DECISIONS,
    DISPUTES,
    DOCUMENTS,
    FEES,
    PAYOUTS,
    RATES,
    TEXT,
    Inputs,
    Schema,
    typed,
)
from reconcile.rules.payouts import PAYMENT_TYPES
from reconcile.rules.settings import to_rules
from reconcile.rules.tariff import to_tariff
from reconcile.tables import Decision, ExchangeRate, LocalInvoice, ProviderFee
from reconcile.threads import second_thread
from reconcile.transfers import WENT_BACK, to_transfers

# Each table of resources with its kind and the columns that bear another name there.
_RESOURCES: tuple[tuple[type[SQLModel], str, dict[str, str]], ...] = (
    (PaymentIntent, "payment_intent", {"resource_id": "id", "resource_subtype": "subtype"}),
    (Charge, "charge", {"resource_id": "id"}),
    (Refund, "refund", {"resource_id": "id", "parent_id": "resource_id"}),
)


def read_inputs(session: Session, connection: Connection, settings: Settings, *, as_of: date, now: datetime) -> Inputs:
    """Read everything one run looks at, in one view of the database; `now` only tells which days are over."""
    reader, calendar = _Reader(session, connection), read_calendar(settings.data_dir, connection.country_code)
    # What was read is joined and sorted in a thread while the next tables are read.
    with second_thread() as beside:
        # The library of bank days is slow to load.
        beside.submit(calendar.on_or_after, as_of)
        items = reader.items(beside)
        documents = beside.submit(to_known_frame, reader.books(), DOCUMENTS, "doc_key")
        return Inputs(
            connection=connection.name,
            country=connection.country_code,
            mode=connection.mode,
            as_of=as_of,
            payouts=reader.payouts(),
            disputes=reader.disputes(),
            fees=reader.fees(),
            gaps=reader.gaps(as_of, settle=timedelta(seconds=settings.settle_seconds), now=now),
            conflicts=reader.conflicts(),
            decisions=reader.decisions(),
            bank=reader.bank(calendar),
            rates=reader.rates(),
            tariff=to_tariff(settings.tariff),
            rules=to_rules(settings.rules),
            calendar=calendar,
            items=items.result(),
            documents=documents.result(),
        )


def read_documents(session: Session, connection: Connection) -> DataFrame:
    """Read the merchant's books."""
    return to_known_frame(_Reader(session, connection).books(), DOCUMENTS, "doc_key")


def read_transfers(session: Session, connection: Connection) -> DataFrame:
    """Read the transfers whose money went back."""
    return _Reader(session, connection).transfers()


def _table(table: type[SQLModel]) -> Any:
    return table.__table__  # type: ignore[attr-defined]


def _columns(table: type[SQLModel]) -> Any:
    return _table(table).c


class _Reader:
    """Queries of one connection and mode."""

    def __init__(self, session: Session, connection: Connection) -> None:
        self._database = session.connection()
        self._connection = connection
        self._unreadable: list[tuple[str, str]] = []

    def _rows(self, statement: sa.Select[Any]) -> Sequence[Any]:
        return self._database.execute(statement).all()

    def _mine(self, table: type[SQLModel]) -> list[Any]:
        """Rows of this connection; provider objects also of its mode and not gone at the provider."""
        columns = _columns(table)
        conditions = [whole(columns.connection, self._database) == self._connection.name]
        if "mode" in columns:
            conditions.append(columns.mode == self._connection.mode)
        if "gone_at" in columns:
            conditions.append(columns.gone_at.is_(None))
        return conditions

    def _table(self, table: type[SQLModel], schema: Schema, **others: str) -> pa.Table:
        """Read the columns of a schema from one table; `others` are those that have another name there."""
        columns = _columns(table)
        named = [columns[others.get(name, name)].label(name) for name in schema]
        return read_table(self._database, sa.select(*named).where(*self._mine(table)), schema, along=_table(table))

    def _frame(self, table: type[SQLModel], schema: Schema, *order: str, **others: str) -> DataFrame:
        return to_frame(in_order(self._table(table, schema, **others), order), schema)

    def payouts(self) -> DataFrame:
        numbers = dict.fromkeys(("recipient_last4", "recipient_account"), "recipient_number")
        found = self._frame(Payout, PAYOUTS, "created_at", "payout_id", payout_id="id", **numbers)
        named = {number: account_name(number) for number in found["recipient_account"].dropna().unique()}
        found["recipient_account"] = found["recipient_account"].map(named).astype(TEXT)
        found["recipient_last4"] = found["recipient_last4"].str[-LAST_DIGITS:]
        return typed(found, PAYOUTS)

    def items(self, beside: Executor) -> Future[DataFrame]:
        listed = self._listed()
        facts = pa.concat_tables([self._facts(*table) for table in _RESOURCES]).combine_chunks()
        placing = beside.submit(places_of_listed, listed, facts)
        customers, sources = self._table(Customer, CUSTOMERS, customer_id="id"), self._sources()
        places = placing.result()
        if places.null_count:
            facts = pa.concat_tables([facts, self._facts_of_lists(listed.filter(places.is_null()))]).combine_chunks()
            places = places_of_listed(listed, facts)
        split = mark_own(facts["split"], self._own_entities())
        return beside.submit(
            build_items,
            listed,
            facts.set_column(facts.column_names.index("split"), "split", split),
            places,
            customers=customers,
            sources=sources,
            country=self._connection.country_code,
        )

    def _listed(self) -> pa.Table:
        columns, payouts = _columns(PayoutItem), _columns(Payout)
        living = sa.select(payouts.id).where(*self._mine(Payout))
        wanted = sa.select(*(columns[name] for name in LISTED))
        wanted = wanted.where(*self._mine(PayoutItem), columns.payout_id.in_(living))
        return read_table(self._database, wanted, LISTED, along=_table(PayoutItem))

    def _facts(self, table: type[SQLModel], kind: str, others: dict[str, str]) -> pa.Table:
        """Facts of one table, without those whose money never moved; a column the table lacks is unknown."""
        columns = _columns(table)
        fixed = {"kind": kind} | ({"resource_subtype": CHARGE_SUBTYPE} if table is Charge else {})
        named = {name: others.get(name, SALE.get(name, name)) for name in FACTS}
        wanted = [
            sa.literal(fixed.get(name), sa.String).label(name)
            if name in fixed or column not in columns
            else columns[column].label(name)
            for name, column in named.items()
        ]
        carried = sa.select(_columns(PayoutItem).resource_id).where(*self._mine(PayoutItem))
        moved = sa.or_(columns.status == "succeeded", columns.id.in_(carried)) if kind in PAYMENT_TYPES else sa.true()
        return read_table(self._database, sa.select(*wanted).where(*self._mine(table), moved), FACTS)

    def _facts_of_lists(self, unknown: pa.Table) -> pa.Table:
        columns = _columns(PayoutItem)
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
        columns = _columns(Entity)
        rows = self._rows(sa.select(columns.id, columns.body).where(*self._mine(Entity)))
        return frozenset(row.id for row in rows if msgspec.json.decode(row.body).get("is_root") is True)

    def _sources(self) -> pa.Table:
        """Events that said a resource succeeded (of a refund: any), whichever way they came in."""
        columns = _columns(Event)
        succeeded = columns.type.in_([f"{kind}.succeeded" for kind in PAYMENT_TYPES])
        wanted = sa.select(columns.resource_id, columns.id.label("event_id"), columns.created_at).where(
            *self._mine(Event),
            columns.resource_id.is_not(None),
            columns.created_at.is_not(None),
            sa.or_(succeeded, columns.type.startswith("refund.", autoescape=True)),
        )
        return read_table(self._database, wanted, SOURCES, along=_table(Event))

    def books(self) -> pa.Table:
        return self._table(LocalInvoice, DOCUMENTS)

    def disputes(self) -> DataFrame:
        return self._frame(Dispute, DISPUTES, "dispute_id", dispute_id="id")

    def fees(self) -> DataFrame:
        """What the provider's own reports tell, of payouts and items that are still there."""
        return self._frame(ProviderFee, FEES, "payout_id", "resource_id")

    def decisions(self) -> DataFrame:
        columns = _columns(Decision)
        names = ("kind", "resource_id", "doc_key", "amount", "id")
        wanted = sa.select(*(columns[name] for name in names)).where(*self._mine(Decision), columns.undone_by.is_(None))
        found = DataFrame.from_records([tuple(row) for row in self._rows(wanted)], columns=[*names[:-1], "decision_id"])
        found[["resource_id", "doc_key"]] = found[["resource_id", "doc_key"]].replace("", None)
        return typed(found.sort_values("decision_id", ignore_index=True), DECISIONS)

    def conflicts(self) -> DataFrame:
        conflicts, events = _columns(EventConflict), _columns(Event)
        name = self._connection.name
        mine = (events.connection == name, events.mode == self._connection.mode)
        doubted = sa.select(conflicts.id).where(conflicts.connection == name)
        wanted = sa.select(events.id, events.resource_id, events.body).where(*mine, events.id.in_(doubted))
        return conflicting_amounts(self._rows(wanted))

    def bank(self, calendar: BankCalendar) -> DataFrame:
        return read_bank(self._database, self._connection, calendar)

    def rates(self) -> DataFrame:
        return self._frame(ExchangeRate, RATES, "currency", "on")

    def transfers(self) -> DataFrame:
        columns = _columns(Transfer)
        names = ("id", "direction", "status", "amount", "currency", "body")
        wanted = sa.select(*(columns[name] for name in names)).where(
            *self._mine(Transfer), columns.status.in_(WENT_BACK), columns.amount.is_not(None)
        )
        return to_transfers(self._rows(wanted))

    def gaps(self, as_of: date, *, settle: timedelta, now: datetime) -> DataFrame:
        checkpoints, windows = _columns(Checkpoint), _columns(Window)
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
            listed=[Listed(*row) for row in self._counted()],
            unreadable=self._unreadable,
            settle=settle,
            not_offered={row.stream for row in reached if not row.offered},
            provider_now=clock_of_provider(((row.complete_until, row.pulled_at) for row in reached), now=now),
        )

    def _counted(self) -> Sequence[Any]:
        """Payouts with what was announced and kept of their items; None where a payout's items were never listed."""
        payouts, counts = _columns(Payout), _columns(PayoutCount)
        same = sa.and_(payouts.connection == counts.connection, payouts.id == counts.payout_id)
        short = sa.select(payouts.id, payouts.created_at, counts.announced, counts.kept)
        return self._rows(
            short.outerjoin_from(_table(Payout), _table(PayoutCount), same).where(
                *self._mine(Payout), sa.or_(counts.kept.is_(None), counts.announced != counts.kept)
            )
        )
