"""The journeys of finance in a real browser: nothing is blocked, nothing overflows a phone, no script is needed."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, expect

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from reports.access import keys
from reports.making import catalogue
from tests.reports.pages.conftest import PATIENCE
from tests.reports.pages.test_documents import keep_family

Enter = Callable[..., Page]
CASE = "/exceptions/main/00aa00aa00aa00aa"


def test_the_first_login_by_the_link(
    browser: Browser, installation: Installation, make_app: Callable[..., Flask], serving: Callable[[Flask], str]
) -> None:
    """The printed link asks for an address and a password and leads to the first page; a second visit is too late."""
    key = keys.make_first_link(installation.store, now=utc_now())
    address = serving(make_app(installation))
    page = browser.new_context().new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}/welcome/{key}")
    page.get_by_label("Correo").fill("jefa@tienda.test")
    page.get_by_label("Contraseña, de 12 caracteres o más").fill("una clave muy larga")
    page.get_by_role("button", name="Empezar").click()
    expect(page.get_by_text("Todavía no hay ninguna conciliación.")).to_be_visible()
    assert page.goto(f"{address}/welcome/{key}").status == 404  # type: ignore[union-attr]
    page.context.close()


def test_the_morning_from_the_login_to_a_resolved_exception(enter: Enter) -> None:
    """From what is open to one exception, resolved with a reason, and back to one less."""
    page = enter()
    expect(page.get_by_role("heading", name="1 de 1 liquidaciones llegaron y cuadran")).to_be_visible()
    page.get_by_role("link", name="Todas las excepciones abiertas").click()
    expect(page.get_by_role("heading", name="Excepciones")).to_be_visible()
    page.get_by_role("link", name="Pago sin documento").click()
    page.locator("#reason").fill("boleta emitida")
    page.get_by_role("button", name="Resolver").click()
    expect(page.get_by_text("Resuelta.")).to_be_visible()
    page.get_by_role("link", name="Hoy").click()
    expect(page.locator(".figures dd").first).to_have_text("1")


def test_a_match_by_hand_and_its_undo(enter: Enter, address: str) -> None:
    """A payment and a document side by side with the difference, matched for a reason, and kept apart again."""
    page = enter()
    page.goto(address + CASE)
    row = page.get_by_role("row", name="Factura electrónica 1105")
    expect(row).to_contain_text("00018")
    row.get_by_text("Decidir").click()
    row.get_by_label("Motivo").fill("el cliente lo confirmó")
    row.get_by_role("button", name="Conciliar").click()
    expect(
        page.get_by_text("Conciliado a mano. Lo que cambia se muestra como pendiente hasta la próxima conciliación.")
    ).to_be_visible()
    undo = page.get_by_role("row", name="Conciliado a mano")
    undo.get_by_label("Motivo").fill("era de otro mes")
    undo.get_by_role("button", name="Separar").click()
    expect(
        page.get_by_text("Separado. Lo que cambia se muestra como pendiente hasta la próxima conciliación.")
    ).to_be_visible()


def test_a_sheet_goes_out_and_comes_back(enter: Enter, address: str, tmp_path: Path) -> None:
    """The sheet is downloaded, one owner filled in, uploaded, and the page says which row was taken."""
    page = enter()
    page.goto(f"{address}/exceptions")
    with page.expect_download() as download:
        page.locator("a[href*='/exceptions/sheet.csv']").click()
    path = tmp_path / "planilla.csv"
    download.value.save_as(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    rows[0]["Responsable"] = "ana@tienda.test"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    page.get_by_label("La planilla llena").set_input_files(path)
    page.get_by_role("button", name="Subir").click()
    expect(page.get_by_role("heading", name="Resultado de cada fila")).to_be_visible()
    expect(page.get_by_role("row", name="responsable")).to_contain_text("Listo")


def test_every_report_downloads(enter: Enter, address: str) -> None:
    """Each report of the catalogue gives its CSV and its workbook under its own name."""
    page = enter()
    page.goto(f"{address}/reports")
    table = page.get_by_role("table", name="Reportes")
    names = []
    for place, link in enumerate(table.locator(".files a").all()):
        if place < 3:
            with page.expect_download() as download:
                link.click()
            names.append(download.value.suggested_filename)
        else:
            # The browser's own session without its download shelf, which drops a file when many come in one second.
            answer = page.request.get(address + (link.get_attribute("href") or ""))
            names.append(answer.headers["content-disposition"].rpartition("filename=")[2].strip('"'))
    assert len(names) == 3 * len(catalogue.AVAILABLE)
    assert all("_cl_" in name for name in names)
    assert {name.rpartition(".")[2] for name in names} == {"csv", "xlsx", "parquet"}


def test_the_language_changes_and_stays(enter: Enter, address: str) -> None:
    """The switch keeps the page, and the next page too is in English."""
    page = enter()
    page.goto(f"{address}/payouts/po_1")
    page.get_by_role("button", name="English").click()
    expect(page.get_by_text("From gross to net")).to_be_visible()
    page.get_by_role("link", name="Exceptions", exact=True).click()
    expect(page.get_by_role("heading", name="Exceptions")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_overflows_or_is_blocked(enter: Enter, address: str, every_page: Sequence[str], width: int) -> None:
    """On a phone as on a desk every page there is fits its width, and the policy blocks nothing that it needs."""
    page = enter(width=width)
    shown: list[str] = []
    page.on("console", lambda message: shown.append(message.text))
    wide = []
    for path in (*every_page, "/nowhere"):
        page.goto(address + path)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(path)
    assert (wide, [line for line in shown if "404" not in line]) == ([], [])


def test_a_family_of_tax_documents_fits_a_phone(enter: Enter, address: str, reconciled: Installation) -> None:
    """The page is as wide as the screen, and the last column of each wide table can be scrolled to."""
    keep_family(reconciled)
    page = enter(width=390)
    page.goto(f"{address}/documents/main/cl:33::1105")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    family = page.get_by_role("table", name="Documentos tributarios de esta venta").first
    for cell in (
        family.locator("tr").last.locator("td").last,
        page.get_by_text("saldos de complementos que no se siguen"),
    ):
        cell.first.scroll_into_view_if_needed()
        box = cell.first.bounding_box()
        assert box is not None
        assert 0 <= box["x"] < 390


def test_two_people_at_one_exception(enter: Enter, address: str) -> None:
    """Who comes second reads that another was faster, sees what they did, and can decide on that."""
    first, second = enter(), enter()
    for page in (first, second):
        page.goto(address + CASE)
    first.locator("#note").fill("se preguntó al cliente")
    first.get_by_role("button", name="Guardar la nota").click()
    expect(first.get_by_role("alert")).to_have_count(0)
    second.locator("#reason").fill("boleta emitida")
    second.get_by_role("button", name="Resolver").click()
    expect(second.get_by_role("alert")).to_contain_text("mientras usted miraba")
    expect(second.get_by_text("se preguntó al cliente").first).to_be_visible()
    second.locator("#reason").fill("boleta emitida")
    second.get_by_role("button", name="Resolver").click()
    expect(second.get_by_text("Resuelta.")).to_be_visible()


def test_the_outcome_of_many_can_be_left_and_come_back_to(enter: Enter, address: str) -> None:
    """What will happen is shown first; the outcome can be left, come back to and read again."""
    page = enter()
    page.goto(f"{address}/exceptions?pick=all")
    page.get_by_role("button", name="Asignar").click()
    expect(page.get_by_role("heading", name="Lo que va a pasar")).to_be_visible()
    page.get_by_role("button", name="Hacerlo con 2").click()
    expect(page.get_by_role("heading", name="Resultado de cada una")).to_be_visible()
    page.locator("tbody a").first.click()
    expect(page.locator("#owner")).to_have_value("ana@tienda.test")
    page.go_back()
    expect(page.get_by_role("heading", name="Resultado de cada una")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Asignada.")).to_have_count(2)


def test_a_file_goes_into_the_books(enter: Enter, address: str, tmp_path: Path) -> None:
    """A file is chosen, looked at, confirmed, and its document has a page; going back changes nothing."""
    path = tmp_path / "ventas.csv"
    path.write_text(
        "doc_type,series,folio,issue_date,customer_name,net,vat,total,currency,status\n"
        "33,,501,2026-10-02,Ana,1000,190,1190,CLP,valid\n"
    )
    page = enter()
    page.get_by_role("link", name="Libros").click()
    page.get_by_label("Archivo", exact=True).set_input_files(path)
    page.get_by_role("button", name="Revisar primero").click()
    expect(page.get_by_role("table", name="Totales de control")).to_contain_text("1.190")
    page.get_by_role("button", name="Guardar en los libros").click()
    expect(page.get_by_text("ventas.csv quedó en los libros.")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("alert")).to_contain_text("ya se confirmó")
    page.goto(f"{address}/documents/main/cl:33::501")
    expect(page.get_by_role("heading", name="$1.190")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_columns_of_a_long_register_fit(enter: Enter, address: str, tmp_path: Path, width: int) -> None:
    """What was left out stands in full, what was read opens below it, and the page is no wider than its window."""
    path = tmp_path / "RCV.csv"
    others = ";".join(f"Codigo Otro Imp. número {number}" for number in range(1, 25))
    path.write_text(
        f"Nro;Tipo Doc;Rut cliente;Razon Social;Folio;Fecha Docto;Monto Neto;Monto IVA;Monto total;{others}\n"
        f"1;33;11111111-1;Ana;501;02/10/2026;1000;190;1190{';' * 24}\n"
    )
    page = enter(width=width)
    page.goto(f"{address}/books")
    page.get_by_label("Archivo", exact=True).set_input_files(path)
    page.get_by_role("button", name="Revisar primero").click()
    expect(page.get_by_text("Columnas que no se leyeron: Nro, Codigo Otro Imp. número 1, ")).to_be_visible()
    page.get_by_text("Columnas leídas: 8").click()
    expect(page.get_by_role("table", name="Columnas leídas")).to_contain_text("Razon Social")
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_difference_is_accepted_as_what_it_is(enter: Enter, address: str) -> None:
    """What is left of a document is accepted on the exception's page with its kind, and told among the decisions."""
    page = enter()
    page.goto(f"{address}/exceptions/main/11bb11bb11bb11bb")
    page.get_by_label("Qué es").select_option(label="Castigo")
    page.locator("#why-of-document").fill("incobrable")
    page.get_by_role("button", name="Aceptar").click()
    expect(
        page.get_by_text("Aceptado. Lo que cambia se muestra como pendiente hasta la próxima conciliación.")
    ).to_be_visible()
    expect(page.get_by_role("table", name="Decisiones vigentes")).to_contain_text("Castigo")


def test_no_script_is_needed(browser: Browser, address: str) -> None:
    """With scripts switched off a person logs in, filters, decides and reads the outcome."""
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(f"{address}/login")
    page.get_by_label("Correo").fill("ana@tienda.test")
    page.get_by_label("Contraseña").fill("una clave larga")
    page.get_by_role("button", name="Entrar").click()
    page.get_by_role("link", name="Hoy").wait_for()
    page.goto(f"{address}/exceptions?owner=-")
    page.get_by_role("link", name="Pago sin documento").click()
    page.get_by_text("Decidir").first.click()
    page.locator("#reason-1").fill("lo dijo el cliente")
    page.get_by_role("button", name="No proponer más").click()
    expect(page.get_by_text("Este par no se propondrá más.")).to_be_visible()
    context.close()


def test_the_keyboard_alone_decides(enter: Enter, address: str) -> None:
    """From the address to a resolved exception without a mouse."""
    page = enter()
    page.goto(address + CASE)
    page.locator("#reason").focus()
    page.keyboard.type("boleta emitida")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Resolver")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Resuelta.")).to_be_visible()


def test_the_keyboard_reaches_the_content_first(enter: Enter, address: str) -> None:
    """The first Tab offers to skip the menu, and Enter goes to the content."""
    page = enter()
    page.goto(f"{address}/payouts")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Saltar al contenido")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()
