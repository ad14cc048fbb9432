"""Customers: what they need, how they are stored, how they are found."""

import httpx
import pytest

from tests.sandbox.conftest import Open, make, read, refusal, trade

RUT = {"type": "cl_rut", "value": "76.543.210-3"}


@pytest.fixture
def empty(open_sandbox: Open) -> httpx.Client:
    return open_sandbox(trade())


def test_a_customer_is_stored_in_a_normal_form(empty: httpx.Client) -> None:
    """The e-mail in small letters, the tax id bare, the country as two small letters."""
    made = make(empty, "/v2/customers", email="Ana@Example.COM", tax_id=RUT, address={"country": "CL"})

    assert made["email"] == "ana@example.com"
    assert made["tax_id"] == {"type": "cl_rut", "value": "765432103"}
    assert made["address"]["country"] == "cl"
    assert read(empty, f"/v2/customers/{made['id']}") == made


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"name": "Ana"}, (400, "missing_parameter", "email")),
        ({"tax_id": {"type": "cl_rut"}}, (400, "missing_parameter", "value")),
        ({"tax_id": {"value": "1-9"}}, (400, "missing_parameter", "type")),
        ({"tax_id": {"type": "us_ein", "value": "1"}}, (400, "invalid_enum", "type")),
    ],
)
def test_an_email_or_a_whole_tax_id_is_needed(
    empty: httpx.Client, body: dict[str, object], expected: tuple[int, str, str]
) -> None:
    """Neither, or half a tax id, is refused."""
    assert refusal(empty.post("/v2/customers", json=body)) == expected


def test_customers_are_found_by_tax_id_in_any_writing(empty: httpx.Client) -> None:
    """Dots, hyphens and case do not matter; the type narrows, alone too."""
    first = make(empty, "/v2/customers", tax_id=RUT)["id"]
    second = make(empty, "/v2/customers", tax_id={"type": "mx_rfc", "value": "ATP190301KX8"})["id"]
    make(empty, "/v2/customers", email="a@example.com")

    def found(query: str) -> list[str]:
        return [row["id"] for row in read(empty, f"/v2/customers?{query}")]

    assert found("tax_id=76543210-3") == found("tax_id=76.543.210-3") == found("tax_id=765432103") == [first]
    assert found("tax_id=atp190301kx8") == [second]
    assert found("tax_id=765432103&tax_id_type=mx_rfc") == []
    assert found("tax_id_type=mx_rfc") == [second]
    assert len(found("")) == 3
    assert refusal(empty.get("/v2/customers?tax_id_type=us_ein")) == (400, "invalid_enum", "tax_id_type")


def test_an_idempotency_key_gives_the_first_answer_again(empty: httpx.Client) -> None:
    """The same request under one key is done once, errors included."""
    headers = {"Idempotency-Key": "k-1"}
    first = empty.post("/v2/customers", json={"email": "a@example.com"}, headers=headers)
    second = empty.post("/v2/customers", json={"email": "a@example.com"}, headers=headers)
    wrong = [empty.post("/v2/customers", json={}, headers={"Idempotency-Key": "k-2"}) for _ in range(2)]

    assert (first.status_code, first.content) == (second.status_code, second.content)
    assert len(read(empty, "/v2/customers")) == 1
    assert wrong[0].status_code == wrong[1].status_code == 400
    assert wrong[0].content == wrong[1].content


def test_an_error_on_purpose_is_replayed_too(empty: httpx.Client) -> None:
    """A 500 under a key stays a 500 under that key."""
    empty.post("/_sandbox/faults", json={"name": "server-error", "times": 1})
    headers = {"Idempotency-Key": "k-1"}

    answers = [empty.post("/v2/customers", json={"email": "a@example.com"}, headers=headers) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [500, 500]


def test_a_key_belongs_to_one_request_for_a_day(empty: httpx.Client) -> None:
    """Other parameters under the key are an error; a day later it is free; a refused caller leaves nothing."""
    headers = {"Idempotency-Key": "k-1"}
    empty.post("/v2/customers", json={"email": "a@example.com"}, headers={**headers, "Authorization": "bad"})
    made = empty.post("/v2/customers", json={"email": "a@example.com"}, headers=headers)
    other = empty.post("/v2/customers", json={"email": "b@example.com"}, headers=headers)
    long = empty.post("/v2/customers", json={}, headers={"Idempotency-Key": "k" * 256})

    assert made.status_code == 201
    assert refusal(other) == (409, "idempotency_key_reused", "Idempotency-Key")
    assert refusal(long) == (400, "invalid_string", "Idempotency-Key")
    empty.post("/_sandbox/clock/advance", json={"seconds": 86_400})
    assert empty.post("/v2/customers", json={"email": "b@example.com"}, headers=headers).status_code == 201
