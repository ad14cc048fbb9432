"""Reading objects: lists, pages, filters, gets, modes, errors and headers."""

import httpx
import pytest

from tests.sandbox.conftest import Open, paid, trade


def ids(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [row["id"] for row in answer.json()]


def error(answer: httpx.Response) -> tuple[int, str, str | None]:
    body = answer.json()["error"]
    assert body["message"]
    return answer.status_code, body["code"], body.get("param")


def test_an_object_is_its_last_version(client: httpx.Client) -> None:
    """A get answers the newest version of an object, not the first."""
    assert client.get("/v1/payment_intents/pi_1").json()["status"] == "succeeded"


def test_the_future_is_not_there_yet(client: httpx.Client) -> None:
    """What the scenario plans for later exists only once the clock has got there."""
    assert client.get("/v1/payment_intents/pi_3").status_code == 404

    client.post("/_sandbox/clock/advance", json={"seconds": 3600})

    assert client.get("/v1/payment_intents/pi_3").json()["created_at"] == "2026-10-01T04:00:00Z"


def test_offset_pages_bear_links_and_a_total(open_sandbox: Open) -> None:
    """A v1 list is newest first, numbered, with first, prev, next, last and the total."""
    client = open_sandbox(trade(*(paid(n, -n) for n in range(1, 6))))

    answer = client.get("/v1/payment_intents", params={"page": 2, "per_page": 2})

    assert ids(answer) == ["pi_3", "pi_4"]
    assert answer.headers["X-Total-Count"] == "5"
    address = "http://sandbox.test/v1/payment_intents?per_page=2"
    assert answer.headers["Link"] == (
        f'<{address}&page=1>; rel="first", <{address}&page=1>; rel="prev", '
        f'<{address}&page=3>; rel="next", <{address}&page=3>; rel="last"'
    )


def test_the_ends_of_an_offset_list_have_no_neighbour(open_sandbox: Open) -> None:
    """The first page has no prev and the last no next."""
    client = open_sandbox(trade(*(paid(n, -n) for n in range(1, 4))))

    first = client.get("/v1/payment_intents?per_page=2").headers["Link"]
    last = client.get("/v1/payment_intents?per_page=2&page=2").headers["Link"]

    assert 'rel="prev"' not in first
    assert 'rel="next"' not in last


def test_cursor_pages_end_with_an_empty_link(open_sandbox: Open) -> None:
    """A v2 list links only to the next page, and its last page bears an empty Link and no total."""
    client = open_sandbox(trade(*(paid(n, -n, payment_method="pm_1") for n in range(1, 4))))

    first = client.get("/v2/payment_intents?limit=2")
    last = client.get(first.links["next"]["url"])

    assert ids(first) == ["pi_1", "pi_2"]
    assert first.headers["Link"] == '<http://sandbox.test/v2/payment_intents?limit=2&starting_after=pi_2>; rel="next"'
    assert ids(last) == ["pi_3"]
    assert last.headers["Link"] == ""
    assert "X-Total-Count" not in last.headers


def test_ending_before_gives_the_page_just_before(open_sandbox: Open) -> None:
    """The rows directly newer than the cursor come newest first."""
    client = open_sandbox(trade(*(paid(n, -n, payment_method="pm_1") for n in range(1, 6))))

    assert ids(client.get("/v2/payment_intents?limit=2&ending_before=pi_4")) == ["pi_2", "pi_3"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("starting_after=pi_none", (400, "missing_cursor", "starting_after")),
        ("limit=301", (400, "invalid_positive_integer", "limit")),
        ("limit=0", (400, "invalid_positive_integer", "limit")),
        ("since=yesterday", (400, "invalid_date", "since")),
        ("since=2026-13-01", (400, "invalid_date", "since")),
        ("status=lost", (400, "invalid_enum", "status")),
    ],
)
def test_a_list_refuses_what_it_cannot_read(client: httpx.Client, query: str, expected: tuple[int, str, str]) -> None:
    """Unknown cursors, sizes out of range, impossible dates and unknown states are errors that name the parameter."""
    assert error(client.get(f"/v2/payment_intents?{query}")) == expected


def test_the_two_generations_of_payment_intents_are_two_lists(open_sandbox: Open) -> None:
    """The v1 list holds what a present customer paid, the v2 list what a saved method was charged; a get finds both."""
    client = open_sandbox(trade(paid(1, -2), paid(2, -1, payment_method="pm_1")))

    assert ids(client.get("/v1/payment_intents")) == ["pi_1"]
    assert ids(client.get("/v2/payment_intents")) == ["pi_2"]
    assert client.get("/v1/payment_intents/pi_2").status_code == 200


def test_payouts_are_filtered_by_calendar_date_and_status(client: httpx.Client) -> None:
    """Both dates are included, and states of other payouts are left out."""
    assert ids(client.get("/v1/payouts?since=2026-09-30&until=2026-09-30&status=in_progress")) == ["po_1"]
    assert ids(client.get("/v1/payouts?until=2026-09-29")) == []
    assert ids(client.get("/v1/payouts?status=succeeded")) == []


def test_payout_resources_are_the_current_objects_of_one_type(client: httpx.Client) -> None:
    """Payments are payment intents; both refund types are refund objects."""
    path = "/v1/payouts/po_1/resources"

    answer = client.get(path, params={"resource_type": "payment_intent"})

    assert sorted(ids(answer)) == ["pi_1", "pi_2"]
    assert answer.headers["X-Total-Count"] == "2"
    assert ids(client.get(path, params={"resource_type": "refund"})) == ["re_1"]
    assert ids(client.get(path, params={"resource_type": "refund_adjustment"})) == ["re_1"]
    assert ids(client.get(path, params={"resource_type": "charge"})) == []


def test_payout_resources_need_a_known_type(client: httpx.Client) -> None:
    """A missing and an unknown resource type are two errors."""
    path = "/v1/payouts/po_1/resources"

    assert error(client.get(path)) == (400, "missing_parameter", "resource_type")
    assert error(client.get(f"{path}?resource_type=fee")) == (400, "invalid_enum", "resource_type")


def test_modes_are_kept_apart(client: httpx.Client) -> None:
    """An object of the other mode is not there, neither in lists nor by id."""
    assert ids(client.get("/v1/payouts")) == ["po_1"]
    assert error(client.get("/v1/payouts/po_9")) == (404, "missing_resource", "id")

    client.headers["Authorization"] = "Bearer sk_live_sandbox"

    assert ids(client.get("/v1/payouts")) == ["po_9"]
    assert client.get("/v1/payouts/po_1").status_code == 404


@pytest.mark.parametrize("key", ["", "sk_test_other", "Bearer", "Basic c2s6"])
def test_a_bad_key_is_refused(client: httpx.Client, key: str) -> None:
    """Whatever is not one of the two keys is an authentication error."""
    answer = client.get("/v1/payouts", headers={"Authorization": key})

    assert answer.status_code == 401
    assert answer.json()["error"]["type"] == "authentication_error"
    assert answer.json()["error"]["code"] == "invalid_api_key"


def test_an_unknown_path_is_a_json_404(client: httpx.Client) -> None:
    """Even a path that does not exist answers with an error object."""
    assert error(client.get("/v1/nothing")) == (404, "invalid_url", None)
    assert error(client.put("/v1/payouts")) == (405, "operation_not_allowed", None)


def test_every_answer_bears_the_sandboxs_date_and_a_request_id(client: httpx.Client) -> None:
    """The Date is the sandbox's time and the request ids differ, errors included."""
    answers = [client.get("/v1/payouts"), client.get("/v1/payouts"), client.get("/v1/nothing")]

    assert {answer.headers["Date"] for answer in answers} == {"Thu, 01 Oct 2026 03:00:00 GMT"}
    assert len({answer.headers["X-Request-Id"] for answer in answers}) == 3


def test_two_starts_answer_byte_for_byte_alike(open_sandbox: Open) -> None:
    """The same scenario and seed give the same bodies and the same headers."""
    for path in ("/v2/events", "/v1/payouts", "/_sandbox/truth"):
        one, other = open_sandbox().get(path), open_sandbox().get(path)

        assert one.content == other.content
        assert one.headers == other.headers


def test_a_list_changes_with_its_objects(client: httpx.Client) -> None:
    """Asking the same again shows what came or changed meanwhile."""
    before = ids(client.get("/v1/payment_intents?status=succeeded"))

    client.post("/_sandbox/clock/advance", json={"seconds": 3600})

    assert ids(client.get("/v1/payment_intents?status=succeeded")) == ["pi_3", *before]
    assert ids(client.get("/v1/payment_intents?status=failed")) == []
