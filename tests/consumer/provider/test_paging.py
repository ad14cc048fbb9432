"""Reading one page: its items to the byte, its next cursor, its count, and links that cannot be trusted."""

import httpx
import pytest

from consumer.provider.errors import EndlessListError, ForeignLinkError, UnreadableError
from consumer.provider.paging import Path, Walk, next_url, to_page

V1 = Path("/v1/refunds", cursor=False)
V2 = Path("/v2/events", cursor=True)


def answer(content: bytes, url: str = "https://api.test/v2/events?limit=300", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(200, content=content, headers=named, request=httpx.Request("GET", url))


def test_items_keep_their_exact_bytes() -> None:
    """Spacing, key order, long numbers and escapes inside an element come through untouched."""
    first, second = b'{"id": "evt_1",  "n": 1.50, "t":"\\u00f1"}', b'{"b":1,"a":12345678901234567890}'
    page = to_page(answer(b"[" + first + b", " + second + b"]", Link=""), V2, asked={"limit": "300"}, cursor="")
    assert page.items == (first, second)
    assert page.next is None


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("", None),
        (
            '<https://api.test/v2/events?starting_after=evt_9>; rel="next"',
            "https://api.test/v2/events?starting_after=evt_9",
        ),
        ('<https://a.test/x?page=1>; rel="first", <https://a.test/x?page=3>; rel="next"', "https://a.test/x?page=3"),
        ('<https://a.test/x?s=a,b;c&page=2>; rel="next"', "https://a.test/x?s=a,b;c&page=2"),
        ('<https://a.test/x?page=2; rel="next"', "https://a.test/x?page=2"),
        ("<https://a.test/x?page=2>; rel=next", "https://a.test/x?page=2"),
        ('<https://a.test/x?page=1>; rel="prev"', None),
        ("garbage", None),
        ("<>", None),
    ],
)
def test_the_next_address_is_found_in_any_link_header(link: str, expected: str | None) -> None:
    """Commas in addresses, missing brackets and missing quotes do not stop the reader."""
    assert next_url(link) == expected


def test_a_cursor_holds_only_what_differs_and_never_the_link_token() -> None:
    """The next address repeats our parameters and the secret; neither is kept."""
    url = "https://api.test/v1/invoices?per_page=300&since=2026-01-01&link_token=lt_secret"
    link = f'<{url}&page=2>; rel="next"'
    asked = {"per_page": "300", "since": "2026-01-01"}
    page = to_page(answer(b"[]", url, Link=link, X_Total_Count="301"), V1, asked=asked, cursor="")
    assert page.next == "page=2"
    assert page.total == 301


def test_the_same_page_again_is_a_cursor_too() -> None:
    """A link that leads to the page just read is followed rather than taken for the end."""
    url = "https://api.test/v2/events?limit=300"
    page = to_page(answer(b"[]", url, Link=f'<{url}>; rel="next"'), V2, asked={"limit": "300"}, cursor="")
    assert page.next == ""


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.test/v2/events?page=2",
        "http://api.test/v2/events?page=2",
        "https://api.test:8443/v2/events?page=2",
    ],
)
def test_a_link_to_another_origin_is_refused(address: str) -> None:
    """Another host, scheme or port is never followed, since the key would go there."""
    with pytest.raises(ForeignLinkError):
        to_page(answer(b"[]", Link=f'<{address}>; rel="next"'), V2, asked={"limit": "300"}, cursor="")


def test_without_a_link_header_pages_go_on_by_id_or_number() -> None:
    """A full cursor page goes on from its last id; an offset page while the total is not reached."""
    full = to_page(answer(b'[{"id":"a"},{"id":"b"}]'), V2, asked={"limit": "2"}, cursor="")
    assert full.next == "starting_after=b"
    short = to_page(answer(b'[{"id":"a"}]'), V2, asked={"limit": "2"}, cursor="starting_after=z")
    assert short.next is None
    numbered = to_page(answer(b'[{"id":"a"}]', X_Total_Count="5"), V1, asked={"per_page": "2"}, cursor="page=2")
    assert numbered.next == "page=3"


def test_pages_shorter_than_asked_go_on_while_the_total_is_not_reached() -> None:
    """A provider that caps its pages and sends no link is read on; nothing more is asked behind an empty page."""
    three = b'[{"id":"a"},{"id":"b"},{"id":"c"}]'
    first = to_page(answer(three, X_Total_Count="5"), V1, asked={"per_page": "300"}, cursor="")
    assert first.next == "page=2"
    last = to_page(answer(b"[]", X_Total_Count="5"), V1, asked={"per_page": "300"}, cursor="page=3")
    assert last.next is None


@pytest.mark.parametrize("path", [V1, V2])
def test_a_list_that_knows_no_pages_is_whole(path: Path) -> None:
    """Where more came than was asked for, and no link, there is no second page to ask for."""
    page = to_page(answer(b'[{"id":"a"},{"id":"b"},{"id":"c"}]'), path, asked={path.limit_name: "2"}, cursor="")
    assert page.next is None


def test_the_same_page_under_ever_new_numbers_ends() -> None:
    """A list that ignores the number of the page would be read for ever."""
    walk = Walk("entities")
    page = to_page(answer(b'[{"id":"a"}]'), V1, asked={"per_page": "1"}, cursor="")
    for _ in range(5):
        walk.check_page(page)
    with pytest.raises(EndlessListError):
        walk.check_page(page)


@pytest.mark.parametrize("content", [b'{"error": 1}', b"[1, 2", b"<html>", b"", b"\xff\xfe"])
def test_a_body_that_is_not_a_list_is_named(content: bytes) -> None:
    """A mistyped, truncated or foreign body is one clear error that may be asked again."""
    with pytest.raises(UnreadableError) as caught:
        to_page(answer(content), V2, asked={"limit": "300"}, cursor="")
    assert caught.value.retryable


def test_a_walk_in_a_circle_ends() -> None:
    """A page may come twice; one that comes again and again ends the walk for good."""
    walk = Walk("events")
    for _ in range(5):
        walk.check_step("starting_after=a")
    with pytest.raises(EndlessListError) as caught:
        walk.check_step("starting_after=a")
    assert not caught.value.retryable
