"""An auditor's proof of a payout in the real browser: two clicks, and verified."""

from collections.abc import Callable
from pathlib import Path

from flask import Flask
from playwright.sync_api import Browser

from consumer.facts.installation import Installation


def test_a_payout_is_proved_in_two_clicks_and_verified(
    browser: Browser, reconciled: Installation, make_app: Callable[..., Flask], serving: Callable[[Flask], str],
    tmp_path: Path,
) -> None:  # fmt: skip
    """From the list of payouts: the payout, its proof; the page that verifies says what it proves."""
    context = browser.new_context(accept_downloads=True)
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(f"{serving(make_app(reconciled))}/login?next=/payouts")
    page.get_by_label("Correo").fill("ana@tienda.test")
    page.get_by_label("Contraseña").fill("una clave larga")
    page.get_by_role("button", name="Entrar").click()
    page.get_by_role("link", name="po_1").first.click()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Comprobante (PDF)", exact=True).click()
    waiting.value.save_as(tmp_path / "a.pdf")
    page.get_by_role("link", name="Verificar un comprobante").click()
    page.get_by_label("Archivo").set_input_files(tmp_path / "a.pdf")
    page.get_by_role("button", name="Comprobar").click()
    page.get_by_text("no cambió ningún byte").wait_for()
    context.close()
