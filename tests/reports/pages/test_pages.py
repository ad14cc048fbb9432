"""What the pages show: figures as people write them, filters, languages and clear refusals."""

import re
from collections.abc import Callable, Sequence

import pytest
from flask import Flask
from flask.testing import FlaskClient

from reports.directory import LISTINGS
from reports.pages import payouts
from tests.reports.pages.looking import text_of

Csrf = Callable[..., str]


def test_the_morning_page_says_what_ties_out_and_what_is_open(client: FlaskClient) -> None:
    """One look tells how many payouts tie out, how many exceptions are open and what they are worth."""
    page = text_of(client, "/")
    assert "1 de 1 liquidaciones llegaron y cuadran" in page
    assert "Conciliación del 08-10-2026 (n.º 42) · Datos completos" in page
    assert "Excepciones abiertas 2" in page
    assert "Monto en riesgo CLP $100.000 2 excepciones, cada monto una vez · Conciliación del 08-10-2026" in page
    assert "Pago sin documento Media 1 50.000 CLP 06-10-2026" in page


def test_the_payout_list_filters_and_searches(client: FlaskClient) -> None:
    """A payout shows under its own state and id, and not under another."""
    assert "po_1" in text_of(client, "/payouts?status=closed&q=o_1&from=2026-10-06&to=2026-10-06")
    for query in ("status=open", "q=po_2", "q=%25", "from=2026-10-07", "to=2026-10-05"):
        assert "No hay filas para estos filtros o estos días." in text_of(client, f"/payouts?{query}"), query


def test_one_payout_walks_from_gross_to_net(client: FlaskClient) -> None:
    """The walk names every step, and ends with what was paid out."""
    page = text_of(client, "/payouts/po_1")
    steps = "Pagos 150.000 Reembolsos -10.000 Comisiones con IVA -2.410 Diferencia 0 Liquidado 137.590"
    assert steps in page
    assert "2 de 3 movimientos tienen su documento" in page
    assert "$137.590 · 06-10-2026" in page
    assert "tarifa · 1,61 %" in page
    assert "Sin documento Pago sin documento" in page
    assert "=HYPERLINK(&#34;http://mal.test&#34;)" in page


def test_a_payout_that_never_arrived_is_open_at_the_bank() -> None:
    """Nothing in the bank is unknown until the run calls it missing."""
    payout = {"matched_count": 1, "unmatched_count": 0, "difference": 0, "status": "succeeded", "bank_date": None}
    shown = [payouts.trace(payout, codes)["bank_absent"] for codes in ([], ["PAYOUT_LATE"], ["PAYOUT_NOT_IN_BANK"])]
    assert shown == [False, False, True]


def test_exceptions_show_age_and_what_to_do(client: FlaskClient) -> None:
    """Open ones by default, resolved ones when asked."""
    page = text_of(client, "/exceptions")
    assert "Documento vencido sin pago" in page
    assert "Liquidación atrasada 900 CLP" not in page
    assert "Liquidación atrasada 900 CLP" in text_of(client, "/exceptions?state=closed")
    assert "1 fila ·" in text_of(client, "/exceptions?code=PAYMENT_NO_INVOICE&severity=medium&q=pi_2")


def test_a_reader_may_choose_english(client: FlaskClient, csrf: Csrf) -> None:
    """The switch stays for the session, and figures follow the language."""
    client.post("/language", data={"language": "en", "next": "/payouts/po_1", "csrf_token": csrf(client, "/")})
    page = text_of(client, "/payouts/po_1")
    assert "From gross to net" in page
    assert "Payments 150,000" in page
    assert "2026-10-06" in page


def test_a_bad_parameter_is_told_in_one_sentence(client: FlaskClient) -> None:
    """A wrong address is a 400 that names the parameter and what it may be."""
    for path, sentence in [
        ("/payouts?from=ayer", "from: &#39;ayer&#39; no es una fecha como 31-10-2026."),
        (
            "/payouts?from=2026-10-07&to=2026-10-01",
            "La fecha «desde» (07-10-2026) es posterior a «hasta» (01-10-2026).",
        ),
        ("/payouts?page=0", "page: &#39;0&#39; no es un número de página."),
        ("/payouts?page=99999999999999999999999", "no es un número de página"),
        ("/payouts?page=" + "1" * 5000, "no es un número de página"),
        ("/payouts?connection=%00", "La dirección o el formulario trae un carácter nulo"),
        ("/api/v1/events?limit=" + "1" * 5000, "is not a number from 1 to 1000"),
        ("/payouts?status=nice", "status: &#39;nice&#39; no es uno de closed, no_bank, open"),
        ("/payouts?connection=other", "connection: no existe la conexión &#39;other&#39;; existen main"),
        ("/exceptions?code=NOPE", "code: &#39;NOPE&#39; no es uno de PAYOUT_IDENTITY"),
        ("/reports/control.csv?profile=excel", "El parámetro profile &#39;excel&#39; no es uno de machine, cl, mx"),
        ("/reports/control.csv?language=fr", "El parámetro language &#39;fr&#39; no es uno de es-CL, es-MX, en"),
        ("/reports/control.csv?as_of=tomorrow", "as_of: &#39;tomorrow&#39; no es una fecha"),
        (
            "/reports/control.csv?form=2026-10-01",
            "form: aquí no hay esa columna ni ese parámetro; las columnas son Cifra, ",
        ),
    ]:
        answer = client.get(path)
        assert answer.status_code == 400, path
        assert sentence in answer.get_data(as_text=True), path


def test_what_is_not_there_is_a_404_page(client: FlaskClient) -> None:
    """A wrong address is a page in the reader's language, with the way back."""
    for path in [
        "/payouts/po_none",
        "/reports/none.csv",
        "/reports/control.doc",
        "/nowhere",
        "/reports/archive/9",
        f"/reports/archive/{2**80}",
    ]:
        answer = client.get(path)
        assert answer.status_code == 404, path
        assert "Volver a hoy" in answer.get_data(as_text=True), path


def test_a_name_there_is_not_is_told_in_spanish(client: FlaskClient) -> None:
    """The page says which reports and formats there are; a program reads it in English."""
    page = client.get("/reports/control.doc").get_data(as_text=True)
    assert "No hay un formato &#39;doc&#39;; hay csv, xlsx, parquet." in page
    page = client.get("/reports/none.csv").get_data(as_text=True)
    assert "No hay un reporte &#39;none&#39;; hay payout-summary" in page
    plain = client.get("/reports/control.doc", headers={"Accept": "text/plain"}).get_data(as_text=True)
    assert plain == "there is no format 'doc'; there are csv, xlsx, parquet\n"


def test_every_list_is_a_workbook_too(client: FlaskClient) -> None:
    """Also one whose rows, such as people or runs, name no currency."""
    refused = [name for name in LISTINGS if client.get(f"/reports/{name}.xlsx?profile=cl").data[:2] != b"PK"]
    assert refused == []
    assert "people" in LISTINGS


def test_a_wrong_method_is_a_page_too(client: FlaskClient) -> None:
    """A form sent to a page that takes none is answered with the layout, and with what the address takes."""
    answer = client.post("/payouts")
    assert answer.status_code == 405
    assert "GET" in answer.headers["Allow"]
    assert "Esta dirección no se pide así" in answer.get_data(as_text=True)
    assert "Volver a hoy" in answer.get_data(as_text=True)


def test_a_run_says_its_calendar_and_what_its_figures_are_about(client: FlaskClient) -> None:
    """Bank days are those of a country, by its name, and payouts without a difference are counted."""
    assert "Días bancarios: Chile (holidays)" in text_of(client, "/operation/runs/main/42")
    assert "Sin diferencia, o con la diferencia identificada 1/1" in text_of(client, "/operation/runs/main/42")


def test_a_download_is_the_report(client: FlaskClient) -> None:
    """The file is the one the command makes, named and typed for the browser."""
    answer = client.get("/reports/receivables.csv?profile=cl&as_of=2026-10-08")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == ('attachment; filename="receivables_2026-10-08_cl_main_r0042.csv"')
    assert answer.data.decode("utf-8-sig").splitlines()[1] == (
        "cl:33::1105;11111111-1;Comercial Ñandú, SpA;20-08-2026;;CLP;75000;25000;0;50000;19;1–30;;Vencido;main"
    )


def test_a_download_of_one_payout_holds_only_it(client: FlaskClient) -> None:
    """Another payout's rows are not in the file."""
    assert len(client.get("/reports/payout-detail.csv?payout=po_1").data.splitlines()) == 4
    assert len(client.get("/reports/payout-detail.csv?payout=po_2").data.splitlines()) == 1


def test_without_a_run_nothing_looks_tied_out(bare_app: Flask, login: Callable[..., FlaskClient]) -> None:
    """Before the first run the page says so, and a download is refused instead of empty."""
    client = login(bare_app)
    assert "Todavía no hay ninguna conciliación." in text_of(client, "/")
    answer = client.get("/reports/payout-summary.csv")
    assert (answer.status_code, answer.get_data(as_text=True)) == (
        404,
        "No hay una conciliación terminada de la cual informar: cuadre reconcile.\n",
    )


@pytest.mark.parametrize("language", ["es-CL", "es-MX", "en"])
def test_every_page_opens_in_every_language(
    full: FlaskClient, csrf: Csrf, every_page: Sequence[str], language: str
) -> None:
    """The language changes words, never whether a page opens nor which connection its links lead to."""
    full.post("/language", data={"language": language, "next": "/", "csrf_token": csrf(full, "/")})
    for path in every_page:
        answer = full.get(path)
        page = answer.get_data(as_text=True)
        assert (path, answer.status_code, f'<html lang="{language}">' in page) == (path, 200, True)
        assert set(re.findall(r"connection=([\w-]+)", page)) <= {"main"}, path


def test_tables_are_readable_by_ear(full: FlaskClient, every_page: Sequence[str]) -> None:
    """Every table has a caption, every header a scope and every field a label, on every page there is."""
    for path in every_page:
        page = full.get(path).get_data(as_text=True)
        assert page.count("<table") == page.count("<caption"), path
        assert re.findall(r"<th(?! scope)[ >]", page) == [], path
        fields = re.findall(r"<(?:input|select)(?! type=\"hidden\")[^>]* id=\"([^\"]+)\"", page)
        assert [name for name in fields if f'<label for="{name}">' not in page] == [], path
        assert '<html lang="es-CL">' in page
