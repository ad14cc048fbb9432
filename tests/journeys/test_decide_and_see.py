"""A person matches a payment with several documents, sees it pending, undoes it, decides again, and sees it done."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import app
from tests.ports import free_port
from tests.reconcile.conftest import World

EMAIL, PASSWORD = "ana@tienda.example", "una clave bien larga"
UNTIL = datetime(2026, 9, 21, 6, tzinfo=UTC)
PATIENCE = 120_000


def fill() -> None:
    """A payment of 3,000 that two pairs of one customer's documents add up to, in a payout."""
    installation = app.open_installation()
    world = World(installation.store)
    world.payment("pi_1", 3000, sender_tax_id="11111111-1")
    world.payout("po_1", 2900, ("payment_intent", "pi_1", 3000))
    for folio, total in (("1", 1000), ("2", 2000), ("3", 1400), ("4", 1600)):
        world.invoice(folio, total, customer_tax_id="11111111-1", customer_name="Ana")
    world.complete(UNTIL)
    installation.store.close()


@pytest.fixture
def page(
    browser: Browser, migrated_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuadre: Callable[..., bytes],
    receiving: Callable[[int], AbstractContextManager[None]],
) -> Iterator[Page]:  # fmt: skip
    """The pages of that merchant after one run, with a person of finance at the exception."""
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "PROVIDER_URL": "http://127.0.0.1:9", "API_KEY": "sk_test_x", "COUNTRY": "cl", "DATABASE_URL": migrated_url,
        "DATA_DIR": str(tmp_path / "instance"), "SECRET_KEY": "a key that only tests know",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"CUADRE_{name}", value)
    fill()
    cuadre("reconcile", "--as-of", "2026-09-20")
    (tmp_path / "password").write_text(PASSWORD, encoding="utf-8")
    cuadre("users", "add", EMAIL, "--role", "finance", "--password-file", str(tmp_path / "password"))
    port = free_port()
    with receiving(port):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"http://127.0.0.1:{port}/exceptions?code=AMBIGUOUS")
        page.get_by_label("Correo").fill(EMAIL)
        page.get_by_label("Contraseña").fill(PASSWORD)
        page.get_by_role("button", name="Entrar").click()
        page.locator("tbody th a").first.click()
        expect(page.get_by_role("heading", name="El pago junto a los documentos")).to_be_visible(timeout=PATIENCE)
        yield page
        context.close()


def tick(page: Page, name: str) -> None:
    page.get_by_role("checkbox", name=name).check()


def test_several_documents_are_matched_seen_undone_and_run(page: Page) -> None:
    """Three clicks match two documents; what changes shows at once, goes with the undoing, and stays after the run."""
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    case, home = page.url, page.url.partition("/exceptions")[0]
    left, bar = page.locator(".several output"), page.locator(".pending-bar")
    tick(page, "Elegir Factura electrónica 1")
    expect(left).to_have_text("2.000")
    tick(page, "Elegir Factura electrónica 2")
    expect(left).to_have_text("0")
    page.get_by_role("button", name=re.compile("Conciliar lo marcado")).click()

    expect(bar).to_contain_text("2 decisiones esperan la próxima conciliación", timeout=PATIENCE)
    expect(bar).to_contain_text(EMAIL)
    page.goto(f"{home}/documents/main/cl:33::2")
    expect(page.locator("h1")).to_contain_text("Pagado")
    expect(page.locator("h1")).to_contain_text("pendiente")
    page.goto(f"{home}/exceptions")
    expect(page.locator("tbody", has_text="se cierra, pendiente")).to_be_visible(timeout=PATIENCE)

    # Undone before any run, nothing is pending.
    for _ in range(2):
        page.goto(case)
        page.locator("form", has=page.get_by_role("button", name="Deshacer")).first.get_by_label("Motivo").fill("no")
        page.get_by_role("button", name="Deshacer").first.click()
        # The next address must not overtake the form.
        expect(page.locator(".notice")).to_be_visible(timeout=PATIENCE)
    expect(bar).to_have_count(0)

    tick(page, "Elegir Factura electrónica 1")
    tick(page, "Elegir Factura electrónica 2")
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("Conciliar lo marcado")).press("m")
    expect(bar).to_contain_text("2 decisiones", timeout=PATIENCE)
    bar.get_by_role("button", name="Conciliar ahora").click()
    expect(page.locator("main")).to_contain_text("La conciliación 2 terminó", timeout=PATIENCE)
    expect(page.locator("main")).to_contain_text("Factura electrónica 2")
    page.goto(f"{home}/documents/main/cl:33::2")
    expect(page.locator("h1")).to_contain_text("Pagado")
    expect(page.locator("h1")).not_to_contain_text("pendiente")
    expect(bar).to_have_count(0)
    assert problems == []
