"""The provider's tax documents over its fees, as the tax authority's register shows them to the merchant."""

from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

import msgspec
from sqlmodel import Session, col, select

from consumer.facts.clock import local_date, to_instant
from consumer.facts.installation import Connection
from consumer.facts.tables.provider import TaxInvoice
from consumer.facts.taxids import TaxIdError, to_tax_id
from reconcile.rules.kinds import CREDIT_NOTES, VOID_STATES

_RECEIVED = "received"
_REFUSED = VOID_STATES | {"rejected"}
_DAY = len("2026-10-31")


class FeeDocument(NamedTuple):
    """The provider's tax document over the fees of a month; a credit note has negative amounts."""

    key: str
    on: date
    period: str
    currency: str
    total: int
    vat: int
    tax_id: str
    doc_type: str
    folio: str = ""
    uuid: str = ""


def read_fee_documents(session: Session, connection: Connection, issuer: str) -> Iterator[FeeDocument]:
    """Yield the documents that one issuer made out to the merchant; `issuer` is a tax id in its usual form."""
    mine = (TaxInvoice.connection == connection.name, TaxInvoice.mode == connection.mode)
    asked = select(TaxInvoice.id, TaxInvoice.body).where(*mine, col(TaxInvoice.gone_at).is_(None))
    for identity, body in session.exec(asked.order_by(col(TaxInvoice.id))):
        document = _read(identity, msgspec.json.decode(body), connection, issuer)
        if document is not None:
            yield document


def _read(identity: str, body: dict[str, Any], connection: Connection, issuer: str) -> FeeDocument | None:
    form = body.get("institution_invoice") or {}
    if body.get("issue_type") != _RECEIVED or form.get("invoice_status") in _REFUSED or not body.get("date"):
        return None
    if _tax_id(body.get("issuer"), connection.country_code) != issuer:
        return None
    doc_type = str(form.get("document_type") or "")
    sign = -1 if doc_type in CREDIT_NOTES else 1
    on = _to_day(body["date"], connection.country.zone)
    month, _, year = (body.get("tax_period") or "").partition("/")
    return FeeDocument(
        key=identity,
        on=on,
        period=f"{year}-{month}" if year else f"{on:%Y-%m}",
        currency=body["currency"],
        total=sign * body["total_amount"],
        vat=sign * (form.get("vat_amount") or 0),
        tax_id=issuer,
        doc_type=doc_type,
        folio=str(body.get("number") or ""),
    )


def _tax_id(party: dict[str, Any] | None, country: str) -> str | None:
    try:
        return to_tax_id(str(party["id"]), country) if party else None
    except TaxIdError:
        return None


def _to_day(text: str, zone: str) -> date:
    return date.fromisoformat(text) if len(text) == _DAY else local_date(to_instant(text), zone)
