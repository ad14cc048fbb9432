"""Files that a program hands in over HTTP: with a token of that scope, whole or not at all, once."""

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from reconcile.tables.books import BankLine, ExchangeRate, InvoiceFile, LocalInvoice
from reports.access.keys import Scope, create_token
from reports.access.people import Role
from tests.reports.pages.looking import kept

HEAD = "doc_type,series,folio,issue_date,customer_tax_id,customer_name,net,vat,total,currency,status"
INVOICES = f"{HEAD}\r\n33,,501,2026-10-02,11111111-1,Comercial Ñandú,1000,190,1190,CLP,valid\r\n".encode()
BANK = "Fecha;Descripción;Cargos;Abonos;Saldo\r\n01-10-2026;Pasarela;;1500;1500\r\n".encode()
ACCOUNT = "000071402296"

Hand = Callable[..., tuple[int, Any]]


@pytest.fixture
def token(reconciled: Installation) -> Callable[..., dict[str, str]]:
    """Make a token and give its header."""

    def make(role: Role = Role.FINANCE, scope: Scope = Scope.BOOKS) -> dict[str, str]:
        with reconciled.store.transaction() as session:
            made = create_token(session, f"{role} {scope}", role, now=utc_now(), scopes=[scope])
        return {"Authorization": f"Bearer {made}"}

    return make


@pytest.fixture
def hand(app: Flask, token: Callable[..., dict[str, str]]) -> Hand:
    """Hand a file in and give status and answer."""
    headers = token()

    def post(kind: str, content: bytes | None, *, name: str = "ventas.csv", **fields: str) -> tuple[int, Any]:
        form: dict[str, Any] = dict(fields)
        if content is not None:
            form["file"] = (io.BytesIO(content), name)
        answer = app.test_client().post(f"/api/v1/books/{kind}", data=form, headers=headers)
        return answer.status_code, answer.get_json(silent=True) or answer.get_data(as_text=True)

    return post


def test_a_file_is_taken_once_and_known_afterwards(hand: Hand, reconciled: Installation, client: FlaskClient) -> None:
    """201 with the totals, 200 for the same content under any name; the trail names the token."""
    status, answer = hand("invoices", INVOICES)
    assert status == 201
    total = {"about": "33", "currency": "CLP", "count": 1, "net": "1000", "exempt": "0", "vat": "190", "total": "1190"}
    assert answer == {
        "file": "ventas.csv",
        "connection": "main",
        "kind": "invoices",
        "verdict": "taken",
        "rows": 1,
        "counts": {"added": 1, "changed": 0, "unchanged": 0},
        "totals": [total],
        "rejects": [],
        "notes": [],
        "columns": [{"name": name, "field": name} for name in HEAD.split(",")],
        "proposal": {},
    }
    status, answer = hand("invoices", INVOICES, name="copia.csv")
    assert (status, answer["verdict"]) == (200, "known")
    assert answer["notes"][0].startswith("already imported on ")
    assert [row.folio for row in kept(reconciled, LocalInvoice)] == ["501"]
    assert len(kept(reconciled, InvoiceFile)) == 1
    assert "token finance books" in client.get("/operation/trail").get_data(as_text=True)


def test_the_same_file_twice_at_one_moment_is_taken_once(hand: Hand, reconciled: Installation) -> None:
    """An ERP that sends again before it was answered adds nothing."""
    with ThreadPoolExecutor(4) as at_once:
        answers = [*at_once.map(lambda _: hand("bank", BANK, account=ACCOUNT)[0], range(4))]
    assert sorted(answers) == [200, 200, 200, 201]
    assert [line.amount for line in kept(reconciled, BankLine)] == [1500]


def test_a_refused_file_says_every_row_and_keeps_none(hand: Hand, reconciled: Installation) -> None:
    """422 with line, column, value and reason."""
    status, answer = hand("invoices", INVOICES.replace(b"2026-10-02", b"2026-02-31"))
    assert (status, answer["verdict"]) == (422, "refused")
    assert [(one["line"], one["column"], one["value"]) for one in answer["rejects"]] == [
        (2, "issue_date", "2026-02-31")
    ]
    assert kept(reconciled, LocalInvoice) == []


def test_a_bank_file_needs_an_account_and_rates_a_currency(hand: Hand, reconciled: Installation) -> None:
    """The account is a field of the form, never of the address, which logs keep."""
    status, answer = hand("bank", BANK)
    assert (status, answer["rejects"][0]["reason"][:38]) == (422, "the file does not name its account, an")
    assert hand("bank", BANK, account=ACCOUNT)[0] == 201
    assert [line.amount for line in kept(reconciled, BankLine)] == [1500]
    assert hand("rates", b"Fecha;Valor\n10-09-2026;39.123,45\n", currency="clf")[0] == 201
    assert hand("rates", b"Fecha;Valor\n10-09-2026;39.123,45\n")[0] == 200
    assert [(rate.currency, rate.value) for rate in kept(reconciled, ExchangeRate)] == [("CLF", "39123.45")]
    assert hand("rates", b"Fecha;Valor\n10-09-2026;1\n", currency="XXX")[0] == 422


REFUSED = [
    (
        "payroll",
        INVOICES,
        {},
        "404 there is no kind 'payroll'; there are invoices, bank, payout-report, rates, register",
    ),
    ("invoices", None, {}, "400 the form brings no file under the name file"),
    ("invoices", b"", {}, "400 the form brings no file under the name file"),
    ("invoices", INVOICES, {"conection": "main"}, "400 there is no field 'conection' here"),
    ("invoices", INVOICES, {"connection": "other"}, "404 there is no connection 'other'; there are main"),
    ("invoices", INVOICES, {"file": "ventas.csv"}, "400 the form brings no file under the name file"),
    ("invoices", INVOICES, {"connection": "a\0b"}, "400 "),
]


@pytest.mark.parametrize(("kind", "content", "fields", "said"), REFUSED)
def test_what_cannot_be_handed_in_is_told(
    hand: Hand, reconciled: Installation, kind: str, content: bytes | None, fields: dict[str, str], said: str
) -> None:
    """One sentence, and nothing is kept."""
    status, answer = hand(kind, None if "file" in fields else content, **fields)
    assert f"{status} {answer}".startswith(said)
    assert kept(reconciled, InvoiceFile) == []


def test_a_file_over_the_limit_is_refused(app: Flask, token: Callable[..., dict[str, str]]) -> None:
    """Ten megabytes and one byte are a 413."""
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    body, kind = head + b"x" * 10_000_001 + b"\r\n--b--\r\n", "multipart/form-data; boundary=b"
    answer = app.test_client().post("/api/v1/books/invoices", data=body, content_type=kind, headers=token())
    assert answer.status_code == 413


def test_only_a_token_of_that_scope_and_role_may(
    app: Flask, client: FlaskClient, token: Callable[..., dict[str, str]], csrf: Callable[..., str]
) -> None:
    """Strangers get 401, other scopes and viewers 403, and so does a person, whom the page serves."""

    def post(who: FlaskClient, **more: Any) -> int:
        return who.post("/api/v1/books/invoices", data={"file": (io.BytesIO(INVOICES), "a.csv")}, **more).status_code

    assert post(app.test_client()) == 401
    assert post(app.test_client(), headers=token(scope=Scope.API)) == 403
    assert post(app.test_client(), headers=token(role=Role.VIEWER)) == 403
    assert post(client) == 400
    form = {"csrf_token": csrf(client, "/books"), "file": (io.BytesIO(INVOICES), "a.csv")}
    assert client.post("/api/v1/books/invoices", data=form).status_code == 403


@pytest.mark.parametrize("name", ["../../fuera.csv", "/etc/passwd", "..", "x" * 300 + ".csv"])
def test_the_name_of_a_file_leads_nowhere(hand: Hand, reconciled: Installation, name: str) -> None:
    """Whatever a program calls it, nothing of it is left behind outside the books."""
    status, answer = hand("invoices", INVOICES, name=name)
    assert status == 201
    assert "/" not in answer["file"]
    assert list((reconciled.settings.data_dir / "uploads").iterdir()) == []


def test_the_description_says_what_the_route_answers(client: FlaskClient, hand: Hand) -> None:
    """Status codes, fields and verdicts stand in the OpenAPI document."""
    described = client.get("/api/v1/openapi.json").get_json()["paths"]["/books/{kind}"]["post"]
    assert sorted(described["responses"]) == ["200", "201", "400", "401", "403", "404", "413", "422"]
    schema = described["responses"]["201"]["content"]["application/json"]["schema"]
    assert sorted(hand("invoices", INVOICES)[1]) == sorted(schema["required"])
    form = described["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert sorted(form["properties"]) == ["account", "connection", "currency", "file", "mapping"]
