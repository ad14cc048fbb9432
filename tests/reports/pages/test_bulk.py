"""Many exceptions at once: said first, then done one by one, with names, sums and what was left out."""

import time
from collections.abc import Callable
from datetime import date

import pytest
import sqlalchemy as sa
from flask.testing import FlaskClient
from sqlmodel import col, select

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from reconcile.tables.desk import Decision, ExceptionRow
from reports.access.people import Role, add_user, to_user
from tests.reports.pages.looking import kept, text_in

Csrf = Callable[..., str]
Send = Callable[..., str]
FIRST, SECOND = "main/00aa00aa00aa00aa/1", "main/11bb11bb11bb11bb/1"


@pytest.fixture
def send(books: Installation, client: FlaskClient, csrf: Csrf) -> Send:
    """Send the form of the list and give the page that says what will happen."""
    del books

    def post(action: str, *picks: str, path: str = "/exceptions/bulk", **fields: str) -> str:
        form = {"csrf_token": csrf(client, "/exceptions"), "action": action, "pick": list(picks), **fields}
        return client.post(path, data=form, follow_redirects=True).get_data(as_text=True)

    return post


@pytest.fixture
def confirm(client: FlaskClient, csrf: Csrf) -> Callable[[str], str]:
    """Press the button of a plan and give the page of outcomes."""

    def press(plan: str) -> str:
        path = "/exceptions/bulk/" + plan.split('action="/exceptions/bulk/', 1)[1].split('"', 1)[0]
        form = {"csrf_token": csrf(client, "/exceptions")}
        return client.post(path, data=form, follow_redirects=True).get_data(as_text=True)

    return press


def _rows(installation: Installation) -> dict[str, ExceptionRow]:
    return {row.id: row for row in kept(installation, ExceptionRow)}


def test_what_will_happen_is_said_before_it_does(
    send: Send, confirm: Callable[[str], str], books: Installation
) -> None:
    """The plan has names and the sum and changes nothing; the second page says what became of each."""
    plan = send("resolve", FIRST, SECOND, reason="revisado")
    assert "Cerrar sin cambios: revisado Excepciones: 2 · " in text_in(plan)
    assert "Hacerlo con 2" in plan
    assert {row.state for row in _rows(books).values() if row.id in FIRST + SECOND} == {"open"}
    done = confirm(plan)
    assert text_in(done).count("Resuelta.") == 2
    assert {row.state for row in _rows(books).values() if row.id in FIRST + SECOND} == {"resolved"}
    assert "Eso ya se hizo o esperó demasiado" in confirm(plan)


def test_what_cannot_be_done_is_left_out_with_its_reason(send: Send, books: Installation) -> None:
    """One changed by another person, one that is so already and one that is gone; the sum is of the rest."""
    with books.store.transaction() as session:
        mine = sa.update(ExceptionRow).where(col(ExceptionRow.id) == "11bb11bb11bb11bb")
        session.execute(mine.values(note="llamé"))
    plan = text_in(send("note", "main/00aa00aa00aa00aa/7", SECOND, "main/ffff/1", note="llamé"))
    assert "Excepciones: 0 · se dejan fuera: 3" in plan
    assert "Otra persona cambió la excepción 00aa00aa00aa00aa" in plan
    assert "Ya está así." in plan
    assert "Hacerlo con" not in plan


def test_two_people_at_once_overwrite_nothing(send: Send, confirm: Callable[[str], str], books: Installation) -> None:
    """What another person changes between the plan and its button is refused alone, stays chosen and is tried again."""
    plan = send("note", FIRST, SECOND, note="llamé")
    with books.store.transaction() as session:
        mine = sa.update(ExceptionRow).where(col(ExceptionRow.id) == "11bb11bb11bb11bb")
        session.execute(mine.values(note="de luz", version=2))
    page = confirm(plan)
    assert "sin hacer: 1" in text_in(page)
    assert 'name="again" value="main/11bb11bb11bb11bb" checked' in page
    assert (_rows(books)["00aa00aa00aa00aa"].note, _rows(books)["11bb11bb11bb11bb"].note) == ("llamé", "de luz")
    again = send("note", again="main/11bb11bb11bb11bb", note="llamé")
    assert "Nota guardada." in confirm(again)
    assert _rows(books)["11bb11bb11bb11bb"].note == "llamé"


def test_a_suggestion_is_taken_for_each_that_has_one(
    send: Send, confirm: Callable[[str], str], books: Installation
) -> None:
    """The plan names the document; an exception without a suggestion is left out."""
    with books.store.transaction() as session:
        mine = sa.update(ExceptionRow).where(col(ExceptionRow.id) == "00aa00aa00aa00aa")
        session.execute(mine.values(evidence='{"suggestion": "cl:33::1105"}'))
    plan = send("suggestion", FIRST, SECOND, reason="mismo monto")
    assert "La conciliación no sugiere ningún documento." in text_in(plan)
    assert "Factura electrónica 1105" in plan
    confirm(plan)
    (match,) = kept(books, Decision)
    assert (match.kind, match.resource_id, match.doc_key, match.reason) == (
        "match", "pi_2", "cl:33::1105", "mismo monto",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("action", "fields", "said"),
    [
        ("assign", {"owner": "nadie@tienda.test"}, "Ninguna persona de aquí tiene el usuario nadie@tienda.test"),
        ("assign", {"owner": "ida@tienda.test"}, "da@tienda.test ya no puede entrar"),
        ("due", {"follow_up_on": "mañana"}, "Mañana no es un día"),
        ("note", {"note": " "}, "Escriba primero la nota"),
        ("resolve", {"reason": ""}, "Falta el motivo"),
    ],
)
def test_a_form_that_says_nothing_usable_is_refused(
    send: Send, books: Installation, action: str, fields: dict[str, str], said: str
) -> None:
    """One sentence in the reader's language, and nothing is decided."""
    with books.store.transaction() as session:
        ida = add_user(session, to_user("ida@tienda.test", "una clave bien larga", Role.FINANCE, now=utc_now()))
        ida.disabled_at = utc_now()
    assert said in send(action, FIRST, **fields)
    assert "Elija al menos una excepción" in send("resolve", reason="x")
    assert {row.version for row in _rows(books).values()} == {1}


def test_a_day_is_set_for_all_that_match_the_filter(
    send: Send, confirm: Callable[[str], str], books: Installation, client: FlaskClient
) -> None:
    """The filter stands in the form's address; what it does not show keeps its day."""
    with books.store.transaction() as session:
        mine = sa.update(ExceptionRow).where(col(ExceptionRow.id) == "11bb11bb11bb11bb")
        session.execute(mine.values(severity="info"))
    page = client.get("/exceptions?severity=info").get_data(as_text=True)
    assert 'action="/exceptions/bulk?severity=info"' in page
    shown = {"11bb11bb11bb11bb"}
    plan = send("due", every="yes", follow_up_on="2026-12-01", path="/exceptions/bulk?severity=info")
    assert f"Hacerlo con {len(shown)}" in plan
    confirm(plan)
    days = {row.id: row.follow_up_on for row in _rows(books).values()}
    assert {identity for identity, day in days.items() if day == date(2026, 12, 1)} == shown


def test_a_thousand_take_seconds(send: Send, confirm: Callable[[str], str], books: Installation) -> None:
    """Saying what will happen with a thousand exceptions, and doing it."""
    with books.store.transaction() as session:
        one = session.exec(select(ExceptionRow).where(col(ExceptionRow.id) == "00aa00aa00aa00aa")).one().model_dump()
        session.execute(
            sa.insert(ExceptionRow), [{**one, "id": f"{n:016}", "subject": f"resource:x{n}"} for n in range(1000)]
        )
    began = time.process_time()
    page = confirm(send("resolve", every="yes", reason="cierre"))
    assert time.process_time() - began < 15
    assert text_in(page).count("Resuelta.") >= 1000
    assert {row.state for row in _rows(books).values()} == {"resolved"}
