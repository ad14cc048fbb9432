"""Totals, cards and counts with a decision that waits: as the next run says them, next to those of the last one."""

from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.installation import Installation
from reconcile.desk import decisions
from reconcile.desk.decisions import Pair, Signature
from reconcile.desk.ties import tie
from reconcile.runs.run import run
from tests.reconcile.conftest import World
from tests.reports.pages.looking import text_of

TODAY = date(2026, 9, 20)
PAIR = Pair("main", "pi_1", "cl:33::1")


@pytest.fixture
def reader(bare_app: Flask, installation: Installation, login: Callable[..., FlaskClient]) -> FlaskClient:
    """A payment of a customer without documents, and two overdue ones of another customer."""
    world = World(installation.store)
    world.payment("pi_1", 3000, sender_tax_id="22222222-2")
    world.payout("po_1", 2900, ("payment_intent", "pi_1", 3000))
    due = date(2026, 9, 5)
    for folio, total in (("1", 3000), ("2", 4000)):
        world.invoice(folio, total, customer_tax_id="11111111-1", customer_name="Ana", due_date=due, issue_date=due)
    world.bank_file("00012345678", (date(2026, 9, 11), 2900))
    world.complete(datetime(2026, 9, 21, 6, tzinfo=UTC))
    run(installation, installation.settings.connection("main"), as_of=TODAY)
    return login(bare_app)


def sign() -> Signature:
    return Signature("ana@tienda.test", "it is theirs", datetime.now(UTC))


def reconcile(installation: Installation) -> None:
    run(installation, installation.settings.connection("main"), as_of=TODAY)


@pytest.mark.both_databases
def test_a_decision_counts_in_every_total_at_once(reader: FlaskClient, installation: Installation) -> None:
    """Today, the work list, receivables and documents say what the next run says, next to what the last one said."""
    assert "Excepciones abiertas 3 Monto en riesgo CLP $10.000 3 excepciones" in text_of(reader, "/")
    with installation.store.transaction() as session:
        decisions.match(session, PAIR, sign())
    today = text_of(reader, "/")
    assert "Excepciones abiertas 1 3 en la última conciliación Monto en riesgo CLP $4.000 10.000 en la" in today
    assert "Documento vencido sin pago Media 1 4.000 CLP 05-09-2026 Un monto" in today
    assert "se cierra, pendiente" in today
    assert "Total CLP 10.000 Con lo pendiente CLP 4.000" in text_of(reader, "/exceptions")
    page = reader.get("/exceptions?code=PAYMENT_NO_INVOICE").get_data(as_text=True)
    for address in ("/documents/main/cl:33::1", page.partition('href="/exceptions/main/')[2].partition('"')[0]):
        place = address if address.startswith("/") else f"/exceptions/main/{address}"
        assert "se cierra, pendiente" in text_of(reader, place), place
    without_document = text_of(reader, "/exceptions?code=PAYMENT_NO_INVOICE")
    assert "Total CLP 3.000 Con las elegidas" in without_document
    owed = text_of(reader, "/view/receivables")
    assert "Días de mora Saldo 1-30 4.000 Por cobrar 4.000" in owed
    assert "Factura electrónica 1 cl:33::1 0 15 Ana 05-09-2026 CLP Pagado pendiente 3.000" in owed
    assert "Total CLP 7.000 7.000 0 0 Con lo pendiente CLP 4.000 7.000 3.000 0" in owed
    assert "1 fila" in text_of(reader, "/view/documents?outcome=pagado")
    reconcile(installation)
    assert "Excepciones abiertas 1 Monto en riesgo CLP $4.000 1 excepción" in text_of(reader, "/")
    assert "Total CLP 4.000 4.000 0 0 1 fila" in text_of(reader, "/view/receivables")


def test_what_will_be_owed_again_is_among_what_is_owed(reader: FlaskClient, installation: Installation) -> None:
    """A document whose match is taken back joins the list with its age, before a run makes it so."""
    with installation.store.transaction() as session:
        decisions.match(session, PAIR, sign())
    reconcile(installation)
    with installation.store.transaction() as session:
        decisions.withdraw(session, PAIR, sign())
    owed = text_of(reader, "/view/receivables")
    assert "Factura electrónica 1 cl:33::1 3.000 15 Ana 05-09-2026 CLP Vencido pendiente" in owed
    assert "Total CLP 4.000 4.000 0 0 Con lo pendiente CLP 7.000 7.000 0 0 2 filas" in owed
    assert "Total CLP 4.000 Con lo pendiente CLP 10.000" in text_of(reader, "/exceptions")


@pytest.fixture
def undone(bare_app: Flask, installation: Installation, login: Callable[..., FlaskClient]) -> FlaskClient:
    """A payment matched before the first run with the overdue document of another, which is taken back after it."""
    world = World(installation.store)
    world.payment("pi_1", 3000, sender_tax_id="22222222-2")
    world.payout("po_1", 2900, ("payment_intent", "pi_1", 3000))
    due = date(2026, 9, 5)
    for folio, total in (("1", 3000), ("2", 4000)):
        world.invoice(folio, total, customer_tax_id="11111111-1", customer_name="Ana", due_date=due, issue_date=due)
    world.bank_file("00012345678", (date(2026, 9, 11), 2900))
    world.complete(datetime(2026, 9, 21, 6, tzinfo=UTC))
    with installation.store.transaction() as session:
        decisions.match(session, PAIR, sign())
    reconcile(installation)
    with installation.store.transaction() as session:
        decisions.withdraw(session, PAIR, sign())
    return login(bare_app)


@pytest.mark.both_databases
def test_what_a_decision_will_open_stands_on_the_list(undone: FlaskClient, installation: Installation) -> None:
    """In its place, filtered, counted and added up as other rows, without a tick or a page; then the run opens it."""
    late, lost = "Documento vencido sin pago", "Pago sin documento"
    every = text_of(undone, "/exceptions")
    assert [every.count(f"{title} ") for title in (late, lost)] == [every.count(late), every.count(lost)]
    for path, rows, totals in (
        ("/exceptions", "3 filas", "Total CLP 4.000 Con lo pendiente CLP 10.000"),
        ("/exceptions?code=PAYMENT_NO_INVOICE", "1 fila", "Con lo pendiente CLP 3.000"),
        ("/exceptions?q=amount_at_risk%3E3500", "1 fila", "Total CLP 4.000 Con las elegidas"),
        ("/exceptions?q=ana", "2 filas", "Total CLP 4.000 Con lo pendiente CLP 7.000"),
        ("/exceptions?code=PAYMENT_NO_INVOICE&q=ana", "0 filas", "0 filas"),
        ("/exceptions?state=closed", "0 filas", "0 filas"),
        ("/exceptions?sort=amount_at_risk", "3 filas", "se abre, pendiente"),
    ):
        said = text_of(undone, path)
        assert (rows in said, totals in said) == (True, True), f"{path}: {said}"
    page = undone.get("/exceptions?sort=-amount_at_risk").get_data(as_text=True)
    assert page.count("se abre, pendiente") == 2
    assert page.count('name="pick"') == 1
    assert page.index("4.000<span") < page.index("se abre, pendiente")
    assert "Excepciones abiertas 3 1 en la última conciliación" in text_of(undone, "/")
    for place in ("/payouts/po_1", "/documents/main/cl:33::1"):
        assert "se abre, pendiente" in text_of(undone, place), place
    reconcile(installation)
    after = text_of(undone, "/exceptions")
    assert "Total CLP 10.000" in after
    assert "se abre" not in after


def test_a_payout_that_a_tie_opens_counts_in_the_headline(
    bare_app: Flask, installation: Installation, login: Callable[..., FlaskClient]
) -> None:
    """The headline counts it at once and says what it was in the last run."""
    world = World(installation.store)
    world.payment("pi_1", 5000)
    world.payout("po_1", 5000, ("payment_intent", "pi_1", 5000))
    world.bank_file("00012345678", (date(2026, 9, 25), 5000), (date(2026, 9, 25), 4950))
    world.complete(datetime(2026, 9, 29, 6, tzinfo=UTC))
    run(installation, installation.settings.connection("main"), as_of=date(2026, 9, 28))
    reader = login(bare_app)
    assert "1 de 1 liquidaciones llegaron y cuadran" in text_of(reader, "/")
    with installation.store.transaction() as session:
        tie(session, Pair("main", "po_1", "line_1"), sign(), today=date(2026, 9, 28))
    today = text_of(reader, "/")
    assert "0 de 1 liquidaciones llegaron y cuadran 1 en la última conciliación" in today
    assert "Qué cuadra Conciliación Liquidaciones Diferencia (falta) Diferencia (sobra) Abierta 1 0 CLP 0 CLP" in today


def test_beyond_what_can_be_computed_the_figures_are_those_of_the_run_and_it_is_said(
    reader: FlaskClient, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection with more rows than a page may judge keeps its totals; the bar says that they will change."""
    monkeypatch.setattr("reconcile.runs.pending.MOST_ROWS", 0)
    # The same content has the same run in another test.
    monkeypatch.setattr("reconcile.runs.pending._judged", OrderedDict())
    with installation.store.transaction() as session:
        decisions.match(session, PAIR, sign())
    for path in ("/", "/exceptions", "/view/receivables"):
        assert "las cifras que dependen de ellas son las de la última" in text_of(reader, path)
    assert "Monto en riesgo CLP $10.000 3 excepciones" in text_of(reader, "/")
    assert "Con lo pendiente" not in text_of(reader, "/exceptions")


def test_before_closing_only_what_waits_is_pending(reader: FlaskClient, installation: Installation) -> None:
    """A decision since the last run counts once, and with its undoing it counts no more."""
    path = "/books/closing?connection=main&until=2026-09-19"
    with installation.store.transaction() as session:
        decisions.match(session, PAIR, sign())
    assert "Por revisar Decisiones pendientes 1" in text_of(reader, path)
    with installation.store.transaction() as session:
        decisions.withdraw(session, PAIR, sign())
    assert "En orden Decisiones pendientes 0" in text_of(reader, path)


def test_a_case_shows_what_is_left_of_its_payment(
    bare_app: Flask, installation: Installation, login: Callable[..., FlaskClient]
) -> None:
    """With part of it assigned: both documents are named, the rest is offered; with all of it no button is left."""
    world = World(installation.store)
    world.payment("pi_1", 5000, sender_tax_id="22222222-2")
    world.payout("po_1", 4900, ("payment_intent", "pi_1", 5000))
    for folio, total in (("1", 1000), ("2", 1500), ("3", 2500), ("4", 7000)):
        world.invoice(folio, total, customer_tax_id="11111111-1", customer_name="Ana")
    world.complete(datetime(2026, 9, 21, 6, tzinfo=UTC))
    reconcile(installation)
    reader = login(bare_app)
    listed = reader.get("/exceptions?code=PAYMENT_NO_INVOICE").get_data(as_text=True)
    case = "/exceptions/main/" + listed.partition('href="/exceptions/main/')[2].partition("?")[0]
    assert "Queda por asignar: 5.000 CLP" in text_of(reader, case + "?q=Ana")
    with installation.store.transaction() as session:
        for folio in ("1", "2"):
            decisions.match(session, Pair("main", "pi_1", f"cl:33::{folio}"), sign())
    page = text_of(reader, case + "?q=Ana")
    assert "Varios documentos pendiente Factura electrónica 1 cl:33::1 Factura electrónica 2 cl:33::2 Doc" in page
    assert "Queda por asignar: 2.500 CLP" in page
    offered = page.partition("Este pago")[2].partition("Queda por asignar")[0]
    assert ("cl:33::3" in offered, "cl:33::2" in offered) == (True, False)
    with installation.store.transaction() as session:
        decisions.match(session, Pair("main", "pi_1", "cl:33::3"), sign())
    page = text_of(reader, case + "?q=Ana")
    assert "Factura electrónica 2 cl:33::2 Factura electrónica 3 cl:33::3 Documentos" in page
    assert "Conciliar lo marcado" not in page
