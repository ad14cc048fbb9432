"""Mexico's planted tax causes: each once, in a month whose complements were due long ago."""

from dataclasses import replace
from datetime import date, datetime, time, timedelta

from sandbox.scenarios.calendar import ZONES, at_local, next_month
from sandbox.scenarios.fees import divide_half_up
from sandbox.scenarios.ledger import LocalDocument, Payment
from sandbox.scenarios.tax_office import TaxShop, build_tax
from sandbox.state.happening import WholeScenario
from sandbox.state.papers import APPLIES, CREDITS, PUBLIC, REPLACES, Paper, Party, Relation, Settled, Settlement

SPEI, CARD, DEFERRED, INTERMEDIARY, ADVANCE = "03", "04", "99", "31", "30"


def build(*, seed: int, scale: float, start: datetime) -> WholeScenario:
    """Return the Mexican scenario for one seed, size and start of the clock."""
    return build_tax("tax-mx", "mx", _plant, seed=seed, scale=scale, start=start)


def _plant(own: TaxShop) -> None:
    _plant_missing(own)
    _plant_differences(own)
    _plant_cancelled(own)
    _plant_complements(own)
    _plant_forms(own)
    _sell_with_advance(own)
    _sum_up_receipts(own)
    own.pay_under_another(own.draft(own.day(19), buyer=None, buyer_tax_id=PUBLIC["mx"]), own.day(20))
    _cancel_under_complement(own)


def _defer(own: TaxShop, on: int) -> LocalDocument:
    return own.bill(own.day(on), payment_method="PPD", payment_form=DEFERRED)


def _complete(own: TaxShop, document: LocalDocument, paid: Payment, on: date, **line: object) -> Paper:
    """Issue the complement of a payment on a day; what is given replaces a field of its line."""
    form = str(line.pop("form", SPEI))
    vat = paid.amount - divide_half_up(paid.amount * 100, 116)
    settled = Settled(document.uuid, document.series, document.folio, 1, document.total, paid.amount, vat)
    settled = replace(settled, **line)  # type: ignore[arg-type] # fields of it
    paid_at = paid.succeeded_at.astimezone(ZONES["mx"])
    settlement = Settlement(paid_at, form, paid.amount, paid.reference_id or "", (settled,))
    drafted = own.paper(document)
    issued_at = at_local(on, time(13), "mx").astimezone(ZONES["mx"])
    complement = replace(drafted, kind="P", series="CP", folio=own.shop.chance.digits(4), uuid=own.shop.chance.uuid(),
                         issued_at=max(issued_at, paid_at + timedelta(minutes=30)), net=0, vat=0, total=0, method="",
                         form="", due_on=None, relations=(), settlements=(settlement,), currency="MXN")  # fmt: skip
    return own.file(complement)


def _plant_missing(own: TaxShop) -> None:
    """Plant a sale the tax office lacks, one the books lack, and one the books date a month early."""
    unsent = own.shop.keep_document(own.draft(own.day(5)))
    own.pay(unsent, own.day(10))
    own.blame("not_in_register", own.paper(unsent))
    own.blame("not_in_books", own.file(own.paper(own.draft(own.day(6)))))
    last = next_month(own.month) - timedelta(days=1)
    early = own.shop.keep_document(own.draft(last))
    stamped_at = at_local(last + timedelta(days=1), time(0, 20), "mx").astimezone(ZONES["mx"])
    own.file(replace(own.paper(early), issued_at=stamped_at))
    own.pay(early, own.day(4, after=1))
    own.blame("period_shift", own.paper(early))


def _plant_differences(own: TaxShop) -> None:
    """Plant a sale typed wrongly, one with another split of tax, one rounded otherwise, one sold for another."""
    cases = (("amount_differs", 10, 9_000, 0), ("tax_split_differs", 11, 16_000, -16_000), ("rounding", 12, 1, -1))
    for code, on, net, vat in cases:
        document = own.draft(own.day(on))
        paper = own.file(own.paper(document))
        changed = replace(document, net=document.net + net, vat=document.vat + vat, total=document.total + net + vat)
        kept = own.shop.keep_document(changed)
        own.pay(kept, own.day(on + 5))
        own.blame(code, paper, amount=paper.total - kept.total, tax=paper.vat - kept.vat)
    sold = own.shop.keep_document(own.draft(own.day(13)))
    owner = own.shop.chance.company()
    own.blame("third_party_income", own.file(replace(own.paper(sold), third_party=Party(owner.tax_id, owner.name))))
    own.pay(sold, own.day(17))


def _plant_cancelled(own: TaxShop) -> None:
    """Plant a sale cancelled at the tax office alone, and one that was replaced and not cancelled there."""
    gone = own.shop.keep_document(own.draft(own.day(4)))
    cancelled_at = own.paper(gone).issued_at + timedelta(days=3)
    own.blame("cancelled_alive", own.file(replace(own.paper(gone), cancelled_at=cancelled_at)))
    old = own.shop.keep_document(own.draft(own.day(5)))
    own.blame("replaced", own.file(own.paper(old)))
    relation = Relation(REPLACES, "I", old.uuid, old.issue_on)
    own.file(replace(own.paper(old), uuid=own.shop.chance.uuid(), folio=f"{old.folio}1", relations=(relation,),
                     issued_at=cancelled_at + timedelta(days=1)))  # fmt: skip
    own.pay(old, own.day(14))


def _cancel_under_complement(own: TaxShop) -> None:
    """Plant an invoice that was cancelled at the tax office while its complement lives on."""
    gone = own.shop.keep_document(own.draft(own.day(5), payment_method="PPD", payment_form=DEFERRED))
    paid = own.pay(gone, own.day(12))
    alive = _complete(own, gone, paid, own.day(13))
    paper = own.paper(gone)
    own.blame("cancelled_alive", own.file(replace(paper, cancelled_at=alive.issued_at + timedelta(days=3))))
    own.blame("rep_on_cancelled", alive, amount=paid.amount, tax=gone.vat)


def _plant_complements(own: TaxShop) -> None:
    """Plant complements that are right, missing, late, on a PUE, doubled, and with a broken chain."""
    good = _defer(own, 3)
    half = good.total // 2
    first = own.pay(good, own.day(10), half)
    _complete(own, good, first, own.day(11))
    second = own.pay(good, own.day(18), good.total - half)
    _complete(own, good, second, own.day(19), instalment=2, before=good.total - half)
    bare = _defer(own, 4)
    own.pay(bare, own.day(11))
    own.blame("rep_missing", own.paper(bare))
    late = _defer(own, 5)
    paid = own.pay(late, own.day(12))
    own.blame("rep_late", _complete(own, late, paid, own.day(9, after=1)), amount=paid.amount, tax=late.vat)
    once = own.bill(own.day(6))
    paid = own.pay(once, own.day(13))
    own.blame("rep_on_pue", _complete(own, once, paid, own.day(14)), amount=paid.amount, tax=once.vat)
    twice = _defer(own, 7)
    paid = own.pay(twice, own.day(14))
    _complete(own, twice, paid, own.day(17))
    own.blame("rep_duplicate", _complete(own, twice, paid, own.day(18)), amount=paid.amount, tax=twice.vat)
    broken = _defer(own, 10)
    third = broken.total // 3
    _complete(own, broken, own.pay(broken, own.day(17), third), own.day(18))
    paid = own.pay(broken, own.day(20), third)
    wrong = _complete(own, broken, paid, own.day(21), instalment=2)
    own.blame("rep_chain_broken", wrong, amount=third, tax=wrong.settlements[0].settled[0].vat)


def _plant_forms(own: TaxShop) -> None:
    """Plant an unpaid PUE, a deferred one that names a form, and two documents with another form than the money."""
    own.blame("pue_unpaid", own.paper(own.bill(own.day(6))))
    named = own.bill(own.day(7), payment_method="PPD", payment_form=SPEI)
    paid = own.pay(named, own.day(13))
    _complete(own, named, paid, own.day(14))
    own.blame("ppd_form_not_99", own.paper(named))
    other = own.bill(own.day(11), payment_form=INTERMEDIARY)
    own.pay(other, own.day(14))
    own.blame("payment_form_wrong", own.paper(other))
    deferred = _defer(own, 12)
    paid = own.pay(deferred, own.day(18))
    wrong = _complete(own, deferred, paid, own.day(19), form=INTERMEDIARY)
    own.blame("payment_form_wrong", wrong, amount=paid.amount, tax=deferred.vat)


def _sell_with_advance(own: TaxShop) -> None:
    """Sell with an advance, its sale and the note that applies it; then credit another sale."""
    buyer = own.shop.chance.company()
    advance = own.bill(own.day(3), buyer=buyer, buyer_tax_id=buyer.tax_id)
    own.pay(advance, own.day(3))
    sale = own.shop.keep_document(own.draft(own.day(12), buyer=buyer, buyer_tax_id=buyer.tax_id))
    named = replace(own.paper(sale), relations=(Relation(APPLIES, "I", advance.uuid, advance.issue_on),))
    own.file(named)
    applied = min(advance.total, sale.total)
    note = own.shop.keep_document(own.shop.note(sale, own.shop.chance.moment(own.day(12)), total=applied))
    own.file(replace(own.paper(note), form=ADVANCE, relations=(Relation(APPLIES, "I", sale.uuid, sale.issue_on),)))
    if sale.total > applied:
        own.pay(sale, own.day(14), sale.total - applied)
    returned = own.bill(own.day(17))
    note = own.shop.keep_document(own.shop.note(returned, own.shop.chance.moment(own.day(19))))
    own.file(replace(own.paper(note), relations=(Relation(CREDITS, "I", returned.uuid, returned.issue_on),)))


def _sum_up_receipts(own: TaxShop) -> None:
    """Sum up the card sales of a month to the public in one global invoice, which the books hold too."""
    paid = [own.charge(own.day(on), own.shop.chance.free_amount(20_000, 90_000), "credit_card") for on in range(3, 9)]
    total = sum(payment.amount for payment in paid)
    net = divide_half_up(total * 100, 116)
    last = own.day(28)
    drafted = own.draft(last, net=net, vat=total - net, total=total, payment_form=CARD, due_on=None, buyer=None,
                        buyer_tax_id=PUBLIC["mx"])  # fmt: skip
    own.file(replace(own.paper(own.shop.keep_document(drafted)), global_month=f"{own.month:%Y-%m}"))
