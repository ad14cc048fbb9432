"""What the Chilean tax authority shows of the merchant: register rows, monthly statements F29, a yearly return F22."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from sandbox.scenarios.bank import PROVIDER
from sandbox.scenarios.calendar import add_bank_days, at_local, local_date, next_month, previous_month
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.fees import divide_half_up
from sandbox.scenarios.ledger import Ledger, LocalDocument
from sandbox.scenarios.people import Merchant, Person, to_millis, to_provider_tax_id
from sandbox.state.happening import Happening
from sandbox.state.store import Object

INVOICE, RECEIPT, NOTE = "33", "39", "61"
REGISTERED = {INVOICE, NOTE}
FILED_ON = 20


@dataclass(frozen=True, slots=True)
class Month:
    """What the register holds of one month in one type."""

    net: int
    vat: int
    total: int
    count: int


@dataclass(slots=True)
class TaxOffice:
    """Shows one merchant's fiscal year through one link."""

    chance: Chance
    merchant: Merchant
    ledger: Ledger
    link_id: str
    rectifies: bool = True  # last month's F29 was first filed without some of its VAT
    unregistered: frozenset[str] = frozenset()  # doc_keys the register lacks

    def tell(self) -> list[Happening]:
        """Register rows as documents come, totals and the provider's bill each month, statements once filed."""
        valid = [d for d in self.ledger.documents if d.doc_type in REGISTERED and d.status == "valid"]
        sales = [d for d in valid if d.key not in self.unregistered]
        noted = {d.refers_to.key for d in sales if d.is_note and d.refers_to is not None}
        happenings = [
            self.happen(d.known_at + timedelta(minutes=45), "tax_invoices", self.register(d, noted)) for d in sales
        ]
        month = self.ledger.since.replace(day=1)
        while (following := next_month(month)) < self.ledger.until:
            happenings += self.close(month, following)
            month = following
        happenings += self.statements(self.ledger.since.replace(day=1))
        return [*happenings, self.tax_return()]

    def happen(self, at: datetime, collection: str, thing: Object) -> Happening:
        """Something that appears without an event."""
        return Happening(at, collection, thing | {"mode": "test", "_link": self.link_id})

    def register(self, document: LocalDocument, noted: set[str]) -> Object:
        """Return a sale as the register shows it."""
        row = self.row(document.issue_on, Month(document.net, document.vat, document.total, 1), document.doc_type)
        referred = document.refers_to
        institution = row["institution_invoice"] | {
            "reference_type_code": None if referred is None else 1,
            "reference_number": None if referred is None else referred.folio,
            "total_documents": None,
            "has_note": document.key in noted,
        }
        receiver = None if document.buyer is None else _taxpayer(document.buyer)
        return row | {"number": document.folio, "receiver": receiver, "institution_invoice": institution}

    def row(self, on: date, month: Month, kind: str) -> Object:
        """Return a register row of the merchant's own."""
        return {
            "id": self.chance.id("inv"),
            "object": "invoice",
            "number": None,
            "date": to_millis(at_local(on, time(), "cl")),
            "currency": self.ledger.currency,
            "issue_type": "issued",
            "issuer": self.own(),
            "receiver": None,
            "net_amount": month.net,
            "total_amount": month.total,
            "tax_period": f"{on:%m/%Y}",
            "institution_id": "cl_fiscal_sii",
            "institution_invoice": {
                "document_type": int(kind),
                "invoice_status": "registered",
                "vat_amount": month.vat,
                "exempt_amount": 0,
                "total_documents": month.count,
                "reference_type_code": None,
                "reference_number": None,
                "has_note": False,
                "received_at": to_millis(at_local(on, time(12), "cl")),
                "accepted_at": None,
                "rejected_at": None,
                "transaction_category": "Del Giro",
                "is_services_invoice": False,
                "other_taxes": {"total_amount": 0, "other_taxes_detail": []},
            },
        }

    def close(self, month: date, following: date) -> list[Happening]:
        """Return the month's receipts in one row, and the provider's bill for its fees."""
        at = at_local(following, time(5), "cl")
        last = following - timedelta(days=1)
        happenings: list[Happening] = []
        receipts = self.month(month, RECEIPT)
        if receipts.count:
            happenings.append(self.happen(at, "tax_invoices", self.row(last, receipts, RECEIPT)))
        net = sum(
            line.fee - line.fee_vat
            for payout in self.ledger.payouts
            if local_date(payout.created_at, "cl").replace(day=1) == month
            for line in payout.lines
        )
        vat = divide_half_up(net * 19, 100)
        bill = self.row(last, Month(net, vat, net + vat, 1), INVOICE)
        bill |= {"issue_type": "received", "issuer": _taxpayer(PROVIDER), "receiver": self.own(),
                 "number": self.chance.digits(6)}  # fmt: skip
        return [*happenings, self.happen(at + timedelta(days=2), "tax_invoices", bill)]

    def month(self, month: date, kind: str) -> Month:
        """Σ of the books over one month and type."""
        found = [
            d
            for d in self.ledger.documents
            if d.doc_type == kind and d.status == "valid" and d.issue_on.replace(day=1) == month
        ]
        return Month(sum(d.net for d in found), sum(d.vat for d in found), sum(d.total for d in found), len(found))

    def statements(self, month: date) -> list[Happening]:
        """Two months back as filed, the last one filed and rectified, this one to be filed."""
        happenings: list[Happening] = []
        last, before = previous_month(month), previous_month(previous_month(month))
        for period, lacking in (
            (before, 0),
            (last, self.chance.whole(20_000, 90_000) if self.rectifies else 0),
            (month, 0),
        ):
            at = at_local(add_bank_days(next_month(period).replace(day=FILED_ON), 0, "cl"), time(16), "cl")
            filed = self.statement(period, lacking)
            happenings.append(self.happen(at, "tax_statements", filed))
            if lacking:
                again = at + timedelta(days=5, hours=1)
                happenings.append(self.happen(again, "tax_statements", filed | {"status": "Anulada"}))
                happenings.append(self.happen(again, "tax_statements", self.statement(period, 0)))
        return happenings

    def statement(self, period: date, lacking: int) -> Object:
        """Return an F29 over the books' own debit, less what was forgotten in it."""
        sold, counted, noted = (self.month(period, kind).vat for kind in (INVOICE, RECEIPT, NOTE))
        debit = max(0, sold + counted - noted - lacking)
        seed = defaultdict(int, {"credit": debit * 37 // 100, "fee": 6_497, "salary": 187_015, "ppm": debit // 90})
        total = max(0, debit - seed["credit"]) + seed["fee"] + seed["salary"] + seed["ppm"]
        return {
            "id": self.chance.id("taxstmt"),
            "object": "tax_statement",
            "fiscal_year": period.year,
            "period": f"{period:%m}",
            "interval_unit": "monthly",
            "status": "Vigente",
            "document_number": self.chance.digits(10),
            "institution_id": "cl_fiscal_sii",
            "taxpayer": self.own(),
            "institution_tax_statement": {
                "monthly_provisional_payments": seed["ppm"],
                "retention_fee": seed["fee"],
                "salary_tax": seed["salary"],
                "total_credit": seed["credit"],
                "total_debit": debit,
                "total_payment": total,
            },
        }

    def tax_return(self) -> Happening:
        """Return the F22 of the year, read once when the link was made."""
        at = self.chance.moment(self.ledger.since - timedelta(days=60))
        income = {"fees": 0, "fees_with_retention": 0, "fees_without_retention": 0, "salary": 0, "withheld_fees": 0}
        return self.happen(
            at,
            "tax_returns",
            {
                "id": self.chance.id("taxret"),
                "object": "tax_return",
                "fiscal_year": str(at.year),
                "period": str(at.year),
                "interval_unit": "annual",
                "document_number": self.chance.digits(9),
                "institution_id": "cl_fiscal_sii",
                "taxpayer": self.own(),
                "institution_tax_return": {"due_amount": 0, "refund_amount": 1_204_330, "refund_account": None,
                                           "income": income},
            },
        )  # fmt: skip

    def own(self) -> Object:
        """Return the merchant as a taxpayer."""
        return {"id": to_provider_tax_id(self.merchant.tax_id), "name": self.merchant.name}


def _taxpayer(person: Person) -> Object:
    return {"id": to_provider_tax_id(person.tax_id), "name": person.name}
