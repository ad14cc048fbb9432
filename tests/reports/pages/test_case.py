"""The exception desk: what a person decides is kept with their name, and what another changed meanwhile is refused."""

import json
import re
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.tables.provider import PaymentIntent
from reconcile.tables.books import LocalInvoice
from reconcile.tables.desk import Decision, ExceptionRow
from reconcile.tables.runs import ResultChunk
from reports.access.people import Role, add_user, invite_user, to_user
from reports.directory import LISTINGS
from reports.queries.listing import Wanted
from tests.reports.conftest import DOCUMENTS, LINES, keep_results, take_out_of
from tests.reports.pages.looking import kept, text_of

CASE = "/exceptions/main/00aa00aa00aa00aa"
Csrf = Callable[..., str]


@pytest.fixture
def desk(reconciled: Installation, client: FlaskClient) -> FlaskClient:
    """The desk with the payment of 50.000 and an open document of the same amount in the books."""
    now = utc_now()
    with reconciled.store.transaction() as session:
        invite_user(session, "luz@tienda.test", Role.FINANCE, now=now)
        session.add(
            PaymentIntent(
                connection="main",
                id="pi_2",
                mode="test",
                status="succeeded",
                amount=50000,
                currency="CLP",
                version_at=now,
                body="{}",
            )
        )
        session.add(
            LocalInvoice(
                connection="main",
                doc_key="cl:33::1105",
                country="cl",
                doc_type="33",
                folio="1105",
                issue_date=date(2026, 8, 20),
                customer_tax_id="11111111-1",
                total=75000,
                currency="CLP",
                status="valid",
                order_ref="00022",
                file_sha256="",
                updated_at=now,
            )
        )
    return client


@pytest.fixture
def act(desk: FlaskClient, csrf: Csrf) -> Callable[..., str]:
    def send(action: str, **fields: Any) -> str:
        form = {"csrf_token": csrf(desk, CASE), **fields}
        return desk.post(f"{CASE}/{action}", data=form, follow_redirects=True).get_data(as_text=True)

    return send


def exception(installation: Installation) -> ExceptionRow:
    found: ExceptionRow = next(row for row in kept(installation, ExceptionRow) if row.id == "00aa00aa00aa00aa")
    return found


def test_a_case_shows_the_payment_beside_the_documents(desk: FlaskClient) -> None:
    """The open document of the same amount is offered, with what tells it apart and the difference."""
    page = re.sub(r"<[^>]+>|\s+", " ", desk.get(CASE).get_data(as_text=True))
    page = re.sub(r"\s+", " ", page)
    assert "Pago sin documento" in page
    assert "Buscar o emitir el documento" in page
    assert "candidatos 0" in page
    assert "Este pago =HYPERLINK(&#34;http://mal.test&#34;) – 05-10-2026" in page
    named = (
        "Factura electrónica 1105 cl:33::1105 Pago menos saldo: 0 Comercial Ñandú, SpA 11.111.111-1 00022 20-08-2026 –"
    )
    assert f"{named} = igual que en el pago: 50.000 0" in page


def test_a_document_of_the_payment_itself_is_not_offered(desk: FlaskClient, reconciled: Installation) -> None:
    """What the payment was applied to, and has nothing left, is neither proposed again nor to be accepted."""
    with reconciled.store.transaction() as session:
        row = session.get(ExceptionRow, ("main", "00aa00aa00aa00aa"))
        assert row is not None
        row.resource_id, row.doc_key = "pi_1", "cl:33::1201"
        row.evidence = '{"document": "cl:33::1201"}'
    page = text_of(desk, CASE)
    offered = page.partition("Este pago")[2].partition("Conciliar con otro documento")[0]
    assert "cl:33::1201" not in offered
    assert "Aceptar lo que" not in page


def test_no_candidate_is_said_of_the_payments_currency(desk: FlaskClient, reconciled: Installation) -> None:
    """A document of another currency may well have the customer: only those of the payment's own are looked at."""
    lines = [{**line, "currency": "USD"} if line["resource_id"] == "pi_2" else line for line in LINES]
    with reconciled.store.transaction() as session:
        session.execute(sa.delete(ResultChunk))
        keep_results(session, lines, DOCUMENTS)
        session.flush()
        take_out_of(session)
    assert "Ningún otro documento abierto en USD tiene este cliente o este monto." in text_of(desk, CASE)


def test_an_exception_is_assigned_noted_and_resolved(act: Callable[..., str], reconciled: Installation) -> None:
    """Each step is kept with who took it, and raises the version."""
    assert "Asignada." in act("assign", owner="luz@tienda.test", version=1)
    assert "Nota guardada." in act("note", note="llamé al cliente", version=2)
    assert "Resuelta." in act("resolve", reason="boleta emitida", version=3)
    row = exception(reconciled)
    assert (row.owner, row.note, row.state, row.resolution, row.version) == (
        "luz@tienda.test",
        "llamé al cliente",
        "resolved",
        "boleta emitida",
        4,
    )
    page = act("reopen", reason="faltaba otra", version=4)
    assert "Abierta otra vez." in page
    assert "ana@tienda.test" in page


def test_what_people_write_is_never_translated(act: Callable[..., str], client: FlaskClient) -> None:
    """A note and a reason that read like words of the rules stand on every page as they were written."""
    page = act("note", note="refunded; void", version=1)
    assert '<td class="note">refunded; void</td>' in page
    act("decline", resource_id="pi_2", doc_key="cl:33::1105", reason="refunded", seen=0)
    listed = client.get("/books/decisions").get_data(as_text=True)
    assert "refunded" in listed
    assert "reembolsado" not in listed


def test_what_somebody_changed_meanwhile_is_refused(act: Callable[..., str], reconciled: Installation) -> None:
    """A form of an older version changes nothing and says so: owner, day, note and state."""
    act("note", note="llamé", version=1)
    before = exception(reconciled).model_dump()
    for action, fields in (
        ("assign", {"owner": "luz@tienda.test"}),
        ("due", {"follow_up_on": "2026-10-20"}),
        ("note", {"note": "otra cosa"}),
        ("resolve", {"reason": "tarde"}),
    ):
        assert "mire otra vez" in act(action, version=1, **fields), action
    assert exception(reconciled).model_dump() == before


def test_a_payment_is_matched_by_hand_and_undone(act: Callable[..., str], reconciled: Installation) -> None:
    """A match is a decision with reason and author; undoing it supersedes it and keeps both."""
    assert "Conciliado a mano. Lo que cambia" in act(
        "match", resource_id="pi_2", doc_key="cl:33::1105", reason="lo dijo el cliente", seen=0
    )
    (match,) = kept(reconciled, Decision)
    assert (match.kind, match.resource_id, match.doc_key, match.author) == (
        "match",
        "pi_2",
        "cl:33::1105",
        "ana@tienda.test",
    )
    act("unmatch", resource_id="pi_2", doc_key="cl:33::1105", reason="era otro", seen=match.id)
    by_kind = {row.kind: row for row in kept(reconciled, Decision)}
    assert by_kind["match"].undone_by == by_kind["unmatch"].id


def test_a_separation_is_undone_by_a_button(act: Callable[..., str], reconciled: Installation) -> None:
    """Whatever was decided can be taken back where it is shown, and the rules have the word again."""
    page = act("unmatch", resource_id="pi_2", doc_key="cl:33::1105", reason="era otro", seen=0)
    (separation,) = kept(reconciled, Decision)
    assert re.search(r"/withdraw\" class=\"stack\">.*<button>Deshacer</button>", page, re.DOTALL)
    page = act("withdraw", resource_id="pi_2", doc_key="cl:33::1105", reason="sí era", seen=separation.id)
    assert "Deshecho. Lo que cambia" in page
    assert {row.kind: row.undone_by for row in kept(reconciled, Decision)} == {"unmatch": 2, "withdraw": 2}
    assert "No vale ninguna decisión sobre $50.000 y Factura electrónica 1105" in act(
        "withdraw", resource_id="pi_2", doc_key="cl:33::1105", reason="otra vez", seen=0
    )


def test_the_history_keeps_what_was_decided_and_taken_back(act: Callable[..., str], reconciled: Installation) -> None:
    """A decision that no longer holds stands in the history with document, reason and author, and its undoing too."""
    pair = {"resource_id": "pi_2", "doc_key": "cl:33::1105"}
    act("match", **pair, reason="lo dijo por teléfono", seen=0)
    page = act("withdraw", **pair, reason="era de otro mes", seen=kept(reconciled, Decision)[0].id)
    assert "Decisiones vigentes" not in page
    shown = [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)) for row in page.split("Historia")[-1].split("<tr>")]
    matched = next(row for row in shown if "Conciliado a mano" in row)
    assert "cl:33::1105 · lo dijo por teléfono" in matched
    withdrawn = next(row for row in shown if "Deshecho" in row)
    assert "cl:33::1105 · era de otro mes" in withdrawn
    assert shown.index(matched) < shown.index(withdrawn)
    assert all("@" in row for row in (matched, withdrawn))


def test_a_decision_needs_a_reason_of_its_own(act: Callable[..., str], reconciled: Installation) -> None:
    """Money is never moved between documents without a word why."""
    assert "Falta el motivo." in act("match", resource_id="pi_2", doc_key="cl:33::1105", reason=" ", seen=0)
    assert kept(reconciled, Decision) == []


def test_a_decision_is_in_the_trail(act: Callable[..., str], reconciled: Installation) -> None:
    """Who decided what can be read later."""
    act("assign", owner="luz@tienda.test", version=1)
    with reconciled.store.reading() as session:
        found = [tuple(row)[1:] for row in session.execute(LISTINGS["trail"].query(Wanted(["main"])))]
    assert ("ana@tienda.test", "change owner", "exception main 00aa00aa00aa00aa", "", None) in found


def test_a_viewer_looks_and_does_not_decide(
    reconciled: Installation, app: Flask, login: Callable[..., FlaskClient], csrf: Csrf
) -> None:
    """A viewer sees no form, and a POST of their own is refused."""
    with reconciled.store.transaction() as session:
        add_user(session, to_user("ver@tienda.test", "solo quiero mirar", Role.VIEWER, now=utc_now()))
    viewer = login(app, "ver@tienda.test", "solo quiero mirar")
    assert "/resolve" not in viewer.get(CASE).get_data(as_text=True)
    form = {"csrf_token": csrf(viewer, CASE), "reason": "x", "version": 1}
    assert viewer.post(f"{CASE}/resolve", data=form).status_code == 403
    assert exception(reconciled).state == "open"


@pytest.mark.parametrize("path", ["/exceptions/main/none", "/exceptions/other/00aa00aa00aa00aa"])
def test_an_exception_that_is_not_there_is_a_404(client: FlaskClient, path: str) -> None:
    """A wrong id or connection is named as such."""
    assert client.get(path).status_code == 404


def test_evidence_that_is_no_object_is_shown_as_it_is(reconciled: Installation, client: FlaskClient) -> None:
    """A page never breaks over evidence of another shape."""
    for text in ("not json", json.dumps([1, 2]), json.dumps({"amount": 1500, "rivals": [{"document": "cl:33::9"}]})):
        with reconciled.store.transaction() as session:
            session.execute(sa.update(ExceptionRow).values(evidence=text))
        assert client.get(CASE).status_code == 200
    link = '<a href="/documents/main/cl:33::9" title="cl:33::9">Factura electrónica 9</a>'
    assert f"documento: {link}" in client.get(CASE).get_data(as_text=True)


def test_a_year_and_how_many_dates_are_no_amounts(reconciled: Installation, client: FlaskClient) -> None:
    """A year bears no thousands mark, and how many dates it has is no money in a currency with cents either."""
    shown = json.dumps({"year": 2031, "dates": 1500, "amount": 1500})
    with reconciled.store.transaction() as session:
        session.execute(sa.update(ExceptionRow).values(evidence=shown, currency="MXN"))
    page = client.get(CASE).get_data(as_text=True)
    proofs = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert (proofs["año"], proofs["fechas"], proofs["monto"]) == ("2031", "1.500", "15,00")


@pytest.mark.parametrize(
    "fields", [{"action": "delete"}, {"action": "assign", "pick": "main"}, {"action": "assign", "pick": "other/x/1"}]
)
def test_a_bulk_form_that_was_tampered_with_is_refused(client: FlaskClient, csrf: Csrf, fields: dict[str, str]) -> None:
    """Only rows of the list can be chosen, and only what the page offers can be done with them."""
    form = {"csrf_token": csrf(client, "/exceptions"), **fields}
    assert client.post("/exceptions/bulk", data=form).status_code == 400


def test_a_page_resolves_on_the_day_of_the_run(act: Callable[..., str], reconciled: Installation) -> None:
    """As the commands do: an age must not depend on where it was decided."""
    act("resolve", reason="boleta emitida", version=1)
    assert [str(row.resolved_on) for row in kept(reconciled, ExceptionRow) if row.id == "00aa00aa00aa00aa"] == [
        "2026-10-08"
    ]


def test_several_are_matched_whole_or_not_at_all(act: Callable[..., str], reconciled: Installation) -> None:
    """Nothing picked, a document nobody knows and a stale form are sentences, and leave no decision."""
    sent = {"resource_id": "pi_2", "seen": "0", "reason": "visto"}
    assert "marque al menos una fila" in act("match-several", **sent).lower()
    unknown = act("match-several", **sent, pick=["cl:33::1105", "cl:33::999"])
    assert "no existe el documento" in unknown.lower()
    stale = act("match-several", **{**sent, "seen": "7"}, pick=["cl:33::1105"])
    assert "alert" in stale
    assert kept(reconciled, Decision) == []


def test_where_nothing_remains_nothing_is_accepted(act: Callable[..., str], reconciled: Installation) -> None:
    """The document's balance in the run is 50.000, as the payment is."""
    act("match-several", resource_id="pi_2", seen="0", reason="visto", pick=["cl:33::1105"], rest="rounding")
    assert [(row.kind, row.doc_key) for row in kept(reconciled, Decision)] == [("match", "cl:33::1105")]


def test_a_smaller_payment_leaves_a_rest_of_a_kind(act: Callable[..., str], reconciled: Installation) -> None:
    """The rest of 200 is taken off the document as a bank's charge, in the same decision."""
    with reconciled.store.transaction() as session:
        session.execute(sa.update(PaymentIntent).values(amount=49_800))
    act("match-several", resource_id="pi_2", seen="0", reason="visto", pick=["cl:33::1105"], rest="bank_fee")
    rows = [(row.kind, row.resource_id, row.amount, row.reason_type) for row in kept(reconciled, Decision)]
    assert rows == [("match", "pi_2", None, ""), ("adjust", "", 200, "bank_fee")]


@pytest.mark.parametrize("action", ["withdraw", "unmatch"])
def test_the_rest_of_a_match_goes_with_it(act: Callable[..., str], reconciled: Installation, action: str) -> None:
    """The case lists both; one undo takes both back, and each is on record."""
    with reconciled.store.transaction() as session:
        session.execute(sa.update(PaymentIntent).values(amount=49_800))
    page = act("match-several", resource_id="pi_2", seen="0", reason="visto", pick=["cl:33::1105"], rest="write_off")
    held = page.split("<caption>Decisiones vigentes", 1)[1].split("</table>")[0]
    assert ("Castigo" in held, "200" in held, "junto con su conciliación" in held) == (True, True, True)
    match = next(row for row in kept(reconciled, Decision) if row.kind == "match")
    after = act(action, resource_id="pi_2", doc_key="cl:33::1105", seen=match.id, reason="era otro")
    rows = [(row.kind, row.resource_id, row.undone_by is None) for row in kept(reconciled, Decision)]
    holds = action == "unmatch"
    assert rows == [("match", "pi_2", False), ("adjust", "", False), (action, "pi_2", holds), ("withdraw", "", False)]
    assert "Castigo" not in after.partition("<caption>Decisiones vigentes")[2].partition("</table>")[0]


def test_a_document_is_named_by_its_folio(act: Callable[..., str], reconciled: Installation) -> None:
    """Its key is not needed; a folio that no document has is said."""
    sent = {"resource_id": "pi_2", "seen": "0", "reason": "visto"}
    assert "no existe el documento 4711" in act("match", **sent, doc_key="4711").lower()
    act("match", **sent, doc_key="1105")
    assert [row.doc_key for row in kept(reconciled, Decision)] == ["cl:33::1105"]


def test_the_payment_of_a_document_is_ticked_on_its_page(
    desk: FlaskClient, csrf: Csrf, reconciled: Installation
) -> None:
    """Its page lists payments without a document, and matches those that are ticked unless one was decided since."""
    page = "/documents/main/cl:33::1105"
    assert 'name="pick" value="pi_2/0"' in desk.get(page).get_data(as_text=True)
    sent = {"csrf_token": csrf(desk, page), "doc_key": "cl:33::1105", "reason": "visto"}
    desk.post("/documents/main/match", data={**sent, "pick": "pi_2/7"})
    assert kept(reconciled, Decision) == []
    desk.post("/documents/main/match", data={**sent, "pick": "pi_2/0"})
    assert [(row.resource_id, row.doc_key) for row in kept(reconciled, Decision)] == [("pi_2", "cl:33::1105")]


def test_a_comment_names_a_person_who_finds_it_on_today(
    act: Callable[..., str], app: Flask, login: Callable[..., FlaskClient], reconciled: Installation
) -> None:
    """It stands in the history; the person named sees it on Today until they open the exception."""
    with reconciled.store.transaction() as session:
        add_user(session, to_user("rosa@tienda.test", "una clave de rosa", Role.FINANCE, now=utc_now()))
    refused = act("comment", text="@nadie <b>mire</b>")
    assert "no es una persona que vea esto" in refused
    assert "@nadie &lt;b&gt;mire&lt;/b&gt;</textarea>" in refused
    assert "Comentario guardado." in act("comment", text="@rosa ¿conoce este pago?")
    rosa = login(app, "rosa@tienda.test", "una clave de rosa")
    assert "ana@tienda.test lo nombra en un comentario" in text_of(rosa, "/")
    assert "@rosa ¿conoce este pago?" in text_of(rosa, CASE)
    assert "lo nombra en un comentario" not in text_of(rosa, "/")
    assert "visto" in text_of(rosa, CASE)
