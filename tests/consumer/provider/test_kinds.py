"""The table of kinds: every table has one, every event type a handler, and unknown fields pass through all."""

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from consumer.facts.tables import provider
from consumer.facts.tables.provider import ProviderObject
from consumer.inbox.handlers import HANDLERS, SUBSCRIBED
from consumer.provider.rows import KINDS, Observation
from tests.observing import to_row

READ = Observation("main", "test", datetime(2026, 10, 6, 12, 0, tzinfo=UTC))


def test_every_provider_table_has_exactly_one_kind() -> None:
    """No table of provider objects is without a kind, and none has two."""
    tables = {
        thing.__name__
        for thing in vars(provider).values()
        if isinstance(thing, type) and issubclass(thing, ProviderObject) and hasattr(thing, "__table__")
    }

    assert sorted(kind.table.__name__ for kind in KINDS.values()) == sorted(tables)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_unknown_and_hostile_fields_pass_through(name: str) -> None:
    """New fields and null characters in unread fields are kept, half a character becomes a mark any reader takes."""
    data = {"id": "x", "status": "s", "amount": 1, "currency": "CLP", "direction": "inbound", "account_id": "acc_1"}
    row = to_row(name, data | {"brand_new": {"deep": ["\ud800", "\0"]}, "cuadre:kept": "hostile"}, READ)

    assert json.loads(row.body) == data | {"brand_new": {"deep": ["\ufffd", "\0"]}}
    assert msgspec.json.decode(row.body)["brand_new"] == {"deep": ["\ufffd", "\0"]}
    row.body.encode()


def test_every_event_type_of_the_spec_has_a_handler() -> None:
    """The handler table holds the types the specification lists, all of them and no other."""
    specification = (Path(__file__).parents[2] / "data" / "event_types.txt").read_text(encoding="utf-8")

    assert sorted(HANDLERS) == sorted(line.split()[0] for line in specification.splitlines())


def test_an_endpoint_asks_for_what_the_specification_lists() -> None:
    """Of what we handle only the events of a batch are left out: no provider need know them."""
    assert set(HANDLERS) - set(SUBSCRIBED) == {
        "transfer_batch.in_progress",
        "transfer_batch.succeeded",
        "transfer_batch.partially_succeeded",
        "transfer_batch.failed",
    }
