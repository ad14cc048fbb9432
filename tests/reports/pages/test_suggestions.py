"""Fields that name a document take what people have: its name, folio, customer or amount, with suggestions."""

import re
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import expect

from consumer.facts.installation import Installation
from reconcile.tables.desk import Decision
from reports.search import filling
from tests.reports.pages.conftest import Enter
from tests.reports.pages.looking import kept, text_in, text_of

CASE = "/exceptions/main/00aa00aa00aa00aa"


@pytest.fixture
def filled(books: Installation) -> Installation:
    filling.fill(books, books.settings.connection("main"))
    return books


def match(client: FlaskClient, csrf: Callable[..., str], document: str) -> str:
    form = {"csrf_token": csrf(client, CASE), "resource_id": "pi_2", "doc_key": document, "reason": "lo dijo ella",
            "seen": "0"}  # fmt: skip
    return client.post(f"{CASE}/match", data=form, follow_redirects=True).get_data(as_text=True)


@pytest.mark.parametrize("words", ["Factura electrónica 1105", "factura 1105", "1105", "75.000", "00018"])
def test_a_document_is_named_as_people_do(
    filled: Installation, client: FlaskClient, csrf: Callable[..., str], words: str
) -> None:
    """By its name, its kind and folio, its folio, its amount or its order."""
    assert "Conciliado a mano" in match(client, csrf, words)
    assert [one.doc_key for one in kept(filled, Decision)] == ["cl:33::1105"]


def test_what_names_no_document_stays_in_its_fields(
    filled: Installation, client: FlaskClient, csrf: Callable[..., str]
) -> None:
    """The refusal says what was not found; document and reason are still there, and the form is open."""
    page = match(client, csrf, "Factura electrónica 99")
    assert "No existe el documento Factura electrónica 99" in text_in(page)
    assert re.search(r'name="doc_key" required maxlength="200" value="Factura electrónica 99"', page)
    assert 'value="lo dijo ella"' in page
    assert kept(filled, Decision) == []


def test_a_note_that_came_second_stays_in_its_field(client: FlaskClient, csrf: Callable[..., str]) -> None:
    """Who was overtaken reads what changed and finds what they wrote; nothing of the other's is lost."""

    def note(text: str) -> str:
        form = {"csrf_token": csrf(client, CASE), "note": text, "version": "1"}
        return client.post(f"{CASE}/note", data=form, follow_redirects=True).get_data(as_text=True)

    note("la de Ana")
    page = note("la de Luz")
    assert "mire otra vez" in text_in(page)
    assert ">la de Luz</textarea>" in page
    assert '<dd class="lines">la de Ana</dd>' in page
    assert 'name="version" value="2"' in page


def test_only_the_kind_that_is_asked_for_is_suggested(filled: Installation, client: FlaskClient) -> None:
    """The part for a field of documents has no exceptions and no payouts; an unknown kind is refused."""
    del filled
    assert "Excepciones" in client.get("/search?q=1105&part=1").get_data(as_text=True)
    page = client.get("/search?q=1105&part=1&kind=document").get_data(as_text=True)
    assert "Factura electrónica 1105" in page
    assert "Excepciones" not in page
    assert client.get("/search?q=1105&kind=person").status_code == 400


def test_the_likely_right_thing_is_the_button_that_stands_out(client: FlaskClient) -> None:
    """A payment with documents that fit is matched; to close without change is a plain button."""
    page = client.get(CASE).get_data(as_text=True)
    assert '<button class="main">Resolver' not in page
    assert "Resolver" in text_of(client, CASE)


def test_suggestions_come_while_one_types(filled: Installation, enter: Enter, address: str) -> None:
    """The list of the field holds names with what tells documents apart."""
    del filled
    page = enter()
    page.goto(f"{address}{CASE}")
    page.get_by_text("Conciliar con otro documento").click()
    page.get_by_label(re.compile("Documento: folio")).fill("1105")
    option = page.locator("#found-documents option")
    expect(option).to_have_attribute("value", "Factura electrónica 1105")
