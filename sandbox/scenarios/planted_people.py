"""Planted cases of payments without a key: who paid, how much and when must do, or do not."""

from dataclasses import replace
from datetime import date, time, timedelta

from sandbox.scenarios.calendar import add_bank_days
from sandbox.scenarios.ledger import LocalDocument, Payment, Verdict
from sandbox.scenarios.people import Person
from sandbox.scenarios.planted_keys import lone_invoice, orphan
from sandbox.scenarios.shop import Shop, match_document


def pay_from_nowhere(shop: Shop, on: date) -> None:
    """Plant a transfer of a payer unknown to the books."""
    amount = shop.chance.free_amount(15_000, 600_000)
    shop.keep_payment(shop.transfer(amount, on, shop.chance.company(), orphan(amount)))


def pay_unknown_order(shop: Shop, on: date) -> None:
    """Plant a payment that names an order the books never saw."""
    amount = shop.chance.free_amount(15_000, 600_000)
    payment = shop.transfer(amount, on, shop.chance.company(), orphan(amount))
    shop.keep_payment(replace(payment, metadata={"order_ref": f"WEB-{shop.chance.digits(6)}"}))


def pay_by_card(shop: Shop, amount: int, on: date, verdict: Verdict) -> Payment:
    """Keep a card payment without any sign of its payer."""
    at = shop.chance.moment(on, since=time(10), until=time(21))
    return shop.keep_payment(shop.payment(amount, at, verdict, subtype="credit_card"))


def pay_one_of_two_strangers(shop: Shop, on: date) -> None:
    """Plant an anonymous payment of an amount that two customers owe."""
    first = shop.keep_document(lone_invoice(shop, on))
    second = lone_invoice(shop, on)
    shop.keep_document(replace(second, net=first.net, vat=first.vat, total=first.total))
    pay_by_card(shop, first.total, on, replace(orphan(first.total), decidable=False))


def suggest(shop: Shop, on: date) -> None:
    """Plant an anonymous payment of an amount that only one open invoice has."""
    document = shop.keep_document(lone_invoice(shop, on))
    verdict = Verdict("suggested", suggested=(document.key,), code="PAYMENT_NO_INVOICE",
                      at_risk=document.total, decidable=False)  # fmt: skip
    pay_by_card(shop, document.total, on, verdict)


def refer_without_name(shop: Shop, on: date) -> None:
    """Plant an anonymous payment whose text names the one invoice of its amount."""
    document = shop.keep_document(lone_invoice(shop, on))
    payment = shop.payment(document.total, shop.chance.moment(on), match_document(document), subtype="debit_card")
    shop.keep_payment(replace(payment, reference_id=document.order_ref))


def name_by_folio(shop: Shop, on: date) -> None:
    """Plant a payment whose only key is a folio that one open document has."""
    document = shop.keep_document(lone_invoice(shop, on))
    assert document.buyer is not None
    payment = shop.transfer(document.total, on, document.buyer, match_document(document))
    shop.keep_payment(replace(payment, metadata={"folio": document.folio}))


def refer_to_twins(shop: Shop, on: date) -> None:
    """Two equal invoices of one customer, each paid by a transfer whose text says which."""
    first = shop.keep_document(lone_invoice(shop, on))
    second = twin(shop, first, on - timedelta(days=2))
    for place, document in enumerate((second, first)):
        payment = by_buyer(shop, document, add_bank_days(on, place, shop.ledger.country))
        shop.keep_payment(replace(payment, comment=f"Pago factura {document.folio}"))


def pay_interchangeably(shop: Shop, on: date) -> None:
    """Three equal invoices of one customer and two payments that name none of them."""
    first = shop.keep_document(lone_invoice(shop, on))
    second = twin(shop, first, on - timedelta(days=2))
    twin(shop, first, on - timedelta(days=1))
    for place, document in enumerate((first, second)):
        verdict = match_document(document, outcome="interchangeable")
        paid_on = add_bank_days(on, 2 * place, shop.ledger.country)
        shop.keep_payment(replace(by_buyer(shop, document, paid_on), verdict=verdict))


def twin(shop: Shop, document: LocalDocument, issue_on: date) -> LocalDocument:
    """Keep another invoice of the same customer and total."""
    assert document.buyer is not None
    drafted = shop.invoice(document.buyer, issue_on)
    return shop.keep_document(replace(drafted, net=document.net, vat=document.vat, total=document.total))


def by_buyer(shop: Shop, document: LocalDocument, on: date) -> Payment:
    """Draft of a transfer of the document's buyer over its total, without a key."""
    assert document.buyer is not None
    return shop.transfer(document.total, on, document.buyer, match_document(document))


def pay_set(shop: Shop, on: date) -> None:
    """Plant one transfer for three of a customer's four open invoices, the only ones that sum to it."""
    buyer = shop.chance.company()
    documents = several(shop, buyer, on, 4)
    chosen = documents[:3]
    total = sum(document.total for document in chosen)
    shop.chance.claim(total)
    verdict = Verdict("set", tuple((document.key, document.total) for document in chosen))
    shop.keep_payment(shop.transfer(total, on, buyer, verdict))


def pay_two_sets(shop: Shop, on: date) -> None:
    """Plant one transfer that two pairs of a customer's open invoices sum to."""
    buyer = shop.chance.company()
    first, second, third = several(shop, buyer, on, 3)
    drafted = shop.invoice(buyer, on - timedelta(days=4))
    total = first.total + second.total
    shop.chance.claim(total)
    rest = total - third.total
    while rest <= 0 or not shop.chance.claim(rest):
        third = lower(shop, third)
        rest = total - third.total
    shop.ledger.documents[-1] = third
    vat = shop.included_vat(rest)
    shop.keep_document(replace(drafted, net=rest - vat, vat=vat, total=rest))
    verdict = Verdict("ambiguous", code="AMBIGUOUS", at_risk=total, decidable=False)
    shop.keep_payment(shop.transfer(total, on, buyer, verdict))


def lower(shop: Shop, document: LocalDocument) -> LocalDocument:
    """Return the same invoice over a smaller, unique total."""
    net, vat, total = shop.chance.free_total(60_000, 90_000)
    return replace(document, net=net, vat=vat, total=total)


def several(shop: Shop, buyer: Person, on: date, count: int) -> list[LocalDocument]:
    """Keep some invoices of one buyer, issued over two weeks."""
    days = [on - timedelta(days=shop.chance.whole(2, 14)) for _ in range(count)]
    return [shop.bill(buyer, day) for day in days]


def pay_unnamed(shop: Shop, on: date) -> None:
    """Plant a transfer of the right customer and amount without key or text."""
    shop.keep_payment(by_buyer(shop, shop.keep_document(lone_invoice(shop, on)), on))


def pay_misnamed(shop: Shop, on: date) -> None:
    """Plant a transfer of the right customer and amount whose text is a mistyped folio."""
    document = shop.keep_document(lone_invoice(shop, on))
    payment = by_buyer(shop, document, on)
    shop.keep_payment(replace(payment, comment=f"Pago factura {mistype(shop, document)}"))


def mistype(shop: Shop, document: LocalDocument) -> str:
    """Return a folio as a tired person types it: two digits swapped, the last one missing, an O for a zero."""
    folio = document.folio
    swapped = folio[:-2] + folio[-1] + folio[-2]
    ways = [folio[:-1], folio.replace("0", "O", 1) + "-A", "F" + folio[:3] + " " + folio[3:]]
    return shop.chance.pick(ways if swapped == folio else [*ways, swapped])


def pay_unsigned(shop: Shop, on: date) -> None:
    """Plant an anonymous payment with a key alone."""
    document = shop.keep_document(lone_invoice(shop, on))
    payment = shop.payment(document.total, shop.chance.moment(on), match_document(document), subtype="debit_card")
    shop.keep_payment(replace(payment, metadata=shop.name(document)))
