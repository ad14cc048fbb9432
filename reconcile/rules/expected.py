"""The document that each sale needs, sales that have another, changed documents, and orders against payments; pure."""

import json
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

from consumer.facts.taxids import GENERIC_RFCS, GENERIC_RUTS
from reconcile.rules.columns import Cells, Mask, decode, to_local_times
from reconcile.rules.findings import About, count_bank_days, to_finding
from reconcile.rules.inputs import PAYMENT_TYPES, REFUND, TEXT, Evidence, Finding, Inputs, rows_of
from reconcile.rules.kinds import RECEIPTS
from reconcile.rules.ledger import Ledger
from reconcile.rules.names import normalize
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
_KEYS = ("order_ref", "order_id")


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


class _Paid(NamedTuple):
    """A payment that names an order."""

    resource_id: str
    payout_id: str | None
    amount: int
    currency: str
    on: date


def find_order_differences(inputs: Inputs) -> Iterator[Finding]:
    """Yield what the kept answers say otherwise than the payments, once `order_days` bank days have passed.

    An answer counts as of the day it was asked for. A payment that was given back whole waits for no delivery.
    """
    if inputs.orders.empty:
        return
    paid = _list_paid(inputs)
    given_back = _sum_refunds(inputs)
    for order in rows_of(inputs.orders.sort_values("order_ref")):
        payments = paid.get(normalize(order.order_ref), [])
        if pd.isna(order.delivered_on):
            for payment in payments:
                if given_back.get(payment.resource_id, 0) < payment.amount:
                    yield from _find_undelivered(order, payment, inputs)
        elif not payments:
            yield from _find_unpaid(order, inputs)


def _find_undelivered(order: pd.Series, payment: _Paid, inputs: Inputs) -> Iterator[Finding]:
    asked_on = order.asked_on.date()
    if count_bank_days(payment.on, asked_on, inputs.calendar) > inputs.rules.order_days:
        about = About(
            f"resource:{payment.resource_id}", payment.currency, payment.payout_id, payment.resource_id,
            evidence={"order_ref": order.order_ref, "asked_on": asked_on.isoformat()}, fact_on=payment.on,
        )  # fmt: skip
        yield to_finding(Code.ORDER_NOT_DELIVERED, about, at_risk=payment.amount)


def _find_unpaid(order: pd.Series, inputs: Inputs) -> Iterator[Finding]:
    on, asked_on = order.delivered_on.date(), order.asked_on.date()
    if count_bank_days(on, inputs.as_of, inputs.calendar) > inputs.rules.order_days:
        currency = inputs.calendar.country.currency if pd.isna(order.currency) else order.currency
        evidence = {"order_ref": order.order_ref, "delivered_on": on.isoformat(), "asked_on": asked_on.isoformat()}
        about = About(f"order:{order.order_ref}", currency, evidence=evidence, fact_on=on)
        yield to_finding(Code.ORDER_NOT_PAID, about, at_risk=0 if pd.isna(order.amount) else int(order.amount))


def _list_paid(inputs: Inputs) -> dict[str, list[_Paid]]:
    """Return the payments that succeeded by the orders they name."""
    items = inputs.items
    chosen = items[
        items["resource_type"].isin(PAYMENT_TYPES) & (items["status"] == "succeeded") & items["metadata"].notna()
    ].drop_duplicates(["resource_type", "resource_id"])
    chosen = chosen.assign(on=to_local_times(chosen["occurred_at"], inputs.calendar))
    found: dict[str, list[_Paid]] = {}
    for row in rows_of(chosen):
        named = json.loads(row.metadata)
        payout = None if pd.isna(row.payout_id) else row.payout_id
        for order in {normalize(str(named[key])) for key in _KEYS if named.get(key)}:
            payment = _Paid(row.resource_id, payout, int(row.amount), row.currency, row.on.date())
            found.setdefault(order, []).append(payment)
    return found


def _sum_refunds(inputs: Inputs) -> dict[str, int]:
    refunds = inputs.items[(inputs.items["resource_type"] == REFUND) & (inputs.items["status"] == "succeeded")]
    once = refunds.drop_duplicates("resource_id")
    return {str(payment): int(amount) for payment, amount in once.groupby("parent_id")["amount"].sum().abs().items()}
