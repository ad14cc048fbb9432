"""A person with a browser: logs in, opens a payout, downloads its file; on a phone nothing is cut off."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

EMAIL, PASSWORD = "ana@tienda.example", "una clave bien larga"
PAYOUT = "po_ZuD8givTeedmoF2g"
EXPECTED = Path(__file__).resolve().parent.parent / "data" / "journeys" / "payout-detail.csv"


@pytest.fixture
def address(
    live_two_days: Callable[[str, float], int],
    receiving: Callable[[int], AbstractContextManager[None]],
    cuadre: Callable[..., bytes],
    tmp_path: Path,
) -> Iterator[str]:
    """The pages after two quiet days, with one person who may read them."""
    port = live_two_days(f"sqlite:///{tmp_path / 'cuadre.db'}", 0.0)
    (tmp_path / "password").write_text(PASSWORD, encoding="utf-8")
    cuadre("users", "add", EMAIL, "--role", "finance", "--password-file", str(tmp_path / "password"))
    with receiving(port):
        yield f"http://127.0.0.1:{port}"


def log_in(page: Page, address: str) -> None:
    page.set_default_timeout(120_000)
    page.goto(f"{address}/payouts")
    page.get_by_label("Correo").fill(EMAIL)
    page.get_by_label("Contraseña").fill(PASSWORD)
    page.get_by_role("button", name="Entrar").click()
    expect(page.get_by_role("heading", name="Liquidaciones")).to_be_visible(timeout=120_000)


def test_a_person_logs_in_opens_a_payout_and_downloads_it(browser: Browser, address: str, tmp_path: Path) -> None:
    """The payouts page asks for a login, leads to one payout, and its CSV holds that payout's rows."""
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))

    log_in(page, address)
    page.locator(f"main a[href*='{PAYOUT}']").first.click()
    expect(page.locator("main")).to_contain_text("Ferretería San Joaquín EIRL", timeout=120_000)
    assert "5.080.134" in page.inner_text("main")
    assert "Ferretería San Joaquín EIRL" in page.inner_text("main")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV").first.click()
    waiting.value.save_as(tmp_path / "payout.csv")

    rows = (tmp_path / "payout.csv").read_text(encoding="utf-8-sig").splitlines()
    assert [row.split(";")[3] for row in rows[1:]] == [
        "pi_hXJ1SJobfFh48ka3u1Ow8PbEf4F",
        "pi_yLFHPnw4ekHCeDP4KPzpRRMBVNh",
        "pi_BeCIYSF3Bz7or7MAdB3d4RqLDA4",
    ]
    assert problems == []
    context.close()


def test_pages_fit_a_phone(browser: Browser, address: str) -> None:
    """At 390 pixels no page is wider than the screen: wide tables scroll inside themselves."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    log_in(page, address)
    widths = {}
    for path in ("/", "/payouts", f"/payouts/{PAYOUT}", "/exceptions", "/reports", "/settings"):
        page.goto(address + path)
        widths[path] = page.evaluate("document.documentElement.scrollWidth")
    context.close()

    assert set(widths.values()) == {390}, widths
