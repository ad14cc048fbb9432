"""A provider that made every free choice of the specification differently from the sandbox."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.tables.inbox import Event
from consumer.facts.tables.provider import PaymentIntent, PayoutItem, Refund
from consumer.facts.tables.sync import Checkpoint, Window
from consumer.facts.work import Completion
from consumer.provider.budget import Budget
from consumer.provider.client import Provider
from consumer.sync.backfill import A_NIGHT_BACK, read_log
from consumer.sync.drift import compare_streams
from consumer.sync.offers import Offer
from consumer.sync.pull import STREAMS, read_streams
from tests.consumer.sync.conftest import gaps

INTENTS, REFUNDS, PAYOUTS = ([STREAMS[name]] for name in ("payment-intents", "refunds", "payouts"))
LAST_DAY = datetime.fromisoformat("2026-09-30T03:00:00+00:00")
ITEMS = "/v1/payouts/po_1/resources?payment_intent"
GONE = httpx.Response(410, json={"error": {"type": "invalid_request_error", "code": "resource_gone"}})
NO_LIST = httpx.Response(404, json={"error": {"type": "invalid_request_error", "code": "invalid_url"}})


def held(installation: Installation, table: type[PaymentIntent | Refund]) -> set[str]:
    with installation.store.reading() as session:
        return set(session.exec(select(table.id).where(table.gone_at == None)))  # noqa: E711 - SQL


@pytest.fixture
def open_linked(installation: Installation, list_server: Any) -> Callable[[SecretStr], Provider]:
    """Clients of the list server that hold one link token."""

    def build(token: SecretStr) -> Provider:
        connection = installation.settings.connection("main").model_copy(update={"link_tokens": (token,)})
        transport = httpx.MockTransport(list_server.answer)
        return Provider(connection, installation.settings, Budget(installation.store, 100_000), transport=transport)

    return build


def without_totals(list_server: Any, provider: Provider) -> Provider:
    """The same lists, whose answers announce no total."""

    def answer(request: httpx.Request) -> httpx.Response:
        response: httpx.Response = list_server.answer(request)
        response.headers.pop("X-Total-Count", None)
        return response

    provider._http._transport = httpx.MockTransport(answer)
    return provider


@pytest.mark.parametrize("generation", ["/v1", "/v2"])
def test_payment_intents_of_one_generation_alone_are_complete(
    installation: Installation, lists: Provider, list_server: Any, generation: str
) -> None:
    """A provider that never had the other generation leaves no gap."""
    list_server.before = lambda path: None if path.startswith(generation) else GONE
    assert read_streams(installation, lists, INTENTS).status is Completion.DONE
    assert held(installation, PaymentIntent) == ({"pi_1", "pi_2"} if generation == "/v1" else {"pi_3"})
    assert gaps(installation) == []


def test_payment_intents_of_no_generation_are_a_gap(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """Where neither list answers nothing is called complete."""
    list_server.before = lambda _path: GONE
    assert read_streams(installation, lists, INTENTS).status is Completion.NOTHING_DONE
    assert [gap.stream for gap in gaps(installation)] == ["payment-intents"]


@pytest.mark.parametrize("generation", ["/v1", "/v2"])
def test_a_generation_that_stops_answering_is_a_gap(
    installation: Installation, lists: Provider, list_server: Any, generation: str
) -> None:
    """What answered once is not taken for never offered, by the pull or by the comparison, and nothing is gone."""
    assert read_streams(installation, lists, INTENTS).status is Completion.DONE
    list_server.before = lambda path: NO_LIST if path.startswith(generation) else None
    assert not read_streams(installation, lists, INTENTS).complete
    assert [gap.stream for gap in gaps(installation)] == ["payment-intents"]
    list_server.lists["/v2/events"] = []
    assert not compare_streams(installation, lists, INTENTS, days=9, repair=True).complete
    assert held(installation, PaymentIntent) == {"pi_1", "pi_2", "pi_3"}


def test_windows_from_before_generations_were_remembered_speak_for_the_first(installation: Installation) -> None:
    """A database of an earlier version had read the first list, since without it no window closed."""
    now = LAST_DAY
    with installation.store.transaction() as session:
        closed = Window(connection="main", stream="payment-intents", until=now, state="closed", opened_at=now)
        session.add(closed)
    parts = STREAMS["payment-intents"].parts
    offer = Offer(installation.store, "main", "payment-intents", parts(None))  # type: ignore[arg-type]  # its parts need none
    assert offer.mark == "v1"


def test_a_list_that_a_provider_never_had_is_skipped_aloud(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """Once another stream was read, the provider's word that a list does not exist leaves no gap, until it answers."""
    refunds = list_server.lists.pop("/v1/refunds")
    assert read_streams(installation, lists, REFUNDS).status is Completion.NOTHING_DONE
    assert [gap.stream for gap in gaps(installation)] == ["refunds"]
    outcome = read_streams(installation, lists, [*PAYOUTS, *REFUNDS])
    assert outcome.status is Completion.DONE
    assert outcome.lines[-1].startswith("main: refunds: skipped, the provider has no such list: GET /v1/refunds")
    assert gaps(installation) == []
    list_server.lists["/v1/refunds"] = refunds
    assert read_streams(installation, lists, REFUNDS).status is Completion.DONE
    with installation.store.reading() as session:
        assert session.get_one(Checkpoint, ("main", "refunds")).offered
    del list_server.lists["/v1/refunds"]
    assert read_streams(installation, lists, REFUNDS).status is Completion.NOTHING_DONE
    assert [gap.stream for gap in gaps(installation)] == ["refunds"]


def test_one_account_without_movements_is_a_gap(installation: Installation, lists: Provider, list_server: Any) -> None:
    """What is missing below one account says nothing about the others, to the pull as to the comparison."""
    account = {"id": "acc_1", "object": "account", "mode": "test", "status": "active", "currency": "CLP"}
    list_server.lists["/v1/transfers/accounts"] = [account]
    list_server.lists["/v2/events"] = []
    movements = [STREAMS["account-movements"]]
    assert not read_streams(installation, lists, [*PAYOUTS, *movements]).complete
    assert [gap.stream for gap in gaps(installation)] == ["account-movements"]
    assert not compare_streams(installation, lists, movements, days=7, repair=False).complete


def test_a_link_nobody_knows_is_a_gap(
    installation: Installation, list_server: Any, open_linked: Callable[[SecretStr], Provider]
) -> None:
    """A link token of the other mode is answered 404 as well: that is a setting, not a list that does not exist."""
    list_server.before = lambda path: NO_LIST if path == "/v1/tax_statements" else None
    with open_linked(SecretStr("lt_made_up")) as linked:
        assert not read_streams(installation, linked, [*PAYOUTS, STREAMS["tax-statements"]]).complete
    assert [gap.stream for gap in gaps(installation)] == ["tax-statements"]


def test_a_404_that_is_not_the_provider_s_own_is_a_gap(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """A page of a proxy says nothing about what the provider has."""
    page = httpx.Response(404, content=b"<html>not found</html>")
    list_server.before = lambda path: page if path == "/v1/refunds" else None
    assert read_streams(installation, lists, [*PAYOUTS, *REFUNDS]).status is Completion.PARTLY_DONE
    assert [gap.stream for gap in gaps(installation)] == ["refunds"]


@pytest.mark.parametrize("is_known", [False, True])
def test_a_list_that_goes_between_two_pages_is_a_gap(
    installation: Installation,
    lists: Provider,
    list_server: Any,
    make_payout: Callable[[int], dict[str, Any]],
    *,
    is_known: bool,
) -> None:
    """What began to answer is a list that is there, whether it was met as absent before or not at all."""
    list_server.lists["/v1/payouts"] = [make_payout(number) for number in range(1, 4)]
    if is_known:
        list_server.before = lambda path: NO_LIST if path == "/v1/payouts" else None
        assert read_streams(installation, lists, [*REFUNDS, *PAYOUTS]).lines[-1].startswith("main: payouts: skipped")
        list_server.asked.clear()

    list_server.before = lambda path: (
        NO_LIST if path == "/v1/payouts" and "/v1/payouts 2" in list_server.asked else None
    )
    assert not read_streams(installation, lists, [*REFUNDS, *PAYOUTS]).complete
    assert [gap.stream for gap in gaps(installation)] == ["payouts"]
    assert not read_streams(installation, lists, PAYOUTS).complete
    list_server.before = lambda _path: None
    list_server.asked.clear()
    assert read_streams(installation, lists, PAYOUTS).complete
    assert gaps(installation) == []


def test_a_generation_that_goes_between_two_pages_is_a_gap(
    installation: Installation, lists: Provider, list_server: Any, make_payment: Callable[[int], dict[str, Any]]
) -> None:
    """The other generation alone is not the whole, where this one showed its first page."""
    list_server.lists["/v1/payment_intents"] = [make_payment(number) for number in range(1, 6)]
    first = "/v1/payment_intents"
    list_server.before = lambda path: NO_LIST if path == first and f"{first} 2" in list_server.asked else None
    for _ in range(2):
        assert not read_streams(installation, lists, INTENTS).complete
        assert [gap.stream for gap in gaps(installation)] == ["payment-intents"]


def test_a_list_that_shifts_without_a_total_is_read_again(
    installation: Installation, lists: Provider, list_server: Any, make_payment: Callable[[int], dict[str, Any]]
) -> None:
    """No total tells that a row slipped to an earlier page, so numbered pages are read until nothing old is new."""
    rows = [make_payment(number) for number in range(1, 6)]
    list_server.lists |= {"/v1/payment_intents": rows, "/v2/payment_intents": []}

    def shrink(path: str) -> None:
        if path == "/v1/payment_intents" and len(list_server.asked) == 2:
            rows.pop(0)

    list_server.before = shrink
    assert read_streams(installation, without_totals(list_server, lists), INTENTS).status is Completion.DONE
    assert held(installation, PaymentIntent) >= {"pi_2", "pi_3", "pi_4", "pi_5"}


def test_items_that_shift_without_a_total_are_all_kept(
    installation: Installation, lists: Provider, list_server: Any, make_payment: Callable[[int], dict[str, Any]]
) -> None:
    """The items of a payout are read until two readings agree; an item that one of them missed is not taken away."""
    rows = [make_payment(number) for number in range(1, 6)]
    list_server.lists[ITEMS] = rows
    passed: list[str] = []

    def turn(path: str) -> None:
        if path.endswith("/resources"):
            passed.append(path)
            if len(passed) == 2:
                rows.append(rows.pop(0))

    list_server.before = turn
    assert read_streams(installation, without_totals(list_server, lists), PAYOUTS).status is Completion.DONE
    with installation.store.reading() as session:
        kept = set(session.exec(select(PayoutItem.resource_id)))
    assert kept == {"pi_1", "pi_2", "pi_3", "pi_4", "pi_5"}


def test_an_amount_in_a_currency_of_nobody_is_named(
    installation: Installation, lists: Provider, list_server: Any, make_payment: Callable[[int], dict[str, Any]]
) -> None:
    """Any currency of ISO 4217 is kept; no report could say where the point of another stands."""
    list_server.lists["/v1/payment_intents"] = [make_payment(1) | {"currency": "uyu"}]
    list_server.lists["/v2/payment_intents"] = [make_payment(2) | {"currency": "XBT"}]
    assert read_streams(installation, lists, INTENTS).status is Completion.PARTLY_DONE
    assert held(installation, PaymentIntent) == {"pi_1"}
    assert [gap.reason for gap in gaps(installation)] == ["pi_2: currency XBT is not one of ISO 4217"]


@pytest.mark.parametrize("status", [404, 410, 422])
def test_a_window_whose_cursor_is_refused_is_read_from_its_newest_end(
    installation: Installation, provider: Provider, log_server: Any, status: int
) -> None:
    """The event of a cursor may be pruned between two runs, and each provider refuses it in words of its own."""
    log_server.page_size = 1
    refused = httpx.Response(status, json={"error": {"code": "missing_resource", "param": "id"}})

    def prune(query: dict[str, str]) -> httpx.Response | None:
        return refused if query.get("starting_after") == "evt_0" else None

    log_server.before = prune
    evening = LAST_DAY + timedelta(hours=13)
    assert read_log(installation, provider, since=evening).status is Completion.PARTLY_DONE
    del log_server.events[0]
    assert read_log(installation, provider, since=evening).status is Completion.DONE
    assert gaps(installation) == []


def test_a_night_finds_what_the_list_showed_days_late(
    installation: Installation, provider: Provider, log_server: Any
) -> None:
    """Lateness that was never met cannot have been measured; a night reads a week of the log again."""
    read_log(installation, provider)
    log_server.add(100, datetime.fromisoformat("2026-09-26T00:00:00+00:00"))
    log_server.now += timedelta(days=1)
    read_log(installation, provider, back=A_NIGHT_BACK)
    with installation.store.reading() as session:
        assert session.get(Event, ("main", "evt_100")) is not None
    assert gaps(installation) == []
