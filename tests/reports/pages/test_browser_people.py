"""A person's way through the pages in a real browser: invited, second factor, recovery code, reset, shut out."""

import base64
from collections.abc import Callable

from playwright.sync_api import Browser, Page, expect

from consumer.facts.clock import utc_now
from reports.access import second_factor
from tests.reports.pages.conftest import PATIENCE

EVA, FIRST, SECOND = "eva@tienda.test", "una clave de eva", "otra clave de eva"


def code_of(secret: str, *, after: int = 0) -> tuple[int, str]:
    """Return a code that is accepted now and later than a step, with its own step."""
    step = max(int(utc_now().timestamp()) // 30, after + 1)
    return step, second_factor.code_at(base64.b32decode(secret), step)


def log_in(page: Page, address: str, password: str) -> None:
    page.goto(f"{address}/login")
    page.get_by_label("Correo").fill(EVA)
    page.get_by_label("Contraseña").fill(password)
    page.get_by_role("button", name="Entrar").click()


def test_from_the_invitation_to_the_end_of_the_last_session(
    enter: Callable[..., Page], address: str, browser: Browser
) -> None:
    """What an admin and an invited person do on the pages, one after the other, each in a browser of their own."""
    admin, context = enter(), browser.new_context()
    context.set_default_timeout(PATIENCE)
    eva = context.new_page()

    admin.goto(f"{address}/people")
    admin.get_by_label("Correo").fill(EVA)
    admin.get_by_role("button", name="Crear el enlace").click()
    eva.goto(admin.locator("#shown-once").inner_text())
    eva.get_by_label("Contraseña, de 12 caracteres o más").fill(FIRST)
    eva.get_by_role("button", name="Guardar la contraseña").click()
    expect(eva.get_by_role("status")).to_contain_text("Su contraseña nueva quedó guardada")

    log_in(eva, address, FIRST)
    eva.goto(f"{address}/account")
    eva.locator("#password-factor").fill(FIRST)
    eva.get_by_role("button", name="Activar").click()
    expect(eva.locator("svg.qr")).to_be_visible()
    secret = eva.locator("#second-factor .id").inner_text().replace(" ", "")
    step, code = code_of(secret)
    eva.get_by_label("Código de seis dígitos").fill(code)
    eva.get_by_role("button", name="Activar").click()
    expect(eva.locator(".codes li")).to_have_count(10)
    recovery = eva.locator(".codes li").first.inner_text()

    for given in (code_of(secret, after=step)[1], recovery):
        eva.get_by_role("button", name="Salir").click()
        log_in(eva, address, FIRST)
        eva.get_by_label("Código").fill(given)
        eva.get_by_role("button", name="Entrar").click()
        eva.get_by_role("link", name="Hoy").wait_for()

    admin.goto(f"{address}/people")
    admin.get_by_role("link", name=EVA).click()
    admin.get_by_role("button", name="Crear un enlace para una contraseña nueva").click()
    eva.goto(admin.locator("#shown-once").inner_text())
    eva.get_by_label("Contraseña, de 12 caracteres o más").fill(SECOND)
    eva.get_by_role("button", name="Guardar la contraseña").click()
    admin.get_by_role("button", name="Quitar el segundo factor").click()
    log_in(eva, address, SECOND)
    eva.get_by_role("link", name="Hoy").wait_for()

    admin.reload()
    admin.get_by_role("button", name="Cerrar", exact=False).first.click()
    expect(admin.get_by_text("Las sesiones se cerraron.")).to_be_visible()
    eva.reload()
    expect(eva.get_by_role("heading", name="Entrar")).to_be_visible()
    context.close()
