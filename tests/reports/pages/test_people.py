"""The pages of people: an admin invites, changes and ends; each person has a page of their own."""

import base64
import re
from collections.abc import Callable
from datetime import datetime

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from reports.access import people, second_factor
from reports.access.people import Role, Visitor
from reports.tables import RecoveryCode, SecondFactor, User

LUZ, PASSWORD, NEW = "luz@tienda.test", "otra clave larga", "una clave nueva"
ANA_PASSWORD = "una clave larga"
Login = Callable[..., FlaskClient]
Csrf = Callable[..., str]


@pytest.fixture
def luz(reconciled: Installation) -> int:
    """The id of Luz, of finance."""
    with reconciled.store.transaction() as session:
        user = people.add_user(session, people.to_user(LUZ, PASSWORD, Role.FINANCE, now=utc_now()))
        session.flush()
        return people.id_of(user)


@pytest.fixture
def send(csrf: Csrf) -> Callable[..., TestResponse]:
    """Send a form with the token of its session."""

    def post(client: FlaskClient, path: str, **form: object) -> TestResponse:
        return client.post(path, data={"csrf_token": csrf(client, "/login"), **form})

    return post


Send = Callable[..., TestResponse]


def text(answer: TestResponse) -> str:
    return answer.get_data(as_text=True)


def shown_once(answer: TestResponse) -> str:
    """Return the link or token that an answer shows."""
    found = re.search(r'id="shown-once">([^<]+)<', text(answer))
    assert found is not None, text(answer)
    return found[1]


def code_now(secret: str, *, later: int = 0) -> str:
    step = int(utc_now().timestamp()) // 30 + later
    return second_factor.code_at(base64.b32decode(secret), step)


def set_up_factor(client: FlaskClient, send: Send, password: str = PASSWORD) -> tuple[str, list[str]]:
    """Turn the second factor on through the page; return its secret and the recovery codes."""
    send(client, "/account/second-factor", password=password)
    found = re.search(r'class="id">([A-Z2-7 ]+)<', text(client.get("/account")))
    assert found is not None
    secret = found[1].replace(" ", "")
    answer = send(client, "/account/second-factor/confirm", code=code_now(secret))
    assert answer.status_code == 200
    return secret, re.findall(r'<li class="id">([a-z2-7-]+)</li>', text(answer))


def test_an_admin_invites_and_the_link_lets_in_once(app: Flask, client: FlaskClient, login: Login, send: Send) -> None:
    """The link is in the answer alone; it asks for a password, and a second visit is a 404."""
    answer = send(client, "/people", email="Eva@tienda.test", role="viewer")
    link = shown_once(answer)
    assert (link.startswith("http://localhost/welcome/"), answer.headers["Cache-Control"]) == (True, "no-store")
    assert "shown-once" not in text(client.get("/people"))
    path, stranger = link.removeprefix("http://localhost"), app.test_client()
    assert "Elija la contraseña de eva@tienda.test." in text(stranger.get(path))
    short = send(stranger, path, password="corta")
    assert (short.status_code, "12 caracteres" in text(short)) == (400, True)
    assert send(stranger, path, password=NEW).headers["Location"] == "/login"
    assert login(app, "eva@tienda.test", NEW).get("/").status_code == 200
    assert stranger.get(path).status_code == 404


@pytest.mark.parametrize(
    ("email", "sentence"),
    [("ana@tienda.test", "Ya existe el usuario"), ("eva", "no es una dirección"), ("", "no es una dirección")],
)
def test_an_invitation_that_cannot_be_made_keeps_what_was_typed(
    client: FlaskClient, send: Send, email: str, sentence: str
) -> None:
    """One sentence above the form, and the form as it was."""
    answer = send(client, "/people", email=email, role="finance")
    assert answer.status_code == 400
    assert sentence in text(answer)
    assert f'maxlength="254" value="{email}"' in text(answer)
    assert '<option value="finance" selected>' in text(answer)


def test_an_admin_changes_one_person(app: Flask, client: FlaskClient, login: Login, send: Send, luz: int) -> None:
    """Role, access and sessions change at once, and the trail has who, whom and from where."""
    own = login(app, LUZ, PASSWORD)
    assert send(client, f"/people/{luz}/role", role="viewer").headers["Location"] == f"/people/{luz}"
    assert own.get("/").status_code == 302
    own = login(app, LUZ, PASSWORD)
    send(client, f"/people/{luz}/end-sessions")
    assert own.get("/").status_code == 302
    send(client, f"/people/{luz}/disable")
    assert "Deshabilitad" in text(client.get(f"/people/{luz}"))
    assert send(app.test_client(), "/login", email=LUZ, password=PASSWORD).status_code == 401
    send(client, f"/people/{luz}/enable")
    assert login(app, LUZ, PASSWORD).get("/").status_code == 200
    rows = client.get("/api/v1/trail").get_json()["data"]
    assert [(row["who"], row["action"], row["subject"], row["address"]) for row in rows if row["who"] != LUZ][:4] == [
        ("ana@tienda.test", "enable", LUZ, "127.0.0.1"),
        ("ana@tienda.test", "disable", LUZ, "127.0.0.1"),
        ("ana@tienda.test", "end-sessions", LUZ, "127.0.0.1"),
        ("ana@tienda.test", "role", f"{LUZ} viewer", "127.0.0.1"),
    ]


@pytest.mark.parametrize(("change", "form"), [("disable", {}), ("role", {"role": "finance"})])
def test_the_last_admin_is_not_taken_away(client: FlaskClient, send: Send, change: str, form: dict[str, str]) -> None:
    """The page says what to do first."""
    answer = send(client, f"/people/1/{change}", **form)
    assert answer.status_code == 400
    assert "El último administrador es ana@tienda.test: haga primero" in text(answer)
    assert client.get("/people").status_code == 200


def test_a_password_is_reset_by_link(app: Flask, client: FlaskClient, login: Login, send: Send, luz: int) -> None:
    """What was open ends when the new password is kept, and the old one no longer opens."""
    own, stranger = login(app, LUZ, PASSWORD), app.test_client()
    path = shown_once(send(client, f"/people/{luz}/link")).removeprefix("http://localhost")
    assert own.get("/").status_code == 200
    assert send(stranger, path, password=NEW).status_code == 302
    assert own.get("/").status_code == 302
    assert send(stranger, "/login", email=LUZ, password=PASSWORD).status_code == 401
    assert login(app, LUZ, NEW).get("/").status_code == 200


@pytest.mark.parametrize("path", ["/people", "/people/1"])
def test_people_are_for_admins(app: Flask, login: Login, luz: int, path: str) -> None:
    """Finance neither reads nor changes who may look."""
    del luz
    own = login(app, LUZ, PASSWORD)
    assert own.get(path).status_code == 403


@pytest.mark.parametrize("path", ["/people", "/people/1/role", "/people/1/link", "/people/tokens", "/people/tokens/1"])
def test_only_admins_change_people(app: Flask, login: Login, send: Send, luz: int, path: str) -> None:
    """A form sent past the page is refused as well."""
    del luz
    own = login(app, LUZ, PASSWORD)
    assert send(own, path, email="eva@tienda.test", role="admin", name="x", scope="api").status_code == 403


def test_no_change_of_that_name_or_person(client: FlaskClient, send: Send) -> None:
    """Unknown people and changes are not found; a role there is not is refused."""
    paths = ("/people/99/disable", "/people/1/erase", "/people/x/disable")
    assert [send(client, path).status_code for path in paths] == [404, 404, 404]
    assert send(client, "/people/1/role", role="owner").status_code == 400


def test_a_token_is_made_shown_once_and_revoked(app: Flask, client: FlaskClient, send: Send) -> None:
    """With its scopes and its last day, in the zone of the merchant; then it opens nothing."""
    made = send(client, "/people/tokens", name="erp", role="viewer", scope="reports", expires="2999-12-31")
    headers = {"Authorization": f"Bearer {shown_once(made)}"}
    assert app.test_client().get("/reports/control.csv", headers=headers).status_code == 200
    (row,) = client.get("/api/v1/tokens").get_json()["data"]
    assert (row["scopes"], row["state"], row["expires_at"]) == ("reports", "active", "3000-01-01T03:00:00Z")
    send(client, "/people/tokens/1")
    assert app.test_client().get("/reports/control.csv", headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"name": "", "scope": "api"}, "necesita un nombre"),
        ({"name": "erp"}, "necesita un alcance"),
        ({"name": "erp", "scope": "api", "expires": "2020-01-01"}, "está en el futuro"),
        ({"name": "erp", "scope": "api", "expires": "mañana"}, "mañana"),
    ],
)
def test_a_token_that_cannot_be_made_keeps_what_was_typed(
    client: FlaskClient, send: Send, form: dict[str, str], sentence: str
) -> None:
    """One sentence above the form, and nothing is made."""
    answer = send(client, "/people/tokens", role="finance", **form)
    assert answer.status_code == 400
    assert sentence in text(answer)
    assert f'maxlength="100" value="{form["name"]}"' in text(answer)
    assert client.get("/api/v1/tokens").get_json()["data"] == []


def test_a_person_changes_their_own_password(app: Flask, login: Login, send: Send, luz: int) -> None:
    """The browser it is changed in stays logged in under a new session, every other one ends."""
    del luz
    here, there = login(app, LUZ, PASSWORD), login(app, LUZ, PASSWORD)
    assert send(here, "/account/password", password=PASSWORD, new_password=NEW).status_code == 302
    assert "Su contraseña nueva quedó guardada" in text(here.get("/account"))
    assert there.get("/").status_code == 302
    assert login(app, LUZ, NEW).get("/").status_code == 200


@pytest.mark.usefixtures("luz")
@pytest.mark.parametrize("path", ["/account/password", "/account/recovery-codes", "/account/second-factor"])
def test_what_was_proven_before_another_change_changes_nothing(
    app: Flask, reconciled: Installation, login: Login, send: Send, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Of two requests with one password the second is refused, though its password was right when it was looked at."""
    other, own, prove = "otra frase muy larga", login(app, LUZ, PASSWORD), people.login

    def prove_and_be_late(
        store: Store, email: str, password: str, *, now: datetime, visitor: Visitor, purpose: str
    ) -> User:
        user = prove(store, email, password, now=now, visitor=visitor, purpose=purpose)
        with store.transaction() as session:
            people.set_password(session, people.require_user(session, LUZ), people.hash_password(other), now=now)
        return user

    monkeypatch.setattr(people, "login", prove_and_be_late)
    assert send(own, path, password=PASSWORD, new_password=NEW).status_code == 400
    monkeypatch.undo()
    with reconciled.store.reading() as session:
        assert session.scalars(sa.select(RecoveryCode)).all() == []
        assert session.scalars(sa.select(SecondFactor)).all() == []
    assert login(app, LUZ, other).get("/").status_code == 200


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"password": "no es esta", "new_password": NEW}, "Su contraseña es otra."),
        ({"password": PASSWORD, "new_password": "corta"}, "12 caracteres"),
        ({}, "Su contraseña es otra."),
    ],
)
def test_a_password_that_cannot_be_changed(
    app: Flask, login: Login, send: Send, luz: int, form: dict[str, str], sentence: str
) -> None:
    """One sentence; the password there was still opens."""
    del luz
    own = login(app, LUZ, PASSWORD)
    answer = send(own, "/account/password", **form)
    assert (answer.status_code, sentence in text(answer)) == (400, True)
    assert login(app, LUZ, PASSWORD).get("/").status_code == 200


def test_guessing_at_the_own_password_is_slowed_down(app: Flask, login: Login, send: Send, luz: int) -> None:
    """A stolen session is no place to guess the password: the sixth try is a 429 with the seconds."""
    del luz
    own = login(app, LUZ, PASSWORD)
    answers = [send(own, "/account/password", password="no", new_password=NEW) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [400] * 5 + [429]
    assert answers[-1].headers["Retry-After"] == "1"


def test_the_second_factor_from_the_page_to_the_login(app: Flask, login: Login, send: Send, luz: int) -> None:
    """Set up with the password and a first code; then a login asks for a code, each once, or for a recovery code."""
    del luz
    own = login(app, LUZ, PASSWORD)
    other = login(app, LUZ, PASSWORD)
    secret, codes = set_up_factor(own, send)
    assert len(codes) == 10
    assert other.get("/").status_code == 302
    fresh = app.test_client()
    assert send(fresh, "/login", email=LUZ, password=PASSWORD, next="/payouts").headers["Location"] == "/login/code"
    assert fresh.get("/").status_code == 302
    wrong = send(fresh, "/login/code", code="000000")
    assert (wrong.status_code, "Código incorrecto" in text(wrong)) == (401, True)
    used = code_now(secret, later=1)
    assert send(fresh, "/login/code", code=used).headers["Location"] == "/payouts"
    assert fresh.get("/").status_code == 200
    again = app.test_client()
    send(again, "/login", email=LUZ, password=PASSWORD)
    assert [send(again, "/login/code", code=code).status_code for code in (used, codes[0])] == [401, 302]
    assert "Códigos de recuperación que quedan: 9" in text(again.get("/account"))


def test_a_code_alone_opens_nothing(app: Flask, login: Login, send: Send, luz: int, client: FlaskClient) -> None:
    """Without the password there is no form for a code, and a password changed meanwhile ends what was half done."""
    own, half = login(app, LUZ, PASSWORD), app.test_client()
    secret, _ = set_up_factor(own, send)
    assert half.get("/login/code").headers["Location"] == "/login"
    assert send(half, "/login/code", code=code_now(secret, later=1)).status_code == 401
    send(half, "/login", email=LUZ, password=PASSWORD)
    assert half.get("/login/code").status_code == 200
    path = shown_once(send(client, f"/people/{luz}/link")).removeprefix("http://localhost")
    send(app.test_client(), path, password=NEW)
    assert send(half, "/login/code", code=code_now(secret, later=1)).status_code == 401


def test_guessing_at_codes_is_slowed_down(app: Flask, login: Login, send: Send, luz: int) -> None:
    """Who knows the password guesses five codes and waits, and giving the password again sets nothing back."""
    del luz
    set_up_factor(login(app, LUZ, PASSWORD), send)
    thief = app.test_client()
    for _ in range(5):
        send(thief, "/login", email=LUZ, password=PASSWORD)
        assert send(thief, "/login/code", code="000000").status_code == 401
    send(thief, "/login", email=LUZ, password=PASSWORD)
    assert send(thief, "/login/code", code="000000").status_code == 429


def test_a_reset_by_link_keeps_the_second_factor(
    app: Flask, client: FlaskClient, login: Login, send: Send, luz: int
) -> None:
    """Who reads a person's mail does not come in with the link alone; the admin's reset is what takes it away."""
    set_up_factor(login(app, LUZ, PASSWORD), send)
    path = shown_once(send(client, f"/people/{luz}/link")).removeprefix("http://localhost")
    stranger = app.test_client()
    send(stranger, path, password=NEW)
    assert send(stranger, "/login", email=LUZ, password=NEW).headers["Location"] == "/login/code"
    send(client, f"/people/{luz}/totp-reset")
    assert login(app, LUZ, NEW).get("/").status_code == 200


def test_a_second_factor_is_turned_off_with_the_password(app: Flask, login: Login, send: Send, luz: int) -> None:
    """New recovery codes need it too."""
    del luz
    own = login(app, LUZ, PASSWORD)
    _, codes = set_up_factor(own, send)
    assert send(own, "/account/second-factor/off", password="no es esta").status_code == 400
    renewed = text(send(own, "/account/recovery-codes", password=PASSWORD))
    assert not set(codes) & set(re.findall(r'<li class="id">([a-z2-7-]+)</li>', renewed))
    assert send(own, "/account/second-factor/off", password=PASSWORD).status_code == 302
    assert login(app, LUZ, PASSWORD).get("/").status_code == 200


def test_a_person_ends_their_other_sessions(app: Flask, login: Login, send: Send, luz: int) -> None:
    """One by one or all at once; this one stays, and no one ends another person's."""
    del luz
    ana, here, there = login(app), login(app, LUZ, PASSWORD), login(app, LUZ, PASSWORD)
    page = text(here.get("/account"))
    (handle,) = re.findall(r'name="session" value="([0-9a-f]+)"', page)
    send(ana, "/account/sessions", session=handle)
    assert there.get("/").status_code == 200
    send(here, "/account/sessions", session=handle)
    assert [one.get("/").status_code for one in (ana, here, there)] == [200, 200, 302]
    there = login(app, LUZ, PASSWORD)
    send(here, "/account/sessions")
    assert [one.get("/").status_code for one in (ana, here, there)] == [200, 200, 302]


def test_no_link_password_or_code_is_logged(
    client: FlaskClient, send: Send, app: Flask, capfd: pytest.CaptureFixture[str]
) -> None:
    """The trail and the log name who and what, and hold no secret."""
    link = shown_once(send(client, "/people", email="eva@tienda.test", role="viewer"))
    key = link.rpartition("/")[2]
    send(app.test_client(), f"/welcome/{key}", password=NEW)
    _, codes = set_up_factor(client, send, ANA_PASSWORD)
    said = "".join(capfd.readouterr()) + client.get("/api/v1/trail").get_data(as_text=True)
    assert [secret for secret in (key, NEW, ANA_PASSWORD, *codes) if secret in said] == []
