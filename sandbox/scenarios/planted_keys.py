"""Planted cases of payments that name a document: wrong amounts, wrong payers, dead documents."""

from dataclasses import replace
from datetime import date, timedelta

from sandbox.scenarios.calendar import add_bank_days
from sandbox.scenarios.ledger import LocalDocument, Payment, Verdict
from sandbox.scenarios.shop import Shop, match_document

MOST_PARTS = 12
PART_DAYS = 7  # bank days within which all parts are paid


def lone_invoice(shop: Shop, on: date, *, days: int = 30) -> LocalDocument:
    """Return the draft of an invoice to a company with no other purchase, issued some days before."""
    return shop.invoice(shop.chance.company(), on - timedelta(days=shop.chance.whole(3, 14)), days=days)


def pay_named(shop: Shop, document: LocalDocument, amount: int, on: date, verdict: Verdict) -> Payment:
    """Keep a transfer by the document's own buyer that names the document."""
    assert document.buyer is not None
    payment = shop.transfer(amount, on, document.buyer, verdict)
    return shop.keep_payment(replace(payment, metadata=shop.name(document)))


def pay_short(shop: Shop, on: date) -> None:
    """Plant a payment short by 3 to 12 % of the total."""
    document = shop.keep_document(lone_invoice(shop, on))
    rest = rest_of(shop, document, 3, 12)
    verdict = Verdict("partial", ((document.key, document.total - rest),), code="AMOUNT_DIFF", at_risk=rest)
    pay_named(shop, document, document.total - rest, on, verdict)


def pay_part(shop: Shop, on: date) -> None:
    """Plant a payment of little more than half, which is no exception until the rest is overdue."""
    document = shop.keep_document(lone_invoice(shop, on))
    rest = rest_of(shop, document, 30, 45)
    verdict = Verdict("partial", ((document.key, document.total - rest),))
    pay_named(shop, document, document.total - rest, on, verdict)


def rest_of(shop: Shop, document: LocalDocument, low: int, high: int) -> int:
    """Return a part of the total, between two percentages, such that neither it nor what is left occurs elsewhere."""
    while True:
        rest = shop.chance.whole(document.total * low // 100, document.total * high // 100)
        if shop.chance.claim(rest) and shop.chance.claim(document.total - rest):
            return rest


def pay_over(shop: Shop, on: date) -> None:
    """Plant a payment above the total."""
    document = shop.keep_document(lone_invoice(shop, on))
    over = shop.chance.whole(700, 9_000)
    while not shop.chance.claim(document.total + over):
        over += 3
    amount = document.total + over
    pay_named(shop, document, amount, on, Verdict("matched_with_difference", ((document.key, amount),),
                                                  code="AMOUNT_DIFF", at_risk=over))  # fmt: skip


def pay_one_unit_off(shop: Shop, on: date) -> None:
    """Plant a payment that is one minor unit off by rounding."""
    document = shop.keep_document(lone_invoice(shop, on))
    amount = document.total + shop.chance.pick((-1, 1))
    pay_named(shop, document, amount, on, Verdict("matched_with_difference", ((document.key, document.total),)))


def pay_for_another(shop: Shop, on: date) -> None:
    """Plant an invoice paid exactly by another company."""
    document = shop.keep_document(lone_invoice(shop, on))
    verdict = replace(match_document(document), code="CUSTOMER_DIFF")
    payment = replace(shop.transfer(document.total, on, shop.chance.company(), verdict), customer=None)
    shop.keep_payment(replace(payment, metadata=shop.name(document)))


def pay_through_another_account(shop: Shop, on: date) -> None:
    """Plant the right customer paying from a relative's account, which is only a note."""
    document = shop.keep_document(lone_invoice(shop, on))
    assert document.buyer is not None
    payment = shop.transfer(document.total, on, shop.chance.human(), match_document(document))
    shop.keep_payment(replace(payment, customer=document.buyer, metadata=shop.name(document)))


def name_a_stranger(shop: Shop, on: date) -> None:
    """A key, another amount and another customer: the key is not believed."""
    document = shop.keep_document(lone_invoice(shop, on, days=shop.chance.pick((15, 45))))
    amount = shop.chance.free_amount(60_000, 900_000)
    stranger = shop.chance.company()
    payment = replace(shop.transfer(amount, on, stranger, orphan(amount)), customer=stranger)
    shop.keep_payment(replace(payment, metadata=shop.name(document)))


def name_the_neighbour(shop: Shop, on: date) -> None:
    """Plant a key to one invoice with the amount of another open one of the same customer."""
    named = shop.keep_document(lone_invoice(shop, on))
    assert named.buyer is not None
    other = shop.bill(named.buyer, on - timedelta(days=shop.chance.whole(1, 8)))
    verdict = Verdict("ambiguous", code="AMBIGUOUS", at_risk=other.total, decidable=False)
    pay_named(shop, named, other.total, on, verdict)


def pay_twice(shop: Shop, on: date) -> None:
    """Plant the same invoice named and paid again a bank day or more later."""
    document = shop.keep_document(lone_invoice(shop, on))
    shop.settle(document, on)
    again = add_bank_days(on, shop.chance.whole(1, 3), shop.ledger.country)
    verdict = Verdict("duplicate", suggested=(document.key,), code="DUPLICATE_PAYMENT", at_risk=document.total)
    pay_named(shop, document, document.total, again, verdict)


def pay_void(shop: Shop, on: date) -> None:
    """Plant a payment for an invoice that was voided and not issued again."""
    document = shop.keep_document(replace(lone_invoice(shop, on), status="void"))
    pay_named(shop, document, document.total, on, dead(document))


def pay_reissued(shop: Shop, on: date) -> None:
    """Plant a payment that names a void invoice whose one re-issue says so."""
    void = shop.keep_document(replace(lone_invoice(shop, on), status="void"))
    assert void.buyer is not None
    draft = shop.invoice(void.buyer, on - timedelta(days=2))
    again = shop.keep_document(replace(draft, net=void.net, vat=void.vat, total=void.total, refers_to=void))
    pay_named(shop, void, void.total, on, match_document(again))


def pay_credited(shop: Shop, on: date) -> None:
    """Plant a payment for an invoice that a note had cancelled two days before."""
    document = shop.keep_document(lone_invoice(shop, on))
    shop.keep_document(shop.note(document, shop.chance.moment(on - timedelta(days=2))))
    pay_named(shop, document, document.total, on, dead(document))


def dead(document: LocalDocument) -> Verdict:
    """Return the verdict of a payment for a document that can no longer be paid."""
    return Verdict("no_document", suggested=(document.key,), code="PAID_CANCELLED_DOC", at_risk=document.total)


def orphan(amount: int) -> Verdict:
    """Return the verdict of a payment without a document in the books."""
    return Verdict("no_document", code="PAYMENT_NO_INVOICE", at_risk=amount)


def pay_in_other_currency(shop: Shop, on: date) -> None:
    """Plant a dollar invoice named by a payment in local money."""
    drafted = replace(lone_invoice(shop, on, days=45), currency="USD")
    if shop.ledger.country == "cl":
        drafted = replace(drafted, doc_type="110")
    dear(shop, drafted, on, net=shop.chance.whole(20_000, 90_000))


def dear(shop: Shop, drafted: LocalDocument, on: date, *, net: int) -> None:
    """Keep an invoice over that much of its own currency, and a payment in local money that names it."""
    document = shop.keep_document(replace(drafted, net=net, vat=0, total=net))
    amount = shop.chance.free_amount(200_000, 900_000)
    verdict = Verdict("no_document", suggested=(document.key,), code="CURRENCY_DIFF", at_risk=amount)
    pay_named(shop, document, amount, on, verdict)


def pay_lowered(shop: Shop, on: date) -> None:
    """A note lowers an open invoice, and the customer pays what is left of it."""
    document = shop.keep_document(lone_invoice(shop, on))
    rest = rest_of(shop, document, 10, 25)
    shop.keep_document(shop.note(document, shop.chance.moment(on - timedelta(days=1)), total=rest))
    left = document.total - rest
    pay_named(shop, document, left, on, Verdict("matched", ((document.key, left),)))


def credit_unpaid(shop: Shop, on: date) -> None:
    """Plant a sale called off before it was paid."""
    document = shop.keep_document(lone_invoice(shop, on))
    shop.keep_document(shop.note(document, shop.chance.moment(on)))


def leave_overdue(shop: Shop, on: date) -> None:
    """Plant an invoice that falls due on that day and is never paid."""
    days = shop.chance.pick((15, 30))
    shop.bill(shop.chance.company(), on - timedelta(days=days), days=days)


def pay_in_instalments(shop: Shop, on: date) -> None:
    """Plant one invoice in three payments that declare it, or whose document does."""
    drafted = lone_invoice(shop, on)
    declared = shop.chance.happens(50)
    document = shop.keep_document(drafted if declared else replace(drafted, payment_method="PPD"))
    third = rest_of(shop, document, 30, 34)
    second = rest_of(shop, document, 25, 29)
    parts = (third, second, document.total - third - second)
    for place, part in enumerate(parts):
        outcome = "matched" if place == len(parts) - 1 else "partial"
        payment = pay_draft(shop, document, part, add_bank_days(on, 2 * place, shop.ledger.country), outcome)
        extra = {"installments": "3"} if declared else {}
        shop.keep_payment(replace(payment, metadata=shop.name(document) | extra))


def pay_draft(shop: Shop, document: LocalDocument, part: int, on: date, outcome: str) -> Payment:
    """Draft of a payment of a part."""
    assert document.buyer is not None
    return shop.transfer(part, on, document.buyer, Verdict(outcome, ((document.key, part),)))


def pay_in_parts(shop: Shop, on: date) -> None:
    """One invoice in two to twelve payments that declare it, within seven bank days."""
    document = shop.keep_document(lone_invoice(shop, on))
    count = shop.chance.whole(2, MOST_PARTS)
    part, country = document.total // count, shop.ledger.country
    for place in range(count):
        is_last = place == count - 1
        amount = document.total - part * place if is_last else part
        paid_on = add_bank_days(on, place * PART_DAYS // count, country)
        payment = pay_draft(shop, document, amount, paid_on, "matched" if is_last else "partial")
        payment = replace(payment, metadata=shop.name(document) | {"installments": str(count)})
        shop.keep_payment(payment)


def leave_not_due(shop: Shop, on: date) -> None:
    """Plant an invoice that is not due before the ledger ends."""
    days = (shop.ledger.until - on).days + shop.chance.whole(2, 20)
    shop.bill(shop.chance.company(), on, days=days)


def pay_in_pesos(shop: Shop, on: date) -> None:
    """Plant an invoice priced in a unit of account, named by a payment in local money."""
    if shop.ledger.country == "cl":
        dear(
            shop, replace(lone_invoice(shop, on, days=45), currency="CLF"), on, net=shop.chance.whole(100_000, 900_000)
        )
    else:
        dear(shop, replace(lone_invoice(shop, on, days=45), currency="USD"), on, net=shop.chance.whole(20_000, 90_000))
