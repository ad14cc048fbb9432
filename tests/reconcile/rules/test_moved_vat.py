"""VAT of Mexico moves with the money: with each payment of a document, and back with refunds and lost disputes."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

PED_1 = '{"order_ref": "PED-1"}'
LATER = "2026-10-05T16:00:00Z"
LATEST = "2026-10-05T17:00:00Z"
MOVED = ("vat_moved", "reversed_doc_key", "reversed_doc_total", "doc_customer_tax_id")


@pytest.fixture
def mexico(case: "Case") -> "Case":
    """A sale of 1,160.00 with 160.00 of VAT, paid whole."""
    case.country = "mx"
    case.invoice("1", 116_000, vat=16_000, customer_tax_id="LGB000521IL7")
    case.payment("pi_1", 116_000, metadata=PED_1)
    return case


def test_a_payment_collects_the_vat_of_its_document(mexico: "Case") -> None:
    """Paid whole, the VAT is collected whole, and nothing is said of a document that money went back of."""
    assert mexico.run().line("pi_1", *MOVED) == (16_000, None, None, "LGB000521IL7")


def test_a_refund_gives_the_vat_back_and_names_its_document(mexico: "Case") -> None:
    """The payment still collected on its day; the refund takes back its part, to the centavo."""
    mexico.refund("re_1", "pi_1", 33_333, occurred_at=LATER)
    mexico.refund("re_2", "pi_1", 82_667, occurred_at=LATEST)
    run = mexico.run()
    assert run.line("pi_1", "vat_moved") == (16_000,)
    assert run.line("re_1", *MOVED) == (-4_598, "mx:33::1", 116_000, "LGB000521IL7")
    assert run.line("re_2", *MOVED) == (-11_402, "mx:33::1", 116_000, "LGB000521IL7")


def test_a_sale_paid_again_collects_its_vat_again(mexico: "Case") -> None:
    """Given back and paid once more, two payments collect what one refund gave back in between."""
    mexico.refund("re_1", "pi_1", 116_000, occurred_at=LATER)
    mexico.payment("pi_2", 116_000, metadata=PED_1, occurred_at=LATEST)
    run = mexico.run()
    assert [run.line(name, "vat_moved") for name in ("pi_1", "re_1", "pi_2")] == [(16_000,), (-16_000,), (16_000,)]


def test_giving_back_what_was_paid_beyond_the_total_moves_no_vat(mexico: "Case") -> None:
    """What is paid too much has no VAT, neither when it comes nor when it goes back."""
    mexico.rows["items"][0]["amount"] = 120_000
    mexico.refund("re_1", "pi_1", 4_000, occurred_at=LATER)
    run = mexico.run()
    assert run.line("pi_1", "vat_moved") == (16_000,)
    assert run.line("re_1", "vat_moved") == (0,)


def test_a_lost_dispute_gives_the_vat_back(mexico: "Case") -> None:
    """What a dispute took of a document takes its VAT along."""
    mexico.add("disputes", dispute_id="dp_1", resource_id="pi_1", amount=116_000, currency="MXN", status="lost",
               ended_at="2026-10-06T12:00:00Z")  # fmt: skip
    assert mexico.run().line("dp_1", *MOVED) == (-16_000, "mx:33::1", 116_000, "LGB000521IL7")


def test_a_failed_refund_moves_no_vat(mexico: "Case") -> None:
    """Money that never reached the customer is still collected."""
    mexico.payout("po_1", 0)
    mexico.rows["items"][0]["payout_id"] = "po_1"
    mexico.refund("re_1", "pi_1", 116_000, occurred_at=LATER, status="failed", payout_id="po_1")
    assert mexico.run().line("re_1", "vat_moved", "reversed_doc_key") == (0, None)


def test_in_chile_money_that_goes_back_only_names_its_document(case: "Case") -> None:
    """VAT of Chile is owed with the document, whenever it is paid."""
    case.invoice("1", 119_000, vat=19_000)
    case.payment("pi_1", 119_000, metadata=PED_1)
    case.refund("re_1", "pi_1", 119_000, occurred_at=LATER)
    run = case.run()
    assert run.line("pi_1", "vat_moved") == (None,)
    assert run.line("re_1", "vat_moved", "reversed_doc_key") == (0, "cl:33::1")


def test_what_a_person_accepted_of_a_document_is_known(case: "Case") -> None:
    """An amount and all that was left after it are what the run adjusted."""
    case.invoice("1", 100_000)
    case.payment("pi_1", 90_000, metadata=PED_1)
    case.add("decisions", kind="adjust", doc_key="cl:33::1", amount=4_000, decision_id=1)
    case.add("decisions", kind="adjust", doc_key="cl:33::1", decision_id=2)
    assert case.run().document("cl:33::1", "balance", "credited", "adjusted_amount") == (0, 10_000, 10_000)
