"""A person sees the connections they were given: every route is walked, and nothing of another connection shows."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from zipfile import ZipFile

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from sqlmodel import SQLModel
from werkzeug.routing import Rule

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.tables.alarms import AlarmMessage
from consumer.facts.tables.jobs import Tick
from consumer.facts.tables.sync import Window
from reconcile.tables.desk import Attachment
from reconcile.tables.runs import PayoutResult
from reports import archive
from reports.access.keys import Scope, create_token
from reports.access.people import Role, add_user, to_user
from reports.access.visibility import limit_token
from reports.directory import LISTINGS
from reports.making import catalogue
from reports.pages import token_check
from reports.pages.views import PLACES
from reports.search import filling
from reports.tables import ReportOrder
from tests.merchant import settings_of
from tests.reports.conftest import SUMMARY

BETO, PASSWORD = "beto@tienda.test", "otra clave larga"
Login = Callable[..., FlaskClient]
Csrf = Callable[..., str]

# What stands in the hidden connection: its name, ids, people and amounts in minor units and as they are written.
HIDDEN = re.compile(
    r"norte|po_1\b|pi_[12]\b|evt_1\b|cl:33|00aa00aa|11bb11bb|11111111-1|Ñandú|137.?590|150.?000|98.?393|75.?000|run-1|"
    r"cartola\.csv|00018|mov_1|secret of the north"
)
# Values of the hidden connection for the holes of a route, by the name of the hole; others stay plain.
HOLES: dict[str, list[str]] = {
    "connection": ["norte"],
    "payout_id": ["po_1"],
    "exception_id": ["00aa00aa00aa00aa"],
    "action": ["note", "resolve", "match"],
    "deed": ["accept", "revoke"],
    "doc_key": ["cl:33::1105", "cl:33::1201"],
    "event_id": ["evt_1"],
    "dispute_id": ["cb_1"],
    "place": list(PLACES),
    "number": ["1", "42"],
    "file_format": ["csv"],
    "kind": ["invoices", "bank"],
    "filename": ["cuadre.css"],
    "key": ["0" * 32],
    "movement_id": ["mov_1"],
    "period": ["2026-10"],
}
NAMES = [*catalogue.AVAILABLE, *LISTINGS]
# Each names the hidden connection as a form may.
FORM = {
    "connection": "norte", "pick": ["norte/00aa00aa00aa00aa/0", "norte/evt_1"], "action": "note", "note": "x",
    "reason": "x", "version": "0", "resource_id": "pi_2", "doc_key": "cl:33::1105", "seen": "0", "kind": "invoices",
    "until": "2026-09-30", "stream": "payouts", "owner": "x", "amount": "1", "email": "ana@tienda.test",
    "name": "norte",
}  # fmt: skip


@pytest.fixture
def group(books: Installation, tmp_path: Path) -> Installation:
    """The made-up books as those of the connection `norte`, and one payout of `main` with them."""
    toml = '[connections.norte]\napi_key = "sk_test_norte"\ncountry = "cl"\n'
    (tmp_path / "cuadre.toml").write_text(toml, encoding="utf-8")
    installation = Installation(settings=settings_of("http://provider.test", tmp_path), store=books.store)
    now = utc_now()
    with books.store.transaction() as session:
        for table in SQLModel.metadata.sorted_tables:
            if "connection" in table.columns:
                session.execute(sa.update(table).values(connection="norte"))
        window = Window(connection="norte", stream="payouts", since=now, until=now, opened_at=now, state="open",
                        reason="secret of the north", pages=0, events=0)  # fmt: skip
        session.add(window)
        lasting: dict[str, Any] = {"worker": "w", "started_at": now, "lease_until": now + timedelta(hours=1)}
        for job in ("nightly:norte", "pull:norte:payouts", "nightly:norte by hand", "endpoint:norte"):
            session.add(Tick(job=job, planned_at=now, state="complete", outcome="secret of the north", **lasting))
        session.add(Tick(job="nightly:main", planned_at=now, state="complete", outcome="14 files", **lasting))
        asked = {"name": "payout-detail", "connections": ["norte"], "days": [], "shape": ["csv", "machine", "en"]}
        session.add(ReportOrder(who="ana@tienda.test", asked=json.dumps(asked), state="failed", ordered_at=now,
                                seen_at=now, error="secret of the north"))  # fmt: skip
        session.add(Attachment(connection="norte", exception_id="00aa00aa00aa00aa", name="secret of the north.pdf",
                               size=1, sha256="a" * 64, who="ana@tienda.test", at=now))  # fmt: skip
        session.add(AlarmMessage(channel="mail", kind="alarm", content="{}", made_at=now, error="secret of the north"))
        beto = to_user(BETO, PASSWORD, Role.FINANCE, now=now)
        beto.connections = "main"
        add_user(session, beto)
    archive.night(installation, installation.settings.connection("norte"), on=date(2026, 10, 8), now=now)
    return installation


@pytest.fixture
def own(group: Installation, keep_run: Callable[..., None]) -> Installation:
    """The same, with a run of `main` that found one payout."""
    with group.store.transaction() as session:
        keep_run(session, "main", "run-9", number=9)
        row = SUMMARY | {"payout_id": "po_own", "payments_count": 1, "payments_gross": 800, "refunds_count": 0,
                         "refunds_gross": 0, "fee_total": 10, "fee_net": 8, "fee_vat": 2, "computed_amount": 790,
                         "payout_amount": 790, "bank_amount": 790, "bank_movement_id": "mov_9"}  # fmt: skip
        session.add(PayoutResult(connection="main", run_id="run-9", payout_id="po_own", payout_date=date(2026, 10, 6),
                                 status_recon="closed", difference=0, columns=json.dumps(row)))  # fmt: skip
    return group


@pytest.fixture
def group_app(own: Installation, make_app: Callable[..., Flask]) -> Flask:
    return make_app(own)


def paths_of(rule: Rule) -> Iterator[str]:
    """Fill the holes of a route with what belongs to the hidden connection."""
    holes = {name: HOLES.get(name, ["1"]) for name in rule.arguments}
    if "name" in holes:
        holes["name"] = NAMES
    for values in product(*holes.values()):
        filled = dict(zip(holes, values, strict=True))
        yield re.sub(r"<(?:[^:>]+:)?(\w+)>", lambda hole, filled=filled: filled[hole[1]], rule.rule)  # type: ignore[misc]


def shown_in(client: FlaskClient, path: str, **more: Any) -> set[str]:
    """Return what of the hidden connection an answer shows; what was asked with may be repeated."""
    answer = client.open(path, **more)
    assert answer.status_code < 500, (path, answer.status_code)
    asked = more.get("query_string", "")
    text = answer.get_data(as_text=True)
    headers = "".join(f"{name}: {value}\n" for name, value in answer.headers if name not in {"Location", "Link"})
    answer.close()
    for repeated in (f"{path}?{asked}".rstrip("?"), path):
        text = text.replace(repeated, "").replace(repeated.replace("&", "&amp;"), "")
    return set(HIDDEN.findall(text + headers))


def walk(client: FlaskClient, app: Flask, **more: Any) -> dict[str, set[str]]:
    """Ask every route that can be read, and return what of the hidden connection each shows."""
    found: dict[str, set[str]] = {}
    for rule in app.url_map.iter_rules():
        if "GET" in (rule.methods or ()) and rule.endpoint != "login.welcome":
            for path in paths_of(rule):
                if seen := shown_in(client, path, **more):
                    found[path] = seen
    return found


def test_no_route_shows_another_connection(group_app: Flask, own: Installation, login: Login) -> None:
    """A person of one connection finds nothing of the other on any route as viewer or finance; an admin sees all."""
    for role in (Role.VIEWER, Role.FINANCE):
        become(own, role)
        assert walk(login(group_app, BETO, PASSWORD), group_app) == {}, role
    seen = walk(login(group_app), group_app)
    assert len(seen) > 60
    reached = set().union(*seen.values())
    assert {"norte", "po_1", "pi_2", "cl:33", "secret of the north", "Ñandú", "evt_1", "run-1"} <= reached


def test_naming_another_connection_shows_nothing(group_app: Flask, login: Login) -> None:
    """With the name of the other connection in the address every list refuses as for a name that does not exist."""
    client = login(group_app, BETO, PASSWORD)
    seen = walk(client, group_app, query_string="connection=norte")
    # The refusal repeats the name that was asked for.
    assert {path: found for path, found in seen.items() if found != {"norte"}} == {}
    refused = [client.get(f"/payouts?connection={name}").text.replace(name, "x") for name in ("norte", "nadie")]
    # The token of a form holds the second in which it was made.
    norte, nowhere = (re.sub(r'name="csrf_token" value="[^"]+"', "", page) for page in refused)
    assert norte == nowhere


def test_a_run_of_another_connection_in_the_address_shows_nothing(group_app: Flask, login: Login) -> None:
    """Pages pinned to its number, and every report as a sheet, its parts unpacked; an admin's sheets hold it."""
    beto, admin = login(group_app, BETO, PASSWORD), login(group_app)
    assert walk(beto, group_app, query_string="run=42") == {}
    reached = set()
    for name, asked in product(NAMES, ("", "run=42", "connection=norte", "connection=norte&run=42")):
        path = f"/reports/{name}.xlsx?{asked}"
        assert words_of_sheet(beto.get(path).data) == set(), path
        reached |= words_of_sheet(admin.get(path).data)
    assert {"norte", "po_1", "pi_2", "cl:33", "00aa00aa", "Ñandú"} <= reached


def words_of_sheet(content: bytes) -> set[str]:
    """Return what of the hidden connection stands in an XLSX; any other answer is a refusal."""
    if not content.startswith(b"PK"):
        return set()
    with ZipFile(BytesIO(content)) as parts:
        return set(HIDDEN.findall("".join(parts.read(name).decode() for name in parts.namelist())))


def test_the_search_finds_nothing_of_another_connection(group_app: Flask, own: Installation, login: Login) -> None:
    """What an admin finds by key, name, amount and title is not there for a person of the other connection."""
    filling.fill(own, own.settings.connection("norte"))
    admin, beto = login(group_app), login(group_app, BETO, PASSWORD)
    found = set()
    for text in ("1105", "pi_2", "comercial nandu", "50.000", "pago sin documento", "11.111.111-1"):
        for path in ("/search", "/api/v1/search", "/search?part=1", "/search?part=1&kind=document&connection=norte"):
            asked = f"{path}{'&' if '?' in path else '?'}{urlencode({'q': text})}"
            found |= shown_in(admin, asked)
            page = beto.get(asked).text.replace("norte&", "&")
            assert not re.search(r"norte|documents/main|cl:33|00aa00aa|11bb11bb|Ñandú", page), (path, text)
    assert {"norte", "cl:33", "00aa00aa", "Ñandú"} <= found


def test_a_view_shared_by_who_sees_more_is_not_theirs(group_app: Flask, login: Login, csrf: Csrf) -> None:
    """Its filter may name a customer of another connection; one that names a connection of theirs is shown."""
    admin, beto = login(group_app), login(group_app, BETO, PASSWORD)
    for name, asked in (("De todo", "customer=Ñandú"), ("De la suya", "connection=main&customer=pana")):
        form = {"csrf_token": csrf(admin, "/exceptions"), "view": name, "asked": asked, "is_shared": "yes",
                "is_pinned": "yes"}  # fmt: skip
        admin.post("/saved/exceptions", data=form)
    for path in ("/saved", "/"):
        page = beto.get(path).text
        assert ("De todo" in page, "De la suya" in page) == (False, True), path
        assert not re.search("Ñandú", page), path
    assert "De todo" in admin.get("/saved").text


def test_a_person_finds_what_is_theirs(group_app: Flask, login: Login) -> None:
    """Their own payout is listed, and their jobs; those of the whole installation are not."""
    client = login(group_app, BETO, PASSWORD)
    assert "po_own" in client.get("/payouts").get_data(as_text=True)
    jobs = client.get("/api/v1/jobs").get_json()["data"]
    assert [row["job"] for row in jobs] == ["nightly:main"]
    assert client.get("/settings").get_data(as_text=True).count("provider_url") == 0


@pytest.mark.parametrize("role", [Role.VIEWER, Role.FINANCE])
def test_no_form_touches_another_connection(
    group_app: Flask, own: Installation, login: Login, csrf: Csrf, role: Role
) -> None:
    """Every form that names the other connection is refused in both roles, and no row of it changes."""
    become(own, role)
    client = login(group_app, BETO, PASSWORD)
    token = csrf(client, "/payouts")
    before = rows_of_norte(own)
    for rule in group_app.url_map.iter_rules():
        # A login, a logout or a link changes who asks.
        if "POST" in (rule.methods or ()) and rule.endpoint.partition(".")[0] != "login":
            for path in paths_of(rule):
                data = {**FORM, "csrf_token": token}
                answer = client.post(path, data=data)
                assert answer.status_code in {200, 302, 303, 400, 403, 404, 405}, (path, answer.status_code)
                shown = answer.get_data(as_text=True).replace(path, "")
                assert set(HIDDEN.findall(shown)) <= {"norte", "00aa00aa"}, (path, shown)
    assert rows_of_norte(own) == before


def become(installation: Installation, role: Role) -> None:
    with installation.store.transaction() as session:
        session.execute(sa.text("UPDATE person SET role = :role WHERE email = :email"), {"role": role, "email": BETO})


def rows_of_norte(installation: Installation) -> dict[str, Any]:
    with installation.store.reading() as session:
        of_norte = {
            table.name: session.execute(sa.select(table).where(table.c.connection == "norte")).all()
            for table in SQLModel.metadata.sorted_tables
            if "connection" in table.columns
        }
        return {**of_norte, "ticks": session.scalar(sa.select(sa.func.count()).select_from(Tick))}


def test_a_token_sees_what_it_was_given(group_app: Flask, own: Installation) -> None:
    """A program's token for one connection finds nothing of the other, and the counters of all are shut to it."""
    with own.store.transaction() as session:
        token = create_token(session, "bi", Role.FINANCE, now=utc_now(), scopes=tuple(Scope))
        limit_token(session, "bi", ["main"], known=["main", "norte"])
    client = group_app.test_client()
    headers = {"Authorization": f"Bearer {token}"}

    assert walk(client, group_app, headers=headers) == {}
    assert client.get("/api/v1/payout-summary", headers=headers).get_json()["data"][0]["payout_id"] == "po_own"
    with group_app.test_request_context("/metrics", headers=headers):
        assert not token_check(own)()
    taken = client.post("/api/v1/books/invoices", data={"connection": "norte"}, headers=headers)
    assert (taken.status_code, taken.text) == (404, "there is no connection 'norte'; there are main\n")


def test_who_sees_no_connection_is_told(group_app: Flask, own: Installation, login: Login) -> None:
    """Without any connection every page is one sentence, and the reader can still log out."""
    with own.store.transaction() as session:
        session.execute(sa.text("UPDATE person SET connections = '' WHERE email = :email"), {"email": BETO})
    client = login(group_app, BETO, PASSWORD)
    answer = client.get("/payouts")
    assert answer.status_code == 403
    assert "Aún no puede ver ninguna conexión" in answer.get_data(as_text=True)
    assert walk(client, group_app) == {}


def test_one_place_decides(tmp_path: Path) -> None:
    """Pages ask for connections in one module alone, so that a new page cannot forget the limit."""
    del tmp_path
    pages = Path(__file__).resolve().parents[3] / "reports" / "pages"
    named = [
        path.name
        for path in sorted(pages.glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "all_connections"
    ]
    assert set(named) == {"desk.py"}
