"""The rows of two published runs that may differ, so that what stayed is never read row by row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlalchemy.orm import aliased
from sqlmodel import Session, col

from reconcile.kept import chunks, extracts
from reconcile.rules.columns import BETWEEN, to_one_array
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
    payouts = _payouts(session, before, after)
    documents = _both(session, (before, after), chunks.DOCUMENT, _DOCUMENT)
    lines = _both(session, (before, after), chunks.LINE, _LINE)
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


def _payouts(session: Session, before: Run, after: Run) -> list[pa.Table]:
    """Read payouts by chunks too; runs published without them are read whole."""
    runs = before, after
    if all(chunks.is_kept(session, run, chunks.PAYOUT) for run in runs):
        return _both(session, runs, chunks.PAYOUT, _PAYOUT)
    return [_texts(extracts.read(session, run, chunks.PAYOUT, _PAYOUT), _PAYOUT) for run in runs]


def _both(session: Session, runs: tuple[Run, Run], kind: str, names: Sequence[str]) -> list[pa.Table]:
    """Read chunk by chunk what is not in the other run just so."""
    unlike = col(ResultChunk.number).not_in(_alike(session, runs, kind))
    found = []
    for run in runs:
        parts = (_texts(table, names) for table in chunks.tables(session, run, kind, [unlike], names))
        found.append(pa.concat_tables([pa.schema(dict.fromkeys(names, _TEXT)).empty_table(), *parts]))
    return found


def _alike(session: Session, runs: tuple[Run, Run], kind: str) -> Sequence[int]:
    """Number the chunks that are the same in both runs; the database compares them where they lie."""
    one, other = ResultChunk, aliased(ResultChunk)
    mine = (col(one.connection) == runs[0].connection, col(one.run_id) == runs[0].id, col(one.kind) == kind)
    theirs = (col(other.connection) == runs[1].connection, col(other.run_id) == runs[1].id, col(other.kind) == kind)
    same = (col(getattr(one, name)) == col(getattr(other, name)) for name in ("number", "rows", "content"))
    return session.scalars(sa.select(col(one.number)).where(*mine, *theirs, *same)).all()


def _texts(table: pa.Table, names: Sequence[str]) -> pa.Table:
    return pa.table({name: table[name].cast(_TEXT) for name in names})


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
    return to_one_array(joined)
