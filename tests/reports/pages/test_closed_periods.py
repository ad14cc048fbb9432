"""Closed periods as pages: what they froze, closing and reopening, and who may do which of the books."""

import threading
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from consumer.errands import errands
from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.jobs.processes import Answer
from reconcile.tables.closing import ClosedFigure, ClosingOrder, Period, PeriodAdjustment
from reconcile.tables.runs import Run
from reports.access.people import Role, add_user, to_user
from tests.reports.conftest import close_here
from tests.reports.pages.looking import kept, text_in

Csrf = Callable[..., str]
Login = Callable[..., FlaskClient]
PAYOUT = 'figure.payout {"status":"succeeded","payout_amount":137590,"computed_amount":137590,"fee_total":2410,"difference":0}'  # noqa: E501 - one stored line
ITEM = (
    'figure.item_applied {"amount_signed":100000,"outcome":"matched","doc_key":"cl:33::1102","applied_amount":100000}'
)
DOCUMENT = 'figure.document {"total":100000,"currency":"CLP"}'


@pytest.fixture
def app(reconciled: Installation, make_app: Callable[..., Flask]) -> Flask:
    return make_app(reconciled, errands=close_here(reconciled))


@pytest.fixture
def closed(reconciled: Installation) -> int:
    """September closed by a person, with a payout, an item and a document, and one adjustment of a later run."""
    with reconciled.store.transaction() as session:
        at = datetime(2026, 10, 2, 12, tzinfo=UTC)
        period = Period(
            connection="main",
            until=date(2026, 9, 30),
            ends_at=datetime(2026, 10, 1, 3, tzinfo=UTC),
            run_id="run-1",
            reason="cierre de septiembre",
            closed_by="ana@tienda.test",
            closed_at=at,
        )
        session.add(period)
        session.flush()
        number = period.id or 0
        frozen = {
            ("payout", "po_1"): PAYOUT,
            ("item", "payment_intent pi_1"): ITEM,
            ("document", "cl:33::1102"): DOCUMENT,
        }
        session.add_all(
            ClosedFigure(period_id=number, kind=kind, subject=subject, words=words)
            for (kind, subject), words in frozen.items()
        )
        line: dict[str, Any] = {"period_id": number, "run_id": "run-2", "found_at": at}
        session.add(PeriodAdjustment(kind="document", subject="cl:33::1102", before=DOCUMENT,
                                     after="figure.void", **line))  # fmt: skip
    return number


def test_a_closed_period_shows_what_it_froze_and_what_came_later(client: FlaskClient, closed: int) -> None:
    """Who and why, each figure in the reader's words with a link to what it is about, and the difference beside it."""
    raw = client.get(f"/books/periods/main/{closed}").get_data(as_text=True)
    page = text_in(raw)
    assert "Todo hasta el 30-09-2026 Cerrado" in page
    assert "ana@tienda.test · 02-10-2026 09:00" in page
    assert (
        "Liquidación po_1 estado exitosa, liquidado 137.590, calculado 137.590, comisiones 2.410, diferencia 0" in page
    )
    assert "Movimiento payment_intent pi_1 monto 100.000, Conciliado cl:33::1102 100.000" in page
    assert "Documento Factura electrónica 1102 total 100.000, moneda CLP Anulado" in page
    assert 'href="/documents/main/cl:33::1102"' in raw
    assert 'href="/payouts/po_1"' in raw
    assert client.get(f"/books/periods/main/{closed}?kind=payout").get_data(as_text=True).count("comisiones 2.410") == 1
    assert client.get("/books/periods/main/999").status_code == 404


def test_the_lists_of_the_books_are_files_and_json(client: FlaskClient, closed: int) -> None:
    """What a page of the books shows downloads under its stable keys, and answers as JSON."""
    rows = client.get("/reports/periods.csv").get_data(as_text=True).splitlines()
    assert rows[0].startswith("connection,period,since,until,state,closed_by,closed_at,reason,adjustments")
    assert rows[1].startswith(f"main,{closed},,2026-09-30,closed,ana@tienda.test,2026-10-02T12:00:00Z")
    assert client.get("/reports/closed-figures.csv?state=payout").get_data(as_text=True).count("\r\n") == 2
    found = client.get(f"/api/v1/adjustments?q={closed}").get_json()["data"]
    assert [(row["kind"], row["subject"], row["after"]) for row in found] == [("document", "cl:33::1102", "void")]
    assert client.get("/reports/invoice-files.xlsx").data[:2] == b"PK"


def test_a_period_is_reopened_for_a_reason(
    client: FlaskClient, csrf: Csrf, closed: int, reconciled: Installation
) -> None:
    """Without a reason nothing happens; with one the closing stays in the history and the trail says who."""
    form = {"csrf_token": csrf(client, "/books/periods"), "connection": "main"}
    assert "Falta el motivo." in client.post("/books/reopen", data=form, follow_redirects=True).get_data(as_text=True)
    page = client.post("/books/reopen", data={**form, "reason": "faltaba una nota"}, follow_redirects=True)
    assert "El período quedó abierto otra vez." in page.get_data(as_text=True)
    (period,) = kept(reconciled, Period)
    assert (period.id, period.reopened_by, period.reopened_for) == (closed, "ana@tienda.test", "faltaba una nota")
    again = client.post("/books/reopen", data={**form, "reason": "otra vez"}, follow_redirects=True)
    assert "No hay ningún período cerrado." in again.get_data(as_text=True)
    assert "reabrió el período" in client.get("/operation/trail").get_data(as_text=True)


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ({"until": "2126-01-01", "reason": "x"}, "todavía no termina"),
        ({"until": "2026-10-08", "reason": "x"}, "un período solo se cierra con datos completos"),
    ],
)
def test_a_closing_that_cannot_be_is_told(
    client: FlaskClient, csrf: Csrf, reconciled: Installation, form: dict[str, str], shown: str
) -> None:
    """A day to come and incomplete data close nothing, and leave no run behind that everybody would see."""
    form = {"csrf_token": csrf(client, "/books/periods"), "connection": "main", **form}
    page = client.post("/books/close", data=form, follow_redirects=True).get_data(as_text=True)
    assert shown in page
    assert kept(reconciled, Period) == []
    assert len(kept(reconciled, Run)) == 1


def test_who_may_do_what(app: Flask, reconciled: Installation, login: Login, csrf: Csrf, closed: int) -> None:
    """A viewer looks, finance brings files and closes, only an admin reopens."""
    with reconciled.store.transaction() as session:
        add_user(session, to_user("ver@tienda.test", "solo quiero mirar", Role.VIEWER, now=utc_now()))
        add_user(session, to_user("luz@tienda.test", "otra clave larga", Role.FINANCE, now=utc_now()))
    viewer = login(app, "ver@tienda.test", "solo quiero mirar")
    assert viewer.get(f"/books/periods/main/{closed}").status_code == 200
    assert "/books/look" not in viewer.get("/books").get_data(as_text=True)
    form = {"csrf_token": csrf(viewer, "/"), "connection": "main", "kind": "bank", "until": "2026-10-01"}
    paths = ("/books/look", "/books/keep", "/books/close", "/books/reopen")
    assert [viewer.post(path, data=form).status_code for path in paths] == [403, 403, 403, 403]
    luz = login(app, "luz@tienda.test", "otra clave larga")
    page = luz.get("/books/periods").get_data(as_text=True)
    assert ('action="/books/closing"' in page, 'action="/books/reopen"' in page) == (True, False)
    form["csrf_token"] = csrf(luz, "/")
    assert luz.post("/books/reopen", data={**form, "reason": "x"}).status_code == 403


def test_closing_begins_with_a_checklist(client: FlaskClient, reconciled: Installation) -> None:
    """What is open and missing up to the day, and what closing freezes; nothing is closed by looking."""
    page = text_in(client.get("/books/closing?connection=main&until=2026-10-07").get_data(as_text=True))
    assert "Antes de cerrar hasta el 07-10-2026" in page
    assert "Por revisar Excepciones abiertas" in page
    assert "En orden Liquidaciones que no han llegado o no cuadran 0" in page
    assert "En orden Días hábiles bancarios sin líneas del banco 0 07-10-2026" in page
    assert "Todos los días hasta el 07-10-2026: 1 liquidaciones" in page
    assert kept(reconciled, Period) == []
    late = client.get("/books/closing?connection=main&until=2126-01-01", follow_redirects=True)
    assert "todavía no termina" in late.get_data(as_text=True)
    assert client.get("/books/closing?connection=main").status_code == 400


def test_two_people_close_once(
    reconciled: Installation, make_app: Callable[..., Flask], login: Login, csrf: Csrf
) -> None:
    """Who comes second sees the closing that is under way, and orders none."""
    begun, may_end = threading.Event(), threading.Event()

    def close(_installation: Installation, _connection: Connection, _on: date) -> Answer:
        begun.set()
        assert may_end.wait(120)
        return Answer(complete=True, lines=[])

    client = login(make_app(reconciled, errands=errands(reconciled, close=close)))
    form = {"csrf_token": csrf(client, "/books/periods"), "connection": "main", "until": "2026-10-07", "reason": "x"}
    try:
        first = client.post("/books/close", data=form, follow_redirects=True).get_data(as_text=True)
        assert begun.wait(120)
        second = client.post("/books/close", data=form, follow_redirects=True).get_data(as_text=True)
    finally:
        may_end.set()
    assert "Puede salir de esta página" in first
    assert "estos libros ya se están cerrando" in second
    assert 'value="x"' in second
    assert 'href="/books/closing/main">El cierre en curso' in second
    assert len(kept(reconciled, ClosingOrder)) == 1


@pytest.mark.parametrize("until", [30, 29])
def test_days_that_stand_closed_are_not_said_to_be_open(
    client: FlaskClient, reconciled: Installation, closed: int, until: int
) -> None:
    """An order whose process died leads to the period where its days are closed, by it or by a command meanwhile."""
    with reconciled.store.transaction() as session:
        session.add(ClosingOrder(connection="main", until=date(2026, 9, until), reason="x", author="ana@tienda.test",
                                 ordered_at=utc_now(), state="ordered"))  # fmt: skip
    answer = client.get("/books/closing/main", follow_redirects=True)
    assert answer.request.path == f"/books/periods/main/{closed}"
    assert "cierre de septiembre" in answer.text
    assert "no se cerró nada" not in answer.text


@pytest.mark.usefixtures("closed")
def test_an_order_whose_process_died_first_says_that_nothing_was_closed(
    client: FlaskClient, reconciled: Installation
) -> None:
    """Days after those that stand closed are still open, and the reader may ask again."""
    with reconciled.store.transaction() as session:
        session.add(ClosingOrder(connection="main", until=date(2026, 10, 1), reason="x", author="ana@tienda.test",
                                 ordered_at=utc_now(), state="ordered"))  # fmt: skip
    assert "no se cerró nada" in client.get("/books/closing/main").text


def test_a_late_fact_is_explained_where_it_is_met(client: FlaskClient, closed: int, reconciled: Installation) -> None:
    """The page of a payout says that its days are closed, what was found later, and where the adjustment stands."""
    with reconciled.store.transaction() as session:
        session.add(PeriodAdjustment(period_id=closed, run_id="run-2", kind="payout", subject="po_1", before=PAYOUT,
                                     after="", found_at=datetime(2026, 10, 2, 12, tzinfo=UTC)))  # fmt: skip
    page = client.get("/payouts/po_1").get_data(as_text=True)
    assert "Esto es de días cerrados y lo cerrado se conserva. Un hecho que llegó el 02-10-2026" in text_in(page)
    assert f'href="/books/periods/main/{closed}"' in page
