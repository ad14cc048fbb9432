"""The rows of two published runs that may differ, so that what stayed is never read row by row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from reconcile import chunks, extracts
from reconcile.rules.columns import BETWEEN, combined
from reconcile.tables import ResultChunk, Run

_TEXT = pa.large_string()
_NOTHING = "\x1e"
_LINE = ("resource_id", "payout_id", "resource_type", "line", "outcome", "doc_key", "applied_amount")
_DOCUMENT = ("doc_key", "outcome", "balance")
_PAYOUT = ("payout_id", "status_recon", "difference", "fee_total")


@dataclass(frozen=True, slots=True)
class Rows:
    """What one of the two runs says of everything that may have changed."""

    payouts: Sequence[dict[str, Any]]
    lines: Sequence[dict[str, Any]]
    documents: Sequence[dict[str, Any]]


def find(session: Session, before: Run, after: Run) -> tuple[Rows, Rows]:
    """Read of both runs whole subjects: payouts, documents, and items with the lines of those documents."""
    payouts = [extracts.read(session, run, extracts.PAYOUT, _PAYOUT) for run in (before, after)]
    documents = [_read(session, run, other, chunks.DOCUMENT, _DOCUMENT) for run, other in _both(before, after)]
    lines = [_read(session, run, other, chunks.LINE, _LINE) for run, other in _both(before, after)]
    changed_payouts = _changed(payouts, _PAYOUT[:1])
    changed_documents = _changed(documents, _DOCUMENT[:1])
    changed_items = _changed(lines, _LINE[:2])
    found = []
    for some_payouts, some_documents, some_lines in zip(payouts, documents, lines, strict=True):
        of_items = pc.is_in(_joined(some_lines, _LINE[:2]), value_set=changed_items)
        of_documents = pc.is_in(some_lines["doc_key"].cast(_TEXT), value_set=changed_documents, skip_nulls=True)
        found.append(
            Rows(
                _kept(some_payouts, _PAYOUT[:1], changed_payouts),
                some_lines.filter(pc.or_(of_items, of_documents)).to_pylist(),
                _kept(some_documents, _DOCUMENT[:1], changed_documents),
            )
        )
    return found[0], found[1]


def _both(before: Run, after: Run) -> tuple[tuple[Run, Run], tuple[Run, Run]]:
    return (before, after), (after, before)


def _read(session: Session, run: Run, other: Run, kind: str, names: Sequence[str]) -> pa.Table:
    """Read chunk by chunk what is not in the other run just so."""
    twin = aliased(ResultChunk)
    same = sa.select(col(twin.number)).where(
        col(twin.connection) == other.connection,
        col(twin.run_id) == other.id,
        col(twin.kind) == kind,
        col(twin.number) == col(ResultChunk.number),
        col(twin.rows) == col(ResultChunk.rows),
        col(twin.content) == col(ResultChunk.content),
    )
    tables = chunks.tables(session, run, kind, [~same.exists()], names)
    parts = [pa.table({name: table[name].cast(_TEXT) for name in names}) for table in tables]
    return pa.concat_tables([pa.schema(dict.fromkeys(names, _TEXT)).empty_table(), *parts])


def _changed(tables: Sequence[pa.Table], subject: Sequence[str]) -> pa.Array:
    """Name the subjects of rows that only one of the runs has."""
    old, new = ((table, _joined(table, table.column_names)) for table in tables)
    gone = old[0].filter(pc.invert(pc.is_in(old[1], value_set=new[1])))
    come = new[0].filter(pc.invert(pc.is_in(new[1], value_set=old[1])))
    return pa.concat_arrays([_joined(gone, subject), _joined(come, subject)])


def _kept(table: pa.Table, subject: Sequence[str], changed: pa.Array) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.filter(pc.is_in(_joined(table, subject), value_set=changed)).to_pylist()
    return rows


def _joined(table: pa.Table, names: Sequence[str]) -> pa.Array:
    parts = [table[name].cast(_TEXT) for name in names]
    joined = pc.binary_join_element_wise(*parts, BETWEEN, null_handling="replace", null_replacement=_NOTHING)
    return combined(joined)
