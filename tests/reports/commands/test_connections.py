"""The command and the page that say which connections a person sees."""

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import col

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.migrating import alembic_config
from consumer.facts.store import Store
from cuadre import Commands
from reports.access.people import Role, add_user, to_user
from reports.tables import AuditEntry, User

BETO = "beto@tienda.test"
Run = Callable[..., Result]


@pytest.fixture
def with_beto(two: Installation) -> Installation:
    with two.store.transaction() as session:
        add_user(session, to_user(BETO, "otra clave larga", Role.VIEWER, now=utc_now()))
    return two


@pytest.fixture
def run(with_beto: Installation) -> Run:
    return lambda *args: CliRunner().invoke(Commands(), list(args), obj=lambda: with_beto)


def test_an_admin_says_what_a_person_sees(run: Run, with_beto: Installation) -> None:
    """All connections at first, then those named, none, and all again; each change is in the trail."""
    lines = []
    for words in ([], ["mexico"], [], ["--none"], [], ["--all"], []):
        result = run("users", "connections", BETO, *words)
        lines.append((result.exit_code, result.output.splitlines()))
    assert lines == [
        (0, ["main", "mexico"]),
        (0, [f"{BETO} sees mexico from now on"]),
        (0, ["mexico"]),
        (0, [f"{BETO} sees no connection from now on"]),
        (0, []),
        (0, [f"{BETO} sees every connection from now on"]),
        (0, ["main", "mexico"]),
    ]
    with with_beto.store.reading() as session:
        trail = sa.select(col(AuditEntry.subject)).where(col(AuditEntry.action) == "connections")
        assert list(session.scalars(trail)) == [f"{BETO}: mexico", f"{BETO}: none", f"{BETO}: all"]


@pytest.mark.parametrize(
    ("words", "exit_code", "sentence"),
    [
        ([BETO, "peru"], 1, "there is no connection peru; there are main, mexico"),
        (["ana@tienda.test", "mexico"], 1, "admins see every connection: give the role finance or viewer first"),
        (["nadie@tienda.test", "mexico"], 1, "there is no user nadie@tienda.test"),
        (["nadie@tienda.test"], 1, "there is no user nadie@tienda.test"),
        ([BETO, "mexico", "--all"], 2, "give names of connections, or --all, or --none"),
    ],
)
def test_what_cannot_be_is_one_sentence(run: Run, words: list[str], exit_code: int, sentence: str) -> None:
    """An unknown name, an admin, an unknown person and two wishes at once change no row."""
    result = run("users", "connections", *words)
    assert (result.exit_code, result.output.strip().removeprefix("Error: ")) == (exit_code, sentence)
    assert run("users", "connections", BETO).output.split() == ["main", "mexico"]


def test_a_token_may_be_limited(run: Run) -> None:
    """A token is made for some connections; one of an admin or of an unknown connection is not made at all."""
    assert run("tokens", "create", "bi", "--connection", "mexico").exit_code == 0
    refused = [
        run("tokens", "create", "dwh", "--role", "admin", "--connection", "mexico"),
        run("tokens", "create", "dwh", "--connection", "peru"),
    ]
    assert [result.exit_code for result in refused] == [1, 1]
    assert run("tokens", "create", "dwh").exit_code == 0


def test_the_page_says_who_sees_what(
    with_beto: Installation,
    make_app: Callable[..., Flask],
    login: Callable[..., FlaskClient],
    csrf: Callable[..., str],
) -> None:
    """An admin ticks connections on a page of its own; others are refused there."""
    client = login(app := make_app(with_beto))
    path = "/people/connections"
    form = {"email": BETO, "name": ["mexico"], "csrf_token": csrf(client, path)}
    page = client.post(path, data=form, follow_redirects=True).text
    with with_beto.store.reading() as session:
        seen = session.scalar(sa.select(col(User.connections)).where(col(User.email) == BETO))

    assert seen == "mexico"
    assert f"Se guardó lo que ve {BETO}." in page
    wrong = client.post(path, data=form | {"name": ["peru"]})
    assert (wrong.status_code, "conexión peru; hay main, mexico" in wrong.text) == (400, True)
    assert client.post(path, data=form | {"every": "yes"}).status_code == 302
    beto = login(app, BETO, "otra clave larga")
    token = csrf(beto, "/payouts")
    assert (beto.get(path).status_code, beto.post(path, data=form | {"csrf_token": token}).status_code) == (403, 403)


def test_a_person_without_a_connection_has_their_own_page(
    with_beto: Installation, run: Run, make_app: Callable[..., Flask], login: Callable[..., FlaskClient],
    csrf: Callable[..., str],
) -> None:  # fmt: skip
    """Password, second factor and sessions are theirs whatever they see; everything else stays shut."""
    assert run("users", "connections", BETO, "--none").exit_code == 0
    beto = login(make_app(with_beto), BETO, "otra clave larga")
    assert [beto.get(path).status_code for path in ("/account", "/payouts", "/", "/exceptions")] == [200, 403, 403, 403]
    form = {"password": "otra clave larga", "new_password": "una tercera clave", "csrf_token": csrf(beto, "/account")}
    assert beto.post("/account/password", data=form).status_code == 302
    assert beto.get("/account").status_code == 200


def test_an_upgrade_says_of_what_old_files_were_made(tmp_path: Path) -> None:
    """Files of the first release's archive belong to the connections whose runs they name."""
    store = Store(f"sqlite:///{tmp_path / 'cuadre.db'}")
    with store.connection() as connection:
        command.upgrade(alembic_config(connection), "0100")
        for number, runs in enumerate(("norte:a main:b", "main:c", "")):
            row = {"id": number, "path": f"p{number}", "run_ids": runs, "row_count": 0, "made_at": "2026-10-01"}
            row |= dict.fromkeys(("name", "format", "profile", "language", "sha256"), "x")
            connection.execute(sa.insert(sa.table("report_file", *map(sa.column, row))).values(row))
        command.upgrade(alembic_config(connection), "head")
        found = connection.execute(sa.text("SELECT connections FROM report_file ORDER BY id")).scalars().all()
    store.close()
    assert found == ["main norte", "main", ""]
