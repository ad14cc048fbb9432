"""What stood open at the end of a day, reckoned from a run of a later one: items in transit, documents with a balance.

A run says how things stand on its own day. What is dated after the day in question is taken back from that: payouts,
payments, credit notes, refunds and lost disputes. A write-off belongs to its document, whenever a person decided it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame, Series
from sqlmodel import Session

from reconcile.kept import chunks, extracts, snapshots
from reconcile.kept.chunks import ARROW_TYPES, COLUMNS, DOCUMENT, LINE, PAYOUT, RECEIVABLE, ROLLFORWARD, TRANSIT
from reconcile.rules.clearing import ITEMS
from reconcile.rules.documents import are_claims, find_notes
from reconcile.rules.inputs import DOCUMENT_RESULTS, LINES, PAYMENT_TYPES, REFUND, Schema, empty_frame, to_types
from reconcile.rules.outcomes import LOST, DocumentOutcome
from reconcile.tables.runs import Run

SUCCEEDED = "succeeded"
_READ = ("resource_type", "resource_id", "occurred_at_utc", "local_date", "currency", "doc_key", "applied_amount")
_KEPT = ("documents", "items", "disputes")


@dataclass(frozen=True, slots=True)
class Owed:
    """Documents with a balance at the end of a day, and the sum of all balances by currency, reckoned forwards.

    The table takes back from the run's balances what came later; the sum takes from totals what came until then. They
    are equal where every amount of the run has its day.
    """

    documents: pa.Table
    balances: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Dated:
    """By document: what was applied, given back and credited until the end of a day, and afterwards."""

    applied: Series
    applied_later: Series
    back: Series
    back_later: Series
    noted: Series
    noted_later: Series


def read_transit(session: Session, run: Run, until: date) -> pa.Table:
    """Return the items of the days up to one that no payout of these days carried which succeeded."""
    payouts = extracts.read(session, run, PAYOUT, ["payout_id", "status", "payout_date"])
    is_later = pc.greater(payouts["payout_date"].cast(pa.date32()), until)
    later = payouts.filter(pc.and_(is_later, pc.equal(payouts["status"], SUCCEEDED)))["payout_id"].combine_chunks()
    parts = [extracts.read(session, run, TRANSIT)]
    for lines in chunks.line_tables(session, run, paid_out=True, since=until):
        is_carried = pc.is_in(lines["payout_id"], value_set=later, skip_nulls=True)
        parts.append(lines.filter(pc.and_(is_carried, pc.equal(lines["line"], 1))))
    items = pa.concat_tables(part.select(ITEMS.names).cast(ITEMS) for part in parts)
    items = items.filter(pc.less_equal(items["local_date"], until))
    return items.sort_by([(name, "ascending") for name in ("occurred_at_utc", "resource_type", "resource_id")])


def read_balances(session: Session, run: Run, since: date | None, until: date) -> Mapping[str, tuple[int, int]]:
    """Return by currency what the provider owed when some days began, and when they ended."""
    days = extracts.read(session, run, ROLLFORWARD, ["currency", "date", "closing"])
    found: dict[str, tuple[int, int]] = {}
    for row in days.filter(pc.less_equal(days["date"], until)).to_pylist():
        opening, _ = found.get(row["currency"], (0, 0))
        is_before = since is not None and row["date"] < since
        found[row["currency"]] = (row["closing"] if is_before else opening, row["closing"])
    return found


def read_owed(session: Session, data_dir: Path, run: Run, until: date, ends_at: datetime) -> Owed:
    """Return what was open on the documents issued up to a day; raise SnapshotError without the run's inputs."""
    kept = {name: snapshots.read_frame(data_dir, run.connection, run.id, name) for name in _KEPT}
    documents = _read(session, run, DOCUMENT, DOCUMENT_RESULTS).set_index("doc_key", drop=False).rename_axis(None)
    lines = _read(session, run, LINE, {name: LINES[name] for name in _READ})
    claims = documents.index[are_claims(documents["doc_type"])]
    is_applied = lines["resource_type"].isin(PAYMENT_TYPES) & lines["doc_key"].isin(claims)
    applied = lines[is_applied & (lines["applied_amount"].fillna(0) != 0)]
    last = pd.Timestamp(until)
    documents = documents[documents["issue_date"] <= last]
    dated = _date_amounts(documents, applied, kept, until=last, ends_at=pd.Timestamp(ends_at))
    return Owed(_take_back(documents, applied[applied["local_date"] <= last], dated), _add_up(documents, dated))


def _read(session: Session, run: Run, kind: str, schema: Schema) -> DataFrame:
    """Read the rows that a run judged itself: what others settled before it has no balance."""
    tables = chunks.tables(session, run, kind, list(schema), is_own=True)
    return pd.concat([empty_frame(schema), *(to_types(one.to_pandas(), schema) for one in tables)], ignore_index=True)


def _date_amounts(
    documents: DataFrame, applied: DataFrame, kept: Mapping[str, DataFrame], *, until: pd.Timestamp,
    ends_at: pd.Timestamp,
) -> _Dated:  # fmt: skip
    def sum_up(rows: DataFrame, name: str) -> Series:
        return rows.groupby("doc_key")[name].sum().reindex(documents.index, fill_value=0).astype("int64")

    notes, is_later = find_notes(kept["documents"]), applied["local_date"] > until
    paid, paid_later = sum_up(applied, "applied_amount"), sum_up(applied[is_later], "applied_amount")
    # How much of a document went back, its row says; only the day is looked for.
    back = paid - documents["paid"].astype("int64")
    before = sum_up(applied.assign(back=_give_back(applied, kept, ends_at)), "back").clip(upper=back)
    return _Dated(
        paid - paid_later, paid_later, before, back - before,
        sum_up(notes[notes["day"] <= until], "amount"), sum_up(notes[notes["day"] > until], "amount"),
    )  # fmt: skip


def _give_back(applied: DataFrame, kept: Mapping[str, DataFrame], ends_at: pd.Timestamp) -> Series:
    """Return what went back before a moment of each amount applied: of a payment's first documents first."""
    items, disputes = kept["items"], kept["disputes"]
    is_refund = (items["resource_type"] == REFUND) & (items["status"] == SUCCEEDED) & (items["occurred_at"] < ends_at)
    refunds = items[is_refund].drop_duplicates("resource_id")
    lost = disputes[disputes["status"].isin(LOST) & (disputes["ended_at"] < ends_at)]
    currencies = applied.drop_duplicates("resource_id").set_index("resource_id")["currency"]
    lost = lost[lost["currency"] == lost["resource_id"].map(currencies)]
    returned = pd.concat([
        refunds[["parent_id", "amount"]].rename(columns={"parent_id": "resource_id"}), lost[["resource_id", "amount"]],
    ]).groupby("resource_id")["amount"].sum()  # fmt: skip
    most = applied["resource_id"].map(returned).fillna(0).astype("int64")
    amounts = applied["applied_amount"].astype("int64")
    reached = amounts.groupby(applied["resource_id"]).cumsum()
    return reached.clip(upper=most) - (reached - amounts).clip(upper=most)


def _take_back(documents: DataFrame, applied: DataFrame, dated: _Dated) -> pa.Table:
    """Return the documents with a balance, each with the last payment that was applied to it by then."""
    is_void = documents["outcome"] == DocumentOutcome.VOID
    paid = documents["paid"] - dated.applied_later + dated.back_later
    credited = documents["credited"] - dated.noted_later
    balance = documents["balance"] + dated.applied_later - dated.back_later + dated.noted_later.where(~is_void, 0)
    is_credited = (dated.noted > 0) & (dated.noted >= documents["total"])
    rules = [(is_void, DocumentOutcome.VOID), (is_credited, DocumentOutcome.CREDITED),
             (balance < 0, DocumentOutcome.OVERPAID), (paid > 0, DocumentOutcome.PARTLY_PAID)]  # fmt: skip
    outcome = np.select(
        [mask.to_numpy(dtype=bool) for mask, _ in rules],
        [str(word) for _, word in rules],
        str(DocumentOutcome.OPEN_NOT_DUE),
    )
    last = applied.sort_values(["occurred_at_utc", "resource_id"]).groupby("doc_key")["resource_id"].last()
    found = documents.assign(
        paid=paid, credited=credited, balance=balance, outcome=outcome, last_payment_id=last.reindex(documents.index)
    )
    found = found[balance != 0].sort_values(["customer_tax_id", "due_date", "doc_key"])
    schema = pa.schema([(one.name, ARROW_TYPES[one.kind]) for one in COLUMNS[RECEIVABLE]])
    return pa.Table.from_pandas(found[schema.names], schema=schema, preserve_index=False)


def _add_up(documents: DataFrame, dated: _Dated) -> Mapping[str, int]:
    """Add up by currency what claims asked for, less what was paid, credited or written off by then."""
    claims = documents[are_claims(documents["doc_type"])]
    is_void = claims["outcome"] == DocumentOutcome.VOID
    asked = claims["total"] - claims["adjusted_amount"].fillna(0) - dated.noted[claims.index]
    balance = asked.where(~is_void, 0) - dated.applied[claims.index] + dated.back[claims.index]
    return {str(currency): int(total) for currency, total in balance.groupby(claims["currency"]).sum().items()}
