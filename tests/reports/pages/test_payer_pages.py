"""The pages of payers' rules: what waits, its evidence, and what a person makes of it."""

import re
from collections.abc import Callable
from html import unescape

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from consumer.facts.installation import Installation
from reconcile.tables.desk import PayerRule
from reports.alarms import find_signals

HERE = "/payers/main/1"


def text_of(answer: TestResponse) -> str:
    """Return what a page says, without its marks."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", answer.get_data(as_text=True))))


def test_a_proposal_stands_on_today_in_the_list_and_on_its_page(full: FlaskClient) -> None:
    """Today counts it, the list says what it would have done, and its page how often it is wrong at most."""
    assert "1 propuesta: quién paga por quién" in text_of(full.get("/"))
    listed = text_of(full.get("/books/payers"))
    assert "12.345.678-5 paga por 11.111.111-1" in listed
    assert "12 bien, 0 mal, 3 sin respuesta conocida" in listed
    page = text_of(full.get(HERE))
    assert (
        "Se equivoca a lo más en el 23,00 % de los casos, con 95 % de confianza; la configuración permite 0,50 %."
        in page
    )
    assert "Varias asociaciones hechas por personas tienen esto en común" in page


def test_accepting_and_revoking(full: FlaskClient, csrf: Callable[..., str]) -> None:
    """A person accepts a rule for a reason and revokes it; a page that is old by then changes nothing."""
    old = {"csrf_token": csrf(full, HERE), "version": "1", "reason": "the owner's own RUT"}
    assert "La regla 1 ahora está aceptada." in text_of(full.post(f"{HERE}/accept", data=old, follow_redirects=True))
    again = text_of(full.post(f"{HERE}/reject", data=old, follow_redirects=True))
    assert "cambió la regla 1 mientras usted miraba: mire otra vez." in again
    revoked = full.post(f"{HERE}/revoke", data=old | {"version": "2"}, follow_redirects=True)
    assert "La regla 1 ahora está revocada." in text_of(revoked)
    missing = full.post(f"{HERE}/accept", data=old | {"version": "3", "reason": " "}, follow_redirects=True)
    assert "motivo" in text_of(missing)


def test_a_rule_sent_back_is_loud(full: FlaskClient, books: Installation) -> None:
    """A rule that was wrong too often stands on Today first and raises an alarm."""
    with books.store.transaction() as session:
        rule = session.get(PayerRule, 1)
        assert rule is not None
        rule.state = "sent_back"
    assert "1 regla sobre pagadores se equivocó demasiado y volvió a las propuestas" in text_of(full.get("/"))
    with books.store.reading() as session:
        own = books.settings.connection("main")
        raised = [signal.cause for signal in find_signals(session, own, rule.weighed_at)]
    assert "payers" in raised


@pytest.mark.parametrize("path", ["/payers/main/2", "/payers/other/1"])
def test_an_unknown_rule(full: FlaskClient, path: str) -> None:
    """A number or connection that is not there is not found."""
    assert full.get(path).status_code == 404


def test_the_api_lists_rules(full: FlaskClient, app: Flask) -> None:
    """Programs read the same list."""
    del app
    (row,) = full.get("/api/v1/payers").get_json()["data"]
    assert (row["payer"], row["counts_as"], row["right"], row["bound_pct"]) == ("12345678-5", "11111111-1", 12, "23.00")
