"""What finance does in a day, on the demo and in the browser: each job with its clicks, at the desk and on a phone."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect

from tests.journeys.hand import LOOKS, PATIENCE, Hand, open_hand

if TYPE_CHECKING:
    from tests.journeys.conftest import Demo

EMAIL, PASSWORD = "finanzas@demo.cuadre", "cuadre-demo-2026"


@pytest.fixture(params=LOOKS)
def hand(browser: Browser, demo: "Demo", request: pytest.FixtureRequest) -> Iterator[Hand]:
    with open_hand(browser, request.param, demo.address, EMAIL, PASSWORD) as hand:
        yield hand


def test_the_morning(hand: Hand) -> None:
    """Today says without a click what ties out, what does not, what to look at first, and what is due soon."""
    hand.sees(
        "33 de 42 liquidaciones llegaron y cuadran", "5 no cuadran · 3 devueltas · 1 anulada", "Revise esto primero"
    )
    first = hand.page.get_by_role("table", name="Revise esto primero").locator("tbody tr").first
    expect(first).to_contain_text("Pago de un documento anulado")
    expect(first).to_contain_text("Factura electrónica 10312")
    expect(first).to_contain_text("3.134.143")
    expect(hand.page.locator(".answers")).to_contain_text("quedan 3 días, hasta el 04-11-2026")
    hand.done("the morning's question")


def test_an_invoice_is_found(hand: Hand) -> None:
    """A folio is typed, its document stands below, and one click opens it."""
    hand.page.locator("#find").fill("10346")
    hand.click(hand.page.get_by_role("option", name="Factura electrónica 10346").first)
    hand.sees("Qué dicen los libros", "Factura electrónica 10346")
    hand.done("find an invoice")


def test_what_a_customer_says_they_paid(hand: Hand) -> None:
    """An amount as people write it finds the payment; its page says which document it paid."""
    hand.page.locator("#find").fill("$3.239.203")
    hand.click(hand.page.get_by_role("option").first)
    hand.sees("Panadería Río Claro Ltda.", "Factura electrónica 10239")
    hand.done("find what a customer says they paid")


def test_a_payout_is_traced(hand: Hand) -> None:
    """From the list to its documents, and from there to the line of the bank."""
    hand.link("Liquidaciones", exact=True)
    hand.link("30-10-2026 · $10.427.014 · Banco Security")
    hand.sees("11 de 11 movimientos tienen su documento", "suma exacta")
    expect(hand.page.get_by_role("link", name="Factura electrónica").first).to_be_visible(timeout=PATIENCE)
    hand.click(hand.page.locator(".trace").get_by_role("link", name="$10.427.014 · 30-10-2026"))
    hand.sees("Liquidacion po_", "30-10-2026")
    hand.done("trace a payout to documents and deposit")


def test_a_payout_is_proved(hand: Hand, tmp_path: Path) -> None:
    """Two clicks from the list give the proof; the page that verifies says that nothing in it changed."""
    hand.start("/payouts")
    hand.link("30-10-2026 · $10.427.014 · Banco Security")
    hand.download("Comprobante (PDF)").save_as(tmp_path / "a.pdf")
    hand.done("proof of a payout for an auditor")
    hand.start("/verify")
    hand.bring(tmp_path / "a.pdf")
    hand.button("Comprobar")
    hand.sees("no cambió ningún byte")


def test_a_file_is_downloaded_and_compared(hand: Hand, tmp_path: Path) -> None:
    """What the list shows is what the file holds, and asked for again it is the same to the last byte."""
    hand.start("/payouts?status=open")
    total = hand.page.locator("tfoot td.n").last.inner_text()
    files = []
    for name in "ab":
        hand.download("CSV").save_as(tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    hand.done("download a file twice and compare")
    rows = [line.split(";") for line in files[0].decode("utf-8-sig").splitlines()]
    paid = [int(row[rows[0].index("Monto liquidado")]) for row in rows[1:]]
    assert (len(paid), f"{sum(paid):,}".replace(",", ".")) == (5, total)
    assert files[0] == files[1]
