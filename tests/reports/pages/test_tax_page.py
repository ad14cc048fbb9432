"""The page of taxes: what witnesses say of a month, what is due, and declared figures typed in."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from reconcile.books.register_files import import_register
from reconcile.fiscal.collecting import voucher_days
from reconcile.fiscal.declared import Wish, declare, list_declared
from reconcile.fiscal.overview import keep, reckon
from reconcile.fiscal.witnesses import Payment
from reconcile.runs.run import run
from reconcile.runs.tax_list import list_tax
from reconcile.tables.books import InvoiceFile
from reconcile.tables.fiscal import FiscalDocument
from reports.access.people import Role, add_user, to_user
from reports.alarms import find_signals
from reports.making.fiscal import to_vouchers
from tests.merchant import settings_of
from tests.reconcile.conftest import World
from tests.reports.conftest import EMAIL, FINISHED, PASSWORD
from tests.reports.pages.looking import text_in
from tests.reports.pages.test_language import find_foreign, read

AT = datetime(2026, 11, 15, 12, tzinfo=UTC)
HEADER = (
    "Nro;Tipo Doc;Rut cliente;Razon Social;Folio;Fecha Docto;Fecha Recepcion;Monto Exento;Monto Neto;Monto IVA;"
    "Monto total;Tipo Docto. Referencia;Folio Docto. Referencia\n"
)
PAGE = "/tax/main/2026-10"
Csrf = Callable[..., str]


@pytest.fixture
def october(installation: Installation, tmp_path: Path) -> Installation:
    """Two invoices in the books of which the register has one, and a card payment."""
    world = World(installation.store)
    world.keep(
        InvoiceFile(connection="main", sha256="0" * 64, name="ventas.csv", imported_at=AT, rows=2, added=2, changed=0)
    )
    for folio in ("1", "2"):
        world.invoice(folio, 1190, issue_date=date(2026, 10, 5), net=1000, exempt=0, vat=190)
    world.payment("pi_1", 2380, created_at=datetime(2026, 10, 7, 15, tzinfo=UTC))
    file = tmp_path / "RCV_VENTA_202610.csv"
    file.write_text(HEADER + "1;33;76222222-1;Uno;1;05/10/2026;05/10/2026 10:00:00;0;1000;190;1190;;\n")
    main = installation.settings.connection("main")
    assert import_register(installation, main, file, at=AT).kept
    run(installation, main, as_of=date(2026, 11, 15))
    return installation


def tax_document(number: int, period: str) -> FiscalDocument:
    key, on = f"cl:33::{100 + number}", date.fromisoformat(f"{period}-05")
    return FiscalDocument(
        connection="main", doc_key=key, country="cl", direction="issued", kind="33", issuer_tax_id="76111111-6",
        issued_at=AT, issue_date=on, period=period, currency="CLP", net=1000, exempt=0, vat=190, withheld=0,
        total=1190, payable=1190, third_party=0, status="valid", content_sha256=f"{number:064}", file_sha256="0" * 64,
        updated_at=AT,
    )  # fmt: skip


@pytest.fixture
def reader(october: Installation, bare_app: Flask, login: Callable[..., FlaskClient]) -> FlaskClient:
    del october
    return login(bare_app)


def text_of(client: FlaskClient, path: str = PAGE) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return text_in(answer.get_data(as_text=True))


def post(client: FlaskClient, csrf: Csrf, **more: object) -> str:
    data = {"csrf_token": csrf(client, "/account"), **more}
    return text_in(client.post(PAGE, data=data, follow_redirects=True).get_data(as_text=True))


def figures(installation: Installation) -> list[tuple[str, int, int, str, str]]:
    with installation.store.reading() as session:
        found = list_declared(session, installation.settings.connection("main"))
    return [(one.code, one.amount, one.version, one.author, one.source) for one in found]


def test_registers_that_came_in_are_listed_with_their_month(reader: FlaskClient) -> None:
    """Their list and the page of the books, which shows the newest of them."""
    for path in ("/books", "/books/register-files"):
        page = text_of(reader, path)
        assert ("2026-10" in page, "RCV_VENTA_202610.csv" in page) == (True, True), path


def test_a_month_shows_each_figure_with_its_witnesses_and_causes(reader: FlaskClient) -> None:
    """The difference, its cause with the document by name, and no verdict for what is not declared."""
    page = text_of(reader)
    assert "Impuestos de octubre de 2026" in page
    assert "Débito de facturas (502) libros 15-11-2026 09:00 380 registro 15-11-2026 09:00 190 190" in page
    assert "en los libros, no en el registro 190 0 explicado" in page
    assert "no declarado: sin veredicto" in page
    assert "Factura electrónica 2" in page
    assert 'href="/documents/main/cl:33::2"' in reader.get(PAGE).get_data(as_text=True)
    assert re.search(r"Plazo desde hoy, \d\d-\d\d-\d{4} ", page)
    assert "F29 por internet 20-11-2026" in page
    assert reader.get("/tax/main/2026-13").status_code == 404
    assert "Impuestos de 2026" in text_of(reader, "/tax/main/2026")


def test_what_is_not_complete_is_said_above_the_figures(reader: FlaskClient, october: Installation) -> None:
    """Of what documents of the register the XML is missing; none is counted as missing where no XML came in at all."""
    assert "Falta el XML" not in text_of(reader)
    with october.store.transaction() as session:
        session.add(tax_document(2, "2026-10"))
    assert "Falta el XML de 1 de 1 documentos del registro." in text_of(reader)


def test_a_large_month_is_shown_as_it_was_kept(reader: FlaskClient, csrf: Csrf, october: Installation) -> None:
    """What came in since is said and not counted, until the reader compares again."""
    main = october.settings.connection("main")
    with october.store.reading() as session:
        found, mark = reckon(session, main, "2026-10", today=date(2026, 11, 16))
    with october.store.transaction() as session:
        keep(session, main, {"2026-10": replace(found, rows=1_000_000)}, mark.replace('"declared":"0', '"declared":"9'))
    before = text_in(reader.get("/tax/main/2026-10").get_data(as_text=True))
    assert "Lo que llegó después no está en ellas: cifras declaradas." in before
    token = csrf(reader, "/tax/main/2026-10")
    answer = reader.post("/tax/main/2026-10/again", data={"csrf_token": token}, follow_redirects=True)
    assert answer.status_code == 200
    assert "Lo que llegó después" not in text_in(answer.get_data(as_text=True))


def test_the_list_of_months_compares_none(reader: FlaskClient, october: Installation) -> None:
    """Each month with the register's file, what was declared and the next duty, without a row of money or documents."""
    main = october.settings.connection("main")
    with october.store.transaction() as session:
        declare(session, main, [Wish("2026-10", "502", "190"), Wish("2025", "due", "9")], author="luis", at=AT)
        session.add_all(tax_document(number, f"2026-0{1 + number % 3}") for number in range(9))
    asked: list[str] = []
    sa.event.listen(october.store.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    page = text_of(reader, "/tax")
    assert "octubre de 2026 ventas 15-11-2026 09:00 1 " in page
    assert "marzo de 2026 – – – pasó febrero de 2026 – – – pasó enero de 2026 – – – pasó 2025 – 1 –" in page
    assert f'href="{PAGE}"' in reader.get("/tax").get_data(as_text=True)
    named = {name for name in ("result_chunk", "local_invoice", "register_row") for one in asked if name in one}
    assert named == set()
    of_documents = [one for one in asked if "fiscal_document" in one]
    # One look a month and one that finds no other, twice.
    assert (len(of_documents), all("max(fiscal_document.period)" in one for one in of_documents)) == (8, True)


def test_a_figure_is_typed_in_with_its_author(reader: FlaskClient, csrf: Csrf, october: Installation) -> None:
    """What was changed is kept as a version, what was not stays; the reader's own way of writing counts."""
    page = post(reader, csrf, **{"amount.502": "1.380", "seen.502": "0", "amount.538": "", "seen.538": "0"})
    assert "Guardado. Cifras nuevas: 1." in page
    assert "Débito de facturas (502) 1.380 1 ana@tienda.test" in page
    assert figures(october) == [("502", 1380, 1, EMAIL, "typed")]
    assert "Cifras nuevas: 0" in post(reader, csrf, **{"amount.502": "1.380", "seen.502": "1"})
    assert "Cifras nuevas: 1" in post(reader, csrf, **{"amount.502": "380", "seen.502": "1"})
    assert figures(october)[0] == ("502", 380, 2, EMAIL, "typed")


@pytest.mark.both_databases
def test_two_people_never_overwrite_each_other_silently(reader: FlaskClient, csrf: Csrf, october: Installation) -> None:
    """Who looked before another declared is refused with the name; fields that were not touched change nothing."""
    main = october.settings.connection("main")
    with october.store.transaction() as session:
        declare(session, main, [Wish("2026-10", "502", "100")], author="luis", at=AT)
        declare(session, main, [Wish("2026-10", "502", "200")], author="luis", at=AT)
    refused = post(reader, csrf, **{"amount.502": "300", "seen.502": "1", "amount.111": "5", "seen.111": "0"})
    assert "Luis declaró 502 después de que usted abrió la página" in refused
    assert [(code, amount) for code, amount, *_ in figures(october)] == [("502", 200), ("502", 100)]
    assert "Cifras nuevas: 1" in post(reader, csrf, **{"amount.502": "100", "seen.502": "1", "amount.111": "5"})
    assert [(code, amount) for code, amount, *_ in figures(october)] == [("502", 200), ("502", 100), ("111", 5)]


REFUSED = [
    ("uno", "Uno no es un monto en CLP."),
    ("-5", "502 está bajo cero (-5): una declaración trae montos sin signo."),
    ("9223372036854775808", "9223372036854775808 no es un monto en CLP."),
    ("1,5", "1.5 no es un monto en CLP."),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_a_figure_that_is_none_is_refused(
    reader: FlaskClient, csrf: Csrf, october: Installation, text: str, reason: str
) -> None:
    """One sentence of the reader's language, and nothing is kept."""
    assert reason in post(reader, csrf, **{"amount.502": text, "seen.502": "0", "amount.111": "7"})
    assert figures(october) == []


def test_a_file_of_declared_figures_comes_in_whole_or_not(reader: FlaskClient, csrf: Csrf) -> None:
    """A code that stands twice is refused; a good file says how many are new."""

    def bring(text: str) -> str:
        return post(reader, csrf, file=(io.BytesIO(text.encode()), "f29.csv"))

    assert "El código 502 está dos veces" in bring("period,code,amount\n2026-10,502,1\n2026-10,502,2\n")
    assert "El archivo necesita las columnas" in bring("hola")
    page = bring("period;code;amount\n2026-10;502;190\n")
    assert "Cifras nuevas: 1." in page
    assert "Débito de facturas (502) 190 1 ana@tienda.test" in page


def test_who_only_looks_declares_nothing(
    october: Installation, bare_app: Flask, login: Callable[..., FlaskClient], csrf: Csrf
) -> None:
    """A viewer sees the page without forms, and a post is refused."""
    with october.store.transaction() as session:
        add_user(session, to_user("ver@tienda.test", "solo quiero mirar", Role.VIEWER, now=utc_now()))
    viewer = login(bare_app, "ver@tienda.test", "solo quiero mirar")
    assert "Ingresar lo declarado" not in text_of(viewer)
    assert viewer.post(PAGE, data={"csrf_token": csrf(viewer, "/account"), "amount.502": "1"}).status_code == 403
    assert figures(october) == []


def test_a_filled_page_speaks_the_spanish_of_chile(reader: FlaskClient) -> None:
    """No English, no codes and nothing of Mexico; in English it opens too."""
    assert list(find_foreign(read(reader.get(PAGE).get_data(as_text=True)), "cl")) == []
    with reader.session_transaction() as session:
        session["language"] = "en"
    assert "Taxes of October 2026" in text_of(reader)


def test_mexico_has_nothing_of_chile(
    store: Store, tmp_path: Path, make_app: Callable[..., Flask], login: Callable[..., FlaskClient], csrf: Csrf
) -> None:
    """Its own duties, figures and words; amounts with decimals."""
    mexican = Installation(settings=settings_of("http://provider.test", tmp_path, country="mx"), store=store)
    with store.transaction() as session:
        add_user(session, to_user(EMAIL, PASSWORD, Role.ADMIN, now=FINISHED))
    client = login(make_app(mexican))
    page = post(client, csrf, **{"amount.vat_caused": "1,234.50", "seen.vat_caused": "0"})
    assert "IVA causado 1,234.50 1" in page
    assert "Complementos de pago 5 nov 2026" in page
    assert "Declaración mensual 17 nov 2026" in page
    assert list(find_foreign(read(client.get(PAGE).get_data(as_text=True)), "mx")) == []


def test_a_large_month_is_compared_when_someone_asks(october: Installation, reader: FlaskClient, csrf: Csrf) -> None:
    """The page of it, and of its year, names no figure and calls nothing closed; a button compares and keeps it."""
    with october.store.transaction() as session:
        session.add(InvoiceFile(connection="main", sha256="1" * 64, name="w.csv", imported_at=AT, rows=50_000, added=0,
                                changed=0))  # fmt: skip
    page = text_of(reader)
    year = text_in(reader.get(PAGE.removesuffix("-10")).get_data(as_text=True))
    for text in (page, year):
        assert "Este período tiene muchos movimientos y ninguna noche lo ha comparado" in text
        assert "Comparar este período" in text
    assert "Ninguna causa pendiente mueve IVA" not in page
    token = csrf(reader, PAGE)
    answer = reader.post(f"{PAGE}/again", data={"csrf_token": token}, follow_redirects=True)
    page = text_in(answer.get_data(as_text=True))
    assert "ninguna noche lo ha comparado" not in page
    assert "en los libros, no en el registro" in page


def test_what_is_due_is_an_alarm_while_it_is_near_and_not_declared(october: Installation) -> None:
    """Three days before, graver on the day itself; over once a figure is declared, and worth what is open."""
    main = october.settings.connection("main")

    def find(day: int) -> list[tuple[str, str, int]]:
        with october.store.reading() as session:
            found = find_signals(session, main, datetime(2026, 11, day, 15, tzinfo=UTC))
            return [(one.cause, one.severity, one.count) for one in found if one.cause.startswith("tax_duty")]

    assert [find(day) for day in (16, 17, 20, 21)] == [
        [], [("tax_duty:f29", "medium", 3)], [("tax_duty:f29", "high", 0)], [],
    ]  # fmt: skip
    list_tax(october, main, run_id="r" * 16, as_of=date(2026, 11, 16))
    with october.store.reading() as session:
        (due,) = (one for one in find_signals(session, main, datetime(2026, 11, 17, 15, tzinfo=UTC))
                  if one.cause == "tax_duty:f29")  # fmt: skip
    assert (dict(due.amounts), due.found) == ({"CLP": 190}, "f29 of 2026-10 is due on 2026-11-20; SII_MISSING 190")
    with october.store.transaction() as session:
        declare(session, main, [Wish("2026-10", "502", "100")], author="luis", at=AT)
    assert find(17) == []


def test_vouchers_of_each_day_are_split_to_the_peso() -> None:
    """What paid an exempt document has no VAT; a receipt that stands too is shown; the last of 31 days is there."""
    payments = [
        Payment("a", date(2026, 10, 1), "credit_card", 1190),
        Payment("b", date(2026, 10, 1), "debit_card", 1001),
        Payment("c", date(2026, 10, 2), "debit_card", 500, "cl:41::1", doc_kind="41"),
        Payment("d", date(2026, 10, 3), "bank_transfer", 700),
        Payment("e", date(2026, 11, 1), "credit_card", 900),
    ]
    rows = list(to_vouchers(voucher_days(payments, "2026-10"), "main"))
    assert len(rows) == 31
    assert [list(row.values())[1:7] for row in rows[:3]] == [
        [2, 1841, 350, 0, 2191, 0], [1, 0, 0, 500, 500, 500], [0, 0, 0, 0, 0, 0],
    ]  # fmt: skip
