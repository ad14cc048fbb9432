"""Everything beside payments: each kind of object is there, and what can be added up adds up."""

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sandbox.serve import create_sandbox
from sandbox.state.happening import COLLECTIONS, Happening, WholeScenario

Builder = Callable[[str, int, float], WholeScenario]
START = datetime(2026, 10, 1, 3, tzinfo=UTC)
SANTIAGO = ZoneInfo("America/Santiago")
# Each event type, its object, the table that keeps it and the scenario that shows it, `-` for none.
EVENT_TYPES = (Path(__file__).parents[2] / "data" / "event_types.txt").read_text(encoding="utf-8")
SHOWN_IN = {line.split()[0]: line.split()[3] for line in EVENT_TYPES.splitlines()}


def last(scenario: WholeScenario, collection: str) -> dict[str, dict[str, Any]]:
    return {h.object["id"]: h.object for h in scenario.happenings if h.collection == collection}


def shown(scenario: WholeScenario, collection: str) -> dict[str, list[Happening]]:
    by_id: dict[str, list[Happening]] = defaultdict(list)
    for happening in scenario.happenings:
        if happening.collection == collection:
            by_id[happening.object["id"]].append(happening)
    return by_id


@pytest.mark.parametrize("seed", [1, 2])
def test_a_busy_month_holds_every_kind_of_object(scenario: Builder, seed: int) -> None:
    """Each collection of the boundary has objects, in test mode."""
    happenings = scenario("busy-month", seed, 1.0).happenings
    assert {h.collection for h in happenings if h.object["mode"] == "test"} == set(COLLECTIONS)


def test_a_scenario_shows_every_event_type(scenario: Builder) -> None:
    """A busy month emits all of Chile's, Mexico those that only Mexico sees, and neither an unknown one."""
    chilean = {h.event for h in scenario("busy-month", 1, 1.0).happenings if h.event}
    mexican = {h.event for h in scenario("mexico", 1, 1.0).happenings if h.event}
    assert {type_ for type_, name in SHOWN_IN.items() if name == "busy-month"} == chilean
    assert {type_ for type_, name in SHOWN_IN.items() if name == "mexico"} <= mexican
    assert mexican <= set(SHOWN_IN)


def test_an_object_never_grows_younger(scenario: Builder) -> None:
    """Its creation stays, and its updates follow one another."""
    built = scenario("busy-month", 1, 1.0)
    for collection in COLLECTIONS:
        objects = shown(built, collection)
        assert objects, collection
        for id_, steps in objects.items():
            if id_ is not None:
                assert len({h.object.get("created_at") for h in steps}) == 1
                updates = [h.object.get("updated_at") or "" for h in steps]
                assert updates == sorted(updates)


def test_a_customer_exists_before_its_first_payment(scenario: Builder) -> None:
    """Every customer a payment names was made earlier."""
    built = scenario("busy-month", 1, 1.0)
    made = {id_: steps[0].at for id_, steps in shown(built, "customers").items()}
    paid = [h for h in built.happenings if h.collection == "payment_intents" and h.object["customer"]]
    assert len(paid) > 400
    assert [h.object["id"] for h in paid if made[h.object["customer"]] >= h.at] == []


def test_a_billed_month_tells_its_events_in_the_provider_s_order(scenario: Builder) -> None:
    """Created, finalized, payment begun, payment done, paid, and only then the payment intent."""
    built = scenario("busy-month", 1, 1.0)
    intents = {h.object["id"]: h.at for h in built.happenings if h.event == "payment_intent.succeeded"}
    orders = set()
    for steps in shown(built, "invoices").values():
        events = [(h.at, str(h.event)) for h in steps]
        collected = [payment["payment_intent"] for payment in steps[-1].object["payments"]]
        events += [(intents[intent], "payment_intent.succeeded") for intent in collected]
        orders.add(tuple(event.removeprefix("invoice.") for _, event in sorted(events)))
    assert orders == {
        ("created", "finalized", "payment_created", "payment_succeeded", "paid", "payment_intent.succeeded"),
        ("created", "finalized", "payment_failed", "payment_created", "payment_succeeded", "paid",
         "payment_intent.succeeded"),
        ("created", "finalized", "paid"),
        ("created", "finalized", "voided"),
    }  # fmt: skip


@pytest.mark.parametrize(("name", "scale", "replaced"), [("busy-month", 1.0, 1), ("quiet-month", 0.5, 0),
                                                         ("chaos", 0.3, 1)])  # fmt: skip
def test_monthly_tax_statements_add_up(fresh: Builder, any_seed: int, name: str, scale: float, replaced: int) -> None:
    """Payable is VAT due plus what was withheld, and the statement in force carries the books' own debit."""
    built = fresh(name, any_seed, scale)
    sold: dict[str, int] = defaultdict(int)
    for document in built.documents:
        row = document.row
        if row["status"] == "valid" and row["doc_type"] in {"33", "39", "61"} and row["currency"] == "CLP":
            sold[row["issue_date"][:7]] += int(row["vat"]) * (-1 if row["doc_type"] == "61" else 1)
    in_force = set()
    for filed in last(built, "tax_statements").values():
        part = filed["institution_tax_statement"]
        vat = max(0, part["total_debit"] - part["total_credit"])
        others = part["retention_fee"] + part["salary_tax"] + part["monthly_provisional_payments"]
        assert part["total_payment"] == vat + others
        if filed["status"] == "Vigente":
            assert part["total_debit"] == max(0, sold[f"{filed['fiscal_year']}-{filed['period']}"])
            in_force.add(filed["period"])
    assert in_force == {"07", "08", "09"}
    assert [filed["status"] for filed in last(built, "tax_statements").values()].count("Anulada") == replaced


def test_register_dates_are_local_midnight_written_in_utc(scenario: Builder) -> None:
    """A reader in the wrong zone gets the day before; the night the clock goes forward begins at one."""
    register = last(scenario("busy-month", 1, 1.0), "tax_invoices").values()
    assert {row["date"][:10] for row in register} >= {"2026-09-06", "2026-09-07"}
    for row in register:
        local = datetime.fromisoformat(row["date"]).astimezone(SANTIAGO)
        assert (local.hour, f"{local:%m/%Y}") == (1 if f"{local:%m-%d}" == "09-06" else 0, row["tax_period"])


def test_every_sale_of_the_books_is_in_the_register(scenario: Builder) -> None:
    """Invoices and notes one by one, voided and foreign ones left out."""
    built = scenario("busy-month", 1, 1.0)
    books = {
        (d.row["doc_type"], d.row["folio"], int(d.row["total"]))
        for d in built.documents
        if d.row["doc_type"] in {"33", "61"} and d.row["status"] == "valid"
    }
    rows = [row for row in last(built, "tax_invoices").values() if row["issue_type"] == "issued" and row["number"]]
    assert {(str(r["institution_invoice"]["document_type"]), r["number"], r["total_amount"]) for r in rows} == books


def test_movements_of_links_are_signed_and_those_of_accounts_are_not(scenario: Builder) -> None:
    """The two kinds of movement write direction differently."""
    built = scenario("busy-month", 1, 1.0)
    assert {row["amount"] < 0 for row in last(built, "link_movements").values()} == {True, False}
    assert {row["amount"] > 0 for row in last(built, "account_movements").values()} == {True}
    owners = set(last(built, "link_accounts"))
    assert {row["_account"] for row in last(built, "link_movements").values()} == owners


def test_the_newest_movement_of_a_link_is_pending_until_the_next_refresh(scenario: Builder) -> None:
    """When the clock starts one movement is not through yet; three days later it is."""
    built = scenario("busy-month", 1, 1.0)
    states = [(h.object["id"], h.at, h.object["status"]) for h in built.happenings if h.collection == "link_movements"]
    ((id_, at, _),) = [state for state in states if state[2] == "pending"]
    assert at < START < at + timedelta(days=3)
    assert [status for movement, when, status in states if movement == id_ and when > at] == ["confirmed"]


def test_mexico_holds_every_kind_of_object_that_exists_there(scenario: Builder) -> None:
    """All but direct debit of old, billing in pesos of Chile, and the Chilean tax office."""
    chilean = {
        "charges", "invoices", "legacy_subscriptions", "previews", "subscription_intents", "subscriptions",
        "tax_invoices", "tax_returns", "tax_statements",
    }  # fmt: skip
    assert set(COLLECTIONS) - {h.collection for h in scenario("mexico", 1, 1.0).happenings} == chilean


def test_mexico_begins_with_accounts_verified_and_not() -> None:
    """When its clock starts, the list holds an account that was proved and one that is closed, newest first."""
    app = create_sandbox("mexico", scale=0.1)
    rows = app.test_client().get("/v2/account_verifications", headers={"Authorization": "sk_test_sandbox"}).get_json()
    app.world.close()
    assert [(row["status"], row["reason"]) for row in rows] == [
        ("failed", "invalid_recipient_account"), ("succeeded", None)
    ]  # fmt: skip
    assert {row["counterparty"]["institution"]["country"] for row in rows} == {"mx"}


def test_a_mexican_account_is_swept_each_day_and_its_numbers_are_clabes(scenario: Builder) -> None:
    """The last movement of each bank day leaves nothing, and one tracking key is met twice."""
    built = scenario("mexico", 1, 1.0)
    transfers = last(built, "transfers").values()
    sweeps = {row["id"] for row in transfers if row["comment"] == "Daily settlement"}
    swept = [row for row in last(built, "account_movements").values() if row["resource_id"] in sweeps]
    assert len(swept) == 45
    assert {(row["direction"], row["balance"]) for row in swept} == {("outbound", 0)}
    keys = [row["tracking_key"] for row in transfers]
    assert len(keys) - len(set(keys)) == 1
    assert {len(row["counterparty"]["account_number"]) for row in transfers} == {18}
    returned = {row["id"] for row in transfers if row["status"] == "returned"}
    truth = built.truth(built.happenings[-1].at)
    assert {row.id for row in truth if "TRANSFER_RETURNED" in row.exceptions} == returned
