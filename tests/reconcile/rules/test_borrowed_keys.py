"""Keys that name another's document, while the payer's own asks for just the amount paid."""

from datetime import date
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO = "11111111-1", "22222222-2"
SHOWN = ("outcome", "doc_key", "match_rule")
BRUNOS = ("matched", "cl:33::1", "key:order_ref")
PED_1 = '{"order_ref": "PED-1"}'


@pytest.fixture
def plans(case: "Case") -> "Case":
    """Bruno and Ana have the same plan; Ana pays and names Bruno's invoice."""
    case.invoice("1", 19_990, customer_tax_id=BRUNO)
    case.invoice("2", 19_990, customer_tax_id=ANA)
    case.payment("pi_1", 19_990, sender_tax_id=ANA, metadata=PED_1)
    return case


def test_key_against_tax_id_and_amount_is_ambiguous(plans: "Case") -> None:
    """The key says one document, payer and amount another: a person is asked, and nothing is applied."""
    run = plans.run()
    assert run.line("pi_1", "outcome", "rivals") == ("ambiguous", "cl:33::1 cl:33::2")
    assert run.found() == {("AMBIGUOUS", "resource:pi_1", 19_990)}
    evidence = run.finding("AMBIGUOUS").evidence
    shown = (evidence["document"], evidence["equal_open_documents"], evidence["payer"], evidence["customer"])
    assert shown == ("cl:33::1", ["cl:33::2"], ANA, BRUNO)


def test_the_one_it_was_named_for_can_still_pay_it(plans: "Case") -> None:
    """Bruno's own payment is no duplicate because Ana wrote his number on hers."""
    plans.payment("pi_2", 19_990, sender_tax_id=BRUNO, metadata=PED_1, occurred_at="2026-10-05T18:00:00Z")
    matched = plans.match()
    assert matched.line("pi_2", *SHOWN) == BRUNOS
    assert matched.line("pi_1", "outcome") == ("ambiguous",)


@pytest.mark.parametrize("said", [{"metadata": '{"order_ref": "PED-2"}'}, {"texts": "PED-2"}, {}])
def test_whose_own_document_is_paid_pays_for_another(plans: "Case", said: dict[str, str]) -> None:
    """Ana paid her invoice besides, in whatever way: then the key is believed, and it is said who paid."""
    plans.payment("pi_2", 19_990, sender_tax_id=ANA, occurred_at="2026-10-05T14:00:00Z", **said)
    run = plans.run()
    assert run.line("pi_2", "outcome", "doc_key") == ("matched", "cl:33::2")
    assert run.line("pi_1", *SHOWN) == BRUNOS
    assert run.found() == {("CUSTOMER_DIFF", "resource:pi_1", 0)}


@pytest.mark.parametrize(
    "own",
    [
        {"total": 19_980},
        {"status": "void"},
        {"currency": "USD"},
        {"issue_date": date(2026, 11, 20), "due_date": date(2026, 12, 1)},
        {"issue_date": date(2026, 6, 1), "due_date": date(2026, 6, 30)},
    ],
)
def test_another_document_of_the_payer_says_nothing(case: "Case", own: dict[str, object]) -> None:
    """It is not open, not of the amount, or not of these days: the key is believed."""
    case.invoice("1", 19_990, customer_tax_id=BRUNO)
    case.invoice("2", **({"total": 19_990, "customer_tax_id": ANA} | own))  # type: ignore[arg-type]
    case.payment("pi_1", 19_990, sender_tax_id=ANA, metadata=PED_1)
    assert case.match().line("pi_1", *SHOWN) == BRUNOS


def test_a_declined_document_of_the_payer_says_nothing(plans: "Case") -> None:
    """A person said that Ana's own invoice is not meant."""
    plans.add("decisions", kind="decline", resource_id="pi_1", doc_key="cl:33::2", decision_id=1)
    assert plans.match().line("pi_1", *SHOWN) == BRUNOS


def test_a_declined_key_leaves_the_payer_and_the_amount(plans: "Case") -> None:
    """A person said that Bruno's invoice is not meant: tax id and amount decide."""
    plans.add("decisions", kind="decline", resource_id="pi_1", doc_key="cl:33::1", decision_id=1)
    assert plans.match().line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::2")
