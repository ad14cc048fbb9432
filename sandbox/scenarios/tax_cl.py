"""Chile's planted tax causes: each once, in a month whose register is closed."""

from dataclasses import replace
from datetime import datetime, time, timedelta

from sandbox.scenarios.calendar import ZONES, at_local, next_month
from sandbox.scenarios.ledger import LocalDocument
from sandbox.scenarios.tax_office import TaxShop, build_tax
from sandbox.state.happening import WholeScenario
from sandbox.state.papers import CORRECTS, Party, Relation

LONG_AGO = 7  # months after which a note lowers no debit any more


def build(*, seed: int, scale: float, start: datetime) -> WholeScenario:
    """Return the Chilean scenario for one seed, size and start of the clock."""
    return build_tax("tax-cl", "cl", _plant, seed=seed, scale=scale, start=start)


def _plant(own: TaxShop) -> None:
    _plant_missing(own)
    _plant_differences(own)
    _plant_notes(own)
    _plant_collected(own)
    _file_other_kinds(own)


def _plant_missing(own: TaxShop) -> None:
    """Plant a sale the register lacks, one the books lack, one entered a month late and one that was claimed."""
    unsent = own.shop.keep_document(own.draft(own.day(5)))
    own.papers.append(own.paper(unsent))
    own.blame("not_in_register", own.paper(unsent))
    own.blame("not_in_books", own.file(own.paper(own.draft(own.day(6)))))
    last = next_month(own.month) - timedelta(days=1)
    late = own.shop.keep_document(own.draft(last))
    paper = own.paper(late)
    entered_at = at_local(next_month(own.month).replace(day=12), time(9), "cl").astimezone(ZONES["cl"])
    own.file(paper, period=f"{next_month(own.month):%Y-%m}", received_at=entered_at)
    own.blame("period_shift", paper)
    refused = own.shop.keep_document(own.draft(own.day(7)))
    claimed = own.paper(refused)
    own.file(claimed, state="reclamado", claimed_at=claimed.issued_at + timedelta(days=5))
    own.blame("claimed", claimed)
    for document in (unsent, late):
        own.pay(document, own.day(14, after=1))


def _plant_differences(own: TaxShop) -> None:
    """Plant a sale typed wrongly into the books, one with another split of tax, and one with another rounding."""
    cases = (("amount_differs", 10, _retype), ("tax_split_differs", 11, _exempt), ("rounding", 12, _round))
    for code, on, change in cases:
        document = own.draft(own.day(on))
        paper = own.paper(document)
        own.file(paper)
        kept = own.shop.keep_document(change(document))
        own.blame(code, paper, amount=paper.total - kept.total, tax=paper.vat - kept.vat)
        own.pay(kept, own.day(on + 6))


def _retype(document: LocalDocument) -> LocalDocument:
    return replace(document, net=document.net + 9_000, total=document.total + 9_000)


def _exempt(document: LocalDocument) -> LocalDocument:
    return replace(document, net=document.net + 1_900, vat=document.vat - 1_900)


def _round(document: LocalDocument) -> LocalDocument:
    return replace(document, net=document.net + 1, vat=document.vat - 1)


def _plant_notes(own: TaxShop) -> None:
    """Plant a note after its months, one that lowers no debit, and one in time that is no trouble."""
    old = own.bill(own.day(4, after=-LONG_AGO))
    for code, sale, on in (("note_late", old, 13), ("note_without_debit_right", own.bill(own.day(4, after=-1)), 14),
                           ("", own.bill(own.day(3)), 17)):  # fmt: skip
        note = own.shop.keep_document(own.shop.note(sale, own.shop.chance.moment(own.day(on))))
        relation = Relation("1", sale.doc_type, sale.folio, sale.issue_on, "Anula documento")
        paper = replace(own.paper(note), relations=(relation,), no_debit_right=code == "note_without_debit_right")
        own.file(paper)
        if code:
            own.unreported.add(paper.key)
            own.blame(code, paper)


def _plant_collected(own: TaxShop) -> None:
    """Plant card sales with their vouchers, one of them with a receipt too, and a transfer without a document."""
    for on in range(3, 9):
        own.charge(own.day(on), own.shop.chance.free_amount(8_000, 90_000), "debit_card")
    at = own.shop.chance.moment(own.day(18), since=time(9), until=time(10))
    receipt = own.shop.keep_document(own.shop.receipt(at))
    own.file(own.paper(receipt))
    own.pay_by_card(receipt, own.day(18))
    own.blame("both_voucher_and_boleta", own.paper(receipt))
    bare = own.charge(own.day(19), own.shop.chance.free_amount(40_000, 90_000), "bank_transfer")
    own.blame("transfer_without_document", bare)
    at = own.shop.chance.moment(own.day(20), since=time(9), until=time(10))
    proper = own.shop.keep_document(own.shop.receipt(at))
    own.file(own.paper(proper))
    own.pay(replace(proper, buyer=own.shop.chance.human()), own.day(20))
    at = own.shop.chance.moment(own.day(20), since=time(9), until=time(10))
    own.pay_under_another(own.shop.receipt(at), own.day(20))


def _file_other_kinds(own: TaxShop) -> None:
    """File the other forms: exempt, of purchase, delivery, debit note, export, and a settlement for others."""
    others = own.draft(own.day(21))
    paper = replace(own.paper(others), kind="43", folio="701")
    own.shop.keep_document(replace(others, doc_type="43", folio="701"))
    own.file(replace(paper, third_party=paper.receiver))
    own.blame("third_party_income", paper)
    sale = own.bill(own.day(4))
    extra = own.draft(own.day(24), doc_type="56", folio="311", due_on=None, refers_to=sale, buyer=sale.buyer,
                      buyer_tax_id=sale.buyer_tax_id)  # fmt: skip
    own.shop.keep_document(extra)
    relation = Relation(CORRECTS, "33", sale.folio, sale.issue_on, "Diferencia de precio")
    own.file(replace(own.paper(extra), relations=(relation,)))
    for kind, folio, on in (("34", "501", 24), ("41", "880001", 25)):
        _file_exempt(own, kind, folio, on)
    for kind, folio, on in (("110", "91", 26), ("111", "92", 27), ("112", "93", 28)):
        _file_export(own, kind, folio, on)
    own.papers.append(replace(own.paper(own.draft(own.day(26))), kind="52", folio="4001", due_on=None))
    bought = replace(own.paper(own.draft(own.day(27))), kind="46", folio="61", due_on=None)
    own.file(bought, side="purchases")


def _file_exempt(own: TaxShop, kind: str, folio: str, on: int) -> None:
    document = own.draft(own.day(on), doc_type=kind, folio=folio)
    kept = own.shop.keep_document(replace(document, net=0, vat=0, exempt=document.total))
    own.file(own.paper(kept))


def _file_export(own: TaxShop, kind: str, folio: str, on: int) -> None:
    """File a document of export, the notes referring to the invoice; the books hold it too."""
    document = own.draft(own.day(on), doc_type=kind, folio=folio, due_on=None)
    sold = [one for one in own.shop.ledger.documents if one.doc_type == "110"]
    whole = replace(document, net=0, vat=0, exempt=90_000, total=90_000, refers_to=sold[0] if sold else None)
    kept = own.shop.keep_document(whole)
    relations = () if kind == "110" else (Relation(CORRECTS, "110", "91", own.day(26), "Ajuste"),)
    own.file(replace(own.paper(kept), receiver=Party("55555555-5", "Foreign Buyer Inc"), relations=relations))
