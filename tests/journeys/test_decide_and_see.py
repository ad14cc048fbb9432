"""A day at a small merchant's desk: decide and undo, many at once, files with errors, a month closed, a late fact."""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

from playwright.sync_api import expect

from tests.journeys.conftest import EMAIL
from tests.journeys.hand import PATIENCE, Hand
from tests.reconcile.conftest import World

Sit = Callable[[Callable[[World], None]], Hand]
MANY = 20
SALES = "doc_type,series,folio,issue_date,customer_name,net,vat,total,currency,status\n"
BANK = "Fecha;Descripción;Cargos;Abonos;Saldo\n"


def of_one_customer(world: World) -> None:
    """A payment of 3,000 that two pairs of one customer's documents add up to, in a payout."""
    world.payment("pi_1", 3000, sender_tax_id="11111111-1")
    world.payout("po_1", 2900, ("payment_intent", "pi_1", 3000))
    for folio, total in (("1", 1000), ("2", 2000), ("3", 1400), ("4", 1600)):
        world.invoice(folio, total, customer_tax_id="11111111-1", customer_name="Ana")


def without_documents(world: World) -> None:
    """A payout of twenty payments of which none has a document."""
    items = [("payment_intent", f"pi_{number:02}", 10_000 + number) for number in range(MANY)]
    for _, name, amount in items:
        world.payment(name, amount)
    world.payout("po_1", sum(amount for *_, amount in items), *items)


def paid(world: World) -> None:
    """A payment with its document, and its payout in the bank."""
    world.payment("pi_1", 1190, body={"metadata": {"order_id": "A-1"}})
    world.invoice("501", 1190, order_ref="A-1", customer_name="Ana")
    world.payout("po_1", 1190, ("payment_intent", "pi_1", 1190))
    world.bank_file("00012345678", (date(2026, 9, 10), 1190))


def test_several_documents_are_matched_seen_undone_and_run(sit_down: Sit) -> None:
    """Three clicks match two documents; what changes shows at once, goes with the undoing, and stays after the run."""
    hand = sit_down(of_one_customer)
    page, home = hand.page, hand.home
    left, bar = page.locator(".several output"), page.locator(".pending-bar")
    hand.start("/exceptions")
    hand.link("Varios documentos calzan")
    expect(page.get_by_role("heading", name="El pago junto a los documentos")).to_be_visible(timeout=PATIENCE)
    case = page.url
    hand.tick("Elegir Factura electrónica 1")
    expect(left).to_have_text("2.000")
    hand.tick("Elegir Factura electrónica 2")
    expect(left).to_have_text("0")
    hand.button(re.compile("Conciliar lo marcado"))
    expect(bar).to_contain_text("2 decisiones esperan la próxima conciliación", timeout=PATIENCE)
    hand.done("match a payment with several documents by hand")

    expect(bar).to_contain_text(EMAIL)
    page.goto(f"{home}/documents/main/cl:33::2")
    expect(page.locator("h1")).to_contain_text("Pagado")
    expect(page.locator("h1")).to_contain_text("pendiente")
    page.goto(case)
    expect(page.locator("h1")).to_contain_text("se cierra, pendiente")
    page.goto(f"{home}/exceptions")
    expect(page.locator("tbody", has_text="se cierra, pendiente")).to_be_visible(timeout=PATIENCE)

    # Undone before any run, nothing is pending.
    hand.start(case.removeprefix(home))
    for _ in range(2):
        page.goto(case)
        page.locator("form", has=page.get_by_role("button", name="Deshacer")).first.get_by_label("Motivo").fill("no")
        hand.button("Deshacer")
        # The next address must not overtake the form.
        expect(page.locator(".notice")).to_be_visible(timeout=PATIENCE)
    expect(bar).to_have_count(0)
    hand.done("undo both")

    hand.start(case.removeprefix(home))
    hand.tick("Elegir Factura electrónica 1")
    hand.tick("Elegir Factura electrónica 2")
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("Conciliar lo marcado")).press("m")
    hand.clicks += 1
    expect(bar).to_contain_text("2 decisiones", timeout=PATIENCE)
    hand.click(bar.get_by_role("button", name="Conciliar ahora"))
    hand.sees("La conciliación 2 terminó", "Factura electrónica 2")
    hand.done("work an exception to its end, with the run")
    page.goto(f"{home}/documents/main/cl:33::2")
    expect(page.locator("h1")).to_contain_text("Pagado")
    expect(page.locator("h1")).not_to_contain_text("pendiente")
    expect(bar).to_have_count(0)


def test_twenty_are_closed_at_once(sit_down: Sit) -> None:
    """All of a page are chosen, what will happen is read with its sum, and the outcome names each."""
    hand = sit_down(without_documents)
    hand.start("/exceptions?code=PAYMENT_NO_INVOICE")
    hand.link("Marcar todas las de esta página")
    hand.page.locator("#bulk-reason").fill("anticipos de septiembre")
    hand.button("Cerrar sin cambios")
    hand.sees("Lo que va a pasar", "Excepciones: 20", "200.190")
    hand.button("Hacerlo con 20")
    hand.sees("Resultado de cada una", "Cerrar sin cambios: anticipos de septiembre: 20")
    hand.done("twenty exceptions in bulk")


def test_books_and_bank_come_in_with_their_errors_told(sit_down: Sit, tmp_path: Path) -> None:
    """Wrong files of sales and bank are refused by line and column, keep nothing, and go in once they are mended."""
    hand = sit_down(paid)
    sales, bank = tmp_path / "ventas.csv", tmp_path / "cartola.csv"
    good, wrong = (
        "33,,777,2026-09-15,Bruno,1000,190,1190,CLP,valid\n",
        "33,,778,2026-09-15,Bruno,1000,190,1200,CLP,valid\n",
    )
    sales.write_text(SALES + good + wrong, encoding="utf-8")
    hand.link("Libros", exact=True)
    hand.bring(sales)
    hand.button("Revisar primero")
    hand.sees("No se guardó nada de este archivo. Problemas: 1")
    expect(hand.page.get_by_role("table", name="Qué está mal").locator("tbody tr")).to_contain_text("3")
    sales.write_text(SALES + good + wrong.replace("1200", "1190"), encoding="utf-8")
    hand.link("Libros", exact=True)
    hand.bring(sales)
    hand.button("Revisar primero")
    hand.sees("Todavía no se guarda nada", "2.380")
    hand.button("Guardar en los libros")
    hand.sees("ventas.csv quedó en los libros.")
    hand.done("bring in books with an error in them")

    hand.start("/books")
    lines = "31-10-2026;Pasarela;;{};2690\n"
    for amount, said in (("1,5x", "Problemas: 1"), ("1500", "Todavía no se guarda nada")):
        bank.write_text(BANK + lines.format(amount), encoding="utf-8")
        hand.page.get_by_label("Qué contiene").select_option("bank")
        hand.bring(bank)
        hand.page.get_by_label("Número completo de la cuenta (solo para el banco)").fill("00012345678")
        hand.button("Revisar primero")
        hand.sees(said)
        if amount == "1500":
            hand.button("Guardar en los libros")
            hand.sees("cartola.csv quedó en los libros.")
        else:
            hand.link("Libros", exact=True)
    hand.done("bring in a bank file with an error in it")


def test_a_month_is_closed_and_a_late_fact_met(sit_down: Sit, tmp_path: Path) -> None:
    """What to look at, what will be frozen, the closing; a later file shows as an adjustment, before and after."""
    hand = sit_down(paid)
    hand.link("Libros", exact=True)
    hand.link("Cierres", exact=True)
    hand.page.get_by_label("Último día por cerrar").fill("2026-09-19")
    hand.button("Revisar antes de cerrar")
    hand.sees("Antes de cerrar hasta el 19-09-2026", "Qué queda fijo al cerrar")
    hand.page.get_by_label("Motivo").fill("septiembre")
    hand.button("Cerrar")
    hand.sees("Los días quedaron cerrados.")
    hand.done("close a month")

    hand.start("/books")
    late = tmp_path / "corregido.csv"
    late.write_text(SALES + "33,,501,2026-09-01,Ana,1100,209,1309,CLP,valid\n", encoding="utf-8")
    hand.bring(late)
    hand.button("Revisar primero")
    hand.sees("están en días cerrados", "1.190", "1.309")
    hand.button("Guardar en los libros")
    hand.sees("corregido.csv quedó en los libros.")
    hand.page.goto(f"{hand.home}/reconcile/main")
    hand.button("Conciliar ahora")
    hand.sees("La conciliación 2 terminó")
    hand.page.goto(f"{hand.home}/books/periods/main/1")
    hand.sees("Factura electrónica 501", "1.190", "1.309")
    hand.done("meet a late fact")
