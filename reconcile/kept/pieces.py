"""Where the rows of a run lie, in their order: in its own chunks, and in the layers of settled rows that it rests on.

A run that judged everything has its own chunks alone. One that left settled rows out has them in the layers of the
runs that settled them, and hides there what it judged again. A piece is a chunk, or the rows of some days out of
several chunks, put in order.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache, reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlmodel import Session, col

from reconcile.kept import stored
from reconcile.kept.stored import BOUNDS, CELL, DAY_OF, HIDDEN, LINE, ORDER, PAYOUT, Named, day_masks, filter_rows
from reconcile.rules.inputs import DISPUTE
from reconcile.tables.closing import FrozenRow, Horizon
from reconcile.tables.runs import ResultChunk

Cells = npt.NDArray[np.int64]
# By which columns the cell of a row tells where it lies.
_KEYED = ("resource_id", "doc_key")
_OWN = -1
_A_DAY = timedelta(days=1)
_CHUNKS_HELD = 6
_RANK = "rank"
NOTHING_HIDDEN = pa.table({CELL: pa.nulls(0, pa.int64()), "payout_id": pa.nulls(0, pa.string()),
                            "layers": pa.nulls(0, pa.int64())})  # fmt: skip


class Place(NamedTuple):
    """A chunk: whose it is, the place of its layer below the run, its number, rows and days."""

    owner: str
    layer: int
    number: int
    rows: int
    since: date | None
    until: date | None
    undated: int


class Bounds(NamedTuple):
    """The first and the last cell of a chunk of a layer, and how many lines of disputes it has."""

    first: int
    last: int
    disputes: int


class Piece(NamedTuple):
    """Chunks of which some rows stand together, those of a stretch of days, or those of no payout; else all rows."""

    places: tuple[Place, ...]
    since: date | None = None
    until: date | None = None
    is_cut: bool = False
    is_loose: bool = False

    @property
    def has_loose(self) -> bool:
        """Return whether it may have rows without a payout."""
        return self.is_loose or (not self.is_cut and any(one.undated for one in self.places))


@dataclass(slots=True)
class Rows:
    """The rows of one kind that a run has, piece by piece in their order; `is_own` leaves out what others settled."""

    session: Session
    run: Named
    kind: str
    is_own: bool = False
    hidden: pa.Table = field(default_factory=lambda: NOTHING_HIDDEN)
    layers: tuple[str, ...] = field(init=False)
    _load: Callable[[str, int, tuple[str, ...] | None], pa.Table] = field(init=False)
    _payouts: pa.Array | None = field(default=None, init=False)
    _bounds: dict[str, dict[int, Bounds]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.layers = () if self.is_own or self.kind not in ORDER else tuple(self.run.layers.split())
        if self.layers and self.run.id:
            found = stored.read_all(self.session, self.run, self.run.id, HIDDEN)
            self.hidden = pa.concat_tables([NOTHING_HIDDEN, *found])
        self._load = lru_cache(_CHUNKS_HELD)(self._load_chunk)

    def _load_chunk(self, owner: str, number: int, names: tuple[str, ...] | None) -> pa.Table:
        return stored.load(self.session, self.run, owner, self.kind, number).read(names)

    def places(self) -> list[Place]:
        """Return every chunk, the run's own ones first."""
        chunk, owners = ResultChunk, (self.run.id, *self.layers)
        columns = (chunk.run_id, chunk.number, chunk.rows, chunk.since, chunk.until, chunk.undated)
        mine = (col(chunk.connection) == self.run.connection, col(chunk.kind) == self.kind)
        asked = sa.select(*(col(column) for column in columns)).where(*mine, col(chunk.run_id).in_(owners))
        found = (Place(row[0], owners.index(row[0]) + _OWN, *row[1:]) for row in self.session.execute(asked))
        return sorted(found, key=lambda one: (one.layer, one.number))

    def pieces(self, since: date | None = None, until: date | None = None) -> list[Piece]:
        """Return the pieces that may hold a day of a range; one without days may."""
        places = self.places()
        found = list(self._cut(places)) if self.layers else [Piece((one,), one.since, one.until) for one in places]
        return [one for one in found if (since is None or one.until is None or one.until >= since)
                and (until is None or one.since is None or one.since <= until)]  # fmt: skip

    def _cut(self, places: Sequence[Place]) -> Iterator[Piece]:
        """Cut the days where a chunk begins, so that a piece has the rows of few chunks; lines without a payout last.

        Rows without a day are of the last stretch.
        """
        cuts: list[date | None] = [*sorted({one.since for one in places if one.since is not None}), None]
        for first, following in pairwise(cuts):
            assert first is not None
            last = None if following is None else following - _A_DAY
            near = (one for one in places if _reaches(one, first, last))
            yield Piece(tuple(near), first, last, is_cut=True)
        if len(cuts) == 1 and places:
            yield Piece(tuple(places), is_cut=True)
        if self.kind == LINE:
            yield from (Piece((one,), one.since, one.until, is_loose=True) for one in places if one.undated)

    def read(self, piece: Piece, names: Sequence[str] | None = None) -> pa.Table:
        """Read the rows of a piece in their order, whole or some of their columns."""
        if not self.layers:
            return self._load(piece.places[0].owner, piece.places[0].number, None if names is None else tuple(names))
        asked = None if names is None else tuple(dict.fromkeys((*names, *ORDER[self.kind], DAY_OF[self.kind], CELL)))
        parts = [self.read_part(one, piece, asked) for one in piece.places]
        filled = [part for part in parts if part.num_rows] or parts[:1]
        table = filled[0] if len(filled) == 1 else self._sort(pa.concat_tables(filled, promote_options="permissive"))
        return table if names is None else table.select([name for name in table.column_names if name in names])

    def empty_columns(self) -> set[str]:
        """Return the columns without any value in the whole of the run."""
        firsts = [one for one in self.places() if one.number == 0]
        found = [stored.load(self.session, self.run, one.owner, self.kind, 0).empty_columns() for one in firsts]
        return set.intersection(*found) if found else set()

    def count(self, piece: Piece, since: date | None, until: date | None, *, paid_out: bool) -> int:
        """Count the rows of a piece in a range; of lines, where `paid_out`, those of the file of payouts."""
        return sum(self._count_part(one, piece, since, until, paid_out=paid_out) for one in piece.places)

    def _count_part(self, place: Place, piece: Piece, since: date | None, until: date | None, *, paid_out: bool) -> int:
        own_since, own_until = (piece.since, piece.until) if piece.is_cut else (None, None)
        first = max(filter(None, (own_since, since)), default=None)
        last = min(filter(None, (own_until, until)), default=None)
        is_within = (
            place.since is not None and place.until is not None and not place.undated
            and (first is None or place.since >= first) and (last is None or place.until <= last)
        )  # fmt: skip
        is_everything = since is until is None and not paid_out and not piece.is_cut and not piece.is_loose
        if (is_within or is_everything) and not self.hides(place):
            return place.rows
        names = [name for name in (DAY_OF.get(self.kind), "payout_id", "resource_type", CELL) if name is not None]
        part = self.read_part(place, piece, tuple(names))
        day = part[DAY_OF[self.kind]] if self.kind in DAY_OF else None
        masks = [] if day is None else day_masks(day, since, until)
        return int(filter_rows(part, [*masks, *([is_of_file(part)] if paid_out else [])]).num_rows)

    def read_part(self, place: Place, piece: Piece, names: tuple[str, ...] | None) -> pa.Table:
        """Read of one chunk the rows of a piece that the run does not hide."""
        table = self._load(place.owner, place.number, names)
        masks = self._mask(table, place)
        if piece.is_cut:
            days = table[DAY_OF[self.kind]]
            inside = day_masks(days, piece.since, piece.until)
            masks += [pc.fill_null(mask, piece.until is None) for mask in inside]
        if self.kind == LINE and self.layers:
            is_loose = pc.is_null(table["payout_id"])
            masks.append(is_loose if piece.is_loose else pc.invert(is_loose))
        found = filter_rows(table, masks)
        return found.drop_columns([CELL]) if CELL in found.column_names else found

    def _mask(self, table: pa.Table, place: Place) -> list[pa.Array]:
        if not self.hides(place):
            return []
        masks = [pc.invert(pc.is_in(table[CELL], value_set=pa.array(self._hidden_cells(place.layer))))]
        if self.kind == LINE:
            # Whether a dispute is a line of a payout is decided with the payout.
            hidden = self.hidden.filter(pc.greater(self.hidden["layers"], place.layer))["payout_id"].drop_null()
            among = pc.is_in(table["payout_id"].cast(pa.string()), value_set=hidden.combine_chunks())
            masks.append(pc.invert(pc.and_(among, pc.equal(table["resource_type"], DISPUTE))))
        return masks

    def _hidden_cells(self, layer: int) -> Cells:
        own = self.hidden.filter(pc.greater(self.hidden["layers"], layer))
        cells: Cells = np.unique(own[CELL].drop_null().to_numpy())
        return cells

    def hides(self, place: Place) -> bool:
        """Return whether a chunk may have rows that the run hides."""
        if place.layer == _OWN or not self.hidden.num_rows:
            return False
        own = self.hidden.filter(pc.greater(self.hidden["layers"], place.layer))
        has_payouts = self.kind == LINE and own["payout_id"].null_count < own.num_rows
        if has_payouts and self._bounds_of(place).disputes:
            return True
        return self._may_hold(place, self._hidden_cells(place.layer))

    def _may_hold(self, place: Place, cells: Cells) -> bool:
        """Return whether the bounds of a chunk of a layer hold one of some cells, which are in order."""
        bounds = self._bounds_of(place)
        return bool(np.searchsorted(cells, bounds.first) < np.searchsorted(cells, bounds.last, side="right"))

    def _bounds_of(self, place: Place) -> Bounds:
        if place.owner not in self._bounds:
            tables = stored.read_all(self.session, self.run, place.owner, BOUNDS)
            rows = (row for table in tables for row in table.to_pylist() if row["of"] == self.kind)
            found = {row["number"]: Bounds(row["first"], row["last"], row["disputes"]) for row in rows}
            self._bounds[place.owner] = found
        return self._bounds[place.owner][place.number]

    def _sort(self, table: pa.Table) -> pa.Table:
        keys = [(name, "ascending") for name in ORDER[self.kind]]
        if self.kind != LINE:
            return table.sort_by(keys)
        ranks = pc.index_in(table["payout_id"].cast(pa.string()), value_set=self._order_payouts())
        ranked = table.append_column(_RANK, ranks).sort_by([(_RANK, "ascending"), *keys])
        return ranked.drop_columns([_RANK])

    def _order_payouts(self) -> pa.Array:
        """Return the payouts in the order in which they were made, as lines stand."""
        if self._payouts is None:
            names = ["payout_id", "created_at_utc"]
            table = pa.concat_tables(stored.read_all(self.session, self.run, self.run.id, PAYOUT, names))
            ordered = table.sort_by([("created_at_utc", "ascending"), ("payout_id", "ascending")])
            self._payouts = ordered["payout_id"].cast(pa.string()).combine_chunks()
        return self._payouts

    def find(self, column: str, values: Collection[str], on: date | None = None) -> Iterator[pa.Table]:
        """Find the rows whose column holds one of these texts; a chunk is unpacked whole only where it does.

        With a day, only what may have rows of it is looked through.
        """
        asked = pa.array(values, pa.string())
        near = self._find_cells(values) if self.layers and column in _KEYED else None

        def may_have(place: Place) -> bool:
            if place.layer != _OWN and near is not None and not self._may_hold(place, near):
                return False
            texts = self._load(place.owner, place.number, (column,))[column].cast(pa.string())
            return bool(pc.any(pc.is_in(texts, value_set=asked), min_count=0).as_py())

        for piece in self.pieces(on, on):
            if any(map(may_have, piece.places)):
                table = self.read(piece)
                yield table.filter(pc.is_in(table[column].cast(pa.string()), value_set=asked))

    def _find_cells(self, values: Collection[str]) -> Cells | None:
        """Return the cells of items and documents by their keys; None if another horizon holds than that of the run."""
        horizon = self.session.get(Horizon, self.run.connection)
        if horizon is None or horizon.layers != self.run.layers:
            return None
        row = FrozenRow
        mine = (col(row.connection) == self.run.connection, col(row.kind).in_(("item", "document")))
        found = self.session.scalars(sa.select(col(row.cell)).where(*mine, col(row.key).in_(values)))
        return np.unique(np.array(found.all(), dtype=np.int64))

    def read_unlike(self, other: Named, same: Collection[int], names: Sequence[str]) -> Iterator[pa.Table]:
        """Read, in no order, the rows that another run may not have; `same` are own chunks that it has too."""
        theirs = Rows(self.session, other, self.kind)
        for place in self.places():
            if place.layer == _OWN and place.number in same:
                continue
            table = self._load(place.owner, place.number, (*names, CELL))
            masks = self._mask(table, place)
            if place.owner in theirs.layers:
                shown = theirs._mask(table, place)
                if not shown:
                    continue
                masks.append(pc.invert(reduce(pc.and_, shown)))
            yield filter_rows(table, masks).select(names)


def _reaches(place: Place, first: date, last: date | None) -> bool:
    """Return whether a chunk may have rows of a stretch of days; the last one has rows without a day too."""
    if place.since is None or place.until is None:
        return last is None
    return (last is None or place.since <= last) and (place.until >= first or (last is None and place.undated > 0))


def is_of_file(lines: pa.Table) -> pa.Array:
    """Return which lines the file of payouts has: those of payouts, and of items that dead payouts held."""
    return pc.or_(pc.is_valid(lines["payout_id"]), pc.is_valid(lines[DAY_OF[LINE]]))
