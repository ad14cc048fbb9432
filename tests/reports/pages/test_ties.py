"""A payout tied to a line of the bank on the pages: offered on both sides, counted at once, named, taken back."""

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import select

from consumer.facts.installation import Installation
from reconcile.runs.run import run
from reconcile.tables.runs import Run
from tests.reconcile.conftest import World
from tests.reports.pages.looking import text_in

TODAY = date(2026, 9, 28)
LINE = "/bank/main/line_0"


@pytest.fixture
def reader(bare_app: Flask, installation: Installation, login: Callable[..., FlaskClient]) -> FlaskClient:
    """One payout whose money came a week late and short, on one of two lines."""
    world = World(installation.store)
    world.payment("pi_1", 5000)
    world.payout("po_1", 5000, ("payment_intent", "pi_1", 5000))
    world.bank_file("00012345678", (date(2026, 9, 25), 4900), (date(2026, 9, 25), 4950), (date(2026, 9, 25), 1234567))
    world.complete(datetime(2026, 9, 29, 6, tzinfo=UTC))
    run(installation, installation.settings.connection("main"), as_of=TODAY)
    return login(bare_app)


def _send(reader: FlaskClient, csrf: Callable[..., str], line: str = "line_0", **more: str) -> str:
    form = {"csrf_token": csrf(reader, "/account"), "resource_id": "po_1", "doc_key": line, "reason": "it is theirs"}
    return text_in(reader.post("/bank/main", data=form | more, follow_redirects=True).get_data(as_text=True))


def test_a_tie_counts_at_once_and_can_be_taken_back(reader: FlaskClient, csrf: Callable[..., str]) -> None:
    """Line, list and payout show it as pending with the person's name; the unexplained sum is lower by the line."""
    assert "Sin explicar CLP $1.244.417 3 líneas" in text_in(reader.get("/bank").get_data(as_text=True))
    assert "Líneas del banco sin explicar" in text_in(reader.get("/payouts/po_1").get_data(as_text=True))
    page = _send(reader, csrf)
    assert "Vinculada. Vale desde ahora" in page
    assert "Liquidación del 10-09-2026 · $5.000 pendiente" in page
    assert "Vinculada por ana@tienda.test el" in page
    listed = text_in(reader.get("/bank").get_data(as_text=True))
    assert "Sin explicar CLP $1.239.517 2 líneas" in listed
    assert "ana@tienda.test: it is theirs" in listed
    payout = text_in(reader.get("/payouts/po_1").get_data(as_text=True))
    assert "$4.900 · 25-09-2026 , con una diferencia de -$100" in payout
    held = re.search(r'name="seen" value="(\d+)"', reader.get(LINE).get_data(as_text=True))
    assert held is not None
    assert "mire otra vez" in _send(reader, csrf, undo="1", seen="0")
    assert "Vinculada por" not in _send(reader, csrf, undo="1", back="payout", seen=held[1])
    assert "Sin explicar CLP $1.244.417 3 líneas" in text_in(reader.get("/bank").get_data(as_text=True))


def test_a_refusal_names_the_payout_as_people_do(reader: FlaskClient, csrf: Callable[..., str]) -> None:
    """A second tie of the same payout says who tied it, by its day, amount and bank; an empty reason is asked for."""
    assert "Falta el motivo" in _send(reader, csrf, line="line_1", reason="")
    _send(reader, csrf)
    refused = _send(reader, csrf, line="line_1")
    assert "La liquidación 10-09-2026 · $5.000 · cl_banco_de_chile ya está vinculada con otra línea, por" in refused
    assert "Vinculada por" not in refused


def test_only_ties_that_would_be_taken_are_offered(reader: FlaskClient, csrf: Callable[..., str]) -> None:
    """A line far from the amount is on neither page, and why it is refused is said before a reason is asked."""
    offered = reader.get("/payouts/po_1").get_data(as_text=True)
    assert 'value="line_0"' in offered
    assert 'value="line_2"' not in offered
    assert "Ninguna liquidación que espera al banco está a menos de 10 % de este monto." in text_in(
        reader.get("/bank/main/line_2").get_data(as_text=True)
    )
    refused = _send(reader, csrf, line="line_2", reason="")
    assert "La línea es de 1.234.567 CLP y la liquidación de 5.000 CLP: pueden diferir en 10 % como máximo" in refused
    assert "Falta el motivo" not in refused


def test_the_bound_holds_before_the_nearest_are_chosen(
    bare_app: Flask, installation: Installation, login: Callable[..., FlaskClient]
) -> None:
    """Of a payout that is a little larger and twenty that are nearer but too small for the deposit, it is offered."""
    world = World(installation.store)
    world.payment("pi_1", 5000)
    for number in range(20):
        world.payout(f"po_small_{number}", 4531, ("payment_intent", "pi_1", 4531))
    world.payout("po_large", 5540, ("payment_intent", "pi_1", 5540))
    world.bank_file("00012345678", (date(2026, 9, 25), 5000))
    world.complete(datetime(2026, 9, 29, 6, tzinfo=UTC))
    run(installation, installation.settings.connection("main"), as_of=TODAY)
    offered = login(bare_app).get(LINE).get_data(as_text=True)
    assert 'value="po_large"' in offered
    assert "po_small" not in offered


def test_a_run_of_an_earlier_version_takes_the_default_bound(reader: FlaskClient, installation: Installation) -> None:
    """A run whose summary has no bound is shown, with the default of 10 %."""
    with installation.store.transaction() as session:
        for kept in session.exec(select(Run)):
            summary = json.loads(kept.summary)
            del summary["tolerances"]["bank_amount_bps"]
            kept.summary = json.dumps(summary)
    page = text_in(reader.get("/bank/main/line_2").get_data(as_text=True))
    assert "está a menos de 10 % de este monto" in page
