"""The morning's questions on Today: what ties out, what comes first, what must be answered, what changed since."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import Session

from consumer.facts.installation import Installation
from consumer.facts.tables.provider import PaymentIntent
from reconcile.tables.books import BankFile
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import PayoutResult
from reports.tables import SeenMark
from tests.reports.conftest import keep_payout, keep_run
from tests.reports.pages.looking import kept, text_of

Csrf = Callable[..., str]


def _add(session: Session, number: int, **given: Any) -> None:
    fixed: dict[str, Any] = {
        "connection": "main", "id": f"{number:016x}", "code": "PAYMENT_NO_INVOICE", "severity": "medium",
        "subject": f"payment:pi_{number}", "title": "t", "opened_on": date(2026, 10, 7), "state": "open",
        "last_seen_on": date(2026, 10, 8), "amount_at_risk": 1, "currency": "CLP", "run_first": "r1", "run_last": "r1",
    }  # fmt: skip
    session.add(ExceptionRow(**(fixed | given)))


def test_every_payout_is_in_one_line(client: FlaskClient, reconciled: Installation) -> None:
    """One denominator: returned, canceled, unbanked and open payouts are said beside those that arrived."""
    with reconciled.store.transaction() as session:
        for number, status in enumerate(("returned", "canceled", "no_bank", "no_bank", "open"), start=2):
            keep_payout(session, f"po_{number}", status_recon=status)
    page = text_of(client, "/")
    assert "1 de 6 liquidaciones llegaron y cuadran" in page
    assert re.search(r"1 no cuadra · 2 cuadran, sin datos del banco · 1 devuelta · 1 anulada", page)


def test_the_oldest_and_the_largest_come_first(client: FlaskClient, reconciled: Installation) -> None:
    """What is older than a month goes before what is worth more; of one age the larger one comes first."""
    with reconciled.store.transaction() as session:
        _add(session, 1, amount_at_risk=10, fact_on=date(2026, 8, 1), customer_name="Antigua SpA")
        _add(session, 2, amount_at_risk=900_000, customer_name="Grande Ltda")
        _add(session, 3, amount_at_risk=800_000, customer_name="Menor Ltda")
    page = text_of(client, "/")
    places = [page.index(name) for name in ("Antigua SpA", "Grande Ltda", "Menor Ltda")]
    assert places == sorted(places)


def test_the_largest_are_there_however_much_is_old(client: FlaskClient, reconciled: Installation) -> None:
    """Eight small old ones leave room for the three largest of each currency, below what is older than a month."""
    with reconciled.store.transaction() as session:
        for number in range(8):
            _add(
                session, number, amount_at_risk=100 + number, fact_on=date(2026, 8, 1), customer_name=f"Vieja {number}"
            )
        for number, amount in enumerate((4_000_000, 3_000_000, 2_000_000, 1_000_000), start=10):
            _add(session, number, amount_at_risk=amount, customer_name=f"Nueva {number}")
        _add(session, 20, amount_at_risk=50, currency="USD", customer_name="Extranjera Inc")
    page = text_of(client, "/")
    shown = re.findall(r"Vieja \d|Nueva \d+|Extranjera Inc", page[page.index("Revise esto primero") :])
    assert shown == ["Vieja 7", "Vieja 6", "Vieja 5", "Vieja 4", "Nueva 10", "Nueva 11", "Nueva 12", "Extranjera Inc"]


def test_a_payment_names_its_customer_once(client: FlaskClient, reconciled: Installation) -> None:
    """The name of a payment begins with its customer, who is not said before it again."""
    at = datetime(2026, 10, 7, 15, tzinfo=UTC)
    with reconciled.store.transaction() as session:
        session.add(PaymentIntent(
            connection="main", id="pi_77", mode="test", status="succeeded", amount=900_000, currency="CLP", body="{}",
            customer_name="Grande Ltda", version_at=at, created_at=at,
        ))  # fmt: skip
        _add(session, 1, amount_at_risk=900_000, customer_name="Grande Ltda", resource_id="pi_77")
    page = text_of(client, "/")
    assert page.count("Grande Ltda") == 1
    assert "Grande Ltda · 07-10-2026 · $900.000" in page


def test_a_dispute_is_at_the_top_with_the_days_left(client: FlaskClient, reconciled: Installation) -> None:
    """It stands above the payouts, and one in review waits for no answer."""
    with reconciled.store.transaction() as session:
        _add(session, 4, code="DISPUTE_OPEN", severity="high", due_on=date(2026, 10, 11), amount_at_risk=70_000,
             customer_name="Ferretería Sur")  # fmt: skip
        _add(session, 5, code="DISPUTE_OPEN", severity="info", due_on=date(2026, 10, 9), customer_name="En revisión")
    page = text_of(client, "/")
    assert "Contracargos por responder" in page
    top = page[: page.index("llegaron y cuadran")]
    assert "Ferretería Sur" in top
    assert "quedan 3 días" in top
    assert "En revisión" not in top


def test_what_changed_is_grouped_by_cause_and_seen_once(
    client: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """Payouts that arrived, invoices that became overdue, files brought in; the mark of one person ends the news."""
    with reconciled.store.transaction() as session:
        keep_run(session, run_id="run-0", number=41, as_of=date(2026, 10, 7))
        for name, before, after in (("po_2", "not_due", "closed"), ("po_3", "not_due", "closed")):
            row: dict[str, Any] = {
                "connection": "main",
                "payout_date": date(2026, 10, 6),
                "difference": 0,
                "columns": "{}",
            }
            session.add(PayoutResult(run_id="run-0", payout_id=name, status_recon=before, **row))
            keep_payout(session, name, status_recon=after)
        session.add(PayoutResult(run_id="run-0", payout_id="po_1", status_recon="closed", **row))
        for number in (1, 2, 3):
            _add(session, number, code="INVOICE_NO_PAYMENT", opened_on=date(2026, 10, 8))
        session.add(BankFile(connection="main", sha256="c" * 64, name="cartola.csv", account="0001", rows=1, added=1,
                             file_format="CSV", since=date(2026, 10, 1), until=date(2026, 10, 7), currency="CLP",
                             imported_at=datetime(2026, 10, 9, tzinfo=UTC)))  # fmt: skip
    page = text_of(client, "/")
    news = page[page.index("Qué cambió") :]
    assert "2 liquidaciones llegaron y cuadran" in news
    assert "3 documentos vencieron sin pago" in news
    assert "1 archivo importado" in news
    assert client.post("/seen", data={"csrf_token": csrf(client)}).status_code == 302
    assert [(mark.connection, mark.run_number) for mark in kept(reconciled, SeenMark)] == [("main", 42)]
    page = text_of(client, "/")
    assert "Nada ha cambiado desde que usted lo marcó como visto" in page
    assert "3 documentos vencieron" not in page


def test_an_empty_installation_says_what_will_be_here(bare_app: Flask, login: Callable[..., FlaskClient]) -> None:
    """Before the first run nothing ties out, and nothing can be marked as seen."""
    page = text_of(login(bare_app), "/")
    assert "Todavía no hay ninguna conciliación." in page
    assert "Marcar como visto" not in page
