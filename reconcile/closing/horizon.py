"""The horizon of a connection: what its runs read of closed days, and what they leave as it was frozen."""

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

from consumer.facts.bankdays import BankCalendar, read_calendar
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.facts.store import Turn, batches, one_of, take_turn, to_ids
from consumer.facts.tables.erasures import Erasure
from consumer.facts.tables.orders import OrderAnswer
from consumer.facts.tables.provider import Charge, PaymentIntent, Payout, PayoutItem, Refund
from consumer.facts.tables.types import core_of
from reconcile.kept.records import last_closed
from reconcile.kept.settled import Settled, hide, read_hidden, read_settled
from reconcile.kept.snapshots import rules_code
from reconcile.kept.whole import LEFT_OUT
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
    INPUTS,
    MONEY,
    NUMBERS,
    TEXT,
    Finding,
    Inputs,
    Result,
    Schema,
    empty_frame,
)
from reconcile.rules.outcomes import Code
from reconcile.rules.terms import RuleSet, Tariff, to_rules, to_tariff
from reconcile.tables.books import LocalInvoice, PayoutReport, RemovedFile
from reconcile.tables.closing import FrozenName, FrozenNumber, FrozenRow, Horizon, Period
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment

# No transaction lasts so long, so none that began before a view is written after what the next run reads.
OVERLAP = timedelta(hours=1)
# Another way to freeze makes every horizon be frozen anew.
_FORMAT = 4
ROWS: Schema = {"kind": TEXT, "key": TEXT, "part": TEXT, "cell": MONEY, "digest": MONEY}
NAMES: Schema = {"word": MONEY, "cell": MONEY}
_ADDED = ("items", "documents", "fees", "unknown_customers")
_OF_BANK = frozenset({Code.PAYOUT_LATE, Code.PAYOUT_RETURNED, Code.PAYOUT_NOT_IN_BANK, Code.BANK_AMOUNT_DIFF})
_SALES = (PaymentIntent, Charge, Refund)
_NOTHING = Touched(frozenset(), frozenset())


def _empty() -> DataFrame:
    return empty_frame(ROWS).astype({"cell": "int64", "digest": "int64"})


@dataclass(frozen=True, slots=True)
class View:
    """What a run judges, and how it was chosen; without a horizon that is everything.

    `freezes` is the day up to which the run freezes what it settles, if it should.
    """

    inputs: Inputs
    freezes: date | None = None
    horizon: Horizon | None = None
    touched: Touched = _NOTHING
    # What closed days had and nothing has any more; None if everything was read.
    gone: frozenset[tuple[str, str]] | None = None
    # What the bank showed of settled payouts when they were frozen.
    deposits: DataFrame = field(default_factory=_empty)
    settled: Settled = field(default_factory=Settled)
    # Why everything is judged although there is a horizon.
    doubt: Message | None = None
    # A bounded run would judge other rows than this one, which read everything.
    differs: bool = False
    # A freezing began and never ended.
    is_unfinished: bool = False


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
    period = last_closed(session, connection.name) if installation.settings.horizon else None
    freezes = period.until if period is not None and period.until <= as_of else None
    horizon = session.get(Horizon, connection.name) if period is not None else None
    doubt = None
    if horizon is not None and period is not None:
        doubt = find_doubt(session, horizon, period, as_of, find_basis(installation, connection))
    is_unfinished = horizon is not None and horizon.claimed_by != ""
    reader = _Reader(session, installation, connection, as_of, now, horizon.freezing if horizon is not None else 0)
    if horizon is None or doubt is not None or reader.has_orders():
        return View(reader.read(None), freezes, doubt=doubt, is_unfinished=is_unfinished)
    if whole:
        inputs, frozen = reader.read_whole()
        touched = find_touched(inputs, frozen, reader.list_named(inputs, frozen, horizon), reopened)
    else:
        inputs, frozen, touched = reader.read_bounded(horizon, reopened)
        freezes = freezes if freezes is not None and freezes > horizon.until else None
    apart = set_apart(inputs, frozen, touched)
    if more := reader.find_named(list_words(apart.inputs)) - touched.cells:
        inputs, frozen = (inputs, frozen) if whole else reader.add(inputs, frozen, Touched(more, frozenset()))
        touched = replace(touched, cells=touched.cells | more)
        apart = set_apart(inputs, frozen, touched)
    judged = replace(apart.inputs, numbers=reader.read_numbers())
    settled = _read_settled(session, horizon, touched, judged)
    return View(
        judged, freezes, horizon, touched, apart.gone, frozen[frozen["kind"] == DEPOSIT], settled,
        is_unfinished=is_unfinished,
    )  # fmt: skip


def _read_settled(session: Session, horizon: Horizon, touched: Touched, judged: Inputs) -> Settled:
    """Read what is left out, without what is judged again."""
    layers, name = horizon.layers.split(), horizon.connection
    hidden = hide(read_hidden(session, name, layers), touched.cells, touched.payouts, len(layers))
    return read_settled(session, name, layers, hidden, set(judged.settled["payout_id"]))


def describe(installation: Installation, connection: Connection) -> tuple[bool, str] | None:
    """Return whether the next run leaves closed days out, and how far or why not, where days are closed."""
    with installation.store.reading() as session:
        period, horizon = last_closed(session, connection.name), session.get(Horizon, connection.name)
        if period is None:
            return None
        if horizon is None:
            return False, "nothing is frozen yet, everything is judged"
        if horizon.claimed_by:
            return False, "a freezing was begun and has not ended"
        if doubt := find_doubt(session, horizon, period, horizon.as_of, find_basis(installation, connection)):
            return False, str(doubt)
        return True, f"closed days up to {horizon.until} are left out; layers: {len(horizon.layers.split())}"


def find_basis(installation: Installation, connection: Connection) -> str:
    settings, calendar = installation.settings, read_calendar(installation.settings.files_dir, connection.country_code)
    return to_basis(connection.mode, calendar, to_rules(settings.rules), to_tariff(settings.tariff))


def find_doubt(session: Session, horizon: Horizon, period: Period, as_of: date, basis: str) -> Message | None:
    """Return why a horizon does not hold for a run of a day, which then judges everything.

    A period that was reopened, a file that was taken back and a person who was erased leave no later row to find.
    """
    if horizon.until > period.until:
        return Message("run.whole_reopened")
    if horizon.basis != basis:
        return Message("run.whole_basis")
    if as_of < horizon.as_of:
        return Message("run.whole_earlier", {"day": horizon.as_of})
    since = horizon.seen_at - OVERLAP
    removed = sa.select(col(RemovedFile.id)).where(
        col(RemovedFile.connection) == horizon.connection, col(RemovedFile.removed_at) >= since
    )
    erased = sa.select(col(Erasure.id)).where(sa.or_(col(Erasure.at) >= since, col(Erasure.finished_at).is_(None)))
    if session.scalar(removed.limit(1)) is not None:
        return Message("run.whole_removed")
    return None if session.scalar(erased.limit(1)) is None else Message("run.whole_erased")


def find_moved_deposits(view: View, result: Result) -> frozenset[str]:
    """Return the settled payouts of which the bank now says something else; `result` still has them."""
    closed = frozenset(view.inputs.settled["payout_id"])
    own = digest_deposits(result.payouts[result.payouts["payout_id"].isin(closed)])
    both = view.deposits.merge(own, on="key", how="right", suffixes=("", "_now"))
    moved = set(both["key"][both["digest"] != both["digest_now"]])
    return frozenset(moved | {str(one.payout_id) for one in result.findings if _is_of_bank(one, closed)})


def _is_of_bank(found: Finding, payouts: frozenset[str]) -> bool:
    return found.code in _OF_BANK and found.payout_id in payouts and found.subject.startswith("payout:")


def drop_horizon(session: Session, connection: str) -> None:
    """Have the next run judge everything and freeze anew; what is being frozen now ends without effect."""
    take_turn(session, Turn.PERIODS)
    session.execute(sa.update(Horizon).where(col(Horizon.connection) == connection).values(basis="", claimed_by=""))


def to_basis(mode: str, calendar: BankCalendar, rules: RuleSet, tariff: Tariff | None) -> str:
    """Return the digest of all that decides other than rows; under another one everything is judged again."""
    said = (
        _FORMAT, rules_code(), mode, calendar.country.code, calendar.edition, asdict(rules),
        None if tariff is None else asdict(tariff),
    )  # fmt: skip
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def read_frozen(database: sa.Connection, table: sa.Table, schema: Schema, *conditions: Column) -> DataFrame:
    """Read rows that were frozen; their numbers are plain integers."""
    found = read_table(database, sa.select(*(table.c[name] for name in schema)).where(*conditions), schema)
    return to_frame(found, schema).astype({name: "int64" for name, dtype in schema.items() if dtype == MONEY})


class _Reader:
    """Queries of one connection in one view of the database."""

    def __init__(
        self, session: Session, installation: Installation, connection: Connection, as_of: date, now: datetime,
        freezing: int,
    ) -> None:  # fmt: skip
        self._session, self._installation, self._connection = session, installation, connection
        self._as_of, self._now, self._freezing = as_of, now, freezing
        self._database = session.connection()
        self._dialect, self._rows = self._database.dialect.name, core_of(FrozenRow)

    def read(self, only: Only | None, small: Inputs | None = None) -> Inputs:
        settings = self._installation.settings
        return read_inputs(
            self._session, self._connection, settings, as_of=self._as_of, now=self._now, only=only, small=small
        )

    def read_whole(self) -> tuple[Inputs, DataFrame]:
        """Read everything there is, and everything that was frozen."""
        return self.read(None), self._find_frozen()

    def has_orders(self) -> bool:
        """Return whether answers of the order check are kept, which ask all payments."""
        return bool(self._ask(OrderAnswer, "order_ref"))

    def read_bounded(self, horizon: Horizon, reopened: Collection[str]) -> tuple[Inputs, DataFrame, Touched]:
        """Read what is carried, what was written since, and the cells that these touch, with what was frozen."""
        since, rows = horizon.seen_at - OVERLAP, self._rows
        carried = self._find_frozen(sa.or_(rows.c.cell <= CARRIED, rows.c.kind == DISPUTE))
        resources, documents = self._find_written(since)
        reported = self._ask(PayoutReport, "payout_id", col(PayoutReport.imported_at) >= since)
        frozen = self._add_rows(carried, {ITEM: resources, DOCUMENT: documents})
        settled = set(carried["key"][carried["cell"] == OF_PAYOUT])
        payouts = sorted(self._ask(Payout, "id") - settled)
        only = _to_only(frozen, settled, resources, documents, payouts)
        inputs = self.read(replace(only, since=since))
        read, asked = frozenset[int](), frozenset(settled & reported)
        inputs, frozen = self.add(inputs, frozen, Touched(read, asked))
        while True:
            named = self.list_named(inputs, frozen, horizon)
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
        listed = core_of(PayoutItem).c.payout_id
        resources = set[str]().union(*(
            self._ask(PayoutItem, "resource_id", one_of(listed, self._dialect, to_ids(some)))
            for some in batches(sorted(new.payouts), 20_000)
        ))  # fmt: skip
        items = self._find_rows(ITEM, resources)
        cells = new.cells.union(items["cell"]) - {CARRIED, OF_PAYOUT}
        more = self._find_cells(cells)
        settled = set(frozen["key"][frozen["cell"] == OF_PAYOUT])
        read = self.read(_to_only(more, settled, (), (), sorted(new.payouts)), inputs)
        items, documents, fees, unknown = (
            _join(getattr(inputs, name), getattr(read, name), INPUTS[name], LEFT_OUT[name]) for name in _ADDED
        )
        joined = replace(inputs, items=items, documents=documents, fees=fees, unknown_customers=unknown)
        return joined, pd.concat([frozen, more]).drop_duplicates(KEY, ignore_index=True)

    def list_named(self, inputs: Inputs, frozen: DataFrame, horizon: Horizon) -> dict[str, set[str]]:
        """Return what is named from outside of settled cells; a complement that came or changed since names too.

        Payers' rules name nothing that is settled: they hold from the end of the days closed before them.
        """
        complements, payments = core_of(FiscalDocument).c, core_of(FiscalPayment).c
        same = (complements.connection == payments.connection) & (complements.doc_key == payments.doc_key)
        asked = sa.select(payments.paid_key).join(core_of(FiscalDocument), same)
        since = complements.updated_at >= horizon.seen_at - OVERLAP
        mine = asked.where(payments.connection == self._connection.name, payments.paid_key != "", since)
        paid, named = set(self._database.execute(mine).scalars()), list_named(inputs, frozen)
        payers = inputs.operations["resource_id"][inputs.operations["doc_key"].isin(paid)]
        return {ITEM: named[ITEM].union(payers), DOCUMENT: named[DOCUMENT] | paid}

    def _add_rows(self, frozen: DataFrame, named: Mapping[str, Collection[str]]) -> DataFrame:
        """Add the settled rows of some keys that are not there yet."""
        found = [self._find_rows(kind, set(keys).difference(frozen["key"][frozen["kind"] == kind]))
                 for kind, keys in named.items()]  # fmt: skip
        return pd.concat([frozen, *found], ignore_index=True)

    def find_named(self, words: Collection[int]) -> frozenset[int]:
        """Return the cells whose documents bear one of these names, unless too many bear it."""
        names = core_of(FrozenName)
        found = [self._find(names, NAMES, self._is_one_of(names.c.word, some))
                 for some in batches(sorted(words), 50_000)]  # fmt: skip
        if not found:
            return frozenset()
        borne = pd.concat(found, ignore_index=True)
        return frozenset(borne["cell"][borne.groupby("word")["cell"].transform("size") <= MOST_BEARERS].tolist())

    def read_numbers(self) -> DataFrame:
        """Read the stretches of numbers that settled documents bear."""
        found = self._find(core_of(FrozenNumber), NUMBERS)
        return found.sort_values(list(NUMBERS), ignore_index=True).drop_duplicates(ignore_index=True).astype(NUMBERS)

    def _is_one_of(self, column: Column, numbers: Iterable[int]) -> Column:
        """Ask for many numbers as one parameter."""
        given = json.dumps(list(numbers))
        if self._dialect == "sqlite":
            return column.in_(sa.select(sa.func.json_each(given).table_valued("value").c.value))
        texts = sa.func.json_array_elements_text(sa.cast(given, sa.Text).op("::")(sa.text("json")))
        return column.in_(sa.select(sa.cast(texts.table_valued("value").c.value, sa.BigInteger)))

    def _find_written(self, since: datetime) -> tuple[list[str], list[str]]:
        """Return the resources and documents of which something was written since a moment."""
        written = [(table, "id", "written_at") for table in _SALES] + [(PayoutItem, "resource_id", "written_at")]
        tables = [(core_of(table).c, key, at) for table, key, at in written]
        name = self._connection.name
        one, *others = (
            sa.select(columns[key].label("key")).where(columns.connection == name, columns[at] >= since)
            for columns, key, at in tables
        )
        documents = core_of(LocalInvoice).c
        changed = sa.select(documents.doc_key.label("key")).where(
            documents.connection == name, documents.updated_at >= since
        )
        return self._list_keys(one.union(*others)), self._list_keys(changed)

    def _list_keys(self, wanted: Statement | sa.CompoundSelect[tuple[object]]) -> list[str]:
        keys: list[str] = read_table(self._database, sa.select(wanted.subquery().c.key), {"key": TEXT})[
            "key"
        ].to_pylist()
        return keys

    def _find(self, table: sa.Table, schema: Schema, *conditions: Column) -> DataFrame:
        mine = (table.c.connection == self._connection.name, table.c.freezing <= self._freezing)
        return read_frozen(self._database, table, schema, *mine, *conditions)

    def _find_frozen(self, *conditions: Column) -> DataFrame:
        return self._find(self._rows, ROWS, *conditions)

    def _find_rows(self, kind: str, keys: Collection[str]) -> DataFrame:
        found = [
            self._find_frozen(self._rows.c.kind == kind, one_of(self._rows.c.key, self._dialect, to_ids(some)))
            for some in batches(sorted(keys), 20_000)
        ]
        return pd.concat([_empty(), *found], ignore_index=True)

    def _find_cells(self, cells: Collection[int]) -> DataFrame:
        found = [self._find_frozen(self._is_one_of(self._rows.c.cell, some)) for some in batches(sorted(cells), 20_000)]
        return pd.concat([_empty(), *found], ignore_index=True)

    def _ask(self, table: type, name: str, *conditions: sa.ColumnElement[bool]) -> set[str]:
        """Return a column of some rows."""
        columns = core_of(table).c
        wanted = sa.select(columns[name]).where(columns.connection == self._connection.name, *conditions)
        return set(self._database.execute(wanted).scalars())


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


def _join(left: DataFrame, right: DataFrame, schema: Schema, order: list[str]) -> DataFrame:
    both = pd.concat([left, right], ignore_index=True).drop_duplicates(ignore_index=True)
    return to_frame(in_order(pa.Table.from_pandas(both, preserve_index=False), order), schema)
