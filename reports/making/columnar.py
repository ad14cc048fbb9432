"""Whole reports as columns, filtered, sorted and added up by what a reader asks.

What a run keeps is written once into a nameless file of this process and mapped: a column of a million rows is then
sorted without reading the others, the memory is the system's to take back, and the file ends with the process.
"""

import mmap
import re
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import TypeAlias
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc

from consumer.facts.clock import local_date
from consumer.facts.columns import Column, Kind
from consumer.facts.installation import Installation
from consumer.facts.money import digits_of
from consumer.facts.store import Store
from reconcile.tables.runs import Run
from reports.making import catalogue, windows
from reports.queries.asking import TEXTS, Asked, Condition, Range, Speak, fold, is_meant, scale, to_moments
from reports.queries.frames import latest_runs
from reports.queries.query import Query, Source
from reports.shapes.build import CURRENCY, Report, are_living
from reports.shapes.definitions import definition_of
from reports.shapes.spans import WHOLE

Totals: TypeAlias = dict[str, dict[str, int]]
_MOST_BYTES = 2**30
# Where free words are looked for; other reports are small, and every text of theirs is searched.
_SEARCHED = {
    "payout-summary": ("payout_id",),
    "documents": ("doc_key", "customer_name", "customer_tax_id"),
    "receivables": ("doc_key", "customer_name", "customer_tax_id"),
    "in-transit": ("resource_id",),
    "bank-lines": ("description", "reference", "payout_id", "movement_id"),
}
_MARKED = {"a": "aáàâä", "e": "eéèêë", "i": "iíìîï", "o": "oóòôö", "u": "uúùûü", "n": "nñ", "c": "cç"}
_DAY = Column("payout_date", Kind.DATE)
# The lists that are opened most, whole.
_AHEAD = ("payout-summary", "documents", "receivables", "in-transit")
_lock = threading.Lock()
_mapped: WeakKeyDictionary[Store, OrderedDict[tuple[object, ...], pa.Table]] = WeakKeyDictionary()
_read_ahead: WeakKeyDictionary[Store, object] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows of a report that were asked for: their places in the whole, and the column they are sorted by."""

    report: Report
    places: pa.Array
    key: pa.ChunkedArray | None = None
    is_descending: bool = False

    def page(self, start: int, count: int) -> Report:
        """Return some rows in order; those that are equal in the sorted column stay in the order of the report."""
        chosen = self.places.slice(start, count)
        if self.key is not None:
            table = pa.table({"key": self.key, "place": self.places})
            how = [("key", "descending" if self.is_descending else "ascending"), ("place", "ascending")]
            is_early = 4 * (start + count) < table.num_rows
            order = (
                pc.select_k_unstable(table, start + count, sort_keys=how)
                if is_early
                else pc.sort_indices(table, sort_keys=how)
            )
            chosen = self.places.take(order.slice(start, count))
        return replace(self.report, table=self.report.table.take(chosen))

    def living(self) -> "Selection":
        """Leave out payouts that were canceled or returned, whose items another one pays again; in no order."""
        is_living = are_living(self.report.table).take(self.places)
        return replace(self, places=self.places.filter(is_living.combine_chunks()), key=None)

    def totals(self) -> Totals:
        """Add up every column of money whose sum has a meaning, by currency."""
        names = self.report.definition.totaled
        if not names:
            return {}
        table = self.report.table.select([CURRENCY, *names]).take(self.places)
        sums = table.group_by(CURRENCY).aggregate([(name, "sum") for name in names]).sort_by(CURRENCY)
        return {row[CURRENCY]: {name: row[f"{name}_sum"] or 0 for name in names} for row in sums.to_pylist()}


def read(installation: Installation, query: Query) -> Report:
    """Return a report whole; what a run keeps is unpacked once for each run."""
    if query.name not in _SEARCHED or query.payout_id is not None:
        return catalogue.make(installation, query)
    definition = definition_of(query.name)
    with installation.store.reading() as session:
        source = catalogue.source_of(installation, session, query)
        table = pa.concat_tables(_read_run(source, run) for run in windows.in_order(source))
        facts = catalogue.facts_of(query, source.runs)
    if definition.range_on and query.span != WHOLE:
        table = table.filter(_within(table[definition.range_on], Range(query.span.since, query.span.until)))
    return Report(definition, table, query.span, source.as_of, facts=facts)


def read_ahead(installation: Installation, now: datetime) -> None:
    """Map what lists show of the newest runs, once for each of them, so that their first reader need not wait.

    A run that cannot be read is tried once: its reader is told, and the next run is another.
    """
    connections = installation.settings.all_connections
    today = local_date(now, connections[0].country.zone)
    with installation.store.reading() as session:
        runs = latest_runs(session, [own.name for own in connections], today=today)
    newest = [(run.connection, run.id, run.finished_at) for run in runs]
    if not runs or _read_ahead.get(installation.store) == newest:
        return
    _read_ahead[installation.store] = newest
    as_of = max(run.as_of for run in runs)
    for name in _AHEAD:
        read(installation, Query(name, tuple(connections), today, as_of=as_of))


def _read_run(source: Source, run: Run) -> pa.Table:
    """Find the mapped columns of one run, or map them; the least used are let go beyond a number of bytes."""
    day = source.as_of if source.query.name in windows.COMPLETED else None
    key = (source.query.name, run.connection, run.id, run.finished_at, run.pruned_at, day)
    with _lock:
        shelf = _mapped.setdefault(source.installation.store, OrderedDict())
        if key in shelf:
            shelf.move_to_end(key)
            return shelf[key]
    alone = replace(source, runs=[run], query=replace(source.query, span=WHOLE))
    table = _map(windows.pieces(alone) or iter([catalogue.build_from(alone).table]))
    with _lock:
        shelf[key] = table
        while len(shelf) > 1 and sum(kept.nbytes for kept in shelf.values()) > _MOST_BYTES:
            shelf.popitem(last=False)
    return table


def _map(pieces: Iterator[pa.Table]) -> pa.Table:
    first = next(pieces)
    with tempfile.TemporaryFile() as file:
        with pa.ipc.new_file(file, first.schema) as writer:
            writer.write_table(first)
            for piece in pieces:
                writer.write_table(piece)
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return pa.ipc.open_file(pa.py_buffer(mapped)).read_all()


def select(report: Report, asked: Asked, *, zone: str, speak: Speak) -> Selection:
    """Filter a report, and say by which column its rows are sorted."""
    table = report.table
    masks = [_mask(table, condition, zone, speak) for condition in asked.conditions]
    if asked.words:
        texts = (column.name for column in report.definition.columns if column.kind in TEXTS)
        names = _SEARCHED.get(report.definition.name) or tuple(texts)
        masks.append(reduce(pc.or_, (_holds(table[name], asked.words) for name in names)))
    places = pc.indices_nonzero(reduce(pc.and_, masks)) if masks else pa.arange(0, table.num_rows)
    if asked.sort is None:
        return Selection(report, places)
    # Pages name a payout by its day.
    is_payout = asked.sort.name == "payout_id" and _DAY.name in table.column_names
    sort = _DAY if is_payout else asked.sort
    key = table[sort.name].take(places)
    if sort.kind is Kind.DECIMAL:
        key = key.cast(pa.float64())
    elif asked.is_descending and sort.kind is Kind.DATE:
        # What has no day yet is later than all that have one.
        key = key.fill_null(date.max)
    return Selection(report, places, key, asked.is_descending)


def _mask(table: pa.Table, condition: Condition, zone: str, speak: Speak) -> pa.ChunkedArray:
    """Return which rows a condition holds for; an empty cell is neither within a range nor has it a text."""
    values = table[condition.column.name]
    found = [_to_mask(table, condition.column, one, zone) for one in condition.ranges]
    say = speak(condition.column.name)
    for text in condition.texts:
        if say is not None:
            known = values.unique()
            names = [one.as_py() for one in known if one.is_valid and is_meant(one.as_py(), say, text, condition)]
            found.append(pc.is_in(values, value_set=pa.array(names, values.type)))
        else:
            found.append(_holds(values, text, is_whole=condition.is_whole))
    if condition.is_empty:
        found.append(pc.or_(values.is_null(), pc.equal(values.cast(pa.string()).fill_null(""), "")))
    mask = reduce(pc.or_, found)
    return pc.invert(mask) if condition.is_negated else mask


def _to_mask(table: pa.Table, column: Column, asked: Range, zone: str) -> pa.ChunkedArray:
    values = table[column.name]
    match column.kind:
        case Kind.MONEY:
            parts = []
            for currency in table[CURRENCY].unique().to_pylist():
                is_own = pc.equal(table[CURRENCY], currency)
                parts.append(pc.and_(is_own, _within(values, scale(asked, digits_of(currency)))))
            return reduce(pc.or_, parts, _within(values, Range(Decimal(1), Decimal(0))))
        case Kind.DECIMAL:
            return _within(values.cast(pa.float64()), asked)
        case Kind.INSTANT:
            return _within(values, to_moments(asked, zone))
    return _within(values, asked)


def _within(values: pa.ChunkedArray, asked: Range) -> pa.ChunkedArray:
    kept = values.is_valid()
    for bound, is_low in ((asked.low, True), (asked.high, False)):
        if bound is None:
            continue
        is_beyond = {(True, True): pc.greater, (True, False): pc.greater_equal}
        is_before = {(False, True): pc.less, (False, False): pc.less_equal}
        compare = (is_beyond | is_before)[is_low, asked.is_strict]
        edge = pa.scalar(float(bound)) if isinstance(bound, Decimal) else pa.scalar(bound, values.type)
        kept = pc.and_(kept, compare(values, edge).fill_null(False))
    return kept


def _holds(values: pa.ChunkedArray, text: str, *, is_whole: bool = False) -> pa.ChunkedArray:
    """Find a text inside cells, or as whole cells, whatever their accents and capitals."""
    letters = "".join(f"[{_MARKED[one]}]" if one in _MARKED else re.escape(one) for one in fold(text))
    pattern = f"^{letters}$" if is_whole else letters
    return pc.match_substring_regex(values.cast(pa.string()), pattern, ignore_case=True).fill_null(False)
