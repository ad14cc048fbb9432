"""Lines, documents and further tables of a run packed into chunks when it is published."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pandas import DataFrame

from consumer.facts.store import Row
from reconcile.kept.stored import DAY, DAY_OF, DOCUMENT, EMPTY, LINE, ORDER
from reconcile.rules.outcomes import DEAD

ROWS_A_CHUNK = 10_000


def pack_lines(lines: DataFrame, payouts: DataFrame) -> Iterator[Row]:
    """Pack lines in their order, with the range of dates that each chunk holds."""
    table = date_lines(lines, payouts)
    starts = range(0, table.num_rows, ROWS_A_CHUNK)
    return (_chunk(LINE, number, table.slice(start, ROWS_A_CHUNK)) for number, start in enumerate(starts))


def date_lines(lines: DataFrame, payouts: DataFrame) -> pa.Table:
    """Return lines with the day by which a range of dates selects them."""
    dated = payouts.drop_duplicates("payout_id").set_index("payout_id")["payout_date"]
    found = dated.reindex(lines["payout_id"]).set_axis(lines.index).astype("datetime64[us]")
    found = found.mask(_mark_freed(lines, payouts), lines["local_date"])
    return pa.Table.from_pandas(lines.assign(**{DAY: found}), preserve_index=False)


def _mark_freed(lines: DataFrame, payouts: DataFrame) -> npt.NDArray[np.bool_]:
    """Return which lines have no payout and are of items that dead payouts held: the file lists these once more."""
    names, freed = ["resource_type", "resource_id"], lines["payout_id"].isna().to_numpy(dtype=bool, copy=True)
    dead = payouts["payout_id"][payouts["status"].isin(DEAD)]
    held = lines.loc[lines["payout_id"].isin(dead), names]
    if freed.any():
        loose = pd.MultiIndex.from_frame(lines.loc[freed, names])
        freed[freed] = loose.isin(pd.MultiIndex.from_frame(held))
    return freed


def pack_documents(documents: DataFrame) -> Iterator[Row]:
    """Pack documents in the order of their report, with how many of each chunk still have a balance."""
    table = pa.Table.from_pandas(documents, preserve_index=False)
    return _count_balances(table)


def _count_balances(table: pa.Table) -> Iterator[Row]:
    for chunk, piece in pack(DOCUMENT, sort_documents(table)):
        yield chunk | {"with_balance": pc.sum(pc.not_equal(piece["balance"], 0), min_count=0).as_py()}


def sort_documents(table: pa.Table) -> pa.Table:
    """Put documents into the order of their report."""
    return table.sort_by([(name, "ascending") for name in ORDER[DOCUMENT]])


def pack_days(kind: str, table: pa.Table) -> Iterator[tuple[Row, pa.Table]]:
    """Pack a table in the order of its days so that no day is divided among chunks; yield each with its rows."""
    days = table[DAY_OF[kind]].cast(pa.date32()).to_numpy()
    firsts = [0, *(np.flatnonzero(days[1:] != days[:-1]) + 1)] if len(days) else []
    named, starts = table.replace_schema_metadata({EMPTY: _list_empty(table)}), list[int]()
    for first, following in pairwise([*firsts, len(days)]):
        if not starts or following - starts[-1] > ROWS_A_CHUNK:
            starts.append(int(first))
    for number, (start, end) in enumerate(pairwise([*starts, len(days)])):
        piece = named.slice(start, end - start)
        yield _chunk(kind, number, piece), piece


def pack(kind: str, table: pa.Table) -> Iterator[tuple[Row, pa.Table]]:
    """Pack a table in its order, with the range of days and the empty columns; yield each chunk with its rows.

    A table without rows is one empty chunk, so that it differs from a table that was never made.
    """
    named = table.replace_schema_metadata({EMPTY: _list_empty(table)})
    for number, start in enumerate(range(0, table.num_rows or 1, ROWS_A_CHUNK)):
        piece = named.slice(start, ROWS_A_CHUNK)
        yield _chunk(kind, number, piece), piece


def _list_empty(table: pa.Table) -> str:
    return " ".join(name for name in table.column_names if table[name].null_count == table.num_rows)


def _chunk(kind: str, number: int, piece: pa.Table) -> Row:
    sink = pa.BufferOutputStream()
    # Most columns hardly repeat within a chunk, and zstd finds what does: dictionaries cost time and space here.
    pq.write_table(piece, sink, compression="zstd", use_dictionary=False, write_statistics=False)
    days = piece[DAY_OF[kind]].cast(pa.date32()) if kind in DAY_OF else pa.array([], pa.date32())
    ends = pc.min_max(days).as_py()
    undated = piece["payout_id"].null_count if kind == LINE else days.null_count
    return {
        "kind": kind,
        "number": number,
        "rows": piece.num_rows,
        "since": ends["min"],
        "until": ends["max"],
        "undated": undated,
        "with_balance": 0,
        "content": sink.getvalue().to_pybytes(),
    }
