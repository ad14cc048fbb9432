"""What identifies a sale is taken from a body once, and is the same whenever it is taken again."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumer.facts.meaning import read_json, sale_of, to_json

NOTHING = {"metadata_json": None, "texts": None, "split_json": None, "customer_id": None}
HALVES = st.characters(categories=["Lu", "Cs", "Cc", "So"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    LEAVES | st.text(HALVES, max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(HALVES, max_size=3), inner, max_size=3),
    max_leaves=8,
)
SHARES = st.lists(st.fixed_dictionaries({}, optional={"entity_id": VALUES, "amount": VALUES, "more": VALUES}))
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "metadata": VALUES,
        "comment": VALUES,
        "description": VALUES,
        "reference_id": VALUES,
        "split_applied": VALUES | SHARES,
        "customer": VALUES | st.fixed_dictionaries({"id": VALUES}),
    },
)


def test_a_sale_is_its_metadata_texts_shares_and_customer() -> None:
    """JSON is canonical, texts stand a line each, and of a share its party, amount and fee count."""
    body = {
        "metadata": {"order_ref": "PED-1", "a": 1.5},
        "comment": "Pago 7",
        "description": "",
        "reference_id": "X",
        "split_applied": [{"entity_id": "ent_1", "amount": 70, "color": "red"}],
        "customer": {"id": "cus_1", "name": "Ana"},
    }
    assert sale_of(body) == {
        "metadata_json": '{"a":1.5,"order_ref":"PED-1"}',
        "texts": "Pago 7\nX",
        "split_json": '[{"amount":70,"charge_processing_fee":null,"entity_id":"ent_1"}]',
        "customer_id": "cus_1",
    }


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"metadata": ["order_ref"], "comment": 7, "split_applied": {"amount": 1}, "customer": 5},
        {"metadata": 12, "comment": None, "split_applied": [{"amount": "70"}], "customer": {"id": 5}},
        {"metadata": {}, "comment": "", "split_applied": [{"amount": 70}, "rest"], "customer": None},
        {"metadata": "order_ref", "reference_id": ["X"], "split_applied": [], "customer": []},
        {"split_applied": [{"amount": True}]},
        {"split_applied": [{"amount": 10**30}]},
        {"split_applied": [{"amount": 2**62}, {"amount": -1}]},
    ],
)
def test_what_has_another_form_says_nothing(body: dict[str, Any]) -> None:
    """Fields of another type than documented identify no sale, and stop nothing."""
    assert sale_of(body) == NOTHING


def test_what_no_database_holds_becomes_a_mark() -> None:
    """Half a character and a NUL inside a text are replaced, as in the stored body."""
    body = {"metadata": {"a": "\ud800\0"}, "comment": "x\ud83d", "reference_id": "y\0", "customer": "c\udc00"}
    assert sale_of(body) == {
        "metadata_json": '{"a":"\ufffd\\u0000"}',
        "texts": "x\ufffd\ny\ufffd",
        "split_json": None,
        "customer_id": "c\ufffd",
    }


@settings(max_examples=300)
@given(BODIES)
@example({"metadata": {chr(0xD800): 1, "\ue000": 2, "\ufffd": 3}})
@example({"metadata": {"a": 10**30, "b": 1e300, "c": -0.0}})
def test_the_stored_body_gives_the_same_columns(body: dict[str, Any]) -> None:
    """An event that is applied, a row that is joined and a database that is migrated agree on every column."""
    stored = to_json(body)
    assert sale_of(body) == sale_of(read_json(stored)) == sale_of(msgspec.json.decode(stored))
    assert all(value is None or "\0" not in value for value in sale_of(body).values())
    json.dumps(sale_of(body)).encode()
