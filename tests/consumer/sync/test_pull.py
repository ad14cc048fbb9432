"""Pulled streams against lists that shift, lie, fail and end early."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from sqlmodel import select

from consumer.facts.completeness import complete_until
from consumer.facts.installation import Installation
from consumer.facts.tables.provider import PaymentIntent, Payout, PayoutCount, PayoutItem
from consumer.facts.tables.sync import Checkpoint
from consumer.facts.work import Completion
from consumer.provider.client import Provider
from consumer.sync.pull import STREAMS, read_streams
from tests.consumer.sync.conftest import gaps, intents

NOW = datetime(2026, 10, 1, 3, tzinfo=UTC)
PAYOUTS = [STREAMS["payouts"]]
INTENTS = [STREAMS["payment-intents"]]
BROKEN = httpx.Response(500, json={"error": {"type": "api_error", "code": "internal_server_error"}})
REFUSED = httpx.Response(401, json={"error": {"type": "authentication_error", "code": "invalid_api_key"}})
ITEMS = "/v1/payouts/po_1/resources?payment_intent"


def items(installation: Installation) -> set[tuple[str, str]]:
    with installation.store.reading() as session:
        return set(session.exec(select(PayoutItem.resource_type, PayoutItem.resource_id)))


def test_a_payout_is_pulled_with_its_items_and_their_objects(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """The payout, its items of all four types, their counts and their own objects are kept, unknown fields too."""
    outcome = read_streams(installation, lists, PAYOUTS)
    assert outcome.status is Completion.DONE
    assert outcome.lines == ["main: payouts: complete, 1 read, 1 new or changed, 6 pages"]
    assert items(installation) == {("payment_intent", "pi_1"), ("payment_intent", "pi_2"), ("payment_intent", "pi_3")}
    with installation.store.reading() as session:
        assert session.get_one(Payout, ("main", "po_1")).amount == 2968
        kept = json.loads(session.get_one(PaymentIntent, ("main", "pi_1")).body)
        counts = session.exec(select(PayoutCount.resource_type, PayoutCount.announced, PayoutCount.kept)).all()
    assert kept["made_up_field"] == {"kept": True}
    assert sorted(counts) == [("charge", 0, 0), ("payment_intent", 3, 3), ("refund", 0, 0), ("refund_adjustment", 0, 0)]
    assert list_server.asked[0] == "/v1/payouts"


def test_a_provider_that_fails_at_every_payout_is_left_alone(
    installation: Installation, lists: Provider, list_server: Any, make_payout: Callable[..., dict[str, Any]]
) -> None:
    """After three payouts in a row the reading of the stream ends with one sentence; later streams are read."""
    list_server.lists["/v1/payouts"] = [make_payout(number) for number in (1, 2, 3, 4)]
    list_server.lists["/v1/refunds"] = []
    list_server.before = lambda path: BROKEN if path.endswith("/resources") else None
    outcome = read_streams(installation, lists, [*PAYOUTS, STREAMS["refunds"]])
    assert outcome.status is Completion.PARTLY_DONE
    payouts, refunds = outcome.lines
    assert payouts == (
        "main: payouts: incomplete, 4 read, 4 new or changed, 2 pages: "
        "the provider failed at the items of 3 payouts in a row; the rest were not asked for: "
        "GET /v1/payouts/po_3/resources: the provider answered 500 internal_server_error"
    )
    assert refunds == "main: refunds: complete, 0 read, 0 new or changed, 1 pages"
    assert {path for path in list_server.asked if "/resources" in path} == {
        f"/v1/payouts/po_{number}/resources payment_intent" for number in (1, 2, 3)
    }


def test_items_of_a_settled_payout_are_not_asked_again(
    installation: Installation, lists: Provider, list_server: Any, make_payout: Callable[..., dict[str, Any]]
) -> None:
    """A payout is read again only where it is new, has changed or is not final."""
    read_streams(installation, lists, PAYOUTS)
    list_server.asked.clear()
    read_streams(installation, lists, PAYOUTS)
    assert list_server.asked == ["/v1/payouts"]
    list_server.now += timedelta(days=1)
    returned = make_payout(1, status="returned", updated_at=NOW + timedelta(days=1))
    list_server.lists["/v1/payouts"] = [returned, make_payout(2, status="in_progress")]
    list_server.lists[ITEMS].pop()
    list_server.asked.clear()
    for _ in range(2):
        assert read_streams(installation, lists, PAYOUTS).status is Completion.DONE
    assert items(installation) == {("payment_intent", "pi_1"), ("payment_intent", "pi_2")}
    assert list_server.asked.count("/v1/payouts/po_1/resources payment_intent") == 1
    assert list_server.asked.count("/v1/payouts/po_2/resources payment_intent") == 2


@pytest.mark.parametrize(("lie", "sent"), [(1, 3), (-1, 3)])
def test_a_total_that_does_not_agree_is_incomplete(
    installation: Installation, lists: Provider, list_server: Any, lie: int, sent: int
) -> None:
    """Items that were announced and not sent, or sent and not announced, are a gap and exit 3."""
    list_server.lie[ITEMS] = lie
    outcome = read_streams(installation, lists, PAYOUTS)
    assert outcome.status is Completion.PARTLY_DONE
    (gap,) = gaps(installation)
    assert (gap.stream, gap.state) == ("payouts", "failed")
    assert gap.reason == f"po_1: {3 + lie} items of type payment_intent were announced and {sent} sent"
    assert len(items(installation)) == 3
    list_server.lie.clear()
    assert read_streams(installation, lists, PAYOUTS).status is Completion.DONE
    assert gaps(installation) == []


def test_a_list_that_shifts_while_it_is_read_is_read_again(
    installation: Installation, lists: Provider, list_server: Any, make_payment: Callable[[int], dict[str, Any]]
) -> None:
    """A row that slips to an earlier page while a list shrinks is found by the repeated read."""
    rows = [make_payment(number) for number in range(1, 6)]
    list_server.lists["/v1/payment_intents"] = rows

    def shrink(path: str) -> None:
        if path == "/v1/payment_intents" and len(list_server.asked) == 2:
            rows.pop(0)

    list_server.before = shrink
    assert read_streams(installation, lists, INTENTS).status is Completion.DONE
    assert intents(installation) >= {"pi_2", "pi_3", "pi_4", "pi_5"}
    assert list_server.asked.count("/v1/payment_intents") == 2


@pytest.mark.parametrize("kill_at", range(1, 9))
def test_a_pull_killed_at_any_page_goes_on_from_there(
    installation: Installation,
    lists: Provider,
    list_server: Any,
    make_payment: Callable[[int], dict[str, Any]],
    kill_at: int,
) -> None:
    """Whichever request dies, the next run keeps the same rows and asks only that page again, then looks for news."""
    list_server.lists["/v1/payment_intents"] = [make_payment(number) for number in range(1, 12)]
    list_server.lists["/v2/payment_intents"] = [make_payment(number) for number in range(20, 23)]

    def die(_path: str) -> None:
        if len(list_server.asked) == kill_at:
            raise SystemExit

    list_server.before = die
    with pytest.raises(SystemExit):
        read_streams(installation, lists, INTENTS)
    assert [gap.state for gap in gaps(installation)] == ["open"]
    list_server.before = lambda _path: None
    assert read_streams(installation, lists, INTENTS).status is Completion.DONE
    assert len(intents(installation)) == 14
    first_run = list_server.asked[:9]
    assert len(first_run) == len(set(first_run)) + 1
    assert gaps(installation) == []


def test_a_later_pull_of_a_list_without_filter_stops_where_it_is_old(
    installation: Installation, lists: Provider, list_server: Any, make_payment: Callable[[int], dict[str, Any]]
) -> None:
    """Newest-first lists are left behind the overlap; where we hold less than announced they are read to the end."""
    rows = [make_payment(24 * number) for number in range(1, 41)]
    list_server.lists["/v1/payment_intents"] = rows
    del list_server.lists["/v2/payment_intents"]
    assert read_streams(installation, lists, INTENTS).status is Completion.DONE
    assert len(list_server.asked) == 20 + 1
    list_server.asked.clear()
    assert read_streams(installation, lists, INTENTS).status is Completion.DONE
    assert len(list_server.asked) == 8 + 1
    rows.append(make_payment(24 * 50))
    list_server.asked.clear()
    read_streams(installation, lists, INTENTS)
    assert "pi_1200" in intents(installation)


def test_what_is_gone_there_does_not_hide_what_is_missing_here(
    installation: Installation, lists: Provider, list_server: Any, make_payment: Callable[[int], dict[str, Any]]
) -> None:
    """A row marked as gone is not held: as many as announced with it are one too few, and the list is read on."""
    rows = [make_payment(24 * number) for number in range(1, 41)]
    list_server.lists["/v1/payment_intents"] = rows
    del list_server.lists["/v2/payment_intents"]
    assert read_streams(installation, lists, INTENTS).status is Completion.DONE
    with installation.store.transaction() as session:
        session.execute(sa.update(PaymentIntent).where(sa.column("id") == "pi_24").values(gone_at=NOW))
    rows[0:1] = []
    rows.append(make_payment(24 * 50))
    assert read_streams(installation, lists, INTENTS).status is Completion.DONE
    assert "pi_1200" in intents(installation)


def test_one_object_that_cannot_be_kept_does_not_stop_the_others(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """An amount that is text is named as the reason of a gap; the rest of the list is kept."""
    list_server.lists["/v1/payment_intents"][0]["amount"] = "1000"
    outcome = read_streams(installation, lists, INTENTS)
    assert outcome.status is Completion.PARTLY_DONE
    assert gaps(installation)[0].reason == "pi_1: amount is str where an integer of minor units is needed"
    assert intents(installation) == {"pi_2", "pi_3"}


def test_a_stream_that_fails_does_not_stop_the_next(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """Refunds break, payouts are pulled; the result names both."""
    list_server.before = lambda path: BROKEN if path == "/v1/refunds" else None
    outcome = read_streams(installation, lists, [STREAMS["refunds"], STREAMS["payouts"]])
    assert outcome.status is Completion.PARTLY_DONE
    assert [(result.stream, result.state) for result in outcome.results] == [
        ("refunds", "incomplete"),
        ("payouts", "complete"),
    ]
    assert [gap.stream for gap in gaps(installation)] == ["refunds"]


def test_a_refused_key_ends_the_run_and_leaves_what_was_asked_as_gaps(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """In mid-run the exit is 3, at the start it is 1; every stream that was asked for is in the ledger."""
    list_server.before = lambda path: REFUSED if path == "/v1/refunds" else None
    streams = [STREAMS[name] for name in ("payouts", "refunds", "disputes")]
    outcome = read_streams(installation, lists, streams)
    assert outcome.status is Completion.PARTLY_DONE
    assert {gap.stream for gap in gaps(installation)} == {"refunds", "disputes"}
    assert read_streams(installation, lists, streams[1:]).status is Completion.NOTHING_DONE
    assert list_server.asked[-1] == "/v1/refunds"


def test_a_product_that_was_never_bought_is_skipped_aloud(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """A product the organisation has no access to is no gap; one that is taken away after it was read is."""
    refused = httpx.Response(403, json={"error": {"code": "product_access_required"}})
    list_server.before = lambda _path: refused
    outcome = read_streams(installation, lists, [STREAMS["refunds"]])
    assert outcome.status is Completion.DONE
    assert "no access to this product" in outcome.lines[0]
    assert gaps(installation) == []
    list_server.before = lambda _path: None
    read_streams(installation, lists, [STREAMS["refunds"]])
    list_server.before = lambda _path: refused
    assert not read_streams(installation, lists, [STREAMS["refunds"]]).complete
    assert [gap.stream for gap in gaps(installation)] == ["refunds"]


def test_streams_of_a_link_are_skipped_aloud_without_a_token(installation: Installation, lists: Provider) -> None:
    """Without a link token nothing is asked, nothing is missing, and the line says what is needed."""
    outcome = read_streams(installation, lists, [STREAMS["tax-statements"]])
    assert outcome.status is Completion.DONE
    assert outcome.lines == ["main: tax-statements: skipped, no link token is set (CUADRE_LINK_TOKENS)"]
    assert gaps(installation) == []


def test_a_stream_is_complete_up_to_the_provider_s_moment(installation: Installation, lists: Provider) -> None:
    """The checkpoint follows the provider's clock, which may be behind ours."""
    read_streams(installation, lists, PAYOUTS)
    with installation.store.reading() as session:
        assert complete_until(session, "main", "payouts") == NOW
        assert session.get_one(Checkpoint, ("main", "payouts")).complete_until == NOW
        assert complete_until(session, "main", "charges") is None


def test_without_accounts_their_movements_are_complete_up_to_the_provider_s_moment(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """No page of movements says how late it is there; the list of accounts, which is empty, does."""
    list_server.lists["/v2/accounts"] = []
    outcome = read_streams(installation, lists, [STREAMS["account-movements"]])
    assert outcome.status is Completion.DONE
    with installation.store.reading() as session:
        assert session.get_one(Checkpoint, ("main", "account-movements")).complete_until == NOW
