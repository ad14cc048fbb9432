"""The merchant's own account: balances that run, statements that add up, payouts that arrive or do not."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sandbox.state.happening import Truth, WholeScenario

Builder = Callable[[str, int, float], WholeScenario]
START = datetime(2026, 10, 1, 3, tzinfo=UTC)
END = START + timedelta(days=34)
SEEDS = (1, 2, 3)
LATE_SUMMER = ["2026-08-01", "2026-09-01", "2026-10-01"]
# In Mexico the clock's start is still the last evening of September.
MONTHS = {"busy-month": LATE_SUMMER, "chaos": LATE_SUMMER, "mexico": ["2026-07-01", *LATE_SUMMER]}
ZONES = {"cl": ZoneInfo("America/Santiago"), "mx": ZoneInfo("America/Mexico_City")}


def lines(scenario: WholeScenario) -> list[dict[str, Any]]:
    rows = {h.object["id"]: h.object for h in scenario.happenings if h.collection == "account_movements"}
    return sorted(rows.values(), key=lambda row: row["transaction_date"])


def payouts(scenario: WholeScenario) -> dict[str, dict[str, Any]]:
    return {
        h.object["id"]: h.object
        for h in scenario.happenings
        if h.collection == "payouts" and h.object["mode"] == "test"
    }


@pytest.mark.parametrize(("name", "scale"), [("busy-month", 1.0), ("mexico", 1.0), ("chaos", 0.3)])
def test_balances_run_without_a_gap(fresh: Builder, any_seed: int, name: str, scale: float) -> None:
    """Each movement's balance is the one before it, plus or minus its amount."""
    balance, rows = 4_350_000, lines(fresh(name, any_seed, scale))
    for row in rows:
        balance += row["amount"] if row["direction"] == "inbound" else -row["amount"]
        assert row["balance"] == balance
    assert len(rows) > 40
    # In Mexico an empty account is swept too.
    assert min(row["amount"] for row in rows) >= (0 if name == "mexico" else 1)


@pytest.mark.parametrize(("name", "scale"), [("busy-month", 1.0), ("mexico", 1.0), ("chaos", 0.3)])
def test_statements_follow_one_another_and_add_up(fresh: Builder, any_seed: int, name: str, scale: float) -> None:
    """Initial plus credits less debits is final, and final is the next one's initial and the movements' own sum."""
    built = fresh(name, any_seed, scale)
    moved = Counter({"2026-08": 0})
    for row in lines(built):
        month = f"{datetime.fromisoformat(row['transaction_date']).astimezone(ZONES[built.country]):%Y-%m}"
        moved[month] += row["amount"] if row["direction"] == "inbound" else -row["amount"]
    found = [h.object for h in built.happenings if h.collection == "account_statements"]
    assert [row["start_date"] for row in found] == MONTHS[name]
    opening = 4_350_000
    for row in found:
        assert row["initial_balance_cents"] == opening
        assert row["total_credited_cents"] - row["total_debited_cents"] == moved[row["start_date"][:7]]
        opening += moved[row["start_date"][:7]]
        assert row["final_balance_cents"] == opening


@pytest.mark.parametrize("seed", SEEDS)
def test_payouts_missing_or_clipped_at_the_bank_are_the_named_ones(scenario: Builder, seed: int) -> None:
    """Every succeeded payout has a line of its amount but two, and for one of them a smaller line names it."""
    built = scenario("busy-month", seed, 1.0)
    inbound = [row["amount"] for row in lines(built) if row["direction"] == "inbound"]
    comments = {h.object["comment"] for h in built.happenings if h.collection == "transfers"}
    odd = {po for po, row in payouts(built).items() if row["status"] == "succeeded" and row["amount"] not in inbound}
    truth = {code: {row.id for row in built.truth(END) if code in row.exceptions}
             for code in ("PAYOUT_NOT_IN_BANK", "BANK_AMOUNT_DIFF")}  # fmt: skip
    clipped = {po for po in odd if f"Liquidacion {po}" in comments}
    assert (len(odd), len(clipped)) == (2, 1)
    assert truth == {"PAYOUT_NOT_IN_BANK": odd - clipped, "BANK_AMOUNT_DIFF": clipped}


@pytest.mark.parametrize("seed", SEEDS)
def test_what_goes_wrong_at_the_bank_cannot_be_taken_for_something_else(scenario: Builder, seed: int) -> None:
    """No other line of those days lies within ten percent of a payout that is missing or clipped."""
    built = scenario("busy-month", seed, 1.0)
    wrong = [row.id for row in built.truth(END) if {"PAYOUT_NOT_IN_BANK", "BANK_AMOUNT_DIFF"} & set(row.exceptions)]
    transfers = {h.object["id"]: h.object["comment"] for h in built.happenings if h.collection == "transfers"}
    assert len(wrong) == 2
    for payout in wrong:
        amount, since = payouts(built)[payout]["amount"], datetime.fromisoformat(payouts(built)[payout]["created_at"])
        for row in lines(built):
            near = timedelta() < datetime.fromisoformat(row["transaction_date"]) - since < timedelta(days=4)
            if row["direction"] == "inbound" and near and payout not in transfers[row["resource_id"]]:
                assert abs(row["amount"] - amount) * 10 > amount


def test_the_bank_file_lacks_one_deposit(scenario: Builder) -> None:
    """The file does not tell the 27,244 of Thursday, 1 October; the truth says so once that day is over."""
    built = scenario("busy-month", 1, 1.0)
    assert built.bank_file is not None
    (deposit,) = [row for row in lines(built) if row["resource_id"] == built.bank_file.lacks]
    assert (built.bank_file.account, deposit["amount"]) == ("000071402296", 27_244)
    assert deposit["transaction_date"] == "2026-10-01T15:28:14.242Z"
    friday = datetime(2026, 10, 2, 3, tzinfo=UTC)
    moments = (friday - timedelta(seconds=1), friday)
    shown = [[row for row in built.truth(at) if row.kind == "bank_day"] for at in moments]
    expected = Truth("bank_day", "2296:2026-10-01", (deposit["resource_id"],), "differs", ("BANK_SOURCES_DIFFER",),
                     27_244, "CLP", decidable=True)  # fmt: skip
    assert shown == [[], [expected]]


def test_the_bank_file_speaks_of_the_day_before_the_truth_does(fresh: Builder, any_seed: int) -> None:
    """It lacks a deposit of no payout; other lines come no later than it, and on the day before the truth tells it."""
    built = fresh("busy-month", any_seed, 1.0)
    assert built.bank_file is not None
    lacked, zone = built.bank_file.lacks, ZONES["cl"]
    days = {row["resource_id"]: datetime.fromisoformat(row["transaction_date"]).astimezone(zone).date()
            for row in lines(built)}  # fmt: skip
    (deposit,) = [h.object for h in built.happenings if h.collection == "transfers" and h.object["id"] == lacked]
    assert (deposit["direction"], deposit["comment"].startswith("Liquidacion")) == ("inbound", False)
    on = days.pop(deposit["id"])
    nights = [datetime(on.year, on.month, on.day, tzinfo=zone) + timedelta(days=n) for n in range(9)]
    first = next(night for night in nights if any(row.kind == "bank_day" for row in built.truth(night.astimezone(UTC))))
    assert min(days.values()) <= on <= (first - timedelta(days=1)).date()
    assert (first - timedelta(days=1)).date() in days.values()


def test_transfers_that_went_back_are_the_named_ones(scenario: Builder) -> None:
    """Returned and reversed ones from the moment they came back, failed ones never."""
    built = scenario("busy-month", 1, 1.0)
    steps = [h for h in built.happenings if h.collection == "transfers" and h.at <= END]
    final = {h.object["id"]: h.object["status"] for h in steps}
    back = {id_ for id_, status in final.items() if status in {"returned", "reversed"}}
    assert {row.id for row in built.truth(END) if "TRANSFER_RETURNED" in row.exceptions} == back
    assert sorted(final[id_] for id_ in back) == ["returned", "returned", "reversed", "reversed"]


def test_a_late_payout_is_late_from_the_next_bank_day_until_it_succeeds(scenario: Builder) -> None:
    """The code comes with the day after and goes with the success."""
    built = scenario("busy-month", 1, 1.0)
    created = {h.object["id"]: h.at for h in built.happenings if h.event == "payout.created"}
    done = {h.object["id"]: h.at for h in built.happenings if h.event == "payout.succeeded"}
    late = next(po for po, at in done.items() if at - created[po] > timedelta(hours=20))
    hours = [created[late] + timedelta(hours=n) for n in range(0, 168, 3)]
    flagged = [at for at in hours if any(r.id == late and "PAYOUT_LATE" in r.exceptions for r in built.truth(at))]
    assert created[late] < min(flagged)
    assert done[late] - timedelta(hours=3) <= max(flagged) < done[late]
    assert not any(r.id == late and r.exceptions for r in built.truth(END))


def test_a_slow_arrival_closes_its_exception(scenario: Builder) -> None:
    """A payout is missing at the bank for a while, and then is not."""
    built = scenario("busy-month", 1, 1.0)
    rows = [row for n in range(70) for row in built.truth(START + timedelta(hours=12 * n))]
    ever = {row.id for row in rows if "PAYOUT_NOT_IN_BANK" in row.exceptions}
    assert len(ever) == 2
    assert len([row for row in built.truth(END) if row.id in ever and row.outcome == "closed"]) == 1
