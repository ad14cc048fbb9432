"""Answering a dispute on the pages: deadlines nearest first, evidence looked at, sent once, and submitted."""

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient
from playwright.sync_api import Browser, Page, expect

from consumer import errands
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.tables.provider import Dispute
from consumer.provider.client import Provider
from cuadre import Commands
from reports.access.people import Role, add_user, to_user
from sandbox.serve import RunningSandbox
from sandbox.state.happening import Happening
from tests.merchant import settings_of

DAY = timedelta(days=1)
PDF = b"%PDF-1.4 delivery note"


@pytest.fixture
def running() -> Iterator[RunningSandbox]:
    with RunningSandbox("quiet", scale=0.2) as running:
        yield running


@pytest.fixture
def answering(reconciled: Installation, running: RunningSandbox, tmp_path: Path) -> Installation:
    """The made-up run at the sandbox, with three disputes; the sandbox has the one that waits longest."""
    installation = replace(reconciled, settings=settings_of(running.url, tmp_path))
    now = running.world.now()
    told = {
        "id": "cb_1", "object": "dispute", "mode": "test", "amount": 50_000, "currency": "CLP", "documents": [],
        "status": "waiting_documentation", "resource_id": "pi_2", "created_at": now.isoformat(), "_ending": None,
        "documentation_upload_deadline": (now + 14 * DAY).isoformat(),
    }  # fmt: skip
    running.world.tell(Happening(now, "disputes", told, "dispute.waiting_documentation"))
    opened = now
    with installation.store.transaction() as session:
        for name, status, days, payment in (
            ("cb_1", "waiting_documentation", 14, "pi_2"), ("cb_2", "waiting_documentation", 8, "pi_2"),
            ("cb_0", "won", 1, "pi_1"),
        ):  # fmt: skip
            session.add(
                Dispute(
                    connection="main", id=name, mode="test", status=status, amount=50_000, currency="CLP",
                    created_at=opened, version_at=opened, due_at=opened + days * DAY, resource_id=payment,
                    body='{"documents": []}',
                )
            )  # fmt: skip
    return installation


@pytest.fixture
def pages(answering: Installation, make_app: Callable[..., Flask]) -> Flask:
    return make_app(answering, errands=errands.errands(answering))


def test_the_nearest_deadline_stands_first(pages: Flask, login: Callable[..., FlaskClient]) -> None:
    """Disputes that wait come before those that are over; each says the bank days left and what it is about."""
    client = login(pages)
    page = client.get("/disputes").get_data(as_text=True)
    order = [page.index(f"/disputes/main/{name}") for name in ("cb_2", "cb_1", "cb_0")]
    assert order == sorted(order)
    rows = client.get("/api/v1/disputes?as_of=2026-10-08").get_json()["data"]
    assert [(row["dispute_id"], row["bank_days_left"], row["payout_id"]) for row in rows] == [
        ("cb_0", None, "po_1"),
        ("cb_1", 4, "po_1"),
        ("cb_2", 1, "po_1"),
    ]
    assert {(row["payment_id"], row["amount"], row["status"]) for row in rows[1:]} == {
        ("pi_2", "50000", "waiting_documentation")
    }


def test_the_document_of_a_dispute_is_named(pages: Flask, login: Callable[..., FlaskClient]) -> None:
    """A dispute about a payment that a document took opens, and links that document by its name."""
    answer = login(pages).get("/disputes/main/cb_0")
    assert answer.status_code == 200
    assert '/documents/main/cl:33::1201">Factura electrónica 1201</a>' in answer.get_data(as_text=True)


def test_bad_files_are_refused_in_a_sentence_and_nothing_is_kept(
    pages: Flask, login: Callable[..., FlaskClient], csrf: Callable[..., str]
) -> None:
    """A type the provider does not take, no file at all, and a document of another dispute; viewers may not send."""
    client = login(pages)
    form = {"csrf_token": csrf(client, "/disputes/main/cb_1")}
    path = "/disputes/main/cb_1/evidence"
    refused = client.post(path, data={**form, "file": (BytesIO(b"x"), "nota.txt")})
    assert refused.status_code == 422
    assert "nota.txt no es PDF, JPEG ni PNG: el proveedor solo recibe estos." in refused.get_data(as_text=True)
    assert client.post(path, data=form).status_code == 422
    assert client.post(f"{path}/7", data=form).status_code == 422
    assert client.get(f"{path}/7").status_code == 404
    assert client.get("/disputes/main/cb_unknown").status_code == 404


def test_what_is_too_late_or_was_sent_is_said_in_local_words(
    pages: Flask, login: Callable[..., FlaskClient], csrf: Callable[..., str]
) -> None:
    """A dispute that is over keeps no document; one that was sent says when in the reader's own time."""
    client = login(pages)
    form = {"csrf_token": csrf(client, "/disputes/main/cb_1")}
    over = client.post("/disputes/main/cb_0/evidence", data={**form, "file": (BytesIO(PDF), "guía.pdf")})
    assert over.status_code == 422
    assert "cb_0 ya no admite documentos: su estado es" in over.get_data(as_text=True)
    assert "guía.pdf" not in client.get("/disputes/main/cb_0").get_data(as_text=True)
    path = "/disputes/main/cb_1/evidence"
    client.post(path, data={**form, "file": (BytesIO(PDF), "guía.pdf")})
    assert client.post(f"{path}/1", data={**form, "action": "send"}).status_code == 303
    again = client.post(f"{path}/1", data={**form, "action": "send"})
    assert again.status_code == 422
    said = again.get_data(as_text=True).partition("guía.pdf ya se envió")[2].partition("</p>")[0]
    assert re.search(r"ana@tienda\.test, \d\d-\d\d-\d{4} \d\d:\d\d\.$", said), said


@pytest.mark.both_databases
def test_who_presses_while_another_sends_is_told_so(
    pages: Flask, answering: Installation, login: Callable[..., FlaskClient], csrf: Callable[..., str],
    running: RunningSandbox, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Two people and a command at once on one dispute: one request at the provider, and plain words for the others."""
    with answering.store.transaction() as session:
        add_user(session, to_user("beto@tienda.test", "una clave larga", Role.FINANCE, now=utc_now()))
    ana, beto = login(pages), login(pages, "beto@tienda.test", "una clave larga")
    path = "/disputes/main/cb_1"
    hers, his = ({"csrf_token": csrf(client, path), "seen": "1"} for client in (ana, beto))
    ana.post(f"{path}/evidence", data={**hers, "file": (BytesIO(PDF), "guia.pdf")})
    file = next((answering.settings.files_dir / "evidence").iterdir())
    create = Provider.create
    for address, action, words, said in (
        ("evidence/1", "documents", ["upload", "cb_1", str(file)], "guia.pdf ya se envió al contracargo cb_1: lo hizo"),
        ("submit", "submit_for_review", ["submit", "cb_1"], "ya se envió a revisión: lo hizo ana@tienda.test"),
    ):  # fmt: skip
        is_going, others_are_told = threading.Event(), threading.Event()
        statuses: list[int] = []

        def wait(self: Provider, *given: Any, **more: Any) -> Any:
            is_going.set()  # noqa: B023 - it is over before the next
            assert others_are_told.wait(120)  # noqa: B023
            return create(self, *given, **more)

        def press() -> None:
            statuses.append(ana.post(f"{path}/{address}", data=hers).status_code)  # noqa: B023

        monkeypatch.setattr(Provider, "create", wait)
        first = threading.Thread(target=press)
        first.start()
        assert is_going.wait(120)
        told = beto.post(f"{path}/{address}", data=his)
        command = CliRunner().invoke(Commands(), ["disputes", *words, "--yes"], obj=lambda: answering)
        others_are_told.set()
        first.join(120)
        assert (statuses, told.status_code) == ([303], 422)
        assert "ana@tienda.test lo está enviando al proveedor desde" in told.get_data(as_text=True)
        assert "ana@tienda.test has been sending it to the provider since" in command.output
        after = beto.post(f"{path}/{address}", data=his)
        assert (after.status_code, said in after.get_data(as_text=True)) == (422, True)
        asked = [
            number
            for at, number in running.world.requests.items()
            if at == f"POST /v1{path.replace('/main', '')}/{action}?"
        ]
        assert asked == [1]


def test_a_viewer_sees_and_may_not_send(
    pages: Flask, answering: Installation, login: Callable[..., FlaskClient], csrf: Callable[..., str]
) -> None:
    """The page has no forms for them, and the routes refuse."""
    with answering.store.transaction() as session:
        add_user(session, to_user("eva@tienda.test", "una clave larga", Role.VIEWER, now=utc_now()))
    client = login(pages, "eva@tienda.test", "una clave larga")
    assert "Agregar un documento" not in client.get("/disputes/main/cb_1").get_data(as_text=True)
    for path in ("evidence", "evidence/1", "submit"):
        answer = client.post(f"/disputes/main/cb_1/{path}", data={"csrf_token": csrf(client, "/account")})
        assert answer.status_code == 403


@pytest.fixture
def page(browser: Browser, pages: Flask, serving: Callable[[Flask], str]) -> Iterator[Page]:
    context = browser.new_context()
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(f"{serving(pages)}/login?next=/disputes")
    page.get_by_label("Correo").fill("ana@tienda.test")
    page.get_by_label("Contraseña").fill("una clave larga")
    page.get_by_role("button", name="Entrar").click()
    page.get_by_role("link", name="Hoy").wait_for()
    yield page
    context.close()


def test_a_person_answers_a_dispute_in_a_browser(page: Page, running: RunningSandbox, tmp_path: Path) -> None:
    """A file is kept, seen with its digest, sent by one button, submitted by another; the provider has it once."""
    (tmp_path / "guia.pdf").write_bytes(PDF)
    page.goto(page.url.partition("/disputes")[0].rstrip("/") + "/disputes/main/cb_1")
    page.get_by_label("Archivo").set_input_files(tmp_path / "guia.pdf")
    page.get_by_role("button", name="Revisar primero").click()
    expect(page.get_by_text("sin enviar", exact=True)).to_be_visible()
    assert running.world.get("test", "disputes", "cb_1")["documents"] == []
    page.get_by_role("button", name="Enviar al proveedor guia.pdf").click()
    expect(page.get_by_text("Enviado al proveedor.")).to_be_visible()
    page.get_by_role("button", name="Enviar a revisión").click()
    expect(page.get_by_text("Enviado a revisión.")).to_be_visible()
    expect(page.get_by_text("en revisión", exact=True)).to_be_visible()
    found = running.world.get("test", "disputes", "cb_1")
    assert ([one["filename"] for one in found["documents"]], found["status"]) == (["guia.pdf"], "in_review")
