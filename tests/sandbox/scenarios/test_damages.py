"""The table of damages, what each one alone brings into a quiet month, and what is refused."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from sandbox.scenarios import build
from sandbox.scenarios.damages import SWITCHABLE, TABLE, count_of
from sandbox.state.happening import WholeScenario

Builder = Callable[[str, int, float], WholeScenario]
START = datetime(2026, 10, 1, 3, tzinfo=UTC)
END = START + timedelta(days=34)
# What appears, on any day, that is not the late payment of an invoice.
CODES: dict[str, set[str]] = {
    "reference_of_another": {"AMBIGUOUS", "PAYMENT_NO_INVOICE"},
    "tax_id_missing": {"PAYMENT_NO_INVOICE"},
    "tax_id_of_relative": {"CUSTOMER_DIFF"},
    "amount_short": {"AMOUNT_DIFF"},
    "amount_over": {"AMOUNT_DIFF"},
    "paid_twice": {"DUPLICATE_PAYMENT"},
    "paid_together": {"AMBIGUOUS"},
    "identical_amounts": {"PAYMENT_NO_INVOICE"},
    "orphan": {"PAYMENT_NO_INVOICE"},
    "void_paid": {"PAID_CANCELLED_DOC"},
    "fee_tariff_wrong": {"FEE_OUT_OF_BAND"},
    "fee_vat_wrong": {"FEE_OUT_OF_BAND"},
    "payout_short": {"PAYOUT_IDENTITY"},
    "item_in_two_payouts": {"ITEM_IN_TWO_PAYOUTS"},
    "item_in_no_payout": {"ITEM_IN_NO_PAYOUT"},
    "payout_late": {"PAYOUT_LATE"},
    "payout_returned": {"PAYOUT_RETURNED"},
    "payout_absent": {"PAYOUT_NOT_IN_BANK"},
    "bank_amount_differs": {"BANK_AMOUNT_DIFF"},
    "other_currency": {"CURRENCY_DIFF"},
    "split_short": {"SPLIT_MISMATCH"},
    "dispute_won": {"DISPUTE_OPEN"},
    "dispute_lost": {"DISPUTE_OPEN", "DISPUTE_LOST"},
    "dispute_expired": {"DISPUTE_OPEN", "DISPUTE_LOST"},
}  # fmt: skip
OVERDUE = {
    "reference_of_another", "tax_id_missing", "amount_short", "paid_together", "identical_invoices",
    "identical_amounts", "unpaid", "other_currency", "dispute_lost", "dispute_expired",
}  # fmt: skip


def codes_over_time(scenario: WholeScenario) -> set[str]:
    moments = [START + timedelta(days=n) for n in range(-20, 35)]
    return {code for at in moments for row in scenario.truth(at) for code in row.exceptions}


@pytest.mark.parametrize("damage", SWITCHABLE)
def test_a_damage_alone_brings_its_own_exceptions_and_no_others(scenario: Builder, damage: str) -> None:
    """A quiet month with one damage at its stress rate."""
    scale = 0.6 if damage == "refund_full" else 0.3  # in a smaller month a day's refunds outweigh its sales
    found = codes_over_time(scenario(f"quiet-month+{damage}", 3, scale))
    assert found - {"INVOICE_NO_PAYMENT"} == CODES.get(damage, set())
    assert ("INVOICE_NO_PAYMENT" in found) == (damage in OVERDUE)


def test_a_quiet_month_has_nothing_to_complain_about_on_any_day(scenario: Builder) -> None:
    """No damage, no exception, and every payout arrives."""
    built = scenario("quiet-month", 1, 1.0)
    assert codes_over_time(built) == set()
    assert {row.outcome for row in built.truth(END) if row.kind in {"payment", "charge"}} == {"matched"}


def test_the_table_names_the_twenty_seven_kinds() -> None:
    """Each number of the list is there, and four of the numbers are not for trade to hold."""
    assert {damage.number for damage in TABLE} == set(range(1, 28))
    assert {damage.number for damage in TABLE if damage.instead} == {1, 9, 24, 25}
    assert len(SWITCHABLE) == 38


def test_rates_are_those_the_measurements_are_made_with() -> None:
    """Base and stress rates of some kinds, as the list has them."""
    rates = {damage.name: (damage.base, damage.stress) for damage in TABLE}
    assert rates["reference_missing"] == (0.08, 0.30)
    assert rates["tax_id_missing"] == (0.10, 0.40)
    assert rates["paid_twice"] == (0.005, 0.03)
    assert rates["void_paid"] == (0.002, 0.01)
    assert rates["payout_late"] == (0.005, 0.03)


def test_a_rate_is_a_share_of_the_whole_and_at_least_one() -> None:
    """Half up, and a damage that is switched on shows."""
    assert [count_of(rate, 250) for rate in (0, 0.001, 0.03, 0.01, 1)] == [0, 1, 8, 3, 250]


def test_a_damage_at_a_rate_happens_that_often(scenario: Builder) -> None:
    """One tenth of a month's sales are paid twice, and no more."""
    quiet = scenario("quiet-month", 1, 1.0)
    sales = Counter(h.event for h in quiet.happenings if h.object["mode"] == "test")
    built = build("quiet-month", seed=1, scale=1, start=START, damages={"paid_twice": 0.1})
    whole = sales["payment_intent.succeeded"] + sales["charge.succeeded"]
    twice = [row for row in built.truth(END) if row.exceptions == ("DUPLICATE_PAYMENT",)]
    assert (whole, len(twice)) == (467, 47)


@pytest.mark.parametrize(("ending", "rows"), [("won", 0), ("lost", 1), ("expired", 1)])
def test_disputes_end_as_told(scenario: Builder, ending: str, rows: int) -> None:
    """A lost or expired one is a line of the payout after it, with its amount at risk, a won one is not."""
    built = scenario(f"quiet-month+dispute_{ending}", 3, 0.3)
    amounts = {h.object["id"]: h.object["amount"] for h in built.happenings if h.event == f"dispute.{ending}"}
    assert len(amounts) == 1
    found = [(row.id, row.outcome, row.exceptions, row.amount_at_risk) for row in built.truth(END)
             if row.kind == "dispute"]  # fmt: skip
    assert found == [(case, "adjustment", ("DISPUTE_LOST",), amount) for case, amount in amounts.items()][:rows]


def test_a_dispute_is_open_until_it_ends(scenario: Builder) -> None:
    """It waits for documents, is in review, and is lost: each state has its word and what is at risk."""
    built = scenario("quiet-month+dispute_lost", 3, 0.3)
    shown = [(h.at, h.object["status"]) for h in built.happenings if h.collection == "disputes"]
    found = [
        [(row.outcome, row.exceptions) for row in built.truth(at) if row.kind == "dispute"] for at, _ in sorted(shown)
    ]
    assert found == [
        [("waiting_documentation", ("DISPUTE_OPEN",))],
        [("in_review", ("DISPUTE_OPEN",))],
        [("adjustment", ("DISPUTE_LOST",))],
    ]


def test_a_register_lacks_what_it_was_told_to(scenario: Builder) -> None:
    """One invoice of the books is not in the register."""
    built = scenario("quiet-month+register_lacks", 3, 0.3)
    books = {d.row["folio"] for d in built.documents if d.row["doc_type"] == "33"}
    register = {h.object["number"] for h in built.happenings
                if h.collection == "tax_invoices" and h.object["issue_type"] == "issued"}  # fmt: skip
    assert len(books - register) == 1


def test_an_f29_is_replaced_only_where_told(scenario: Builder) -> None:
    """A quiet month files once; the damage files last month's twice."""
    for name, filings in (("quiet-month", 3), ("quiet-month+f29_rectified", 4)):
        ids = {h.object["id"] for h in scenario(name, 3, 0.3).happenings if h.collection == "tax_statements"}
        assert len(ids) == filings


@pytest.mark.parametrize(("name", "damages", "message"), [
    ("quiet-month", {"paid_thrice": 0.1}, "there is no damage 'paid_thrice': choose one of reference_missing"),
    ("quiet-month", {"delivered_twice": 0.1}, "delivered_twice is no damage of trade: use the fault duplicate"),
    ("quiet-month", {"paid_twice": 1.5}, "the rate of paid_twice must be a number from 0 to 1, not 1.5"),
    ("busy-month", {"paid_twice": 0.1}, "the troubles of busy-month are planted; damages go with quiet-month"),
])  # fmt: skip
def test_damages_that_cannot_be_are_refused(name: str, damages: dict[str, float], message: str) -> None:
    """The sentence names what is wrong and what to use."""
    with pytest.raises(ValueError, match=message):
        build(name, seed=1, scale=1, start=START, damages=damages)


def test_a_damage_of_a_scenario_can_be_switched_off() -> None:
    """A rate of nothing leaves the others as they are."""
    built = build("month-end", seed=1, scale=0.3, start=START, damages={"orphan": 0, "paid_twice": 0})
    codes = {code for row in built.truth(END) for code in row.exceptions}
    assert "DUPLICATE_PAYMENT" not in codes
    assert "AMOUNT_DIFF" in codes


def test_a_month_end_forces_what_crosses_it(scenario: Builder) -> None:
    """Payments at the last millisecond before a cut and at the cut, at the last of a month and after its midnight."""
    at = {h.at for h in scenario("month-end", 1, 1.0).happenings if h.event == "payment_intent.succeeded"}
    local_cut = datetime(2026, 10, 30, 17, tzinfo=UTC)
    assert {local_cut, local_cut - timedelta(milliseconds=1)} <= at
    assert {datetime(2026, 10, 1, 2, 59, 59, 999_000, tzinfo=UTC), datetime(2026, 10, 1, 4, tzinfo=UTC)} <= at
    assert datetime(2026, 9, 6, 4, tzinfo=UTC) in at  # one in the morning does not move, but midnight is skipped
