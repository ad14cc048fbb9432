"""Every page under axe, the accessibility engine, in light and in dark: no serious finding."""

from collections.abc import Callable, Sequence

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it ships no types
from playwright.sync_api import Page

Enter = Callable[..., Page]


def findings(page: Page, path: str) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{path}: {one['id']}" for one in found if one["impact"] in {"serious", "critical"}]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_finding(enter: Enter, address: str, every_page: Sequence[str], scheme: str) -> None:
    """Contrast, names, roles, labels and order hold on every page there is, in both colour schemes."""
    page = enter(scheme=scheme)
    shown = []
    for path in (*every_page, "/nowhere"):
        page.goto(address + path)
        shown += findings(page, path)
    page.get_by_role("button", name="Salir").click()
    page.get_by_role("button", name="Entrar").wait_for()
    assert shown + findings(page, "/login") == []
