"""Transfers that went back: each counts its age from the day the money returned."""

import json
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

from consumer.facts.installation import Installation
from consumer.facts.settings import Connection
from consumer.facts.tables.provider import AccountMovement, Transfer
from reconcile.reading.frames import read_transfers
from reconcile.reading.transfers import find_returned

pytestmark = pytest.mark.both_databases

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

SENT = datetime(2026, 9, 3, 15, tzinfo=UTC)


def transfer(identity: str, direction: str, **body: Any) -> Transfer:
    return Transfer(
        connection="main", id=identity, mode="test", status="returned", amount=410_617, currency="CLP",
        direction=direction, version_at=SENT, body=json.dumps({"return_reason_code": "01"} | body),
    )  # fmt: skip


def movement(identity: str, direction: str, at: str, *, pair: str | None, of: str | None) -> AccountMovement:
    body = {"id": identity, "direction": direction, "resource_id": of, "return_pair_id": pair, "transaction_date": at}
    return AccountMovement(
        connection="main", id=identity, mode="test", direction=direction, version_at=SENT, body=json.dumps(body)
    )


def test_a_returned_transfer_is_aged_from_the_movement_that_gave_it_back(
    world: "World", installation: Installation, main: Connection
) -> None:
    """Either way, found by the transfer's id or by the pair alone; without one, from what the transfer says."""
    world.keep(
        transfer("tr_out", "outbound"),
        movement("mov_1", "outbound", "2026-09-03T15:00:00Z", pair="mov_2", of="tr_out"),
        movement("mov_2", "inbound", "2026-09-08T02:00:00Z", pair="mov_1", of="tr_out"),
        transfer("tr_in", "inbound", returned_at="2026-09-30T15:00:00Z"),
        movement("mov_3", "inbound", "2026-09-03T15:00:00Z", pair="mov_4", of="tr_in"),
        movement("mov_4", "outbound", "2026-09-09T15:00:00Z", pair="mov_3", of=None),
        transfer("tr_alone", "outbound", reversed_at="2026-09-10T15:00:00Z"),
        movement("mov_5", "outbound", "2026-09-03T15:00:00Z", pair=None, of="tr_alone"),
        transfer("tr_silent", "outbound"),
    )
    with installation.store.reading() as session:
        found = find_returned(read_transfers(session, main), "America/Santiago")
    assert {one.resource_id: one.fact_on for one in found} == {
        "tr_out": date(2026, 9, 7),
        "tr_in": date(2026, 9, 9),
        "tr_alone": date(2026, 9, 10),
        "tr_silent": None,
    }
