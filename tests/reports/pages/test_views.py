"""Reports as pages and the lists of operation: the same rows as the files, filtered and worded."""

from datetime import UTC, datetime
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlmodel import SQLModel

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.messages import LANGUAGES, is_translated
from consumer.facts.tables.inbox import Event, EventConflict
from consumer.facts.tables.jobs import Tick
from consumer.facts.tables.sync import Lateness, Window
from reports.directory import LISTINGS
from reports.making import catalogue
from reports.pages.views import PLACES
from tests.reports.pages.looking import text_of

NOW = datetime(2026, 10, 8, 12, 30, tzinfo=UTC)


def events() -> list[SQLModel]:
    event: dict[str, Any] = {
        "connection": "main",
        "mode": "test",
        "created_at": NOW,
        "received_at": NOW,
        "source": "webhook",
        "raw_sha256": "a" * 64,
        "meaning_sha256": "b" * 64,
        "last_arrival_at": NOW,
    }
    return [
        Event(id="evt_1", type="payout.succeeded", state="applied", resource_id="po_1", **event),
        Event(
            id="evt_2",
            type="refund.failed",
            state="quarantined",
            error="no amount",
            body=b'{"a": "<b>", "account_number": "84112160839"}',
            **event,
        ),
        EventConflict(
            connection="main",
            id="evt_1",
            other_sha256="c" * 64,
            meaning_sha256="d" * 64,
            first_sha256="a" * 64,
            source="backfill",
            seen_at=NOW,
            times=2,
        ),
    ]


def work() -> list[SQLModel]:
    return [
        Window(
            connection="main",
            stream="events",
            since=NOW,
            until=NOW,
            state="open",
            reason="the provider answered 503",
            opened_at=NOW,
        ),
        Window(connection="main", stream="payouts", until=NOW, state="closed", opened_at=NOW, closed_at=NOW),
        Tick(
            job="nightly:main",
            planned_at=NOW,
            state="done",
            worker="w",
            started_at=NOW,
            lease_until=NOW,
            finished_at=NOW,
            outcome="8 of 8 payouts closed",
        ),
    ]


@pytest.fixture
def busy(reconciled: Installation, client: FlaskClient) -> FlaskClient:
    """A day on which an event failed, one came in two versions, a window stayed open and a night ran."""
    with reconciled.store.transaction() as session:
        session.add_all([*events(), *work()])
    return client


def test_a_report_is_also_a_page(client: FlaskClient) -> None:
    """The page shows the file's rows with the reader's figures."""
    for path, shown in [
        ("/view/receivables", "Por antigüedad · CLP Días de mora Saldo"),
        ("/view/receivables?as_of=2026-10-08", "1-30 50.000"),
        (
            "/view/documents",
            "0 Pagado Comercial Ñandú, SpA 01-10-2026 31-10-2026 100.000 CLP",
        ),
        ("/view/documents?from=2026-11-01", "No hay filas para estos filtros o estos días."),
        ("/view/in-transit", "Pago pi_3 07-10-2026 10:00 07-10-2026 CLP 30.000"),
        ("/view/clearing", "06-10-2026 CLP 150.000 0 0 -10.000 0 0 -2.410 -137.590 0 0 0"),
        ("/view/cash-application", "Comercial Ñandú, SpA 33 1201 100.000 CLP Transferencia 1.1.03.10 pi_1"),
        ("/view/fees", "oct 2026 Transferencia 1 100.000"),
        ("/view/control", "Cuadra"),
    ]:
        assert shown in text_of(client, path), path


def test_pages_and_files_of_people_write_local_time(client: FlaskClient) -> None:
    """A moment is in the zone of its connection on the page and in the file; programs read it in UTC."""
    page = text_of(client, "/view/in-transit")
    assert "Movimiento Ocurrido Día bancario" in page
    assert "07-10-2026 10:00" in page
    file = client.get("/reports/in-transit.csv?profile=cl").get_data(as_text=True)
    assert "Movimiento;Ocurrido;Día bancario" in file
    assert "07-10-2026 10:00:00" in file
    assert "2026-10-07T13:00:00Z" in client.get("/reports/in-transit.csv").get_data(as_text=True)


def test_the_events_page_warns_of_what_somebody_must_look_at(busy: FlaskClient) -> None:
    """Events in two versions and events set aside are said above the list, and the warning leads to them."""
    page = text_of(busy, "/operation/events")
    assert "1 eventos conocidos llegaron otra vez con otro contenido" in page
    assert "1 eventos no se pudieron aplicar y quedaron apartados" in page
    raw = busy.get("/operation/events").get_data(as_text=True)
    assert 'href="/operation/conflicts"' in raw
    assert 'href="/operation/events?state=quarantined"' in raw
    assert "otro contenido:" not in text_of(busy, "/operation/gaps")


def test_a_list_of_operation_is_a_page(busy: FlaskClient) -> None:
    """Runs, events, conflicts, gaps and jobs are lists with a filter; a closed window is no gap."""
    for path, shown in [
        ("/operation/runs", "Conciliación del 08-10-2026 (n.º 42) run-1 08-10-2026 Completa"),
        ("/operation/runs?state=incomplete", "No hay filas para estos filtros o estos días."),
        (
            "/operation/events",
            "evt_1 payout.succeeded 08-10-2026 09:30 08-10-2026 09:30 webhook Aplicado",
        ),
        ("/operation/events?state=quarantined", "En cuarentena no amount"),
        ("/operation/events?q=po_1", "1 fila ·"),
        ("/operation/events?q=refund", "1 fila ·"),
        ("/operation/conflicts", f"relectura {'a' * 64} {'c' * 64} 2"),
        ("/operation/gaps", "Eventos 08-10-2026 09:30 08-10-2026 09:30 Abierto 0 0 the provider answered 503"),
        ("/operation/gaps?state=failed", "No hay filas para estos filtros o estos días."),
        ("/operation/jobs", "Noche · main 08-10-2026 09:30 Listo"),
    ]:
        assert shown in text_of(busy, path), path


def test_an_event_shows_its_body_as_it_came(busy: FlaskClient) -> None:
    """The body is shown as text, never as markup, account numbers masked; one that retention dropped says so."""
    page = busy.get("/operation/events/main/evt_2").get_data(as_text=True)
    assert "{\n  &#34;a&#34;: &#34;&lt;b&gt;&#34;,\n  &#34;account_number&#34;: &#34;****0839&#34;\n}" in page
    assert "El contenido ya pasó el plazo" in text_of(busy, "/operation/events/main/evt_1")


@pytest.mark.parametrize(
    "path", ["/operation/none", "/view/none", "/operation/events/main/none", "/operation/events/other/evt_1"]
)
def test_what_is_not_a_list_is_a_404(client: FlaskClient, path: str) -> None:
    """A wrong name is named as such."""
    assert client.get(path).status_code == 404


def test_every_list_has_its_words() -> None:
    """Each state of a list is in the dictionary; headings stand in the catalogues."""
    states = {f"{listing.words}.{state}" for listing in LISTINGS.values() for state in listing.states}
    unknown = {code for code in states for language in LANGUAGES if not is_translated(code, language)}
    assert sorted(unknown) == []


def test_every_report_has_a_place_among_the_pages() -> None:
    """No report can only be downloaded: those without a list of their own have a view."""
    own = {"payout-summary", "payout-detail", "exceptions", "bank-lines", "disputes"}
    assert set(catalogue.AVAILABLE) - own - set(PLACES.values()) == set()


def test_lateness_is_what_the_doctor_tells(client: FlaskClient, reconciled: Installation) -> None:
    """The page reads the same month of counts as the doctor and the metrics; how late the list is stays out of it."""
    with reconciled.store.transaction() as session:
        day: dict[str, Any] = {"connection": "main", "on": utc_now().date()}
        session.add(Lateness(way="webhook", step_seconds=2, events=995, worst_seconds=2, **day))
        session.add(Lateness(way="webhook", step_seconds=60, events=4, worst_seconds=41, **day))
        session.add(Lateness(way="webhook", step_seconds=3_600, events=1, worst_seconds=3_600, **day))
        session.add(Lateness(way="list", step_seconds=172_800, events=500, worst_seconds=100_000, **day))
    page = text_of(client, "/operation")
    assert "Con cuánto atraso llegaron los webhooks en un mes: 1.000" in page
    assert "50 % 2 s 95 % 2 s 99 % 2 s 99,9 % 41 s 100 % 60 min" in page
