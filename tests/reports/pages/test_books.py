"""Files of the books as pages: looked at before they are kept, and kept by whoever looked."""

import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.tables.provider import Payout, PayoutItem
from reconcile.tables.books import BankLine, InvoiceFile, LocalInvoice, ProviderFee
from reports.access.people import Role, add_user, to_user
from tests.reports.pages.looking import kept, text_in

Csrf = Callable[..., str]
Login = Callable[..., FlaskClient]

HEAD = "doc_type,series,folio,issue_date,customer_tax_id,customer_name,net,vat,total,currency,status"
INVOICES = f"{HEAD}\r\n33,,501,2026-10-02,11111111-1,Comercial Ñandú,1000,190,1190,CLP,valid\r\n".encode()
BANK = (
    "Fecha;Descripción;Cargos;Abonos;Saldo\r\n01-10-2026;Pasarela;;1500;1500\r\n02-10-2026;Luz;200;;1300\r\n"
).encode()
ACCOUNT = "000071402296"
PAYOUT = b"id,amount,fee,resource_type\r\npi_1,100000,1607,payment_intent\r\npi_2,50000,803,payment_intent\r\n"


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
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """The look shows the control totals and writes nothing; the confirmation brings it in once and names who did."""
    page = look(INVOICES)
    assert "Filas 1 Nuevas 1 Cambiadas 0 Ya conocidas 0" in text_in(page)
    assert "33 CLP 1 1.000 0 190 1.190" in text_in(page)
    assert kept(reconciled, InvoiceFile) == []
    reported = confirm(client, csrf, key_in(page))
    assert "ventas.csv quedó en los libros." in reported
    assert [row.folio for row in kept(reconciled, LocalInvoice)] == ["501"]
    assert "ya se confirmó o esperó demasiado" in confirm(client, csrf, key_in(page))
    assert len(kept(reconciled, InvoiceFile)) == 1
    assert "trajo a los libros" in client.get("/operation/trail").get_data(as_text=True)


def test_a_file_that_came_in_before_says_so(look: Callable[..., str], client: FlaskClient, csrf: Csrf) -> None:
    """The same file a second time offers nothing to confirm."""
    confirm(client, csrf, key_in(look(INVOICES)))
    page = look(INVOICES, name="otra copia.csv")
    assert "Este archivo ya se importó el" in page
    assert 'name="key"' not in page


def test_a_list_without_kinds_is_read_as_what_its_reader_says(
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """No kind is chosen beforehand; what was chosen is said on the look, and stands in the trail."""
    content = b"Folio;Fecha;RUT;Neto;IVA;Total\r\n501;02-10-2026;11111111-1;1000;190;1190\r\n"
    page = look(content)
    assert "ninguna columna dice de qué tipo son sus documentos" in page
    assert re.search(r'<select id="doc-type" name="doc_type" required><option value=""></option>', page)
    form = {"csrf_token": csrf(client, "/books"), "key": key_in(page)}
    refused = client.post("/books/columns", data={**form, "doc_type": "52"})
    assert (refused.status_code, "no es uno de" in refused.text) == (400, True)
    read = client.post("/books/columns", data={**form, "doc_type": "34"}, follow_redirects=True).text
    assert "Todos los documentos de esta lista se toman como: Factura exenta electrónica" in read
    assert "ventas.csv quedó en los libros." in confirm(client, csrf, form["key"])
    assert [row.doc_key for row in kept(reconciled, LocalInvoice)] == ["cl:34::501"]
    assert "Factura exenta electrónica" in client.get("/operation/trail").text


def test_the_look_says_which_columns_were_read(look: Callable[..., str]) -> None:
    """What was left out stands open, what was read as what one click away; for invoices and for the bank."""
    page = text_in(look(INVOICES.replace(b",status", b",vendedor")))
    assert "Columnas que no se leyeron: vendedor" in page
    assert "Columnas leídas: 10" in page
    assert "customer_name Cliente" in page
    page = text_in(look(BANK.replace(b"Saldo", b"Sucursal"), kind="bank", account=ACCOUNT))
    assert "Columnas que no se leyeron: Sucursal" in page
    assert "Descripción Descripción" in page


def test_totals_that_do_not_add_up_need_a_tick(
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """The rows stand with their sums; the button alone keeps nothing, the tick does, and file and trail say so."""
    content = INVOICES.replace(b",1190,", b",1290,")
    page = look(content)
    assert "2 total 1290 Las partes suman 1190 (net 1000, vat 190) y el total es 1290." in text_in(page)
    assert "33 CLP 1 1.000 0 190 1.290" in text_in(page)
    assert "Aceptar estos totales como vienen: 1" in page
    confirm(client, csrf, key_in(page))
    assert kept(reconciled, LocalInvoice) == []
    assert "ventas.csv quedó en los libros." in confirm(client, csrf, key_in(page), accept_totals="yes")
    assert [row.total for row in kept(reconciled, LocalInvoice)] == [1290]
    assert [file.totals_accepted for file in kept(reconciled, InvoiceFile)] == [1]
    assert "Totales aceptados como venían" in client.get("/books/invoice-files").get_data(as_text=True)
    assert "ventas.csv, 1 totals accepted" in client.get("/operation/trail").get_data(as_text=True)
    assert "con totales aceptados como venían: 1; no cambió nada." in look(content)


def test_a_tick_excuses_no_other_fault(look: Callable[..., str]) -> None:
    """Where something else is wrong too, nothing is offered to accept."""
    page = look(INVOICES.replace(b",1190,", b",1290,") + b"33,,502,never,,,1,0,1,CLP,valid\r\n")
    assert 'name="accept_totals"' not in page


def test_a_file_with_a_fault_is_refused_with_line_and_reason(
    look: Callable[..., str], reconciled: Installation
) -> None:
    """Nothing of it can be confirmed, and each fault is told in Spanish where it stands."""
    page = look(INVOICES.replace(b"2026-10-02", b"2026-02-31").replace(b"CLP", b"XXX"))
    assert "No se guardó nada de este archivo." in page
    assert "issue_date 2026-02-31" in text_in(page)
    assert 'name="key"' not in page
    assert kept(reconciled, LocalInvoice) == []


@pytest.fixture
def with_items(reconciled: Installation) -> Installation:
    """The two payments that one payout is made of, as the provider lists them."""
    money: dict[str, Any] = {"connection": "main", "payout_id": "po_1", "mode": "test", "currency": "CLP", "body": "{}"}
    with reconciled.store.transaction() as session:
        for resource_id, amount in (("pi_1", 100_000), ("pi_2", 50_000)):
            session.add(PayoutItem(resource_type="payment_intent", resource_id=resource_id, amount=amount, **money))
    return reconciled


def test_a_payout_report_brings_the_fees_of_its_payout(
    with_items: Installation, look: Callable[..., str], client: FlaskClient, csrf: Csrf
) -> None:
    """The look names the payout and adds its fees up and writes nothing; a second look says it is known."""
    page = look(PAYOUT, name="liquidacion.csv", kind="payout-report")
    assert "po_1 CLP 2 2.410" in text_in(page)
    assert kept(with_items, ProviderFee) == []
    assert "liquidacion.csv quedó en los libros." in confirm(client, csrf, key_in(page))
    assert sorted(fee.fee_total for fee in kept(with_items, ProviderFee)) == [803, 1607]
    assert "liquidacion.csv" in client.get("/books/payout-reports").get_data(as_text=True)
    page = look(PAYOUT, name="liquidacion.csv", kind="payout-report")
    assert "para po_1; no cambió nada." in page
    assert 'name="key"' not in page


def test_two_reports_of_one_payout_do_not_replace_each_other_unsaid(
    with_items: Installation, look: Callable[..., str], client: FlaskClient, csrf: Csrf
) -> None:
    """The second was looked at before the first was kept: it is refused once, and then says what it replaces."""
    first = look(PAYOUT, name="liquidacion.csv", kind="payout-report")
    other = PAYOUT.replace(b"1607", b"1700")
    second = look(other, name="liquidacion-2.csv", kind="payout-report")
    confirm(client, csrf, key_in(first))
    reported = confirm(client, csrf, key_in(second))
    assert (
        "Mientras usted miraba, liquidacion.csv trajo las comisiones de po_1: compare y confirme otra vez." in reported
    )
    assert "Comisiones hasta ahora Comisiones con IVA po_1 CLP 2 2.410 2.503" in text_in(reported)
    assert "Reemplaza a liquidacion.csv del" in reported
    assert sorted(fee.fee_total for fee in kept(with_items, ProviderFee)) == [803, 1607]
    digest = re.search(r'name="seen" value="([0-9a-f]{64})"', reported)
    assert digest is not None
    assert "liquidacion-2.csv quedó en los libros." in confirm(client, csrf, key_in(reported), seen=digest[1])
    assert sorted(fee.fee_total for fee in kept(with_items, ProviderFee)) == [803, 1700]


def test_a_payout_report_of_nobody_is_refused(with_items: Installation, look: Callable[..., str]) -> None:
    """An amount the provider's API does not know, and rows of no payout, are told in Spanish."""
    page = look(PAYOUT.replace(b"50000", b"50001"), kind="payout-report")
    assert "La API del proveedor dice 50000." in page
    page = look(PAYOUT.replace(b"pi_2", b"pi_9"), kind="payout-report")
    assert "son los movimientos de 0 liquidaciones conocidas" in page
    assert kept(with_items, ProviderFee) == []


def test_a_bank_file_shows_its_balances_and_no_account(
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """Opening, in, out and closing stand side by side; the account is told by its last digits on every page."""
    page = look(BANK, name="cartola.csv", kind="bank", account=ACCOUNT)
    assert "01-10-2026 – 02-10-2026 CLP 2 0 1.500 -200 1.300 1.300" in text_in(page)
    assert ACCOUNT not in page
    confirm(client, csrf, key_in(page))
    assert [line.amount for line in kept(reconciled, BankLine)] == [1500, -200]
    shown = client.get("/books/bank-files").get_data(as_text=True) + client.get("/books/bank-file-lines").get_data(True)
    assert "···2296" in shown
    assert ACCOUNT not in shown
    assert ACCOUNT not in client.get("/reports/bank-file-lines.csv").get_data(as_text=True)


UNKNOWN = b"F. Mov;Que fue;Sale;Entra;Queda\n01-10-2026;Pasarela;;1.500;1.500\n02-10-2026;Luz;200;;1.300\n"
CHOSEN = re.compile(r'<select id="column-(\w+)" name="\w+">.*?<option selected>([^<]*)', re.DOTALL)


def chosen_in(page: str) -> dict[str, str]:
    selects = page.split('<select id="column-')[1:]
    found = [CHOSEN.match(f'<select id="column-{text.partition("</select>")[0]}') for text in selects]
    return {match[1]: match[2] for match in found if match}


def test_columns_nobody_knows_are_shown_confirmed_and_remembered(
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """The look shows rows and guesses; what the reader chooses is read, kept with the file, and used later."""
    page = look(UNKNOWN, name="cartola.csv", kind="bank", account=ACCOUNT)
    guesses = {"booked_on": "F. Mov", "text": "Que fue", "debit": "Sale", "credit": "Entra", "balance": "Queda"}
    assert chosen_in(page) == guesses
    assert "01-10-2026 Pasarela 1.500 1.500" in text_in(page)
    key = page.split('name="key" value="', 1)[1].split('"', 1)[0]

    def choose(columns: dict[str, str]) -> str:
        form = {"csrf_token": csrf(client, "/books"), "key": key, **columns}
        return client.post("/books/columns", data=form, follow_redirects=True).get_data(as_text=True)

    wrong = choose({**guesses, "debit": "Entra", "credit": "Sale"})
    assert "dan" in text_in(wrong)
    assert 'value="drop"' not in wrong
    assert chosen_in(wrong)["debit"] == "Entra"
    right = choose(guesses)
    assert "01-10-2026 – 02-10-2026 CLP 2 0 1.500 -200 1.300 1.300" in text_in(right)
    confirm(client, csrf, key)
    assert [line.amount for line in kept(reconciled, BankLine)] == [1500, -200]
    later = UNKNOWN.replace(b"01-10", b"03-10").replace(b"02-10", b"04-10").replace(b"1.500;1.500", b"1.500;2.800")
    page = look(later.replace(b";;1.300", b";;2.600"), name="otra.csv", kind="bank", account=ACCOUNT)
    assert "03-10-2026 – 04-10-2026 CLP 2 1.300 1.500 -200 2.600 2.600" in text_in(page)
    assert chosen_in(page) == {}


def test_a_file_that_another_window_drops_is_gone(
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """Columns chosen, or shown, while the file goes away lead back to the books and say so."""
    page = look(UNKNOWN, name="cartola.csv", kind="bank", account=ACCOUNT)
    form = {"csrf_token": csrf(client, "/books"), "key": key_in(page), **chosen_in(page)}
    client.post("/books/columns", data=form)
    folder = reconciled.settings.data_dir / "uploads" / key_in(page)
    (folder / "file" / "cartola.csv").unlink()
    said = "ya se confirmó o esperó demasiado"
    assert said in client.get(f"/books/look/{key_in(page)}", follow_redirects=True).get_data(as_text=True)
    (folder / "kept.json.draft").symlink_to(folder / "gone" / "kept.json")
    assert said in client.post("/books/columns", data=form, follow_redirects=True).get_data(as_text=True)


@pytest.fixture
def paid_elsewhere(reconciled: Installation) -> None:
    """Let payouts go to one account, which ends in 5678."""
    with reconciled.store.transaction() as session:
        session.add(Payout(
            connection="main", id="po_9", mode="test", status="succeeded", created_at=utc_now(), amount=1,
            currency="CLP", version_at=utc_now(), body="{}", recipient_number="00012345678",
        ))  # fmt: skip


@pytest.mark.usefixtures("paid_elsewhere")
@pytest.mark.parametrize(
    ("account", "asked"),
    [
        ("999999999", "El número terminado en 9999 está bien y la cuenta es de la empresa"),
        (
            "",
            "Ni usted ni el archivo dicen la cuenta: estos movimientos son de la cuenta terminada en 5678",
        ),
    ],
    ids=["another account", "no account"],
)
def test_a_bank_file_of_an_unsure_account_needs_a_tick(
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: Installation, account: str, asked: str
) -> None:
    """The tick says what it means; without it the file is refused in words, with it the lines are of that account."""
    page = look(BANK, name="cartola.csv", kind="bank", account=account)
    assert asked in text_in(page)
    refused = confirm(client, csrf, key_in(page))
    assert "No se guardó nada: marque que la cuenta es la correcta" in refused
    assert asked in text_in(refused)
    assert kept(reconciled, BankLine) == []
    assert "cartola.csv quedó en los libros." in confirm(client, csrf, key_in(page), confirm_account="yes")
    assert {line.account for line in kept(reconciled, BankLine)} == {account or "12345678"}


@pytest.mark.usefixtures("paid_elsewhere")
def test_a_bank_file_of_the_account_of_payouts_asks_nothing(
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """A number that payouts go to is right, and so is one whose file was confirmed before."""
    page = look(BANK, kind="bank", account="12345678")
    assert 'name="confirm_account"' not in page
    confirm(client, csrf, key_in(page))
    assert [line.amount for line in kept(reconciled, BankLine)] == [1500, -200]


def test_a_bank_file_needs_the_whole_number(look: Callable[..., str]) -> None:
    """Last digits are refused: two accounts may share them."""
    assert "Escriba el número completo de la cuenta" in look(BANK, kind="bank", account="2296")


def test_a_look_can_be_left(
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """Who leaves it keeps nothing and can confirm nothing later."""
    key = key_in(look(INVOICES))
    confirm(client, csrf, key, action="drop")
    assert "ya se confirmó o esperó demasiado" in confirm(client, csrf, key)
    assert kept(reconciled, LocalInvoice) == []
    assert list((reconciled.settings.data_dir / "uploads").glob("*")) == []


def test_nobody_confirms_what_another_looked_at(
    look: Callable[..., str], app: Flask, reconciled: Installation, login: Login, csrf: Csrf
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
def test_the_name_of_a_file_leads_nowhere(look: Callable[..., str], reconciled: Installation, name: str) -> None:
    """Whatever a browser calls a file, it lies in its own folder."""
    look(INVOICES, name=name or "x")
    folder = reconciled.settings.data_dir
    found = [path for path in folder.rglob("*") if path.is_file() and path.name != "kept.json"]
    assert [path.parent.name for path in found if "uploads" in path.parts] == ["file"]
    assert not (folder / "fuera.csv").exists()


def test_no_file_and_an_unknown_kind_are_told(client: FlaskClient, csrf: Csrf) -> None:
    """An empty form says what is missing; a kind that is none is refused."""
    form = {"csrf_token": csrf(client, "/books"), "connection": "main", "kind": "invoices"}
    reported = client.post("/books/look", data=form, follow_redirects=True).get_data(as_text=True)
    assert "Elija primero un archivo." in reported
    assert client.post("/books/look", data={**form, "kind": "payroll"}).status_code == 400
    assert client.post("/books/look", data={**form, "connection": "other"}).status_code == 404


def test_a_file_that_changes_documents_shows_each_before_and_after(
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """The look names document, field and both sides; what another person changed meanwhile is looked at again."""
    confirm(client, csrf, key_in(look(INVOICES)))
    page = look(INVOICES.replace(b"1000,190,1190", b"2000,380,2380"), name="cambia.csv")
    assert "Documentos que cambia: 1" in text_in(page)
    assert "cl:33::501 Total 1.190 2.380" in text_in(page)
    key = key_in(page)
    confirm(client, csrf, key_in(look(INVOICES.replace(b"1000,190,1190", b"3000,570,3570"), name="otra.csv")))
    said = text_in(confirm(client, csrf, key, seen=page.split('name="seen" value="', 1)[1].split('"', 1)[0]))
    assert "Los libros cambiaron desde que se revisó este archivo" in said
    assert "cl:33::501 Total 3.570 2.380" in said
    assert [row.total for row in kept(reconciled, LocalInvoice) if row.folio == "501"] == [3570]


def test_a_file_is_taken_back_on_its_page(
    look: Callable[..., str], client: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """The page says what goes and what rests on the file; the list of files taken back says who and why."""
    confirm(client, csrf, key_in(look(INVOICES)))
    confirm(client, csrf, key_in(look(INVOICES.replace(b"1000,190,1190", b"2000,380,2380"), name="cambia.csv")))
    first, later = (f"/books/files/invoices/main/{row.sha256}" for row in _files_by_time(reconciled))
    page = client.get(first).get_data(as_text=True)
    assert "El archivo posterior cambia.csv" in text_in(page)
    assert "Retirarlo completo" not in page
    form = {"csrf_token": csrf(client, later), "reason": ""}
    assert "Falta el motivo" in client.post(later, data=form, follow_redirects=True).get_data(as_text=True)
    form["reason"] = "mes equivocado"
    said = text_in(client.post(later, data=form, follow_redirects=True).get_data(as_text=True))
    assert "cambia.csv se retiró completo" in said
    assert "Facturas, boletas y notas de crédito cambia.csv" in said
    assert "mes equivocado" in said
    again = client.post(later, data=form, follow_redirects=True).get_data(as_text=True)
    assert "quizás ya se retiró" in again
    assert [row.total for row in kept(reconciled, LocalInvoice) if row.folio == "501"] == [1190]
    assert client.get(later).status_code == 404


def _files_by_time(installation: Installation) -> list[InvoiceFile]:
    own = [row for row in kept(installation, InvoiceFile) if row.name in {"ventas.csv", "cambia.csv"}]
    return sorted(own, key=lambda row: row.imported_at)
