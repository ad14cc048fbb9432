"""Orders of the merchant's own system: paid and not delivered, delivered and not paid, and when neither is said."""

from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

PED_1 = '{"order_ref": "PED-1"}'
CODES = ("ORDER_NOT_DELIVERED", "ORDER_NOT_PAID")


def _order(case: "Case", **given: Any) -> None:
    row = {"order_ref": "PED-1", "delivered_on": None, "amount": None, "currency": None, "asked_on": date(2026, 10, 9)}
    case.add("orders", **(row | given))


def _orders_found(case: "Case") -> set[tuple[str, str, int]]:
    return {found for found in case.run().found() if found[0] in CODES}


def test_a_paid_order_that_was_not_delivered_is_at_risk_with_its_payment(case: "Case") -> None:
    """Four bank days after the payment of Monday the system still had not delivered it."""
    case.as_of = date(2026, 10, 9)
    case.payment("pi_1", 1000, metadata=PED_1)
    _order(case)
    assert _orders_found(case) == {("ORDER_NOT_DELIVERED", "resource:pi_1", 1000)}
    found = case.run().finding("ORDER_NOT_DELIVERED")
    assert (found.severity, found.fact_on) == ("medium", date(2026, 10, 5))
    assert found.evidence == {"order_ref": "PED-1", "asked_on": "2026-10-09"}


def test_an_answer_counts_as_of_its_own_day(case: "Case") -> None:
    """What was said three bank days after the payment says nothing, however late the run is."""
    case.as_of = date(2026, 10, 30)
    case.payment("pi_1", 1000, metadata=PED_1)
    _order(case, asked_on=date(2026, 10, 8))
    assert _orders_found(case) == set()
    case.rules = {"order_days": 2}
    assert _orders_found(case) == {("ORDER_NOT_DELIVERED", "resource:pi_1", 1000)}


def test_what_was_given_back_whole_waits_for_no_delivery(case: "Case") -> None:
    """A refund of all of it ends the order; one of a part does not."""
    case.as_of = date(2026, 10, 9)
    case.payment("pi_1", 1000, metadata=PED_1)
    case.refund("re_1", "pi_1", 400)
    _order(case)
    assert _orders_found(case) == {("ORDER_NOT_DELIVERED", "resource:pi_1", 1000)}
    case.refund("re_2", "pi_1", 600)
    assert _orders_found(case) == set()


def test_a_delivered_order_that_no_payment_names_is_at_risk(case: "Case") -> None:
    """Its own amount is at risk, in its own currency; without one nothing is, and it is said all the same."""
    case.as_of = date(2026, 10, 12)
    _order(case, delivered_on=date(2026, 10, 5), amount=2500, currency="USD")
    _order(case, order_ref="PED-2", delivered_on=date(2026, 10, 5))
    assert _orders_found(case) == {("ORDER_NOT_PAID", "order:PED-1", 2500), ("ORDER_NOT_PAID", "order:PED-2", 0)}
    by_subject = {found.subject: found for found in case.run().result.findings}
    assert [by_subject[name].currency for name in ("order:PED-1", "order:PED-2")] == ["USD", "CLP"]
    assert by_subject["order:PED-1"].fact_on == date(2026, 10, 5)


def test_an_order_has_some_days_to_be_paid(case: "Case") -> None:
    """Three bank days after delivery no one asks yet."""
    case.as_of = date(2026, 10, 8)
    _order(case, delivered_on=date(2026, 10, 5))
    assert _orders_found(case) == set()


def test_a_delivered_and_paid_order_is_no_difference(case: "Case") -> None:
    """Names are compared as keys are: without signs, spaces and case; `order_id` names an order too."""
    case.as_of = date(2026, 10, 20)
    case.payment("pi_1", 1000, metadata='{"order_id": "#ped 1"}')
    case.payment("pi_2", 500, metadata='{"order_ref": "PED-9"}')
    case.payment("pi_3", 500)
    _order(case, delivered_on=date(2026, 10, 5))
    assert _orders_found(case) == set()


def test_missing_payments_withhold_what_they_could_disprove(case: "Case") -> None:
    """While payments are incomplete no order is called unpaid; one that was not delivered still is."""
    case.as_of = date(2026, 10, 12)
    case.payment("pi_1", 1000, metadata=PED_1)
    _order(case)
    _order(case, order_ref="PED-2", delivered_on=date(2026, 10, 5))
    case.add("gaps", stream="payment-intents", since="2026-10-05T00:00:00Z", until="2026-10-06T00:00:00Z")
    assert _orders_found(case) == {("ORDER_NOT_DELIVERED", "resource:pi_1", 1000)}
