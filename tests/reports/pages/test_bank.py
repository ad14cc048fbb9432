"""The lines of the bank as a page and as a report: what each pays, what none explains, and which payouts wait."""

from collections.abc import Callable
from datetime import date

import pytest
from flask.testing import FlaskClient

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from reconcile.tables.books import BankFile, BankLine
from tests.reports.pages.looking import text_in

ACCOUNT = "000071402296"


@pytest.fixture
def bank(reconciled: Installation) -> Installation:
    """The made-up run with the file that its two lines of the bank stand in."""
    on, now = date(2026, 10, 7), utc_now()
    with reconciled.store.transaction() as session:
        session.add(
            BankFile(
                connection="main",
                sha256="b" * 64,
                name="cartola.csv",
                account=ACCOUNT,
                file_format="CSV",
                since=on,
                until=on,
                currency="CLP",
                imported_at=now,
                rows=2,
                added=2,
            )
        )
        for name in ("line_1", "line_2"):
            session.add(BankLine(connection="main", id=name, account=ACCOUNT, booked_on=on, amount=1, currency="CLP",
                                 file_sha256="b" * 64))  # fmt: skip
    return reconciled


def _look(client: FlaskClient, path: str) -> str:
    return text_in(client.get(path).get_data(as_text=True))


def test_each_line_says_what_it_pays(client: FlaskClient, bank: Installation) -> None:
    """Newest first, with the payout, the file and the sum that nothing explains; no whole number of an account."""
    del bank
    page = _look(client, "/bank")
    assert "Entró CLP $142.590 2 líneas" in page
    assert "Sin explicar CLP $5.000 1 línea" in page
    unexplained = "DEPOSITO EFECTIVO Sin explicar Buscar su liquidación Cartola importada cartola.csv"
    assert f"07-10-2026 ···2296 5.000 CLP {unexplained}" in page
    assert "06-10-2026 ···2296 137.590 CLP ABONO LIQUIDACION po_1" in page
    assert page.index("DEPOSITO EFECTIVO") < page.index("ABONO LIQUIDACION")
    for path in ("/bank", "/bank/main/line_2", "/reports/bank-lines.csv"):
        assert ACCOUNT not in client.get(path).get_data(as_text=True), path


def test_lines_are_filtered_by_state_account_day_and_text(client: FlaskClient, bank: Installation) -> None:
    """Each filter leaves out the other line, and a filter that leaves none says why."""
    del bank
    for asked, left in (
        ("state=unexplained", "DEPOSITO"), ("state=explained", "ABONO"), ("from=2026-10-07", "DEPOSITO"),
        ("to=2026-10-06", "ABONO"), ("q=efectivo", "DEPOSITO"),
    ):  # fmt: skip
        page = _look(client, f"/bank?{asked}")
        assert (("DEPOSITO" in page), ("ABONO" in page)) == (left == "DEPOSITO", left == "ABONO"), asked
        is_one_state = asked.startswith("state")
        assert ("Entró CLP $142.590 2 líneas" in page) is is_one_state, asked
    assert "Sin explicar CLP $5.000 1 línea" in _look(client, "/bank?state=explained")
    assert "No hay líneas del banco con estos filtros" in _look(client, "/bank?account=9999")
    assert client.get("/bank?state=x").status_code == 400


def test_the_page_is_a_list_like_the_others(client: FlaskClient, csrf: Callable[..., str], bank: Installation) -> None:
    """Any column sorts and filters it, its columns can be chosen, a view saved, and its file has what is shown."""
    del bank
    for sort, first in (
        ("amount_signed", "DEPOSITO"),
        ("-amount_signed", "ABONO"),
        ("file", "ABONO"),
        ("-payout_id", "ABONO"),
    ):
        page = _look(client, f"/bank?sort={sort}")
        assert (page.index("DEPOSITO") < page.index("ABONO")) == (first == "DEPOSITO"), sort
    page = _look(client, "/bank?q=amount%3D>100000 file%3Dcartola")
    assert ("ABONO" in page, "DEPOSITO" in page, "Total CLP 137.590" in page) == (True, False, True)
    asked = "state=unexplained&columns=bank_day,amount_signed,file"
    assert client.get(f"/reports/bank-lines.csv?{asked}").get_data(as_text=True).splitlines() == [
        "bank_day,amount_signed,file",
        "2026-10-07,5000,cartola.csv",
    ]
    token = {"csrf_token": csrf(client)}
    assert (
        client.post(
            "/saved/bank-lines/columns", data=token | {"column": ["bank_day", "description"], "size": "25"}
        ).status_code
        == 302
    )
    page = _look(client, "/bank")
    assert "06-10-2026 ABONO LIQUIDACION Total CLP 2 filas" in page
    client.post(
        "/saved/bank-lines", data=token | {"view": "Sin explicar", "asked": "state=unexplained", "is_pinned": "yes"}
    )
    assert "Vistas guardadas Sin explicar 1 $5.000 CLP" in _look(client, "/")


def test_a_run_of_an_earlier_version_says_that_it_kept_no_lines(client: FlaskClient, as_before: Installation) -> None:
    """An empty page would say that no money came in."""
    del as_before
    assert "Esta conciliación es de una versión anterior" in _look(client, "/bank")


def test_the_lines_are_a_report(client: FlaskClient, bank: Installation) -> None:
    """The file has the columns of the contract, oldest first."""
    del bank
    header = "account_last4,bank_day,amount_signed,currency,description,reference,source,file,payout_id"
    assert client.get("/reports/bank-lines.csv").get_data(as_text=True).splitlines() == [
        f"{header},tied_by,tied_reason,movement_id,connection",
        "2296,2026-10-06,137590,CLP,ABONO LIQUIDACION,,both,cartola.csv,po_1,,,mov_1,main",
        "2296,2026-10-07,5000,CLP,DEPOSITO EFECTIVO,,file,cartola.csv,,,,line_2,main",
    ]


def test_one_line_has_a_page(client: FlaskClient, bank: Installation) -> None:
    """It names the payout it brought; one that is not there is not found."""
    del bank
    assert "Qué paga Liquidación del 06-10-2026 · $137.590" in _look(client, "/bank/main/mov_1")
    assert "Liquidaciones que el banco aún no muestra" in _look(client, "/bank/main/line_2")
    assert client.get("/bank/main/none").status_code == 404
