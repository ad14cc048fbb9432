"""Trade too large to be held: told the same each time it is walked through, in order, and served as any other."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from sandbox.scenarios import build, provide
from sandbox.scenarios.damages import BASE
from sandbox.scenarios.stream import stream
from sandbox.serve import create_sandbox
from sandbox.state.happening import Scenario, WholeScenario

Builder = Callable[[str, int, float], WholeScenario]
START = datetime(2026, 10, 1, 3, tzinfo=UTC)
END = START + timedelta(days=34)


def shown(scale: float = 0.5, seed: int = 1) -> Scenario:
    return stream(name="large", country="cl", rates=BASE, seed=seed, scale=scale, start=START, per_branch=4)


def test_every_walk_tells_the_same() -> None:
    """Happenings, books and truth twice from one scenario, and another seed differs."""
    scenario, other = shown(), shown(seed=2)
    assert list(scenario.happenings) == list(scenario.happenings)
    assert list(scenario.documents) == list(scenario.documents)
    assert list(scenario.truth(END)) == list(scenario.truth(END))
    assert list(scenario.documents) != list(other.documents)


def test_what_is_told_is_in_order(scenario: Builder) -> None:
    """By moment, from the day the merchant was founded."""
    moments = [h.at for h in scenario("stream/cl/base", 1, 2.0).happenings]
    assert moments == sorted(moments)
    assert moments[0] < START - timedelta(days=200)


def test_branches_share_neither_customers_nor_folios_nor_amounts_of_invoices(scenario: Builder) -> None:
    """What identifies a document or a customer is met once, whatever branch it is of."""
    built = scenario("stream/cl/base", 1, 2.0)
    rows = [document.row for document in built.documents]
    keys = Counter((row["doc_type"], row["folio"]) for row in rows)
    orders = Counter(row["order_ref"] for row in rows if row["order_ref"])
    ids = Counter(h.object["id"] for h in built.happenings if h.event == "payment_intent.succeeded")
    assert {max(keys.values()), max(orders.values()), max(ids.values())} == {1}
    customers = [h.object for h in built.happenings if h.collection == "customers"]
    assert len({row["tax_id"]["value"] for row in customers}) == len(customers)
    twins = Counter(row["total"] for row in rows if row["doc_type"] == "33" and row["status"] == "valid")
    several = {total for total, count in twins.items() if count > 1}
    owners = {total: {row["customer_tax_id"] for row in rows if row["total"] == total} for total in several}
    planted = [row for row in built.truth(END) if row.outcome == "no_document" and not row.decidable]
    assert (sum(len(found) > 1 for found in owners.values()), len(planted)) == (4, 4)


def test_a_large_scenario_begins_at_once_and_forgets_what_it_told() -> None:
    """The first happenings of a million payments need one day's planning, not sixty-five."""
    scenario = provide("busy-month", seed=1, scale=200, start=START)
    first = list(islice(scenario.happenings, 200))
    assert len(first) == 200
    assert not isinstance(scenario, WholeScenario)


def test_a_sandbox_serves_a_scenario_it_never_holds() -> None:
    """The clock walks through it, payout reports know its fees, and the files are written from it."""
    app = create_sandbox(shown())
    world, client = app.world, app.test_client()
    world.advance(timedelta(days=34))
    payouts = list(world.collection("test", "payouts").newest_first())
    assert len(payouts) == 44
    report = client.get(f"/_sandbox/payouts/{payouts[5]['id']}.csv").text.splitlines()
    rows = [line.split(";") for line in report[1:]]
    assert sum(int(row[2]) - int(row[3]) for row in rows) == payouts[5]["amount"]
    books = client.get("/_sandbox/invoices.csv").text.splitlines()
    truth = client.get("/_sandbox/truth").text.splitlines()
    assert len(books) - 1 == sum('"kind":"document"' in line for line in truth)
    assert sum('"kind":"payout"' in line for line in truth) == 44


def test_small_scenarios_are_held_and_those_that_cannot_grow_are_refused() -> None:
    """Up to scale 25 a scenario is whole; the two quiet days stay small."""
    assert isinstance(provide("busy-month", seed=1, scale=0.1, start=START), WholeScenario)
    with pytest.raises(ValueError, match="quiet has a scale of at most 25; larger are busy-month"):
        provide("quiet", seed=1, scale=26, start=START)
    with pytest.raises(ValueError, match="held in memory up to scale 25, not 26"):
        build("busy-month", seed=1, scale=26, start=START)
