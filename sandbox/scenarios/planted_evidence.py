"""Planted cases of payments that say too little or say it wrongly, come in parts, or cost the wrong fee."""

from dataclasses import replace
from datetime import date

from sandbox.scenarios.calendar import add_bank_days
from sandbox.scenarios.ledger import LocalDocument, Payment
from sandbox.scenarios.planted_keys import dear, lone_invoice, pay_draft
from sandbox.scenarios.planted_people import by_buyer
from sandbox.scenarios.shop import Shop, matched

MOST_PARTS = 12
PART_DAYS = 7  # bank days within which all parts are paid


def pay_unnamed(shop: Shop, on: date) -> None:
    """A transfer of the right customer and amount that says nothing else."""
    shop.keep_payment(by_buyer(shop, shop.keep_document(lone_invoice(shop, on)), on))


def pay_misnamed(shop: Shop, on: date) -> None:
    """A transfer of the right customer and amount whose text is a mistyped folio."""
    document = shop.keep_document(lone_invoice(shop, on))
    payment = by_buyer(shop, document, on)
    shop.keep_payment(replace(payment, comment=f"Pago factura {mistype(shop, document)}"))


def mistype(shop: Shop, document: LocalDocument) -> str:
    """A folio as a tired person types it: two digits swapped, the last one missing, an O for a zero."""
    folio = document.folio
    swapped = folio[:-2] + folio[-1] + folio[-2]
    ways = [folio[:-1], folio.replace("0", "O", 1) + "-A", "F" + folio[:3] + " " + folio[3:]]
    return shop.chance.pick(ways if swapped == folio else [*ways, swapped])


def pay_unsigned(shop: Shop, on: date) -> None:
    """A payment by a key alone, of nobody in particular."""
    document = shop.keep_document(lone_invoice(shop, on))
    payment = shop.payment(document.total, shop.chance.moment(on), matched(document), subtype="debit_card")
    shop.keep_payment(replace(payment, metadata=shop.name(document)))


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
    """An invoice that nobody has to pay before the ledger ends."""
    days = (shop.ledger.until - on).days + shop.chance.whole(2, 20)
    shop.bill(shop.chance.company(), on, days=days)


def pay_in_pesos(shop: Shop, on: date) -> None:
    """An invoice priced in a unit of account, named by a payment in local money."""
    if shop.ledger.country == "cl":
        dear(
            shop, replace(lone_invoice(shop, on, days=45), currency="CLF"), on, net=shop.chance.whole(100_000, 900_000)
        )
    else:
        dear(shop, replace(lone_invoice(shop, on, days=45), currency="USD"), on, net=shop.chance.whole(20_000, 90_000))


def overcharge(shop: Shop, on: date) -> None:
    """A sale whose fee was taken at a dearer rate than agreed."""
    _misfee(shop, on, "tariff")


def leave_out_vat(shop: Shop, on: date) -> None:
    """A sale whose fee was taken without its VAT."""
    _misfee(shop, on, "vat")


def round_too_far(shop: Shop, on: date) -> None:
    """A sale whose fee was rounded one unit too far."""
    _misfee(shop, on, "rounding")


def _misfee(shop: Shop, on: date, error: str) -> Payment:
    shop.settle(shop.keep_document(lone_invoice(shop, on)), on)
    shop.ledger.payments[-1] = replace(shop.ledger.payments[-1], misfee=error)
    return shop.ledger.payments[-1]
