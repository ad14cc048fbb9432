"""Rules of operations: a payment complement names the documents of the payment that bears its operation."""

import pytest

from tests.reconcile.rules.conftest import Case

UUID = "aaaaaaaa-1111-4222-8333-aaaaaaaaaaaa"
OTHER = "bbbbbbbb-1111-4222-8333-bbbbbbbbbbbb"


def _sale(case: Case, uuid: str, total: int, **given: str) -> str:
    return case.invoice(
        uuid[:4], total, doc_key=f"mx:uuid:{uuid}", doc_type="I", uuid=uuid, order_ref=None,
        customer_tax_id="XIA190128J61", **given,
    )  # fmt: skip


def test_an_operation_is_a_key(mexican_case: Case) -> None:
    """Without any other name a payment is matched with the document that its complement settles."""
    doc, _ = _sale(mexican_case, UUID, 116000), _sale(mexican_case, OTHER, 116000)
    mexican_case.payment("pi_1", 116000)
    mexican_case.add("operations", resource_id="pi_1", doc_key=doc)
    matched = mexican_case.match()
    assert matched.line("pi_1", "outcome", "match_stage", "match_rule", "doc_uuid") == (
        "matched", "key", "key:operation", UUID,
    )  # fmt: skip


def test_an_instalment_by_its_operation_is_a_part(mexican_case: Case) -> None:
    """Below the balance of a document in instalments it is a part, and nothing is wrong."""
    doc = _sale(mexican_case, UUID, 116000, payment_method="PPD")
    mexican_case.payment("pi_1", 50000)
    mexican_case.add("operations", resource_id="pi_1", doc_key=doc)
    run = mexican_case.run()
    assert run.line("pi_1", "outcome", "match_rule") == ("partial", "key:operation:part")
    assert run.document(doc, "paid", "balance") == (50000, 66000)


def test_a_complement_of_several_documents_names_all_of_them(mexican_case: Case) -> None:
    """One payment that equals their sum pays them as a set; less than that is for a person."""
    docs = [_sale(mexican_case, UUID, 100000), _sale(mexican_case, OTHER, 16000)]
    for payment, amount in (("pi_1", 116000),):
        mexican_case.payment(payment, amount)
        for doc in docs:
            mexican_case.add("operations", resource_id=payment, doc_key=doc)
    assert mexican_case.match().lines("pi_1", "outcome", "applied_amount") == [("set", 100000), ("set", 16000)]


PARTS = [
    ((60000, 56000), 116000, [("set", 60000), ("set", 56000)], [(60000, 40000), (56000, 64000)]),
    # Parts that are not the payment, one beyond what is open, and one that nothing states are for a person.
    ((60000, 55000), 116000, [("ambiguous", None)], [(0, 100000), (0, 120000)]),
    ((110000, 6000), 116000, [("ambiguous", None)], [(0, 100000), (0, 120000)]),
    ((None, 56000), 56000, [("ambiguous", None)], [(0, 100000), (0, 120000)]),
]


@pytest.mark.parametrize(("parts", "amount", "lines", "documents"), PARTS)
def test_parts_of_several_documents_are_paid_as_the_complement_states_them(
    mexican_case: Case, parts: tuple[int | None, int], amount: int,
    lines: list[tuple[str, int | None]], documents: list[tuple[int, int]],
) -> None:  # fmt: skip
    """Of each document its part, where all parts are the payment and none is more than what is open."""
    docs = [_sale(mexican_case, UUID, 100000, payment_method="PPD"),
            _sale(mexican_case, OTHER, 120000, payment_method="PPD")]  # fmt: skip
    mexican_case.payment("pi_1", amount)
    for doc, part in zip(docs, parts, strict=True):
        mexican_case.add("operations", resource_id="pi_1", doc_key=doc, part=part)
    run = mexican_case.run()
    assert run.lines("pi_1", "outcome", "applied_amount") == lines
    assert [run.document(doc, "paid", "balance") for doc in docs] == documents


def test_a_complement_of_an_unknown_document_names_none(mexican_case: Case) -> None:
    """What the books do not hold, or no claim, is no key."""
    mexican_case.payment("pi_1", 116000)
    mexican_case.add("operations", resource_id="pi_1", doc_key=f"mx:uuid:{UUID}")
    assert mexican_case.match().line("pi_1", "outcome") == ("no_document",)


def test_a_payment_of_a_replaced_document_moves_or_names_the_substitute(mexican_case: Case) -> None:
    """Same customer and total: it moves; another total: the exception names the substitute."""
    for first, second, total in (("a", "b", 116000), ("c", "d", 100000)):
        old, new = (f"{letter * 8}-1111-4222-8333-{letter * 12}" for letter in (first, second))
        _sale(mexican_case, old, 116000, status="void")
        _sale(mexican_case, new, total, ref_number=old)
        mexican_case.payment(f"pi_{first}", 116000, metadata=f'{{"uuid":"{old}"}}')
    run = mexican_case.run()
    assert run.line("pi_a", "outcome", "doc_uuid") == ("matched", "bbbbbbbb-1111-4222-8333-bbbbbbbbbbbb")
    assert run.line("pi_c", "outcome") == ("no_document",)
    evidence = run.finding("PAID_CANCELLED_DOC").evidence
    assert evidence["valid_reissue"] == "mx:uuid:dddddddd-1111-4222-8333-dddddddddddd"
