"""The kept inputs of a run with those it left out: settled rows, from the inputs of the runs that settled them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
from pandas import DataFrame
from sqlmodel import Session

from consumer.facts.installation import Installation
from reconcile.kept import snapshots
from reconcile.kept.pieces import Piece, Rows
from reconcile.kept.settled import Settled, run_of
from reconcile.kept.snapshots import Snapshot
from reconcile.kept.stored import CELL, DAY, DOCUMENT, LINE
from reconcile.rules.inputs import INPUTS, Inputs, empty_frame, to_types
from reconcile.tables.runs import Run

# The frames that are left out in part, and in which order each is read.
LEFT_OUT = {
    "items": ["payout_id", "resource_type", "resource_id"], "documents": ["doc_key"], "disputes": ["dispute_id"],
    "fees": ["payout_id", "resource_id"], "unknown_customers": ["resource_id"],
}  # fmt: skip


class _Left(NamedTuple):
    """What a run left out of one layer: items with their payouts, documents."""

    items: DataFrame
    documents: frozenset[str]


def bring(installation: Installation, run: Run) -> None:
    """Bring all inputs of a run here that another machine made."""
    for run_id in (run.id, *map(run_of, run.layers.split())):
        snapshots.bring(installation, run.connection, run_id)


def read(session: Session, folder: Path, run: Run) -> Snapshot:
    """Bring back all that a run rests on, as if it had judged everything; raise SnapshotError if some is gone."""
    own = snapshots.read(folder, run.connection, run.id)
    layers = run.layers.split()
    if not layers:
        return own
    parts = [own.inputs]
    for layer, left in zip(layers, _find_left(session, run, layers), strict=True):
        parts.append(_choose(snapshots.read(folder, run.connection, run_of(layer)).inputs, left, own.settled))
    items, documents, disputes, fees, unknown = (
        _join(name, [getattr(part, name) for part in parts]) for name in LEFT_OUT
    )
    joined = replace(
        own.inputs,
        items=items,
        documents=documents,
        disputes=disputes,
        fees=fees,
        unknown_customers=unknown,
        settled=empty_frame(INPUTS["settled"]),
        numbers=empty_frame(INPUTS["numbers"]),
    )
    return replace(own, inputs=joined, settled=Settled())


def _find_left(session: Session, run: Run, layers: Sequence[str]) -> Iterator[_Left]:
    lines, documents = Rows(session, run, LINE), Rows(session, run, DOCUMENT)
    names = ("payout_id", "resource_type", "resource_id")
    for layer in layers:
        items = pa.concat_tables([pa.table({name: pa.nulls(0, pa.string()) for name in names}),
                                  *_read_layer(lines, layer, names)], promote_options="permissive")  # fmt: skip
        keys = (key for table in _read_layer(documents, layer, ("doc_key",)) for key in table["doc_key"].to_pylist())
        yield _Left(items.to_pandas().drop_duplicates(ignore_index=True), frozenset(keys))


def _read_layer(rows: Rows, layer: str, names: tuple[str, ...]) -> Iterator[pa.Table]:
    for place in rows.places():
        if place.owner == layer:
            yield rows.read_part(place, Piece((place,)), (*names, CELL, DAY)).select(names)


def _choose(inputs: Inputs, left: _Left, settled: Settled) -> Inputs:
    """Keep of the inputs of a run what it settled and a later one left out."""
    ids, fees = left.items["resource_id"], inputs.fees
    names = LEFT_OUT["items"]
    marks = inputs.items[names].merge(left.items, on=names, how="left", indicator=True)["_merge"] == "both"
    of_items = fees[["payout_id", "resource_id"]].merge(left.items, how="left", indicator=True)["_merge"] == "both"
    return replace(
        inputs,
        items=inputs.items[marks.to_numpy()],
        documents=inputs.documents[inputs.documents["doc_key"].isin(left.documents)],
        disputes=inputs.disputes[inputs.disputes["resource_id"].isin(ids)],
        fees=fees[of_items.to_numpy() | fees["payout_id"].isin(settled.payouts["payout_id"]).to_numpy()],
        unknown_customers=inputs.unknown_customers[inputs.unknown_customers["resource_id"].isin(ids)],
    )


def _join(name: str, frames: Sequence[DataFrame]) -> DataFrame:
    joined = pd.concat(frames, ignore_index=True).drop_duplicates(ignore_index=True)
    return to_types(joined.sort_values(LEFT_OUT[name], ignore_index=True), INPUTS[name])
