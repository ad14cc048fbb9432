"""Lines of the accounts payouts go to, as the newest runs read them: what each pays, and what none explains."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlmodel import Session, col

from reconcile.desk.ties import share_of
from reconcile.kept import chunks, extracts
from reconcile.tables.books import BankFile, BankLine
from reconcile.tables.desk import Decision
from reconcile.tables.runs import Run
from reports.queries import frames
from reports.queries.asking import Asked
from reports.queries.frames import Part
from reports.queries.listing import PAGE_ROWS
from reports.shapes.spans import Row, Span

_NEAREST = 20
_COMPLETING = ("file", "tied_by", "tied_reason")
# By connection, the payouts that lines will bring because of what was decided since the run.
Later: TypeAlias = Mapping[str, Mapping[str, str | None]]
_NOTHING: Later = {}


class Sum(NamedTuple):
    """What lines of one currency come to."""

    currency: str
    lines: int
    amount: int


def bank_tables(
    session: Session, runs: Sequence[Run], span: Span, later: Later = _NOTHING, *, is_complete: bool = True
) -> Iterator[Part]:
    """Read the lines of each run with the columns of the report; those that complete it may be left empty."""
    for run in frames.in_order(runs):
        table = _read(session, run, later)
        masks = chunks.day_masks(table["bank_day"].cast(pa.timestamp("us")), span.since, span.until)
        found = chunks.filter_rows(table, masks)
        if is_complete:
            found = complete(session, run.connection, found)
        else:
            for name in _COMPLETING:
                found = found.append_column(name, pa.nulls(found.num_rows, pa.string()))
        yield run.connection, found


def is_completed_by(asked: Asked) -> bool:
    """Return True if rows are chosen or sorted by what completes them."""
    names = {one.column.name for one in asked.conditions} | {asked.sort.name if asked.sort else ""}
    return not names.isdisjoint(_COMPLETING)


def complete(session: Session, connection: str, table: pa.Table) -> pa.Table:
    """Add the file each line stands in, and who tied it to its payout."""
    ids = list(dict.fromkeys(table["file_line_id"].drop_null().to_pylist()))
    files, ties = _name_files(session, connection, ids), _find_ties(session, connection)
    payouts, lines, twins = (table[name].to_pylist() for name in ("payout_id", "movement_id", "file_line_id"))
    tied = [
        ties.get((payout or "", line), ties.get((payout or "", twin or ""), (None, None)))
        for payout, line, twin in zip(payouts, lines, twins, strict=True)
    ]
    columns = [
        [files.get(line) for line in table["file_line_id"].to_pylist()],
        [author for author, _ in tied],
        [reason for _, reason in tied],
    ]
    for name, values in zip(_COMPLETING, columns, strict=True):
        table = table.append_column(name, pa.array(values, pa.string()))
    return table


def _name_files(session: Session, connection: str, ids: Sequence[str]) -> Mapping[str, str]:
    """Name the files of some lines; beyond a page's worth of lines all of them are read."""
    same = sa.and_(col(BankFile.connection) == BankLine.connection, col(BankFile.sha256) == BankLine.file_sha256)
    query = sa.select(col(BankLine.id), col(BankFile.name)).join(BankFile, same)
    query = query.where(col(BankLine.connection) == connection)
    if len(ids) <= PAGE_ROWS:
        query = query.where(col(BankLine.id).in_(ids))
    return {row[0]: row[1] for row in session.execute(query)}


def _find_ties(session: Session, connection: str) -> Mapping[tuple[str, str], tuple[str, str]]:
    """Find the payouts that people tied to a line: both are named where other decisions name payment and document."""
    mine = (col(Decision.connection) == connection, col(Decision.undone_by).is_(None), col(Decision.kind) == "tie")
    query = sa.select(col(Decision.resource_id), col(Decision.doc_key), col(Decision.author), col(Decision.reason))
    return {(payout, line): (author, reason) for payout, line, author, reason in session.execute(query.where(*mine))}


def add_up(table: pa.Table) -> tuple[list[Sum], list[Sum]]:
    """Add up lines of a report by currency: all of them, and those that no payout explains."""
    return _add_up(table), _add_up(table.filter(pc.is_null(table["payout_id"])))


def complete_rows(session: Session, runs: Sequence[Run], rows: Sequence[Row], later: Later) -> list[Row]:
    """Complete some lines of a report; those whose payout changes with what was decided are marked."""
    ids = pa.array([row["movement_id"] for row in rows], pa.string())
    found: dict[tuple[str, str], Row] = {}
    for run in runs:
        table = _read(session, run, later, ("movement_id", "payout_id", "file_line_id"))
        own = complete(session, run.connection, table.filter(pc.is_in(table["movement_id"], value_set=ids)))
        found |= {(run.connection, row["movement_id"]): row for row in own.to_pylist()}
    names = (*_COMPLETING, "pending")
    wholes = (found[row["connection"], row["movement_id"]] for row in rows)
    return [row | {name: whole[name] for name in names} for row, whole in zip(rows, wholes, strict=True)]


def find_line(session: Session, run: Run, movement_id: str, later: Later = _NOTHING) -> Row | None:
    table = _read(session, run, later)
    found = table.filter(pc.equal(table["movement_id"], movement_id))
    return next(_complete_rows(session, run.connection, found.slice(0, 1)), None)


def find_free_lines(session: Session, run: Run, payout: Row, later: Later) -> list[Row]:
    """Find the lines that a person may tie a payout to: they bring none, and their amount is near enough."""
    lines = _read(session, run, later)
    free = lines.filter(pc.and_(pc.is_null(lines["payout_id"]), pc.equal(lines["currency"], payout["currency"])))
    paid = payout["payout_amount"]
    return list(chunks.to_rows(_find_nearest(free, "amount_signed", paid, paid * share_of(run), "movement_id")))


def find_candidates(session: Session, run: Run, line: Row, later: Later) -> list[Row]:
    """Find the payouts that a person may tie a line to: no line shows them, and their amount is near enough."""
    payouts = extracts.read(session, run, chunks.PAYOUT)
    is_free = pc.and_(pc.is_null(payouts["bank_movement_id"]), pc.equal(payouts["status"], "succeeded"))
    free = payouts.filter(pc.and_(is_free, pc.equal(payouts["currency"], line["currency"])))
    taken = pa.array([payout for payout in later.get(run.connection, {}).values() if payout], pa.string())
    free = free.filter(pc.invert(pc.is_in(free["payout_id"], value_set=taken)))
    most = pc.multiply(free["payout_amount"], share_of(run))
    nearest = _find_nearest(free, "payout_amount", line["amount_signed"], most, "payout_id").to_pylist()
    return [{**row, "connection": run.connection} for row in nearest]


def _find_nearest(table: pa.Table, column: str, amount: int, most: float | pa.ChunkedArray, identity: str) -> pa.Table:
    """Return the nearest rows of those that differ by a hundredth of `most` at most."""
    far = table.append_column("far", pc.abs(pc.subtract(table[column], amount)))
    far = far.filter(pc.less_equal(pc.multiply(far["far"], 100), most))
    return far.sort_by([("far", "ascending"), (identity, "ascending")]).slice(0, _NEAREST)


def _read(session: Session, run: Run, later: Later, names: Sequence[str] | None = None) -> pa.Table:
    """Read the lines of a run, each with the payout it will bring; `pending` marks those that change."""
    table, changed = extracts.read(session, run, chunks.BANK, names), later.get(run.connection, {})
    pending = pa.nulls(table.num_rows, pa.string())
    if changed:
        lines = table["movement_id"].to_pylist()
        brought = zip(lines, table["payout_id"].to_pylist(), strict=True)
        payouts = pa.array([changed.get(line, payout) for line, payout in brought], pa.string())
        table = table.set_column(table.schema.get_field_index("payout_id"), "payout_id", payouts)
        pending = pa.array(["changes" if line in changed else None for line in lines])
    table = table.append_column("pending", pending)
    return table.append_column("connection", pa.repeat(run.connection, table.num_rows))


def _complete_rows(session: Session, connection: str, table: pa.Table) -> Iterator[Row]:
    own = table.filter(pc.equal(table["connection"], connection))
    return chunks.to_rows(complete(session, connection, own))


def _add_up(table: pa.Table) -> list[Sum]:
    groups = table.group_by("currency").aggregate([("amount_signed", "sum"), ("amount_signed", "count")]).to_pylist()
    sums = [Sum(row["currency"], row["amount_signed_count"], row["amount_signed_sum"]) for row in groups]
    return sorted(sums)
