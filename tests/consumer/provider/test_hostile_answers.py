"""Answers that no honest provider sends: each is one named error or one element set aside, never a crash."""

from collections.abc import Callable

import httpx
import pytest

from consumer.provider.client import Provider
from consumer.provider.errors import ForeignLinkError, RefusedError, UnreadableError
from consumer.provider.fields import UnusableObjectError, identity, to_data
from consumer.provider.paging import EVENTS, REFUNDS

Open = Callable[..., Provider]
DEEP = b"[" * 100_000 + b"]" * 100_000


def answering(status: int, content: bytes, **headers: str) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _request: httpx.Response(status, content=content, headers=headers)


@pytest.mark.parametrize("content", [b'[{"a": ' + DEEP + b"}]", b"<html>", b"", b"[1, 2", b"\xff\xfe", b'{"a": 1}'])
def test_a_list_that_cannot_be_read_is_one_named_error(open_client: Open, content: bytes) -> None:
    """Nesting without end, markup, half a list and text that is no UTF-8 all end as the same kind of failure."""
    with pytest.raises(UnreadableError, match=r"/v2/events: the provider's answer is not a JSON list"):
        open_client(answering(200, content)).page(EVENTS)


@pytest.mark.parametrize("content", [DEEP, b"[]", b"null", b"<html>", b'{"id": "re_1"'])
def test_an_object_that_cannot_be_read_is_one_named_error(open_client: Open, content: bytes) -> None:
    """The same holds where one object was asked for."""
    with pytest.raises(UnreadableError, match="GET /v1/refunds/re_1: the provider's answer is not a JSON object"):
        open_client(answering(200, content)).get(REFUNDS, "re_1")


@pytest.mark.parametrize("content", [DEEP, b'{"error": "text"}', b'{"error": {"code": 7}}', b"[]", b"\xff"])
def test_an_error_without_error_object_keeps_its_status(open_client: Open, content: bytes) -> None:
    """What the refusal's body holds never hides that it is a refusal, nor its request id."""
    reply = answering(400, content, **{"X-Request-Id": "req_9"})
    with pytest.raises(RefusedError) as caught:
        open_client(reply).page(EVENTS)
    assert (caught.value.status, caught.value.request_id, caught.value.code) == (400, "req_9", None)


def test_a_link_to_another_host_is_not_followed(open_client: Open) -> None:
    """The walk ends with an error after the first page; nothing, the key least of all, goes to the other host."""
    hosts = []

    def reply(request: httpx.Request) -> httpx.Response:
        hosts.append(request.url.host)
        return httpx.Response(200, content=b"[]", headers={"Link": '<https://evil.test/v2/events?a=1>; rel="next"'})

    with pytest.raises(ForeignLinkError):
        list(open_client(reply).pages(EVENTS))
    assert hosts == ["provider.test"]


def test_a_full_page_whose_last_element_is_no_object_ends_a_list_without_links(open_client: Open) -> None:
    """Where the next page is named by the last id and there is none, the walk ends instead of crashing."""
    page = open_client(answering(200, b'[{"id": "a"}, 5]')).page(EVENTS, size=2)
    assert (page.items, page.next) == ((b'{"id": "a"}', b"5"), None)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"amount": 1e999}', "it is not readable as JSON"),
        (b'{"name": "\xff"}', "it is not readable as JSON"),
        (b'{"a": ' + b"[" * 64 + b"]" * 64 + b"}", "it is nested deeper than 64"),
        (b"[]", "it is not a JSON object"),
        (b"null", "it is not a JSON object"),
    ],
)
def test_an_element_that_is_no_object_says_why(raw: bytes, reason: str) -> None:
    """Numbers beyond any machine, broken text and other types are set aside with a reason."""
    with pytest.raises(UnusableObjectError, match=reason):
        to_data(raw)


def test_an_element_is_named_by_text_alone() -> None:
    """An id that is a number names nothing, since numbers lose leading zeros; a time must be text as well."""
    assert identity(b'{"id": "re_1", "created_at": "2026-10-01T03:00:00Z"}') == ("re_1", "2026-10-01T03:00:00Z")
    assert identity(b'{"id": 5, "created_at": 7}') == (None, None)
    assert identity(b"[]") == (None, None)
