"""Lists people work in: filtered, sorted, added up, with columns of one's own, and sent as they are shown."""

import re
from collections.abc import Callable
from datetime import date
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import col

from consumer.facts.columns import to_columns
from consumer.facts.installation import Installation
from reconcile.tables.desk import ExceptionRow
from reconcile.tables.runs import ResultChunk, Run
from reports.access.people import Role, add_user, to_user
from reports.making import columnar
from reports.queries.asking import Asked
from reports.shapes.build import Report
from reports.shapes.definitions import definition_of
from reports.shapes.spans import Span
from reports.tables import SavedView
from tests.reports.conftest import DOCUMENTS, FINISHED, LINES, keep_results, take_out_of
from tests.reports.pages.looking import kept, text_of

Csrf = Callable[..., str]
BOOKS = (
    ("cl:33::2001", "Panadería Río Claro", 300_000, "2026-10-05"),
    ("cl:33::2002", "Panaderia del Sur", 90_000, "2026-10-20"),
    ("cl:33::2003", "Ferretería Ñuñoa", 300_000, None),
)


@pytest.fixture
def owed(reconciled: Installation) -> Installation:
    """Three open documents besides those of the made-up run, and two exceptions of customers."""
    more = [
        {**DOCUMENTS[0], "doc_key": key, "customer_name": name, "total": amount, "balance": amount, "paid": 0,
         "due_date": due, "outcome": "overdue"}
        for key, name, amount, due in BOOKS
    ]  # fmt: skip
    with reconciled.store.transaction() as session:
        session.execute(sa.delete(ResultChunk))
        keep_results(session, LINES, [*DOCUMENTS, *more])
        session.flush()
        take_out_of(session)
        for number, (key, name, amount, due) in enumerate(BOOKS[:2]):
            session.add(exception(number, key, name, amount, due or "2026-10-01"))
    return reconciled


def exception(number: int, key: str, name: str, amount: int, due: str) -> ExceptionRow:
    row: dict[str, Any] = {"code": "INVOICE_NO_PAYMENT", "severity": "high", "title": "", "owner": "", "state": "open"}
    days: dict[str, Any] = {
        "opened_on": date(2026, 10, 7),
        "last_seen_on": date(2026, 10, 8),
        "due_on": date.fromisoformat(due),
    }
    return ExceptionRow(
        connection="main", id=f"{number:016x}", subject=f"document:{key}", amount_at_risk=amount, currency="CLP",
        doc_key=key, customer_name=name, run_first="r1", run_last="r1", **row, **days,
    )  # fmt: skip


@pytest.fixture
def desk(owed: Installation, make_app: Callable[..., Flask], login: Callable[..., FlaskClient]) -> FlaskClient:
    return login(make_app(owed))


def keys(client: FlaskClient, path: str) -> list[str]:
    """The documents of a page's main table, in their order."""
    page = client.get(path)
    assert page.status_code == 200, page.get_data(as_text=True)
    return re.findall(
        r"cl:33::\d+(?=</code>)", page.get_data(as_text=True).split("</table>")[1 if "walk" in page.text else 0]
    )


@pytest.mark.both_databases
def test_receivables_are_filtered_and_sorted(desk: FlaskClient) -> None:
    """By any column, with equal rows in the order of their keys; what has no day is the latest."""
    for asked, found in [
        ("customer=panaderia", ["2001", "2002"]),
        ("customer=Panadería&balance=>100000", ["2001"]),
        ("q=saldo%3E100.000+vencimiento%3D-", ["2003"]),
        ("due=2026-10&sort=-balance", ["2001", "2002"]),
        ("sort=-balance", ["2001", "2003", "2002", "1105"]),
        ("sort=due_date", ["2001", "2002", "1105", "2003"]),
        ("sort=-due", ["1105", "2003", "2002", "2001"]),
        ("customer=!pana&sort=customer", ["1105", "2003"]),
        ("estado=vencid&balance=90000|50000", ["2002", "1105"]),
        ("q=2003", ["2003"]),
        ("q=nunoa", ["2003"]),
    ]:
        assert [key[-4:] for key in keys(desk, f"/view/receivables?{asked}")] == found, asked


def test_the_last_row_adds_up_all_that_is_filtered(desk: FlaskClient) -> None:
    """Also of rows that are on other pages."""
    page = text_of(desk, "/view/receivables?customer=pana&size=25")
    assert "Total CLP" in page
    assert re.search(r"Total CLP [^T]*390\.000", page)


@pytest.mark.both_databases
def test_the_work_list_is_filtered_and_sorted(desk: FlaskClient) -> None:
    """The same language, in the database; customers and due dates are columns."""
    for asked, found in [
        ("customer=panaderia&sort=-amount_at_risk", ["2001", "2002"]),
        ("q=sur", ["2002"]),
        ("due=<=2026-10-05", ["2001"]),
        ("amount_at_risk=90.000&state=all", ["2002"]),
        ("sort=due&severity=high", ["2001", "2002"]),
        ("sort=age_business_days&customer=-", []),
    ]:
        page = desk.get(f"/exceptions?{asked}")
        assert page.status_code == 200, page.text
        assert [key[-4:] for key in re.findall(r"cl:33::200\d(?=</code>)", page.text)] == found, asked


@pytest.mark.both_databases
def test_lists_of_the_database_sort_by_every_heading(desk: FlaskClient) -> None:
    """Each heading that is a link answers, in both directions."""
    for path in ("/exceptions", "/payouts", "/view/documents", "/books/decisions", "/operation/runs", "/operation/jobs",
                 "/operation/events", "/books/bank-file-lines", "/operation/trail", "/books/approvals"):  # fmt: skip
        names = set(re.findall(r"[?&;]sort=(\w+)", desk.get(path).text))
        assert names, path
        for name in names:
            for asked in (name, f"-{name}"):
                assert desk.get(f"{path}?sort={asked}").status_code == 200, (path, asked)


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
def test_a_file_has_what_is_shown(desk: FlaskClient, file_format: str) -> None:
    """The same rows in the same order with the same columns; the trail keeps what was asked."""
    asked = "customer=pana&sort=-due_date&columns=doc_key,balance&profile=machine"
    answer = desk.get(f"/reports/receivables.{file_format}?{asked}")
    assert answer.status_code == 200
    if file_format == "csv":
        assert answer.text.splitlines() == ["doc_key,balance", "cl:33::2002,90000", "cl:33::2001,300000"]
        assert "customer=pana" in text_of(desk, "/operation/trail")


@pytest.mark.both_databases
def test_a_file_of_exceptions_has_what_is_shown(desk: FlaskClient) -> None:
    """What a document is about becomes columns of its own."""
    answer = desk.get("/reports/exceptions.csv?customer=pana&sort=due&columns=subject,customer_name,due_on")
    assert answer.text.splitlines()[1:] == [
        ",,cl:33::2001,Panadería Río Claro,2026-10-05",
        ",,cl:33::2002,Panaderia del Sur,2026-10-20",
    ]


def test_the_json_below_a_list_has_what_is_shown(desk: FlaskClient) -> None:
    """Its link asks for the filters, order, columns and day of the page; a page of one row leads to the next."""

    def follow(page: str, more: str = "") -> dict[str, Any]:
        link = re.findall(r'href="(/api/v1/[^"]+)">JSON', desk.get(page).text)[0].replace("&amp;", "&")
        found: dict[str, Any] = desk.get(link + more).get_json()
        return found

    asked = "customer=pana&sort=-due_date&columns=doc_key,balance,days_overdue"
    rows = [
        {"doc_key": "cl:33::2002", "balance": "90000", "days_overdue": 0},
        {"doc_key": "cl:33::2001", "balance": "300000", "days_overdue": 3},
    ]
    shown = follow(f"/view/receivables?{asked}")
    assert (shown["data"], shown["as_of"]) == (rows, "2026-10-08")
    first = follow(f"/view/receivables?{asked}", "&limit=1")
    assert (first["data"], first["total"]) == (rows[:1], 2)
    assert follow(f"/view/receivables?{asked}", f"&limit=1&cursor={first['next_cursor']}")["data"] == rows[1:]
    found = follow("/exceptions?customer=pana&sort=-due&columns=subject,due_on")["data"]
    assert [(row["doc_key"], row["due_on"]) for row in found] == [
        ("cl:33::2002", "2026-10-20"), ("cl:33::2001", "2026-10-05"),
    ]  # fmt: skip
    assert follow("/payouts?status=canceled")["total"] == 0
    assert follow("/bank?state=explained&columns=bank_day")["data"] == [{"bank_day": "2026-10-06"}]
    assert follow("/operation/runs?columns=number")["data"] == [{"number": "r0042"}]
    assert desk.get("/api/v1/receivables?columns=doc_key&nothing=1").status_code == 400


def test_the_files_of_exceptions_have_the_ages_of_the_page(reconciled: Installation, desk: FlaskClient) -> None:
    """A run of an earlier day than the clock gives the page, its CSV and its JSON one age in bank days."""
    with reconciled.store.transaction() as session:
        session.execute(sa.update(Run).values(as_of=date(2026, 10, 7)))
        session.execute(sa.update(ExceptionRow).values(fact_on=date(2026, 10, 1)))
    asked = "customer=pana&sort=due&columns=subject,age_business_days"
    ages = re.findall(r'<td class="n">(\d+)</td>', desk.get(f"/exceptions?{asked}").text)
    taken = [line.rsplit(",", 1)[1] for line in desk.get(f"/reports/exceptions.csv?{asked}").text.splitlines()[1:]]
    found = desk.get(f"/api/v1/exceptions?{asked}").get_json()
    said = [row["age_business_days"] for row in found["data"]]
    assert (ages, taken, said, found["as_of"]) == (["4", "4"], ["4", "4"], [4, 4], "2026-10-07")


def test_columns_and_rows_are_remembered_for_one_person(
    owed: Installation, desk: FlaskClient, make_app: Callable[..., Flask], login: Callable[..., FlaskClient], csrf: Csrf
) -> None:
    """Until the person chooses again; another one sees the usual ones, and an address of its own goes first."""
    form = {"csrf_token": csrf(desk, "/view/receivables"), "column": ["doc_key", "balance"], "size": "25",
            "next": "/view/receivables?sort=balance"}  # fmt: skip
    answer = desk.post("/saved/receivables/columns", data=form)
    assert answer.headers["Location"] == "/view/receivables?sort=balance"
    assert headings(desk, "/view/receivables") == ["Documento", "Saldo"]
    assert headings(desk, "/view/receivables?columns=balance") == ["Saldo"]
    with owed.store.transaction() as session:
        add_user(session, to_user("luz@tienda.test", "otra clave larga", Role.VIEWER, now=FINISHED))
    other = login(make_app(owed), "luz@tienda.test", "otra clave larga")
    assert len(headings(other, "/view/receivables")) > 5
    desk.post("/saved/receivables/columns", data={**form, "reset": "yes"})
    assert len(headings(desk, "/view/receivables")) > 5
    refused = desk.post("/saved/receivables/columns", data={**form, "size": "7"})
    assert (refused.status_code, "size: &#39;7&#39; no es uno de 25, 50" in refused.text) == (400, True)


def headings(client: FlaskClient, path: str) -> list[str]:
    table = client.get(path).text.split('class="scroll list')[1].split("</thead>")[0]
    return [re.sub(r"<[^>]+>|[▲▼]", "", one).strip() for one in re.findall(r"<th [^>]*>(.*?)</th>", table)]


def save(client: FlaskClient, csrf: Csrf, **form: str) -> str:
    given = {"csrf_token": csrf(client, "/exceptions"), "asked": "customer=pana", "next": "/exceptions", **form}
    return client.post("/saved/exceptions", data=given, follow_redirects=True).text


def test_a_view_is_saved_shared_pinned_renamed_and_deleted(owed: Installation, desk: FlaskClient, csrf: Csrf) -> None:
    """Pinned, Today shows how many rows it has and what they come to."""
    assert "Sus vistas guardadas quedaron cambiadas." in save(desk, csrf, view="Panaderías", is_pinned="yes")
    today = text_of(desk, "/")
    assert re.search(r"Panaderías 2 \$390\.000 CLP", today)
    view = kept(owed, SavedView)[0]
    form = {"csrf_token": csrf(desk, "/saved"), "version": str(view.version), "view": "Clientes de pan"}
    assert "Clientes de pan" in desk.post(f"/saved/{view.id}/rename", data=form, follow_redirects=True).text
    stale = desk.post(f"/saved/{view.id}/drop", data=form, follow_redirects=True).text
    assert "se cambió o se eliminó en otra ventana" in stale
    for action in ("share", "pin"):
        form["version"] = str(kept(owed, SavedView)[0].version)
        desk.post(f"/saved/{view.id}/{action}", data=form)
    assert [(one.name, one.is_shared, one.is_pinned) for one in kept(owed, SavedView)] == [
        ("Clientes de pan", False, False)
    ]
    form["version"] = str(kept(owed, SavedView)[0].version)
    desk.post(f"/saved/{view.id}/drop", data=form)
    assert kept(owed, SavedView) == []


def test_a_shared_view_is_seen_by_others_and_changed_by_its_owner(
    owed: Installation, desk: FlaskClient, make_app: Callable[..., Flask], login: Callable[..., FlaskClient], csrf: Csrf
) -> None:
    """One of a connection that a reader may not see, or of a list for admins, is not among theirs."""
    save(desk, csrf, view="De todos", is_shared="yes", is_pinned="yes")
    save(desk, csrf, view="Propia")
    save(desk, csrf, view="De otra", is_shared="yes", asked="connection=otra")
    form = {"csrf_token": csrf(desk, "/exceptions"), "view": "Rastro", "is_shared": "yes", "is_pinned": "yes"}
    desk.post("/saved/trail", data=form)
    with owed.store.transaction() as session:
        add_user(session, to_user("luz@tienda.test", "otra clave larga", Role.VIEWER, now=FINISHED))
    other = login(make_app(owed), "luz@tienda.test", "otra clave larga")
    page = other.get("/saved").text
    assert ["De todos" in page, "Propia" in page, "De otra" in page, "Rastro" in page] == [True, False, False, False]
    view = next(one for one in kept(owed, SavedView) if one.name == "De todos")
    form = {"csrf_token": csrf(other, "/saved"), "version": "1"}
    assert other.post(f"/saved/{view.id}/drop", data=form).status_code == 404
    assert len(kept(owed, SavedView)) == 4


def test_a_view_that_cannot_be_kept_is_one_sentence(owed: Installation, desk: FlaskClient, csrf: Csrf) -> None:
    """Nothing is kept then."""
    for form, sentence in [
        ({"view": "  "}, "Dé a la vista un nombre de 1 a 80 caracteres."),
        ({"view": "x" * 81}, "Dé a la vista un nombre de 1 a 80 caracteres."),
        ({"view": "Una"}, "Ya tiene una vista llamada &#39;Una&#39; en esta lista"),
        ({"view": "Otra", "asked": "q=" + "x" * 2000}, "La vista pasa de 2000 caracteres"),
    ]:
        save(desk, csrf, view="Una")
        assert sentence in save(desk, csrf, **form), form
        assert [one.name for one in kept(owed, SavedView)] == ["Una"], form


def test_a_pinned_view_that_cannot_be_read_does_not_stop_today(
    owed: Installation, desk: FlaskClient, csrf: Csrf
) -> None:
    """It stands there with a dash, since its column may be gone with an older version."""
    save(desk, csrf, view="Vieja", is_pinned="yes", asked="columna_que_no_hay=3")
    assert "Vieja –" in text_of(desk, "/")
    with owed.store.transaction() as session:
        session.execute(sa.update(SavedView).where(col(SavedView.name) == "Vieja").values(list="exceptions"))


def test_an_address_that_a_list_cannot_answer_is_a_sentence(owed: Installation, desk: FlaskClient, csrf: Csrf) -> None:
    """A column that is only shown, a run that is not there, a NUL: on a list, on the way back to it, on Today."""
    found = desk.get("/exceptions?age_business_days=%3E5")
    assert (found.status_code, "no se puede ordenar ni filtrar" in found.text) == (400, True)
    for path in ("/reports/exceptions.csv?columns=code&q=age%3E5", "/api/v1/exceptions?columns=code&q=age%3E5"):
        assert desk.get(path).status_code == 400, path
    for name in ("receivables.csv", "documents.xlsx", "payout-summary.csv"):
        assert desk.get(f"/reports/{name}?columns=currency&as_of=2020-01-01").status_code == 404, name
    early = desk.get("/view/receivables?as_of=2020-01-01").text
    assert "no hay una conciliación del 01-01-2020 ni de antes: elija un día posterior" in early.lower()
    identity = kept(owed, ExceptionRow)[0].id
    assert desk.get(f"/exceptions/main/{identity}?list=q%3D%2500").status_code in {200, 400}
    for number, asked in enumerate(("age_business_days=>5", "run=999", "q=%00")):
        for place in ("exceptions", "receivables"):
            form = {"csrf_token": csrf(desk, "/exceptions"), "asked": asked, "is_pinned": "yes", "next": "/exceptions"}
            desk.post(f"/saved/{place}", data=form | {"view": f"{place} {number}"})
    today = text_of(desk, "/")
    unread = ["exceptions 0", "receivables 0", "receivables 1", "exceptions 2", "receivables 2"]
    assert [name for name in unread if f"{name} –" not in today] == []


def test_a_list_there_is_not_keeps_no_view(desk: FlaskClient, csrf: Csrf) -> None:
    """Nor does one remember columns of it."""
    form = {"csrf_token": csrf(desk, "/exceptions"), "view": "x", "column": "a", "size": "25"}
    assert desk.post("/saved/nothing", data=form).status_code == 404
    assert desk.post("/saved/nothing/columns", data=form).status_code == 404


def test_payouts_are_sorted_by_the_day_that_names_them() -> None:
    """The heading of payouts orders by their day and not by their hidden key; what has none yet is the latest."""
    table = pa.table({
        "payout_id": ["po_c", "po_a", "po_b", "po_d"],
        "payout_date": pa.array([date(2026, 10, 2), date(2026, 10, 3), date(2026, 10, 1), None], pa.date32()),
    })  # fmt: skip
    report = Report(definition_of("payout-summary"), table, Span(), date(2026, 10, 8))
    (own,) = to_columns("payout_id")
    for is_descending, ids in ((False, ["po_b", "po_c", "po_a", "po_d"]), (True, ["po_d", "po_a", "po_c", "po_b"])):
        asked = Asked(sort=own, is_descending=is_descending)
        chosen = columnar.select(report, asked, zone="UTC", speak=lambda _name: None)
        assert chosen.page(0, 4).table["payout_id"].to_pylist() == ids, is_descending
