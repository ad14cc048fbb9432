"""A made-up run of a Chilean and a Mexican merchant, and a client that is logged in."""

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import Session

from consumer.config import Settings
from consumer.facts import schema
from consumer.facts.house import House
from consumer.facts.store import Store
from reconcile.tables import DocumentResult, ExceptionRow, Line, PayoutResult, Run
from reports import people
from reports.pages import register
from reports.people import Role, add_user

EMAIL, PASSWORD = "ana@tienda.test", "una clave larga"
FINISHED = datetime(2026, 10, 8, 6, 20, tzinfo=UTC)

SUMMARY: dict[str, Any] = {
    "mode": "test",
    "country": "cl",
    "currency": "CLP",
    "status": "succeeded",
    "created_at_utc": "2026-10-06T17:00:00Z",
    "succeeded_at_utc": "2026-10-06T17:05:00Z",
    "payout_date": "2026-10-06",
    "bank_day": "2026-10-06",
    "window_start": "2026-10-05T17:00:00Z",
    "window_end": "2026-10-06T17:00:00Z",
    "recipient_institution": "Banco de Prueba",
    "recipient_account_last4": "0042",
    "payments_count": 2,
    "payments_gross": 150000,
    "charges_count": 0,
    "charges_gross": 0,
    "refunds_count": 1,
    "refunds_gross": 10000,
    "refund_adjustments": 0,
    "disputes": 0,
    "fee_total": 2410,
    "fee_net": 2025,
    "fee_vat": 385,
    "fee_rate_pct": "1.61",
    "fee_source": "tariff",
    "computed_amount": 137590,
    "payout_amount": 137590,
    "difference": 0,
    "expected_arrival": "2026-10-06",
    "bank_date": "2026-10-06",
    "bank_movement_id": "mov_1",
    "bank_amount": 137590,
    "bank_difference": 0,
    "days_late": 0,
    "matched_count": 2,
    "unmatched_count": 1,
    "status_recon": "closed",
    "exceptions": 1,
}
LINE: dict[str, Any] = {
    "payout_id": "po_1",
    "resource_type": "payment_intent",
    "resource_subtype": "bank_transfer",
    "resource_id": "pi_1",
    "line": 1,
    "source_event_id": "evt_1",
    "occurred_at_utc": "2026-10-05T19:30:00Z",
    "local_date": "2026-10-05",
    "local_time": "16:30:00",
    "bank_day": "2026-10-06",
    "amount_signed": 100000,
    "fee_total": 1607,
    "fee_net": 1350,
    "fee_vat": 257,
    "net_amount": 98393,
    "currency": "CLP",
    "customer_tax_id": "11111111-1",
    "customer_name": "Comercial Ñandú, SpA",
    "order_ref": "00017",
    "outcome": "matched",
    "match_stage": "key",
    "match_rule": "order_ref",
    "rivals": None,
    "doc_country": "cl",
    "doc_type": "33",
    "doc_series": None,
    "doc_folio": "1201",
    "doc_uuid": None,
    "doc_date": "2026-10-01",
    "doc_due_date": "2026-10-31",
    "doc_total": 100000,
    "applied_amount": 100000,
    "doc_balance_after": 0,
    "difference": 0,
    "expected_doc": "33",
    "exception_code": None,
    "note": None,
}
DOCUMENT: dict[str, Any] = {
    "doc_key": "cl:33::1201",
    "doc_type": "33",
    "series": None,
    "folio": "1201",
    "uuid": None,
    "issue_date": "2026-10-01",
    "due_date": "2026-10-31",
    "customer_tax_id": "11111111-1",
    "customer_name": "Comercial Ñandú, SpA",
    "currency": "CLP",
    "total": 100000,
    "outcome": "paid",
    "paid": 100000,
    "credited": 0,
    "balance": 0,
    "payments": 1,
    "exception_code": None,
}
_DOCUMENT_COLUMNS = (
    "doc_country",
    "doc_type",
    "doc_series",
    "doc_folio",
    "doc_uuid",
    "doc_date",
    "doc_due_date",
    "doc_total",
    "applied_amount",
    "doc_balance_after",
)
EMPTY_DOCUMENT: dict[str, Any] = dict.fromkeys(_DOCUMENT_COLUMNS)

LINES: list[dict[str, Any]] = [
    LINE,
    {
        **LINE,
        **EMPTY_DOCUMENT,
        "resource_id": "pi_2",
        "resource_subtype": "credit_card",
        "source_event_id": "evt_2",
        "occurred_at_utc": "2026-10-05T20:00:00Z",
        "local_time": "17:00:00",
        "amount_signed": 50000,
        "fee_total": 803,
        "fee_net": 675,
        "fee_vat": 128,
        "net_amount": 49197,
        "customer_tax_id": None,
        "customer_name": '=HYPERLINK("http://mal.test")',
        "order_ref": None,
        "outcome": "no_document",
        "match_stage": "none",
        "match_rule": None,
        "difference": None,
        "exception_code": "PAYMENT_NO_INVOICE",
        "note": "-1 candidato; revisar",
    },
    {
        **LINE,
        **EMPTY_DOCUMENT,
        "resource_type": "refund",
        "resource_id": "re_1",
        "source_event_id": "evt_3",
        "occurred_at_utc": "2026-10-06T12:00:00.250Z",
        "local_date": "2026-10-06",
        "local_time": "09:00:00",
        "amount_signed": -10000,
        "fee_total": 0,
        "fee_net": 0,
        "fee_vat": 0,
        "net_amount": -10000,
        "outcome": "refund",
        "match_stage": "none",
        "match_rule": None,
        "difference": None,
    },
    {
        **LINE,
        **EMPTY_DOCUMENT,
        "payout_id": None,
        "resource_id": "pi_3",
        "source_event_id": "evt_4",
        "occurred_at_utc": "2026-10-07T13:00:00Z",
        "local_date": "2026-10-07",
        "local_time": "10:00:00",
        "bank_day": "2026-10-07",
        "amount_signed": 30000,
        "fee_total": None,
        "fee_net": None,
        "fee_vat": None,
        "net_amount": None,
        "outcome": "no_document",
        "match_stage": "none",
        "match_rule": None,
        "difference": None,
    },
]
DOCUMENTS: list[dict[str, Any]] = [
    DOCUMENT,
    {
        **DOCUMENT,
        "doc_key": "cl:33::1105",
        "folio": "1105",
        "issue_date": "2026-08-20",
        "due_date": None,
        "total": 75000,
        "outcome": "overdue",
        "paid": 25000,
        "balance": 50000,
        "payments": 0,
        "exception_code": "INVOICE_NO_PAYMENT",
    },
]
EXCEPTIONS: list[dict[str, Any]] = [
    {
        "id": "00aa00aa00aa00aa",
        "code": "PAYMENT_NO_INVOICE",
        "severity": "medium",
        "subject": "resource:pi_2",
        "title": "Payment without a document",
        "opened_on": date(2026, 10, 6),
        "last_seen_on": date(2026, 10, 8),
        "amount_at_risk": 50000,
        "payout_id": "po_1",
        "resource_id": "pi_2",
        "evidence": '{"candidates":0}',
        "suggested_action": "Issue the missing document",
        "state": "open",
    },
    {
        "id": "11bb11bb11bb11bb",
        "code": "INVOICE_NO_PAYMENT",
        "severity": "medium",
        "subject": "document:cl:33::1105",
        "title": "Overdue document without payment",
        "opened_on": date(2026, 9, 21),
        "last_seen_on": date(2026, 10, 8),
        "amount_at_risk": 50000,
        "doc_key": "cl:33::1105",
        "suggested_action": "Ask the customer",
        "owner": "ana",
        "state": "open",
    },
    {
        "id": "22cc22cc22cc22cc",
        "code": "PAYOUT_LATE",
        "severity": "high",
        "subject": "payout:po_0",
        "title": "Payout late",
        "opened_on": date(2026, 9, 1),
        "last_seen_on": date(2026, 9, 2),
        "amount_at_risk": 900,
        "payout_id": "po_0",
        "state": "resolved",
        "resolved_on": date(2026, 9, 3),
        "resolution": "arrived",
    },
]


def keep_run(session: Session, connection: str = "main", run_id: str = "run-1", **changes: Any) -> None:
    """Keep the made-up run; a test changes what it is about."""
    run: dict[str, Any] = {"as_of": date(2026, 10, 8), "complete": True, "number": 42, "scope_from": None} | changes
    session.add(
        Run(
            connection=connection,
            id=run_id,
            calendar="holidays cl",
            summary="{}",
            started_at=FINISHED,
            finished_at=FINISHED,
            **run,
        )
    )


@pytest.fixture(name="keep_run")
def _keep_run() -> Callable[..., None]:
    return keep_run


def keep_payout(session: Session, payout_id: str = "po_1", **changes: Any) -> None:
    row = {**SUMMARY, "payout_id": payout_id, **changes}
    on = date.fromisoformat(row["payout_date"]) if row["payout_date"] else None
    session.add(
        PayoutResult(
            connection="main",
            run_id="run-1",
            payout_id=payout_id,
            payout_date=on,
            status_recon=row["status_recon"],
            difference=row["difference"],
            columns=json.dumps(row),
        )
    )


@pytest.fixture
def keep_mexican_payout() -> Callable[[Session], None]:
    """Keep a run of the connection `mexico` with one payout in its own currency."""

    def keep(session: Session) -> None:
        keep_run(session, "mexico", "run-7", number=7)
        row = {**SUMMARY, "payout_id": "po_mx", "country": "mx", "currency": "MXN"}
        session.add(
            PayoutResult(
                connection="mexico",
                run_id="run-7",
                payout_id="po_mx",
                payout_date=date(2026, 10, 6),
                status_recon="closed",
                difference=0,
                columns=json.dumps(row),
            )
        )

    return keep


def keep_line(session: Session, position: int, line: dict[str, Any]) -> None:
    paid_out = line["payout_id"] is not None
    session.add(
        Line(
            connection="main",
            run_id="run-1",
            position=position,
            payout_id=line["payout_id"],
            payout_date=date(2026, 10, 6) if paid_out else None,
            resource_type=line["resource_type"],
            resource_id=line["resource_id"],
            doc_key=f"cl:33::{line['doc_folio']}" if line["doc_folio"] else None,
            outcome=line["outcome"],
            columns=json.dumps(line),
        )
    )


def keep_everything(session: Session) -> None:
    keep_run(session)
    keep_payout(session)
    for position, line in enumerate(LINES):
        keep_line(session, position, line)
    for row in DOCUMENTS:
        session.add(
            DocumentResult(
                connection="main",
                run_id="run-1",
                doc_key=row["doc_key"],
                outcome=row["outcome"],
                paid=row["paid"],
                credited=row["credited"],
                balance=row["balance"],
                columns=json.dumps(row),
            )
        )
    for exception in EXCEPTIONS:
        session.add(ExceptionRow(connection="main", currency="CLP", run_first="r1", run_last="r42", **exception))


@pytest.fixture(autouse=True)
def _cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash with little memory and time, since every page test logs in."""
    monkeypatch.setattr(people, "_hasher", PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty migrated SQLite file to copy, since migrating takes longer than most tests here."""
    path = tmp_path_factory.mktemp("migrated") / "empty.db"
    store = Store(f"sqlite:///{path}")
    schema.upgrade(store)
    store.close()
    return path


@pytest.fixture
def house(settings: Settings, tmp_path: Path, migrated: Path) -> Iterator[House]:
    """A house on SQLite; what differs between databases is tested in `test_both_databases`."""
    shutil.copy(migrated, tmp_path / "reports.db")
    store = Store(f"sqlite:///{tmp_path / 'reports.db'}")
    yield House(settings=settings, store=store)
    store.close()


@pytest.fixture
def reconciled(house: House) -> House:
    """A house whose books were reconciled once: one payout that ties out, one payment without a document."""
    fill(house.store)
    return house


def fill(store: Store) -> None:
    with store.transaction() as session:
        keep_everything(session)
        add_user(session, EMAIL, PASSWORD, Role.ADMIN, now=FINISHED)


@pytest.fixture
def anywhere(settings: Settings, store: Store) -> House:
    """The same books, once on each kind of database."""
    fill(store)
    return House(settings=settings, store=store)


def make_app(house: House) -> Flask:
    app = Flask("cuadre_test")
    app.config.update(TESTING=True, SECRET_KEY="only for tests")
    register(app, house)
    return app


@pytest.fixture
def app(reconciled: House) -> Flask:
    return make_app(reconciled)


@pytest.fixture
def bare_app(house: House) -> Flask:
    """An application whose books were never reconciled."""
    with house.store.transaction() as session:
        add_user(session, EMAIL, PASSWORD, Role.ADMIN, now=FINISHED)
    return make_app(house)


@pytest.fixture
def stranger(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def csrf() -> Callable[..., str]:
    """Read the token of a page's form, as a browser would send it back."""
    return _csrf


@pytest.fixture
def login() -> Callable[..., FlaskClient]:
    """Log in through the form and give the browser."""
    return _login


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A browser whose reader has logged in."""
    return _login(app)


def _csrf(client: FlaskClient, path: str = "/login") -> str:
    page = client.get(path).get_data(as_text=True)
    return page.split('name="csrf_token" value="', 1)[1].split('"', 1)[0]


def _login(app: Flask, email: str = EMAIL, password: str = PASSWORD) -> FlaskClient:
    client = app.test_client()
    form = {"email": email, "password": password, "csrf_token": _csrf(client)}
    assert client.post("/login", data=form).status_code == 302
    return client
