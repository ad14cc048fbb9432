"""Addresses that are pinned to a run go on saying what that run said."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.installation import Installation
from reconcile.desk import decisions
from reconcile.desk.decisions import Pair, Signature
from reconcile.runs.run import run
from tests.reconcile.conftest import World
from tests.reports.pages.looking import text_of

TODAY = date(2026, 9, 20)
DOCUMENT = "/documents/main/cl:33::1"


@pytest.fixture
def reader(bare_app: Flask, installation: Installation, login: Callable[..., FlaskClient]) -> FlaskClient:
    """A payment that a person matched with a document after the first of two runs."""
    world = World(installation.store)
    world.payment("pi_1", 3000, sender_tax_id="22222222-2")
    world.payout("po_1", 2900, ("payment_intent", "pi_1", 3000))
    due = date(2026, 9, 5)
    world.invoice("1", 3000, customer_tax_id="11111111-1", customer_name="Ana", due_date=due, issue_date=due)
    world.complete(datetime(2026, 9, 21, 6, tzinfo=UTC))
    main = installation.settings.connection("main")
    run(installation, main, as_of=TODAY)
    with installation.store.transaction() as session:
        signed = Signature("ana@tienda.test", "it is theirs", datetime.now(UTC))
        decisions.match(session, Pair("main", "pi_1", "cl:33::1"), signed)
    run(installation, main, as_of=TODAY)
    return login(bare_app)


def test_a_pinned_address_says_what_its_run_said(reader: FlaskClient) -> None:
    """Receivables, the document, the payout and its list, with the run named and the way back to now."""
    assert "Vencido" in text_of(reader, f"{DOCUMENT}?run=1")
    assert "Vencido" not in text_of(reader, DOCUMENT)
    owed = text_of(reader, "/view/receivables?run=1")
    assert "Página fija, tal como se publicó: Conciliación del 20-09-2026 (n.º 1)" in owed
    assert "Total CLP 3.000" in owed
    assert "Total CLP" not in text_of(reader, "/view/receivables")
    assert "0 de 1 movimientos tienen su documento" in text_of(reader, "/payouts/po_1?run=1")
    assert "1 de 1 movimientos tienen su documento" in text_of(reader, "/payouts/po_1")
    page = reader.get("/payouts").get_data(as_text=True)
    assert 'href="/payouts?run=2&amp;connection=main"' in page


def test_a_pinned_page_says_what_of_it_is_of_today(reader: FlaskClient) -> None:
    """One sentence on a payout and on a document; neither offers a decision, a tie or a proof of another run."""
    payout = reader.get("/payouts/po_1?run=1").get_data(as_text=True)
    assert "las excepciones y los vínculos hechos a mano son los de hoy." in payout
    assert "/proof/main.pdf" not in payout
    document = reader.get(f"{DOCUMENT}?run=1").get_data(as_text=True)
    assert "las excepciones, las decisiones y el historial son los de hoy." in document
    assert '<form method="post" action="/documents' not in payout + document
    assert "/proof/main.pdf" in reader.get("/payouts/po_1").get_data(as_text=True)


def test_beside_pending_figures_the_files_say_that_they_are_the_runs(
    reader: FlaskClient, installation: Installation
) -> None:
    """Where a decision waits for the next run, pages that offer files say so; a list of what people did does not."""
    said = "Los archivos llevan las cifras de la última conciliación, sin las decisiones que esperan la próxima."
    pages = ("/payouts", "/payouts/po_1", "/view/receivables", "/exceptions")
    assert not any(said in text_of(reader, page) for page in pages)
    with installation.store.transaction() as session:
        signed = Signature("ana@tienda.test", "not theirs", datetime.now(UTC))
        decisions.withdraw(session, Pair("main", "pi_1", "cl:33::1"), signed)
    assert [page for page in pages if said not in text_of(reader, page)] == []
    assert said not in text_of(reader, "/books/decisions")
    assert said not in text_of(reader, "/payouts/po_1?run=2")


def test_a_file_of_a_pinned_page_is_of_its_run(reader: FlaskClient) -> None:
    """What is downloaded is what is shown."""
    page = reader.get("/view/receivables?run=1").get_data(as_text=True)
    assert "run=1" in page.partition("receivables.csv?")[2].partition('"')[0]
    assert "3000" in reader.get("/reports/receivables.csv?run=1&profile=machine").get_data(as_text=True)


def test_a_run_that_is_none_is_refused(reader: FlaskClient) -> None:
    """A word is no number, and a number without a run is not found."""
    assert reader.get("/view/receivables?run=first").status_code == 400
    case = re.findall(r"/exceptions/main/\w+", reader.get("/exceptions?state=all").get_data(as_text=True))[0]
    for path in ("/payouts/po_1", "/view/receivables", "/exceptions", case, "/tax", "/", "/reports/receivables.csv"):
        asked = [reader.get(f"{path}?run={run}").status_code for run in ("x", "0", "9", "1&run=2")]
        assert asked == [400, 404, 404, 400], path


def test_a_page_that_no_run_keeps_is_not_pinned(reader: FlaskClient) -> None:
    """The work list, an exception and Today say how things stand now, and lead there; so do their files and lists."""
    case = re.findall(r"/exceptions/main/\w+", reader.get("/exceptions?state=all").get_data(as_text=True))[0]
    for path in ("/exceptions", case, "/", "/tax", "/journal", "/operation/runs"):
        refused = reader.get(f"{path}?run=1")
        assert refused.status_code == 400, path
        assert "Esta página dice siempre cómo están las cosas ahora" in refused.text, path
        assert f'<a href="{path}">Como está ahora</a>' in refused.text, path
    for path in ("/reports/exceptions.csv", "/reports/runs.csv", "/api/v1/exceptions"):
        assert reader.get(f"{path}?run=1&columns=connection").status_code == 400, path
    for path in ("/payouts", "/payouts/po_1", "/view/receivables", DOCUMENT, "/bank", "/reports/receivables.csv"):
        assert reader.get(f"{path}?run=1").status_code == 200, path
