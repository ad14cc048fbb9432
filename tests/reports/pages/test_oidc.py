"""Login by the sandbox's identity provider: the right way in, and every wrong answer that must not lead in."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient
from playwright.sync_api import Browser, expect
from pydantic import SecretStr
from sqlmodel import Session, col
from structlog.testing import capture_logs
from werkzeug.serving import make_server

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.settings import ConfigError
from cuadre import Commands
from reports.access import identities, people
from reports.access.identities import find_role
from reports.access.people import Role, add_user, to_user
from reports.access.trail import hand_on
from reports.pages import desk
from reports.tables import AuditEntry, User
from sandbox.serve import RunningSandbox
from tests.databases import forbid_writing
from tests.merchant import settings_of
from tests.ports import free_port
from tests.reports.pages.conftest import PATIENCE
from tests.sandbox.conftest import one_payout

BASE = "http://localhost"
ROLES = {"cuadre-admins": "admin", "finanzas": "finance"}


@pytest.fixture(scope="session")
def provider() -> Iterator[str]:
    """The issuer of a running sandbox."""
    with RunningSandbox(one_payout()) as running:
        yield f"http://127.0.0.1:{running.port}/_sandbox/identity"


@pytest.fixture
def steer(provider: str) -> Iterator[Callable[..., None]]:
    """Switch on a fault of the provider, or tell it something else, for one test."""

    def post(**body: Any) -> None:
        assert httpx.post(provider, json=body).status_code == 200

    yield post
    post(fault="")


def with_login(reconciled: Installation, folder: Path, issuer: str, public_url: str = BASE) -> Installation:
    more = {"oidc_client_id": "cuadre", "oidc_client_secret": "sandbox-client-secret", "oidc_role_claim": "groups"}
    overrides = {"oidc": {"roles": ROLES}}
    settings = settings_of(
        "http://provider.test", folder, oidc_issuer=issuer, public_url=public_url, overrides=overrides, **more
    )
    return Installation(settings=settings, store=reconciled.store)


@pytest.fixture
def sso(reconciled: Installation, tmp_path: Path, provider: str) -> Installation:
    return with_login(reconciled, tmp_path, provider)


@pytest.fixture
def sso_app(sso: Installation, make_app: Callable[..., Flask]) -> Flask:
    return make_app(sso)


def begin(client: FlaskClient, person: str, target: str = "") -> str:
    """Choose a person at the provider, and return the address that leads back."""
    answer = client.get("/login/oidc", query_string={"next": target} if target else None)
    assert answer.status_code == 302, answer.text
    back = httpx.post(answer.headers["Location"], data={"person": person})
    return back.headers["Location"].removeprefix(BASE)


def enter(client: FlaskClient, person: str) -> tuple[int, str]:
    answer = client.get(begin(client, person))
    return answer.status_code, answer.text


def trail(installation: Installation) -> list[tuple[str, str, str]]:
    entry = AuditEntry
    with installation.store.reading() as session:
        rows = session.execute(sa.select(col(entry.who), col(entry.action), col(entry.subject)).order_by(col(entry.id)))
        return [(row[0], row[1], row[2]) for row in rows]


def test_the_right_person_comes_in(sso: Installation, sso_app: Flask, provider: str) -> None:
    """The address asks by PKCE and nonce; the answer makes a person with the role of their group, and a new session."""
    client = sso_app.test_client()
    asked = parse_qs(urlsplit(client.get("/login/oidc").headers["Location"]).query)
    assert (asked["code_challenge_method"], asked["response_type"], len(asked["nonce"][0])) == (["S256"], ["code"], 64)
    before = client.get_cookie("session")
    answer = client.get(begin(client, "beto", "/payouts"))

    assert (answer.status_code, answer.headers["Location"]) == (302, "/payouts")
    assert client.get_cookie("session") != before
    assert "beto@tienda.example" in client.get("/payouts").text
    assert client.get("/people").status_code == 403
    with sso.store.reading() as session:
        roles = session.scalars(sa.select(col(User.role)).where(col(User.email) == "beto@tienda.example")).all()
    assert roles == ["finance"]
    assert trail(sso) == [("beto@tienda.example", "login", f"login {provider} u-200")]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("other-issuer", "iss"),
        ("wrong-nonce", "nonce"),
        ("no-nonce", "nonce"),
        ("expired", "ExpiredTokenError"),
        ("alg-none", "UnsupportedAlgorithmError"),
        ("alg-hs256", "UnsupportedAlgorithmError"),
        ("other-audience", "aud"),
        ("other-key", "BadSignatureError"),
        ("wrong-access-token", "at_hash"),
        ("no-token", "KeyError"),
        ("answers-for-another", "another issuer"),
    ],
)
def test_a_wrong_answer_lets_no_one_in(
    sso: Installation, sso_app: Flask, steer: Callable[..., None], fault: str, reason: str
) -> None:
    """Each attack ends at the form with one sentence; the log names the check and no secret, and no person is made."""
    client = sso_app.test_client()
    steer(fault=fault)
    with capture_logs() as logs:
        status, page = enter(client, "beto")
    assert (status, "La respuesta del ingreso de la empresa no es de fiar" in page) == (401, True)
    assert reason in " ".join(str(line.get("reason", "")) for line in logs)
    assert not any(secret in str(logs) for secret in ("eyJ", "sandbox-client-secret"))
    assert client.get("/payouts").status_code == 302
    with sso.store.reading() as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(User)) == 1


def test_an_answer_is_good_once_and_for_its_own_browser(sso_app: Flask) -> None:
    """The same address a second time, another state, and another browser's answer are refused."""
    client, other = sso_app.test_client(), sso_app.test_client()
    back = begin(client, "beto")
    assert other.get(back).status_code == 401
    assert client.get(back).status_code == 302
    replayed = client.get(back)
    assert (replayed.status_code, "Este ingreso ya terminó o empezó en otro navegador" in replayed.text) == (401, True)
    fresh = begin(other, "beto")
    assert other.get(fresh.replace("state=", "state=x")).status_code == 401
    assert other.get("/login/callback").status_code == 401


def test_rotated_keys_are_taken(sso_app: Flask, steer: Callable[..., None]) -> None:
    """A login after the provider changed its key works like the one before."""
    assert enter(sso_app.test_client(), "beto")[0] == 302
    steer(rotate=True)
    assert enter(sso_app.test_client(), "beto")[0] == 302


@pytest.mark.parametrize("fault", ["down", "not-json"])
def test_a_provider_that_is_away_leaves_the_password(
    sso: Installation, sso_app: Flask, steer: Callable[..., None], login: Callable[..., FlaskClient], fault: str
) -> None:
    """The way to it is a sentence in Spanish above the form; a password lets in and is an alarm of the trail."""
    steer(fault=fault)
    answer = sso_app.test_client().get("/login/oidc")
    assert (answer.status_code, "El ingreso de la empresa no responde ahora" in answer.text) == (503, True)
    with capture_logs() as logs:
        login(sso_app)
    assert [line["event"] for line in logs] == ["a password was used past the identity provider"]
    assert [row[1] for row in trail(sso)] == ["login", "break-glass login"]


def test_a_provider_of_another_name_is_not_asked(sso_app: Flask, steer: Callable[..., None]) -> None:
    """A description that names another issuer than the settings is refused before anyone is sent there."""
    steer(fault="other-discovery")
    assert sso_app.test_client().get("/login/oidc").status_code == 401


def test_unknown_roles_get_nothing(sso: Installation, sso_app: Flask, steer: Callable[..., None]) -> None:
    """A group that is not named gives no access; whoever loses theirs loses their sessions too."""
    assert "no le ha dado ningún rol aquí" in enter(sso_app.test_client(), "carla")[1]
    client = sso_app.test_client()
    assert enter(client, "beto")[0] == 302
    steer(people={"beto": {"sub": "u-200", "groups": ["todos"]}})
    assert enter(sso_app.test_client(), "beto")[0] == 401
    assert client.get("/payouts").status_code == 302
    everyone: dict[str, Any] = {"groups": ["finanzas", "todos"], "email": "beto@tienda.example", "email_verified": True}
    steer(people={"beto": {"sub": "u-200", **everyone}})
    with sso.store.reading() as session:
        assert session.scalars(sa.select(col(User.email)).order_by(col(User.email))).all() == [
            "ana@tienda.test",
            "beto@tienda.example",
        ]


def test_an_address_is_no_identity(sso: Installation, sso_app: Flask, steer: Callable[..., None]) -> None:
    """Another subject with a known address is refused, and an address that is not verified names no one."""
    with sso.store.transaction() as session:
        add_user(session, to_user("dora@tienda.test", "otra clave larga", Role.ADMIN, now=utc_now()))
    claims = {"sub": "u-400", "email": "dora@tienda.test", "groups": ["finanzas"]}
    steer(people={"dora": claims | {"email_verified": True}, "eva": claims | {"sub": "u-500"}})
    assert "Un administrador los une" in enter(sso_app.test_client(), "dora")[1]
    assert enter(sso_app.test_client(), "eva")[0] == 302
    with sso.store.reading() as session:
        assert "u-500@127.0.0.1" in session.scalars(sa.select(col(User.email))).all()


@pytest.mark.parametrize(
    ("claims", "path", "role"),
    [
        ({"roles": ["x", "finanzas"]}, "roles", "finance"),
        ({"roles": ["finanzas", "cuadre-admins"]}, "roles", "admin"),
        ({"roles": "finanzas"}, "roles", "finance"),
        ({"realm": {"roles": ["finanzas"]}}, "realm.roles", "finance"),
        ({"https://t.example/roles": ["finanzas"]}, "https://t.example/roles", "finance"),
        ({"roles": [["finanzas"], 7, None]}, "roles", None),
        ({"roles": {"finanzas": True}}, "roles", None),
        ({}, "realm.roles", None),
    ],
)
def test_a_role_comes_from_a_claim(claims: dict[str, Any], path: str, role: str | None) -> None:
    """The highest role of the values counts; a path leads into objects, and a value that is no text gives none."""
    assert find_role(claims, path, ROLES) == role


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"oidc_client_secret": None}, "a login by an identity provider also needs CUADRE_OIDC_CLIENT_SECRET"),
        ({"public_url": None}, "a login by an identity provider also needs CUADRE_PUBLIC_URL"),
        ({"oidc": {"roles": {}}}, "a login by an identity provider also needs [oidc.roles]"),
        ({"oidc_issuer": None}, "a login by an identity provider also needs CUADRE_OIDC_ISSUER"),
        ({"oidc_issuer": "http://id.example"}, "CUADRE_OIDC_ISSUER: must be an https address without a query"),
        ({"oidc": {"roles": {"x": "owner"}}}, "oidc.roles.x: Input should be 'viewer', 'finance' or 'admin'"),
        ({"oidc": {"role": {}}}, "oidc.role: is not a setting"),
    ],
)
def test_half_a_setting_stops_the_start(tmp_path: Path, changes: dict[str, Any], line: str) -> None:
    """What is missing or wrong is named in one line."""
    whole: dict[str, Any] = {"oidc_issuer": "https://id.example", "oidc_client_id": "c", "oidc_client_secret": "s"}
    given = whole | {"public_url": "https://cuadre.example", "oidc": {"roles": ROLES}} | changes
    with pytest.raises(ConfigError) as caught:
        settings_of("http://provider.test", tmp_path, overrides=given)
    assert str(caught.value).startswith(line)


def test_the_extra_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library the start ends with how to install it."""
    monkeypatch.setattr("consumer.facts.identity.find_spec", lambda _name: None)
    given: dict[str, Any] = {"oidc_issuer": "https://id.example", "oidc_client_id": "c", "oidc_client_secret": "s"}
    more = {"public_url": "https://cuadre.example", "oidc": {"roles": ROLES}}
    with pytest.raises(ConfigError, match=r"CUADRE_OIDC_ISSUER needs Authlib: pip install 'cuadre\[oidc\]'"):
        settings_of("http://provider.test", tmp_path, overrides=given | more)


def test_a_person_logs_in_by_the_provider_in_a_browser(
    browser: Browser, reconciled: Installation, tmp_path: Path, provider: str, make_app: Callable[..., Flask]
) -> None:
    """From the login page to the provider's own page, a click on a name, and back to the page that was wanted."""
    port = free_port()
    app = make_app(with_login(reconciled, tmp_path, provider, f"http://127.0.0.1:{port}"))
    server = make_server("127.0.0.1", port, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    try:
        page.goto(f"http://127.0.0.1:{port}/exceptions")
        page.get_by_role("link", name="Entrar con la cuenta de la empresa").click()
        page.get_by_role("button", name="beto").click()
        expect(page.get_by_role("heading", name="Excepciones")).to_be_visible()
        expect(page.get_by_text("beto@tienda.example")).to_be_visible()
    finally:
        page.close()
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_session_that_is_not_used_ends(
    sso: Installation, sso_app: Flask, login: Callable[..., FlaskClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hours without a request end a session that the provider opened, and no other; each request counts."""
    client, with_password = sso_app.test_client(), login(sso_app)
    assert enter(client, "beto")[0] == 302
    began = utc_now()
    for minutes, status in ((119, 200), (238, 200), (359, 302)):
        monkeypatch.setattr(desk, "now", lambda minutes=minutes: began + timedelta(minutes=minutes))
        assert (minutes, client.get("/payouts").status_code) == (minutes, status)
    assert with_password.get("/payouts").status_code == 200
    with forbid_writing(sso.store):
        monkeypatch.setattr(desk, "now", lambda: began + timedelta(minutes=240))
        assert client.get("/payouts").status_code == 200


def test_each_line_of_the_trail_names_the_subject(
    sso: Installation, sso_app: Flask, provider: str, tmp_path: Path
) -> None:
    """What a person of the provider does is handed on with issuer and subject, and what others do without."""
    assert enter(client := sso_app.test_client(), "beto")[0] == 302
    assert client.get("/reports/payout-summary.csv").status_code == 200
    people.note(sso.store, "ana@tienda.test", "logout", "login", now=utc_now())
    path = tmp_path / "trail.jsonl"
    settings = sso.settings.model_copy(update={"trail_url": SecretStr(f"file://{path}")})
    assert hand_on(Installation(settings, sso.store), now=utc_now() + timedelta(minutes=2)) == 3
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [(line["action"], line.get("identity")) for line in lines] == [
        ("login", f"{provider} u-200"), ("download", f"{provider} u-200"), ("logout", None),
    ]  # fmt: skip


def test_the_page_of_the_trail_names_the_subject(
    sso_app: Flask, login: Callable[..., FlaskClient], provider: str
) -> None:
    """An admin reads issuer and subject beside what a person of the provider did."""
    assert enter(client := sso_app.test_client(), "beto")[0] == 302
    assert client.get("/reports/payout-summary.csv").status_code == 200
    rows = login(sso_app).get("/operation/trail").text.split("<tr")
    [download] = [row for row in rows if "payout-summary" in row]
    assert f"{provider} u-200" in download


@pytest.mark.both_databases
def test_two_first_logins_at_once_make_one_person(reconciled: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both come in, as the same person."""
    claims = {"iss": "https://id.example", "sub": "u-1", "email": "beto@tienda.test", "email_verified": True}
    together = threading.Barrier(2, timeout=1)
    look_up = identities._person_of

    def look_up_together(session: Session, issuer: str, subject: str) -> User | None:
        found = look_up(session, issuer, subject)
        # Whoever waits for the other's end never meets it here.
        with suppress(threading.BrokenBarrierError):
            together.wait()
        return found

    monkeypatch.setattr(identities, "_person_of", look_up_together)
    with ThreadPoolExecutor(2) as pool:
        logins = [
            pool.submit(identities.come_in, reconciled.store, claims, Role.FINANCE, now=utc_now(), address="")
            for _ in range(2)
        ]
        ids = {login.result().id for login in logins}
    assert len(ids) == 1


def test_a_known_person_is_linked_by_an_admin(
    sso: Installation, sso_app: Flask, login: Callable[..., FlaskClient], csrf: Callable[..., str], provider: str
) -> None:
    """The command joins the two: sessions and password end, and the provider lets in who was refused before."""
    beto = "beto@tienda.example"
    with sso.store.transaction() as session:
        add_user(session, to_user(beto, "otra clave larga", Role.VIEWER, now=utc_now()))
    old = login(sso_app, beto, "otra clave larga")
    assert enter(sso_app.test_client(), "beto")[0] == 401

    def link(*words: str) -> Result:
        return CliRunner().invoke(Commands(), ["users", "link", *words], obj=lambda: sso)

    assert link(beto, "u-200").exit_code == 0
    assert enter(client := sso_app.test_client(), "beto")[0] == 302
    assert beto in client.get("/payouts").text
    assert old.get("/payouts").status_code == 302
    stranger = sso_app.test_client()
    form = {"email": beto, "password": "otra clave larga", "csrf_token": csrf(stranger)}
    assert stranger.post("/login", data=form).status_code == 401
    assert [link("ana@tienda.test", "u-200").exit_code, link("eva@tienda.test", "u-300").exit_code] == [1, 1]
    assert ("link user", f"{beto} {provider} u-200") in [(action, subject) for _, action, subject in trail(sso)]
