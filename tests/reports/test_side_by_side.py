"""A payment beside the documents it could mean: what agrees, and what tells those of one amount apart."""

from typing import Any

from reports.queries.cases import compare_candidates

PAYMENT: dict[str, Any] = {"customer_tax_id": "11111111-1", "order_ref": "P-2"}


def document(doc_key: str, **changes: Any) -> dict[str, Any]:
    amounts: dict[str, Any] = {"currency": "CLP", "balance": 5000, "difference": 0}
    days = {"issue_date": "2026-10-01", "due_date": None}
    return {"doc_key": doc_key, "customer_tax_id": "11111111-1", "order_ref": "P-1", **amounts, **days} | changes


def test_what_agrees_with_the_payment_is_named() -> None:
    """The customer, the order and the amount, each on its own; what is empty agrees with nothing."""
    first, second = compare_candidates(
        PAYMENT, [document("a", order_ref="P-2"), document("b", difference=3, balance=4997)]
    )
    assert first["same"] == {"customer_tax_id", "order_ref", "balance"}
    assert second["same"] == {"customer_tax_id"}
    nobody = {"customer_tax_id": None, "order_ref": ""}
    assert (
        compare_candidates(nobody, [document("c", customer_tax_id=None, order_ref="", difference=1)])[0]["same"]
        == set()
    )


def test_identical_documents_say_what_tells_them_apart() -> None:
    """Three of one customer and amount differ by order and day of issue; a fourth of another amount is no twin."""
    rows = [document("a"), document("b", order_ref="P-7"), document("c", issue_date="2026-10-09"),
            document("d", balance=1)]  # fmt: skip
    compared = compare_candidates(PAYMENT, rows)
    assert [row["alike"] for row in compared] == [2, 2, 2, 0]
    assert [row["apart"] for row in compared] == [["order_ref", "issue_date"]] * 3 + [[]]


def test_twins_in_everything_are_told_by_their_number_alone() -> None:
    """Nothing but the key differs."""
    assert [row["apart"] for row in compare_candidates(PAYMENT, [document("a"), document("b")])] == [[], []]
