"""The books as pages: files looked at before they are kept, closed periods, and who may do which of it."""

import io
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import SQLModel

from consumer.facts.clock import utc_now
from consumer.facts.house import House
from consumer.facts.tables.provider import PayoutItem
from reconcile.tables import (
    BankLine,
    ClosedFigure,
    InvoiceFile,
    LocalInvoice,
    Period,
    PeriodAdjustment,
    ProviderFee,
    Run,
)
from reports.people import Role, add_user, to_user

Csrf = Callable[..., str]
Login = Callable[..., FlaskClient]

HEAD = "doc_type,series,folio,issue_date,customer_tax_id,customer_name,net,vat,total,currency,status"
INVOICES = f"{HEAD}\r\n33,,501,2026-10-02,11111111-1,Comercial Ñandú,1000,190,1190,CLP,valid\r\n".encode()
BANK = (
    "Fecha;Descripción;Cargos;Abonos;Saldo\r\n01-10-2026;Pasarela;;1500;1500\r\n02-10-2026;Luz;200;;1300\r\n"
).encode()
ACCOUNT = "000071402296"
PAYOUT = b"id,amount,fee,resource_type\r\npi_1,100000,1607,payment_intent\r\npi_2,50000,803,payment_intent\r\n"


def kept(house: House, table: type[SQLModel]) -> list[Any]:
    with house.store.reading() as session:
        return list(session.scalars(sa.select(table)))


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


@pytest.fixture
def look(client: FlaskClient, csrf: Csrf) -> Callable[..., str]:
    """Bring a file to be looked at and give the page."""

    def bring(content: bytes, *, name: str = "ventas.csv", kind: str = "invoices", account: str = "") -> str:
        form = {"csrf_token": csrf(client, "/books"), "connection": "main", "kind": kind, "account": account}
        answer = client.post(
            "/books/look", data={**form, "file": (io.BytesIO(content), name)}, follow_redirects=True
        )  # fmt: skip
        assert answer.status_code == 200
        return answer.get_data(as_text=True)

    return bring


def key_in(page: str) -> str:
    return page.split('name="key" value="', 1)[1].split('"', 1)[0]


def confirm(client: FlaskClient, csrf: Csrf, key: str, **more: str) -> str:
    form = {"csrf_token": csrf(client, "/books"), "key": key, **more}
    return client.post("/books/keep", data=form, follow_redirects=True).get_data(as_text=True)


def test_a_file_is_looked_at_before_it_is_kept(
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: House
) -> None:
    """The look shows the control totals and writes nothing; the confirmation brings it in once and names who did."""
    page = look(INVOICES)
    assert "Filas 1 Nuevas 1 Cambiadas 0 Ya conocidas 0" in text_of(page)
    assert "33 CLP 1 1.000 0 190 1.190" in text_of(page)
    assert kept(reconciled, InvoiceFile) == []
    told = confirm(client, csrf, key_in(page))
    assert "ventas.csv quedó en los libros." in told
    assert [row.folio for row in kept(reconciled, LocalInvoice)] == ["501"]
    assert "ya se confirmó o esperó demasiado" in confirm(client, csrf, key_in(page))
    assert len(kept(reconciled, InvoiceFile)) == 1
    assert "trajo a los libros" in client.get("/operation/trail").get_data(as_text=True)


def test_a_file_that_came_in_before_says_so(look: Callable[..., str], client: FlaskClient, csrf: Csrf) -> None:
    """The same file a second time offers nothing to confirm."""
    confirm(client, csrf, key_in(look(INVOICES)))
    page = look(INVOICES, name="otra copia.csv")
    assert "Este archivo ya se trajo el" in page
    assert 'name="key"' not in page


def test_a_file_with_a_fault_is_refused_with_line_and_reason(look: Callable[..., str], reconciled: House) -> None:
    """Nothing of it can be confirmed, and each fault is told in Spanish where it stands."""
    page = look(INVOICES.replace(b"2026-10-02", b"2026-02-31").replace(b"CLP", b"XXX"))
    assert "No se guardó nada de este archivo." in page
    assert "issue_date 2026-02-31" in text_of(page)
    assert 'name="key"' not in page
    assert kept(reconciled, LocalInvoice) == []


@pytest.fixture
def with_items(reconciled: House) -> House:
    """The two payments that one payout is made of, as the provider lists them."""
    money: dict[str, Any] = {"connection": "main", "payout_id": "po_1", "mode": "test", "currency": "CLP", "body": "{}"}
    with reconciled.store.transaction() as session:
        for resource_id, amount in (("pi_1", 100_000), ("pi_2", 50_000)):
            session.add(PayoutItem(resource_type="payment_intent", resource_id=resource_id, amount=amount, **money))
    return reconciled


def test_a_payout_report_brings_the_fees_of_its_payout(
    with_items: House, look: Callable[..., str], client: FlaskClient, csrf: Csrf
) -> None:
    """The look names the payout and adds its fees up and writes nothing; a second look says it is known."""
    page = look(PAYOUT, name="liquidacion.csv", kind="payout")
    assert "po_1 CLP 2 2.410" in text_of(page)
    assert kept(with_items, ProviderFee) == []
    assert "liquidacion.csv quedó en los libros." in confirm(client, csrf, key_in(page))
    assert sorted(fee.fee_total for fee in kept(with_items, ProviderFee)) == [803, 1607]
    assert "liquidacion.csv" in client.get("/books/payout-reports").get_data(as_text=True)
    page = look(PAYOUT, name="liquidacion.csv", kind="payout")
    assert "para po_1; no cambió nada." in page
    assert 'name="key"' not in page


def test_a_payout_report_of_nobody_is_refused(with_items: House, look: Callable[..., str]) -> None:
    """An amount the provider's API does not know, and rows of no payout, are told in Spanish."""
    page = look(PAYOUT.replace(b"50000", b"50001"), kind="payout")
    assert "La API del proveedor dice 50000." in page
    assert "son los movimientos de 0 liquidaciones conocidas" in look(PAYOUT.replace(b"pi_2", b"pi_9"), kind="payout")
    assert kept(with_items, ProviderFee) == []


def test_a_bank_file_shows_its_balances_and_no_account(
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: House
) -> None:
    """Opening, in, out and closing stand side by side; the account is told by its last digits on every page."""
    page = look(BANK, name="cartola.csv", kind="bank", account=ACCOUNT)
    assert "01-10-2026 – 02-10-2026 CLP 2 0 1.500 -200 1.300 1.300" in text_of(page)
    assert ACCOUNT not in page
    confirm(client, csrf, key_in(page))
    assert [line.amount for line in kept(reconciled, BankLine)] == [1500, -200]
    shown = client.get("/books/bank-files").get_data(as_text=True) + client.get("/books/bank-lines").get_data(True)
    assert "···2296" in shown
    assert ACCOUNT not in shown
    assert ACCOUNT not in client.get("/reports/bank-lines.csv").get_data(as_text=True)


def test_a_bank_file_needs_the_whole_number(look: Callable[..., str]) -> None:
    """Last digits are refused: two accounts may share them."""
    assert "Escriba el número completo de la cuenta" in look(BANK, kind="bank", account="2296")


def test_a_look_can_be_left(look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: House) -> None:
    """Who leaves it keeps nothing and can confirm nothing later."""
    key = key_in(look(INVOICES))
    confirm(client, csrf, key, action="drop")
    assert "ya se confirmó o esperó demasiado" in confirm(client, csrf, key)
    assert kept(reconciled, LocalInvoice) == []
    assert list((reconciled.settings.data_dir / "uploads").glob("*")) == []


def test_nobody_confirms_what_another_looked_at(
    look: Callable[..., str], app: Flask, reconciled: House, login: Login, csrf: Csrf
) -> None:
    """A key belongs to the reader who brought the file."""
    key = key_in(look(INVOICES))
    with reconciled.store.transaction() as session:
        add_user(session, to_user("luz@tienda.test", "otra clave larga", Role.FINANCE, now=utc_now()))
    luz = login(app, "luz@tienda.test", "otra clave larga")
    assert "ya se confirmó o esperó demasiado" in confirm(luz, csrf, key)
    assert luz.get(f"/books/look/{key}").status_code == 302
    assert kept(reconciled, LocalInvoice) == []


@pytest.mark.parametrize("name", ["../../fuera.csv", "..\\fuera.csv", "/etc/passwd", "..", "", "你" * 120])
def test_the_name_of_a_file_leads_nowhere(look: Callable[..., str], reconciled: House, name: str) -> None:
    """Whatever a browser calls a file, it lies in its own folder."""
    look(INVOICES, name=name or "x")
    folder = reconciled.settings.data_dir
    found = [path for path in folder.rglob("*") if path.is_file() and path.name != "terms.json"]
    assert [path.parent.name for path in found if "uploads" in path.parts] == ["file"]
    assert not (folder / "fuera.csv").exists()


def test_no_file_and_an_unknown_kind_are_told(client: FlaskClient, csrf: Csrf) -> None:
    """An empty form says what is missing; a kind that is none is refused."""
    form = {"csrf_token": csrf(client, "/books"), "connection": "main", "kind": "invoices"}
    told = client.post("/books/look", data=form, follow_redirects=True).get_data(as_text=True)
    assert "Elija primero un archivo." in told
    assert client.post("/books/look", data={**form, "kind": "payroll"}).status_code == 400
    assert client.post("/books/look", data={**form, "connection": "other"}).status_code == 404


@pytest.fixture
def closed(reconciled: House) -> int:
    """September closed by somebody, with a payout, an item and a document, and one adjustment of a later run."""
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
            ("payout", "po_1"): "status succeeded, payout amount 137590, fee total 2410, difference 0",
            ("item", "payment_intent pi_1"): "amount 100000, matched cl:33::1102 100000",
            ("document", "cl:33::1102"): "total 100000, currency CLP",
        }
        session.add_all(
            ClosedFigure(period_id=number, kind=kind, subject=subject, words=words)
            for (kind, subject), words in frozen.items()
        )
        line: dict[str, Any] = {"period_id": number, "run_id": "run-2", "found_at": at}
        session.add(PeriodAdjustment(kind="document", subject="cl:33::1102", before="total 100000, currency CLP",
                                     after="void", **line))  # fmt: skip
    return number


def test_a_closed_period_shows_what_it_froze_and_what_came_later(client: FlaskClient, closed: int) -> None:
    """Who and why, each figure in the reader's words with a link to what it is about, and the difference beside it."""
    raw = client.get(f"/books/periods/main/{closed}").get_data(as_text=True)
    page = text_of(raw)
    assert "Todo hasta el 30-09-2026 Cerrado" in page
    assert "ana@tienda.test · 02-10-2026 09:00" in page
    assert "Liquidación po_1 estado exitosa, liquidado 137.590, comisiones 2.410, diferencia 0" in page
    assert "Movimiento payment_intent pi_1 monto 100.000, Conciliado cl:33::1102 100.000" in page
    assert "Documento cl:33::1102 total 100.000, moneda CLP Anulado" in page
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


def test_a_period_is_reopened_for_a_reason(client: FlaskClient, csrf: Csrf, closed: int, reconciled: House) -> None:
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
    ("form", "told"),
    [
        ({"until": "2126-01-01", "reason": "x"}, "todavía no termina"),
        ({"until": "2026-10-08", "reason": "x"}, "un período solo se cierra con datos completos"),
    ],
)
def test_a_closing_that_cannot_be_is_told(
    client: FlaskClient, csrf: Csrf, reconciled: House, form: dict[str, str], told: str
) -> None:
    """A day to come and incomplete data close nothing, and leave no run behind that everybody would see."""
    form = {"csrf_token": csrf(client, "/books/periods"), "connection": "main", **form}
    page = client.post("/books/close", data=form, follow_redirects=True).get_data(as_text=True)
    assert told in page
    assert kept(reconciled, Period) == []
    assert len(kept(reconciled, Run)) == 1


def test_who_may_do_what(app: Flask, reconciled: House, login: Login, csrf: Csrf, closed: int) -> None:
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
    assert ('action="/books/close"' in page, 'action="/books/reopen"' in page) == (True, False)
    form["csrf_token"] = csrf(luz, "/")
    assert luz.post("/books/reopen", data={**form, "reason": "x"}).status_code == 403
