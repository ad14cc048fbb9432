"""The merchant's books as the file finance exports: canonical columns, all text."""

from sandbox.scenarios.ledger import LocalDocument
from sandbox.state.happening import Document

COLUMNS = (
    "doc_type", "series", "folio", "uuid", "issue_date", "due_date", "customer_tax_id", "customer_name", "net",
    "exempt", "vat", "total", "currency", "status", "order_ref", "ref_type", "ref_number", "payment_method",
    "payment_form",
)  # fmt: skip
DECIMALS = {"CLP": 0, "MXN": 2, "USD": 2, "CLF": 4}


def to_major(amount: int, currency: str) -> str:
    """Minor units as decimal text of the major unit."""
    places = DECIMALS[currency]
    if not places:
        return str(amount)
    return f"{amount // 10**places}.{amount % 10**places:0{places}d}"


def to_row(document: LocalDocument) -> Document:
    """One document in the canonical columns, in their order."""
    referred = document.refers_to
    currency = document.currency
    row = {
        "doc_type": document.doc_type,
        "series": document.series,
        "folio": document.folio,
        "uuid": document.uuid,
        "issue_date": document.issue_on.isoformat(),
        "due_date": "" if document.due_on is None else document.due_on.isoformat(),
        "customer_tax_id": document.buyer_tax_id,
        "customer_name": "" if document.buyer is None else document.buyer.name,
        "net": to_major(document.net, currency),
        "exempt": to_major(0, currency),
        "vat": to_major(document.vat, currency),
        "total": to_major(document.total, currency),
        "currency": currency,
        "status": document.status,
        "order_ref": document.order_ref,
        "ref_type": "" if referred is None else referred.doc_type,
        "ref_number": "" if referred is None else referred.uuid or referred.folio,
        "payment_method": document.payment_method,
        "payment_form": document.payment_form,
    }
    return Document(document.known_at, row)
