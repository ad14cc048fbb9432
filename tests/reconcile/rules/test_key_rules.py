"""Payments with a key: the rows of the matching table that begin with one, from the top."""

from datetime import date
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO = "11111111-1", "22222222-2"
PED_1 = '{"order_ref": "PED-1"}'
SHOWN = ("outcome", "match_stage", "doc_key", "applied_amount")


@pytest.mark.parametrize(
    "metadata",
    [
        '{"order_ref": "PED-1"}',
        '{"order_id": " ped-1 "}',
        '{"doc_type": "33", "folio": "0001"}',
        '{"doc_type": 33, "folio": 1}',
        '{"invoice": "cl:33::1"}',
        '{"invoice": "PED-1"}',
        '{"folio": "1"}',
    ],
)
def test_every_identity_key_names_its_document(case: "Case", metadata: str) -> None:
    """A payment is matched by any of the keys the rules know, however the merchant writes it."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, metadata=metadata)
    run = case.run()
    assert run.line("pi_1", *SHOWN) == ("matched", "key", "cl:33::1", 50_000)
    assert run.found() == set()


@pytest.mark.parametrize("order_ref", ["STRAßE-1", "ﬁn-7", "PEÑ-1"])
def test_a_key_is_the_same_name_in_any_alphabet(case: "Case", order_ref: str) -> None:
    """Letters that are written large in more than one way are written large alike on both sides."""
    case.invoice("1", 50_000, order_ref=order_ref, customer_tax_id=None)
    case.payment("pi_1", 50_000, metadata=f'{{"order_ref": "{order_ref}"}}', customer_tax_id=None)
    assert case.match().line("pi_1", *SHOWN) == ("matched", "key", "cl:33::1", 50_000)


def test_a_uuid_names_a_mexican_document_in_any_case(mexican_case: "Case") -> None:
    """The UUID identifies, written small or large."""
    uuid = "6f9619ff-8b86-4011-b42d-00c04fc964ff"
    mexican_case.invoice("7", 116_000, doc_key=f"mx:uuid:{uuid}", doc_type="I", uuid=uuid)
    mexican_case.payment("pi_1", 116_000, metadata=f'{{"uuid": "{uuid.upper()}"}}')
    assert mexican_case.match().line("pi_1", *SHOWN) == ("matched", "key", f"mx:uuid:{uuid}", 116_000)


def test_a_folio_alone_is_a_key_only_when_one_open_document_has_it(case: "Case") -> None:
    """Two documents with one folio leave the folio without meaning."""
    case.invoice("1", 50_000, customer_tax_id=None)
    case.invoice("1", 60_000, doc_key="cl:39::1", doc_type="39", customer_tax_id=None, order_ref="PED-2")
    case.payment("pi_1", 55_000, metadata='{"folio": "1"}')
    assert case.match().line("pi_1", "outcome", "match_stage") == ("no_document", "none")


def test_key_other_currency(case: "Case") -> None:
    """A key to a document in another currency matches nothing and says so."""
    case.invoice("1", 50_000, currency="USD")
    case.payment("pi_1", 50_000, metadata=PED_1)
    run = case.run()
    assert run.line("pi_1", *SHOWN) == ("no_document", "none", None, None)
    assert run.found() == {("CURRENCY_DIFF", "resource:pi_1", 50_000)}
    assert run.finding("CURRENCY_DIFF").evidence["document_currency"] == "USD"


def test_key_names_a_void_document(case: "Case") -> None:
    """A payment of a void document has none."""
    case.invoice("1", 50_000, status="anulada")
    case.payment("pi_1", 50_000, metadata=PED_1)
    run = case.run()
    assert run.line("pi_1", "outcome") == ("no_document",)
    assert run.found() == {("PAID_CANCELLED_DOC", "resource:pi_1", 50_000)}
    assert run.document("cl:33::1", "outcome", "balance") == ("void", 0)


def test_key_names_a_void_document_that_one_valid_invoice_replaces(case: "Case") -> None:
    """The payment goes to the invoice that refers to the void one, for the same customer and total."""
    case.invoice("1", 50_000, status="void")
    case.invoice("2", 50_000, ref_type="33", ref_number="1")
    case.invoice("3", 49_000, ref_type="33", ref_number="1")
    case.payment("pi_1", 50_000, metadata=PED_1)
    run = case.run()
    assert run.line("pi_1", *SHOWN) == ("matched", "key", "cl:33::2", 50_000)
    assert run.found() == set()


def test_a_void_document_with_two_possible_replacements_has_none(case: "Case") -> None:
    """Two invoices that could replace it leave the payment without a document."""
    case.invoice("1", 50_000, status="void")
    case.invoice("2", 50_000, ref_type="33", ref_number="1")
    case.invoice("3", 50_000, ref_type="33", ref_number="1")
    case.payment("pi_1", 50_000, metadata=PED_1)
    assert case.run().found() == {("PAID_CANCELLED_DOC", "resource:pi_1", 50_000)}


def test_key_names_a_document_fully_credited_before_the_payment(case: "Case") -> None:
    """What a note took back before the payment cannot be paid."""
    case.invoice("1", 50_000)
    case.note("9", "1", 50_000, issue_date=date(2026, 10, 2))
    case.payment("pi_1", 50_000, metadata=PED_1)
    run = case.run()
    assert run.found() == {("PAID_CANCELLED_DOC", "resource:pi_1", 50_000)}
    assert run.document("cl:33::1", "outcome", "credited", "balance") == ("credited", 50_000, 0)


def test_key_document_already_fully_paid(case: "Case") -> None:
    """The second payment of a document is a duplicate; the first stays matched."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, metadata=PED_1)
    case.payment("pi_2", 50_000, metadata=PED_1, occurred_at="2026-10-05T16:00:00Z")
    run = case.run()
    assert run.line("pi_1", *SHOWN) == ("matched", "key", "cl:33::1", 50_000)
    assert run.line("pi_2", *SHOWN) == ("duplicate", "key", "cl:33::1", None)
    assert run.found() == {("DUPLICATE_PAYMENT", "resource:pi_2", 50_000)}
    assert run.document("cl:33::1", "outcome", "paid", "payments") == ("paid", 50_000, 1)


def test_among_payments_naming_one_document_the_equal_one_is_placed_first(case: "Case") -> None:
    """An older payment of another amount does not take the place of the equal one."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 20_000, metadata=PED_1, occurred_at="2026-10-05T13:00:00Z")
    case.payment("pi_2", 50_000, metadata=PED_1)
    matched = case.match()
    assert matched.line("pi_2", "outcome") == ("matched",)
    assert matched.line("pi_1", "outcome") == ("duplicate",)


def test_key_amounts_equal_tax_ids_differ(case: "Case") -> None:
    """The match stands, and the other customer is said."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, metadata=PED_1, sender_tax_id=BRUNO)
    run = case.run()
    assert run.line("pi_1", *SHOWN) == ("matched", "key", "cl:33::1", 50_000)
    assert run.found() == {("CUSTOMER_DIFF", "resource:pi_1", 0)}
    assert run.finding("CUSTOMER_DIFF").severity == "low"


def test_where_a_customer_is_known_a_different_sender_is_only_a_note(case: "Case") -> None:
    """The customer's own tax id decides, whoever's account the money came from."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 50_000, metadata=PED_1, customer_tax_id=ANA, sender_tax_id=BRUNO)
    run = case.run()
    assert run.found() == set()
    assert run.line("pi_1", "outcome", "note") == ("matched", "note.another_payer")


def test_key_amounts_differ_tax_ids_both_known_and_different(case: "Case") -> None:
    """A key with another amount and another customer is not believed, and is in the evidence."""
    case.invoice("1", 50_000)
    case.payment("pi_1", 30_000, metadata=PED_1, sender_tax_id=BRUNO)
    run = case.run()
    assert run.line("pi_1", *SHOWN) == ("no_document", "none", None, None)
    assert run.found() == {("PAYMENT_NO_INVOICE", "resource:pi_1", 30_000)}
    evidence = run.finding("PAYMENT_NO_INVOICE").evidence
    assert (evidence["key"], evidence["document"]) == ("order_ref", "cl:33::1")


def test_key_amounts_differ_another_open_document_of_the_customer_equals(case: "Case") -> None:
    """The key says one document and the amount another: neither is certain."""
    case.invoice("1", 50_000)
    case.invoice("2", 30_000)
    case.payment("pi_1", 30_000, metadata=PED_1, sender_tax_id=ANA)
    run = case.run()
    assert run.line("pi_1", "outcome", "rivals") == ("ambiguous", "cl:33::1 cl:33::2")
    assert run.found() == {("AMBIGUOUS", "resource:pi_1", 30_000)}


def test_an_equal_document_that_another_payment_pays_is_no_rival(case: "Case") -> None:
    """A part payment stays a part where the document of its amount is paid by its own payment."""
    case.invoice("1", 50_000)
    case.invoice("2", 30_000)
    case.payment("pi_1", 30_000, metadata=PED_1, sender_tax_id=ANA)
    case.payment("pi_2", 30_000, metadata='{"order_ref": "PED-2"}', sender_tax_id=ANA)
    matched = case.match()
    assert matched.line("pi_1", "outcome", "doc_key") == ("partial", "cl:33::1")
    assert matched.line("pi_2", "outcome", "doc_key") == ("matched", "cl:33::2")


@pytest.mark.parametrize(("amount", "difference"), [(49_999, -1), (50_001, 1)])
def test_key_one_minor_unit_off(case: "Case", amount: int, difference: int) -> None:
    """One unit of rounding counts as paid and stays visible."""
    case.invoice("1", 50_000)
    case.payment("pi_1", amount, metadata=PED_1)
    run = case.run()
    shown = run.line("pi_1", "outcome", "applied_amount", "difference", "doc_balance_after")
    assert shown == ("matched_with_difference", 50_000, difference, 0)
    assert run.document("cl:33::1", "outcome", "balance") == ("paid", 0)
    assert run.found() == set()


def test_key_amount_below_the_balance_and_the_rest_is_small(case: "Case") -> None:
    """A rest of at most 15 % of the total is an amount difference of its size."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 85_000, metadata=PED_1)
    run = case.run()
    assert run.line("pi_1", "outcome", "applied_amount", "doc_balance_after") == ("partial", 85_000, 15_000)
    assert run.found() == {("AMOUNT_DIFF", "resource:pi_1", 15_000)}
    assert run.document("cl:33::1", "outcome", "balance") == ("partly_paid", 15_000)


def test_key_amount_below_the_balance_and_the_rest_is_large(case: "Case") -> None:
    """A larger rest is no exception until it is overdue."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 84_999, metadata=PED_1)
    assert case.run().found() == set()


@pytest.mark.parametrize(
    ("metadata", "method"),
    [('{"order_ref": "PED-1", "installments": "2"}', None), ('{"order_ref": "PED-1"}', "PPD")],
)
def test_declared_instalments_make_a_small_rest_no_exception(case: "Case", metadata: str, method: str | None) -> None:
    """Instalments are declared by the payment's metadata or by the document."""
    case.invoice("1", 100_000, payment_method=method)
    case.payment("pi_1", 90_000, metadata=metadata)
    assert case.run().found() == set()


def test_one_instalment_is_no_declaration(case: "Case") -> None:
    """Paying in one part declares nothing."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 90_000, metadata='{"order_ref": "PED-1", "installments": 1}')
    assert case.run().found() == {("AMOUNT_DIFF", "resource:pi_1", 10_000)}


def test_the_part_that_brings_the_balance_to_zero_is_matched(case: "Case") -> None:
    """Parts run down the balance in their order, and the last one closes it."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 60_000, metadata=PED_1, occurred_at="2026-10-05T13:00:00Z")
    case.payment("pi_2", 10_000, metadata=PED_1, occurred_at="2026-10-05T14:00:00Z")
    case.payment("pi_3", 30_000, metadata=PED_1)
    run = case.run()
    assert run.line("pi_1", "outcome", "doc_balance_after") == ("partial", 40_000)
    assert run.line("pi_2", "outcome", "doc_balance_after") == ("partial", 30_000)
    assert run.line("pi_3", "outcome", "doc_balance_after") == ("matched", 0)
    assert run.found() == set()
    assert run.document("cl:33::1", "outcome", "paid", "payments") == ("paid", 100_000, 3)


def test_key_amount_above_the_balance(case: "Case") -> None:
    """Too much money is applied whole and the document is overpaid."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 120_000, metadata=PED_1)
    run = case.run()
    shown = run.line("pi_1", "outcome", "applied_amount", "difference", "doc_balance_after")
    assert shown == ("matched_with_difference", 120_000, 20_000, -20_000)
    assert run.found() == {("AMOUNT_DIFF", "resource:pi_1", 20_000)}
    assert run.document("cl:33::1", "outcome", "balance") == ("overpaid", -20_000)


def test_a_note_before_the_payment_lowers_the_open_balance(case: "Case") -> None:
    """A payment of what a note left is equal."""
    case.invoice("1", 100_000)
    case.note("9", "1", 30_000, issue_date=date(2026, 10, 2))
    case.payment("pi_1", 70_000, metadata=PED_1)
    matched = case.match()
    assert matched.line("pi_1", "outcome") == ("matched",)
    assert matched.document("cl:33::1", "outcome", "paid", "credited", "balance") == ("paid", 70_000, 30_000, 0)


@pytest.mark.parametrize(
    ("payer", "other", "outcome"),
    [
        (None, BRUNO, "ambiguous"),
        (None, None, "ambiguous"),
        ("66666666-6", BRUNO, "ambiguous"),
        (ANA, BRUNO, "partial"),
        (ANA, ANA, "ambiguous"),
        (ANA, None, "partial"),
    ],
)
def test_a_payer_nobody_knows_may_have_meant_the_document_of_that_amount(
    case: "Case", payer: str | None, other: str | None, outcome: str
) -> None:
    """The key names one document and the amount another: only a known payer tells which of them is mistaken."""
    case.invoice("1", 100_000, customer_tax_id=ANA)
    case.invoice("2", 30_000, customer_tax_id=other, order_ref="PED-2")
    case.payment("pi_1", 30_000, metadata=PED_1, sender_tax_id=payer)
    matched = case.match()
    assert matched.line("pi_1", "outcome") == (outcome,)
    assert matched.document("cl:33::1", "balance") == (70_000 if outcome == "partial" else 100_000,)


def test_an_equal_document_long_past_its_dates_is_no_rival_of_a_key(case: "Case") -> None:
    """What a stranger should have paid months ago casts no doubt on the document that is named."""
    case.invoice("1", 100_000, customer_tax_id=ANA)
    case.invoice("2", 30_000, customer_tax_id=BRUNO, order_ref="PED-2", issue_date="2026-01-05", due_date="2026-02-05")
    case.payment("pi_1", 30_000, metadata=PED_1)
    assert case.match().line("pi_1", "outcome") == ("partial",)
