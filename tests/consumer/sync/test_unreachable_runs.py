"""Runs against a provider that is away or refuses the key: short, said once, and left as gaps."""

from typing import Any

import httpx

from consumer.facts.installation import Installation
from consumer.facts.work import Completion
from consumer.provider.client import Provider
from consumer.sync.drift import compare_streams
from consumer.sync.pull import STREAMS, read_streams
from consumer.sync.windows import unclosed_windows

FOUR = [STREAMS[name] for name in ("payouts", "refunds", "disputes", "charges")]
REFUSED = httpx.Response(401, json={"error": {"type": "authentication_error", "code": "invalid_api_key"}})


def reasons(installation: Installation) -> dict[str, str | None]:
    with installation.store.reading() as session:
        return {gap.stream: gap.reason for gap in unclosed_windows(session)}


def close(_path: str) -> httpx.Response | None:
    raise httpx.ConnectError("refused")


def test_a_refused_key_is_said_once(installation: Installation, lists: Provider, list_server: Any) -> None:
    """The first stream says what the provider answered; the others share one short line, each with its own gap."""
    list_server.before = lambda _path: REFUSED
    outcome = read_streams(installation, lists, FOUR)
    answer = "GET /v1/payouts: the provider answered 401 invalid_api_key"
    assert outcome.lines == [
        f"main: payouts: incomplete, 0 read, 0 new or changed, 0 pages: {answer}",
        "main: 3 streams not read: the key was refused: refunds disputes charges",
    ]
    assert reasons(installation)["charges"] == "not read: the key was refused"
    assert outcome.status is Completion.NOTHING_DONE


def test_an_address_where_nobody_listens_ends_the_run_at_once(
    installation: Installation, lists: Provider, list_server: Any, pauses: list[float]
) -> None:
    """One request, no pause, the address in the reason, and a gap for every stream."""
    list_server.before = close
    outcome = read_streams(installation, lists, FOUR)
    assert outcome.status is Completion.NOTHING_DONE
    assert reasons(installation) == {
        "payouts": "GET /v1/payouts: no answer from http://provider.test (ConnectError)",
        "refunds": "not read: no answer from the provider",
        "disputes": "not read: no answer from the provider",
        "charges": "not read: no answer from the provider",
    }
    assert (len(list_server.asked), pauses) == (1, [])


def test_a_provider_that_goes_away_is_given_up_after_two_streams(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """What was read counts; two streams in a row without an answer are enough to know that the rest has none."""

    def go_away(path: str) -> httpx.Response | None:
        return None if path.startswith("/v1/payouts") else close(path)

    list_server.before = go_away
    outcome = read_streams(installation, lists, FOUR)
    assert outcome.status is Completion.PARTLY_DONE
    assert [result.state for result in outcome.results] == ["complete", "incomplete", "incomplete", "incomplete"]
    assert reasons(installation)["charges"] == "not read: no answer from the provider"
    assert len([path for path in list_server.asked if path == "/v1/charges"]) == 0


def test_drift_leaves_out_what_was_never_bought(installation: Installation, lists: Provider, list_server: Any) -> None:
    """A product the organisation has no access to does not differ; once it was read, losing it is incomplete."""
    list_server.lists["/v2/events"] = []
    refused = httpx.Response(403, json={"error": {"code": "product_access_required"}})
    list_server.before = lambda path: refused if path == "/v1/refunds" else None
    streams = [STREAMS["refunds"]]
    assert compare_streams(installation, lists, streams, days=7, repair=True).status is Completion.DONE
    list_server.before = lambda _path: None
    read_streams(installation, lists, streams)
    list_server.before = lambda path: refused if path == "/v1/refunds" else None
    assert compare_streams(installation, lists, streams, days=7, repair=True).status is Completion.PARTLY_DONE
