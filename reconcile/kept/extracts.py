"""What pages and totals need of a whole run, extracted when it is published and kept as columns with its lines.

Payouts in columns, open documents with their last payment, what waits for a payout, the balance and sums by day.
A run that was published without them gives the same from its lines, at the price of reading all of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame
from sqlmodel import Session, col, select

from consumer.facts.store import Row
from reconcile.kept import chunks, packing
from reconcile.kept.chunks import BANK, FEE, FIGURE, PAYOUT, RECEIVABLE, ROLLFORWARD, TRANSIT
from reconcile.rules import clearing
from reconcile.rules.clearing import ITEMS, Account, ClearingError
from reconcile.rules.inputs import (
    BANK_RESULTS,
    DOCUMENT_RESULTS,
    LINES,
    MOMENT,
    PAYMENT_TYPES,
    SUMMARY,
    Result,
    empty_frame,
    to_types,
)
from reconcile.rules.inputs import OF_DOCUMENTS as OF_SETTLED_DOCUMENTS
from reconcile.rules.outcomes import DEAD, FeeSource
from reconcile.tables.runs import PayoutResult, Run

OF_LINES, OF_PAYOUTS, OF_DOCUMENTS = "payout-detail", "payout-summary", "documents"

_FEES = ("fee_net", "fee_vat", "fee_total")
_SUMMED_FEES = ("amount_signed", *_FEES, "fee_agreed")
_READ_OF_LINES = ("line", *ITEMS.names, "doc_key", "applied_amount", "resource_subtype", *_FEES, "fee_agreed")
_COUNT = clearing.COUNTED
_PAYMENTS = pa.array(PAYMENT_TYPES)
_SUMMED = ("payments_gross", "charges_gross", "refunds_gross", "refund_adjustments", "disputes", "payout_amount")
# Sums of two columns: a payout that lacks either is left out, and the other side of the total shows the gap.
_SUMMED_TOGETHER = (("computed_amount", "fee_total"), ("computed_amount", "difference"))
_BALANCE = pa.schema({column.name: chunks.ARROW_TYPES[column.kind] for column in chunks.COLUMNS[ROLLFORWARD]})
_FIGURES = pa.schema(
    {"source": pa.string(), "name": pa.string(), "on": pa.date32(), "currency": pa.string(), "amount": pa.int64()}
)
_COUNTED = ITEMS.append(pa.field(_COUNT, pa.int64()))
_NEVER = datetime.min.replace(tzinfo=UTC)
_decode = msgspec.json.Decoder(dict[str, object]).decode


@dataclass(frozen=True, slots=True)
class Published:
    """The three tables of a run, of which everything here is made.

    A line may stand for a `count` of settled items that were left out, without what tells one from another.
    """

    lines: pa.Table
    payouts: pa.Table
    documents: pa.Table

    @property
    def account(self) -> Account:
        first = self.lines.filter(pc.equal(self.lines["line"], 1))
        payouts = self.payouts.select(clearing.PAYOUTS.names).cast(clearing.PAYOUTS)
        return Account(first.select([*ITEMS.names, _COUNT]).cast(_COUNTED).combine_chunks(), payouts)


def pack(result: Result) -> Iterator[Row]:
    """Pack each of them; a balance that cannot be counted does not stop the run; reading it gives the reason."""
    frames = (result.lines[list(_READ_OF_LINES)], result.payouts, result.documents)
    lines, payouts, documents = (pa.Table.from_pandas(frame, preserve_index=False) for frame in frames)
    published = Published(pa.concat_tables([_count_each(lines), _to_lines(result.settled)]), payouts, documents)
    bank = packing.pack(BANK, pa.Table.from_pandas(result.bank, preserve_index=False))
    return chain(_pack_all(published), (chunk for chunk, _ in bank))


def _count_each(lines: pa.Table) -> pa.Table:
    return lines.append_column(_COUNT, pa.array(np.ones(lines.num_rows, dtype=np.int64)))


def _to_lines(settled: DataFrame) -> pa.Table:
    """Return what settled items add up to as lines."""
    items = settled[settled["resource_type"] != OF_SETTLED_DOCUMENTS].assign(line=1)
    schema = {name: LINES[name] for name in _READ_OF_LINES}
    frame = to_types(items.reindex(columns=[*schema]), schema).assign(count=items[_COUNT].astype("int64"))
    return pa.Table.from_pandas(frame, preserve_index=False)


def _pack_all(published: Published) -> Iterator[Row]:
    for kind, make in _MAKERS.items():
        try:
            table = make(published)
        except ClearingError:
            continue
        yield from (chunk for chunk, _ in packing.pack(kind, table))


def read(session: Session, run: Run, kind: str, names: Sequence[str] | None = None) -> pa.Table:
    """Read one of them, all of its rows and some of its columns."""
    found = list(chunks.tables(session, run, kind, names=names))
    if found:
        return pa.concat_tables(found).combine_chunks()
    # Which line of the bank brought a payout is in no other table of the run.
    made = _bare(BANK_RESULTS) if kind == BANK else _MAKERS[kind](_read_stored(session, run))
    return made if names is None else made.select(names)


def find_open(
    session: Session, run: Run, *, currency: str, amount: int, customer: str | None, doc_keys: Sequence[str]
) -> Iterator[Row]:
    """Find documents with a balance that could be meant: of this amount, of this customer, or named."""
    table = read(session, run, RECEIVABLE)
    keys = pa.array(doc_keys, type=table["doc_key"].type)
    could_be = pc.or_kleene(pc.equal(table["balance"], amount), pc.is_in(table["doc_key"], value_set=keys))
    if customer is not None:
        could_be = pc.or_(could_be, pc.equal(table["customer_tax_id"], customer).fill_null(False))
    is_open = pc.and_(pc.greater(table["balance"], 0), pc.equal(table["currency"], currency))
    return chunks.to_rows(table.filter(pc.and_kleene(is_open, could_be)))


def figures(lines: pa.Table, payouts: pa.Table) -> pa.Table:
    """Add up lines by kind and payouts by column, by the day of the payout and currency."""
    days = payouts["payout_date"].cast(pa.date32()).combine_chunks()
    first = lines.filter(pc.and_(pc.equal(lines["line"], 1), pc.is_valid(lines["payout_id"])))
    places = pc.index_in(first["payout_id"], value_set=payouts["payout_id"].combine_chunks())
    dated = first.append_column("on", pc.take(days, places))
    parts = [_sums(dated, OF_LINES, "resource_type", "amount_signed")]
    for names in (*((name,) for name in _SUMMED), *_SUMMED_TOGETHER):
        amounts = [payouts[name] for name in names]
        amount = amounts[0] if len(amounts) == 1 else pc.add(*amounts)
        name = pa.array([" + ".join(names)] * payouts.num_rows, pa.string())
        named = pa.table({"name": name, "on": days, "currency": payouts["currency"], "amount": amount})
        parts.append(_sums(named, OF_PAYOUTS, "name", "amount"))
    return pa.concat_tables(parts)


def _sums(rows: pa.Table, source: str, name: str, amount: str) -> pa.Table:
    sums = rows.group_by([name, "on", "currency"], use_threads=False).aggregate([(amount, "sum")])
    columns = [pa.array([source] * sums.num_rows, pa.string()), sums[name], sums["on"], sums["currency"]]
    return pa.table([*columns, pc.fill_null(sums[f"{amount}_sum"], 0)], names=_FIGURES.names).cast(_FIGURES)


def payouts_of(rows: Sequence[tuple[str, str]]) -> pa.Table:
    """Return payouts, stored as JSON with their ids, as typed columns."""
    decoded = [_decode(text) | {"payout_id": payout_id} for payout_id, text in rows]
    frame = DataFrame(decoded, columns=list(SUMMARY))
    for name in (name for name, dtype in SUMMARY.items() if dtype == MOMENT):
        frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return pa.Table.from_pandas(to_types(frame, SUMMARY), preserve_index=False)


def no_lines() -> pa.Table:
    """Return the columns that figures read of lines, without a row: a payout may have none."""
    return _count_each(_bare(LINES).select(_READ_OF_LINES))


def _read_stored(session: Session, run: Run) -> Published:
    lines = [no_lines(), *map(_count_each, chunks.tables(session, run, chunks.LINE, _READ_OF_LINES))]
    documents = [_bare(DOCUMENT_RESULTS), *chunks.tables(session, run, chunks.DOCUMENT)]
    mine = (col(PayoutResult.connection) == run.connection, col(PayoutResult.run_id) == run.id)
    payouts = payouts_of(session.exec(select(PayoutResult.payout_id, PayoutResult.columns).where(*mine)).all())
    return Published(
        *(pa.concat_tables(parts, promote_options="permissive") for parts in (lines, [payouts], documents))
    )


def _bare(schema: Mapping[str, str]) -> pa.Table:
    return pa.Table.from_pandas(empty_frame(schema), preserve_index=False)


def _payouts(published: Published) -> pa.Table:
    return _sort(published.payouts, "payout_date", "payout_id")


def _receivables(published: Published) -> pa.Table:
    """Keep documents with a balance, each with the latest payment applied to it."""
    owed = published.documents.filter(pc.not_equal(published.documents["balance"], 0))
    for name in ("issue_date", "due_date"):
        owed = owed.set_column(owed.column_names.index(name), name, owed[name].cast(pa.date32()))
    keys = owed["doc_key"].combine_chunks()
    lines = published.lines
    is_payment = pc.is_in(lines["resource_type"].cast(pa.string()), value_set=_PAYMENTS)
    is_applied = pc.not_equal(lines["applied_amount"], 0)
    about = pc.is_in(lines["doc_key"], value_set=keys, skip_nulls=True)
    paid = lines.filter(pc.and_kleene(pc.and_kleene(about, is_payment), is_applied))
    seen = pc.fill_null(paid["occurred_at_utc"], pa.scalar(_NEVER, paid["occurred_at_utc"].type))
    ordered = _sort(paid.append_column("seen", seen), "seen", "resource_id")
    last = ordered.group_by("doc_key", use_threads=False).aggregate([("resource_id", "last")])
    found = pc.index_in(owed["doc_key"], value_set=last["doc_key"].combine_chunks())
    named = owed.append_column("last_payment_id", pc.take(last["resource_id_last"], found))
    return _sort(named, "customer_tax_id", "due_date", "doc_key")


def _transit(published: Published) -> pa.Table:
    waiting = clearing.find_waiting(published.account).select(ITEMS.names)
    return _sort(waiting, "occurred_at_utc", "resource_type", "resource_id")


def _rollforward(published: Published) -> pa.Table:
    return pa.Table.from_pylist(list(clearing.carry_forward(published.account)), schema=_BALANCE)


def _figures(published: Published) -> pa.Table:
    """Balances of documents are of no day: a range of payouts does not cut them."""
    owed = published.documents.filter(pc.not_equal(published.documents["balance"], 0))
    columns = {"name": pa.array(["balance"] * owed.num_rows, pa.string()), "on": pa.nulls(owed.num_rows, pa.date32())}
    owed = pa.table({**columns, "currency": owed["currency"], "amount": owed["balance"]})
    return pa.concat_tables([figures(published.lines, published.payouts), _sums(owed, OF_DOCUMENTS, "name", "amount")])


def _fees(published: Published) -> pa.Table:
    """Add up the items of living payouts and their fees by day, means of payment and source of the fee.

    Where only the fee of a whole payout is known, it is a row without a means.
    """
    payouts = published.payouts
    payouts = payouts.filter(pc.invert(pc.is_in(payouts["status"].cast(pa.string()), value_set=pa.array(DEAD))))
    ids, lines = payouts["payout_id"].combine_chunks(), published.lines
    items = lines.filter(pc.and_(pc.equal(lines["line"], 1), pc.is_in(lines["payout_id"], value_set=ids)))
    places = pc.index_in(items["payout_id"], value_set=ids)
    is_paid = pc.is_in(items["resource_type"].cast(pa.string()), value_set=_PAYMENTS)
    means = pc.if_else(is_paid, pc.coalesce(items["resource_subtype"], items["resource_type"]), items["resource_type"])
    known = pa.table(
        {"on": pc.take(payouts["payout_date"].cast(pa.date32()), places), "resource_subtype": means.cast(pa.string()),
         "fee_source": pc.take(payouts["fee_source"], places).cast(pa.string()), "currency": items["currency"],
         "count": items[_COUNT], **{name: items[name] for name in _SUMMED_FEES}}
    )  # fmt: skip
    whole = payouts.filter(pc.equal(payouts["fee_source"], FeeSource.RESIDUAL))
    size = whole.num_rows
    rest = pa.table(
        {"on": whole["payout_date"].cast(pa.date32()), "resource_subtype": pa.nulls(size, pa.string()),
         "fee_source": whole["fee_source"].cast(pa.string()), "currency": whole["currency"],
         "count": pa.array([0] * size, pa.int64()), "amount_signed": pa.array([0] * size, pa.int64()),
         **{name: whole[name] for name in _FEES}, "fee_agreed": pa.nulls(size, pa.int64())}
    )  # fmt: skip
    rows = pa.concat_tables([known, rest], promote_options="permissive")
    keys, names = ["on", "resource_subtype", "fee_source", "currency"], ["count", *_SUMMED_FEES]
    sums = rows.group_by(keys, use_threads=False).aggregate([(name, "sum") for name in names])
    return _sort(sums.rename_columns([*keys, *names]), *keys)


def _sort(table: pa.Table, *names: str) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in names])


_MAKERS: Mapping[str, Callable[[Published], pa.Table]] = {
    PAYOUT: _payouts,
    RECEIVABLE: _receivables,
    TRANSIT: _transit,
    ROLLFORWARD: _rollforward,
    FIGURE: _figures,
    FEE: _fees,
}
