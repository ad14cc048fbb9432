"""The search in a real browser: the slash, answers while one types, arrows, Enter and Escape."""

import re

import pytest
from playwright.sync_api import expect

from consumer.facts.installation import Installation
from reports.search import filling
from tests.reports.pages.conftest import Enter


@pytest.fixture
def filled(books: Installation) -> Installation:
    filling.fill(books, books.settings.connection("main"))
    return books


def test_a_document_is_opened_with_the_keyboard_alone(filled: Installation, enter: Enter) -> None:
    """The slash goes to the field, answers come, the arrow chooses one and Enter opens it."""
    del filled
    page = enter()
    page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Buscar")
    expect(field).to_be_focused()
    page.keyboard.type("1105")
    option = page.get_by_role("option", name="Factura electrónica 1105")
    expect(option).to_be_visible()
    expect(page.locator("#find-said")).to_contain_text("2 resultados")
    page.keyboard.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/documents/main/cl:33::1105$"))


def test_escape_closes_the_list_and_enter_opens_the_page(filled: Installation, enter: Enter) -> None:
    """Without a choice Enter sends the form, as it does without scripts."""
    del filled
    page = enter()
    page.keyboard.press("/")
    page.keyboard.type("1105")
    option = page.get_by_role("option", name="Factura electrónica 1105")
    expect(option).to_be_visible()
    page.keyboard.press("Escape")
    expect(option).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Documentos")).to_be_visible()
