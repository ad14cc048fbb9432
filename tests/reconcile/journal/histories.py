"""Small made-up runs as the journal reads them, and exports that remember in memory what the database would."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import pyarrow as pa

from reconcile.fiscal.fees import FeeDocument
from reconcile.journal.accepted import Accepted, list_accepted, reasons_of_payments
from reconcile.journal.accounts import AccountMap, read_accounts
from reconcile.journal.booking import BookedEntry, Bookkeeper
from reconcile.journal.collected import LINE, Terms
from reconcile.journal.entries import PAYOUT, Book, Pieces
from reconcile.journal.exporting import EARLIEST, Balance, DayEnd, Export, Head, Moved, Planned, Remembered
from reconcile.rules import clearing

_TEXTS = pa.string()
_KINDS = {
    **dict.fromkeys(
        (
            "line",
            "amount_signed",
            "doc_total",
            "applied_amount",
            "doc_balance_after",
            "doc_vat",
            "vat_moved",
            "reversed_doc_total",
        ),
        pa.int64(),
    ),
    **dict.fromkeys(("payout_amount", "fee_total", "fee_net", "fee_vat", "difference", "bank_amount"), pa.int64()),
    **dict.fromkeys(("local_date", "payout_date", "bank_date"), pa.date32()),
}


@dataclass(frozen=True)
class Sale:
    """A payment, or what a payout gave or took besides; `amount` is signed towards the merchant."""

    id: str
    on: date
    amount: int
    payout: str | None = None
    doc: str | None = None
    kind: str = "payment_intent"
    applied: int | None = None
    vat: int = 0
    total: int | None = None
    balance_after: int = 0
    currency: str = "CLP"
    outcome: str = "matched"
    rule: str | None = None
    means: str | None = "bank_transfer"
    vat_moved: int | None = None
    of_document: str | None = None

    def rows(self) -> list[dict[str, Any]]:
        applied = self.amount if self.applied is None else self.applied
        row: dict[str, Any] = dict.fromkeys(LINE) | {
            "payout_id": self.payout, "resource_type": self.kind, "resource_subtype": self.means,
            "resource_id": self.id, "line": 1, "local_date": self.on, "amount_signed": self.amount,
            "currency": self.currency, "outcome": self.outcome, "match_rule": self.rule,
            "vat_moved": self.vat_moved, "reversed_doc_key": self.of_document,
        }  # fmt: skip
        if self.doc is not None:
            row |= {
                "doc_key": self.doc, "doc_type": "33", "doc_folio": self.doc.rpartition(":")[2],
                "applied_amount": applied, "doc_total": self.total or applied, "doc_vat": self.vat,
                "doc_balance_after": self.balance_after, "doc_customer_tax_id": "11111111-1",
            }  # fmt: skip
        if self.doc is not None and self.doc.startswith("mx:uuid:"):
            own = {"doc_type": "I", "doc_folio": "501", "doc_uuid": self.doc.removeprefix("mx:uuid:")}
            row |= own | {"doc_customer_tax_id": "LGB000521IL7"}
        return [row]


@dataclass(frozen=True)
class Paid:
    """A payout; its amount is what its items come to less the fee, plus the difference."""

    id: str
    on: date
    fee: int = 0
    difference: int = 0
    status: str = "succeeded"
    bank_on: date | None = None
    bank_short: int = 0


@dataclass(frozen=True)
class History:
    """What one run says."""

    sales: tuple[Sale, ...] = ()
    payouts: tuple[Paid, ...] = ()
    fees: tuple[FeeDocument, ...] = ()
    country: str = "cl"
    currency: str = "CLP"
    accepted: tuple[Accepted, ...] = ()
    documents: tuple[dict[str, Any], ...] = ()

    def but(self, **changes: Any) -> "History":
        return replace(self, **changes)

    def lines(self) -> pa.Table:
        rows = [row for sale in self.sales for row in sale.rows()]
        return _table(rows, LINE)

    def payouts_table(self) -> pa.Table:
        return _table([self._payout(one) for one in self.payouts], PAYOUT)

    def _payout(self, one: Paid) -> dict[str, Any]:
        gross = sum(sale.amount for sale in self.sales if sale.payout == one.id)
        amount = gross - one.fee + one.difference
        net = one.fee * 100 // 119
        return dict.fromkeys(PAYOUT) | {
            "payout_id": one.id, "currency": self.currency, "status": one.status, "payout_date": one.on,
            "payout_amount": amount, "fee_total": one.fee, "fee_net": net, "fee_vat": one.fee - net,
            "difference": one.difference, "bank_date": one.bank_on,
            "bank_amount": None if one.bank_on is None else amount - one.bank_short,
        }  # fmt: skip

    def book(self, *, size: int = 4) -> Book:
        lines = self.lines()
        pieces = Pieces(-(-lines.num_rows // size), lambda at, names: lines.slice(at * size, size).select(list(names)))
        terms = Terms(self.country, 5, reasons_of_payments(self.accepted))
        accepted = list(list_accepted(self.accepted, self.documents))
        return Book(pieces, self.payouts_table(), terms, self.fees, accepted)

    def balances(self) -> list[Balance]:
        lines, payouts = self.lines(), self.payouts_table()
        occurred = pa.nulls(lines.num_rows, pa.timestamp("us", "UTC"))
        items = lines.append_column("occurred_at_utc", occurred).append_column("bank_day", lines["local_date"])
        account = clearing.Account(
            items.select(clearing.ITEMS.names).cast(clearing.ITEMS),
            payouts.select(clearing.PAYOUTS.names).cast(clearing.PAYOUTS),
        )
        rows = clearing.carry_forward(account)
        return [Balance(row["date"], row["currency"], row["opening"], row["closing"]) for row in rows]


def _table(rows: Sequence[dict[str, Any]], names: Iterable[str]) -> pa.Table:
    return pa.table({name: pa.array([row[name] for row in rows], _KINDS.get(name, _TEXTS)) for name in names})


def accounts(country: str = "cl", text: str = "") -> AccountMap:
    return read_accounts(f'chart = "{country}"\n{text}', "main", country, ("main",))


@dataclass
class Ledger:
    """Exports one after another, each remembering the last: what a merchant's ERP has taken."""

    map: AccountMap = field(default_factory=accounts)
    ranges: list[tuple[date, date]] = field(default_factory=list)
    kept: list[Planned] = field(default_factory=list)

    def remembered(self) -> Remembered:
        entries = [one.entry for one in self.kept]
        return Remembered(
            heads={one.entry.key: Head(one.entry.sequence, one.digest or b"", one.entry.currency) for one in self.kept},
            ranges=tuple(self.ranges),
            moved=[Moved(one.on, one.currency, one.clearing) for one in entries],
            read_entry=lambda key: [one for one in entries if one.key == key],
            read_day=lambda on: [one for one in entries if one.on == on],
        )

    def plan(self, history: History, until: date, since: date = EARLIEST, closed: date | None = None) -> Export:
        return Export(
            history.book().entries, Bookkeeper("main", self.map), self.remembered(), history.balances(), since, until,
            closed or until,
        )  # fmt: skip

    def export(self, history: History, until: date, since: date = EARLIEST) -> list[BookedEntry]:
        """Export some days and remember them; return all that the file would hold."""
        planned = [one for one in self.plan(history, until, since).plan() if not isinstance(one, DayEnd)]
        self.kept += [one for one in planned if one.digest is not None]
        self.ranges.append((since, until))
        return [one.entry for one in planned]
