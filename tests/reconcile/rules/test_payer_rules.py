"""Who pays for whom, once a person accepted it: the payer counts as the customer, with every guard of a customer."""

from datetime import date

import pytest

from tests.reconcile.rules.conftest import ANA, BRUNO, Case

CARLA = "33333333-3"


def accept(case: Case, payer: str = BRUNO, customer: str = ANA, *, number: int = 7, **given: str) -> None:
    case.add("payers", rule_id=number, kind="payer", subject=payer, object=customer, **given)


def test_a_payer_counts_as_the_customer_at_its_own_stage(case: Case) -> None:
    """A payment of another tax id pays the customer's document at stage `payer`, and its rule is named."""
    accept(case)
    doc = case.invoice("1", 5000)
    case.payment("pi_1", 5000, customer_tax_id=BRUNO)
    got = case.match().line("pi_1", "outcome", "match_stage", "match_rule", "doc_key")
    assert got == ("matched", "payer", "payer:#7:tax_id+amount+window", doc)


def test_without_a_rule_the_payment_has_no_document(case: Case) -> None:
    """The same payment stays open where no rule was accepted."""
    case.invoice("1", 5000)
    case.payment("pi_1", 5000, customer_tax_id=BRUNO)
    assert case.match().line("pi_1", "outcome", "match_stage") == ("no_document", "none")


def test_a_key_of_the_customer_is_no_difference_of_customers(case: Case) -> None:
    """A payer with a rule who names the customer's document raises no CUSTOMER_DIFF."""
    accept(case)
    case.payout_without_fee("po_1", 5000)
    case.invoice("1", 5000)
    case.payment("pi_1", 5000, customer_tax_id=BRUNO, payout_id="po_1", metadata='{"order_ref":"PED-1"}')
    run = case.run()
    assert run.line("pi_1", "outcome", "match_stage") == ("matched", "key")
    assert "CUSTOMER_DIFF" not in {code for code, _, _ in run.found()}


def test_a_key_with_less_than_the_balance_is_a_part(case: Case) -> None:
    """With a rule the payer's smaller payment by key is a part, as the customer's own would be."""
    accept(case)
    case.invoice("1", 5000)
    case.payment("pi_1", 2000, customer_tax_id=BRUNO, metadata='{"order_ref":"PED-1"}')
    assert case.match().line("pi_1", "outcome") == ("partial",)


def test_a_payer_with_an_equal_document_of_its_own_is_a_tie(case: Case) -> None:
    """Where payer and customer both owe exactly the amount, the payment is ambiguous and lists both."""
    accept(case)
    case.invoice("1", 5000)
    case.invoice("2", 5000, customer_tax_id=BRUNO)
    case.payment("pi_1", 5000, customer_tax_id=BRUNO)
    got = case.match().line("pi_1", "outcome", "match_stage", "rivals")
    assert got == ("ambiguous", "none", "cl:33::1 cl:33::2")


def test_the_payers_own_document_comes_first(case: Case) -> None:
    """A payer pays its own document of that amount where the customer has another one."""
    accept(case)
    case.invoice("1", 4000)
    own = case.invoice("2", 5000, customer_tax_id=BRUNO)
    case.payment("pi_1", 5000, customer_tax_id=BRUNO)
    assert case.match().line("pi_1", "match_stage", "doc_key") == ("customer", own)


def test_the_customers_own_payment_comes_first(case: Case) -> None:
    """A customer's own payment takes the document; the payer's equal one, though earlier, stays open."""
    accept(case)
    doc = case.invoice("1", 5000)
    case.payment("pi_0", 5000, customer_tax_id=BRUNO, occurred_at="2026-10-02T15:00:00Z")
    case.payment("pi_1", 5000, customer_tax_id=ANA)
    matched = case.match()
    assert matched.line("pi_1", "match_stage", "doc_key") == ("customer", doc)
    assert matched.line("pi_0", "outcome", "doc_key") == ("no_document", None)


def test_of_several_customers_the_one_with_that_amount_is_meant(case: Case) -> None:
    """Who pays for two customers pays the one document of that amount, and none where both have one."""
    accept(case)
    accept(case, customer=CARLA, number=8)
    case.invoice("1", 5000)
    case.invoice("2", 5000, customer_tax_id=CARLA)
    other = case.invoice("3", 4000, customer_tax_id=CARLA)
    case.payment("pi_1", 5000, customer_tax_id=BRUNO)
    case.payment("pi_2", 4000, customer_tax_id=BRUNO)
    matched = case.match()
    assert matched.line("pi_1", "outcome") == ("ambiguous",)
    assert matched.line("pi_2", "match_rule", "doc_key") == ("payer:#8:tax_id+amount+window", other)


@pytest.mark.parametrize(
    ("amount", "issued", "outcome"),
    [(5001, date(2026, 10, 1), "no_document"), (5000, date(2026, 12, 1), "no_document")],
)
def test_amounts_and_dates_hold(case: Case, amount: int, issued: date, outcome: str) -> None:
    """A payer's payment of another amount, or outside the dates, pays no document of the customer."""
    accept(case)
    case.invoice("1", 5000, issue_date=issued, due_date=issued)
    case.payment("pi_1", amount, customer_tax_id=BRUNO)
    assert case.match().line("pi_1", "outcome") == (outcome,)


def test_a_declined_pair_is_not_made(case: Case) -> None:
    """What a person declined no rule brings back."""
    accept(case)
    doc = case.invoice("1", 5000)
    case.payment("pi_1", 5000, customer_tax_id=BRUNO)
    case.add("decisions", kind="decline", resource_id="pi_1", doc_key=doc, decision_id=1)
    assert case.match().line("pi_1", "outcome") == ("no_document",)


def test_closed_days_are_left_alone(case: Case) -> None:
    """A payment of days closed before the rule was accepted stays as it was; a revoked rule holds for its own days."""
    accept(case, since="2026-10-05T03:00:00Z")
    accept(case, customer=CARLA, number=8, until="2026-10-03T03:00:00Z")
    for folio, customer in (("1", ANA), ("2", CARLA)):
        case.invoice(folio, 5000, customer_tax_id=customer)
    case.payment("pi_1", 5000, customer_tax_id=BRUNO, occurred_at="2026-10-04T15:00:00Z")
    case.payment("pi_2", 5000, customer_tax_id=BRUNO, occurred_at="2026-10-02T15:00:00Z")
    matched = case.match()
    assert matched.line("pi_1", "outcome") == ("no_document",)
    assert matched.line("pi_2", "match_rule") == ("payer:#8:tax_id+amount+window",)


def test_a_set_of_documents_is_paid_by_the_payer(case: Case) -> None:
    """The only set of the customer's documents that makes the amount is matched at stage `payer`."""
    accept(case)
    case.invoice("1", 51237)
    case.invoice("2", 30919)
    case.payment("pi_1", 82156, customer_tax_id=BRUNO)
    assert (
        case.match().lines("pi_1", "outcome", "match_stage", "match_rule")
        == [("set", "payer", "payer:#7:2:only_one")] * 2
    )


def test_a_pattern_in_the_comment_is_an_order_number(case: Case) -> None:
    """A word of an accepted pattern is a key with a key's guards: a smaller amount is a part of that document."""
    case.add("payers", rule_id=9, kind="pattern", subject="ORD-####", object="order_ref")
    doc = case.invoice("1", 5000, order_ref="ORD-1234")
    case.payment("pi_1", 2000, texts="pago ord-1234, gracias")
    got = case.match().line("pi_1", "outcome", "match_stage", "match_rule", "doc_key")
    assert got == ("partial", "key", "key:order_ref:part:pattern:#9", doc)


def test_two_words_of_a_pattern_name_no_order(case: Case) -> None:
    """A comment with two order numbers is no key."""
    case.add("payers", rule_id=9, kind="pattern", subject="ORD-####", object="order_ref")
    case.invoice("1", 5000, order_ref="ORD-1234")
    case.payment("pi_1", 2000, texts="ORD-1234 ORD-1235")
    assert case.match().line("pi_1", "outcome") == ("no_document",)
