"""Invoice files written as text, and what was read of them."""

from reconcile.books.documents import Document
from reconcile.books.reading import Reading, read_invoices

CANONICAL = (
    "doc_type,series,folio,uuid,issue_date,due_date,customer_tax_id,customer_name,net,exempt,vat,total,currency,"
    "status,order_ref,ref_type,ref_number,payment_method,payment_form"
)
REGISTER = "Tipo Doc;Rut cliente;Razon Social;Folio;Fecha Docto;Monto Exento;Monto Neto;Monto IVA;Monto total"
GOOD = "33;76192083-9;Peñón Ltda;7;13-09-2026;0;1000;190;1190"


def read_text(text: str, *, country: str = "cl", encoding: str = "utf-8", **mapping: str) -> Reading:
    return read_invoices(text.encode(encoding), country=country, mapping=mapping)


def documents_of(reading: Reading) -> list[Document]:
    assert reading.rejects == ()
    return [document for document, _ in reading.documents]


def only_document(text: str, **settings: str) -> Document:
    return documents_of(read_text(text, **settings))[0]


def reasons_of(reading: Reading) -> list[tuple[int, str, str, str]]:
    assert reading.rejects
    return [(reject.line, reject.column, reject.value, str(reject.reason)) for reject in reading.rejects]


def register_of(*rows: str) -> str:
    return "\n".join([REGISTER, *rows, ""])
