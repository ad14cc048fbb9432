"""A day at a small merchant's, at the desk and on a phone: what changed, decide and undo, files, a month closed."""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.journeys.conftest import EMAIL
from tests.journeys.hand import LOOKS, PATIENCE, Hand
from tests.reconcile.conftest import World

Sit = Callable[..., Hand]
MANY = 20
SALES = "doc_type,series,folio,issue_date,customer_name,net,vat,total,currency,status\n"
BANK = "Fecha;Descripción;Cargos;Abonos;Saldo\n"


def fill_before(world: World) -> None:
    """What the run of the day before read: a payment with its document, its payout not yet in the bank."""
    world.payment("pi_paid", 1190, body={"metadata": {"order_id": "A-1"}})
    world.invoice("501", 1190, order_ref="A-1", customer_name="Ana")
    world.payout("po_paid", 1190, ("payment_intent", "pi_paid", 1190))


def fill(world: World) -> None:
    """What came later: the bank, a payment that two pairs of documents add up to, twenty without documents."""
    world.bank_file("00012345678", (date(2026, 9, 10), 1190))
    world.payment("pi_pair", 3000, sender_tax_id="11111111-1")
    world.payout("po_pair", 2900, ("payment_intent", "pi_pair", 3000))
    for folio, total in (("1", 1000), ("2", 2000), ("3", 1400), ("4", 1600)):
        world.invoice(folio, total, customer_tax_id="11111111-1", customer_name="Beatriz")
    items = [("payment_intent", f"pi_{number:02}", 10_000 + number) for number in range(MANY)]
    for _, name, amount in items:
        world.payment(name, amount)
    world.payout("po_many", sum(amount for *_, amount in items), *items)


@pytest.mark.parametrize("look", LOOKS)
def test_a_day_of_finance(sit_down: Sit, tmp_path: Path, look: str) -> None:
    """Every job ends with what the page says about it, in the clicks of the table; a phone needs no more of them."""
    hand = sit_down(fill_before, fill, look)
    see_what_changed(hand)
    match_several_and_undo(hand)
    close_twenty(hand)
    bring_books(hand, tmp_path / "ventas.csv")
    bring_bank(hand, tmp_path / "cartola.csv")
    close_a_month(hand)
    meet_a_late_fact(hand, tmp_path / "corregido.csv")


def see_what_changed(hand: Hand) -> None:
    """Today counts by cause what is new since the run of the day before, without a click; seen once, it is over."""
    hand.start()
    hand.sees(
        "Qué cambió",
        "Desde la conciliación del 19-09-2026",
        "2 liquidaciones no cuadran",
        "20 pagos llegaron sin documento",
    )
    hand.done("what changed since I last looked")
    hand.button("Marcar como visto")
    hand.sees("Nada ha cambiado desde que usted lo marcó como visto")


def match_several_and_undo(hand: Hand) -> None:
    """Three clicks match two documents; what changes shows at once, goes with the undoing, and stays after the run."""
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
    hand.sees("La conciliación 3 terminó", "Factura electrónica 2")
    hand.done("work an exception to its end, with the run")
    page.goto(f"{home}/documents/main/cl:33::2")
    expect(page.locator("h1")).to_contain_text("Pagado")
    expect(page.locator("h1")).not_to_contain_text("pendiente")
    expect(bar).to_have_count(0)
    hand.start()
    hand.sees("Desde que usted lo marcó como visto", "decisiones de personas")


def close_twenty(hand: Hand) -> None:
    """All of a page are chosen, what will happen is read with its sum, and the outcome names each."""
    hand.start("/exceptions?code=PAYMENT_NO_INVOICE")
    hand.link("Marcar todas las de esta página")
    reason = hand.page.locator("#bulk-reason")
    expect(hand.page.locator(".bulk summary")).to_be_in_viewport()
    reason.fill("anticipos de septiembre")
    hand.button("Cerrar sin cambios")
    hand.sees("Lo que va a pasar", "Excepciones: 20", "200.190")
    hand.button("Hacerlo con 20")
    hand.sees("Resultado de cada una", "Cerrar sin cambios: anticipos de septiembre: 20")
    hand.done("twenty exceptions in bulk")


def bring_books(hand: Hand, sales: Path) -> None:
    """A wrong file of sales is refused by line and column, keeps nothing, and goes in once it is mended."""
    good, wrong = (
        "33,,777,2026-09-15,Bruno,1000,190,1190,CLP,valid\n",
        "33,,778,2026-09-15,Bruno,1000,190,1200,CLP,valid\n",
    )
    sales.write_text(SALES + good + wrong, encoding="utf-8")
    hand.start()
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


def bring_bank(hand: Hand, bank: Path) -> None:
    """So does a wrong file of the bank."""
    hand.start("/books")
    for amount, said in (("1,5x", "Problemas: 1"), ("1500", "Todavía no se guarda nada")):
        bank.write_text(f"{BANK}31-10-2026;Pasarela;;{amount};2690\n", encoding="utf-8")
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


def close_a_month(hand: Hand) -> None:
    """What to look at, what will be frozen, the closing."""
    hand.start()
    hand.link("Libros", exact=True)
    hand.link("Cierres", exact=True)
    hand.page.get_by_label("Último día por cerrar").fill("2026-09-19")
    hand.button("Revisar antes de cerrar")
    hand.sees("Antes de cerrar hasta el 19-09-2026", "Qué queda fijo al cerrar")
    hand.page.get_by_label("Motivo").fill("septiembre")
    hand.button("Cerrar")
    hand.sees("Los días quedaron cerrados.")
    hand.done("close a month")


def meet_a_late_fact(hand: Hand, late: Path) -> None:
    """A later file shows as an adjustment, before and after."""
    hand.start("/books")
    late.write_text(SALES + "33,,501,2026-09-01,Ana,1100,209,1309,CLP,valid\n", encoding="utf-8")
    hand.bring(late)
    hand.button("Revisar primero")
    hand.sees("están en días cerrados", "1.190", "1.309")
    hand.button("Guardar en los libros")
    hand.sees("corregido.csv quedó en los libros.")
    hand.page.goto(f"{hand.home}/reconcile/main")
    hand.button("Conciliar ahora")
    hand.sees("La conciliación 5 terminó")
    hand.page.goto(f"{hand.home}/books/periods/main/1")
    hand.sees("Factura electrónica 501", "1.190", "1.309")
    hand.done("meet a late fact")
