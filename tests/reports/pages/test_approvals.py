"""Four eyes: closing, large differences and refunds wait for a second person, another than the one who asked."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import col
from werkzeug.test import TestResponse

from consumer.facts import approvals
from consumer.facts.approvals import Subject
from consumer.facts.clock import utc_now
from consumer.facts.installation import ConfigError, Installation
from consumer.facts.store import Store
from consumer.facts.tables.approvals import ApprovalRequest
from cuadre import Commands
from reconcile.desk import decisions
from reconcile.desk.decisions import Adjustment, Pair, Signature
from reconcile.tables.books import LocalInvoice
from reconcile.tables.closing import Period
from reconcile.tables.desk import Decision, PayerRule
from reports.access.keys import Scope, create_token
from reports.access.people import Role, add_user, disable_user, require_user, to_user
from tests.merchant import settings_of
from tests.reconcile.conftest import World
from tests.reports.conftest import close_here

ANA, LUZ, EVA, PASSWORD = "ana@tienda.test", "luz@tienda.test", "eva@tienda.test", "una clave larga"
DOCUMENT = "/documents/main/cl:33::7"
Send = Callable[..., TestResponse]


@pytest.fixture
def shop(tmp_path: Path, store: Store) -> Installation:
    """Two people of finance, one who looks, and a day of trade with a document of 1,190 pesos and one of 90."""
    (tmp_path / "cuadre.toml").write_text(
        "[approvals]\nclosing = true\nrefunds = true\npayers = true\nwrite_off = { CLP = 500 }\n", encoding="utf-8"
    )
    with store.transaction() as session:
        for email, role in ((ANA, Role.ADMIN), (LUZ, Role.FINANCE), (EVA, Role.VIEWER)):
            add_user(session, to_user(email, PASSWORD, role, now=utc_now()))
    world = World(store)
    world.payment("pi_1", 1190)
    world.payout("po_1", 1174, ("payment_intent", "pi_1", 1190))
    world.invoice("7", 1190, due_date=date(2026, 10, 30))
    world.invoice("8", 90, due_date=date(2026, 10, 30))
    world.complete(datetime(2026, 9, 12, 6, tzinfo=UTC))
    return Installation(settings=settings_of("http://provider.test", tmp_path), store=store)


@pytest.fixture
def app(shop: Installation, make_app: Callable[..., Flask]) -> Flask:
    return make_app(shop, errands=close_here(shop))


@pytest.fixture
def send(app: Flask, login: Callable[..., FlaskClient], csrf: Callable[..., str]) -> Send:
    """Send a form as a person and return the page it leads to."""
    browsers: dict[str, FlaskClient] = {}

    def post(who: str, path: str, **form: object) -> TestResponse:
        client = browsers.setdefault(who, login(app, who, PASSWORD))
        data = {"csrf_token": csrf(client), **form}
        return client.post(path, data=data, follow_redirects=True)

    return post


@pytest.fixture
def call(shop: Installation) -> Callable[..., Result]:
    def invoke(*args: str) -> Result:
        return CliRunner().invoke(Commands(), args, obj=lambda: shop)

    return invoke


def write_off(send: Send, who: str = ANA, amount: str = "1190") -> TestResponse:
    return send(who, DOCUMENT, kind="write_off", amount=amount, reason="incobrable", seen="0")


def accepted(shop: Installation) -> list[tuple[str, int | None, str]]:
    with shop.store.reading() as session:
        return [(row.doc_key, row.amount, row.author) for row in session.scalars(sa.select(Decision))]


def state(shop: Installation, number: int = 1) -> str:
    with shop.store.reading() as session:
        return str(approvals.state_of(approvals.find(session, number), now=utc_now()))


def text(answer: TestResponse) -> str:
    return answer.get_data(as_text=True)


@pytest.mark.both_databases
def test_a_large_difference_waits_for_another_person(shop: Installation, send: Send) -> None:
    """Nothing is decided until another approves; then it is, once, in both names, and the trail has both."""
    asked = text(write_off(send))
    assert "la solicitud 1 espera abajo" in asked
    assert "Aceptar 1190 CLP de cl:33::7" in asked
    assert "Otra persona debe aprobarlo." in asked
    assert accepted(shop) == []
    assert "1 solicitud espera a una segunda persona" in text(send(LUZ, "/language", language="es-CL"))
    assert "quien lo pidió no puede aprobarlo" in text(send(ANA, "/approvals/1/approve")).lower()
    assert "Aprobado y hecho." in text(send(LUZ, "/approvals/1/approve"))
    assert accepted(shop) == [("cl:33::7", 1190, f"{ANA}, {LUZ}")]
    assert "esta solicitud terminó" in text(send(LUZ, "/approvals/1/approve")).lower()
    trail = send(ANA, "/language", language="en", next="/operation/trail")
    assert [word in text(trail) for word in (">asked for approval<", ">approved<")] == [True, True]


@pytest.mark.parametrize("who", [ANA, " ANA@Tienda.TEST "])
def test_one_person_is_one_subject_under_any_name(
    shop: Installation, app: Flask, send: Send, csrf: Callable[..., str], who: str
) -> None:
    """However the address is written at the login, and from another browser, it is the same row."""
    write_off(send)
    browser = app.test_client()
    browser.post("/login", data={"email": who, "password": PASSWORD, "csrf_token": csrf(browser)})
    browser.post("/approvals/1/approve", data={"csrf_token": csrf(browser)})
    assert (state(shop), accepted(shop)) == ("waiting", [])


@pytest.mark.parametrize("path", ["/approvals/1/approve", "/approvals/1/do", "/approvals/1/end"])
def test_neither_a_token_nor_a_viewer_approves(shop: Installation, app: Flask, send: Send, path: str) -> None:
    """A program is no second person, in any role; and who may only look may not decide."""
    write_off(send)
    with shop.store.transaction() as session:
        token = create_token(session, "erp", Role.ADMIN, now=utc_now(), scopes=Scope)
    answer = app.test_client().post(path, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 403
    assert send(EVA, path).status_code == 403
    assert state(shop) == "waiting"


@pytest.mark.parametrize(("kind", "amount"), [("discount", "501"), ("write_off", ""), ("other", "1190")])
def test_no_other_word_goes_round_the_limit(shop: Installation, send: Send, kind: str, amount: str) -> None:
    """What a difference is called does not matter, and all that is left counts as the whole document."""
    send(ANA, DOCUMENT, kind=kind, amount=amount, reason="x", seen="0")
    assert (state(shop), accepted(shop)) == ("waiting", [])


def test_a_small_difference_needs_nobody(shop: Installation, send: Send) -> None:
    """The limit itself passes, and so does all that is left of a small document."""
    write_off(send, amount="500")
    send(LUZ, "/documents/main/cl:33::8", kind="rounding", amount="", reason="x", seen="0")
    assert [row[:2] for row in accepted(shop)] == [("cl:33::7", 500), ("cl:33::8", None)]


@pytest.mark.both_databases
def test_what_changed_since_makes_an_approval_void(shop: Installation, send: Send) -> None:
    """A document corrected, or decided about, between asking and approving is looked at again."""
    write_off(send)
    with shop.store.transaction() as session:
        session.execute(sa.update(LocalInvoice).where(col(LocalInvoice.folio) == "7").values(total=2380))
    assert "cambió desde que se pidió" in text(send(LUZ, "/approvals/1/approve"))
    assert (state(shop), accepted(shop)) == ("stale", [])
    write_off(send)
    with shop.store.transaction() as session:
        small = Signature(LUZ, "redondeo", utc_now())
        decisions.adjust(session, Pair("main", doc_key="cl:33::7"), small, amount=1, kind=Adjustment.ROUNDING)
    assert "cambió desde que se pidió" in text(send(LUZ, "/approvals/2/approve"))
    assert [row[:2] for row in accepted(shop)] == [("cl:33::7", 1)]


def test_a_request_is_withdrawn_refused_or_too_old(shop: Installation, send: Send) -> None:
    """By who asked, by another, by time; asking twice is one request, and after its end there is a new one."""
    for _ in range(2):
        write_off(send)
    send(ANA, "/approvals/1/end")
    write_off(send)
    send(LUZ, "/approvals/2/end")
    write_off(send)
    with shop.store.transaction() as session:
        late = sa.update(ApprovalRequest).where(col(ApprovalRequest.id) == 3)
        session.execute(late.values(expires_at=utc_now() - timedelta(seconds=1)))
    send(LUZ, "/approvals/3/approve")
    assert [state(shop, number) for number in (1, 2, 3)] == ["withdrawn", "refused", "expired"]
    assert accepted(shop) == []


def test_who_lost_the_access_asked_for_nothing(shop: Installation, send: Send) -> None:
    """A request of a person who was disabled is not approved."""
    write_off(send, who=LUZ)
    with shop.store.transaction() as session:
        disable_user(session, require_user(session, LUZ), now=utc_now())
    assert "quien lo pidió ya no puede decidir" in text(send(ANA, "/approvals/1/approve")).lower()
    assert accepted(shop) == []


@pytest.mark.both_databases
def test_two_who_approve_at_once_do_it_once(shop: Installation, send: Send) -> None:
    """The second finds the request approved; an approval is used up by the deed."""
    write_off(send)
    with shop.store.transaction() as session:
        approvals.approve(session, 1, Subject(LUZ, 2), now=utc_now())
    assert "Aprobado y hecho." in text(send(LUZ, "/approvals/1/do"))
    assert "esta solicitud terminó" in text(send(LUZ, "/approvals/1/do")).lower()
    assert len(accepted(shop)) == 1


@pytest.mark.both_databases
def test_closing_waits_for_another_person(shop: Installation, call: Callable[..., Result], send: Send) -> None:
    """Asked for on the page, approved by another: the days are closed in both names."""
    call("reconcile", "--as-of", "2026-09-11")
    form = {"connection": "main", "until": "2026-09-10", "reason": "mes"}
    assert "Cerrar los días hasta el 10-09-2026" in text(send(ANA, "/books/close", **form))
    assert "Todo hasta el 10-09-2026" in text(send(LUZ, "/approvals/1/approve"))
    with shop.store.reading() as session:
        assert [row.closed_by for row in session.scalars(sa.select(Period))] == [f"{ANA}, {LUZ}"]


def test_a_closing_is_void_where_its_figures_changed(
    shop: Installation, call: Callable[..., Result], send: Send
) -> None:
    """A document of those days that came in meanwhile was not approved."""
    call("reconcile", "--as-of", "2026-09-11")
    send(ANA, "/books/close", connection="main", until="2026-09-10", reason="mes")
    World(shop.store).invoice("9", 77, issue_date=date(2026, 9, 9), due_date=date(2026, 10, 30))
    assert "cambió desde que se pidió" in text(send(LUZ, "/approvals/1/approve"))
    with shop.store.reading() as session:
        assert session.scalars(sa.select(Period)).all() == []


def test_a_terminal_asks_and_two_people_decide(shop: Installation, call: Callable[..., Result], send: Send) -> None:
    """A login name proves no one: the first who confirms it on the page has asked, another approves."""
    args = ("adjust", "cl:33::7", "--type", "write_off", "--reason", "incobrable", "--author", ANA)
    asked = call(*args)
    assert asked.exit_code == 3
    assert "Accept all that is left of cl:33::7, at most 1190 CLP: request 1 waits" in asked.stderr
    assert "Confirmó lo que pidió un terminal" in text(send(ANA, "/approvals/1/approve"))
    assert "quien lo pidió no puede aprobarlo" in text(send(ANA, "/approvals/1/approve")).lower()
    assert accepted(shop) == []
    assert "Aprobado y hecho." in text(send(LUZ, "/approvals/1/approve"))
    assert [row[:2] for row in accepted(shop)] == [("cl:33::7", None)]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("write_off = { CLP = 1.5 }", "whole numbers, or decimals in quotes"),
        ('write_off = { CLP = "x" }', "approvals"),
        ("write_off = 5", "approvals"),
        ('closing = "yes"', "approvals"),
        ("payer = true", "approvals"),
    ],
)
def test_a_bad_limit_stops_the_start(tmp_path: Path, table: str, sentence: str) -> None:
    """One line that names the setting."""
    (tmp_path / "cuadre.toml").write_text(f"[approvals]\n{table}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=sentence) as error:
        settings_of("http://provider.test", tmp_path)
    assert "\n" not in str(error.value)


def test_a_rule_about_payers_waits_for_a_second_person(shop: Installation, send: Send) -> None:
    """Who accepts a rule makes a request; another person's approval accepts it in both names."""
    rule = PayerRule(connection="main", kind="payer", subject="22222222-2", object="11111111-1", state="proposed",
                     weighed_at=utc_now())  # fmt: skip
    with shop.store.transaction() as session:
        session.add(rule)
    asked = send(LUZ, "/payers/main/1/accept", reason="her own RUT", version="1").get_data(as_text=True)
    assert "Aceptar la regla 1: 22222222-2 cuenta como 11111111-1" in asked
    send(LUZ, "/approvals/1/approve")
    with shop.store.reading() as session:
        assert session.scalars(sa.select(col(PayerRule.state))).all() == ["proposed"]
    send(ANA, "/approvals/1/approve")
    with shop.store.reading() as session:
        states = session.execute(sa.text("SELECT after, author FROM payer_rule_change")).all()
    assert [tuple(row) for row in states] == [("accepted", f"{LUZ}, {ANA}")]
