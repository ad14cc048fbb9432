"""Faults of answers: refusals for no reason, broken bodies, pages that repeat, vanish or shift."""

import json

import httpx
import pytest

from tests.sandbox.conftest import Open, paid, trade

SEVEN = trade(*(paid(n, -n) for n in range(1, 8)))


def wrong(client: httpx.Client, name: str, **options: object) -> None:
    answer = client.post("/_sandbox/faults", json={"name": name, **options})
    assert answer.status_code == 201, answer.text


def walk(client: httpx.Client, url: str) -> tuple[list[str], int]:
    """The ids met on the way along the next links, and the number of pages."""
    seen, pages = [], 0
    while url:
        page = client.get(url)
        seen += [row["data"]["id"] if "data" in row else row["id"] for row in page.json()]
        url = page.links.get("next", {}).get("url", "")
        pages += 1
    return seen, pages


def test_a_server_error_happens_as_often_as_it_may(client: httpx.Client) -> None:
    """One 500 with an error object, then the answer."""
    wrong(client, "server-error", times=1)

    first, second = client.get("/v1/payouts"), client.get("/v1/payouts")

    assert (first.status_code, first.json()["error"]["code"]) == (500, "internal_server_error")
    assert second.status_code == 200


def test_a_fault_may_be_bound_to_a_path(client: httpx.Client) -> None:
    """Only addresses that begin with the path are hit, and steering never is."""
    wrong(client, "server-error", path="/v2/")

    assert client.get("/v2/events").status_code == 500
    assert client.get("/v1/payouts").status_code == 200
    assert client.get("/_sandbox/clock").status_code == 200


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({}, None),
        ({"retry_after": "seconds", "seconds": 2}, "2"),
        ({"retry_after": "date", "seconds": 60}, "Thu, 01 Oct 2026 03:01:00 GMT"),
    ],
)
def test_too_many_requests_with_and_without_advice(
    client: httpx.Client, options: dict[str, object], advice: str | None
) -> None:
    """The 429 bears no advice, seconds, or a date of the sandbox's clock."""
    wrong(client, "rate-limit", **options)

    answer = client.get("/v1/payouts")

    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert answer.headers.get("Retry-After") == advice


def test_a_good_key_is_refused_in_mid_run(client: httpx.Client) -> None:
    """The 401 looks like that of a bad key."""
    wrong(client, "key-refused")

    answer = client.get("/v1/payouts")

    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")


def test_truncated_json_is_half_of_it(client: httpx.Client) -> None:
    """The status is fine and the length agrees, but the JSON ends too early."""
    whole = client.get("/v1/payouts/po_1").content
    wrong(client, "truncated")

    answer = client.get("/v1/payouts/po_1")

    assert answer.status_code == 200
    assert answer.content == whole[: len(whole) // 2]
    with pytest.raises(json.JSONDecodeError):
        answer.json()


def test_a_wrong_content_type_is_a_page_for_people(client: httpx.Client) -> None:
    """A proxy's HTML under a 200."""
    wrong(client, "wrong-type")

    answer = client.get("/v1/payouts")

    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")


def test_a_slow_answer_is_whole_in_the_end(client: httpx.Client) -> None:
    """The body drips, but nothing of it is missing."""
    whole = client.get("/v1/payouts").content
    wrong(client, "slow", seconds=0.01)

    assert client.get("/v1/payouts").content == whole


def test_a_reset_is_a_transport_error(client: httpx.Client) -> None:
    """No answer comes at all."""
    wrong(client, "reset", times=1)

    with pytest.raises(httpx.ReadError):
        client.get("/v1/payouts")
    assert client.get("/v1/payouts").status_code == 200


def test_a_duplicate_page_links_to_itself_once(open_sandbox: Open) -> None:
    """A reader who follows the links meets some rows twice and gets to the end."""
    client = open_sandbox(SEVEN)
    wrong(client, "duplicate-page")

    seen, pages = walk(client, "/v2/events?limit=3")

    assert pages == 5
    assert seen.count("pi_1") == 2
    assert set(seen) == {f"pi_{n}" for n in range(1, 8)}
    assert walk(client, "/v1/payment_intents?per_page=3&page=1")[1] > 3


def test_an_empty_page_with_a_next_link_is_not_the_end(open_sandbox: Open) -> None:
    """The rows come under the same link."""
    client = open_sandbox(SEVEN)
    wrong(client, "empty-page")

    assert client.get("/v2/events?limit=4").json() == []
    assert walk(client, "/v2/events?limit=3")[0] == [f"pi_{n}" for n in range(1, 8)]
    assert walk(client, "/v1/payment_intents?per_page=3&page=1")[0] == [f"pi_{n}" for n in range(1, 8)]


def test_a_pruned_cursor_is_refused(open_sandbox: Open) -> None:
    """The event the reader would page from is not known any more."""
    client = open_sandbox(SEVEN)
    wrong(client, "pruned-cursor")
    first = client.get("/v2/events?limit=3")

    answer = client.get(first.links["next"]["url"])

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "missing_cursor")


def test_rows_inserted_while_paging_shift_numbered_pages(open_sandbox: Open) -> None:
    """The second page repeats the last row of the first; the new row means no money."""
    client = open_sandbox(SEVEN)
    wrong(client, "insert-while-paging", times=1)

    seen, _ = walk(client, "/v1/payment_intents?per_page=3")

    assert seen == ["pi_1", "pi_2", "pi_3", "pi_3", "pi_4", "pi_5", "pi_6", "pi_7"]
    newest = client.get("/v1/payment_intents?per_page=1").json()[0]
    assert newest["status"] == "expired"
    assert newest["id"] not in seen


def test_events_inserted_while_paging_do_not_shift_cursors(open_sandbox: Open) -> None:
    """A new event stands before the first page and disturbs no walk by cursor."""
    client = open_sandbox(SEVEN)
    wrong(client, "insert-while-paging", times=1)

    assert walk(client, "/v2/events?limit=3")[0] == [f"pi_{n}" for n in range(1, 8)]
    assert client.get("/v2/events").json()[0]["type"] == "payment_intent.expired"


def test_the_version_is_switched_in_mid_run(client: httpx.Client) -> None:
    """From one request on the organization is on the oldest version, unless the caller names one."""
    assert client.get("/v2/payment_intents").status_code == 200
    wrong(client, "version-switch", times=1)

    assert client.get("/v2/payment_intents").json()["error"]["code"] == "invalid_api_version"
    assert client.get("/v2/payment_intents").status_code == 403
    assert client.get("/v2/payment_intents", headers={"Fintoc-Version": "2026-02-01"}).status_code == 200
    assert client.get("/v1/payouts", headers={"Fintoc-Version": "1999-01-01"}).status_code == 403
