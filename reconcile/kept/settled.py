"""Layers of settled rows: those of closed days as the run that settled them published them, and what they add up to.

Later runs leave these rows unread and rest on the layers: readers find them there (`pieces`), and sums are taken from
what each chunk adds up to, so that a night does not read them again.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from pandas import DataFrame, Series
from sqlmodel import Session, col

from consumer.facts.store import Row, put
from reconcile.kept import packing, stored
from reconcile.kept.pieces import NOTHING_HIDDEN, Bounds, Piece, Rows
from reconcile.kept.stored import BOUNDS, CELL, DOCUMENT, HIDDEN, LINE, PAYOUT, SETTLED
from reconcile.rules import inputs
from reconcile.rules.inputs import DISPUTE, OF_DOCUMENTS, SUMMARY, Result, empty_frame, to_types
from reconcile.tables.closing import Horizon
from reconcile.tables.runs import ResultChunk, Run

_MARK = "+"
_ALIKE = ["payout_id", "resource_type", "resource_subtype", "currency", "local_date", "outcome"]
_SUMMED = [name for name in inputs.SETTLED_ROWS if name not in (*_ALIKE, "count")]
_SUMS = {**inputs.SETTLED_ROWS, "of": inputs.TEXT, "layer": inputs.COUNT, "number": inputs.COUNT}
_READ = ("line", *_ALIKE, *_SUMMED)


@dataclass(frozen=True, slots=True)
class Settled:
    """What a run left out: settled payouts as they were, sums of all other rows; the layers, and what they hide.

    `sums` are the same sums chunk by chunk, for the layer that the run may write.
    """

    payouts: DataFrame = field(default_factory=lambda: empty_frame(SUMMARY))
    rows: DataFrame = field(default_factory=lambda: empty_frame(inputs.SETTLED_ROWS))
    sums: DataFrame = field(default_factory=lambda: empty_frame(_SUMS))
    layers: tuple[str, ...] = ()
    hidden: pa.Table = field(default_factory=lambda: NOTHING_HIDDEN)


def is_layer(owner: str) -> bool:
    return _MARK in owner


def run_of(layer: str) -> str:
    """Return the run that settled what is in a layer."""
    return layer.partition(_MARK)[0]


def name_layer(run_id: str, number: int | str) -> str:
    """Name what a run settles; the same content may settle again after a horizon was dropped."""
    return f"{run_id}{_MARK}{number}"


def hide(hidden: pa.Table, cells: Collection[int], payouts: Collection[str], layers: int) -> pa.Table:
    """Add cells and payouts that are judged again to what the first so many layers have and no reader may see."""
    new = {CELL: [*sorted(cells), *(None for _ in payouts)], "payout_id": [*(None for _ in cells), *sorted(payouts)],
           "layers": [layers] * (len(cells) + len(payouts))}  # fmt: skip
    return pa.concat_tables([hidden, pa.table(new, schema=NOTHING_HIDDEN.schema)])


def read_hidden(session: Session, connection: str, layers: Sequence[str]) -> pa.Table:
    """Return what a new run hides of these layers before it judges anything again."""
    found = stored.read_all(session, _ToCome(connection), layers[-1], HIDDEN)
    return pa.concat_tables(found)


class _ToCome(NamedTuple):
    """A run that has no rows yet and rests on layers already."""

    connection: str
    layers: str = ""
    id: str = ""
    number: int = 0


def read_settled(
    session: Session, connection: str, layers: Sequence[str], hidden: pa.Table, closed: Collection[str]
) -> Settled:
    """Return what a run leaves out, of which `closed` are the payouts: read again only where a layer hides rows."""
    run = _ToCome(connection, " ".join(layers))
    known, payouts = (_read_newest(session, run, kind) for kind in (SETTLED, PAYOUT))
    found = [sums for kind in (LINE, DOCUMENT) for sums in _correct(Rows(session, run, kind, hidden=hidden), known)]
    sums = to_types(pd.concat([empty_frame(_SUMS), *found], ignore_index=True), _SUMS)
    standing = to_types(payouts[payouts["payout_id"].isin(closed)], SUMMARY)
    ordered = standing.sort_values(["created_at_utc", "payout_id"], ignore_index=True)
    return Settled(ordered, sums[[*inputs.SETTLED_ROWS]], sums, tuple(layers), hidden)


def _read_newest(session: Session, run: stored.Named, kind: str) -> DataFrame:
    """Read what the newest layer says of itself and of all below it."""
    return _to_frame(pa.concat_tables(stored.read_all(session, run, run.layers.split()[-1], kind)))


def _correct(rows: Rows, known: DataFrame) -> Iterator[DataFrame]:
    """Yield what the chunks add up to: as the newest layer knew it, unless something of one was hidden since."""
    is_new = pc.equal(rows.hidden["layers"], len(rows.layers))
    since = replace(rows, hidden=rows.hidden.filter(is_new))
    moved = [place for place in rows.places() if since.hides(place)]
    here = known[known["of"] == rows.kind]
    is_moved = pd.MultiIndex.from_frame(here[["layer", "number"]]).isin(
        [(place.layer, place.number) for place in moved]
    )
    yield here[~is_moved]
    for place in moved:
        part = rows.read_part(place, Piece((place,)), _names_of(rows.kind))
        yield _add_up(rows.kind, part).assign(of=rows.kind, layer=place.layer, number=place.number)


def _to_frame(table: pa.Table) -> DataFrame:
    frame: DataFrame = table.to_pandas(integer_object_nulls=True)
    return frame


def _names_of(kind: str) -> tuple[str, ...]:
    return (*_READ, CELL, stored.DAY) if kind == LINE else ("doc_key", "issue_date", "outcome", CELL)


def _add_up(kind: str, table: pa.Table) -> DataFrame:
    """Add up items that are alike, and count documents by their outcome."""
    rows = _to_frame(table)
    if kind == DOCUMENT:
        counted = rows.groupby("outcome", as_index=False).size().rename(columns={"size": "count"})
        return to_types(
            counted.assign(resource_type=OF_DOCUMENTS).reindex(columns=[*inputs.SETTLED_ROWS]), inputs.SETTLED_ROWS
        )
    first = to_types(rows[rows["line"] == 1].assign(count=1), inputs.SETTLED_ROWS)
    groups = first.groupby(_ALIKE, as_index=False, dropna=False)
    sums = groups[["count", *_SUMMED]].sum(min_count=1)
    return to_types(sums, inputs.SETTLED_ROWS)


def write_hidden(session: Session, connection: str, run_id: str, settled: Settled) -> None:
    """Write which rows of its layers a run judged itself."""
    for chunk, _ in packing.pack(HIDDEN, settled.hidden) if settled.layers else ():
        row = {"connection": connection, "run_id": run_id} | chunk
        put(session.connection(), ResultChunk, row, keys=("connection", "run_id", "kind", "number"))


def pack_layer(frozen: DataFrame, result: Result, below: Settled) -> Iterator[Row]:
    """Pack the settled rows of a result on top of other layers; `frozen` says the cell of each of its rows."""
    settled, layer = set(frozen["key"][(frozen["kind"] == PAYOUT) & (frozen[CELL] != 0)]), len(below.layers)
    sums, bounds = [below.sums], []
    for kind, table in ((LINE, _choose_lines(frozen, result, settled)), (DOCUMENT, _choose_documents(frozen, result))):
        for number, (chunk, piece) in enumerate(packing.pack_days(kind, table)):
            yield chunk
            sums.append(_add_up(kind, piece).assign(of=kind, layer=layer, number=number))
            bounds.append({"of": kind, "number": number} | _find_bounds(kind, piece))
    payouts = result.payouts[result.payouts["payout_id"].isin(settled)]
    standing = to_types(pd.concat([below.payouts, payouts], ignore_index=True), SUMMARY)
    added = to_types(pd.concat(sums, ignore_index=True), _SUMS)
    ends = DataFrame(bounds, columns=["of", "number", *Bounds._fields])
    for kind, frame in ((SETTLED, added), (BOUNDS, ends), (PAYOUT, standing)):
        yield from (chunk for chunk, _ in packing.pack(kind, pa.Table.from_pandas(frame, preserve_index=False)))
    yield from (chunk for chunk, _ in packing.pack(HIDDEN, below.hidden))


def _choose_lines(frozen: DataFrame, result: Result, payouts: Collection[str]) -> pa.Table:
    """Choose the lines of settled cells; a dispute is a line of its payout and settled with that."""
    lines = result.lines
    names = lines["resource_id"] + " " + lines["payout_id"].fillna("") + " " + lines["resource_type"]
    is_dispute = lines["resource_type"] == DISPUTE
    cells = _find_cells(frozen, "item", names).where(~is_dispute, 0)
    is_settled = (cells > 0) | (is_dispute & lines["payout_id"].isin(payouts))
    dated = packing.date_lines(lines[is_settled].reset_index(drop=True), result.payouts)
    return dated.append_column(CELL, pa.array(cells[is_settled].to_numpy()))


def _choose_documents(frozen: DataFrame, result: Result) -> pa.Table:
    cells = _find_cells(frozen, "document", result.documents["doc_key"])
    chosen = result.documents.assign(**{CELL: cells})[cells > 0]
    return packing.sort_documents(pa.Table.from_pandas(chosen, preserve_index=False))


def _find_bounds(kind: str, piece: pa.Table) -> dict[str, int]:
    ends = pc.min_max(piece[CELL].filter(pc.greater(piece[CELL], 0))).as_py()
    disputes = pc.sum(pc.equal(piece["resource_type"], DISPUTE)).as_py() if kind == LINE else 0
    return {"first": ends["min"] or 1, "last": ends["max"] or 0, "disputes": disputes}


def _find_cells(frozen: DataFrame, kind: str, names: Series) -> Series:
    """Return the cell of each row, 0 where it is in none; as whole numbers throughout, which no float could tell."""
    own = frozen[(frozen["kind"] == kind) & (frozen[CELL] > 0)]
    keys = own["key"] + " " + own["part"] if kind == "item" else own["key"]
    cells = own[CELL].astype(inputs.COUNT).set_axis(keys)
    found = cells[~cells.index.duplicated()].reindex(names.astype(object))
    return found.fillna(0).astype("int64").set_axis(names.index)


def find_dead_layers(session: Session, connection: str) -> list[str]:
    """Name the layers on which neither a run nor the horizon rests, without those that a run is writing now."""
    chunk, run = ResultChunk, Run
    owners = session.scalars(sa.select(col(chunk.run_id)).where(col(chunk.connection) == connection).distinct()).all()
    # After the layers: whoever wrote one has said so before.
    horizon = session.get(Horizon, connection, populate_existing=True)
    standing, writing = (horizon.layers, horizon.claimed_by) if horizon else ("", "")
    kept = sa.select(col(run.layers)).where(col(run.connection) == connection, col(run.pruned_at).is_(None)).distinct()
    used = {layer for layers in (*session.scalars(kept), standing) for layer in layers.split()}
    return [owner for owner in owners if is_layer(owner) and owner not in used and run_of(owner) != run_of(writing)]
