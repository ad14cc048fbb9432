"""What Prometheus and the doctor are told of the mirror: gaps, distance, drift and sums, per stream."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.tables.sync import Checkpoint, Drift, StreamFinding, Window
from consumer.health.disk import Check, Verdict
from consumer.health.doctor import ENDPOINT, check_endpoint, examine
from consumer.sync.reach import MirrorGauges, drift_left, look
from reconcile.rules.streams import withheld_by

NOW = datetime(2026, 10, 1, 3, tzinfo=UTC)


def difference(id_: str, *, stream: str = "refunds", repaired: bool = False) -> Drift:
    return Drift(
        connection="main",
        stream=stream,
        id=id_,
        field="amount",
        kind="differs",
        found_at=NOW,
        repaired_at=NOW if repaired else None,
    )


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the gauges wait for a busy machine."""
    monkeypatch.setattr("consumer.facts.patience.ANSWER_SECONDS", 60.0)


@pytest.fixture
def watched(installation: Installation) -> Installation:
    """A mirror with a gap, two differences left and one mended, and a sum that is off."""
    with installation.store.transaction() as session:
        session.add_all(
            [
                Window(connection="main", stream="refunds", until=NOW, state="failed", opened_at=NOW),
                Window(connection="main", stream="payouts", until=NOW, state="closed", opened_at=NOW, closed_at=NOW),
                Checkpoint(connection="main", stream="payouts", complete_until=NOW, pulled_at=NOW),
                difference("re_1"),
                difference("re_2"),
                difference("re_3", repaired=True),
                difference("po_1", stream="payouts", repaired=True),
                StreamFinding(
                    connection="main", stream="account-movements", subject="acc_1", problem="acc_1: off", found_at=NOW
                ),
            ]
        )
    return installation


def test_each_stream_is_measured(watched: Installation) -> None:
    """Gaps, differences left and mended, findings and how far a stream is complete stand side by side."""
    with watched.store.reading() as session:
        found = {one.stream: one for one in look(session)}
        left = drift_left(session, "main")
    refunds, payouts, movements = found["refunds"], found["payouts"], found["account-movements"]
    assert (refunds.gaps, refunds.drift_left, refunds.drift_repaired, refunds.reached) == (1, 2, 1, None)
    assert (payouts.gaps, payouts.drift_left, payouts.drift_repaired, payouts.reached) == (0, 0, 1, NOW)
    assert movements.findings == 1
    assert [(one.stream, one.count) for one in left] == [("refunds", 2)]


def test_prometheus_reads_the_mirror(watched: Installation) -> None:
    """The gauges carry connection and stream; an age is there only where something is complete."""
    registry = CollectorRegistry()
    registry.register(MirrorGauges(watched))
    text = generate_latest(registry).decode()
    assert 'cuadre_drift_left{connection="main",stream="refunds"} 2.0' in text
    assert 'cuadre_drift_repaired{connection="main",stream="payouts"} 1.0' in text
    assert 'cuadre_stream_gaps{connection="main",stream="refunds"} 1.0' in text
    assert 'cuadre_stream_findings{connection="main",stream="account-movements"} 1.0' in text
    assert 'cuadre_stream_behind_seconds{connection="main",stream="payouts"}' in text
    assert 'cuadre_stream_behind_seconds{connection="main",stream="refunds"}' not in text


def answers(request: httpx.Request) -> httpx.Response:
    date = {"Date": utc_now().strftime("%a, %d %b %Y %H:%M:%S GMT"), "Link": ""}
    endpoint = {
        "id": "we_1",
        "url": "https://pay.test/webhooks",
        "status": "disabled",
        "created_at": "2026-10-01T03:00:00Z",
    }
    rows: list[Any] = [endpoint] if "webhook_endpoints" in request.url.path else []
    return httpx.Response(200, json=rows, headers=date)


@pytest.fixture
def checks(watched: Installation) -> dict[str, Check]:
    return {check.check: check for check in examine(watched, "main", transport=httpx.MockTransport(answers))}


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_the_doctor_names_what_runs_withhold_because_of_a_gap(watched: Installation) -> None:
    """Whoever reads of a gap learns what it costs, from the table of the rules."""
    checks = examine(watched, "main", transport=httpx.MockTransport(answers), withheld_by=withheld_by)
    assert next(check.found for check in checks if check.check == "gaps") == (
        "1 windows are not closed, the oldest of refunds from the beginning; until then runs withhold "
        "CREDIT_NOTE_NO_REFUND, INVOICE_NO_PAYMENT, ITEM_IN_NO_PAYOUT, ORDER_NOT_PAID, PAYOUT_NOT_IN_BANK"
    )


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_the_doctor_names_drift_and_sums(checks: dict[str, Check]) -> None:
    """What is left of the last comparison and what does not add up are warnings with what to do."""
    assert checks["drift"].verdict is Verdict.WARNING
    assert (checks["drift"].found, checks["drift"].advice) == (
        "differences left: 2 of refunds",
        "cuadre drift --repair",
    )
    assert checks["sums"].verdict is Verdict.WARNING
    assert checks["sums"].found == "account-movements: acc_1: off"


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_the_doctor_names_an_address_where_nobody_listens(installation: Installation) -> None:
    """One failure with the address, at once, and the rest of the doctor goes on."""

    def away(_request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    found = {check.check: check for check in examine(installation, "main", transport=httpx.MockTransport(away))}
    assert found["provider"].verdict is Verdict.FAILURE
    assert found["provider"].found == "GET /v2/events: no answer from http://provider.test (ConnectError)"
    assert found["provider"].advice == "check CUADRE_PROVIDER_URL and the network"
    assert (found["gaps"].verdict, found["gaps"].found) == (Verdict.WARNING, "not read yet")


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_the_doctor_does_not_call_well_what_was_never_read(installation: Installation) -> None:
    """Before anything is read, gaps, sums and drift are no findings of nothing; after it, each is ok."""

    def look_at(*names: str) -> list[tuple[str, str, str]]:
        checks = examine(installation, "main", transport=httpx.MockTransport(answers))
        return [(check.verdict, check.found, check.advice) for check in checks if check.check in names]

    unread = (Verdict.WARNING, "not read yet", "cuadre backfill and cuadre pull all")
    assert look_at("gaps", "sums", "drift") == [unread] * 3
    with installation.store.transaction() as session:
        session.add(Checkpoint(connection="main", stream="events", complete_until=utc_now(), pulled_at=utc_now()))
    assert look_at("gaps", "sums", "drift") == [(Verdict.OK, "none", ""), unread, unread]
    with installation.store.transaction() as session:
        session.add(Checkpoint(connection="main", stream="refunds", complete_until=utc_now(), pulled_at=utc_now()))
    assert look_at("drift") == [(Verdict.OK, "no open difference; cuadre drift compares", "")]
    with installation.store.transaction() as session:
        session.add(Checkpoint(connection="main", stream="account-statements", pulled_at=utc_now(), offered=False))
    assert [verdict for verdict, _, _ in look_at("gaps", "sums", "drift")] == [Verdict.OK] * 3


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_the_doctor_takes_a_product_that_was_not_bought_for_no_failure_of_the_key(installation: Installation) -> None:
    """Every key may read events, not every one payouts; a list of endpoints that is refused is told by itself."""

    def few(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v2/events":
            return httpx.Response(200, content=b"[]", headers={"Link": ""})
        return httpx.Response(403, json={"error": {"code": "product_access_required"}})

    found = {check.check: check for check in examine(installation, "main", transport=httpx.MockTransport(few))}
    assert found["provider"].verdict is not Verdict.FAILURE
    assert found["provider"].found == "the test key is accepted, and goes there unencrypted"
    assert found["webhook endpoint"].verdict is Verdict.FAILURE
    assert found["webhook endpoint"].found.startswith("GET /v1/webhook_endpoints: the provider answered 403")


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_an_endpoint_that_was_switched_off_is_found(installation: Installation) -> None:
    """The hourly look warns of an endpoint that the provider disabled; one with an odd time is a failure, no crash."""
    found = check_endpoint(
        installation, installation.settings.connection("main"), transport=httpx.MockTransport(answers)
    )
    assert (found.verdict, found.found) == (Verdict.WARNING, "disabled by the provider")

    def odd(_request: httpx.Request) -> httpx.Response:
        rows = [{"id": "we_1", "url": "u", "status": "enabled", "created_at": "2026-10-01T03:00:00"}]
        return httpx.Response(200, json=rows, headers={"Link": ""})

    found = check_endpoint(installation, installation.settings.connection("main"), transport=httpx.MockTransport(odd))
    assert (found.verdict, found.found) == (
        Verdict.FAILURE,
        "webhook_endpoints: the answer is not a webhook endpoint",
    )


def test_an_age_is_counted_from_now(installation: Installation) -> None:
    """A stream that is complete up to an hour ago is an hour behind."""
    at = utc_now() - timedelta(hours=1)
    with installation.store.transaction() as session:
        session.add(Checkpoint(connection="main", stream="refunds", complete_until=at, pulled_at=at))
    registry = CollectorRegistry()
    registry.register(MirrorGauges(installation))
    behind = registry.get_sample_value("cuadre_stream_behind_seconds", {"connection": "main", "stream": "refunds"})
    assert behind is not None
    assert 3600 <= behind < 4200


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("public_url", "advice"),
    [
        (None, "set CUADRE_PUBLIC_URL and run cuadre webhook create"),
        ("https://pay.test", "cuadre webhook create"),
    ],
)
def test_the_doctor_asks_for_no_setting_that_is_there(
    installation: Installation, public_url: str | None, advice: str
) -> None:
    """Without an endpoint at the provider, what is missing is named and no more."""

    def without(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=[], headers=answers(request).headers)

    settings = installation.settings.model_copy(update={"public_url": public_url})
    checks = examine(replace(installation, settings=settings), "main", transport=httpx.MockTransport(without))
    found = next(check for check in checks if check.check == ENDPOINT)
    assert (found.found, found.advice) == ("none points here", advice)
