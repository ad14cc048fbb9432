"""Payouts of the scenarios: what they carry, what they pay, what is wrong with which."""

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sandbox.scenarios.damages import SWITCHABLE
from sandbox.state.happening import WholeScenario

Builder = Callable[[str, int, float], WholeScenario]
SANTIAGO = ZoneInfo("America/Santiago")
CLOSED = {date(2026, 9, 18), date(2026, 10, 12)}
END = datetime(2026, 11, 4, 12, tzinfo=UTC)
SEEDS = (1, 2, 3)
FEE = "FEE_OUT_OF_BAND"
CARDS = {"credit": "credit_card", "debit": "debit_card", "prepaid": "prepaid_card"}


def open_bank(on: date) -> bool:
    return on.weekday() < 5 and on not in CLOSED


def window_day(at: datetime) -> date:
    """The bank day, found by walking forward from the moment."""
    local = at.astimezone(SANTIAGO)
    on = local.date()
    while not open_bank(on) or datetime.combine(on, time(14), SANTIAGO) <= local:
        on += timedelta(days=1)
    return on


def last_states(scenario: WholeScenario, collection: str) -> dict[str, dict[str, Any]]:
    found = [h.object for h in scenario.happenings if h.collection == collection and h.object["mode"] == "test"]
    return {item["id"]: item for item in found}


def carried(scenario: WholeScenario) -> dict[str, list[dict[str, Any]]]:
    lines = defaultdict(list)
    for line in last_states(scenario, "payout_resources").values():
        lines[line["payout"]].append(line)
    return lines


def happened(scenario: WholeScenario, collection: str, event: str) -> dict[str, datetime]:
    return {h.object["id"]: h.at for h in scenario.happenings if (h.collection, h.event) == (collection, event)}


def own_shares(scenario: WholeScenario) -> dict[str, int]:
    """What of each split payment goes to the merchant's own holder."""
    root = {h.object["id"] for h in scenario.happenings if h.collection == "entities" and h.object["is_root"]}
    return {
        h.object["id"]: share["amount"]
        for h in scenario.happenings
        for share in h.event_only.get("split_applied", [])
        if share["entity_id"] in root
    }


def rate_of(item: dict[str, Any], tariff: dict[str, Any]) -> Decimal:
    """Fee before VAT of a payment or refund, unrounded."""
    if item["object"] == "refund":
        return Decimal(tariff["refund"]["flat"])
    if item["object"] == "charge":
        return Decimal(tariff["pac"]["flat"])
    kind = (
        item["payment_type"] if item["payment_type"] != "card" else CARDS[item["payment_type_options"]["card"]["kind"]]
    )
    return Decimal(item["amount"]) * int(tariff[kind]["bps"]) / 10_000


@pytest.mark.parametrize(("name", "seed", "lost_disputes"), [
    ("busy-month", 1, 3), ("busy-month", 2, 3), ("busy-month", 3, 3), ("mexico", 1, 1), ("stress", 1, 3),
    ("quiet-month", 1, 0),
])  # fmt: skip
def test_every_payout_pays_its_lines_less_fees_but_for_the_planted_gaps(
    scenario: Builder, name: str, seed: int, lost_disputes: int
) -> None:
    """Recomputed with decimals from the wire, the difference is the planted one, and zero elsewhere."""
    built = scenario(name, seed, 1.0)
    disputes = [row for row in built.truth(END + timedelta(days=3)) if row.kind == "dispute"]
    assert [row.exceptions for row in disputes].count(("DISPUTE_LOST",)) == lost_disputes
    assert wrong_fees(built) == {}
    assert_payouts_close(built)


@pytest.mark.parametrize("damage", SWITCHABLE)
def test_each_damage_alone_leaves_the_identity_of_every_payout_as_planned(scenario: Builder, damage: str) -> None:
    """The gap is the planted one, and fees more than a unit off the tariff are those named."""
    built = scenario(f"quiet-month+{damage}", 3, 0.3)
    assert_payouts_close(built)
    named = {row.id: row.amount_at_risk for row in built.truth(END + timedelta(days=3)) if FEE in row.exceptions}
    assert {resource: abs(off) for resource, off in wrong_fees(built).items() if abs(off) > 1} == named


@pytest.mark.parametrize(("name", "scale"), [
    ("quiet", 1.0), ("quiet-month", 0.5), ("busy-month", 1.0), ("mexico", 1.0), ("month-end", 0.5), ("stress", 0.5),
    ("chaos", 0.3), ("stream/cl/stress", 0.6), ("stream/mx/base", 0.6),
])  # fmt: skip
def test_every_payout_closes_but_for_the_planted_gaps(fresh: Builder, any_seed: int, name: str, scale: float) -> None:
    """Whatever else goes wrong, a payout's difference is the one its truth names."""
    built = fresh(name, any_seed, scale)
    assert_payouts_close(built)
    # What is streamed is large: only a miniature of it can have a day whose refunds outweigh its sales.
    assert name.startswith("stream/") or min(row["amount"] for row in last_states(built, "payouts").values()) > 0


def items_of(scenario: WholeScenario) -> dict[str, dict[str, Any]]:
    return {k: v for name in ("payment_intents", "refunds", "charges") for k, v in last_states(scenario, name).items()}


def wrong_fees(scenario: WholeScenario) -> dict[str, int]:
    """How much more than the tariff asks was taken of which item."""
    items, wrong = items_of(scenario), dict[str, int]()
    for lines in carried(scenario).values():
        for line in lines:
            item = items[line["resource"]]
            vat = Decimal(1) + Decimal(scenario.tariff["vat_bps"]) / 10_000
            asked = int((rate_of(item, scenario.tariff) * vat).quantize(Decimal(1), ROUND_HALF_UP))
            off = line["_fee"] - asked
            if off and line["resource_type"] != "refund_adjustment":
                wrong[line["resource"]] = off
    return wrong


def assert_payouts_close(built: WholeScenario) -> None:
    """The amount of each payout is its items less the fees told, the lost disputes and the planted gap."""
    rows = built.truth(END + timedelta(days=3))
    truth = {row.id: row for row in rows if row.kind == "payout"}
    disputes = [row for row in rows if row.kind == "dispute"]
    items, lines, shares = items_of(built), carried(built), own_shares(built)
    for payout in last_states(built, "payouts").values():
        expected = 0
        for line in lines[payout["id"]]:
            item, kind = items[line["resource"]], line["resource_type"]
            expected += (-item["amount"] if kind == "refund" else shares.get(item["id"], item["amount"])) - line["_fee"]
        row = truth[payout["id"]]
        gap = row.amount_at_risk if row.exceptions == ("PAYOUT_IDENTITY",) else 0
        lost = [case for case in disputes if case.links[0] == payout["id"]]
        disputed = sum(items[case.links[1]]["amount"] for case in lost)
        assert payout["amount"] == expected - gap - disputed


@pytest.mark.parametrize("seed", SEEDS)
def test_a_payment_is_paid_out_on_the_day_its_window_closes(scenario: Builder, seed: int) -> None:
    """Each succeeded payment is first carried by the payout of its bank day, unless none ever carries it."""
    built = scenario("busy-month", seed, 1.0)
    created = happened(built, "payouts", "payout.created")
    first: dict[str, datetime] = {}
    for line in sorted(last_states(built, "payout_resources").values(), key=lambda line: created[line["payout"]]):
        first.setdefault(line["resource"], created[line["payout"]])
    paid = happened(built, "payment_intents", "payment_intent.succeeded")
    carried_once = paid.keys() & first.keys() & last_states(built, "payment_intents").keys()
    assert len(carried_once) > 400
    for resource in carried_once:
        local = first[resource].astimezone(SANTIAGO)
        assert (local.date(), local.time() > time(14)) == (window_day(paid[resource]), True)
        assert paid[resource] < first[resource]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("day", [12, 20, 33])
def test_items_in_two_payouts_or_none_are_those_the_wire_shows(scenario: Builder, seed: int, day: int) -> None:
    """Counted again from payouts that were neither returned nor canceled, two bank days counted by hand."""
    built, at = scenario("busy-month", seed, 1.0), datetime(2026, 10, 1, 3, tzinfo=UTC) + timedelta(days=day)
    created = happened(built, "payouts", "payout.created")
    gone = happened(built, "payouts", "payout.returned") | happened(built, "payouts", "payout.canceled")
    holders: dict[str, list[str]] = defaultdict(list)
    for line in last_states(built, "payout_resources").values():
        if created[line["payout"]] <= at:
            holders[line["resource"]].append(line["payout"])
    expected: dict[str, set[str]] = {"ITEM_IN_TWO_PAYOUTS": set(), "ITEM_IN_NO_PAYOUT": set()}
    tested = last_states(built, "payment_intents")
    for resource, since in happened(built, "payment_intents", "payment_intent.succeeded").items():
        if since > at or resource not in tested:
            continue
        freed = [gone[po] for po in holders[resource] if po in gone and gone[po] <= at]
        alive = len(holders[resource]) - len(freed)
        limit = window_day(max(freed, default=since))
        for _ in range(2):
            limit = next(d for n in range(1, 9) if open_bank(d := limit + timedelta(days=n)))
        if alive > 1:
            expected["ITEM_IN_TWO_PAYOUTS"].add(resource)
        if alive == 0 and at.astimezone(SANTIAGO).date() >= limit:
            expected["ITEM_IN_NO_PAYOUT"].add(resource)
    found = {code: {row.id for row in built.truth(at) if row.kind == "payment" and code in row.exceptions}
             for code in expected}  # fmt: skip
    assert found == expected


def test_a_returned_payout_is_paid_again_by_the_next_one(scenario: Builder) -> None:
    """Everything it held reappears in the payout of the day it came back."""
    built = scenario("busy-month", 1, 1.0)
    created, lines = happened(built, "payouts", "payout.created"), carried(built)
    returned = happened(built, "payouts", "payout.returned")
    assert [len(lines[payout]) > 1 for payout in returned] == [True] * 3
    for payout, at in returned.items():
        again = min((po for po, since in created.items() if since > at), key=lambda po: created[po])
        assert {line["resource"] for line in lines[payout]} <= {line["resource"] for line in lines[again]}


def test_a_failed_refund_comes_back_in_a_later_payout(scenario: Builder) -> None:
    """It is a refund line in one payout and an adjustment, without a fee, in a later one."""
    built = scenario("busy-month", 1, 1.0)
    created = happened(built, "payouts", "payout.created")
    failed = happened(built, "refunds", "refund.failed")
    assert failed
    for refund, at in failed.items():
        rows = [line for line in last_states(built, "payout_resources").values() if line["resource"] == refund]
        adjustments = [line["payout"] for line in rows if line["resource_type"] == "refund_adjustment"]
        taken = [line["payout"] for line in rows if line["resource_type"] == "refund"]
        assert max(created[po] for po in taken) < at < min(created[po] for po in adjustments)
        assert {line["_fee"] for line in rows if line["resource_type"] == "refund_adjustment"} == {0}


def test_only_the_planted_split_does_not_add_up(scenario: Builder) -> None:
    """Shares equal the payment, with one fee payer, but for the one that is off by a unit."""
    built = scenario("busy-month", 1, 1.0)
    wrong = set()
    for happening in built.happenings:
        shares = happening.event_only.get("split_applied", [])
        if happening.event == "payment_intent.succeeded" and shares:
            assert sum(share["charge_processing_fee"] for share in shares) == 1
            if sum(share["amount"] for share in shares) != happening.object["amount"]:
                wrong.add(happening.object["id"])
    assert len(wrong) == 1
    assert {row.id for row in built.truth(END) if "SPLIT_MISMATCH" in row.exceptions} == wrong
