"""The search of the pages: its page, the list under the field, the programs' interface, and who sees what."""

import re
from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.installation import Installation
from reports.search import filling

Login = Callable[..., FlaskClient]


@pytest.fixture
def filled(books: Installation) -> Installation:
    """The made-up books, all of them in the search."""
    filling.fill(books, books.settings.connection("main"))
    return books


def test_a_document_is_found_and_leads_to_its_page(filled: Installation, client: FlaskClient) -> None:
    """The page groups what it finds, and each has its name, its state and its link."""
    del filled
    page = client.get("/search?q=factura 1105").get_data(as_text=True)
    assert 'href="/documents/main/cl:33::1105"' in page
    assert "Factura electrónica 1105" in page
    assert "Documentos</h2>" in page
    assert "<code>cl:33::1105</code>" in page


def test_the_list_under_the_field_is_a_list_box(filled: Installation, client: FlaskClient) -> None:
    """Only options in groups, and the sentence that is announced."""
    del filled
    part = client.get("/search?part=1&q=1105").get_data(as_text=True)
    assert "<html" not in part
    assert re.search(r'<a role="option" id="found-1-1"[^>]* href="/documents/main/cl:33::1105">', part)
    assert "data-said>" in part


def test_odd_text_is_answered_in_a_sentence(filled: Installation, client: FlaskClient) -> None:
    """One letter, signs, operators, pictures, half a character and ten thousand letters break nothing."""
    del filled
    for query, sentence in [
        ("", "Busque por folio"),
        ("a", "Escriba al menos dos letras o dígitos."),
        ("%25", "Escriba al menos dos letras o dígitos."),
        ("%F0%9F%98%80", "Escriba al menos dos letras o dígitos."),
        ("%ED%A0%BD", "Nada tiene ese folio"),
        ("%22%29%20OR%20%2A", "Nada tiene ese folio"),
        ("NEAR%28a%20b%29%3A%2A", "Nada tiene ese folio"),
        ("y" * 10_000, "Nada tiene ese folio"),
    ]:
        for part in ("", "&part=1"):
            answer = client.get(f"/search?q={query}{part}")
            assert answer.status_code == 200, part
        assert sentence in client.get(f"/search?q={query}").get_data(as_text=True), query
        assert client.get(f"/api/v1/search?q={query}").status_code == 200, query


def test_a_nul_is_refused_in_a_sentence(client: FlaskClient) -> None:
    """As on every page."""
    assert client.get("/search?q=%00").status_code == 400


def test_an_empty_search_says_how_it_is_filled(books: Installation, client: FlaskClient) -> None:
    """Nothing found because nothing was filled is told apart from nothing there."""
    del books
    assert "La búsqueda aún está vacía." in client.get("/search?q=1105").get_data(as_text=True)


def test_programs_find_the_same(filled: Installation, client: FlaskClient) -> None:
    """The JSON has the name in English, the key, and the path of the page."""
    del filled
    found = client.get("/api/v1/search?q=1105").get_json()["data"][0]
    assert (found["kind"], found["key"], found["name"]) == ("document", "cl:33::1105", "Electronic invoice 1105")
    assert found["path"] == "/documents/main/cl:33::1105"


def test_the_field_stands_on_every_page(client: FlaskClient, app: Flask) -> None:
    """Logged in, each page has it; before the login none has."""
    for path in ("/", "/payouts", "/settings", "/nowhere"):
        assert 'id="find"' in client.get(path).get_data(as_text=True), path
    assert 'id="find"' not in app.test_client().get("/login").get_data(as_text=True)
