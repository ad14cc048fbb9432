"""One document's page: what the books say, what paid it, who changed or decided what, and accepting what is left."""

import re
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
import sqlalchemy as sa
from flask.testing import FlaskClient

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from reconcile.tables.books import InvoiceFile, LocalInvoice, LocalInvoiceChange
from reconcile.tables.desk import Decision
from reconcile.tables.fiscal import FiscalDocument, FiscalPayment, FiscalRelation

Csrf = Callable[..., str]
PAGE = "/documents/main/cl:33::1105"


@pytest.fixture
def shelf(reconciled: Installation, client: FlaskClient) -> FlaskClient:
    """The document of 75.000 that is paid in part, a credit note that names it, and a change by a later file."""
    now = utc_now()
    own: dict[str, Any] = {"connection": "main", "country": "cl", "currency": "CLP", "status": "valid",
                           "file_sha256": "f1", "updated_at": now}  # fmt: skip
    with reconciled.store.transaction() as session:
        session.add(LocalInvoice(doc_key="cl:33::1105", doc_type="33", folio="1105", issue_date=date(2026, 8, 20),
                                 total=75000, order_ref="00022", **own))  # fmt: skip
        session.add(LocalInvoice(doc_key="cl:61::9", doc_type="61", folio="9", issue_date=date(2026, 9, 1), total=500,
                                 ref_type="33", ref_number="1105", **own))  # fmt: skip
        session.add(InvoiceFile(connection="main", sha256="f1", name="ventas-2.csv", imported_at=now, rows=1, added=0,
                                changed=1))  # fmt: skip
        session.add(LocalInvoiceChange(connection="main", doc_key="cl:33::1105", at=now, file_sha256="f1",
                                       field="total", before="74000", after="75000"))  # fmt: skip
    return client


@pytest.fixture
def accept(shelf: FlaskClient, csrf: Csrf) -> Callable[..., str]:
    def send(**fields: Any) -> str:
        form = {"csrf_token": csrf(shelf, PAGE), "seen": 0, **fields}
        answer = shelf.post(PAGE, data=form, follow_redirects=True)
        return answer.get_data(as_text=True)

    return send


def decisions(installation: Installation) -> list[Decision]:
    with installation.store.reading() as session:
        return list(session.scalars(sa.select(Decision)))


def test_a_document_shows_everything_that_touched_it(shelf: FlaskClient) -> None:
    """Total to balance, the file it came from, the note that names it, the exception about it and each change."""
    page = shelf.get(PAGE).get_data(as_text=True)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    assert "$75.000 CLP" in text
    assert "Pagado -25.000" in text
    assert "Saldo 50.000" in text
    assert "Viene del archivo ventas-2.csv" in text
    assert "Documento vencido sin pago" in text
    assert "Total 74.000 75.000 ventas-2.csv" in text
    assert 'href="/documents/main/cl:61::9"' in page


def keep_family(installation: Installation) -> None:
    """Keep the tax documents of one sale: itself, a note, and a complement whose chain is broken."""
    own: dict[str, Any] = {"connection": "main", "country": "cl", "currency": "CLP", "direction": "issued",
                           "issuer_tax_id": "76192083-9", "issued_at": utc_now(), "issue_date": date(2026, 8, 20),
                           "period": "2026-08", "status": "valid", "content_sha256": "c", "file_sha256": "f1",
                           "updated_at": utc_now(), "net": 0, "exempt": 0, "vat": 0, "withheld": 0,
                           "third_party": 0}  # fmt: skip
    part: dict[str, Any] = {
        "connection": "main", "payment_number": 1, "paid_at": utc_now(), "payment_form": "03", "currency": "CLP",
        "amount": 25000, "paid_uuid": "", "paid_key": "cl:33::1105", "paid_currency": "CLP", "vat": 0,
    }  # fmt: skip
    with installation.store.transaction() as session:
        session.add(FiscalDocument(doc_key="cl:33::1105", kind="33", folio="1105", total=75000, payable=75000, **own))
        session.add(FiscalDocument(doc_key="cl:61::9", kind="61", folio="9", total=500, payable=500, **own))
        session.add(FiscalDocument(doc_key="mx:uuid:p", kind="P", total=0, payable=0, **own))
        session.add(FiscalRelation(connection="main", doc_key="cl:61::9", line=1, kind="1", other_key="cl:33::1105"))
        session.add(FiscalPayment(doc_key="mx:uuid:p", line=1, instalment=1, operation="OP-87", balance_before=75000,
                                  paid=25000, balance_after=40000, **part))  # fmt: skip


def test_a_sale_shows_its_tax_documents_and_three_balances(shelf: FlaskClient, reconciled: Installation) -> None:
    """The note, the chain of instalments with what does not follow, and books, tax documents and money side by side."""
    keep_family(reconciled)
    page = shelf.get(PAGE).get_data(as_text=True)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    assert "Documentos tributarios de esta venta" in text
    assert re.search("Nota de crédito electrónica 9.{0,40} 20-08-2026 anula vigente 500 CLP", text)
    assert re.search("CFDI de pago.{0,40} 20-08-2026 – vigente 25.000 CLP", text)
    assert "OP-87 75.000 25.000 40.000 saldos de complementos que no se siguen (sus propios saldos no cuadran)" in text
    assert "Documentos tributarios: total menos pagos declarados y notas 49.500" in text
    assert "Documentos tributarios: lo que deja el último pago declarado 40.000" in text
    assert "Dinero del proveedor: total menos pagos, con devoluciones y notas 49.500" in text


def test_what_is_left_is_accepted_as_what_it_is(accept: Callable[..., str], reconciled: Installation) -> None:
    """The kind, the amount as people write it and the reason are kept with their author."""
    page = accept(kind="write_off", amount="12.500", reason="incobrable")
    assert "Aceptado. Lo que cambia se muestra como pendiente hasta la próxima conciliación." in page
    assert "Castigo" in page
    (kept,) = decisions(reconciled)
    assert (kept.kind, kept.reason_type, kept.amount, kept.doc_key, kept.resource_id, kept.author) == (
        "adjust",
        "write_off",
        12500,
        "cl:33::1105",
        "",
        "ana@tienda.test",
    )
    # A person who still looks at the page of before decides on what was changed meanwhile.
    assert "Alguien decidió sobre Factura electrónica 1105" in accept(kind="rounding", reason="otra")


def test_what_was_accepted_is_undone_on_its_page(
    accept: Callable[..., str], shelf: FlaskClient, reconciled: Installation, csrf: Csrf
) -> None:
    """A decision that holds has its button, one that was taken back has none, and both are in the list."""
    assert accept(kind="write_off", amount="12.500", reason="incobrable").count("<button>Deshacer</button>") == 1
    (kept,) = decisions(reconciled)
    form = {"csrf_token": csrf(shelf, PAGE), "resource_id": "", "doc_key": "cl:33::1105", "reason": "pagó igual"}
    answer = shelf.post("/documents/main", data={**form, "seen": kept.id}, follow_redirects=True)
    page = answer.get_data(as_text=True)
    assert "Deshecho. Lo que cambia se muestra como pendiente hasta la próxima conciliación." in page
    assert "<button>Deshacer</button>" not in page
    assert "pagó igual" in page
    again = shelf.post("/documents/main", data={**form, "seen": 0}, follow_redirects=True).get_data(as_text=True)
    assert "No vale ninguna decisión sobre Factura electrónica 1105: no hay nada que deshacer." in again


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"kind": "write_off", "amount": "12,5", "reason": "x"}, "12,5 no es un monto en CLP."),
        ({"kind": "write_off", "amount": "1.2.3", "reason": "x"}, "1.2.3 no es un monto en CLP."),
        ({"kind": "write_off", "amount": "80.000", "reason": "x"}, "a lo más el total de Factura electrónica 1105"),
        ({"kind": "write_off", "amount": "", "reason": " "}, "Falta el motivo."),
        ({"kind": "gift", "reason": "x"}, "no es uno de rounding, bank_fee"),
    ],
)
def test_what_cannot_be_accepted_is_told(
    accept: Callable[..., str], reconciled: Installation, fields: dict[str, str], shown: str
) -> None:
    """An amount of another notation, one beyond the document and a decision without a reason change nothing."""
    assert shown in accept(**fields)
    assert decisions(reconciled) == []


@pytest.mark.parametrize("path", ["/documents/main/cl:33::0", "/documents/other/cl:33::1105"])
def test_a_document_that_is_not_there_is_a_404(shelf: FlaskClient, path: str) -> None:
    """A wrong key or connection is named as such."""
    assert shelf.get(path).status_code == 404


def test_changes_of_documents_are_a_list(shelf: FlaskClient) -> None:
    """Amounts in the list are decimal text for programs and figures for people."""
    rows = shelf.get("/reports/document-changes.csv").get_data(as_text=True).splitlines()
    assert rows[1].startswith("main,cl:33::1105,")
    assert rows[1].endswith(",total,74000,75000,ventas-2.csv")
    assert "74.000" in shelf.get("/books/document-changes").get_data(as_text=True)
