"""The work list by keyboard, and one exception after another."""

import re

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import expect

from tests.reports.pages.conftest import Enter
from tests.reports.pages.looking import text_of


def test_the_list_is_walked_by_keyboard(enter: Enter, address: str) -> None:
    """Keys j and x choose rows and add them up, Enter opens the one in focus, and j leads on from there.

    What is done with the chosen ones covers no row until one is chosen.
    """
    page = enter()
    page.goto(f"{address}/exceptions")
    expect(page.locator("details.bulk")).to_have_css("position", "static")
    for key in "jx":
        page.keyboard.press(key)
    expect(page.locator("[data-chosen]")).to_have_text("1 · 50.000 CLP")
    expect(page.locator("details.bulk")).to_have_css("position", "sticky")
    for key in "jxk":
        page.keyboard.press(key)
    expect(page.locator("[data-chosen]")).to_have_text("2 · 100.000 CLP")
    page.keyboard.press("?")
    expect(page.get_by_text("x marca la fila")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".crumb")).to_contain_text("1 de 2")
    # Scripts run once the page is read.
    page.wait_for_load_state()
    page.keyboard.press("j")
    expect(page.locator(".crumb")).to_contain_text("2 de 2")


@pytest.mark.parametrize(
    ("path", "opened"),
    [
        ("/bank", "/bank/main/"),
        ("/view/documents", "/documents/main/"),
        ("/books/bank-files", "/books/files/bank/main/"),
    ],
)
def test_every_list_is_walked_by_keyboard(enter: Enter, address: str, path: str, opened: str) -> None:
    """Key j goes to the first row, Enter opens it; the question mark shows what keys do."""
    page = enter()
    page.goto(f"{address}{path}")
    page.keyboard.press("?")
    expect(page.get_by_text("x marca la fila")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(re.escape(opened)))


def test_next_and_previous_keep_the_filter(full: FlaskClient) -> None:
    """What stands before and after is what the list showed; an exception of another list is followed by its first."""
    page = full.get("/exceptions/main/00aa00aa00aa00aa?list=state%3Dall%26sort%3Dseverity").get_data(as_text=True)
    assert re.search(r'rel="(next|prev)" href="[^"]+list=state%3Dall%26sort%3Dseverity"', page)
    assert "de 3" in text_of(full, "/exceptions/main/00aa00aa00aa00aa?list=state%3Dall")
    alone = full.get("/exceptions/main/00aa00aa00aa00aa?list=code%3DPAYOUT_LATE%26state%3Dall").get_data(as_text=True)
    assert 'rel="prev"' not in alone
    assert 'rel="next"' in alone
    assert full.get("/exceptions/main/00aa00aa00aa00aa?list=sort%3Dno_column").status_code == 200


def test_the_list_of_payers_has_a_short_address(full: FlaskClient) -> None:
    """It leads to the list among the books."""
    assert full.get("/payers").headers["Location"] == "/books/payers"
