"""A void document of the payer's with exactly the amount: a rival of matches without a key, and the nearest miss."""

from datetime import date
from typing import TYPE_CHECKING

from reports.wording.phrases import action_of

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ANA, BRUNO = "11111111-1", "22222222-2"


def test_a_void_document_is_a_rival_of_tax_id_and_amount(case: "Case") -> None:
    """It is unknown whether the payment is for the valid document or for the one that was called off."""
    case.invoice("1", 50_000)
    case.invoice("2", 50_000, status="void")
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    run = case.run()
    assert run.line("pi_1", "outcome", "match_rule", "doc_key") == ("ambiguous", "customer:void_equal", None)
    assert run.finding("AMBIGUOUS").evidence["rivals"] == ["cl:33::1", "cl:33::2"]
    assert run.finding("AMBIGUOUS").evidence["void_documents"] == ["cl:33::2"]


def test_a_void_document_is_a_rival_of_interchangeable_ones(case: "Case") -> None:
    """Equal documents beside an equal void one are not shared out."""
    case.invoice("1", 50_000)
    case.invoice("2", 50_000)
    case.invoice("3", 50_000, status="void")
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome") == ("ambiguous",)


def test_a_void_document_is_a_rival_of_a_set(case: "Case") -> None:
    """The payment may be for the void document of its amount and not for the two that sum to it."""
    case.invoice("1", 30_123)
    case.invoice("2", 20_456)
    case.invoice("3", 50_579, status="void")
    case.payment("pi_1", 50_579, sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome", "match_rule") == ("ambiguous", "set:void_equal")


def test_a_void_document_is_a_rival_of_a_text_reference(case: "Case") -> None:
    """A text is no key: though it names the valid document, the payer's void one has the amount too."""
    case.invoice("1", 50_000)
    case.invoice("2", 50_000, status="void")
    case.payment("pi_1", 50_000, sender_tax_id=ANA, texts="PED-1")
    run = case.run()
    assert run.line("pi_1", "outcome", "match_rule", "doc_key") == ("ambiguous", "reference:void_equal", None)
    assert run.finding("AMBIGUOUS").evidence["rivals"] == ["cl:33::1", "cl:33::2"]
    assert run.finding("AMBIGUOUS").evidence["void_documents"] == ["cl:33::2"]
    case.rows["documents"][0] |= {"ref_type": "33", "ref_number": "2"}
    assert case.run().line("pi_1", "outcome", "match_rule", "doc_key") == (
        "matched", "reference:tax_id", "cl:33::1",
    )  # fmt: skip


def test_a_text_reference_beside_a_void_document_leaves_other_payments_alone(case: "Case") -> None:
    """Bruno has no void document: his reference is believed as before."""
    case.invoice("1", 50_000)
    case.invoice("2", 50_000, status="void")
    case.invoice("3", 50_000, customer_tax_id=BRUNO)
    case.payment("pi_1", 50_000, sender_tax_id=ANA, texts="PED-1")
    case.payment("pi_2", 50_000, sender_tax_id=BRUNO, texts="PED-3")
    matched = case.match()
    assert matched.line("pi_1", "outcome", "doc_key") == ("ambiguous", None)
    assert matched.line("pi_2", "outcome", "match_rule", "doc_key") == ("matched", "reference:tax_id", "cl:33::3")


def test_a_void_document_that_a_valid_one_refers_to_is_no_rival(case: "Case") -> None:
    """What was issued again in its place is meant."""
    case.invoice("2", 50_000, status="void")
    case.invoice("1", 50_000, ref_type="33", ref_number="2")
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome", "match_stage", "doc_key") == ("matched", "customer", "cl:33::1")


def test_only_the_payers_own_equal_void_documents_of_its_dates_are_rivals(case: "Case") -> None:
    """Another customer's, another amount's, another currency's and last year's void documents say nothing."""
    case.invoice("1", 50_000)
    case.invoice("2", 50_000, status="void", customer_tax_id=BRUNO)
    case.invoice("3", 50_001, status="void")
    case.invoice("4", 50_000, status="void", currency="USD")
    case.invoice("5", 50_000, status="void", issue_date=date(2025, 10, 1), due_date=date(2025, 10, 31))
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    assert case.match().line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::1")


def test_a_key_is_believed_beside_a_void_document(case: "Case") -> None:
    """Whoever names the valid document by a key pays it; a text that names it then finds only the void one."""
    case.invoice("1", 50_000)
    case.invoice("2", 50_000, status="void")
    case.payment("pi_1", 50_000, sender_tax_id=ANA, metadata='{"order_ref": "PED-1"}')
    case.payment("pi_2", 50_000, sender_tax_id=ANA, texts="PED-1", occurred_at="2026-10-05T16:00:00Z")
    run = case.run()
    assert run.line("pi_1", "outcome", "doc_key") == ("matched", "cl:33::1")
    assert run.line("pi_2", "outcome", "doc_key") == ("no_document", None)
    assert run.finding("PAYMENT_NO_INVOICE").evidence["nearest"] == {
        "document": "cl:33::2", "total": 50_000, "failed": "note.document_is_void",
    }  # fmt: skip


def test_a_void_document_of_the_amount_is_the_nearest_miss(case: "Case") -> None:
    """Who paid what was called off is refunded, or gets the document again; nothing is to be found."""
    case.invoice("1", 50_000, status="void")
    case.invoice("2", 70_000)
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    run = case.run()
    assert run.line("pi_1", "outcome", "match_stage") == ("no_document", "none")
    found = run.finding("PAYMENT_NO_INVOICE")
    assert found.evidence["nearest"] == {"document": "cl:33::1", "total": 50_000, "failed": "note.document_is_void"}
    english = "Refund the payment, or issue the document again: the customer's document of this amount is void"
    spanish = "Reembolsar el pago o emitir de nuevo el documento: el del cliente por este monto está anulado"
    assert found.suggested_action == english
    assert action_of(english, "es-CL", "PAYMENT_NO_INVOICE") == spanish
    assert action_of(english, "en", "PAYMENT_NO_INVOICE") == english


def test_an_open_document_of_the_amount_is_nearer_than_a_void_one(case: "Case") -> None:
    """Where an open document has the amount and only its dates do not fit, that one is named."""
    case.invoice("1", 50_000, status="void", issue_date=date(2026, 5, 1), due_date=date(2026, 5, 30))
    case.invoice("2", 50_000, issue_date=date(2026, 6, 1), due_date=date(2026, 6, 30))
    case.payment("pi_1", 50_000, sender_tax_id=ANA)
    nearest = case.run().finding("PAYMENT_NO_INVOICE").evidence["nearest"]
    assert isinstance(nearest, dict)
    assert (nearest["document"], nearest["failed"]) == ("cl:33::2", "note.date")
