"""The journeys of finance in a real browser: nothing is blocked, nothing overflows a phone, no script is needed."""

import shutil
import threading
from collections.abc import Iterator

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, sync_playwright
from werkzeug.serving import make_server

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATHS = (
    "/",
    "/payouts",
    "/payouts/po_1",
    "/exceptions",
    "/exceptions/main/00aa00aa00aa00aa",
    "/view/receivables",
    "/operation/events",
    "/reports",
    "/settings",
    "/people",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


@pytest.fixture
def address(app: Flask) -> Iterator[str]:
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def enter(browser: Browser, address: str, *, width: int = 1280) -> Page:
    page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
    page.set_default_timeout(10_000)
    page.goto(f"{address}/login")
    page.get_by_label("Correo").fill("ana@tienda.test")
    page.get_by_label("Contraseña").fill("una clave larga")
    page.get_by_role("button", name="Entrar").click()
    return page


def test_the_morning_from_the_login_to_a_resolved_exception(browser: Browser, address: str) -> None:
    """From what is open to one exception, resolved with a reason, and back to one less."""
    page = enter(browser, address)
    page.get_by_role("heading", name="1 de 1 liquidaciones cuadran").wait_for()
    page.get_by_role("link", name="Pago sin documento").click()
    page.get_by_role("link", name="Pago sin documento").click()
    page.locator("#reason").fill("boleta emitida")
    page.get_by_role("button", name="Resolver").click()
    page.get_by_text("Resuelta.").wait_for()
    page.get_by_role("link", name="Hoy").click()
    assert page.locator(".figures dd").first.inner_text() == "1"
    page.context.close()


def test_a_file_is_downloaded(browser: Browser, address: str) -> None:
    """A click on CSV gives the file under its own name."""
    page = enter(browser, address)
    page.goto(f"{address}/payouts/po_1")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename.endswith("_cl_payout-detail_main_r0042.csv")
    page.context.close()


def test_the_language_changes_and_stays(browser: Browser, address: str) -> None:
    """The switch keeps the page, and the next page too is in English."""
    page = enter(browser, address)
    page.goto(f"{address}/payouts/po_1")
    page.get_by_role("button", name="English").click()
    page.get_by_text("From gross to net").wait_for()
    page.get_by_role("link", name="Exceptions", exact=True).click()
    page.get_by_role("heading", name="Exceptions").wait_for()
    page.context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_overflows_or_is_blocked(browser: Browser, address: str, width: int) -> None:
    """On a phone as on a desk every page fits its width, and the policy blocks nothing that it needs."""
    page = enter(browser, address, width=width)
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    wide = []
    for path in PATHS:
        page.goto(address + path)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(path)
    assert (wide, told) == ([], [])
    page.context.close()
