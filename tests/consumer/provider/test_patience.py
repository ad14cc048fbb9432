"""How long the client waits: not at all for an address without a listener, through storms once it has answered."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from consumer.facts.settings import Settings
from consumer.provider.client import Provider
from consumer.provider.errors import ServerError, ThrottledError, UnreachableError
from consumer.provider.paging import EVENTS, REFUNDS, WEBHOOK_ENDPOINTS

Open = Callable[..., Provider]
EMPTY = httpx.Response(200, content=b"[]", headers={"Link": ""})


def test_an_address_where_nobody_listens_is_given_up_at_once(open_client: Open, pauses: list[float]) -> None:
    """A refused connection before any answer is a wrong address: it is named, with one try and no pause."""
    asked = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        raise httpx.ConnectError("refused")

    with pytest.raises(
        UnreachableError, match=r"GET /v2/events: no answer from http://provider\.test \(ConnectError\)"
    ):
        open_client(reply).page(EVENTS)
    assert (len(asked), pauses) == (1, [])


def test_a_provider_that_goes_away_later_is_waited_for(open_client: Open, pauses: list[float]) -> None:
    """After a first answer a refused connection is a restart on the other side, and is asked again."""
    answers: list[Any] = [EMPTY, httpx.ConnectError("refused"), httpx.ConnectError("refused"), EMPTY]

    def reply(_request: httpx.Request) -> httpx.Response:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return httpx.Response(200, content=found.content, headers=found.headers)

    provider = open_client(reply)
    provider.page(EVENTS)
    provider.page(EVENTS)
    assert [int(pause) for pause in pauses] == [1, 2]


def test_who_waits_is_told_why(open_client: Open, shown: list[str]) -> None:
    """Every pause is announced with what failed and how long it lasts, and never with the key."""

    def reply(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(503, headers={"Retry-After": "40"})

    with pytest.raises(ServerError):
        open_client(reply).page(REFUNDS)
    assert shown == ["GET /v1/refunds: the provider answered 503; asking again in 40 s"] * 5


def test_the_address_is_named_without_its_password(settings: Settings, open_client: Open) -> None:
    """A provider address that holds a user and a password is shown without them."""
    settings.connection("main").__dict__["provider_url"] = "https://user:hidden@provider.test:8443/api"

    def reply(_request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(UnreachableError) as caught:
        open_client(reply).page(EVENTS)
    assert str(caught.value) == "GET /v2/events: no answer from https://provider.test:8443 (ConnectError)"


@pytest.mark.parametrize(
    "wish", ["", "soon", "-5", "1.5", "Thu, 01 Oct 99999999999999999999 25:61:61 GMT", "Oct 9999999999999 25:61:61 0 x"]
)
def test_a_wish_that_cannot_be_read_is_no_wish(open_client: Open, pauses: list[float], wish: str) -> None:
    """A Retry-After that is neither seconds nor a date leaves the client's own pauses."""

    def reply(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(429, headers={"Retry-After": wish})

    with pytest.raises(ThrottledError):
        open_client(reply).page(EVENTS)
    assert [int(pause) for pause in pauses] == [1, 2, 4, 8, 16]


def test_a_delete_whose_answer_was_lost_is_done(open_client: Open) -> None:
    """The repeat finds nothing there, which is what was wanted."""
    answers = [httpx.Response(502), httpx.Response(404)]
    asked = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request.method)
        return answers.pop(0)

    open_client(reply).delete(WEBHOOK_ENDPOINTS, "we_1")
    assert asked == ["DELETE", "DELETE"]
