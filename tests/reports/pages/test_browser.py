"""The journeys of finance in a real browser: nothing is blocked, nothing overflows a phone, no script is needed."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, expect

from consumer.facts.clock import utc_now
from consumer.facts.house import House
from reports import catalogue, invitations

Enter = Callable[..., Page]
CASE = "/exceptions/main/00aa00aa00aa00aa"
PATHS = (
    "/",
    "/payouts",
    "/payouts/po_1",
    "/exceptions",
    CASE,
    "/view/receivables",
    "/view/in-transit",
    "/view/clearing",
    "/view/control",
    "/operation",
    "/operation/runs",
    "/operation/events",
    "/operation/events/main/evt_1",
    "/operation/gaps",
    "/operation/jobs",
    "/operation/trail",
    "/reports",
    "/settings",
    "/people",
    "/nowhere",
)


def test_the_first_login_by_the_link(
    browser: Browser, house: House, make_app: Callable[..., Flask], serving: Callable[[Flask], str]
) -> None:
    """The printed link asks for an address and a password and leads to the first page; a second visit is too late."""
    key = invitations.invite(house.store, now=utc_now())
    address = serving(make_app(house))
    page = browser.new_context().new_page()
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
    expect(page.get_by_role("heading", name="1 de 1 liquidaciones cuadran")).to_be_visible()
    page.get_by_role("link", name="Pago sin documento").click()
    page.get_by_role("link", name="Pago sin documento").click()
    page.locator("#reason").fill("boleta emitida")
    page.get_by_role("button", name="Resolver").click()
    expect(page.get_by_text("Resuelta.")).to_be_visible()
    page.get_by_role("link", name="Hoy").click()
    assert page.locator(".figures dd").first.inner_text() == "1"


def test_a_match_by_hand_and_its_undo(enter: Enter, address: str) -> None:
    """A payment and a document side by side with the difference, matched for a reason, and kept apart again."""
    page = enter()
    page.goto(address + CASE)
    row = page.get_by_role("row", name="cl:33::1105")
    expect(row).to_contain_text("00018")
    row.get_by_text("Decidir").click()
    row.get_by_label("Motivo").fill("el cliente lo confirmó")
    row.get_by_role("button", name="Conciliar").click()
    expect(page.get_by_text("Conciliado a mano; se verá en la próxima corrida.")).to_be_visible()
    undo = page.get_by_role("row", name="Conciliado a mano")
    undo.get_by_label("Motivo").fill("era de otro mes")
    undo.get_by_role("button", name="Separar").click()
    expect(page.get_by_text("Separado; se verá en la próxima corrida.")).to_be_visible()


def test_a_sheet_goes_out_and_comes_back(enter: Enter, address: str, tmp_path: Path) -> None:
    """The sheet is downloaded, one owner filled in, uploaded, and the page says which row was taken."""
    page = enter()
    page.goto(f"{address}/exceptions")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").first.click()
    path = tmp_path / "planilla.csv"
    download.value.save_as(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    rows[0]["Responsable"] = "luz@tienda.test"
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
def test_no_page_overflows_or_is_blocked(enter: Enter, address: str, width: int) -> None:
    """On a phone as on a desk every page fits its width, and the policy blocks nothing that it needs."""
    page = enter(width=width)
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    wide = []
    for path in PATHS:
        page.goto(address + path)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(path)
    assert (wide, [line for line in told if "404" not in line]) == ([], [])


def test_the_keyboard_reaches_the_content_first(enter: Enter, address: str) -> None:
    """The first Tab offers to skip the menu, and Enter goes to the content."""
    page = enter()
    page.goto(f"{address}/payouts")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Saltar al contenido")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
