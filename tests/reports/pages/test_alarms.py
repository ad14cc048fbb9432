"""The page of alarms: what stands in the reader's language, taken in hand, tested, and for whom."""

import json
from collections.abc import Callable
from datetime import timedelta

import httpx
import pytest
from flask.testing import FlaskClient
from sqlmodel import select

from consumer.alarms import outbox, states
from consumer.alarms.targets import read_targets
from consumer.errands import errands
from consumer.facts.alarms import Severity, Signal
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.tables.alarms import Alarm, AlarmMessage
from reconcile.tables.desk import ExceptionRow
from reports.access.people import Role, add_user, note, to_user
from reports.alarms import BREAK_GLASS, find_headline, find_signals
from reports.tables import AuditEntry
from tests.merchant import settings_of

Csrf = Callable[..., str]
URLS = "https://hooks.test/x#a-secret-of-webhooks"


@pytest.fixture
def alarmed(reconciled: Installation) -> Installation:
    """The installation with a channel, a payout that is late, and a stretch of data that is not read."""
    folder = reconciled.settings.data_dir.parent
    installation = Installation(settings_of("http://provider.test", folder, alert_urls=URLS), reconciled.store)
    signals = [
        Signal("main", "exception:PAYOUT_LATE", Severity.HIGH, 2, {"CLP": 1234567}),
        Signal("main", "gaps", Severity.MEDIUM, 1),
    ]
    with installation.store.transaction() as session:
        add_user(session, to_user("vera@tienda.test", "otra clave larga", Role.VIEWER, now=utc_now()))
        states.update(session, signals, now=utc_now(), is_quiet=False)
    return installation


@pytest.fixture
def client(alarmed: Installation, make_app: Callable[..., object], login: Callable[..., FlaskClient]) -> FlaskClient:
    return login(make_app(alarmed, errands=errands(alarmed)))


def post(client: FlaskClient, csrf: Csrf, path: str, **form: str) -> tuple[int, str]:
    data = {"csrf_token": csrf(client, "/alarms"), **form}
    answer = client.post(path, data=data, follow_redirects=True)
    return answer.status_code, answer.get_data(as_text=True)


def test_the_page_says_what_stands_and_what_to_do(client: FlaskClient) -> None:
    """The gravest first, with its money, and the names of channels without their secrets."""
    page = client.get("/alarms").get_data(as_text=True)
    late, gaps = page.index("Liquidación atrasada, abiertas: 2, 1.234.567 CLP en riesgo"), page.index("Tramos de datos")
    assert late < gaps
    assert "La página de excepciones dice qué hacer con cada una." in page
    assert "webhook hooks.test " in page
    assert "a-secret-of-webhooks" not in page


def test_an_alarm_is_taken_in_hand_once(client: FlaskClient, csrf: Csrf, alarmed: Installation) -> None:
    """The page shows who has it, the trail too; one that does not stand is refused."""
    status, page = post(client, csrf, "/alarms/acknowledge", connection="main", cause="gaps")
    assert (status, "ana@tienda.test, " in page) == (200, True)
    status, page = post(client, csrf, "/alarms/acknowledge", connection="main", cause="silence")
    assert (status, "Esta alarma ya terminó" in page) == (400, True)
    with alarmed.store.reading() as session:
        assert session.exec(select(Alarm.acknowledged_by).where(Alarm.cause == "gaps")).one() == "ana@tienda.test"
        noted = session.exec(select(AuditEntry.action, AuditEntry.subject)).all()
    assert ("acknowledge", "alarm main gaps") in noted


def test_the_button_stores_a_message_for_each_channel(client: FlaskClient, csrf: Csrf, alarmed: Installation) -> None:
    """The request itself sends to no one; a worker does, within a minute."""
    status, page = post(client, csrf, "/alarms/test")
    assert (status, "En espera" in page) == (200, True)
    with alarmed.store.reading() as session:
        (message,) = session.exec(select(AlarmMessage)).all()
    assert (message.kind, message.channel.startswith("webhook hooks.test ")) == ("test", True)


def test_why_a_message_was_not_taken_is_said_in_spanish(
    client: FlaskClient, csrf: Csrf, alarmed: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is stored as a code, and worded for who reads it."""
    post(client, csrf, "/alarms/test")

    def refuse(*_given: object, **_named: object) -> httpx.Response:
        raise httpx.ConnectError("gone")

    monkeypatch.setattr(httpx, "post", refuse)
    outbox.deliver(alarmed, read_targets(alarmed.settings), now=utc_now())
    assert "hooks.test no respondió (ConnectError)" in client.get("/alarms").text


def test_viewers_see_no_alarms(
    alarmed: Installation, make_app: Callable[..., object], login: Callable[..., FlaskClient]
) -> None:
    """The page is for who may act, and its link too."""
    viewer = login(make_app(alarmed, errands=errands(alarmed)), "vera@tienda.test", "otra clave larga")
    assert viewer.get("/alarms").status_code == 403
    assert "/alarms" not in viewer.get("/operation").get_data(as_text=True)


def found(installation: Installation, hours: float = 0) -> dict[str, tuple[int, dict[str, int], str]]:
    main = installation.settings.connection("main")
    with installation.store.reading() as session:
        signals = list(find_signals(session, main, utc_now() + timedelta(hours=hours)))
    return {one.cause: (one.count, dict(one.amounts), one.mark) for one in signals}


@pytest.mark.both_databases
def test_grave_exceptions_are_raised_by_code_with_their_money(reconciled: Installation) -> None:
    """Each subject counts once; what opens later has a greater mark, and what is closed is none."""

    def add(name: str, day: str, amount: int, *, severity: str = "high", resolved: str | None = None) -> None:
        own = {"connection": "main", "id": name, "code": "PAYOUT_LATE", "subject": f"payout:{name}", "title": ""}
        seen = {"opened_on": day, "last_seen_on": day, "run_first": "none", "run_last": "none", "state": "open"}
        worth = {"severity": severity, "amount_at_risk": amount, "currency": "CLP", "resolved_on": resolved}
        row = ExceptionRow.model_validate({**own, **seen, **worth})
        with reconciled.store.transaction() as session:
            session.add(row)

    add("one", "2026-11-20", 1000)
    add("medium", "2026-11-20", 9000, severity="medium")
    add("closed", "2026-11-22", 5000, resolved="2026-11-22")
    before = found(reconciled)["exception:PAYOUT_LATE"]
    add("two", "2026-11-21", 500)
    after = found(reconciled)["exception:PAYOUT_LATE"]

    assert (before[:2], after[:2]) == ((1, {"CLP": 1000}), (2, {"CLP": 1500}))
    assert after[2] > before[2]


def test_a_login_past_the_identity_provider_is_raised_for_a_day(reconciled: Installation) -> None:
    """It is a matter of the whole installation, and over a day later."""
    note(reconciled.store, "ana@tienda.test", BREAK_GLASS, "login", now=utc_now())
    assert found(reconciled)["break_glass"][0] == 1
    assert "break_glass" not in found(reconciled, hours=25)


def test_the_headline_is_that_of_the_newest_run(reconciled: Installation) -> None:
    """One line for each connection, as codes and values."""
    (line,) = find_headline(reconciled)
    code, _, values = line.partition(" ")
    said = json.loads(values)
    assert code in {"alarm.headline", "alarm.headline_incomplete"}
    assert (said["connection"], said["payouts"], said["closed"]) == ("main", 1, 1)
