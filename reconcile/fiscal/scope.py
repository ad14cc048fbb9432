"""Which documents a tie-out of some months is about: those of the months, and all others of the same sales."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.clock import day_start
from consumer.facts.installation import Connection
from consumer.facts.store import Row, among
from reconcile.kept import chunks
from reconcile.tables.books import LocalInvoice
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment, FiscalRelation
from reconcile.tables.runs import Run

_KEYS = ("doc_key", "reversed_doc_key")
# Of a line, what a payment of the tax control has.
_COLUMNS = (
    "resource_id", "resource_type", "resource_subtype", "local_date", "line", "amount_signed", "applied_amount",
    "doc_date", "doc_type", "vat_moved", "customer_tax_id", "doc_customer_tax_id", *_KEYS,
)  # fmt: skip
Condition = sa.ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class Scope:
    """Months, and the documents that what is read is about; None of both is everything."""

    months: Collection[str] | None = None
    keys: Collection[str] | None = None

    def holding(self, session: Session, column: str) -> tuple[Condition, ...]:
        """Return the condition that a column of keys holds one of the documents; none if all are read."""
        return () if self.keys is None else (among(session, column, self.keys),)

    def holds(self, key: str, period: str) -> bool:
        return self.keys is None or key in self.keys or (self.months is not None and period in self.months)

    @property
    def numbers(self) -> set[str]:
        """Return the folios or UUIDs of the documents."""
        return {key.rpartition(":")[2] for key in self.keys or ()}


def find_scope(session: Session, connection: Connection, run: Run | None, months: Collection[str]) -> Scope:
    """Return what is read for some months: their documents, what is paid then, and what concerns the same sales."""
    keys = {key for key in _find_touched(session, connection, run, months) if key}
    payments = (col(FiscalPayment.connection) == connection.name, among(session, FiscalPayment.paid_key, keys))
    relations = (col(FiscalRelation.connection) == connection.name, among(session, FiscalRelation.other_key, keys))
    keys |= set(session.scalars(sa.select(col(FiscalPayment.doc_key)).where(*payments)))
    return Scope(months, keys | set(session.scalars(sa.select(col(FiscalRelation.doc_key)).where(*relations))))


def _find_touched(
    session: Session, connection: Connection, run: Run | None, months: Collection[str]
) -> Iterator[str | None]:
    """Yield the documents of the months, and those that money, complements and notes of the months name."""
    name, plain = connection.name, FiscalDocument
    mine = (col(plain.connection) == name, col(plain.period).in_(months))
    spans = [(date.fromisoformat(f"{month}-01"), first_after(month)) for month in months]
    on = col(LocalInvoice.issue_date)
    issued = [sa.and_(on >= first, on < end) for first, end in spans]
    zone = connection.country.zone
    paid = [
        sa.and_(col(FiscalPayment.paid_at) >= day_start(first, zone), col(FiscalPayment.paid_at) < day_start(end, zone))
        for first, end in spans
    ]
    yield from session.scalars(sa.select(col(plain.doc_key)).where(*mine))
    for table, column in ((FiscalPayment, FiscalPayment.paid_key), (FiscalRelation, FiscalRelation.other_key)):
        said = (col(table.connection) == plain.connection) & (col(table.doc_key) == col(plain.doc_key))
        yield from session.scalars(sa.select(col(column)).join(plain, said).where(*mine))
    yield from session.scalars(
        sa.select(col(FiscalPayment.paid_key)).where(col(FiscalPayment.connection) == name, sa.or_(*paid))
    )
    yield from session.scalars(
        sa.select(col(LocalInvoice.doc_key)).where(col(LocalInvoice.connection) == name, sa.or_(*issued))
    )
    if run is not None:
        # What a complement is due for was paid in the month before; Chile has none.
        before = (first - timedelta(days=1) for first, _ in spans) if connection.country_code == "mx" else ()
        near = {*months, *(f"{on:%Y-%m}" for on in before)}
        for table in chunks.tables(session, run, chunks.LINE, names=("local_date", *_KEYS)):
            rows = table.filter(_are_of_months(table, near))
            for column in _KEYS:
                yield from pc.unique(rows[column]).to_pylist()


def first_after(month: str) -> date:
    """Return the first day of the next month."""
    return (date.fromisoformat(f"{month}-01") + timedelta(days=31)).replace(day=1)


def _are_of_months(table: pa.Table, months: Collection[str]) -> pa.Array:
    spans = ((date.fromisoformat(f"{month}-01"), first_after(month) - timedelta(days=1)) for month in months)
    masks = (pc.and_(*chunks.day_masks(table["local_date"], *span)) for span in spans)
    return pc.fill_null(reduce(pc.or_, masks), fill_value=False)


def read_lines(session: Session, run: Run, scope: Scope) -> Iterator[Row]:
    """Yield what payments are made of: a run's lines of the months, and those of the documents."""
    keys = pa.array(sorted(scope.keys or ()), pa.string())
    for table in chunks.tables(session, run, chunks.LINE, names=_COLUMNS):
        found = table
        if scope.keys is not None and scope.months:
            asked = (pc.is_in(table[column].cast(pa.string()), value_set=keys) for column in _KEYS)
            found = table.filter(reduce(pc.or_, asked, _are_of_months(table, scope.months)))
        yield from chunks.to_rows(found)
