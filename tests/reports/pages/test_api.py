"""The lists as JSON: exact rows, paging that neither skips nor repeats, and a description that is true."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from consumer.facts.installation import Installation
from consumer.facts.tables.inbox import Event

NOW = datetime(2026, 10, 8, 12, 30, tzinfo=UTC)


def keep_events(installation: Installation, first: int, last: int) -> None:
    with installation.store.transaction() as session:
        for number in range(first, last + 1):
            session.add(
                Event(
                    connection="main",
                    id=f"evt_{number:03d}",
                    type="payout.succeeded",
                    mode="test",
                    created_at=NOW + timedelta(seconds=number),
                    received_at=NOW + timedelta(seconds=number),
                    source="webhook",
                    state="applied",
                    raw_sha256="a" * 64,
                    meaning_sha256="b" * 64,
                    last_arrival_at=NOW,
                )
            )


def fetch(client: FlaskClient, path: str) -> Any:
    answer = client.get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.get_json()


def test_a_report_s_rows_are_those_of_its_file(client: FlaskClient) -> None:
    """Amounts are decimal text, days ISO text, counts numbers and what is unknown null."""
    assert fetch(client, "in-transit?as_of=2026-10-08") == {
        "data": [
            {
                "resource_type": "payment_intent",
                "resource_id": "pi_3",
                "occurred_at_utc": "2026-10-07T13:00:00Z",
                "bank_day": "2026-10-07",
                "currency": "CLP",
                "amount_signed": "30000",
                "age_business_days": 1,
                "expected_payout_day": "2026-10-07",
                "connection": "main",
            }
        ],
        "next_cursor": None,
        "total": 1,
        "as_of": "2026-10-08",
        "runs": ["main:run-1"],
        "incomplete": [],
        "missing": [],
    }


def test_a_report_is_paged_to_its_end(client: FlaskClient) -> None:
    """Following the cursor gives every row once, in the order of the file."""
    seen: list[str] = []
    cursor: str | None = ""
    for _ in range(3):
        page = fetch(client, f"payout-detail?limit=1&cursor={cursor}")
        seen += [row["resource_id"] for row in page["data"]]
        cursor = page["next_cursor"]
    assert (seen, cursor) == (["pi_1", "pi_2", "re_1"], None)


def test_what_arrives_meanwhile_shifts_nothing(reconciled: Installation, client: FlaskClient) -> None:
    """New events between two pages are neither repeated nor push older ones out."""
    keep_events(reconciled, 1, 5)
    first = fetch(client, "events?limit=2")
    keep_events(reconciled, 6, 8)
    second = fetch(client, f"events?limit=2&cursor={first['next_cursor']}")
    third = fetch(client, f"events?limit=2&cursor={second['next_cursor']}")
    pages = [[row["id"] for row in page["data"]] for page in (first, second, third)]
    assert pages == [["evt_005", "evt_004"], ["evt_003", "evt_002"], ["evt_001"]]
    assert third["next_cursor"] is None


def test_what_comes_late_hides_nothing(reconciled: Installation, client: FlaskClient) -> None:
    """An event of long ago that arrives between two pages takes its old place, and every row is read once."""
    keep_events(reconciled, 3, 7)
    first = fetch(client, "events?limit=2")
    keep_events(reconciled, 1, 2)
    keep_events(reconciled, 8, 8)
    seen, cursor = [row["id"] for row in first["data"]], first["next_cursor"]
    while cursor:
        page = fetch(client, f"events?limit=2&cursor={cursor}")
        seen, cursor = [*seen, *(row["id"] for row in page["data"])], page["next_cursor"]
    assert seen == ["evt_007", "evt_006", "evt_005", "evt_004", "evt_003", "evt_002", "evt_001"]


def test_a_run_between_two_pages_ends_the_cursor(
    reconciled: Installation, client: FlaskClient, keep_run: Callable[..., None]
) -> None:
    """Rows of two runs are never mixed: the program is asked to begin again."""
    cursor = fetch(client, "payout-detail?limit=1")["next_cursor"]
    with reconciled.store.transaction() as session:
        keep_run(session, run_id="run-2", number=43)
    answer = client.get(f"/api/v1/payout-detail?limit=1&cursor={cursor}")
    sentence = "cursor: a newer run has finished since; begin again without a cursor\n"
    assert (answer.status_code, answer.get_data(as_text=True)) == (400, sentence)


def test_a_bad_parameter_is_one_sentence(client: FlaskClient) -> None:
    """Programs get a 400 in plain text that says what to do."""
    for path, sentence in [
        ("events?limit=0", "limit: '0' is not a number from 1 to 1000"),
        ("events?limit=many", "limit: 'many' is not a number from 1 to 1000"),
        ("events?cursor=x", "cursor: use next_cursor of the page before, unchanged"),
        ("events?cursor=W10", "cursor: use next_cursor of the page before, unchanged"),
        ("events?cursor=WzEsMV0", "cursor: use next_cursor of the page before, unchanged"),
        ("events?state=nice", "state: 'nice' is not one of waiting, applied, ignored, failed, quarantined"),
        ("control?from=ayer", "from: 'ayer' is not a date such as 2026-10-31"),
        ("control?page=2", "page is not a parameter; there are as_of, connection, cursor, from, limit, payout, to"),
        ("control?cursor=WzEsICJvdGhlciJd", "cursor: a newer run has finished since; begin again without a cursor"),
    ]:
        answer = client.get(f"/api/v1/{path}")
        assert (answer.status_code, answer.mimetype) == (400, "text/plain"), path
        assert answer.get_data(as_text=True) == f"{sentence}\n", path


@pytest.mark.parametrize("path", ["/api/v1/exceptions", "/view/documents", "/search"])
def test_bytes_that_are_no_text_are_refused_in_one_sentence(client: FlaskClient, path: str) -> None:
    """Half a surrogate pair, unescaped in an address, is a 400 that says what to do, on pages and for programs."""
    answer = client.get(path, environ_overrides={"QUERY_STRING": "q=\xed\xa0\xbd"}, headers={"Accept": "text/plain"})
    sentence = "the address holds bytes that are no text: write them as UTF-8\n"
    assert (answer.status_code, answer.get_data(as_text=True)) == (400, sentence)


def test_an_unknown_list_is_a_404(client: FlaskClient) -> None:
    """The answer names the lists there are."""
    answer = client.get("/api/v1/nothing")
    assert answer.status_code == 404
    assert "there is no list 'nothing'; there are payout-summary" in answer.get_data(as_text=True)


def test_a_stranger_gets_401(app: Flask) -> None:
    """A program without a token is refused, not sent to a form."""
    answer = app.test_client().get("/api/v1/control")
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


def lists_of(described: Any) -> list[tuple[str, Any]]:
    """Give the paths of lists; what takes files has a test of its own."""
    return [(path, methods) for path, methods in described["paths"].items() if "get" in methods]


def test_the_description_is_true(reconciled: Installation, client: FlaskClient) -> None:
    """Every path of the description answers with exactly the fields it names, of the types it names."""
    keep_events(reconciled, 1, 1)
    described = fetch(client, "openapi.json")
    assert described["openapi"] == "3.1.0"
    for path, methods in lists_of(described):
        schema = methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        page = fetch(client, path.removeprefix("/"))
        assert sorted(page) == sorted(schema["required"]), path
        for row in page["data"]:
            row_schema = schema["properties"]["data"]["items"]
            assert sorted(row) == sorted(row_schema["required"]), path
            wrong = {name: value for name, value in row.items() if not fits(value, row_schema["properties"][name])}
            assert wrong == {}, path


VALUES = {
    "connection": "main", "from": "2026-10-01", "to": "2026-10-31", "as_of": "2026-10-08", "payout": "po_1",
    "limit": "1", "cursor": "", "q": "po_1",
}  # fmt: skip


def test_every_parameter_of_the_description_is_taken(reconciled: Installation, client: FlaskClient) -> None:
    """Each path takes each parameter it names, alone and all together, and each word of a choice; no other is taken."""
    keep_events(reconciled, 1, 1)
    for path, methods in lists_of(fetch(client, "openapi.json")):
        asked = {each["name"]: each["schema"] for each in methods["get"]["parameters"]}
        choices = {name: schema.get("enum", [VALUES.get(name)]) for name, schema in asked.items()}
        together = "&".join(f"{name}={words[0]}" for name, words in choices.items())
        alone = [f"{name}={word}" for name, words in choices.items() for word in words]
        for query in (together, *alone):
            assert client.get(f"/api/v1{path}?{query}").status_code == 200, f"{path}?{query}"
        assert client.get(f"/api/v1{path}?unknown=1").status_code == 400, path


def fits(value: object, schema: dict[str, Any]) -> bool:
    types = {"string": str, "integer": int, "null": type(None)}
    return any(type(value) is types[name] for name in schema["type"])


def test_the_description_names_every_list(client: FlaskClient) -> None:
    """No list answers that the description does not know."""
    assert sorted(path for path, _ in lists_of(fetch(client, "openapi.json"))) == [
        "/adjustments",
        "/approvals",
        "/bank-file-lines",
        "/bank-files",
        "/bank-lines",
        "/cash-application",
        "/clearing-rollforward",
        "/closed-figures",
        "/conflicts",
        "/control",
        "/decisions",
        "/disputes",
        "/document-changes",
        "/documents",
        "/drift",
        "/events",
        "/exceptions",
        "/fee-summary",
        "/files",
        "/gaps",
        "/in-transit",
        "/invoice-files",
        "/jobs",
        "/journal",
        "/journal-exports",
        "/payers",
        "/payment-complements",
        "/payout-detail",
        "/payout-reports",
        "/payout-summary",
        "/people",
        "/periods",
        "/receivables",
        "/register-files",
        "/removed-files",
        "/run-diff",
        "/runs",
        "/search",
        "/statement-check",
        "/tax-causes",
        "/tax-invoices",
        "/tax-returns",
        "/tax-statements",
        "/tax-tie-out",
        "/tax-vouchers",
        "/tokens",
        "/trail",
        "/transfers",
    ]
