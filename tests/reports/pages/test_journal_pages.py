"""The journal as pages: accounts with both sides, lines, what is missing, the export of a closed period."""

from collections.abc import Callable
from datetime import date

from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import select

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from reconcile.tables.closing import JournalExport, Period
from reports.access.people import Role, add_user, to_user
from tests.reports.pages.looking import text_in

Csrf = Callable[..., str]


def text_of(client: FlaskClient, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return text_in(answer.get_data(as_text=True))


def write_accounts(installation: Installation, text: str) -> None:
    installation.settings.config_dir.joinpath("accounts.toml").write_text(text, encoding="utf-8")


def test_the_journal_shows_accounts_with_both_sides(client: FlaskClient) -> None:
    """Each account has what was put on either side, by kind of line, and its balance; below stand the lines."""
    page = text_of(client, "/journal?from=2026-10-01&to=2026-10-31")
    clearing = "1.1.03.10 Fondos por liquidar CLP Debe Haber Pago 100.000 Devolución 10.000 Pago sin documento 80.000"
    assert clearing in page
    assert "180.000 150.000 Saldo $30.000 1.1.04.10 Clientes" in page
    assert "Cobros del 05-10-2026" in page
    assert "CSV" in page
    assert clearing in text_of(client, "/journal?from=0001-01-01&to=9999-12-31")


def test_a_payout_s_journal_goes_from_its_payments_to_the_bank(client: FlaskClient) -> None:
    """Its clearing account ends at zero."""
    page = text_of(client, "/journal/payouts/po_1")
    assert "Fondos por liquidar" in page
    assert "Saldo $0" in page
    assert client.get("/journal/payouts/none").status_code == 404
    assert "/journal/payouts/po_1" in client.get("/payouts/po_1").get_data(as_text=True)


def test_what_is_missing_is_named_before_an_export(client: FlaskClient, reconciled: Installation) -> None:
    """A key without an account stands with its number of lines; without a map the page says how to begin one."""
    write_accounts(reconciled, '[accounts]\nclearing = "1"\n')
    page = text_of(client, "/journal")
    assert "Cuentas que faltan en accounts.toml Clave Líneas in_transit" in page
    assert "No se exporta hasta que cada clave tenga una cuenta." in page
    reconciled.settings.config_dir.joinpath("accounts.toml").unlink()
    for path in ("/journal", "/view/journal", "/journal/payouts/po_1"):
        assert "comience con la línea chart" in text_of(client, path)


def test_a_closed_period_is_exported_once_and_remembered(
    client: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """The files of the layouts, and of those that belong with one, come as one ZIP; who did it stands below."""
    write_accounts(reconciled, 'chart = "cl"\nprofiles = ["odoo", "sap-b1"]\n[options]\nJournal = "Diario"\n')
    form = {"csrf_token": csrf(client, "/journal"), "connection": "main"}
    refused = client.post("/journal/export", data=form | {"period": "7"}, follow_redirects=True)
    assert "No hay un período cerrado 7" in text_in(refused.get_data(as_text=True))
    with reconciled.store.transaction() as session:
        at = utc_now()
        session.add(Period(connection="main", until=date(2026, 10, 31), ends_at=at, run_id="run-1", reason="mes",
                           closed_by="ana", closed_at=at))  # fmt: skip
    made = client.post("/journal/export", data=form | {"period": "1"})
    assert (made.status_code, made.data[:2]) == (200, b"PK")
    with reconciled.store.reading() as session:
        assert [(one.profiles, one.author) for one in session.exec(select(JournalExport))] == [
            ("odoo sap-b1 sap-b1-lines", "ana@tienda.test")
        ]
    assert "odoo sap-b1 sap-b1-lines" in text_of(client, "/journal")
    assert "ana@tienda.test" in text_of(client, "/books/journal-exports")


def test_who_only_looks_exports_nothing(app: Flask, reconciled: Installation, login: Callable[..., FlaskClient],
                                        csrf: Csrf) -> None:  # fmt: skip
    """A viewer sees the journal and no form, and a post of theirs is refused."""
    with reconciled.store.transaction() as session:
        add_user(session, to_user("ver@tienda.test", "solo quiero mirar", Role.VIEWER, now=utc_now()))
    leo = login(app, "ver@tienda.test", "solo quiero mirar")
    assert "Exportar un período cerrado" not in text_of(leo, "/journal")
    answer = leo.post(
        "/journal/export", data={"csrf_token": csrf(leo, "/journal"), "connection": "main", "period": "1"}
    )
    assert answer.status_code == 403
