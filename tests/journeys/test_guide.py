"""The finance guide, walked through on the demo in a real browser: its pictures are taken here, and none is missing.

CUADRE_TEST_KEEP_IMAGES=1 writes the pictures into docs/images; otherwise they only have to come out.
"""

import base64
import os
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Browser, CDPSession, Error, Page

if TYPE_CHECKING:
    from tests.journeys.conftest import Demo

ROOT = Path(__file__).resolve().parent.parent.parent
IMAGES = ROOT / "docs" / "images"
EMAIL, PASSWORD = "finanzas@demo.cuadre", "cuadre-demo-2026"
SIZE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 780}
# What each language's reader clicks on: an exception with candidates, a way to start the hand match, the sheet.
WORDS = {"es": ("Varios documentos calzan", "Decidir"), "en": ("Several documents fit", "Decide")}
LARGEST = 120_000
# What a busy browser says instead of a picture that it takes a moment later, and the seconds between the tries.
REFUSALS = ("Unable to capture screenshot", "Not attached to an active page")
PAUSES = (0.1, 0.3, 1, 3, 5, 10, 20, 30)
# A document and an invoice file to bring in, whose totals the guide shows.
SALES = """doc_type,series,folio,issue_date,due_date,customer_tax_id,customer_name,net,vat,total,currency,status
33,,20501,2026-10-29,2026-11-28,76090795-2,Comercial Los Aromos SpA,1000000,190000,1190000,CLP,valid
33,,20502,2026-10-30,2026-11-29,77986803-6,Imprenta San Joaquín EIRL,250000,47500,297500,CLP,valid
"""


def enter(browser: Browser, address: str, language: str, size: dict[str, int], refused: list[str]) -> Page:
    # A date is shown as the reader's own browser writes it.
    locale = {"es": "es-CL", "en": "en-GB"}[language]
    page = browser.new_context(viewport=size, color_scheme="light", locale=locale).new_page()  # type: ignore[arg-type]
    page.set_default_timeout(120_000)
    # A page that failed makes a picture too.
    page.on("response", lambda answer: refused.append(f"{answer.status} {answer.url}") if not answer.ok else None)
    page.goto(f"{address}/login")
    if language == "en":
        page.get_by_role("button", name="English").click()
        page.locator("html[lang=en]").wait_for(state="attached")
    return page


def log_in(page: Page) -> None:
    page.locator("#email").fill(EMAIL)
    page.locator("#password").fill(PASSWORD)
    page.locator("button.main").click()
    page.locator(".figures").first.wait_for()


def picture(page: Page, path: Path) -> None:
    """Take what the window shows; WebP holds a page of text in half the bytes of PNG."""
    how = {"format": "webp", "quality": 75} if path.suffix == ".webp" else {"format": "png"}
    session = page.context.new_cdp_session(page)
    taken = _captured(session, how)
    path.write_bytes(base64.b64decode(taken["data"]))
    session.detach()


def _captured(session: CDPSession, how: dict[str, Any]) -> dict[str, Any]:
    """Ask again a moment later: a busy Chromium refuses a picture it then takes of the very same page."""
    for pause in PAUSES:
        try:
            return session.send("Page.captureScreenshot", how)
        except Error as error:
            if not any(refusal in str(error) for refusal in REFUSALS):
                raise
            time.sleep(pause)
    return session.send("Page.captureScreenshot", how)


def walk(page: Page, address: str, language: str, folder: Path) -> None:
    """Go through the guide once and take its pictures."""

    def take(name: str) -> None:
        picture(page, folder / f"guide-{language}-{name}.webp")

    def show(name: str, path: str) -> None:
        page.goto(address + path)
        take(name)

    kind, decide = WORDS[language]
    take("login")
    log_in(page)
    take("today")
    page.locator("#find").fill("10346")
    page.get_by_role("option").first.wait_for()
    take("search")
    show("payouts", "/payouts")
    page.goto(f"{address}/payouts?status=open")
    page.locator("tbody a[href*='/payouts/']").first.click()
    page.wait_for_url("**/payouts/*")
    take("payout")
    show("exceptions", "/exceptions")
    page.goto(f"{address}/exceptions?code=AMBIGUOUS")
    page.get_by_role("link", name=kind).first.click()
    page.wait_for_url("**/exceptions/*/*")
    page.get_by_text(decide, exact=True).first.click()
    page.locator("tbody details[open]").first.scroll_into_view_if_needed()
    take("case")
    page.goto(f"{address}/exceptions")
    page.locator("#sheet").scroll_into_view_if_needed()
    take("sheet")
    show("bulk", "/exceptions?code=INVOICE_NO_PAYMENT&pick=all")
    show("receivables", "/view/receivables")
    page.goto(f"{address}/view/documents")
    page.locator("tbody a[href*='/documents/']").first.click()
    page.wait_for_url("**/documents/**")
    take("document")
    sales = folder / "ventas-octubre.csv"
    sales.write_text(SALES, encoding="utf-8")
    page.goto(f"{address}/books")
    page.locator("#file").set_input_files(sales)
    take("books")
    page.locator("form button.main").first.click()
    page.locator("input[name=key]").wait_for(state="attached")
    take("look")
    show("periods", "/books/periods")
    show("closing", "/books/closing?connection=main&until=2026-10-31")
    show("reports", "/reports")
    show("operation", "/operation")


def test_the_guide_shows_what_is_there(browser: Browser, demo: "Demo", tmp_path: Path) -> None:
    """Every picture is taken on the way, in both languages and on a phone, and the guide shows all of them."""
    refused: list[str] = []
    address = demo.address
    for language in WORDS:
        page = enter(browser, address, language, SIZE, refused)
        walk(page, address, language, tmp_path)
        if language == "es":
            page.goto(f"{address}/payouts")
            picture(page, tmp_path / "payouts.png")
        page.context.close()
        page = enter(browser, address, language, PHONE, refused)
        log_in(page)
        picture(page, tmp_path / f"guide-{language}-phone.webp")
        page.context.close()

    assert [answer for answer in refused if not answer.startswith("3")] == []
    taken = {path.name: path for path in tmp_path.iterdir() if path.suffix in {".png", ".webp"}}
    guide = (ROOT / "docs" / "finance-guide.md").read_text(encoding="utf-8")
    assert set(re.findall(r"images/([a-z-]+\.webp)", guide)) == set(taken) - {"payouts.png"}
    assert {name for name, path in taken.items() if path.suffix == ".webp" and path.stat().st_size > LARGEST} == set()
    if os.environ.get("CUADRE_TEST_KEEP_IMAGES") == "1":
        for path in taken.values():
            shutil.copy(path, IMAGES)
    assert set(taken) <= {path.name for path in IMAGES.iterdir()}
