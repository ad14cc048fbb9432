"""Pure: the entries of a run, day by day: what was collected, what was paid out and arrived, what the fees cost.

Lines are read in pieces, and of a day only those pieces that hold it, so that a year of trade is never in memory.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from consumer.facts.messages import RefusalError
from reconcile.fiscal.fees import FeeDocument
from reconcile.journal.collected import LINE, Row, Terms, post_item, read_items
from reconcile.journal.postings import ENTRY_TYPES, OF_BANK, OF_PAYOUT, Entry, Posting, kind_of_entry
from reconcile.rules.outcomes import DEAD

PAYOUT = (
    "payout_id", "currency", "status", "payout_date", "payout_amount", "fee_total", "fee_net", "fee_vat", "difference",
    "bank_date", "bank_movement_id", "bank_amount",
)  # fmt: skip
# What says the day of a line.
_DATED = ("payout_id", "resource_id", "local_date")
_PAID = "succeeded"
_ON = "on"
_PIECES_HELD = 24
_REASON = {"difference": OF_PAYOUT, "bank_difference": OF_BANK}
_ORDER = {kind: place for place, kind in enumerate(ENTRY_TYPES)}


class JournalError(RefusalError):
    """Why there is no journal; the message names what is in the way and what to do."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The lines of a run in their order, read a piece at a time and only some columns of it."""

    count: int
    read: Callable[[int, Sequence[str]], pa.Table]


@dataclass(frozen=True, slots=True)
class Book:
    """All a journal is made of: lines and payouts of a run, the provider's tax documents, what people accepted."""

    lines: Pieces
    payouts: pa.Table
    terms: Terms
    fee_documents: Sequence[FeeDocument] = ()
    accepted: Sequence[Entry] = ()
    _days: dict[date, list[int]] = field(default_factory=dict, init=False)

    def entries(self) -> Iterator[Entry]:
        """Yield every entry, by date; of one date in the order of `ENTRY_TYPES`."""
        others = self._list_others()
        pieces = lru_cache(_PIECES_HELD)(self._read)
        days = self._index()
        for on in sorted({*days, *others}):
            collected = self._collect(on, [pieces(number) for number in days.get(on, ())])
            yield from sorted([*collected, *others.get(on, ())], key=_to_place)

    def _list_others(self) -> Mapping[date, list[Entry]]:
        found: dict[date, list[Entry]] = defaultdict(list)
        payouts = self.payouts.select(PAYOUT).to_pylist()
        fees = list_fees(payouts, self.fee_documents, self.terms)
        for entry in [*list_payouts(payouts), *fees, *self.accepted]:
            found[entry.on].append(entry)
        return found

    def _index(self) -> Mapping[date, list[int]]:
        """Return which pieces hold each day."""
        if not self._days:
            for number in range(self.lines.count):
                for on in pc.unique(self._read(number, _DATED)[_ON]).to_pylist():
                    self._days.setdefault(on, []).append(number)
        return self._days

    def _read(self, number: int, names: Sequence[str] = LINE) -> pa.Table:
        alive = self.date_piece(number, names)
        if alive[_ON].null_count:
            item = alive.filter(pc.is_null(alive[_ON]))["resource_id"][0].as_py()
            raise JournalError("journal.no_day", item=item)
        return alive

    def date_piece(self, number: int, names: Sequence[str]) -> pa.Table:
        """Read a piece without what dead payouts held, which another line has too; each line with its day.

        An item without a day of its own is of the day it was paid out, as in the clearing roll-forward.
        """
        lines = self.lines.read(number, names)
        known = self.payouts["payout_id"].combine_chunks().cast(pa.string())
        places = pc.index_in(lines["payout_id"].cast(pa.string()), value_set=known, skip_nulls=True)
        status = pc.take(self.payouts["status"], places)
        paid_on = pc.if_else(pc.equal(status, _PAID), pc.take(self.payouts["payout_date"].cast(pa.date32()), places),
                             pa.scalar(None, pa.date32()))  # fmt: skip
        on = pc.coalesce(lines["local_date"].cast(pa.date32()), paid_on)
        return lines.append_column(_ON, on).filter(pc.invert(pc.is_in(status, value_set=pa.array(DEAD))))

    def _collect(self, on: date, pieces: Iterable[pa.Table]) -> Iterator[Entry]:
        found: dict[str, list[Posting]] = defaultdict(list)
        lines = [piece.filter(pc.equal(piece[_ON], pa.scalar(on))).select(LINE) for piece in pieces]
        if not lines:
            return
        for item in read_items(pa.concat_tables(lines, promote_options="permissive")):
            if item.first["amount_signed"] is None:
                raise JournalError("journal.no_amount", item=item.first["resource_id"])
            found[item.first["currency"]] += post_item(item, self.terms)
        for currency, postings in found.items():
            if postings:
                yield Entry(f"day/{on}/{currency}", on, currency, tuple(postings))


def _to_place(entry: Entry) -> tuple[int, str]:
    return _ORDER[kind_of_entry(entry.key)], entry.key


def list_payouts(payouts: Iterable[Row]) -> Iterator[Entry]:
    """Yield what succeeded payouts took from the clearing account, and what the bank shows of them."""
    for row in payouts:
        if row["status"] != _PAID:
            continue
        name, currency = row["payout_id"], row["currency"]
        paid = _list_amounts(_of_payout(row), name, currency)
        if paid:
            yield Entry(f"payout/{name}/{currency}", _day(row["payout_date"]), currency, paid)
        if row["bank_date"] is not None and row["bank_amount"] is not None:
            short = row["payout_amount"] - row["bank_amount"]
            arrived = {"arrival": row["bank_amount"], "bank_difference": short}
            came = _list_amounts(arrived, name, currency, operation=row["bank_movement_id"] or name)
            if came:
                yield Entry(f"arrival/{name}/{currency}", _day(row["bank_date"]), currency, came)


def _of_payout(row: Row) -> Mapping[str, int]:
    net, vat, total = row["fee_net"], row["fee_vat"], row["fee_total"] or 0
    is_divided = net is not None and vat is not None and net + vat == total
    fees = {"fee": net, "fee_vat": vat} if is_divided else {"fee": total}
    return {"payout": row["payout_amount"], **fees, "difference": row["difference"]}


def _list_amounts(
    amounts: Mapping[str, int], subject: str, currency: str, *, operation: str | None = None
) -> tuple[Posting, ...]:
    name = operation or subject
    return tuple(
        Posting(kind, subject, amount, currency, name, _REASON.get(kind, ""))
        for kind, amount in amounts.items()
        if amount
    )


def list_fees(payouts: Iterable[Row], documents: Iterable[FeeDocument], terms: Terms) -> Iterator[Entry]:
    """Yield the provider's tax documents; the last one of a month takes what rounding left of its fees.

    A rest beyond the limit stays on the account of pending fees, where it is seen.
    """
    pending: dict[tuple[str, str], int] = defaultdict(int)
    for row in payouts:
        if row["status"] == _PAID:
            pending[f"{row['payout_date']:%Y-%m}", row["currency"]] += row["fee_total"] or 0
    months: dict[tuple[str, str], list[FeeDocument]] = defaultdict(list)
    for document in sorted(documents, key=lambda one: (one.on, one.key)):
        months[document.period, document.currency].append(document)
    for month, found in months.items():
        rest = pending[month] - sum(document.total for document in found)
        for document in found:
            postings = list(_post_document(document))
            if document is found[-1] and rest and abs(rest) <= terms.rounding_limit:
                postings.append(Posting("fee_rounding", month[0], rest, month[1], document.folio))
            if postings:
                yield Entry(f"fees/{document.key}/{month[1]}", document.on, month[1], tuple(postings))


def _post_document(document: FeeDocument) -> Iterator[Posting]:
    for kind, amount in (("fee_document", document.total - document.vat), ("fee_document_vat", document.vat)):
        if amount:
            yield Posting(
                kind, document.key, amount, document.currency, operation=document.folio, tax_id=document.tax_id,
                doc_type=document.doc_type, doc_folio=document.folio, doc_uuid=document.uuid,
                doc_total=abs(document.total),
            )  # fmt: skip


def _day(value: date) -> date:
    """Return the day of a date, which some tables hold as a moment at midnight."""
    return date(value.year, value.month, value.day)
