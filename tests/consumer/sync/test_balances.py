"""Running balances and statement sums: what leads on is quiet, what does not is named."""

import json
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from sqlmodel import select

from consumer.facts.installation import Installation
from consumer.facts.tables.provider import AccountMovement, AccountStatement
from consumer.facts.tables.sync import StreamFinding
from consumer.facts.work import Completion
from consumer.provider.client import Provider
from consumer.sync.pull import STREAMS, read_streams
from consumer.sync.sums import Break, Entry, find_breaks

AT = datetime(2026, 10, 1, 12, tzinfo=UTC)
ACCOUNT = {"id": "acc_1", "object": "account", "mode": "test", "currency": "CLP", "status": "active"}


def entries(*moved: tuple[str, int, int | None, int]) -> list[Entry]:
    """Entries of (id, minutes, balance, signed amount)."""
    return [Entry(id_, AT + timedelta(minutes=at), signed, balance) for id_, at, balance, signed in moved]


def test_balances_that_lead_on_are_quiet_in_any_order_of_one_instant() -> None:
    """Movements of the same moment are taken in the order that fits, however they come."""
    moved = entries(("a", 0, 100, 100), ("c", 1, 130, -20), ("b", 1, 150, 50), ("d", 1, 131, 1), ("e", 2, 141, 10))
    for order in permutations(moved):
        assert find_breaks(order) == []


@pytest.mark.parametrize(
    ("missing", "breaks"),
    [("a", []), ("b", [Break("a", "c", 50)]), ("c", [Break("b", "d", -20)]), ("d", [])],
)
def test_a_movement_that_is_missing_leaves_a_break_of_its_size(missing: str, breaks: list[Break]) -> None:
    """Between its neighbours the balance moves by what it moved; at either end nothing can be told."""
    moved = entries(("a", 0, 100, 100), ("b", 1, 150, 50), ("c", 2, 130, -20), ("d", 3, 131, 1))
    assert find_breaks([entry for entry in moved if entry.id != missing]) == breaks


def test_a_movement_without_balance_is_carried_over() -> None:
    """What the provider tells no balance for still counts towards the next one."""
    moved = entries(("a", 0, 100, 100), ("b", 1, None, 50), ("c", 2, 150, 0))
    assert find_breaks(moved) == []
    assert find_breaks(entries(("a", 0, 100, 100), ("b", 1, None, 50), ("c", 2, 160, 0))) == [Break("b", "c", 10)]


def movement(number: int, *, balance: int, amount: int = 500) -> dict[str, Any]:
    return {
        "id": f"mov_{number}",
        "object": "movement",
        "mode": "test",
        "account_id": "acc_1",
        "amount": amount,
        "balance": balance,
        "currency": "CLP",
        "direction": "inbound",
        "transaction_date": (AT + timedelta(hours=number)).isoformat().replace("+00:00", "Z"),
    }


def statement(closing: int) -> dict[str, Any]:
    return {
        "id": "acst_1",
        "object": "account_statement",
        "mode": "test",
        "account_id": "acc_1",
        "start_date": "2026-09-01",
        "end_date": "2026-09-30",
        "initial_balance_cents": 1000,
        "total_credited_cents": 500,
        "total_debited_cents": 200,
        "final_balance_cents": closing,
    }


def shown(installation: Installation) -> list[tuple[str, str]]:
    with installation.store.reading() as session:
        return [(row.stream, row.problem) for row in session.exec(select(StreamFinding))]


def test_a_break_is_told_by_the_pull_and_goes_when_it_is_mended(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """A missing movement is a finding of a pull that is complete; once it is listed the finding is gone."""
    rows = [movement(3, balance=1500), movement(1, balance=500)]
    list_server.lists |= {"/v1/transfers/accounts": [ACCOUNT], "/v2/accounts/acc_1/movements": rows}
    outcome = read_streams(installation, lists, [STREAMS["account-movements"]])
    assert outcome.status is Completion.DONE
    text = "acc_1: the running balance breaks in 1 places, first by 500 CLP between mov_1 and mov_3"
    assert outcome.results[0].reason == text
    assert shown(installation) == [("account-movements", text)]
    rows.insert(1, movement(2, balance=1000))
    assert read_streams(installation, lists, [STREAMS["account-movements"]]).results[0].reason is None
    assert shown(installation) == []


def test_a_statement_that_does_not_add_up_is_told(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """Opening and totals must make the closing balance; one peso off is named, and so is a figure that is missing."""
    path = "/v2/accounts/acc_1/account_statements"
    list_server.lists |= {"/v1/transfers/accounts": [ACCOUNT | {"currency": "MXN"}], path: [statement(1300)]}
    streams = [STREAMS["account-statements"]]
    assert read_streams(installation, lists, streams).results[0].reason is None
    list_server.now += timedelta(hours=1)
    list_server.lists[path] = [statement(1299)]
    assert read_streams(installation, lists, streams).results[0].reason == (
        "acst_1: its closing balance is -1 minor units off its own sums"
    )
    list_server.now += timedelta(hours=1)
    assert read_streams(installation, lists, [STREAMS["accounts"], *streams]).results[1].reason == (
        "acst_1: its closing balance is -0.01 MXN off its own sums"
    )
    list_server.now += timedelta(hours=1)
    list_server.lists[path] = [statement(1300) | {"total_debited_cents": None}]
    assert read_streams(installation, lists, streams).results[0].reason == (
        "acst_1: cannot be added up: total_debited_cents is missing"
    )


def test_a_break_is_told_in_the_currency_of_its_movements(
    installation: Installation, lists: Provider, list_server: Any
) -> None:
    """An account in pesos of Mexico breaks by centavos, whatever the country of the connection."""
    rows = [movement(number, balance=balance) | {"currency": "MXN"} for number, balance in ((2, 1250), (1, 500))]
    list_server.lists |= {"/v1/transfers/accounts": [ACCOUNT], "/v2/accounts/acc_1/movements": rows}
    read_streams(installation, lists, [STREAMS["account-movements"]])
    text = "acc_1: the running balance breaks in 1 places, first by 2.50 MXN between mov_1 and mov_2"
    assert shown(installation) == [("account-movements", text)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"direction": "sideways"}, "direction is neither inbound nor outbound"),
        ({"transaction_date": None}, "transaction_date is missing"),
        ({"transaction_date": "soon"}, "transaction_date is not an ISO 8601 time with a zone"),
    ],
)
def test_a_movement_that_cannot_be_followed_is_told(
    installation: Installation, lists: Provider, list_server: Any, change: dict[str, Any], reason: str
) -> None:
    """A way or a moment that is none of the known counts neither as money out nor as nothing: it is said."""
    rows = [movement(1, balance=500), movement(2, balance=1000) | change]
    list_server.lists |= {"/v1/transfers/accounts": [ACCOUNT], "/v2/accounts/acc_1/movements": rows}
    read_streams(installation, lists, [STREAMS["account-movements"]])
    assert shown(installation) == [
        ("account-movements", f"acc_1: 1 movements cannot be followed, first mov_2: {reason}")
    ]


def test_rows_are_kept_whatever_their_sums(installation: Installation, lists: Provider, list_server: Any) -> None:
    """A finding never drops a fact."""
    list_server.lists |= {
        "/v1/transfers/accounts": [ACCOUNT],
        "/v2/accounts/acc_1/movements": [movement(2, balance=7), movement(1, balance=1)],
        "/v2/accounts/acc_1/account_statements": [statement(1)],
    }
    read_streams(installation, lists, [STREAMS["account-movements"], STREAMS["account-statements"]])
    with installation.store.reading() as session:
        assert set(session.exec(select(AccountMovement.id))) == {"mov_1", "mov_2"}
        assert json.loads(session.exec(select(AccountStatement.body)).one())["final_balance_cents"] == 1
