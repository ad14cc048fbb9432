"""Planted cases of money going back: with a note, without one, in part, too late, and not at all."""

from dataclasses import replace
from datetime import date

from sandbox.scenarios.calendar import add_bank_days
from sandbox.scenarios.ledger import Payment, Refund
from sandbox.scenarios.planted_keys import lone_invoice, rest_of
from sandbox.scenarios.shop import Shop


def paid_sale(shop: Shop, on: date) -> Payment:
    """Return an invoice to a company with no other purchase, paid exactly and named."""
    return shop.settle(shop.keep_document(lone_invoice(shop, on)), on)


def give_back(shop: Shop, payment: Payment, *, amount: int | None = None) -> Refund:
    """Refund a payment two to four bank days after it came."""
    country = shop.ledger.country
    on = add_bank_days(payment.succeeded_at.date(), shop.chance.whole(2, 4), country)
    return shop.refund(payment, on, amount=amount, doc_key=payment.verdict.applied[0][0])


def refund_with_note(shop: Shop, on: date) -> None:
    """Plant a sale given back, its note written when the refund went through."""
    refund = give_back(shop, paid_sale(shop, on))
    write_note(shop, refund, days=0)


def refund_part_with_note(shop: Shop, on: date) -> None:
    """Plant a part of a sale given back, with a note over that part."""
    payment = paid_sale(shop, on)
    document = next(d for d in reversed(shop.ledger.documents) if d.key == payment.verdict.applied[0][0])
    write_note(shop, give_back(shop, payment, amount=rest_of(shop, document, 15, 35)), days=0)


def refund_without_note(shop: Shop, on: date) -> None:
    """Plant a sale given back that the books still show as sold."""
    give_back(shop, paid_sale(shop, on))


def refund_with_late_note(shop: Shop, on: date) -> None:
    """Plant a sale given back whose note follows five bank days later."""
    write_note(shop, give_back(shop, paid_sale(shop, on)), days=5)


def write_note(shop: Shop, refund: Refund, *, days: int) -> None:
    """Keep the note of a refund, at the moment it succeeded or some bank days later."""
    assert refund.succeeded_at is not None
    sale = next(d for d in reversed(shop.ledger.documents) if d.key == refund.doc_key)
    known_at = refund.succeeded_at
    if days:
        known_at = shop.chance.moment(add_bank_days(known_at.date(), days, shop.ledger.country))
    shop.keep_document(shop.note(sale, known_at, total=refund.amount))


def note_without_refund(shop: Shop, on: date) -> None:
    """Plant a note over a paid sale whose money is never sent back."""
    payment = paid_sale(shop, on)
    sale = next(d for d in reversed(shop.ledger.documents) if d.key == payment.verdict.applied[0][0])
    written_on = add_bank_days(on, 3, shop.ledger.country)
    shop.keep_document(replace(shop.note(sale, shop.chance.moment(written_on)), owed_back=True))


def refund_that_fails(shop: Shop, on: date) -> None:
    """Plant a refund taken off one payout that fails and comes back in a later one."""
    payment = paid_sale(shop, on)
    later = add_bank_days(on, 2, shop.ledger.country)
    shop.failing_refund(payment, later, doc_key=payment.verdict.applied[0][0])


def pay_and_forget(shop: Shop, on: date) -> None:
    """Plant a payment that no payout ever carries."""
    shop.ledger.payments[-1] = _last(shop, on, forgotten=True)


def pay_out_twice(shop: Shop, on: date) -> None:
    """Plant a payment that two payouts carry."""
    shop.ledger.payments[-1] = _last(shop, on, repeated=True)


def _last(shop: Shop, on: date, *, forgotten: bool = False, repeated: bool = False) -> Payment:
    paid_sale(shop, on)
    return replace(shop.ledger.payments[-1], forgotten=forgotten, repeated=repeated)


def overcharge(shop: Shop, on: date) -> None:
    """Plant a sale whose fee was taken at a dearer rate than agreed."""
    _misfee(shop, on, "tariff")


def leave_out_vat(shop: Shop, on: date) -> None:
    """Plant a sale whose fee was taken without its VAT."""
    _misfee(shop, on, "vat")


def round_too_far(shop: Shop, on: date) -> None:
    """Plant a sale whose fee was rounded one unit too far."""
    _misfee(shop, on, "rounding")


def _misfee(shop: Shop, on: date, error: str) -> Payment:
    shop.settle(shop.keep_document(lone_invoice(shop, on)), on)
    shop.ledger.payments[-1] = replace(shop.ledger.payments[-1], misfee=error)
    return shop.ledger.payments[-1]
