"""The document that each sale needs, and sales that have another."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

COMPANY, PERSON, PUBLIC = "76543210-3", "11111111-1", "66666666-6"
COMPANY_RFC, PERSON_RFC, PUBLIC_RFC = "ABC010101AB1", "VECJ880326XX1", "XAXX010101000"
PED_1 = '{"order_ref": "PED-1"}'


@pytest.mark.parametrize(
    ("model", "subtype", "payer", "expected"),
    [
        ("voucher", "bank_transfer", {"customer_tax_id": COMPANY}, "invoice"),
        ("voucher", "bank_transfer", {"sender_tax_id": COMPANY}, "invoice"),
        ("voucher", "bank_transfer", {"customer_tax_id": PERSON, "sender_tax_id": COMPANY}, "boleta_or_invoice"),
        ("voucher", "bank_transfer", {"customer_tax_id": PUBLIC}, "boleta_or_invoice"),
        ("voucher", "bank_transfer", {}, "boleta_or_invoice"),
        ("voucher", "pac", {"customer_tax_id": COMPANY}, "boleta_or_invoice"),
        ("voucher", "debit_card", {}, "voucher"),
        ("voucher", "credit_card", {"customer_tax_id": COMPANY}, "voucher_or_invoice"),
        ("boleta", "credit_card", {}, "boleta"),
        ("boleta", "credit_card", {"customer_tax_id": COMPANY}, "boleta_or_invoice"),
        ("both", "prepaid_card", {}, "voucher_or_boleta"),
        ("both", "credit_card", {"customer_tax_id": COMPANY}, "voucher_boleta_or_invoice"),
    ],
)
def test_chile_by_means_receiver_and_model(
    case: "Case", model: str, subtype: str, payer: dict[str, str], expected: str
) -> None:
    """A company's transfer needs an invoice, a person's a boleta at least, a card what the merchant declared."""
    case.voucher_model = model
    case.payment("pi_1", 50_000, resource_subtype=subtype, **payer)
    assert case.match().line("pi_1", "expected_doc") == (expected,)


@pytest.mark.parametrize(
    ("payer", "expected"),
    [
        ({"customer_tax_id": PERSON_RFC}, "cfdi"),
        ({"sender_tax_id": COMPANY_RFC}, "cfdi"),
        ({"sender_tax_id": PERSON_RFC}, "cfdi_or_global"),
        ({"customer_tax_id": PUBLIC_RFC}, "cfdi_or_global"),
        ({}, "cfdi_or_global"),
    ],
)
def test_mexico_by_receiver(mexican_case: "Case", payer: dict[str, str], expected: str) -> None:
    """A customer with an RFC and a company get their own; who only sent money as a person asked for none."""
    mexican_case.payment("pi_1", 50_000, **payer)
    assert mexican_case.match().line("pi_1", "expected_doc") == (expected,)


@pytest.mark.parametrize("receiver", [None, PUBLIC, COMPANY])
def test_transfer_of_a_company_with_a_boleta(case: "Case", receiver: str | None) -> None:
    """It is named once, with the document and who bought."""
    case.invoice("1", 50_000, doc_type="39", doc_key="cl:39::1", customer_tax_id=receiver)
    case.payment("pi_1", 50_000, metadata=PED_1, customer_tax_id=COMPANY)
    run = case.run()
    assert run.found() == {("EXPECTED_DOC_MISSING", "resource:pi_1", 50_000)}
    found = run.finding("EXPECTED_DOC_MISSING")
    assert (found.severity, found.doc_key, found.evidence) == (
        "medium", "cl:39::1", {"document": "cl:39::1", "customer": COMPANY, "expected_doc": "invoice"},
    )  # fmt: skip
    assert run.line("pi_1", "outcome", "expected_doc", "exception_code") == (
        "matched", "invoice", "EXPECTED_DOC_MISSING"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("document", "payment"),
    [
        ({}, {"customer_tax_id": PERSON}),
        ({}, {"customer_tax_id": COMPANY, "resource_subtype": "credit_card"}),
        ({"doc_type": "34"}, {"customer_tax_id": COMPANY}),
        ({"customer_tax_id": PERSON}, {"customer_tax_id": PERSON, "sender_tax_id": COMPANY}),
    ],
)
def test_documents_that_serve_are_not_named(case: "Case", document: dict[str, str], payment: dict[str, str]) -> None:
    """A person's boleta, a card's, a company's invoice, and a person's for whom a company paid."""
    case.invoice("1", 50_000, **({"doc_type": "39", "customer_tax_id": None} | document))
    case.payment("pi_1", 50_000, metadata=PED_1, **payment)
    assert case.run().found() == set()


def test_boleta_taken_back_by_a_note_is_not_named(case: "Case") -> None:
    """Its note names what is left to do."""
    case.invoice("1", 50_000, doc_type="39", doc_key="cl:39::1", customer_tax_id=None)
    case.note("2", "1", 50_000, ref_type="39", issue_date="2026-10-06")
    case.payment("pi_1", 50_000, metadata=PED_1, customer_tax_id=COMPANY)
    assert "EXPECTED_DOC_MISSING" not in {code for code, _, _ in case.run().found()}


@pytest.mark.parametrize(("receiver", "found"), [(PUBLIC_RFC, 1), (PERSON_RFC, 0), (None, 0)])
def test_known_rfc_under_that_of_the_public(mexican_case: "Case", receiver: str | None, found: int) -> None:
    """A customer with an RFC whose document bears the public's is named; one without a stated receiver is not."""
    mexican_case.invoice("1", 50_000, doc_type="I", customer_tax_id=receiver)
    mexican_case.payment("pi_1", 50_000, metadata=PED_1, customer_tax_id=PERSON_RFC)
    codes = [code for code, _, _ in mexican_case.run().found()]
    assert codes == ["EXPECTED_DOC_MISSING"] * found


def test_sale_without_a_document_has_one_exception(case: "Case") -> None:
    """What matched nothing says it already."""
    case.payment("pi_1", 50_000, customer_tax_id=COMPANY)
    assert case.run().found() == {("PAYMENT_NO_INVOICE", "resource:pi_1", 50_000)}


def test_changed_document_is_named_once_with_what_changed(mexican_case: "Case") -> None:
    """At risk is what the totals differ by; it counts from the day of issue."""
    key = mexican_case.invoice("1", 116_000, doc_type="I", issue_date="2026-10-01", due_date="2026-12-01")
    mexican_case.add("changed_documents", doc_key=key, currency="MXN", total=116_000, difference=-16_000,
                     fields="customer_tax_id total")  # fmt: skip
    run = mexican_case.run()
    assert run.found() == {("DOCUMENT_CHANGED", f"document:{key}", 16_000)}
    found = run.finding("DOCUMENT_CHANGED")
    assert (found.severity, found.doc_key, str(found.fact_on), found.evidence) == (
        "high", key, "2026-10-01",
        {"total": 116_000, "difference": -16_000, "changed_fields": ["customer_tax_id", "total"]},
    )  # fmt: skip
