"""Payments without a key: references in texts, customers, interchangeable groups, sets, suggestions, nothing."""

from datetime import date
from typing import TYPE_CHECKING

import pytest

from reconcile.rules.names import split_words

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO, PUBLIC = "11111111-1", "22222222-2", "66666666-6"
SHOWN = ("outcome", "match_stage", "doc_key", "applied_amount")


@pytest.mark.parametrize("text", ["Pago factura 1042", "PED-1042", "pago ped 1042 gracias", "ped_1O42", "33-1042."])
def test_text_reference_amount_equal_and_same_tax_id(case: "Case", text: str) -> None:
    """Of two equal documents of a customer the text says which, whatever its separators."""
    case.invoice("1041", 50_000)
    case.invoice("1042", 50_000)
    case.payment("pi_1", 50_000, texts=text, sender_tax_id=ANA)
    assert case.match().line("pi_1", *SHOWN) == ("matched", "reference", "cl:33::1042", 50_000)


def test_text_reference_amount_equal_and_no_other_candidate(case: "Case") -> None:
    """Without a tax id a text is believed where no other open document has the amount."""
    case.invoice("1042", 50_000)
    case.payment("pi_1", 50_000, texts="PED-1042")
    run = case.run()
    assert run.line("pi_1", "outcome", "match_rule") == ("matched", "reference:only_candidate")
    assert run.found() == set()


def test_text_reference_without_tax_id_and_another_candidate_anywhere(case: "Case") -> None:
    """Another open document of that amount, whoever's, takes the certainty away."""
    case.invoice("1042", 50_000)
    case.invoice("1043", 50_000, customer_tax_id=BRUNO)
    case.payment("pi_1", 50_000, texts="PED-1042")
    assert case.match().line("pi_1", "outcome", "match_stage") == ("no_document", "none")


def test_text_reference_with_another_amount_is_not_automatic(case: "Case") -> None:
    """A text alone does not make a part payment."""
    case.invoice("1042", 50_000)
    case.payment("pi_1", 45_000, texts="PED-1042", sender_tax_id=ANA)
    matched = case.match()
    assert matched.line("pi_1", "outcome") == ("no_document",)
    assert matched.document("cl:33::1042", "balance") == (50_000,)


def test_a_reference_is_a_whole_word() -> None:
    """Part of a longer number is no reference; separators and the letter O do not matter."""
    assert "1042" not in split_words("factura 210427")
    assert {"1042", "PED1042"} <= split_words("ped-1O42")


def test_of_two_payments_with_one_reference_the_older_is_meant(case: "Case") -> None:
    """The second payment with the same text finds the document paid and stays without one."""
    case.invoice("1042", 50_000)
    case.payment("pi_1", 50_000, texts="PED-1042", sender_tax_id=ANA)
    case.payment("pi_2", 50_000, texts="PED-1042", sender_tax_id=ANA, occurred_at="2026-10-05T16:00:00Z")
    matched = case.match()
    assert matched.line("pi_1", "outcome") == ("matched",)
    assert matched.line("pi_2", "outcome") == ("no_document",)


def test_texts_that_name_documents_of_two_customers_are_ambiguous(case: "Case") -> None:
    """Two references to documents of the same amount tie when nothing else decides."""
    case.invoice("1042", 50_000, order_ref="AAA-77")
    case.invoice("1043", 50_000, order_ref="BBB-88")
    case.payment("pi_1", 50_000, texts="AAA-77 BBB-88 CCC-99", sender_tax_id=ANA)
    case.payment("pi_2", 50_000, texts="AAA-77", sender_tax_id=ANA, occurred_at="2026-10-05T16:00:00Z")
    matched = case.match()
    assert matched.line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::1043")
    assert matched.line("pi_2", "outcome", "doc_key") == ("matched", "cl:33::1042")


@pytest.mark.parametrize(
    ("paid_on", "outcome"),
    [
        ("2026-10-01T15:00:00Z", "no_document"),  # four bank days before the issue
        ("2026-10-02T15:00:00Z", "matched"),  # three bank days before
        ("2026-10-29T15:00:00Z", "matched"),  # ten bank days after the due date
        ("2026-10-30T15:00:00Z", "no_document"),
    ],
)
def test_tax_id_and_amount_equal_inside_the_window(case: "Case", paid_on: str, outcome: str) -> None:
    """The window runs from 3 bank days before issue to 10 bank days after due, both included."""
    case.invoice("1", 50_000, issue_date=date(2026, 10, 7), due_date=date(2026, 10, 15))
    case.payment("pi_1", 50_000, customer_tax_id=ANA, occurred_at=paid_on)
    assert case.match().line("pi_1", "outcome") == (outcome,)


@pytest.mark.parametrize(("paid_on", "outcome"), [("2026-10-19", "matched"), ("2026-10-20", "no_document")])
def test_due_missing_means_issue_and_thirty_days(case: "Case", paid_on: str, outcome: str) -> None:
    """Without a due date the window closes ten bank days after the thirtieth day."""
    case.as_of = date(2026, 10, 20)
    case.invoice("1", 50_000, issue_date=date(2026, 9, 2), due_date=None)
    case.payment("pi_1", 50_000, sender_tax_id=ANA, occurred_at=f"{paid_on}T15:00:00Z")
    assert case.match().line("pi_1", "outcome") == (outcome,)


def test_the_rest_of_a_partly_paid_document_is_its_open_balance(case: "Case") -> None:
    """Amounts compare with what is still open, not with the total."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 20_000, metadata='{"order_ref": "PED-1"}')
    case.payment("pi_2", 30_000, sender_tax_id=ANA)
    matched = case.match()
    assert matched.line("pi_2", *SHOWN) == ("matched", "customer", "cl:33::1", 30_000)
    assert matched.document("cl:33::1", "outcome", "payments") == ("paid", 2)


def test_customer_of_a_payment_is_its_customer_else_its_sender(case: "Case") -> None:
    """The sender counts only where no customer is known."""
    case.invoice("1", 50_000, customer_tax_id=ANA)
    case.payment("pi_1", 50_000, customer_tax_id=BRUNO, sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome") == ("no_document",)


def test_generic_tax_ids_never_identify(case: "Case") -> None:
    """The tax id of the public at large names no customer: amount and window only suggest."""
    case.invoice("1", 50_000, customer_tax_id=PUBLIC)
    case.payment("pi_1", 50_000, customer_tax_id=PUBLIC)
    matched = case.match()
    assert matched.line("pi_1", "outcome", "match_stage") == ("suggested", "suggestion")


def test_a_tax_id_can_be_made_generic_by_a_rule(case: "Case") -> None:
    """The merchant may name further tax ids that identify no customer."""
    case.rules = {"generic_tax_ids": [ANA]}
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, customer_tax_id=ANA)
    assert case.match().line("pi_1", "outcome") == ("suggested",)


def test_several_identical_documents_and_payments_are_interchangeable(case: "Case") -> None:
    """As many as there are on the shorter side are paired, the oldest due first, and the rest stays open."""
    case.invoice("1", 50_000, due_date=date(2026, 10, 30))
    case.invoice("2", 50_000, due_date=date(2026, 10, 20))
    case.invoice("3", 50_000, due_date=date(2026, 10, 25))
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    case.payment("pi_2", 50_000, sender_tax_id=ANA, occurred_at="2026-10-05T14:00:00Z")
    run = case.run()
    assert run.line("pi_2", *SHOWN) == ("interchangeable", "customer", "cl:33::2", 50_000)
    assert run.line("pi_1", *SHOWN) == ("interchangeable", "customer", "cl:33::3", 50_000)
    assert run.document("cl:33::1", "outcome", "balance") == ("open_not_due", 50_000)
    assert run.found() == set()


def test_more_identical_payments_than_documents_leave_the_newest_without(case: "Case") -> None:
    """The rest has no document and says so."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    case.payment("pi_2", 50_000, sender_tax_id=ANA, occurred_at="2026-10-05T14:00:00Z")
    run = case.run()
    assert run.line("pi_2", "outcome") == ("interchangeable",)
    assert run.found() == {("PAYMENT_NO_INVOICE", "resource:pi_1", 50_000)}


def test_a_set_of_open_documents_proved_the_only_one(case: "Case") -> None:
    """One payment closes the two to five documents that alone sum to it, one line each."""
    for folio, total in (("1", 10_000), ("2", 20_000), ("3", 40_000), ("4", 80_000)):
        case.invoice(folio, total)
    case.payment("pi_1", 130_000, sender_tax_id=ANA)
    run = case.run()
    assert run.lines("pi_1", "line", "outcome", "match_stage", "doc_key", "applied_amount", "amount_signed") == [
        (1, "set", "set", "cl:33::1", 10_000, 130_000),
        (2, "set", "set", "cl:33::3", 40_000, None),
        (3, "set", "set", "cl:33::4", 80_000, None),
    ]
    assert run.found() == set()


def test_several_sets_that_sum_exactly_are_ambiguous(case: "Case") -> None:
    """Two sets tie: one exception for the payment, every rival listed."""
    for folio, total in (("1", 10_000), ("2", 40_000), ("3", 20_000), ("4", 30_000)):
        case.invoice(folio, total)
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    run = case.run()
    assert run.line("pi_1", "outcome", "rivals") == ("ambiguous", "cl:33::1 cl:33::2 cl:33::3 cl:33::4")
    assert run.found() == {("AMBIGUOUS", "resource:pi_1", 50_000)}
    assert run.finding("AMBIGUOUS").evidence["sets"] == [["cl:33::1", "cl:33::2"], ["cl:33::3", "cl:33::4"]]


def test_two_payments_that_want_one_set_are_both_ambiguous(case: "Case") -> None:
    """A set that two payments sum to is certain for neither."""
    case.invoice("1", 10_000)
    case.invoice("2", 40_000)
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    case.payment("pi_2", 50_000, sender_tax_id=ANA)
    matched = case.match()
    assert matched.line("pi_1", "outcome") == matched.line("pi_2", "outcome") == ("ambiguous",)


def test_a_set_never_has_six_documents(case: "Case") -> None:
    """Six documents that sum to a payment are no set."""
    for number in range(6):
        case.invoice(str(number), 10_000 + number)
    case.payment("pi_1", 60_015, sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome") == ("no_document",)


def test_a_pool_above_the_cap_is_not_searched_and_said(case: "Case") -> None:
    """Above 25 open documents of the customer the search is left, which the evidence tells."""
    for number in range(26):
        case.invoice(str(number), 10_000 + 7 * number)
    case.payment("pi_1", 20_007, sender_tax_id=ANA)
    run = case.run()
    assert run.line("pi_1", "outcome") == ("no_document",)
    assert run.finding("PAYMENT_NO_INVOICE").evidence["sets"] == 'note.too_many_documents {"count":26}'


def test_no_tax_id_and_amount_unique_on_both_sides_is_only_suggested(case: "Case") -> None:
    """A suggestion is shown beside the payment and closes nothing."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000)
    run = case.run()
    assert run.line("pi_1", *SHOWN) == ("suggested", "suggestion", "cl:33::1", None)
    assert run.found() == {("PAYMENT_NO_INVOICE", "resource:pi_1", 50_000)}
    assert run.finding("PAYMENT_NO_INVOICE").evidence["suggestion"] == "cl:33::1"
    assert run.document("cl:33::1", "balance") == (50_000,)


def test_no_tax_id_and_two_payments_of_the_amount_suggest_nothing(case: "Case") -> None:
    """The amount must be unique on the payments' side too."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000)
    case.payment("pi_2", 50_000)
    matched = case.match()
    assert matched.line("pi_1", "outcome") == matched.line("pi_2", "outcome") == ("no_document",)


def test_no_tax_id_and_several_documents_of_that_amount(case: "Case") -> None:
    """How many there are is in the evidence."""
    case.invoice("1", 50_000)
    case.invoice("2", 50_000, customer_tax_id=BRUNO)
    case.payment("pi_1", 50_000)
    run = case.run()
    assert run.line("pi_1", *SHOWN) == ("no_document", "none", None, None)
    assert run.finding("PAYMENT_NO_INVOICE").evidence["candidates"] == 2


def test_nothing_matches(case: "Case") -> None:
    """A payment nothing explains names the nearest document and the first test it failed."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 49_000, sender_tax_id=ANA)
    run = case.run()
    assert run.found() == {("PAYMENT_NO_INVOICE", "resource:pi_1", 49_000)}
    assert run.finding("PAYMENT_NO_INVOICE").evidence["nearest"] == {
        "document": "cl:33::1",
        "open_balance": 50_000,
        "failed": "note.amount",
        "amount_difference": -1_000,
    }


def test_the_nearest_miss_may_be_another_customers_document(case: "Case") -> None:
    """Where the customer has no document, one of that amount failed by its customer."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, sender_tax_id=BRUNO)
    nearest = case.run().finding("PAYMENT_NO_INVOICE").evidence["nearest"]
    assert isinstance(nearest, dict)
    assert (nearest["document"], nearest["failed"]) == ("cl:33::1", "note.customer")


def test_nothing_matches_across_currencies(case: "Case") -> None:
    """An equal number in another currency is no candidate for a customer, a set or a suggestion."""
    case.invoice("1", 50_000, currency="USD")
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    case.payment("pi_2", 50_000)
    assert case.match().line("pi_1", "outcome") == ("no_document",)


def test_a_payment_in_transit_closes_its_document(case: "Case") -> None:
    """Being paid out is another axis."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    matched = case.match()
    assert matched.line("pi_1", "payout_id", "outcome") == (None, "matched")
    assert matched.document("cl:33::1", "outcome") == ("paid",)


def test_a_large_block_of_equals_is_paired_as_a_small_one(case: "Case") -> None:
    """Above the block limit the same rule pairs without listing every possible pair."""
    for number in range(110):
        case.invoice(f"{number:03}", 50_000)
        case.payment(f"pi_{number:03}", 50_000, sender_tax_id=ANA)
    run = case.run()
    assert run.line("pi_000", *SHOWN) == ("interchangeable", "customer", "cl:33::000", 50_000)
    assert run.line("pi_109", *SHOWN) == ("interchangeable", "customer", "cl:33::109", 50_000)
    assert run.found() == set()
