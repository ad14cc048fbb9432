"""The merchant at work: writes documents, takes payments and gives money back, all into the true ledger."""

from collections import Counter
from dataclasses import replace
from datetime import date, datetime, time, timedelta

from sandbox.scenarios.calendar import add_bank_days, at_local, bank_day, local_date
from sandbox.scenarios.chance import VAT_BPS, Chance
from sandbox.scenarios.fees import divide_half_up
from sandbox.scenarios.ledger import Ledger, LocalDocument, Payment, Refund, Verdict
from sandbox.scenarios.people import Person

FIRST_FOLIO = {"33": 10_000, "39": 880_000, "61": 2_000, "I": 5_000, "E": 300}
NET_RANGE = (60_000, 2_900_000)
RECEIPT_NET_RANGE = (4_000, 120_000)
PUBLIC_RFC = "XAXX010101000"  # the public at large
ORDER_STEP = 4
REFUND_HOUR = time(15)
OPENING = time(8)


class Shop:
    """Drafts rows of the ledger and keeps them; a draft may be changed before it is kept."""

    def __init__(self, chance: Chance, ledger: Ledger, *, used: int = 0) -> None:
        self.chance = chance
        self.ledger = ledger
        folios = {kind: low + used + chance.whole(1, 900) for kind, low in FIRST_FOLIO.items()}
        self._folios: Counter[str] = Counter(folios)
        self._orders = chance.whole(3_000_000, 6_000_000) if not used else 6_000_000 + used * ORDER_STEP

    def invoice(self, buyer: Person, issue_on: date, *, days: int = 30) -> LocalDocument:
        """Return the draft of a taxed invoice with a unique total."""
        net, vat, total = self.chance.free_total(*NET_RANGE)
        known_at = self.chance.moment(issue_on, since=OPENING, until=time(9))
        drafted = LocalDocument(
            "33", self._folio("33"), issue_on, known_at, net, vat, total, self.ledger.currency,
            due_on=issue_on + timedelta(days=days), buyer=buyer, buyer_tax_id=buyer.tax_id, order_ref=self.order(),
        )  # fmt: skip
        if self.ledger.country == "cl":
            return drafted
        return replace(drafted, doc_type="I", folio=self._folio("I"), series="A", uuid=self.chance.uuid(),
                       payment_method="PUE", payment_form="03")  # fmt: skip

    def receipt(self, known_at: datetime, *, price: int | None = None) -> LocalDocument:
        """Draft of a receipt over the counter, without a named buyer and due at once."""
        if price is None:
            net, vat, total = self.chance.free_total(*RECEIPT_NET_RANGE)
        else:
            vat, total = self.included_vat(price), price
            net = total - vat
        issue_on = local_date(known_at, self.ledger.country)
        order = self.order()
        drafted = LocalDocument(
            "39", self._folio("39"), issue_on, known_at, net, vat, total, self.ledger.currency, order_ref=order
        )
        if self.ledger.country == "cl":
            return drafted
        return replace(drafted, doc_type="I", folio=self._folio("I"), series="P", uuid=self.chance.uuid(),
                       buyer_tax_id=PUBLIC_RFC, payment_method="PUE", payment_form="04")  # fmt: skip

    def note(self, sale: LocalDocument, known_at: datetime, *, total: int | None = None) -> LocalDocument:
        """Return the draft of a credit note on a sale, over all of it unless an amount is given."""
        kind = "61" if self.ledger.country == "cl" else "E"
        amount = sale.total if total is None else total
        vat = amount * sale.vat // sale.total
        drafted = LocalDocument(
            kind, self._folio(kind), local_date(known_at, self.ledger.country), known_at, amount - vat, vat, amount,
            sale.currency, buyer=sale.buyer, buyer_tax_id=sale.buyer_tax_id, refers_to=sale,
        )  # fmt: skip
        return drafted if kind == "61" else replace(drafted, series="NC", uuid=self.chance.uuid())

    def keep_document(self, document: LocalDocument) -> LocalDocument:
        """Enter a document into the books."""
        self.ledger.documents.append(document)
        return document

    def bill(self, buyer: Person, issue_on: date, *, days: int = 30) -> LocalDocument:
        """Return an invoice as it comes, entered at once."""
        return self.keep_document(self.invoice(buyer, issue_on, days=days))

    def payment(self, amount: int, at: datetime, verdict: Verdict, *, subtype: str = "bank_transfer") -> Payment:
        """Draft of a payment that succeeds at this moment, without payer or key."""
        created_at = (at - timedelta(milliseconds=self.chance.whole(9_000, 170_000))).replace(microsecond=0)
        return Payment(self.chance.id("pi", 27), subtype, amount, self.ledger.currency, created_at, at, verdict)

    def transfer(self, amount: int, on: date, payer: Person, verdict: Verdict) -> Payment:
        """Draft of a bank transfer sent by a payer in office hours."""
        at = self.chance.moment(on, since=time(10), until=time(19))
        drafted = self.payment(amount, at, verdict)
        return replace(drafted, sender=payer, customer=payer if self.chance.happens(60) else None)

    def keep_payment(self, payment: Payment) -> Payment:
        """Enter a payment."""
        self.ledger.payments.append(payment)
        return payment

    def settle(self, document: LocalDocument, on: date) -> Payment:
        """Pay one invoice exactly, naming it."""
        assert document.buyer is not None
        drafted = self.transfer(document.total, on, document.buyer, match_document(document))
        return self.keep_payment(replace(drafted, metadata=self.name(document)))

    def refund(self, payment: Payment, on: date, *, amount: int | None = None, doc_key: str | None = None) -> Refund:
        """Give a payment back: asked for in the morning, processed at three, done within three hours."""
        country = self.ledger.country
        created_at = self.chance.moment(on, since=time(9), until=time(13))
        processed_on = bank_day(created_at, country)
        in_progress_at = self.chance.later(at_local(processed_on, REFUND_HOUR, country), 20, 600)
        refund = Refund(
            self.chance.id("re"), payment, payment.amount if amount is None else amount, created_at, in_progress_at,
            succeeded_at=self.chance.later(in_progress_at, 900, 9_000), failed_at=None, doc_key=doc_key,
        )  # fmt: skip
        self.ledger.refunds.append(refund)
        return refund

    def failing_refund(self, payment: Payment, on: date, *, doc_key: str) -> Refund:
        """Return a refund that is taken off a payout and fails three bank days later."""
        drafted = self.refund(payment, on, doc_key=doc_key)
        country = self.ledger.country
        failed_on = add_bank_days(local_date(drafted.in_progress_at, country), 3, country)
        failed_at = self.chance.moment(failed_on, since=time(9), until=time(12))
        self.ledger.refunds[-1] = replace(drafted, succeeded_at=None, failed_at=failed_at)
        return self.ledger.refunds[-1]

    def name(self, document: LocalDocument) -> dict[str, str]:
        """Metadata that identify a document, in one of the ways merchants write them."""
        if document.uuid:
            ways = [{"uuid": document.uuid.upper()}, {"invoice": document.uuid}, {"order_ref": document.order_ref}]
            return self.chance.pick(ways)
        folio = {"doc_type": document.doc_type, "folio": document.folio}
        return self.chance.weigh_first(
            [
                ({"order_ref": document.order_ref}, 45),
                (folio, 25),
                ({"order_id": document.order_ref}, 12),
                ({"invoice": document.key}, 18),
            ]
        )

    def included_vat(self, total: int) -> int:
        """Return the VAT inside a total."""
        bps = 10_000 + VAT_BPS[self.ledger.country]
        return total - divide_half_up(total * 10_000, bps)

    def order(self) -> str:
        """Return a new order reference of the merchant's shop."""
        self._orders += self.chance.whole(1, ORDER_STEP)
        return f"PED-{self._orders}"

    def _folio(self, kind: str) -> str:
        self._folios[kind] += 1
        return str(self._folios[kind])


def match_document(document: LocalDocument, *, outcome: str = "matched") -> Verdict:
    """Return the verdict of a payment that closes one document exactly."""
    return Verdict(outcome, ((document.key, document.total),))
