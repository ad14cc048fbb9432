"""A real browser on the pages of the made-up run, and a reader who has logged in."""

import shutil
import threading
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from playwright.sync_api import Browser, Page
from sqlmodel import SQLModel
from werkzeug.serving import make_server

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.messages import Message
from consumer.facts.store import Store
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import Dispute, PaymentIntent
from reconcile.tables.books import BankFile, LocalInvoice
from reconcile.tables.closing import ClosedFigure, Period, PeriodAdjustment
from reconcile.tables.desk import PayerRule, PayerRuleChange
from reports.access.people import Role, add_user, to_user
from reports.directory import LISTINGS
from reports.pages.views import PLACES
from reports.queries.listing import BOOKS, OPERATION
from tests.merchant import settings_of
from tests.reports.conftest import EMAIL, FINISHED, PASSWORD, keep_everything, to_mexico

# Milliseconds. A page that does not come is found out in any case; one that is slow has failed nothing.
PATIENCE = 120_000

Enter = Callable[..., Page]

# What stands in the holes of each route that has any; a new page without a line here fails the tests that walk all.
SAMPLES = {
    "payouts.show": ["/payouts/po_1"],
    "case.show": ["/exceptions/main/00aa00aa00aa00aa", "/exceptions/main/11bb11bb11bb11bb"],
    "disputes.show": ["/disputes/main/cb_1"],
    "documents.show": ["/documents/main/cl:33::1105"],
    "views.show": [f"/view/{place}" for place in PLACES],
    "operations.index": [f"/operation/{name}" for name, one in LISTINGS.items() if one.place == OPERATION],
    "running.show": ["/reconcile/main"],
    "operations.run": ["/operation/runs/main/42"],
    "operations.event": ["/operation/events/main/evt_1"],
    "books.index": [f"/books/{name}" for name, one in LISTINGS.items() if one.place == BOOKS],
    "books.file": [f"/books/files/bank/main/{'b' * 64}"],
    "books.period": ["/books/periods/main/1"],
    "people.person": ["/people/1"],
    "closing.look": ["/books/closing?connection=main&until=2026-09-30"],
    "closing.show": [],
    "bank.show": ["/bank/main/mov_1"],
    "payers.show": ["/payers/main/1"],
    "journal.payout": ["/journal/payouts/po_1"],
    "tax.show": ["/tax/main/2026-10", "/tax/main/2026"],
}
# No pages of their own: files, JSON, doors, and outcomes that exist only after a form.
NO_PAGES = {
    "api", "pages", "static", "login", "downloads.download", "downloads.download_archived", "downloads.show_order",
    "disputes.download", "case.download", "packs.proof", "exceptions.sheet", "bulk.outcome", "operations.show_replayed",
    "books.show_upload", "payers.index",
}  # fmt: skip


@pytest.fixture
def every_page(app: Flask) -> list[str]:
    return pages_of(app)


def pages_of(app: Flask) -> list[str]:
    """Name every page there is, from the table of routes."""
    paths: list[str] = []
    for rule in app.url_map.iter_rules():
        if "GET" not in (rule.methods or ()) or {rule.endpoint, rule.endpoint.partition(".")[0]} & NO_PAGES:
            continue
        paths += SAMPLES[rule.endpoint] if rule.arguments or rule.endpoint in SAMPLES else [rule.rule]
    assert len(paths) > 35
    return sorted(set(paths))


@pytest.fixture
def full(books: Installation, client: FlaskClient) -> FlaskClient:
    """A reader of the books in which every page has something to show."""
    del books
    return client


@pytest.fixture
def books(reconciled: Installation) -> Installation:
    """The made-up run with the payment of 50.000, an open document of the same customer, and an event."""
    with reconciled.store.transaction() as session:
        session.add_all(_of_books(utc_now()))
    return reconciled


@pytest.fixture
def mexican_books(tmp_path: Path, migrated_sqlite: Path) -> Iterator[Installation]:
    """The same books as those of a Mexican merchant."""
    store = Store(f"sqlite:///{shutil.copy(migrated_sqlite, tmp_path / 'mexico.db')}")
    rows = _of_books(utc_now())
    for row in rows:
        for name, value in dict(row).items():
            setattr(row, name, to_mexico(value))
    with store.transaction() as session:
        keep_everything(session, to_mexico)
        session.add_all(rows)
        add_user(session, to_user(EMAIL, PASSWORD, Role.ADMIN, now=FINISHED))
    yield Installation(settings=settings_of("http://provider.test", tmp_path, country="mx"), store=store)
    store.close()


def _of_books(now: datetime) -> list[SQLModel]:
    money: dict[str, Any] = {"amount": 50000, "currency": "CLP", "version_at": now, "body": "{}"}
    document = LocalInvoice(connection="main", doc_key="cl:33::1105", country="cl", doc_type="33", folio="1105",
                            issue_date=now.date(), total=75000, currency="CLP", status="valid", order_ref="00018",
                            file_sha256="0", updated_at=now)  # fmt: skip
    event = Event(connection="main", id="evt_1", type="payout.succeeded", mode="test", created_at=now, received_at=now,
                  source="webhook", state="applied", body=b'{"id": "evt_1"}', raw_sha256="0" * 64,
                  meaning_sha256="0" * 64, last_arrival_at=now)  # fmt: skip
    return [
        PaymentIntent(connection="main", id="pi_2", mode="test", status="succeeded", **money), document, event,
        Dispute(connection="main", id="cb_1", mode="test", status="waiting_documentation", resource_id="pi_2",
                due_at=now, **money),
        *_of_september(now), *_of_payers(now),
    ]  # fmt: skip


def _of_payers(now: datetime) -> list[SQLModel]:
    """Return a proposal: a person's own tax id pays for the customer."""
    rule = PayerRule(connection="main", kind="payer", subject="12345678-5", object="11111111-1", state="proposed",
                     right_count=12, open_count=3, bound_bps=2300, weighed_at=now)  # fmt: skip
    from_decisions = Message("payers.from_decisions").to_text()
    change = PayerRuleChange(connection="main", rule_id=1, at=now, author="cuadre", reason=from_decisions, before="",
                             after="proposed")  # fmt: skip
    return [rule, change]


def _of_september(now: datetime) -> list[SQLModel]:
    """A closed period with a figure and an adjustment, opened again since, and a bank file."""
    until = date(2026, 9, 30)
    named: dict[str, Any] = {"connection": "main", "until": until, "closed_by": "ana@tienda.test", "closed_at": now}
    again: dict[str, Any] = {"reopened_by": "ana@tienda.test", "reopened_at": now, "reopened_for": "una nota"}
    words = 'figure.document {"total":75000,"currency":"CLP"}'
    return [
        Period(id=1, ends_at=now, run_id="run-1", reason="cierre", **named, **again),
        ClosedFigure(period_id=1, kind="document", subject="cl:33::1105", words=words),
        PeriodAdjustment(period_id=1, run_id="run-1", kind="document", subject="cl:33::1105", before=words,
                         after="figure.void", found_at=now),
        BankFile(connection="main", sha256="b" * 64, name="cartola.csv", account="000071402296", file_format="CSV",
                 since=until, until=until, currency="CLP", opening=0, closing=100, last_opening=0, imported_at=now,
                 rows=1, added=1),
    ]  # fmt: skip


@pytest.fixture
def serving() -> Iterator[Callable[[Flask], str]]:
    """Serve an application on a free port of this machine for as long as the test lasts."""
    running = []

    def serve(app: Flask) -> str:
        server = make_server("127.0.0.1", 0, app, threaded=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        running.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def address(books: Installation, make_app: Callable[..., Flask], serving: Callable[[Flask], str]) -> str:
    return serving(make_app(books))


@pytest.fixture
def enter(browser: Browser, address: str) -> Iterator[Enter]:
    """Log in through the form of a new browser window."""
    contexts = []

    def come_in(*, width: int = 1280, scheme: str = "light", at: str = address) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(f"{at}/login")
        page.get_by_label("Correo").fill(EMAIL)
        page.get_by_label("Contraseña").fill(PASSWORD)
        page.get_by_role("button", name="Entrar").click()
        page.get_by_role("link", name="Hoy").wait_for()
        return page

    yield come_in
    for context in contexts:
        context.close()
