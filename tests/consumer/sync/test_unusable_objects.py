"""Objects that cannot be kept: each is one named rejection, the rest is kept, and nothing is called complete."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.tables.provider import PayoutItem
from consumer.facts.tables.sync import Drift
from consumer.facts.work import Completion
from consumer.provider.budget import Budget
from consumer.provider.client import Provider
from consumer.sync.drift import compare_streams
from consumer.sync.pull import STREAMS, read_streams
from consumer.sync.reach import drift_left
from tests.consumer.sync.conftest import gaps, intents

NOW = datetime(2026, 10, 1, 3, tzinfo=UTC)
INTENTS = [STREAMS["payment-intents"]]
PAYOUTS = [STREAMS["payouts"]]
ITEMS = "/v1/payouts/po_1/resources"


def raw_list(*elements: bytes) -> httpx.Response:
    return httpx.Response(200, content=b"[" + b",".join(elements) + b"]", headers={"Link": ""})


@pytest.mark.parametrize("written", ["2026-10-01T03:00:00", "yesterday", "2026-13-01", "0000-00-00T00:00:00Z"])
def test_a_time_without_zone_or_sense_rejects_one_object(
    installation: Installation, lists: Provider, list_server: Any, written: str
) -> None:
    """The object with the time is named and set aside; the others of its list are kept."""
    list_server.lists["/v1/payment_intents"][0]["created_at"] = written
    outcome = read_streams(installation, lists, INTENTS)
    assert outcome.status is Completion.PARTLY_DONE
    assert gaps(installation)[0].reason == "pi_1: created_at is not an ISO 8601 time with a zone"
    assert intents(installation) == {"pi_2", "pi_3"}


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b'{"id": "pi_9", "amount": 1e999}', "pi_9: it is not readable as JSON"),
        (b'{"id": "pi_9", "note": "\xff"}', "pi_9: it is not readable as JSON"),
        (b"null", "an object without id: it is not a JSON object"),
        (b'{"id": 9, "status": "x", "amount": 1, "currency": "CLP"}', "an object without id: id must be text of 1"),
    ],
)
def test_an_element_that_cannot_be_read_rejects_itself_alone(
    installation: Installation,
    lists: Provider,
    list_server: Any,
    make_payment: Callable[[int], dict[str, Any]],
    broken: bytes,
    reason: str,
) -> None:
    """Numbers beyond any machine, broken text, null and a numeric id end as a reason, not as a crash."""
    good = json.dumps(make_payment(1)).encode()
    list_server.before = lambda path: raw_list(broken, good) if path == "/v1/payment_intents" else None
    assert read_streams(installation, lists, INTENTS).status is Completion.PARTLY_DONE
    assert reason in (gaps(installation)[0].reason or "")
    assert intents(installation) == {"pi_1", "pi_3"}


def test_a_rejection_stays_until_the_object_is_mended(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """A later list of the stream that is whole does not close the window over a rejected object of an earlier one."""
    list_server.lists["/v1/payment_intents"][0]["amount"] = "1000"
    for _ in range(3):
        assert read_streams(installation, lists, INTENTS).status is Completion.PARTLY_DONE
        assert [gap.reason for gap in gaps(installation)] == [
            "pi_1: amount is str where an integer of minor units is needed"
        ]
    list_server.lists["/v1/payment_intents"][0]["amount"] = 1000
    assert read_streams(installation, lists, INTENTS).status is Completion.DONE
    assert gaps(installation) == []
    assert intents(installation) == {"pi_1", "pi_2", "pi_3"}


def test_a_kill_does_not_forget_a_rejection(installation: Installation, lists: Provider, list_server: Any) -> None:
    """A run killed after the page with the rejected object leaves a window that the next run reads from its start."""
    list_server.lists["/v1/payment_intents"][0]["amount"] = "1000"

    def die(path: str) -> None:
        if path == "/v2/payment_intents":
            raise SystemExit

    list_server.before = die
    with pytest.raises(SystemExit):
        read_streams(installation, lists, INTENTS)
    list_server.before = lambda _path: None
    assert read_streams(installation, lists, INTENTS).status is Completion.PARTLY_DONE
    assert gaps(installation)[0].reason == "pi_1: amount is str where an integer of minor units is needed"


def test_an_item_of_a_payout_that_cannot_be_read_is_named(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """The item is a reason with its payout and type; it counts as sent, so no total is blamed for it."""
    items = list_server.lists[f"{ITEMS}?payment_intent"]
    elements = [json.dumps(item).encode() for item in items[:2]] + [b'{"id": "pi_9", "amount": 1e999}']

    def answer(path: str) -> httpx.Response | None:
        if path != ITEMS or "payment_intent" not in list_server.asked[-1]:
            return None
        return httpx.Response(
            200, content=b"[" + b",".join(elements) + b"]", headers={"X-Total-Count": "3", "Link": ""}
        )

    list_server.before = answer
    assert read_streams(installation, lists, PAYOUTS).status is Completion.PARTLY_DONE
    assert gaps(installation)[0].reason == "po_1: an item of type payment_intent, pi_9: it is not readable as JSON"
    with installation.store.reading() as session:
        assert set(session.exec(select(PayoutItem.resource_id))) == {"pi_1", "pi_2"}


def test_one_payout_whose_items_fail_does_not_stop_the_next(
    installation: Installation, lists: Provider, list_server: Any, make_payout: Callable[..., dict[str, Any]]
) -> None:
    """A payout whose items the provider cannot list is named; the items of the others are read."""
    list_server.lists["/v1/payouts"] = [make_payout(0), make_payout(1)]
    list_server.before = lambda path: httpx.Response(500) if path == "/v1/payouts/po_0/resources" else None
    outcome = read_streams(installation, lists, PAYOUTS)
    assert outcome.status is Completion.PARTLY_DONE
    assert (gaps(installation)[0].reason or "").startswith(
        "po_0: its items of type payment_intent: GET /v1/payouts/po_0/resources: the provider answered 500"
    )
    with installation.store.reading() as session:
        assert len(session.exec(select(PayoutItem)).all()) == 3


def test_drift_names_what_it_cannot_compare_and_compares_the_rest(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """An object the provider shows broken is no difference and not missing there; the stream is not whole."""
    list_server.lists["/v2/events"] = []
    assert read_streams(installation, lists, INTENTS).complete
    list_server.lists["/v1/payment_intents"][0]["amount"] = "1000"
    list_server.lists["/v1/payment_intents"][1]["amount"] = 999
    outcome = compare_streams(installation, lists, INTENTS, days=7, repair=False)
    assert [(one.id, one.kind, one.field) for _, one in outcome.found] == [("pi_2", "differs", "amount")]
    assert outcome.status is Completion.PARTLY_DONE
    reason = "pi_1 cannot be compared: amount is str where an integer of minor units is needed"
    assert outcome.results[0].reason == reason


def test_what_cannot_be_read_again_is_not_recorded_as_mended(
    installation: Installation, lists: Provider, list_server: Any, make_payment: Callable[[int], dict[str, Any]]
) -> None:
    """A repair that finds one object broken mends the other, and the record tells them apart."""
    list_server.lists["/v2/events"] = []
    assert read_streams(installation, lists, INTENTS).complete
    for payment in list_server.lists["/v1/payment_intents"]:
        payment["amount"] = 999
    own = {"pi_1": make_payment(1) | {"amount": 999}, "pi_2": make_payment(2) | {"amount": "999"}}

    def answer(path: str) -> httpx.Response | None:
        id_ = path.rpartition("/")[2]
        return httpx.Response(200, json=own[id_]) if id_ in own else None

    list_server.before = answer
    outcome = compare_streams(installation, lists, INTENTS, days=7, repair=True)
    assert (outcome.left, outcome.status) == (1, Completion.PARTLY_DONE)
    with installation.store.reading() as session:
        kept = {(row.id, row.field): row.repaired_at is not None for row in session.exec(select(Drift))}
        assert [one.count for one in drift_left(session, "main")] == [1]
    assert kept == {("pi_1", "amount"): True, ("pi_2", "amount"): False}


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_a_database_that_served_the_other_mode_is_named(
    installation: Installation, list_server: Any, lists: Provider
) -> None:
    """An object of test mode that a live key shows under the same id is never mixed; the stream says why it stops."""
    list_server.lists["/v1/institutions"] = [{"id": "cl_made_up", "object": "institution"}]
    streams = [STREAMS["institutions"]]
    assert read_streams(installation, lists, streams).complete
    changes = {"api_key": SecretStr("sk_live_made_up"), "mode": "live"}
    live = installation.settings.connection("main").model_copy(update=changes)
    transport = httpx.MockTransport(list_server.answer)
    with Provider(live, installation.settings, Budget(installation.store, 100_000), transport=transport) as provider:
        outcome = read_streams(installation, provider, streams)
    assert not outcome.complete
    assert outcome.results[0].reason == (
        "institution cl_made_up is test here and live there: this database has served a key of the other mode"
    )
