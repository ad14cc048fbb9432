"""Keys that several documents bear, keys that contradict each other, and keys that name nothing."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO = "11111111-1", "22222222-2"
PED_1 = '{"order_ref": "PED-1"}'


def test_an_order_with_two_invoices_is_paid_whole(case: "Case") -> None:
    """A key that two documents bear is a set when the payment equals both together."""
    case.invoice("1", 60_000, order_ref="PED-1")
    case.invoice("2", 40_000, order_ref="PED-1")
    case.payment("pi_1", 100_000, metadata=PED_1)
    assert case.match().lines("pi_1", "line", "outcome", "doc_key", "applied_amount", "amount_signed") == [
        (1, "set", "cl:33::1", 60_000, 100_000),
        (2, "set", "cl:33::2", 40_000, None),
    ]


def test_an_order_with_two_invoices_of_which_one_equals(case: "Case") -> None:
    """The amount says which of the order's documents is meant."""
    case.invoice("1", 60_000, order_ref="PED-1")
    case.invoice("2", 40_000, order_ref="PED-1")
    case.payment("pi_1", 40_000, metadata=PED_1)
    assert case.match().line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::2")


def test_keys_that_contradict_each_other_are_ambiguous(case: "Case") -> None:
    """One key names one document, another key another one."""
    case.invoice("1", 60_000)
    case.invoice("2", 60_000)
    case.payment("pi_1", 60_000, metadata='{"order_ref": "PED-1", "doc_type": "33", "folio": "2"}')
    matched = case.match()
    assert matched.line("pi_1", "outcome", "rivals") == ("ambiguous", "cl:33::1 cl:33::2")


def test_a_valid_document_is_meant_where_a_void_one_bears_the_same_order(case: "Case") -> None:
    """An order whose invoice was issued again is paid on the valid one."""
    case.invoice("1", 60_000, status="void", order_ref="PED-1")
    case.invoice("2", 60_000, order_ref="PED-1")
    case.payment("pi_1", 60_000, metadata=PED_1)
    assert case.match().line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::2")


def test_a_key_to_nothing_is_no_key(case: "Case") -> None:
    """A reference the books do not know leaves the tax id and amount to decide, and is shown."""
    case.invoice("1", 60_000)
    case.payment("pi_1", 60_000, metadata='{"order_ref": "WEB-9"}', sender_tax_id=ANA)
    case.payment("pi_2", 61_000, metadata='{"order_ref": "WEB-8"}', sender_tax_id=BRUNO)
    run = case.run()
    assert run.line("pi_1", "outcome", "match_stage", "order_ref") == ("matched", "customer", "WEB-9")
    assert run.finding("PAYMENT_NO_INVOICE").evidence["keys_in_the_payment"] == {"order_ref": "WEB-8"}


def test_a_word_that_every_document_bears_identifies_none(case: "Case") -> None:
    """An order reference on 51 documents is no key."""
    for number in range(51):
        case.invoice(str(number), 1_000 + number, order_ref="WEB", customer_tax_id=None)
    case.payment("pi_1", 1_500_000, metadata='{"order_ref": "WEB"}')
    assert case.match().line("pi_1", "outcome", "match_stage") == ("no_document", "none")


def test_an_order_with_two_equal_invoices_is_interchangeable(case: "Case") -> None:
    """Which of two equal documents of one order is paid makes no difference: the one due first."""
    case.invoice("1", 40_000, order_ref="PED-1")
    case.invoice("2", 40_000, order_ref="PED-1")
    case.payment("pi_1", 40_000, metadata=PED_1)
    assert case.match().line("pi_1", "outcome", "doc_key", "rivals") == ("interchangeable", "cl:33::1", "cl:33::2")


def test_an_order_whose_invoices_are_all_paid_is_a_duplicate(case: "Case") -> None:
    """A third payment of an order of two paid invoices pays nothing."""
    case.invoice("1", 60_000, order_ref="PED-1")
    case.invoice("2", 40_000, order_ref="PED-1")
    case.payment("pi_1", 60_000, metadata=PED_1)
    case.payment("pi_2", 40_000, metadata=PED_1, occurred_at="2026-10-05T15:30:00Z")
    case.payment("pi_3", 40_000, metadata=PED_1, occurred_at="2026-10-05T16:00:00Z")
    run = case.run()
    assert run.line("pi_3", "outcome") == ("duplicate",)
    assert run.finding("DUPLICATE_PAYMENT").evidence["paid_by"] == ["pi_1", "pi_2"]


def test_an_order_with_two_invoices_and_another_amount_is_ambiguous(case: "Case") -> None:
    """Nothing says which of the two was paid in part."""
    case.invoice("1", 60_000, order_ref="PED-1")
    case.invoice("2", 40_000, order_ref="PED-1")
    case.payment("pi_1", 30_000, metadata=PED_1)
    run = case.run()
    assert run.found() == {("AMBIGUOUS", "resource:pi_1", 30_000)}
    assert run.finding("AMBIGUOUS").evidence["rivals"] == ["cl:33::1", "cl:33::2"]


def test_a_single_key_among_shared_ones_decides(case: "Case") -> None:
    """The order has two invoices and the folio says which."""
    case.invoice("1", 60_000, order_ref="PED-1")
    case.invoice("2", 60_000, order_ref="PED-1")
    case.payment("pi_1", 60_000, metadata='{"order_ref": "PED-1", "doc_type": "33", "folio": "2"}')
    assert case.match().line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::2")
