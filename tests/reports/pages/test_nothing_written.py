"""A database that takes no row: what needs none works, the rest says so, and leaving always leaves."""

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from reports.access import sessions
from reports.access.keys import Scope, create_token
from reports.access.people import Role
from tests.databases import forbid_writing

pytestmark = pytest.mark.both_databases
MakeApp = Callable[..., Flask]
Csrf = Callable[..., str]
Login = Callable[..., FlaskClient]


def test_leaving_ends_the_session_everywhere(
    reconciled: Installation, make_app: MakeApp, login: Login, csrf: Csrf
) -> None:
    """The cookie is gone, a copy of it opens nothing, and when rows are taken again the end is kept."""
    app = make_app(reconciled)
    client = login(app)
    copied = client.get("/").request.headers["Cookie"]
    token = csrf(client, "/")
    thief = app.test_client(use_cookies=False)
    with forbid_writing(reconciled.store):
        assert client.post("/logout", data={"csrf_token": token}).status_code == 302
        assert client.get("/").headers["Location"] == "/login"
        assert thief.get("/", headers={"Cookie": copied}).headers["Location"] == "/login"
    login(app)
    assert list(sessions.ENDED) == []
    assert thief.get("/", headers={"Cookie": copied}).headers["Location"] == "/login"


def test_what_needs_no_row_works(reconciled: Installation, make_app: MakeApp, login: Login) -> None:
    """Pages and downloads are read and sent; that the trail has no line of it is said in the log."""
    for path in ["/", "/payouts", "/settings", "/people", "/reports/payout-summary.csv", "/payouts.csv"]:
        client = login(make_app(reconciled))
        with forbid_writing(reconciled.store):
            assert client.get(path).status_code in {200, 404}, path


def test_a_program_downloads_with_its_token(reconciled: Installation, make_app: MakeApp) -> None:
    """That its last use cannot be noted is no reason to refuse it."""
    app = make_app(reconciled)
    with reconciled.store.transaction() as session:
        token = create_token(session, "night", Role.VIEWER, now=utc_now(), scopes=tuple(Scope))
    with forbid_writing(reconciled.store):
        answer = app.test_client().get("/api/v1/events", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200


def test_a_login_that_cannot_be_kept_says_so(reconciled: Installation, make_app: MakeApp, csrf: Csrf) -> None:
    """A 503 with one sentence and when to come back, and no page of failure."""
    stranger = make_app(reconciled).test_client()
    form = {"email": "ana@tienda.test", "password": "una clave larga", "csrf_token": csrf(stranger)}
    with forbid_writing(reconciled.store):
        answer = stranger.post("/login", data=form)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")
    assert "no se puede guardar" in answer.get_data(as_text=True)
