"""What the provider owes at the end of a month, counted from its own objects, ties to the report's balance and list."""

import importlib.util
from collections import Counter
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from reconcile.rules import clearing
from reconcile.rules.clearing import ITEMS, PAYOUTS, Account
from reconcile.rules.pipeline import reconcile
from tests.thoroughness import for_run

ACCURACY = Path(__file__).resolve().parents[2] / "benchmarks" / "accuracy" / "merchant.py"
SHELVES = {"payment_intents": "payment_intent", "charges": "charge", "refunds": "refund"}
Owed = dict[str, tuple[int, int]]


@pytest.fixture(scope="module")
def living() -> ModuleType:
    spec = importlib.util.spec_from_file_location("accuracy_merchant_of_ties", ACCURACY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _owed(merchant: Any) -> Owed:
    """Sum what happened and is in no payout that succeeded: no table of a run, no rule, no input of one is read."""
    listed = {(row["resource_type"], row["resource"]): row["_amount"] for row in merchant.lists}
    paid = {
        (row["resource_type"], row["resource"])
        for row in merchant.lists
        if merchant.objects["payouts", row["payout"]]["status"] == "succeeded"
    }
    moved = {
        (SHELVES[shelf], identity): found
        for (shelf, identity), found in merchant.objects.items()
        if shelf in SHELVES and found["status"] == "succeeded"
    }
    # A refund on its way is in a payout already, and one that failed comes back in a later one.
    moved |= {key: merchant.objects["refunds", key[1]] for key in listed if key[0].startswith("refund")}
    shares = _own_shares(merchant)
    sums: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for key, found in moved.items():
        if key not in paid:
            amount = abs(listed.get(key, shares.get(key[1], found["amount"])))
            sums[found["currency"]] += -amount if key[0] == "refund" else amount
            counts[found["currency"]] += 1
    return {currency: (sums[currency], counts[currency]) for currency in sums}


def _own_shares(merchant: Any) -> dict[str, int]:
    """Read the merchant's share of split payments from the events, which alone tell it."""
    own = {entity for (shelf, entity), found in merchant.objects.items() if shelf == "entities" and found["is_root"]}
    return {
        happening.object["id"]: share["amount"]
        for happening in list(merchant.scenario.happenings)[: merchant.played]
        for share in happening.event_only.get("split_applied", ())
        if share["entity_id"] in own
    }


def _account(result: Any) -> Account:
    lines = pa.Table.from_pandas(result.lines[result.lines["line"] == 1], preserve_index=False)
    payouts = pa.Table.from_pandas(result.payouts, preserve_index=False)
    return Account(lines.select(ITEMS.names).cast(ITEMS), payouts.select(PAYOUTS.names).cast(PAYOUTS))


@pytest.mark.parametrize(
    "scenario",
    for_run(
        short=["busy-month", "mexico"],
        full=["busy-month", "mexico", "quiet", "quiet-month", "month-end", "stress", "chaos"],
    ),
)
def test_the_balance_is_what_the_provider_still_owes(living: ModuleType, scenario: str) -> None:
    """In mid-month and after it the last closing, the items in transit and the provider's own objects are one sum."""
    with living.merchant_of(scenario, 1) as merchant:
        for day in (12, 34):
            at = living.START + timedelta(days=day)
            merchant.live_until(at)
            account, owed = _account(reconcile(merchant.inputs(at))), _owed(merchant)
            assert _closing(account) == _in_transit(account) == owed


def _closing(account: Account) -> Owed:
    last = {row["currency"]: (row["closing"], row["closing_items_count"]) for row in clearing.carry_forward(account)}
    return {currency: sums for currency, sums in last.items() if sums != (0, 0)}


def _in_transit(account: Account) -> Owed:
    listed: dict[str, list[int]] = {}
    for item in clearing.find_waiting(account).to_pylist():
        listed.setdefault(item["currency"], []).append(item["amount_signed"])
    return {currency: (sum(amounts), len(amounts)) for currency, amounts in listed.items()}
