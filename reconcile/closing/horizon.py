"""The horizon of a connection: what its runs read of closed days, and what a run freezes for the next ones."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime, timedelta

import pandas as pd
import pyarrow as pa
import sqlalchemy as sa
from pandas import DataFrame
from sqlmodel import Session, col

from consumer.facts.bulk import insert_rows
from consumer.facts.installation import Connection, Installation
from consumer.facts.store import Turn, batches, one_of, take_turn, to_ids
from consumer.facts.tables.erasures import Erasure
from consumer.facts.tables.provider import Charge, PaymentIntent, PayoutItem, Refund
from consumer.facts.tables.types import core_of
from reconcile.closing.settled_rows import can_freeze, freeze
from reconcile.kept.records import last_closed
from reconcile.kept.snapshots import rules_code
from reconcile.reading.frames import read_inputs
from reconcile.reading.frozen import (
    CARRIED,
    DEPOSIT,
    DISPUTE,
    DOCUMENT,
    ITEM,
    KEY,
    MOST_BEARERS,
    OF_PAYOUT,
    PAYOUT,
    Apart,
    Touched,
    digest_deposits,
    find_touched,
    list_named,
    list_words,
    payout_of,
    set_apart,
)
from reconcile.reading.large_tables import Only
from reconcile.reading.queries import Column, Statement, in_order, read_table, to_frame
from reconcile.rules.inputs import (
    DOCUMENTS,
    FEES,
    ITEMS,
    MONEY,
    TEXT,
    UNKNOWN_CUSTOMERS,
    Finding,
    Inputs,
    Result,
    Schema,
)
from reconcile.rules.outcomes import Code
from reconcile.tables.books import LocalInvoice, PayoutReport, RemovedFile
from reconcile.tables.closing import FrozenName, FrozenRow, Horizon, Period

# No transaction lasts so long, so none that began before a view is written after what the next run reads.
OVERLAP = timedelta(hours=1)
# Another way to freeze makes every horizon be frozen anew.
_FORMAT = 1
_FROZEN: Schema = {"kind": TEXT, "key": TEXT, "part": TEXT, "cell": MONEY, "digest": MONEY}
_NAMES: Schema = {"word": MONEY, "cell": MONEY}
_ORDER: dict[str, tuple[Schema, tuple[str, ...]]] = {
    "items": (ITEMS, ("payout_id", "resource_type", "resource_id")),
    "documents": (DOCUMENTS, ("doc_key",)),
    "fees": (FEES, ("payout_id", "resource_id")),
    "unknown_customers": (UNKNOWN_CUSTOMERS, ("resource_id",)),
}
_OF_BANK = frozenset({Code.PAYOUT_LATE, Code.PAYOUT_RETURNED, Code.PAYOUT_NOT_IN_BANK, Code.BANK_AMOUNT_DIFF})
_SALES = (PaymentIntent, Charge, Refund)


def _empty() -> DataFrame:
    return DataFrame({name: pd.Series(dtype="int64" if dtype == MONEY else TEXT) for name, dtype in _FROZEN.items()})


@dataclass(frozen=True, slots=True)
class View:
    """What a run judges, and how it was chosen; without a horizon that is everything.

    `freezes` is the day up to which the run freezes what it settles, if it should.
    """

    inputs: Inputs
    freezes: date | None = None
    horizon: Horizon | None = None
    apart: Apart | None = None
    touched: Touched | None = None
    # What the bank showed of settled payouts when they were frozen.
    deposits: DataFrame = field(default_factory=_empty)

    @property
    def judged(self) -> Inputs:
        return self.inputs if self.apart is None else self.apart.inputs

    @property
    def closed(self) -> frozenset[str]:
        return self.apart.payouts if self.apart is not None else frozenset()

    @property
    def gone(self) -> frozenset[tuple[str, str]] | None:
        return None if self.apart is None else self.apart.gone


def read_view(  # noqa: PLR0913 - a day, a moment and how much to read
    session: Session,
    installation: Installation,
    connection: Connection,
    *,
    as_of: date,
    now: datetime,
    whole: bool = False,
    reopened: Collection[str] = (),
) -> View:
    """Read what a run of a day judges: everything, or what the horizon leaves open, found with or without its index."""
    reader = _Reader(session, installation, connection, as_of, now)
    period = last_closed(session, connection.name) if installation.settings.horizon else None
    freezes = period.until if period is not None and period.until <= as_of else None
    horizon = find_horizon(session, connection, period, as_of)
    small = reader.read(Only()) if horizon is not None else None
    if horizon is None or small is None or horizon.basis != to_basis(small) or not small.orders.empty:
        return View(reader.read(None), freezes)
    if whole:
        inputs, frozen = reader.read_whole()
        touched = find_touched(inputs, frozen, list_named(inputs, frozen), reopened)
    else:
        inputs, frozen, touched = reader.read_bounded(small, horizon, reopened)
        freezes = freezes if freezes is not None and freezes > horizon.until else None
    apart = set_apart(inputs, frozen, touched)
    if more := reader.find_named(list_words(apart.inputs)) - touched.cells:
        inputs, frozen = (inputs, frozen) if whole else reader.add(inputs, frozen, Touched(more, frozenset()))
        touched = replace(touched, cells=touched.cells | more)
        apart = set_apart(inputs, frozen, touched)
    return View(inputs, freezes, horizon, apart, touched, frozen[frozen["kind"] == DEPOSIT])


def find_horizon(session: Session, connection: Connection, period: Period | None, as_of: date) -> Horizon | None:
    """Return the horizon that holds for a run of a day, None if that must judge everything.

    A period that was reopened, a file that was taken back and a person who was erased leave no later row to find.
    """
    horizon = session.get(Horizon, connection.name) if period is not None else None
    if horizon is None or period is None or horizon.until > period.until or as_of < horizon.as_of:
        return None
    since = horizon.seen_at - OVERLAP
    removed = sa.select(col(RemovedFile.id)).where(
        col(RemovedFile.connection) == connection.name, col(RemovedFile.removed_at) >= since
    )
    erased = sa.select(col(Erasure.id)).where(sa.or_(col(Erasure.at) >= since, col(Erasure.finished_at).is_(None)))
    if session.scalar(removed.limit(1)) is not None or session.scalar(erased.limit(1)) is not None:
        return None
    return horizon


def find_moved_deposits(view: View, result: Result) -> frozenset[str]:
    """Return the settled payouts of which the bank now says something else; `result` still has them."""
    own = result.payouts[result.payouts["payout_id"].isin(view.closed)]
    both = view.deposits.merge(digest_deposits(own), on=KEY, how="right", suffixes=("", "_now"))
    moved = set(both["key"][both["digest"] != both["digest_now"]])
    return frozenset(moved | {str(one.payout_id) for one in result.findings if _is_of_bank(one, view.closed)})


def _is_of_bank(found: Finding, payouts: frozenset[str]) -> bool:
    return found.code in _OF_BANK and found.payout_id in payouts and found.subject.startswith("payout:")


def drop_horizon(session: Session, connection: str) -> None:
    """Have the next run judge everything and freeze anew."""
    take_turn(session, Turn.PERIODS)
    session.execute(sa.delete(Horizon).where(col(Horizon.connection) == connection))


def keep_horizon(session: Session, view: View, result: Result, *, run_id: str, until: date, seen_at: datetime) -> None:
    """Freeze what a run settled and carry the rest, in place of what it touched; without a horizon, of everything.

    Leave all as it is if the horizon that the run read stands no longer.
    """
    take_turn(session, Turn.PERIODS)
    database, name = session.connection(), view.inputs.connection
    if view.horizon is not None and not _still_stands(session, view.horizon):
        return
    rows, names = core_of(FrozenRow), core_of(FrozenName)
    inputs, first = view.judged, 1
    if view.apart is None or view.touched is None:
        for table in (rows, names):
            database.execute(sa.delete(table).where(table.c.connection == name))
    else:
        first += database.scalar(sa.select(sa.func.max(rows.c.cell)).where(rows.c.connection == name)) or 0
        _thaw(database, name, view.touched)
    session.execute(sa.delete(Horizon).where(col(Horizon.connection) == name))
    if can_freeze(inputs, result):
        frozen = freeze(inputs, result, until, closed=view.closed, first=first)
        own = {"connection": name}
        for table, columns, frame in ((rows, [*_FROZEN], frozen.rows), (names, [*_NAMES], frozen.names)):
            insert_rows(database, table, columns, frame[columns].itertuples(index=False, name=None), alike=own)
        session.add(
            Horizon(connection=name, run_id=run_id, as_of=inputs.as_of, until=until, seen_at=seen_at,
                    basis=to_basis(inputs))
        )  # fmt: skip


def _still_stands(session: Session, horizon: Horizon) -> bool:
    now = session.get(Horizon, horizon.connection, populate_existing=True)
    return now is not None and (now.run_id, now.seen_at) == (horizon.run_id, horizon.seen_at)


def _thaw(database: sa.Connection, name: str, touched: Touched) -> None:
    rows, names = core_of(FrozenRow), core_of(FrozenName)
    mine = rows.c.connection == name
    database.execute(sa.delete(rows).where(mine, rows.c.cell == CARRIED))
    for some in batches(sorted(touched.cells)):
        database.execute(sa.delete(rows).where(mine, rows.c.cell.in_(some)))
        database.execute(sa.delete(names).where(names.c.connection == name, names.c.cell.in_(some)))
    for ids in batches(sorted(touched.payouts)):
        database.execute(sa.delete(rows).where(mine, rows.c.kind.in_((PAYOUT, DEPOSIT)), rows.c.key.in_(ids)))


def to_basis(inputs: Inputs) -> str:
    """Return the digest of all that decides other than rows; under another one everything is judged again."""
    said = (
        _FORMAT, rules_code(), inputs.country, inputs.mode, inputs.calendar.edition, asdict(inputs.rules),
        None if inputs.tariff is None else asdict(inputs.tariff),
    )  # fmt: skip
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def _select(table: sa.Table) -> Statement:
    return sa.select(*(table.c[column.name] for column in table.columns))


def _read(session: Session, wanted: Statement, schema: Schema) -> DataFrame:
    columns = {column.name: column for column in wanted.selected_columns}
    found = read_table(session.connection(), wanted.with_only_columns(*(columns[name] for name in schema)), schema)
    numbers = {name: "int64" for name, dtype in schema.items() if dtype == MONEY}
    return to_frame(found, schema).astype(numbers)


class _Reader:
    """Queries of one connection in one view of the database."""

    def __init__(
        self, session: Session, installation: Installation, connection: Connection, as_of: date, now: datetime
    ) -> None:
        self._session, self._installation, self._connection = session, installation, connection
        self._as_of, self._now = as_of, now
        self._dialect = session.connection().dialect.name
        self._rows = core_of(FrozenRow)
        self._mine = self._rows.c.connection == connection.name

    def read(self, only: Only | None, small: Inputs | None = None) -> Inputs:
        settings = self._installation.settings
        return read_inputs(
            self._session, self._connection, settings, as_of=self._as_of, now=self._now, only=only, small=small
        )

    def read_whole(self) -> tuple[Inputs, DataFrame]:
        """Read everything there is, and everything that was frozen."""
        return self.read(None), self._find_frozen()

    def read_bounded(
        self, small: Inputs, horizon: Horizon, reopened: Collection[str]
    ) -> tuple[Inputs, DataFrame, Touched]:
        """Read what is carried, what was written since, and the cells that these touch, with what was frozen.

        `small` are the inputs without their large tables.
        """
        since, rows = horizon.seen_at - OVERLAP, self._rows
        # In two queries, each by its index.
        carried = pd.concat(
            [self._find_frozen(rows.c.cell <= CARRIED), self._find_frozen(rows.c.kind == DISPUTE)], ignore_index=True
        ).drop_duplicates(KEY, ignore_index=True)
        resources = self._find_written(since)
        documents = self._scalars(LocalInvoice, "doc_key", col(LocalInvoice.updated_at) >= since)
        reported = self._scalars(PayoutReport, "payout_id", col(PayoutReport.imported_at) >= since)
        frozen = self._add_rows(carried, {ITEM: resources, DOCUMENT: documents})
        settled = set(carried["key"][carried["cell"] == OF_PAYOUT])
        payouts = sorted(set(small.payouts["payout_id"]) - settled)
        inputs = self.read(_to_only(frozen, settled, resources, documents, payouts), small)
        read, asked = frozenset[int](), frozenset(settled & reported)
        inputs, frozen = self.add(inputs, frozen, Touched(read, asked))
        while True:
            named = list_named(inputs, frozen)
            frozen = self._add_rows(frozen, named)
            touched = find_touched(inputs, frozen, named, reopened)
            if touched.cells <= read and touched.payouts <= asked:
                return inputs, frozen, touched
            inputs, frozen = self.add(inputs, frozen, Touched(touched.cells - read, touched.payouts - asked))
            read, asked = read | touched.cells, asked | touched.payouts

    def add(self, inputs: Inputs, frozen: DataFrame, new: Touched) -> tuple[Inputs, DataFrame]:
        """Add the rows of further cells and payouts, in the order in which they would have been read."""
        if not new.cells and not new.payouts:
            return inputs, frozen
        items = self._find_rows(ITEM, self._ask(PayoutItem, "resource_id", "payout_id", new.payouts))
        cells = new.cells.union(items["cell"]) - {CARRIED, OF_PAYOUT}
        more = self._find_cells(cells)
        settled = set(frozen["key"][frozen["cell"] == OF_PAYOUT])
        read = self.read(_to_only(more, settled, (), (), sorted(new.payouts)), inputs)
        items, documents, fees, unknown = (
            _join(getattr(inputs, name), getattr(read, name), *_ORDER[name]) for name in _ORDER
        )
        joined = replace(inputs, items=items, documents=documents, fees=fees, unknown_customers=unknown)
        return joined, pd.concat([frozen, more]).drop_duplicates(KEY, ignore_index=True)

    def _add_rows(self, frozen: DataFrame, named: Mapping[str, Collection[str]]) -> DataFrame:
        """Add the settled rows of some keys that are not there yet."""
        found = [self._find_rows(kind, set(keys).difference(frozen["key"][frozen["kind"] == kind]))
                 for kind, keys in named.items()]  # fmt: skip
        return pd.concat([frozen, *found], ignore_index=True)

    def find_named(self, words: Collection[int]) -> frozenset[int]:
        """Return the cells whose documents bear one of these names, unless too many bear it."""
        names = core_of(FrozenName)
        mine = _select(names).where(names.c.connection == self._connection.name)
        found = [
            _read(self._session, mine.where(self._is_one_of(names.c.word, some)), _NAMES)
            for some in batches(sorted(words), 50_000)
        ]
        if not found:
            return frozenset()
        borne = pd.concat(found, ignore_index=True)
        return frozenset(borne["cell"][borne.groupby("word")["cell"].transform("size") <= MOST_BEARERS].tolist())

    def _is_one_of(self, column: Column, numbers: Iterable[int]) -> Column:
        """Ask for many numbers as one parameter."""
        given = json.dumps(list(numbers))
        if self._dialect == "sqlite":
            return column.in_(sa.select(sa.func.json_each(given).table_valued("value").c.value))
        texts = sa.func.json_array_elements_text(sa.cast(given, sa.Text).op("::")(sa.text("json")))
        return column.in_(sa.select(sa.cast(texts.table_valued("value").c.value, sa.BigInteger)))

    def _find_written(self, since: datetime) -> set[str]:
        """Return the resources of which something was written since a moment."""
        found: set[str] = set()
        for table in _SALES:
            found.update(self._scalars(table, "id", col(table.written_at) >= since))
        found.update(self._scalars(PayoutItem, "resource_id", col(PayoutItem.written_at) >= since))
        return found

    def _find_frozen(self, *conditions: Column) -> DataFrame:
        return _read(self._session, _select(self._rows).where(self._mine, *conditions), _FROZEN)

    def _find_rows(self, kind: str, keys: Collection[str]) -> DataFrame:
        found = [
            self._find_frozen(self._rows.c.kind == kind, one_of(self._rows.c.key, self._dialect, to_ids(some)))
            for some in batches(sorted(keys), 20_000)
        ]
        return pd.concat([_empty(), *found], ignore_index=True)

    def _find_cells(self, cells: Collection[int]) -> DataFrame:
        found = [self._find_frozen(self._is_one_of(self._rows.c.cell, some)) for some in batches(sorted(cells), 20_000)]
        return pd.concat([_empty(), *found], ignore_index=True)

    def _scalars(self, table: type, name: str, *conditions: sa.ColumnElement[bool]) -> set[str]:
        columns = core_of(table).c
        wanted = sa.select(columns[name]).where(columns.connection == self._connection.name, *conditions)
        return set(self._session.connection().execute(wanted).scalars())

    def _ask(self, table: type, name: str, key: str, values: Collection[str]) -> set[str]:
        """Return a column of the rows with some keys."""
        column, found = core_of(table).c[key], set[str]()
        for some in batches(sorted(values), 20_000):
            found |= self._scalars(table, name, one_of(column, self._dialect, to_ids(some)))
        return found


def _to_only(
    frozen: DataFrame,
    settled: Collection[str],
    resources: Collection[str],
    documents: Collection[str],
    payouts: Sequence[str],
) -> Only:
    """Return what is read for some frozen rows, and more; of `settled` payouts the fees of those rows alone."""
    items, papers = (frozen[frozen["kind"] == kind] for kind in (ITEM, DOCUMENT))
    listed = items["key"][payout_of(items["part"]).isin(settled)]
    return Only(sorted({*items["key"], *resources}), sorted({*papers["key"], *documents}), payouts, sorted(set(listed)))


def _join(left: DataFrame, right: DataFrame, schema: Schema, order: tuple[str, ...]) -> DataFrame:
    both = pd.concat([left, right], ignore_index=True).drop_duplicates(ignore_index=True)
    return to_frame(in_order(pa.Table.from_pandas(both, preserve_index=False), order), schema)
