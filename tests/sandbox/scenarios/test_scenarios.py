"""Properties every scenario has: repeatable, ordered, typed, opaque, and complete in its planted cases."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import msgspec
import pytest

from sandbox.scenarios import NAMES, build
from sandbox.scenarios.people import clabe_check_digit, rfc_check_digit, to_rut
from sandbox.state.happening import COLLECTIONS, WholeScenario

Builder = Callable[[str, int, float], WholeScenario]
START = datetime(2026, 10, 1, 3, tzinfo=UTC)
COLUMNS = (
    "doc_type,series,folio,uuid,issue_date,due_date,customer_tax_id,customer_name,net,exempt,vat,total,currency,"
    "status,order_ref,ref_type,ref_number,payment_method,payment_form"
)
PLANTED = {
    "PAYMENT_NO_INVOICE", "INVOICE_NO_PAYMENT", "AMOUNT_DIFF", "CUSTOMER_DIFF", "CURRENCY_DIFF", "AMBIGUOUS",
    "DUPLICATE_PAYMENT", "PAID_CANCELLED_DOC", "REFUND_NO_CREDIT_NOTE", "CREDIT_NOTE_NO_REFUND", "PAYOUT_RETURNED",
    "PAYOUT_IDENTITY", "ITEM_IN_TWO_PAYOUTS", "ITEM_IN_NO_PAYOUT",
}  # fmt: skip
OUTCOMES = {
    "matched", "matched_with_difference", "partial", "set", "interchangeable", "ambiguous", "suggested", "no_document",
    "duplicate",
}  # fmt: skip


def counted(scenario: WholeScenario, at: datetime) -> Counter[str]:
    return Counter(code for row in scenario.truth(at) for code in row.exceptions)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_arguments_give_the_same_scenario(name: str) -> None:
    """Happenings, books, fees and truth are equal to the last byte, and another seed differs."""
    first, second, other = (build(name, seed=seed, scale=0.1, start=START) for seed in (7, 7, 8))
    assert msgspec.json.encode(first.happenings) == msgspec.json.encode(second.happenings)
    assert first.documents == second.documents
    assert first.truth(START + timedelta(days=20)) == second.truth(START + timedelta(days=20))
    assert msgspec.json.encode(first.happenings) != msgspec.json.encode(other.happenings)


@pytest.mark.parametrize("name", NAMES)
def test_happenings_are_in_order_and_whole(scenario: Builder, name: str) -> None:
    """Sorted by moment, aware, each object with its id, type and mode."""
    happenings = scenario(name, 1, 1.0).happenings
    assert [h.at for h in happenings] == sorted(h.at for h in happenings)
    assert all(h.at.utcoffset() == timedelta(0) for h in happenings)
    assert all({"id", "object", "mode"} <= h.object.keys() for h in happenings)
    assert {h.collection for h in happenings} <= set(COLLECTIONS)


@pytest.mark.parametrize("name", NAMES)
def test_books_have_the_canonical_columns(scenario: Builder, name: str) -> None:
    """All text, in the contract's order."""
    for document in scenario(name, 1, 1.0).documents:
        assert ",".join(document.row) == COLUMNS
        assert all(isinstance(value, str) for value in document.row.values())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_busy_month_plants_every_case_after_the_start(scenario: Builder, seed: int) -> None:
    """Each code and each outcome is new at least once in the 31 days after the start."""
    built = scenario("busy-month", seed, 1.0)
    before, after = built.truth(START), built.truth(START + timedelta(days=31))
    old = {(row.id, code) for row in before for code in row.exceptions}
    assert {code for row in after for code in row.exceptions if (row.id, code) not in old} >= PLANTED
    known = {row.id for row in before}
    assert {row.outcome for row in after if row.kind == "payment" and row.id not in known} == OUTCOMES


def test_a_quiet_scenario_has_nothing_to_complain_about(scenario: Builder) -> None:
    """Six payments, two closed payouts, no exception on any day."""
    built = scenario("quiet", 1, 1.0)
    truth = built.truth(START + timedelta(days=4))
    assert Counter((row.kind, row.outcome) for row in truth) == {
        ("document", "paid"): 6, ("payment", "matched"): 6, ("payout", "no_bank"): 2,
    }  # fmt: skip
    assert all(not counted(built, START + timedelta(days=n)) for n in range(7))


def test_truth_speaks_of_test_mode_alone(scenario: Builder) -> None:
    """The few live objects exist, with events of their own, and no row of truth names them."""
    built = scenario("busy-month", 1, 1.0)
    live = {h.object["id"] for h in built.happenings if h.object["mode"] == "live"}
    assert {h.event for h in built.happenings if h.object["mode"] == "live"} >= {"payment_intent.succeeded"}
    assert not live & {row.id for row in built.truth(START + timedelta(days=31))}


def test_ids_reveal_no_order(scenario: Builder) -> None:
    """Payments sorted by id are not payments sorted by time, nor near it."""
    built = scenario("busy-month", 1, 1.0)
    ids = [h.object["id"] for h in built.happenings if h.event == "payment_intent.succeeded"]
    rising = sum(first < second for first, second in pairwise(ids))
    assert 0.4 < rising / len(ids) < 0.6
    assert len(set(ids)) == len(ids)


def test_scale_multiplies_trade(scenario: Builder) -> None:
    """Three times the scale is about three times the payments."""
    one, three = (
        sum(happening.collection == "payout_resources" for happening in scenario("busy-month", 1, scale).happenings)
        for scale in (1.0, 3.0)
    )
    assert 2.5 < three / one < 3.5


def test_check_digits_are_those_of_known_ids() -> None:
    """RUT, RFC and CLABE computed by hand elsewhere."""
    assert (to_rut(76192083), to_rut(11111111), to_rut(1000005)) == ("76192083-9", "11111111-1", "1000005-K")
    assert clabe_check_digit("64618015700000000") + clabe_check_digit("03218000011835971") == "49"
    assert rfc_check_digit("GODE561231GR") == "8"


def test_a_scenario_that_does_not_exist_is_refused() -> None:
    """The message lists those that do."""
    with pytest.raises(ValueError, match="no scenario 'noisy': choose one of busy-month"):
        build("noisy", seed=1, scale=1, start=START)
    with pytest.raises(ValueError, match="above 0, not -1"):
        build("quiet", seed=1, scale=-1, start=START)
    with pytest.raises(ValueError, match="a moment with a zone"):
        build("quiet", seed=1, scale=1, start=datetime(2026, 10, 1))  # noqa: DTZ001
