"""The work list: whose it is, since when, and what a reader must know of the runs behind it."""

import json
import re
from collections.abc import Callable
from datetime import date
from typing import Any

import sqlalchemy as sa
from flask.testing import FlaskClient

from consumer.facts.installation import Installation
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import Run
from tests.reports.conftest import FIGURES
from tests.reports.pages.looking import text_of


def gap(run_id: str) -> ExceptionRow:
    days: dict[str, Any] = {"opened_on": date(2026, 10, 9), "last_seen_on": date(2026, 10, 9)}
    return ExceptionRow(connection="main", id="99aa", code="DATA_GAP", severity="high", subject="stream:events",
                        title="Data missing", amount_at_risk=0, currency="CLP", state="open", run_first=run_id,
                        run_last=run_id, **days)  # fmt: skip


def test_a_run_ahead_of_the_data_is_told(
    reconciled: Installation, keep_run: Callable[..., None], client: FlaskClient
) -> None:
    """A run that only noted gaps leaves the list of earlier days, and the list and the first page say so.

    They say it also when the night of an earlier day has seen the same gaps since.
    """
    said = FIGURES | {"exceptions": {"DATA_GAP": 1, "AMBIGUOUS": 2}, "ahead_of_data": True}
    with reconciled.store.transaction() as session:
        keep_run(session, "main", "run-9", number=43, as_of=date(2026, 10, 9), complete=False)
        session.execute(sa.update(Run).where(sa.column("id") == "run-9").values(summary=json.dumps(said)))
        session.add(gap("run-10"))
    shown = "Aún no llegan los datos del último día; se muestra lo pendiente al día anterior."
    assert shown in text_of(client, "/exceptions")
    assert shown in text_of(client, "/")


def test_a_first_run_without_data_is_told(reconciled: Installation, client: FlaskClient) -> None:
    """Where nothing but gaps was ever seen, an almost empty list is no good news."""
    with reconciled.store.transaction() as session:
        session.execute(sa.delete(ExceptionRow))
        said = FIGURES | {"exceptions": {"DATA_GAP": 1}}
        session.execute(sa.update(Run).values(complete=False, summary=json.dumps(said)))
        session.add(gap("run-1"))
    assert "Ninguna conciliación ha mirado con datos completos todavía" in text_of(client, "/exceptions")


def test_the_first_page_agrees_with_itself_on_incomplete_data(
    reconciled: Installation, keep_payout: Callable[..., None], client: FlaskClient
) -> None:
    """It counts what the run lacked, no gaps of zero beside it, and names the payouts its headline leaves out."""
    said = FIGURES | {"payouts": 4, "payouts_closed": 4, "exceptions": {"DATA_GAP": 1}}
    with reconciled.store.transaction() as session:
        session.execute(sa.update(Run).values(complete=False, summary=json.dumps(said)))
        session.add(gap("run-1"))
        for name, standing in {"po_2": "incomplete", "po_3": "not_due", "po_4": "canceled"}.items():
            keep_payout(session, name, status_recon=standing)
    page = text_of(client, "/")
    assert "Datos que faltan 1" in page
    assert "Períodos sin datos abiertos" not in page
    assert "1 de 4 liquidaciones llegaron y cuadran" in page
    assert "1 espera datos que faltan · 1 aún por llegar · 1 anulada" in page
    assert "08-10-2026 Incompleta" in page


def test_payouts_that_no_bank_data_shows_are_counted_apart(
    reconciled: Installation,
    keep_payout: Callable[..., None],
    take_out: Callable[[Installation], None],
    client: FlaskClient,
) -> None:
    """They add up, and are not among those that tie out: headline, table, list and filter say so."""
    with reconciled.store.transaction() as session:
        for name in ("po_2", "po_3"):
            keep_payout(session, name, status_recon="no_bank")
    take_out(reconciled)
    page = text_of(client, "/")
    assert "1 de 3 liquidaciones llegaron y cuadran 2 cuadran, sin datos del banco" in page
    assert "Sin banco 2" in page
    listed = text_of(client, "/payouts?status=no_bank")
    assert all(name in listed for name in ("po_2", "po_3"))
    assert "po_1" not in listed
    assert "po_2" not in text_of(client, "/payouts?status=closed")


def test_a_run_of_a_day_to_come_is_told(reconciled: Installation, client: FlaskClient) -> None:
    """Where there is no other run, one of the future is shown with its warning."""
    with reconciled.store.transaction() as session:
        session.execute(sa.update(Run).values(as_of=date(2126, 1, 1)))
    assert "Esta conciliación es de un día que todavía no llega" in text_of(client, "/exceptions")


def test_an_ordinary_morning_has_no_warning(client: FlaskClient) -> None:
    """A complete run of a day that was says nothing of the kind."""
    assert 'class="warn"' not in client.get("/exceptions").get_data(as_text=True)


def test_the_list_is_filtered_by_owner_and_day(reconciled: Installation, client: FlaskClient) -> None:
    """Those of an owner, those of none, those opened or closed from a day on, and those of one payout."""
    with reconciled.store.transaction() as session:
        mine = sa.update(ExceptionRow).where(sa.column("id") == "00aa00aa00aa00aa")
        session.execute(mine.values(owner="luz@tienda.test"))
    for query, rows in {
        "owner=luz@tienda.test": "1 fila ·",
        "owner=ana": "1 fila ·",
        "owner=-": "0 filas",
        "owner=-&state=all": "1 fila ·",
        "owner=nadie": "0 filas",
        "opened_from=2026-10-07": "0 filas",
        "opened_from=2026-10-06": "1 fila ·",
        "state=closed&closed_from=2026-09-03": "1 fila ·",
        "state=closed&closed_from=2026-09-04": "0 filas",
        "payout=po_none": "0 filas",
    }.items():
        assert rows in text_of(client, f"/exceptions?{query}"), query
    assert "luz@tienda.test" in text_of(client, "/exceptions")


def test_a_page_is_chosen_as_a_whole(client: FlaskClient) -> None:
    """Without script, a link marks every box of the page and another clears them."""
    boxes = [re.findall(r'name="pick"[^>]* checked', client.get(f"/exceptions{asked}").get_data(as_text=True))
             for asked in ("", "?pick=all")]  # fmt: skip
    assert [len(found) for found in boxes] == [0, 2]
