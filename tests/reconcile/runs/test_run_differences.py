"""What changed between two runs names the row of the inputs that caused it, also where another row was matched."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pytest
from click.testing import Result
from pandas import DataFrame

from consumer.facts.messages import Message, translate
from reconcile.rules.inputs import PAYERS, RATES, UNKNOWN_CUSTOMERS, empty_frame, to_types
from reconcile.runs.comparison import find_causes

if TYPE_CHECKING:
    from tests.reconcile.conftest import World

Call = Callable[..., Result]


@pytest.fixture
def run(world: "World", call: Call) -> None:
    """A payment a little short of the document it names, and another document that is overdue."""
    world.payment("pi_1", 900, body={"metadata": {"order_ref": "PED-1"}})
    world.payout("po_1", 890, ("payment_intent", "pi_1", 900))
    world.invoice("7", 1000, order_ref="PED-1", due_date=date(2026, 10, 30))
    world.invoice("8", 500, order_ref="PED-2", due_date=date(2026, 9, 5))
    world.complete(datetime(2026, 9, 20, 6, tzinfo=UTC))
    assert call("reconcile", "--as-of", "2026-09-11").exit_code == 0


def _causes(call: Call) -> dict[str, str]:
    assert call("reconcile", "--as-of", "2026-09-12").exit_code == 0
    rows = [json.loads(line) for line in call("runs", "diff", "1", "2", "--json").stdout.splitlines()]
    return {row["subject"]: row["cause"] for row in rows if row["kind"] == "exception"}


@pytest.mark.usefixtures("run")
def test_a_payments_exception_goes_by_a_decision_about_its_document(call: Call) -> None:
    """The rest of the document was accepted: that is why the payment's difference is no exception any more."""
    call("adjust", "cl:33::7", "--type", "discount", "--reason", "agreed", "--author", "ana")
    assert _causes(call) == {"AMOUNT_DIFF resource:pi_1": "decision new (cl:33::7)"}


@pytest.mark.usefixtures("run")
def test_a_documents_exception_goes_by_a_new_payment(world: "World", call: Call) -> None:
    """The overdue document was paid: the payment is the cause, not the day."""
    world.payment("pi_2", 500, body={"metadata": {"order_ref": "PED-2"}})
    assert _causes(call) == {"INVOICE_NO_PAYMENT document:cl:33::8": "item new (pi_2)"}


def test_inputs_that_say_the_same_are_no_cause() -> None:
    """Two versions may digest the same cells otherwise: only a frame that differs is named."""
    alike = dict.fromkeys(("as_of", "calendar", "tariff", "rules", "rules_code", "scope"), "the same")
    rates = to_types(DataFrame({"currency": ["CLF"], "on": [date(2026, 9, 11)], "value": ["39485.65"]}), RATES)
    assert find_causes(alike, alike, [("rates", rates, rates.copy())]).everywhere == ()
    assert find_causes(alike, alike, [("rates", rates, empty_frame(RATES))]).everywhere == (Message("cause.rates"),)


def test_a_customer_who_came_is_the_cause_of_what_became_of_the_payment() -> None:
    """A payment that named a customer who was not here goes by its own id, and not by a change of everything."""
    alike = dict.fromkeys(("as_of", "calendar", "tariff", "rules", "rules_code", "scope"), "the same")
    unknown = to_types(DataFrame({"resource_id": ["pi_1"]}), UNKNOWN_CUSTOMERS)
    causes = find_causes(alike, alike, [("unknown_customers", unknown, empty_frame(UNKNOWN_CUSTOMERS))])
    assert (causes.by_id, causes.everywhere) == ({"pi_1": ("cause.unknown_customers_gone",)}, ())


def test_rules_about_payers_that_changed_have_words() -> None:
    """A frame that came with a later version is named like the others."""
    alike = dict.fromkeys(("as_of", "calendar", "tariff", "rules", "rules_code", "scope"), "the same")
    payers = to_types(DataFrame({name: [1 if name == "rule_id" else None] for name in PAYERS}), PAYERS)
    [cause] = find_causes(alike, alike, [("payers", payers, empty_frame(PAYERS))]).everywhere
    assert [translate(cause, language) for language in ("en", "es-CL", "es-MX")] == [
        "rules about payers changed", "cambiaron las reglas de pagadores", "cambiaron las reglas de pagadores",
    ]  # fmt: skip
