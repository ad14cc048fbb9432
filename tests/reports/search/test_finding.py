"""What is written into the search is found again, on both databases."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.facts.tables.provider import Customer, Institution, PaymentIntent, Payout, PayoutItem, Refund
from reconcile.tables.books import BankLine, LocalInvoice, LocalInvoiceChange, RemovedFile
from reconcile.tables.desk import ExceptionRow
from reports.queries.names import Reader
from reports.search import filling, finding
from reports.search.finding import Hit, find
from reports.search.sources import KINDS
from tests.merchant import settings_of

pytestmark = pytest.mark.both_databases

AT = datetime(2026, 11, 2, 15, tzinfo=UTC)
READER = Reader("es-CL", lambda _: "America/Santiago", lambda bank: bank or "", date(2026, 11, 23))
UUID = "3f2a91bc-0000-4000-8000-000000000001"
Ask = Callable[[str], list[tuple[str, str]]]


def document(folio: str, **others: Any) -> LocalInvoice:
    known: dict[str, Any] = {
        "connection": "main", "country": "cl", "doc_type": "33", "folio": folio, "doc_key": f"cl:33::{folio}",
        "issue_date": date(2026, 11, 2), "customer_tax_id": "78918343-0", "customer_name": "Panadería Río Claro",
        "total": 1234567, "currency": "CLP", "status": "valid", "order_ref": "ORD-000123", "file_sha256": "0",
        "updated_at": AT,
    }  # fmt: skip
    return LocalInvoice(**known | others)


def removed_file() -> RemovedFile:
    return RemovedFile(connection="main", kind="invoices", name="f.csv", sha256="1", imported_at=AT, rows=1,
                       removed_at=AT, removed_by="ana", reason="wrong month")  # fmt: skip


@pytest.fixture
def shop(store: Store, tmp_path: Path) -> Installation:
    """Two documents, a payment with its refund, a payout, a line of the bank and an exception."""
    known: dict[str, Any] = {"connection": "main", "mode": "test", "version_at": AT, "created_at": AT, "body": "{}"}
    money = known | {"currency": "CLP", "status": "succeeded"}
    with store.transaction() as session:
        session.add(document("10346"))
        session.add(document("5650", series="A", uuid=UUID, total=1500050, currency="MXN", customer_name="Café Ñuñoa"))
        session.add(Customer(id="cus_1", name="Ferretería San Joaquín", **known))
        session.add(
            PaymentIntent(
                id="pi_x1", amount=98765, customer_id="cus_1", metadata_json='{"order_ref": "WEB/77-9"}', **money
            )
        )
        session.add(Refund(id="re_x1", amount=4321, resource_id="pi_x1", **money))
        session.add(Payout(id="po_x1", amount=777001, recipient_institution="cl_bank", **money))
        session.add(PayoutItem(connection="main", payout_id="po_x1", resource_type="payment_intent",
                               resource_id="pi_x1", mode="test", amount=98765, currency="CLP", body="{}"))  # fmt: skip
        session.add(Institution(id="cl_bank", connection="main", mode="test", version_at=AT,
                                body='{"id": "cl_bank", "name": "Banco Security"}'))  # fmt: skip
        session.add(BankLine(connection="main", id="bl_1", account="1", booked_on=date(2026, 11, 3), amount=777001,
                             currency="CLP", text="ABONO PROVEEDOR", reference="000991", file_sha256="0"))  # fmt: skip
        session.add(ExceptionRow(connection="main", id="aa11", code="PAYMENT_NO_INVOICE", severity="medium",
                                 subject="resource:pi_x1", title="t", opened_on=date(2026, 11, 3), state="open",
                                 last_seen_on=date(2026, 11, 3), amount_at_risk=98765, currency="CLP", run_first="r",
                                 resource_id="pi_x1", run_last="r"))  # fmt: skip
    installation = Installation(settings=settings_of("http://provider.test", tmp_path), store=store)
    assert filling.fill(installation, installation.settings.connection("main")) == 7
    return installation


@pytest.fixture
def ask(shop: Installation) -> Ask:
    return lambda text: [(hit.kind, hit.key) for hit in hits(shop, text)]


def hits(shop: Installation, text: str, connection: str = "main") -> list[Hit]:
    with shop.store.reading() as session:
        return find(session, [connection], text, KINDS, 6, READER)


def test_everything_is_found_as_people_write_it(ask: Ask) -> None:
    """Folio, tax id, name, order, amount, day, text of the bank and title lead to what bears them, and nothing else."""
    for text, found in [
        ("10346", [("document", "cl:33::10346")]),
        ("factura 10346", [("document", "cl:33::10346")]),
        ("Factura electrónica 10346", [("document", "cl:33::10346")]),
        ("A-5650", [("document", "cl:33::5650")]),
        (UUID.upper(), [("document", "cl:33::5650")]),
        ("3f2a91bc", [("document", "cl:33::5650")]),
        ("78.918.343-0", [("document", "cl:33::5650"), ("document", "cl:33::10346")]),
        ("78918343", [("document", "cl:33::5650"), ("document", "cl:33::10346")]),
        ("panaderia RIO", [("document", "cl:33::10346")]),
        ("cafe nunoa", [("document", "cl:33::5650")]),
        ("$1.234.567", [("document", "cl:33::10346")]),
        ("15,000.50", [("document", "cl:33::5650")]),
        ("15000.5", [("document", "cl:33::5650")]),
        ("ferreteria", [("payment", "pi_x1")]),
        ("web/77-9", [("payment", "pi_x1")]),
        ("98.765", [("payment", "pi_x1"), ("exception", "aa11")]),
        ("re_x1", [("refund", "re_x1")]),
        ("777.001", [("payout", "po_x1"), ("bank_line", "bl_1")]),
        ("abono prov", [("bank_line", "bl_1")]),
        ("991", [("bank_line", "bl_1")]),
        ("3 nov", [("bank_line", "bl_1")]),
        ("pago sin documento", [("exception", "aa11")]),
        ("panaderia cafe", []),
        ("%", []),
        ("x", []),
    ]:
        assert sorted(ask(text)) == sorted(found), text


def test_what_is_found_has_its_name_and_state(shop: Installation) -> None:
    """A reader sees what it is and how it stands without opening it."""
    [found] = hits(shop, "10346")
    assert (found.name, found.detail) == ("Factura electrónica 10346", "Panadería Río Claro · 02-11-2026 · $1.234.567")
    [payment] = hits(shop, "pi_x1")[:1]
    assert payment.name == "Ferretería San Joaquín · 02-11-2026 · $98.765"
    assert (payment.state, payment.payout_id) == (("found", "paid_out"), "po_x1")


def test_nothing_of_another_connection_is_found(shop: Installation) -> None:
    """The search of one connection does not see another's rows."""
    assert hits(shop, "10346", "norte") == []


def test_a_whole_word_comes_before_its_longer_ones(shop: Installation) -> None:
    """Folio 103 stands above the newer 1037, 1038 and 10346."""
    with shop.store.transaction() as session:
        for folio in ("103", "1037", "1038"):
            session.add(document(folio))
    filling.fill(shop, shop.settings.connection("main"))
    assert [hit.key for hit in hits(shop, "103")] == ["cl:33::103", "cl:33::1038", "cl:33::1037", "cl:33::10346"]


def test_a_second_filling_brings_only_what_is_new_changed_or_gone(shop: Installation) -> None:
    """A file that changes a document, or takes one back, is what the search says after the next filling."""
    own = shop.settings.connection("main")
    assert filling.fill(shop, own) == 0
    with shop.store.transaction() as session:
        changed = session.get_one(LocalInvoice, ("main", "cl:33::10346"))
        changed.customer_name = "Molino Azul"
        session.add(LocalInvoiceChange(connection="main", doc_key="cl:33::10346", at=AT, file_sha256="1",
                                       field="customer_name", before="x", after="Molino Azul"))  # fmt: skip
        session.execute(sa.delete(LocalInvoice).where(col(LocalInvoice.doc_key) == "cl:33::5650"))
        session.add(removed_file())
    assert hits(shop, "nunoa") == []  # even before it is filled
    assert filling.fill(shop, own) == 1
    assert [hit.key for hit in hits(shop, "molino azul")] == ["cl:33::10346"]
    assert hits(shop, "panaderia") == []


def test_a_file_that_is_taken_back_leaves_the_words_from_before_it(shop: Installation) -> None:
    """A document that the file had changed is found by its old name again, also the second time."""
    own = shop.settings.connection("main")
    for _ in range(2):
        with shop.store.transaction() as session:
            session.get_one(LocalInvoice, ("main", "cl:33::10346")).customer_name = "Molino Azul"
            session.add(LocalInvoiceChange(connection="main", doc_key="cl:33::10346", at=AT, file_sha256="1",
                                           field="customer_name", before="x", after="Molino Azul"))  # fmt: skip
        assert filling.fill(shop, own) == 1
        assert [hit.key for hit in hits(shop, "molino azul")] == ["cl:33::10346"]
        with shop.store.transaction() as session:
            session.get_one(LocalInvoice, ("main", "cl:33::10346")).customer_name = "Panadería Río Claro"
            session.execute(sa.delete(LocalInvoiceChange))
            session.add(removed_file())
        assert filling.fill(shop, own) == 1
        assert [hit.key for hit in hits(shop, "panaderia")] == ["cl:33::10346"]
        assert hits(shop, "molino azul") == []
        assert filling.fill(shop, own) == 0


def test_what_came_since_is_found_before_a_night(shop: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker looks again and again: it brings in what is new, rests, and writes nothing where nothing is."""
    with shop.store.transaction() as session:
        session.add(document("20777"))
    assert 15 <= filling.fill_again(shop) < 600
    assert [hit.key for hit in hits(shop, "20777")] == ["cl:33::20777"]
    monkeypatch.setattr(filling, "take_turn", lambda *_: pytest.fail("nothing is to be written"))
    filling.fill_again(shop)


def test_a_missing_row_that_was_written_long_ago_is_brought_in_too(
    shop: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is missing is looked for among the rows written last, and where it is not there, among all."""
    monkeypatch.setattr(filling, "_FEW", 0)
    own, later = shop.settings.connection("main"), AT + timedelta(days=1)
    with shop.store.transaction() as session:
        session.add_all(document(str(folio), updated_at=later) for folio in (9001, 9002, 9003))
    assert filling.fill(shop, own) == 3
    with shop.store.transaction() as session:
        filling.forget(session, "main", {"cl:33::10346"})
    assert filling.fill(shop, own) == 1
    assert [hit.key for hit in hits(shop, "10346")] == ["cl:33::10346"]


def test_a_filling_that_was_killed_goes_on_where_it_was(shop: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches that were written stay, and the next filling brings the rest."""
    own = shop.settings.connection("main")
    monkeypatch.setattr(filling, "_ROWS_A_BATCH", 2)
    with shop.store.transaction() as session:
        session.add_all(document(str(folio)) for folio in range(9001, 9006))
    write, batches = filling._write, []

    def die_at_the_second(*given: Any) -> None:
        batches.append(given)
        if len(batches) == 2:
            raise KeyboardInterrupt
        write(*given)

    with monkeypatch.context() as patched:
        patched.setattr(filling, "_write", die_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            filling.fill(shop, own)
    assert filling.fill(shop, own) == 3
    assert [len(hits(shop, str(folio))) for folio in range(9001, 9006)] == [1, 1, 1, 1, 1]


def test_a_filling_that_fails_is_a_line_and_no_error(shop: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """What called it goes on; the line names the kind of error and none of its values."""
    own = shop.settings.connection("main")
    assert filling.try_to_fill(shop, own) == ""

    def fail(*_given: Any) -> None:
        raise ValueError("Panadería Río Claro")

    monkeypatch.setattr(filling, "_drop_changed", fail)
    line = "main: search: not filled (ValueError); the next hour tries again"
    assert filling.try_to_fill(shop, own) == line


def test_a_common_word_finds_the_newest_of_each_kind(shop: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more rows hold a word than are read at once, the newest of each kind come first, and its parts count."""
    monkeypatch.setattr(finding, "_MOST_READ", 3)
    with shop.store.transaction() as session:
        session.add_all(document(str(folio), issue_date=date(2026, 11, 3)) for folio in range(9001, 9011))
        session.add(document("9011", customer_name="Panaderías del Sur", issue_date=date(2026, 11, 4)))
    filling.fill(shop, shop.settings.connection("main"))
    newest = [f"cl:33::{folio}" for folio in (9010, 9009, 9008, 9007, 9006, 9005)]
    assert [hit.key for hit in hits(shop, "panadería")] == newest
    assert [hit.key for hit in hits(shop, "panad")] == ["cl:33::9011", *newest[:5]]
    assert [hit.key for hit in hits(shop, "río claro")] == newest
    assert [hit.kind for hit in hits(shop, "777.001")] == ["payout", "bank_line"]


def test_an_erased_subject_is_found_no_more(shop: Installation) -> None:
    """Forgetting removes the words too, and rebuilding brings back what is still there."""
    with shop.store.transaction() as session:
        filling.forget(session, "main", {"cl:33::10346", "pi_x1"})
    assert (hits(shop, "10346"), hits(shop, "ferreteria")) == ([], [])
    assert filling.rebuild(shop, shop.settings.connection("main")) == 7
    assert [hit.key for hit in hits(shop, "10346")] == ["cl:33::10346"]
