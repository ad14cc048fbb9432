"""The client over its transport: headers, retries, generations of a path, and what never shows."""

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import httpx
import pytest
from pydantic import SecretStr

from consumer.facts.settings import Settings
from consumer.provider.client import Provider, is_cursor_gone
from consumer.provider.errors import (
    KeyRefusedError,
    MissingError,
    RefusedError,
    ServerError,
    ThrottledError,
    UnreachableError,
    UnreadableError,
)
from consumer.provider.paging import EVENTS, LINK_ACCOUNTS, REFUNDS, WEBHOOK_ENDPOINTS, Collection, read_in_time, v1, v2

Answers = Callable[[httpx.Request], httpx.Response]
Open = Callable[..., Provider]
TRANSFERS = Collection("transfers", (v1("transfers", cursor=True), v2("transfers")))


class Dripping(httpx.SyncByteStream):
    """A body that comes piece by piece."""

    def __iter__(self) -> Iterator[bytes]:
        yield from (b"[", b" ", b" ", b"]")


def in_turn(*answers: httpx.Response | Exception) -> tuple[Answers, list[httpx.Request]]:
    """Answer with each in turn and the last for ever after."""
    asked: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        found = answers[min(len(asked), len(answers)) - 1]
        if isinstance(found, Exception):
            raise found
        return httpx.Response(found.status_code, content=found.content, headers=found.headers)

    return reply, asked


def refusal(status: int, code: str = "some_code", **headers: str) -> httpx.Response:
    body = {"error": {"type": "invalid_request_error", "code": code, "param": "id", "message": "of sk_test_sandbox"}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json=body, headers={"X-Request-Id": "req_7", **named})


EMPTY = httpx.Response(200, content=b"[]", headers={"Link": "", "Date": "Thu, 01 Oct 2026 03:00:00 GMT"})


def test_the_key_goes_as_it_is_and_the_version_only_where_set(open_client: Open) -> None:
    """Authorization holds the bare key; no version header is sent unless the settings pin one."""
    reply, asked = in_turn(EMPTY)
    page = open_client(reply).page(EVENTS)
    assert asked[0].headers["Authorization"] == "sk_test_sandbox"
    assert "Fintoc-Version" not in asked[0].headers
    assert asked[0].headers["User-Agent"] == "cuadre/0.1"
    assert str(asked[0].url) == "http://provider.test/v2/events?limit=300"
    assert page.at == datetime(2026, 10, 1, 3, tzinfo=UTC)


def test_a_pinned_version_is_sent(settings: Settings, open_client: Open) -> None:
    """A connection with an api_version sends it under the configured prefix."""
    pinned = settings.connection("main").model_copy(update={"api_version": "2026-02-01"})
    reply, asked = in_turn(EMPTY)
    open_client(reply, pinned).page(EVENTS)
    assert asked[0].headers["Fintoc-Version"] == "2026-02-01"


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_storms_are_waited_out(open_client: Open, pauses: list[float], status: int) -> None:
    """A throttled or broken provider is asked again after growing pauses, and the answer counts."""
    reply, asked = in_turn(refusal(status), refusal(status), refusal(status), EMPTY)
    assert open_client(reply).page(EVENTS).items == ()
    assert len(asked) == 4
    assert [int(pause) for pause in pauses] == [1, 2, 4]


def test_retries_end_after_five(open_client: Open, pauses: list[float]) -> None:
    """Five pauses of 1, 2, 4, 8 and 16 seconds with up to a second of jitter, then the failure as it is."""
    reply, asked = in_turn(refusal(500, "internal_server_error"))
    with pytest.raises(ServerError) as caught:
        open_client(reply).page(EVENTS)
    assert len(asked) == 6
    assert [int(pause) for pause in pauses] == [1, 2, 4, 8, 16]
    assert str(caught.value) == (
        "GET /v2/events: the provider answered 500 internal_server_error on id (request req_7)"
    )


@pytest.mark.parametrize("wish", ["7", "Thu, 01 Oct 2026 03:00:07 GMT"])
def test_retry_after_is_honoured_in_both_forms(open_client: Open, pauses: list[float], wish: str) -> None:
    """Seconds count as they are; a date counts from the provider's own clock, not ours."""
    reply, _ = in_turn(refusal(429, Retry_After=wish, Date="Thu, 01 Oct 2026 03:00:00 GMT"), EMPTY)
    open_client(reply).page(EVENTS)
    assert pauses == [7.0]


def test_a_pause_of_hours_is_left_to_the_next_run(open_client: Open, pauses: list[float]) -> None:
    """A provider that asks for an hour is not waited for."""
    reply, _ = in_turn(refusal(429, Retry_After="3600"))
    with pytest.raises(ThrottledError) as caught:
        open_client(reply).page(EVENTS)
    assert caught.value.retry_after == 3600
    assert pauses == []


@pytest.mark.parametrize(
    "failure", [httpx.ConnectTimeout("no"), httpx.ReadTimeout("late"), httpx.RemoteProtocolError("cut")]
)
def test_transport_failures_are_retried_and_named(open_client: Open, failure: Exception) -> None:
    """Resets and time-outs are asked again; where they stay, the error names the call and their kind."""
    reply, asked = in_turn(failure)
    with pytest.raises(UnreachableError, match=r"GET /v1/refunds: no answer from http://provider.test \(\w+\)"):
        open_client(reply).page(REFUNDS)
    assert len(asked) == 6


def test_a_truncated_body_is_asked_again(open_client: Open) -> None:
    """Half a JSON list under a 200 is not an answer."""
    reply, asked = in_turn(httpx.Response(200, content=b'[{"id": "re_1"}, {"i'), EMPTY)
    open_client(reply).page(REFUNDS)
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("status", "kind"), [(401, KeyRefusedError), (404, MissingError), (400, RefusedError), (409, RefusedError)]
)
def test_what_asking_again_cannot_mend_is_not_asked_again(
    open_client: Open, status: int, kind: type[RefusedError]
) -> None:
    """A refusal carries status, code and request id, names what it is about, and is final."""
    reply, asked = in_turn(refusal(status, "invalid_api_key"))
    with pytest.raises(kind) as caught:
        open_client(reply).get(EVENTS, "evt_1")
    assert len(asked) == 1
    error = caught.value
    assert (error.status, error.code, error.request_id) == (status, "invalid_api_key", "req_7")
    assert "on id" in str(error)


def test_a_proxy_page_does_not_hide_the_failure(open_client: Open) -> None:
    """A 502 in HTML is still a 502."""
    reply, _ = in_turn(httpx.Response(502, content=b"<html>bad gateway</html>"))
    with pytest.raises(ServerError, match="GET /v2/events: the provider answered 502"):
        open_client(reply).page(EVENTS)


def test_a_write_is_repeated_only_under_its_key(open_client: Open) -> None:
    """A POST carries its Idempotency-Key on every try; a PATCH, which has none, is sent once."""
    reply, asked = in_turn(refusal(500), httpx.Response(201, json={"id": "we_1"}))
    answer = open_client(reply).create(WEBHOOK_ENDPOINTS, {"url": "https://a.test"}, idempotency_key="k1")
    assert answer.value == {"id": "we_1"}
    assert [request.headers["Idempotency-Key"] for request in asked] == ["k1", "k1"]
    reply, asked = in_turn(refusal(500))
    with pytest.raises(ServerError):
        open_client(reply).update(WEBHOOK_ENDPOINTS, "we_1", {"name": "x"})
    assert len(asked) == 1


@pytest.mark.parametrize("status", [404, 410])
def test_the_generation_of_a_path_is_found_once(open_client: Open, status: int) -> None:
    """A list that is missing or gone under its first path is read under the other, and stays there."""
    paths = []

    def reply(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        return EMPTY if request.url.path.startswith("/v2") else refusal(status, "invalid_url")

    provider = open_client(reply)
    provider.page(TRANSFERS)
    provider.page(TRANSFERS)
    assert paths == ["/v1/transfers", "/v2/transfers", "/v2/transfers"]


def test_an_object_that_is_missing_says_nothing_about_the_path(open_client: Open) -> None:
    """After a 404 on an object the list is still looked for under both paths."""
    reply, asked = in_turn(refusal(404, "missing_resource"))
    provider = open_client(reply)
    for _ in range(2):
        with pytest.raises(MissingError):
            provider.get(TRANSFERS, "tr_1")
    assert len(asked) == 4


def test_a_redirect_is_an_error(open_client: Open) -> None:
    """The key is never carried to where a redirect points."""
    reply, asked = in_turn(httpx.Response(302, headers={"Location": "https://evil.test/"}))
    with pytest.raises(RefusedError):
        open_client(reply).page(EVENTS)
    assert len(asked) == 1


def test_nothing_secret_is_logged_or_said(open_client: Open, caplog: pytest.LogCaptureFixture) -> None:
    """With every logger at its loudest, neither the key nor a link token appears in logs, errors or repr."""
    caplog.set_level(logging.DEBUG)
    reply, asked = in_turn(refusal(500))
    provider = open_client(reply)
    with pytest.raises(ServerError) as caught:
        provider.page(LINK_ACCOUNTS, link=SecretStr("link_token_secret"))
    assert asked[0].url.params["link_token"] == "link_token_secret"
    shown = caplog.text + repr(caught.value) + str(caught.value) + repr(provider)
    assert "link_token_secret" not in shown
    assert "sk_test_sandbox" not in shown
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "missing_cursor"),
        (400, "invalid_date"),
        (404, "missing_resource"),
        (410, "gone"),
        (422, "invalid_cursor"),
    ],
)
def test_a_refused_page_may_mean_that_its_cursor_is_gone(open_client: Open, status: int, code: str) -> None:
    """However a provider words it, the first page is worth asking; what is wrong beside the cursor shows there."""
    reply, _ = in_turn(refusal(status, code))
    with pytest.raises(RefusedError) as caught:
        open_client(reply).page(EVENTS, cursor="starting_after=evt_1")
    assert is_cursor_gone(caught.value)


@pytest.mark.parametrize("status", [401, 403, 409])
def test_a_refusal_of_the_key_is_not_about_the_cursor(open_client: Open, status: int) -> None:
    """Whoever may not read a list gains nothing from its first page."""
    reply, _ = in_turn(refusal(status, "forbidden_request"))
    with pytest.raises(RefusedError) as caught:
        open_client(reply).page(EVENTS, cursor="starting_after=evt_1")
    assert not is_cursor_gone(caught.value)


def test_an_answer_in_another_character_set_is_read_as_it_says(open_client: Open) -> None:
    """A byte-order mark is left out, a named character set is read; both come out as UTF-8."""
    marked = httpx.Response(200, content=b'\xef\xbb\xbf{"name": "x"}')
    latin = {"Content-Type": "application/json; charset=iso-8859-1"}
    reply, _ = in_turn(marked, httpx.Response(200, content=b'{"name": "Mu\xf1oz"}', headers=latin))
    provider = open_client(reply)
    assert provider.get(REFUNDS, "re_1").value == {"name": "x"}
    assert provider.get(REFUNDS, "re_1").body == b'{"name": "Mu\xc3\xb1oz"}'


def test_an_answer_that_drips_is_given_up() -> None:
    """A byte now and then keeps every single wait short; the whole answer has a limit of its own."""
    moments = iter([0.0, 30.0, 60.0, 91.0])
    dripping = httpx.Response(200, stream=Dripping())
    with pytest.raises(httpx.ReadTimeout, match="did not end within 90 s"):
        read_in_time(dripping, clock=lambda: next(moments))
    assert dripping.is_closed


def test_an_object_that_is_no_object_is_unreadable(open_client: Open) -> None:
    """A list where one object was asked for is refused, not guessed at."""
    reply, _ = in_turn(EMPTY)
    with pytest.raises(UnreadableError, match="not a JSON object"):
        open_client(reply).get(REFUNDS, "re_1")
