"""Every page under axe, the accessibility engine: in light, in dark, on a phone, in Chile and in Mexico, no finding."""

from collections.abc import Callable, Sequence

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it ships no types
from flask import Flask
from playwright.sync_api import Page

from consumer.facts.installation import Installation
from tests.reports.conftest import to_mexico

Enter = Callable[..., Page]
PHONE = 390


def findings(page: Page, path: str) -> list[str]:
    return [f"{path}: {one['id']}" for one in Axe().run(page).response["violations"]]


def walk(page: Page, address: str, paths: Sequence[str]) -> list[str]:
    shown = []
    for path in (*paths, "/nowhere"):
        page.goto(address + path)
        shown += findings(page, path)
    page.get_by_role("button", name="Salir").click()
    page.get_by_role("button", name="Entrar").wait_for()
    return shown + findings(page, "/login")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", PHONE)])
def test_no_page_has_a_finding(
    enter: Enter, address: str, every_page: Sequence[str], scheme: str, width: int
) -> None:  # fmt: skip
    """Contrast, names, roles, labels, order and landmarks hold on every page there is."""
    assert walk(enter(scheme=scheme, width=width), address, every_page) == []


def test_no_page_of_mexico_has_a_finding(
    enter: Enter, mexican_books: Installation, make_app: Callable[..., Flask], serving: Callable[[Flask], str],
    every_page: Sequence[str],
) -> None:  # fmt: skip
    """A phone in the dark, with the documents and words of Mexico."""
    address = serving(make_app(mexican_books))
    page = enter(scheme="dark", width=PHONE, at=address)
    assert walk(page, address, to_mexico(list(every_page))) == []
