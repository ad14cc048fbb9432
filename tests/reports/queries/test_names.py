"""Payouts and payments by the names people give them."""

from datetime import UTC, date, datetime
from typing import Any

from consumer.facts.store import Store
from consumer.facts.tables.provider import Charge, Customer, PaymentIntent, Payout, Refund, Transfer
from reconcile.tables.books import LocalInvoice
from reports.queries.names import Reader, name_documents, name_items, name_payouts, name_runs
from tests.reports.conftest import keep_run

AT = datetime(2026, 11, 3, 1, 30, tzinfo=UTC)  # the evening of the 2nd in Santiago
KNOWN: dict[str, Any] = {
    "connection": "main",
    "mode": "test",
    "version_at": AT,
    "body": "{}",
    "created_at": AT,
    "currency": "CLP",
}
READER = Reader("es-CL", lambda _: "America/Santiago", lambda bank: "Banco de Chile" if bank else "")


def test_a_payout_is_its_day_amount_and_bank(store: Store) -> None:
    """The day is the local one, and what is not known is left out."""
    with store.transaction() as session:
        session.add(Payout(id="po_1", amount=1234567, recipient_institution="cl_banco_de_chile", **KNOWN))
        session.add(Payout(id="po_2", amount=5, **KNOWN))
    with store.reading() as session:
        found = name_payouts(session, ["main"], ["po_1", "po_2", "po_none"], READER)
    assert found == {"po_1": "02-11-2026 · $1.234.567 · Banco de Chile", "po_2": "02-11-2026 · $5"}


def test_payments_are_customer_day_and_amount(store: Store) -> None:
    """A refund has the customer of its payment; without a name the tax id stands in its local form."""
    with store.transaction() as session:
        session.add(PaymentIntent(id="pi_1", amount=120000, customer_name="Panadería Río Claro", **KNOWN))
        session.add(Charge(id="ch_1", amount=9000, customer_id="cus_1", **KNOWN))
        session.add(Charge(id="ch_2", amount=9000, customer_tax_id="78918343-0", **KNOWN))
        session.add(Refund(id="re_1", amount=-5000, resource_id="pi_1", **KNOWN))
        session.add(Customer(id="cus_1", name="Ferretería Sur", **KNOWN))
    with store.reading() as session:
        assert name_items(session, "main", ["pi_1", "ch_1", "ch_2", "re_1", "xx_1"], READER) == {
            "pi_1": "Panadería Río Claro · 02-11-2026 · $120.000",
            "ch_1": "Ferretería Sur · 02-11-2026 · $9.000",
            "ch_2": "78.918.343-0 · 02-11-2026 · $9.000",
            "re_1": "Panadería Río Claro · 02-11-2026 · $5.000",
        }


def test_a_uuid_is_named_by_the_books(store: Store) -> None:
    """The key of a CFDI says neither series nor folio; its row does."""
    known: dict[str, Any] = {
        "connection": "main",
        "country": "mx",
        "issue_date": date(2026, 11, 2),
        "total": 1,
        "currency": "MXN",
    }
    with store.transaction() as session:
        session.add(
            LocalInvoice(
                doc_key="mx:uuid:3f2a91bc-1",
                uuid="3f2a91bc-1",
                doc_type="I",
                series="A",
                folio="5650",
                status="valid",
                file_sha256="0",
                updated_at=AT,
                **known,
            )
        )
    with store.reading() as session:
        found = name_documents(session, "main", ["mx:uuid:3f2a91bc-1", "mx:uuid:99999999-2"], "es-MX")
    assert found == {"mx:uuid:3f2a91bc-1": "CFDI A-5650", "mx:uuid:99999999-2": "CFDI 99999999…"}


def test_a_transfer_is_named_by_what_its_body_says(store: Store) -> None:
    """The other side, the local day and the amount; a body of another shape names nothing."""
    said = (
        '{"amount": 724521, "currency": "CLP", "transaction_date": "2026-11-03T01:30:00Z", '
        '"counterparty": {"holder_name": "Textil Sur"}}'
    )
    with store.transaction() as session:
        session.add(Transfer(id="tr_1", **{**KNOWN, "body": said}))
        session.add(Transfer(id="tr_2", **{**KNOWN, "body": '{"amount": "much"}'}))
    with store.reading() as session:
        found = name_items(session, "main", ["tr_1", "tr_2"], READER)
    assert found == {"tr_1": "Textil Sur · 02-11-2026 · $724.521", "tr_2": "tr_2"}


def test_a_run_is_named_by_its_day(store: Store) -> None:
    """Its number and its id name it alike."""
    with store.transaction() as session:
        keep_run(session)
    with store.reading() as session:
        assert name_runs(session, "main", ["42", "run-1", "7"], "es-CL") == {
            "42": "Conciliación del 08-10-2026 (n.º 42)",
            "run-1": "Conciliación del 08-10-2026 (n.º 42)",
        }
