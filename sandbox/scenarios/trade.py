"""Ordinary trade: receipts over the counter and invoices to companies, each paid once and named well enough."""

from dataclasses import replace
from datetime import date, time, timedelta

from sandbox.scenarios.calendar import at_local, is_bank_day
from sandbox.scenarios.chance import Chance
from sandbox.scenarios.ledger import Dispute, Ledger, LocalDocument, Payment, Share
from sandbox.scenarios.people import Person
from sandbox.scenarios.shop import Shop, match_document

AGE = timedelta(days=9)
HOURS = {"cl": (time(9), time(12)), "mx": (time(6), time(8))}  # before that day's payout is made
SELLER_BPS = 1_500
RECEIPT_SUBTYPES = {
    "cl": {"debit_card": 35, "credit_card": 30, "prepaid_card": 10, "bank_transfer": 25},
    "mx": {"debit_card": 55, "credit_card": 45},
}
EVIDENCE = {"key": 78, "customer": 13, "reference": 9}
TERMS = (15, 30, 30, 45)
INSTALMENTS_EACH = 20  # of so many plain credit card payments one
LATE = 2  # days after it is due
ANONYMOUS = "66666666-6"


def trade(shop: Shop, companies: list[Person], *, scale: float, late: int = LATE) -> None:
    """Fill every day between the ledger's dates with sales, some of them paid late by no more days than given."""
    day = shop.ledger.since
    while day < shop.ledger.until:
        trade_on(shop, companies, day, count=sales_on(shop.chance, day, scale=scale), late=late)
        day += timedelta(days=1)


def sales_on(chance: Chance, on: date, *, scale: float) -> int:
    """Return how much is sold on one day."""
    low, high = (6, 12) if is_bank_day(on, chance.country) else (1, 4)
    return max(1, round(chance.whole(low, high) * scale))


def trade_on(shop: Shop, companies: list[Person], on: date, *, count: int, late: int = LATE) -> None:
    """That many sales on one day."""
    for _ in range(count):
        sell(shop, companies, on, late=late)


def sell(shop: Shop, companies: list[Person], on: date, *, late: int = LATE) -> Payment:
    """Return one sale paid on that day."""
    if shop.chance.happens(55):
        return sell_over_the_counter(shop, on)
    days = shop.chance.pick(TERMS)
    issue_on = on - timedelta(days=shop.chance.whole(0, days + late))
    document = shop.invoice(shop.chance.pick(companies), issue_on, days=days)
    if document.uuid and (issue_on.year, issue_on.month) != (on.year, on.month):
        document = replace(document, payment_method="PPD", payment_form="99")
    return pay_invoice(shop, shop.keep_document(document), on)


def sell_over_the_counter(shop: Shop, on: date) -> Payment:
    """Return a receipt and its payment, minutes apart."""
    chance = shop.chance
    paid_at = chance.moment(on)
    receipt = shop.receipt(chance.later(paid_at, -900, -240), price=chance.price() if chance.happens(50) else None)
    subtype = chance.weigh(RECEIPT_SUBTYPES[shop.ledger.country])
    payment = shop.payment(receipt.total, paid_at, match_document(receipt), subtype=subtype)
    payment = replace(payment, metadata=shop.name(receipt))
    if subtype == "bank_transfer":
        payment = replace(payment, sender=chance.human())
    elif receipt.buyer_tax_id:
        pass  # the public at large pays without a name
    elif chance.happens(40):
        payment = replace(payment, customer=chance.human())
    elif chance.happens(30):
        receipt = replace(receipt, buyer_tax_id=ANONYMOUS)
    shop.keep_document(receipt)
    return shop.keep_payment(payment)


def pay_invoice(shop: Shop, document: LocalDocument, on: date) -> Payment:
    """Pay an invoice by key, by a text that names it, or by the payer's tax id alone."""
    assert document.buyer is not None
    chance = shop.chance
    payment = shop.transfer(document.total, on, document.buyer, match_document(document))
    evidence = chance.weigh(EVIDENCE)
    if evidence == "key":
        payment = replace(payment, metadata=shop.name(document))
    elif evidence == "reference":
        payment = refer(shop, payment, document)
    if chance.happens(15):
        payment = replace(payment, subtype="credit_card", sender=None, customer=document.buyer)
    return shop.keep_payment(payment)


def refer(shop: Shop, payment: Payment, document: LocalDocument) -> Payment:
    """Name the document in a text only people were meant to read."""
    texts = (f"Pago factura {document.folio}", f"FACT {document.folio} {shop.chance.pick(('gracias', 'saldo', 'ok'))}",
             f"abono {document.order_ref}")  # fmt: skip
    if shop.chance.happens(30):
        return replace(payment, reference_id=document.order_ref)
    return replace(payment, comment=shop.chance.pick(texts))


def leave_open(shop: Shop, companies: list[Person], *, count: int) -> None:
    """Invoices without a payment that fall due after the last day of trade."""
    for _ in range(count):
        issue_on = shop.ledger.until - timedelta(days=shop.chance.whole(1, 20))
        shop.bill(shop.chance.pick(companies), issue_on, days=shop.chance.pick((30, 45)))


def cross_the_cut(shop: Shop, companies: list[Person], on: date) -> None:
    """Two payments around the moment one payout closes: the last of its window and the first of the next."""
    cut = at_local(on, time(14), shop.ledger.country)
    for at in (cut - timedelta(milliseconds=1), cut):
        document = shop.bill(shop.chance.pick(companies), on - timedelta(days=5))
        assert document.buyer is not None
        payment = shop.payment(document.total, at, match_document(document))
        shop.keep_payment(replace(payment, sender=document.buyer, metadata=shop.name(document)))


def sell_by_instalments(ledger: Ledger) -> None:
    """Let some plain card payments be such as the provider collects by instalments and pays out at once."""
    troubled = {refund.payment.id for refund in ledger.refunds} | {case.payment.id for case in ledger.disputes}
    places = [n for n, paid in enumerate(ledger.payments) if _is_plain_credit(paid) and paid.id not in troubled]
    for place in places[::INSTALMENTS_EACH]:
        ledger.payments[place] = replace(ledger.payments[place], subtype="installment")


def _is_plain_credit(paid: Payment) -> bool:
    odd = paid.shares or paid.misfee or paid.repeated or paid.forgotten or paid.payment_method
    return paid.subtype == "credit_card" and paid.verdict.outcome == "matched" and not odd


def dispute(shop: Shop, ending: str | None, on: date) -> None:
    """A dispute over an older card payment, if there is one, that ends on this morning or stays open for good."""
    chance = shop.chance
    since, until = HOURS[shop.ledger.country]
    ended_at = chance.moment(on, since=since, until=until)
    candidates = [paid for paid in disputable(shop.ledger) if paid.succeeded_at < ended_at - AGE]
    if not candidates:
        return
    payment = chance.pick(candidates)
    opened_at = ended_at - timedelta(days=7 if ending == "expired" else 6)
    review_at = None if ending == "expired" else opened_at + timedelta(days=2, minutes=chance.whole(1, 600))
    opened = Dispute(chance.id("cb"), payment, opened_at, review_at, ended_at, ending)
    if ending is None:
        # It waits for the merchant's documents, with days left to send them.
        opened = replace(opened, opened_at=ended_at - timedelta(days=2), review_at=None, ended_at=None)
    shop.ledger.disputes.append(opened)


def disputable(ledger: Ledger) -> list[Payment]:
    """Return plain card payments that are neither refunded nor disputed yet."""
    busy = {refund.payment.id for refund in ledger.refunds} | {case.payment.id for case in ledger.disputes}
    return [
        paid
        for paid in ledger.payments
        if paid.subtype == "credit_card"
        and paid.verdict.outcome == "matched"
        and not (paid.id in busy or paid.forgotten or paid.repeated or paid.shares)
    ]


def sell_for_two(shop: Shop, on: date, *, own_entity: str, seller_entity: str, off_by: int = 0) -> Payment:
    """Return a receipt paid by card and shared; the seller's share may be off by some units."""
    paid_at = shop.chance.moment(on)
    receipt = shop.keep_document(shop.receipt(shop.chance.later(paid_at, -900, -240)))
    seller = receipt.total * SELLER_BPS // 10_000
    shares = (
        Share(own_entity, receipt.total - seller, pays_fee=True, is_own=True),
        Share(seller_entity, seller + off_by),
    )
    verdict = match_document(receipt)
    if off_by:
        verdict = replace(verdict, code="SPLIT_MISMATCH", at_risk=abs(off_by))
    payment = shop.payment(receipt.total, paid_at, verdict, subtype="credit_card")
    return shop.keep_payment(replace(payment, metadata=shop.name(receipt), shares=shares))
