"""What a page may set going: replay, fetch, complete the log; each by role, with its outcome, and in the trail."""

from collections.abc import Callable, Sequence

import pytest
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.tables.inbox import Event
from consumer.facts.work import ErrandRefusedError, Errands
from reports.access.people import Role, add_user, to_user

Csrf = Callable[..., str]
MakeApp = Callable[..., Flask]
Login = Callable[..., FlaskClient]


class Rooms:
    """Stands for the rooms behind the errands: remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def replay(self, names: Sequence[tuple[str, str]], by: str) -> list[dict[str, object]]:
        self.asked += [("replay", *name, by) for name in names]
        line = {"type": "payout.succeeded", "state_before": "quarantined", "state_after": "applied", "error": None}
        return [{"connection": c, "id": i, "changes": "payout po_1: new", **line} for c, i in names]

    def pull(self, connection: Connection, stream: str, by: str) -> None:
        if stream == "refunds":
            raise ErrandRefusedError("jobs.running_already", job="pull:main:refunds")
        self.asked.append(("pull", connection.name, stream, by))

    def backfill(self, connection: Connection, by: str) -> None:
        self.asked.append(("backfill", connection.name, by))


@pytest.fixture
def rooms() -> Rooms:
    return Rooms()


@pytest.fixture
def client(reconciled: Installation, make_app: MakeApp, login: Login, rooms: Rooms) -> FlaskClient:
    now = utc_now()
    with reconciled.store.transaction() as session:
        session.add(
            Event(
                connection="main",
                id="evt_1",
                type="payout.succeeded",
                mode="test",
                received_at=now,
                source="webhook",
                state="quarantined",
                raw_sha256="0",
                meaning_sha256="0",
                last_arrival_at=now,
                error="a reason",
            )
        )
        add_user(session, to_user("vera@tienda.test", "otra clave larga", Role.VIEWER, now=now))
    errands = Errands(rooms.replay, rooms.pull, rooms.backfill, ("all", "payouts", "refunds"))
    return login(make_app(reconciled, errands=errands))


def post(client: FlaskClient, csrf: Csrf, path: str, **form: str) -> str:
    data = {"csrf_token": csrf(client, "/operation/gaps"), **form}
    return client.post(path, data=data, follow_redirects=True).get_data(as_text=True)


def test_an_event_is_applied_again_from_its_page(client: FlaskClient, csrf: Csrf, rooms: Rooms) -> None:
    """The button asks the inbox, and the page says what changed."""
    assert "Aplicar otra vez" in client.get("/operation/events/main/evt_1").get_data(as_text=True)
    page = post(client, csrf, "/operation/replay", pick="main/evt_1")
    assert rooms.asked == [("replay", "main", "evt_1", "ana@tienda.test")]
    assert "payout po_1: new" in page
    assert ">Aplicado<" in page


def test_quarantined_events_can_be_chosen(client: FlaskClient) -> None:
    """The list of what is in quarantine has boxes to choose, the whole list has none."""
    assert 'value="main/evt_1"' in client.get("/operation/events?state=quarantined").get_data(as_text=True)
    assert 'value="main/evt_1"' not in client.get("/operation/events").get_data(as_text=True)


def test_a_stream_is_fetched_now(client: FlaskClient, csrf: Csrf, rooms: Rooms) -> None:
    """It starts in the background; the page says where to see it, and the trail says who asked."""
    page = post(client, csrf, "/operation/pull", connection="main", stream="payouts")
    assert "Empezó." in page
    post(client, csrf, "/operation/backfill", connection="main")
    assert rooms.asked == [("pull", "main", "payouts", "ana@tienda.test"), ("backfill", "main", "ana@tienda.test")]
    trail = client.get("/operation/trail?q=main").get_data(as_text=True)
    assert ">main payouts<" in trail


def test_what_runs_already_is_told(client: FlaskClient, csrf: Csrf) -> None:
    """A second click says so and starts nothing."""
    page = post(client, csrf, "/operation/pull", connection="main", stream="refunds")
    assert "pull:main:refunds ya está en curso: véalo en Tareas." in page


@pytest.mark.parametrize("form", [{"stream": "secrets", "connection": "main"}, {"stream": "", "connection": "main"}])
def test_only_known_streams_are_fetched(client: FlaskClient, csrf: Csrf, rooms: Rooms, form: dict[str, str]) -> None:
    """A stream that is none is refused in one sentence."""
    assert "no es uno de all, payouts, refunds" in post(client, csrf, "/operation/pull", **form)
    assert rooms.asked == []


def test_a_viewer_sets_nothing_going(client: FlaskClient, csrf: Csrf, login: Login, rooms: Rooms) -> None:
    """A viewer sees no button, and a POST of their own is refused."""
    viewer = login(client.application, "vera@tienda.test", "otra clave larga")
    assert [
        name for name in ("gaps", "jobs") if "Leer ahora" in viewer.get(f"/operation/{name}").get_data(as_text=True)
    ] == []
    assert "Leer ahora" in client.get("/operation/jobs").get_data(as_text=True)
    form = {"csrf_token": csrf(viewer, "/"), "connection": "main", "stream": "payouts", "pick": "main/evt_1"}
    paths = ("/operation/pull", "/operation/backfill", "/operation/replay")
    assert [viewer.post(path, data=form).status_code for path in paths] == [403, 403, 403]
    assert rooms.asked == []


def test_a_list_is_a_file_as_it_is_filtered(client: FlaskClient) -> None:
    """Every list of operation downloads with its filter, under its stable keys or in the reader's words."""
    rows = client.get("/reports/events.csv?state=quarantined").get_data(as_text=True).splitlines()
    assert rows[0] == "connection,id,type,mode,created_at,received_at,source,state,resource_id,attempts,error"
    assert rows[1].startswith("main,evt_1,payout.succeeded,test,,")
    assert client.get("/reports/events.csv?state=applied").get_data(as_text=True).splitlines()[1:] == []
    people = client.get("/reports/runs.csv?profile=cl").data.decode("utf-8-sig").splitlines()[0]
    assert people.startswith(
        "Número;Conexión;Id;Al día;Estado;Liquidaciones;Sin diferencia, o con la diferencia identificada"
    )
    assert client.get("/reports/jobs.xlsx").data[:2] == b"PK"


def test_the_trail_is_for_admins(client: FlaskClient, login: Login) -> None:
    """Neither the page nor its file nor its JSON opens for others."""
    viewer = login(client.application, "vera@tienda.test", "otra clave larga")
    paths = ("/operation/trail", "/reports/trail.csv", "/api/v1/trail", "/api/v1/people", "/reports/tokens.csv")
    assert [viewer.get(path).status_code for path in paths] == [403] * 5
    assert [client.get(path).status_code for path in paths] == [200] * 5


def test_people_and_tokens_are_lists_without_any_secret(client: FlaskClient) -> None:
    """Who may look is a file and JSON for admins; no digest of a password or token is in them."""
    rows = client.get("/reports/people.csv").get_data(as_text=True).splitlines()
    assert rows[0] == "email,role,state,created_at,disabled_at"
    assert rows[1].startswith("ana@tienda.test,admin,active,2026-10-08T06:20:00Z,")
    assert "sha256" not in client.get("/reports/tokens.csv").get_data(as_text=True)
    assert client.get("/operation/people").status_code == 404
    assert client.get("/api/v1/files").get_json()["total"] == 0
