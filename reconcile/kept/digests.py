"""Digests of frames and of code: they name a run, and show whether its kept inputs are still those it was made from."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pandas import DataFrame

from reconcile.rules.columns import to_one_array


def digest_of(frame: DataFrame) -> str:
    """Return the digest of the cells in their order, column by column; a missing cell differs from an empty one."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    sha256 = hashlib.sha256()
    for name in table.column_names:
        cells = to_one_array(table[name])
        sha256.update(f"{name}\0{len(cells)}\0{cells.null_count}\0".encode())
        for part in _written(cells):
            sha256.update(part)
    return sha256.hexdigest()


def _written(cells: pa.Array) -> Iterator[memoryview]:
    """Yield a column as bytes that only the same cells have, in whatever pieces they are kept."""
    if cells.null_count == len(cells):
        return
    if cells.null_count:
        yield cells.is_null().to_numpy(zero_copy_only=False).data
    if pa.types.is_large_string(cells.type):
        known = cells.fill_null("") if cells.null_count else cells
        _, starts, content = known.buffers()
        places = np.frombuffer(starts, dtype=np.int64)[known.offset : known.offset + len(known) + 1]
        yield np.diff(places).data
        if content is not None:
            yield memoryview(content.slice(int(places[0]), int(places[-1] - places[0])))
    elif pa.types.is_int64(cells.type) or pa.types.is_timestamp(cells.type):
        yield cells.cast(pa.int64()).fill_null(0).to_numpy().data
    else:
        raise TypeError(f"a column of {cells.type} has no place in a run's inputs")


def digest_of_code(*rooms: Path) -> str:
    """Return the digest of all files of some rooms, which another version of them does not have."""
    digest = hashlib.sha256()
    for room in rooms:
        for path in sorted(room.rglob("*.py")):
            digest.update(path.relative_to(room).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
