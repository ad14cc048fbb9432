"""The document that each sale needs, sales that have another, and changed documents; pure."""

from collections.abc import Iterator

import numpy as np
from pandas import DataFrame, Series

from consumer.facts.taxids import GENERIC_RFCS, GENERIC_RUTS
from reconcile.rules.columns import Cells, Mask, decode
from reconcile.rules.findings import About, to_finding
from reconcile.rules.inputs import PAYMENT_TYPES, REFUND, TEXT, Evidence, Finding, Inputs, rows_of
from reconcile.rules.kinds import RECEIPTS
from reconcile.rules.ledger import Ledger
from reconcile.rules.outcomes import Code

_CARDS = ("credit_card", "debit_card", "prepaid_card")
_TRANSFER = "bank_transfer"
_PUBLIC, _COMPANY_RFC = "XAXX010101000", 12
# A card sale's document by the merchant's model of emission: of anyone's, and of a company's, which may be invoiced.
_CARD_WORDS = {
    "voucher": ("voucher", "voucher_or_invoice"),
    "boleta": ("boleta", "boleta_or_invoice"),
    "both": ("voucher_or_boleta", "voucher_boleta_or_invoice"),
}


def name_expected_documents(rows: DataFrame, ledger: Ledger, applied: DataFrame, inputs: Inputs) -> Cells:
    """Name the document that each item needs."""
    first = applied.drop_duplicates("payment")
    at = ledger.payments.frame["row"].to_numpy()[first["payment"].to_numpy(dtype=np.int64)]
    docs = np.full(len(rows), -1, dtype=np.int64)
    docs[at] = first["doc"]
    receivers = _find_receivers(rows, Series(ledger.books.column("customer_tax_id", docs)), inputs)
    is_payment = rows["resource_type"].isin(PAYMENT_TYPES).to_numpy(dtype=bool)
    is_refund = (rows["resource_type"] == REFUND).to_numpy(dtype=bool)
    if inputs.country == "mx":
        is_known = receivers.notna().to_numpy(dtype=bool)
        codes = np.select([is_payment & is_known, is_payment, is_refund], [0, 1, 2], default=3)
        return decode(codes, ("cfdi", "cfdi_or_global", "credit_note", None))
    is_company = _are_companies(receivers, inputs.country)
    is_card = rows["resource_subtype"].isin(_CARDS).to_numpy(dtype=bool)
    is_invoiced = is_company & (rows["resource_subtype"] == _TRANSFER).to_numpy(dtype=bool)
    cases = [is_payment & is_card & ~is_company, is_payment & is_card, is_payment & is_invoiced, is_payment, is_refund]
    words = (*_CARD_WORDS[inputs.voucher_model], "invoice", "boleta_or_invoice", "credit_note", None)
    return decode(np.select(cases, range(len(cases)), default=len(cases)), words)


def _find_receivers(rows: DataFrame, stated: Series, inputs: Inputs) -> Series:
    """Return who gets each item's document: whom it states, else the customer, else a company that sent the money.

    A person may pay for another, and is asked for no name.
    """
    nobody = GENERIC_RUTS | GENERIC_RFCS | set(inputs.rules.generic_tax_ids)
    stated, own, sender = (
        Series(names.array).astype(TEXT) for names in (stated, rows["customer_tax_id"], rows["sender_tax_id"])
    )
    sender = sender.where(_are_companies(sender, inputs.country))
    first, second, third = (names.mask(names.isin(nobody)) for names in (stated, own, sender))
    return first.fillna(second).fillna(third)


def _are_companies(tax_ids: Series, country: str) -> Mask:
    """Return which are companies': a RUT from 50 million on, an RFC of twelve characters."""
    found = tax_ids.str.len() == _COMPANY_RFC if country == "mx" else tax_ids.str.match(r"[5-9]\d{7}-")
    return found.fillna(value=False).to_numpy(dtype=bool)


def find_other_documents(rows: DataFrame, ledger: Ledger, applied: DataFrame, inputs: Inputs) -> list[Finding]:
    """Name each sale whose document does not serve: a company's transfer with a boleta, a known RFC under the public's.

    A sale without a document is named by what matched nothing.
    """
    books, docs = ledger.books, applied["doc"].to_numpy(dtype=np.int64)
    items = rows.take(ledger.payments.frame["row"].to_numpy()[applied["payment"].to_numpy(dtype=np.int64)])
    stated = Series(books.column("customer_tax_id", docs))
    if inputs.country == "mx":
        may_differ = (stated == _PUBLIC).fillna(value=False).to_numpy(dtype=bool)
    else:
        is_receipt = Series(books.column("doc_type", docs)).isin(RECEIPTS).to_numpy(dtype=bool)
        may_differ = is_receipt & (items["resource_subtype"] == _TRANSFER).to_numpy(dtype=bool)
    places = np.flatnonzero(may_differ & (books.credited < books.total)[docs])
    if not len(places):
        return []
    receivers = _find_receivers(items.take(places), stated.take(places), inputs)
    is_company = _are_companies(receivers, inputs.country)
    is_owed = receivers.notna().to_numpy(dtype=bool) if inputs.country == "mx" else is_company
    chosen = applied.take(places[is_owed]).assign(receiver=receivers.to_numpy(dtype=object)[is_owed])
    chosen = chosen.drop_duplicates("payment")
    pairs = zip(chosen["payment"].tolist(), chosen["doc"].tolist(), chosen["receiver"].tolist(), strict=True)
    return [_to_finding(ledger, payment, doc, receiver, inputs.country) for payment, doc, receiver in pairs]


def find_changed_documents(inputs: Inputs) -> Iterator[Finding]:
    """Name each document of which a later file states something else than its XML, with what the totals differ by."""
    for row in rows_of(inputs.changed_documents):
        evidence: Evidence = {"total": row.total, "difference": row.difference, "changed_fields": row.fields.split()}
        about = About(f"document:{row.doc_key}", row.currency, doc_key=row.doc_key, evidence=evidence)
        yield to_finding(Code.DOCUMENT_CHANGED, about, at_risk=abs(row.difference))


def _to_finding(ledger: Ledger, payment: int, doc: int, receiver: str, country: str) -> Finding:
    payments, key = ledger.payments, str(ledger.books.keys[doc])
    evidence: Evidence = {
        "document": key, "customer": receiver, "expected_doc": "cfdi" if country == "mx" else "invoice",
    }  # fmt: skip
    about = About(
        f"resource:{payments.ids[payment]}", payments.money[payment], payout_id=payments.payout[payment],
        resource_id=payments.ids[payment], doc_key=key, evidence=evidence,
    )  # fmt: skip
    return to_finding(Code.EXPECTED_DOC_MISSING, about, at_risk=int(payments.amount[payment]))
