"""Who may see what: every route is shut but those named here, and every answer carries the security headers."""

import re
from collections.abc import Callable, Sequence

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from consumer.facts.clock import utc_now
from consumer.facts.engines import to_engine
from consumer.facts.installation import Installation
from reports.access import keys
from reports.access.keys import Scope, create_token, revoke_token
from reports.access.people import Role, add_user, to_user
from reports.pages.desk import EXTENSION
from reports.tables import LoginFailure
from tests.reports.pages.looking import text_of

# Everything that answers without a login; a new route is shut until it is added here.
OPEN = {"/login", "/login/code", "/language", "/welcome/<key>", "/assets/<path:filename>", "/static/<path:filename>"}
CSP = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

Login = Callable[..., FlaskClient]
Csrf = Callable[..., str]


def routes(app: Flask) -> list[tuple[str, str]]:
    return [
        (rule.rule, method)
        for rule in app.url_map.iter_rules()
        for method in sorted((rule.methods or set()) & {"GET", "POST", "PUT", "PATCH", "DELETE"})
    ]


def path_of(rule: str) -> str:
    return re.sub(r"<[^>]+>", "1", re.sub(r"<any\((\w+)[^>]*>", r"\1", rule))


def test_every_route_needs_a_login_but_those_named(app: Flask) -> None:
    """A stranger is sent to the login, or told 401, on every route that is not named as open."""
    client = app.test_client()
    answers = {
        (rule, method): client.open(path_of(rule), method=method).status_code
        for rule, method in routes(app)
        if rule not in OPEN
    }
    assert {key: status for key, status in answers.items() if status not in (302, 401)} == {}
    assert len(answers) >= 8


def test_every_form_needs_its_token(app: Flask, client: FlaskClient) -> None:
    """A POST from another site is refused on every route, also with a session."""
    posts = [rule for rule, method in routes(app) if method == "POST"]
    assert {rule: client.post(path_of(rule)).status_code for rule in posts} == dict.fromkeys(posts, 400)


def test_every_answer_carries_the_headers(client: FlaskClient) -> None:
    """Nothing foreign is loaded, framed or sent to, whatever is answered."""
    for path in ["/login", "/", "/payouts", "/nowhere", "/assets/cuadre.css", "/reports/control.csv"]:
        with client.get(path) as answer:
            headers = answer.headers
        assert headers["Content-Security-Policy"] == CSP, path
        assert headers["X-Content-Type-Options"] == "nosniff", path
        assert headers["X-Frame-Options"] == "DENY", path
        assert headers["Referrer-Policy"] == "same-origin", path


def test_pages_hold_nothing_the_policy_forbids(full: FlaskClient, every_page: Sequence[str]) -> None:
    """No script but those of its own folder, no inline style, nothing from another host is in any page there is."""
    for path in every_page:
        page = full.get(path).get_data(as_text=True)
        assert not re.search(
            r"<script(?! src=\"/assets/\w+\.js\" defer></script>)|\sstyle=|<style|\son\w+=|(src|href)=\"(https?:)?//",
            page,
        ), path


def test_pages_are_not_kept_by_caches(client: FlaskClient) -> None:
    """A shared computer's cache holds no figures; the stylesheet may stay."""
    assert client.get("/payouts").headers["Cache-Control"] == "no-store"
    with client.get("/assets/cuadre.css") as stylesheet:
        assert stylesheet.headers["Cache-Control"] == "public, max-age=3600"


def test_the_session_cookie_is_shut_to_scripts_and_other_sites(app: Flask, login: Login) -> None:
    """The cookie is HttpOnly and SameSite."""
    cookie = login(app).get("/").request.headers["Cookie"]
    answer = app.test_client().get("/login").headers["Set-Cookie"]
    assert cookie.startswith("session=")
    assert "HttpOnly" in answer
    assert "SameSite=Lax" in answer


def test_a_wrong_password_is_told_without_saying_which_part(stranger: FlaskClient, csrf: Csrf) -> None:
    """The answer to an unknown person and to a wrong password is the same."""
    answers = []
    for email in ("ana@tienda.test", "nadie@tienda.test"):
        form = {"email": email, "password": "otra clave más", "csrf_token": csrf(stranger)}
        answer = stranger.post("/login", data=form)
        answers.append((answer.status_code, "Correo o contraseña incorrectos" in answer.get_data(as_text=True)))
    assert answers == [(401, True), (401, True)]


@pytest.mark.parametrize(
    ("target", "leads_to"),
    [
        ("/payouts?status=open", "/payouts?status=open"),
        ("//evil.test", "/"),
        ("/\\evil.test", "/"),
        ("https://evil.test", "/"),
        ("", "/"),
    ],
)
def test_login_returns_only_to_its_own_site(stranger: FlaskClient, csrf: Csrf, target: str, leads_to: str) -> None:
    """After the login a person lands where they wanted, never on another site."""
    form = {
        "email": "ana@tienda.test",
        "password": "una clave larga",
        "next": target,
        "csrf_token": csrf(stranger),
    }
    assert stranger.post("/login", data=form).headers["Location"] == leads_to


def test_a_stranger_is_brought_back_after_the_login(stranger: FlaskClient) -> None:
    """The login remembers the page that was asked for."""
    assert stranger.get("/payouts?status=open").headers["Location"] == "/login?next=/payouts?status%3Dopen"


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/payout", 404), ("GET", "/a/b/c", 404),
                                                       ("DELETE", "/payouts", 405)])  # fmt: skip
def test_a_stranger_is_not_led_to_log_in_for_a_page_that_is_none(
    stranger: FlaskClient, method: str, path: str, status: int
) -> None:
    """An address that leads nowhere is said to, before a login as after it."""
    answer = stranger.open(path, method=method)
    assert (answer.status_code, "Location" in answer.headers) == (status, False)


def test_leaving_ends_the_session(client: FlaskClient, csrf: Csrf) -> None:
    """After the logout the pages are shut again."""
    assert client.post("/logout", data={"csrf_token": csrf(client, "/")}).status_code == 302
    assert client.get("/").headers["Location"] == "/login"


def test_a_copied_cookie_dies_with_the_logout(app: Flask, client: FlaskClient, csrf: Csrf) -> None:
    """Who copied the cookie before the logout is a stranger after it."""
    copied = client.get("/").request.headers["Cookie"].partition("=")[2]
    thief = app.test_client()
    thief.set_cookie("session", copied)
    assert thief.get("/").status_code == 200
    client.post("/logout", data={"csrf_token": csrf(client, "/")})
    assert thief.get("/").headers["Location"] == "/login"


def test_a_cookie_from_before_the_login_opens_nothing(app: Flask, stranger: FlaskClient, csrf: Csrf) -> None:
    """Who planted a session in another's browser is a stranger after that other logs in, and so is a made-up cookie."""
    token = csrf(stranger)
    planted = stranger.get("/login").request.headers["Cookie"].partition("=")[2]
    form = {"email": "ana@tienda.test", "password": "una clave larga", "csrf_token": token}
    assert stranger.post("/login", data=form).status_code == 302
    assert stranger.get("/").status_code == 200
    for cookie in (planted, planted[:-2], "made-up", ""):
        thief = app.test_client()
        thief.set_cookie("session", cookie)
        assert thief.get("/").headers["Location"] == "/login"


def test_a_form_token_of_another_session_is_refused(app: Flask, client: FlaskClient, csrf: Csrf) -> None:
    """A token that a person got for himself is no token for another's session."""
    foreign = csrf(app.test_client())
    assert client.post("/logout", data={"csrf_token": foreign}).status_code == 400
    assert client.get("/").status_code == 200


def test_a_guesser_is_told_how_long_to_wait_and_a_known_browser_is_not(app: Flask, login: Login, csrf: Csrf) -> None:
    """The sixth guess from one network is a 429 with the seconds; the browser its person used before comes in."""

    def post(browser: FlaskClient, password: str) -> TestResponse:
        form = {"email": "ana@tienda.test", "password": password, "csrf_token": csrf(browser)}
        return browser.post("/login", data=form, headers={"X-Forwarded-For": "10.0.0.1, 203.0.113.9"})

    known = login(app)
    known.post("/logout", data={"csrf_token": csrf(known, "/")})
    guesser = app.test_client()
    assert [post(guesser, "otra clave más").status_code for _ in range(5)] == [401] * 5
    slowed = post(guesser, "una clave larga")
    assert (slowed.status_code, slowed.headers["Retry-After"]) == (429, "1")
    assert "Intente de nuevo en 1 s;" in slowed.get_data(as_text=True)
    assert post(known, "una clave larga").status_code == 302


def test_the_device_cookie_is_sent_to_the_login_alone(app: Flask, csrf: Csrf) -> None:
    """Out of reach of scripts and of every other page, and encrypted where the reader's connection is."""
    browser = app.test_client()
    form = {"email": "ana@tienda.test", "password": "una clave larga", "csrf_token": csrf(browser)}
    answer = browser.post("/login", data=form, headers={"X-Forwarded-Proto": "https"})
    (cookie,) = [one for one in answer.headers.getlist("Set-Cookie") if one.startswith("device=")]
    assert {"Secure", "HttpOnly", "Path=/login", "SameSite=Lax"} <= set(cookie.split("; "))


def test_an_admin_unlocks_a_person_on_the_page(app: Flask, client: FlaskClient, csrf: Csrf) -> None:
    """The page says until when attempts are slowed, and the button ends it; the trail says who did."""
    guesser = app.test_client()
    token = csrf(guesser)
    form = {"email": "ana@tienda.test", "password": "otra clave más", "csrf_token": token}
    for _ in range(10):
        guesser.post("/login", data=form)
    with app.extensions[EXTENSION].store.transaction() as session:
        session.execute(sa.update(LoginFailure).values(failures=15))
    assert "Intentos frenados hasta" in client.get("/people").get_data(as_text=True)
    done = client.post("/people/1/unlock", data={"csrf_token": csrf(client, "/")})
    assert done.status_code == 302
    assert "Intentos frenados hasta" not in client.get("/people").get_data(as_text=True)
    rows = client.get("/api/v1/trail").get_json()["data"]
    assert [(row["action"], row["subject"], row["address"]) for row in rows[:1]] == [
        ("unlock", "ana@tienda.test", "127.0.0.1")
    ]


def test_the_first_admin_comes_in_by_the_link(
    installation: Installation, make_app: Callable[[Installation], Flask], csrf: Csrf
) -> None:
    """The link asks for an address and a password, opens the pages at once, and leads nowhere afterwards."""
    key = keys.make_first_link(installation.store, now=utc_now())
    client = make_app(installation).test_client()
    token = csrf(client, f"/welcome/{key}")
    short = client.post(f"/welcome/{key}", data={"email": "a@b.test", "password": "corta", "csrf_token": token})
    assert (short.status_code, "12 caracteres" in short.get_data(as_text=True)) == (400, True)
    form = {"email": "jefa@tienda.test", "password": "una clave muy larga", "csrf_token": token}
    assert client.post(f"/welcome/{key}", data=form).headers["Location"] == "/"
    assert "jefa@tienda.test" in client.get("/people").get_data(as_text=True)
    assert client.get(f"/welcome/{key}").status_code == 404


def test_a_token_opens_what_its_scopes_name(reconciled: Installation, app: Flask) -> None:
    """A token for lists downloads no file, and is told which scope it lacks."""
    with reconciled.store.transaction() as session:
        token = create_token(session, "lista", Role.VIEWER, now=utc_now(), scopes=[Scope.API])
    headers = {"Authorization": f"Bearer {token}"}
    assert app.test_client().get("/api/v1/control", headers=headers).status_code == 200
    refused = app.test_client().get("/reports/control.csv", headers=headers)
    assert (refused.status_code, refused.get_data(as_text=True)) == (403, "token lista has no scope reports\n")


def test_a_token_opens_downloads_and_nothing_else(reconciled: Installation, app: Flask) -> None:
    """A program downloads with its token; pages and a revoked token are refused without a redirect."""
    with reconciled.store.transaction() as session:
        token = create_token(session, "erp", Role.VIEWER, now=utc_now(), scopes=Scope)
    headers = {"Authorization": f"Bearer {token}"}
    assert app.test_client().get("/reports/control.csv", headers=headers).status_code == 200
    assert app.test_client().get("/payouts", headers=headers).status_code == 403
    with reconciled.store.transaction() as session:
        revoke_token(session, "erp", now=utc_now())
    refused, with_cookies = app.test_client().get("/reports/control.csv", headers=headers), app.test_client()
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    with_cookies.set_cookie("session", "of an earlier answer")
    assert with_cookies.get("/reports/control.csv", headers=headers).status_code == 401


def test_settings_show_no_secret(client: FlaskClient) -> None:
    """Keys, webhook secrets and the session key are not in the page, only that they are set."""
    page = client.get("/settings").get_data(as_text=True)
    assert "sk_test_sandbox" not in page
    assert "whsec_test_secret" not in page
    assert "http://provider.test" in page
    assert ">1 definido<" in page


def test_settings_are_shown_as_they_are_written(client: FlaskClient) -> None:
    """A switch and the engine stand as in cuadre.toml, and no object of the program does."""
    page = text_of(client, "/settings")
    assert "access_log false" in page
    assert "engine local" in page


@pytest.mark.parametrize("written", ["local", "processes:4", "dask://host:8786"])
def test_an_engine_is_said_as_it_is_written(written: str) -> None:
    """What is read from a setting gives the same setting."""
    assert str(to_engine(written)) == written


def test_only_an_admin_sees_people(reconciled: Installation, app: Flask, login: Login) -> None:
    """An admin reads who may look and what tokens open, without any hash; finance is refused."""
    with reconciled.store.transaction() as session:
        add_user(session, to_user("luz@tienda.test", "otra clave larga", Role.FINANCE, now=utc_now()))
        token = create_token(session, "erp", Role.VIEWER, now=utc_now(), scopes=Scope)
    page = login(app).get("/people").get_data(as_text=True)
    assert "luz@tienda.test" in page
    assert ">erp<" in page
    assert token not in page
    assert "argon2" not in page
    assert login(app, "luz@tienda.test", "otra clave larga").get("/people").status_code == 403


def test_a_download_is_in_the_trail(client: FlaskClient) -> None:
    """Who took which file can be read later."""
    client.get("/reports/control.csv")
    page = client.get("/operation/trail").get_data(as_text=True)
    assert "control.csv" in page
    assert ">entró<" in page
