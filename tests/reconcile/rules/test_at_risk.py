"""Totals at risk: each peso once, added up by hand, and how many exceptions a total covers."""

from collections.abc import Sequence

import pytest

from reconcile.rules.at_risk import Stake, Total, add_up_risks


def _payment(identity: str, amount: int, code: str = "PAYMENT_NO_INVOICE", **ids: str) -> Stake:
    return Stake(code, f"resource:{identity}", "CLP", amount, **ids)


def _document(key: str, amount: int) -> Stake:
    return Stake("INVOICE_NO_PAYMENT", f"document:{key}", "CLP", amount, doc_key=key)


def _payout(identity: str, amount: int, code: str = "PAYOUT_NOT_IN_BANK") -> Stake:
    return Stake(code, f"payout:{identity}", "CLP", amount, payout_id=identity)


def _dispute(identity: str, amount: int, code: str = "DISPUTE_LOST", *, payment: str = "pi_1", **ids: str) -> Stake:
    return Stake(code, f"dispute:{identity}", "CLP", amount, resource_id=payment, **ids)


CASES: list[tuple[str, Sequence[Stake], int]] = [
    ("nothing to do with each other", [_payment("pi_1", 100), _document("A", 40), _payout("po_1", 7)], 147),
    (
        "a payment and the document it may have paid: the larger",
        [_payment("pi_1", 100, doc_key="A"), _document("A", 100)],
        100,
    ),
    ("the document is larger", [_payment("pi_1", 60, doc_key="A"), _document("A", 100)], 100),
    ("the payment is larger", [_payment("pi_1", 100, doc_key="A"), _document("A", 60)], 100),
    (
        "two payments of one document",
        [_payment("pi_1", 100, doc_key="A"), _payment("pi_2", 100, doc_key="A"), _document("A", 150)],
        200,
    ),
    (
        "a refund whose document is open again",
        [_payment("re_1", 80, "REFUND_NO_CREDIT_NOTE", doc_key="A"), _document("A", 80)],
        80,
    ),
    (
        "one subject with several exceptions",
        [_payment("pi_1", 100), _payment("pi_1", 100, "ITEM_IN_NO_PAYOUT"), _payment("pi_1", 1, "SPLIT_MISMATCH")],
        100,
    ),
    (
        "an item in two payouts",
        [
            Stake("ITEM_IN_TWO_PAYOUTS", "resource:pi_1@po_2", "CLP", 100, "po_2"),
            _payment("pi_1", 100, payout_id="po_1"),
        ],
        100,
    ),
    (
        "an item in two payouts, one of them at risk as a whole",
        [
            _payout("po_1", 900, "PAYOUT_LATE"),
            _payment("pi_1", 100, payout_id="po_1"),
            Stake("ITEM_IN_TWO_PAYOUTS", "resource:pi_1@po_2", "CLP", 100, "po_2"),
        ],
        900,
    ),
    (
        "items of a payout that is itself at risk",
        [
            _payout("po_1", 900),
            _payment("pi_1", 600, payout_id="po_1"),
            _payment("pi_2", 200, payout_id="po_1"),
            _payout("po_1", 5, "PAYOUT_IDENTITY"),
        ],
        900,
    ),
    (
        "more is at risk inside than the payout pays",
        [
            _payout("po_1", 100),
            _payment("pi_1", 1_000, payout_id="po_1"),
            _payment("re_1", 900, "REFUND_NO_CREDIT_NOTE", payout_id="po_1"),
        ],
        1_900,
    ),
    (
        "a payout that only differs puts its difference at risk",
        [_payout("po_1", 5, "PAYOUT_IDENTITY"), _payment("pi_1", 600, payout_id="po_1")],
        605,
    ),
    (
        "the document of a payment inside a payout at risk",
        [_payout("po_1", 900), _payment("pi_1", 600, payout_id="po_1", doc_key="A"), _document("A", 650)],
        950,
    ),
    (
        "a tie names no document, so that nothing is taken off",
        [_payment("pi_1", 100, "AMBIGUOUS"), _document("A", 100), _document("B", 100)],
        300,
    ),
    (
        "a payment that names two documents",
        [
            _payment("pi_1", 100, doc_key="A"),
            _payment("pi_1", 100, "AMOUNT_DIFF", doc_key="B"),
            _document("A", 100),
            _document("B", 100),
        ],
        300,
    ),
    (
        "a row that only names a document takes nothing off it",
        [
            _payment("pi_1", 0, "CUSTOMER_DIFF", doc_key="A"),
            _payment("pi_1", 100, "ITEM_IN_NO_PAYOUT"),
            _document("A", 70),
        ],
        170,
    ),
    (
        "a lost dispute opens its document",
        [Stake("DISPUTE_LOST", "dispute:dp_1", "CLP", 50, doc_key="A"), _document("A", 50)],
        50,
    ),
    ("a payment without a document and its dispute", [_payment("pi_1", 500), _dispute("dp_1", 500)], 500),
    (
        "a payment without a document and a dispute of a part of it",
        [_payment("pi_1", 500, "AMBIGUOUS"), _dispute("dp_1", 200, "DISPUTE_OPEN")],
        500,
    ),
    (
        "disputes of more than their payment",
        [_payment("pi_1", 500, "DUPLICATE_PAYMENT"), _dispute("dp_1", 400), _dispute("dp_2", 300, "DISPUTE_OPEN")],
        700,
    ),
    (
        "a payment that was short and then disputed: its rest and what went back",
        [_payment("pi_1", 10, "AMOUNT_DIFF", doc_key="A"), _dispute("dp_1", 90)],
        100,
    ),
    ("the dispute of another payment", [_payment("pi_1", 500), _dispute("dp_1", 500, payment="pi_2")], 1_000),
    (
        "a dispute that names a document is of a payment that had one",
        [_payment("pi_1", 500, doc_key="A"), _dispute("dp_1", 500, doc_key="A"), _document("A", 1_000)],
        1_000,
    ),
    (
        "a payment and its dispute in one payout at risk as a whole",
        [_payout("po_1", 100), _payment("pi_1", 500, payout_id="po_1"), _dispute("dp_1", 500, payout_id="po_1")],
        500,
    ),
    (
        "a dispute taken out of another payout than the missing one with its payment",
        [_payout("po_1", 900), _payment("pi_1", 500, payout_id="po_1"), _dispute("dp_1", 500, payout_id="po_2")],
        1_400,
    ),
]


@pytest.mark.parametrize(("rows", "total"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_total_counts_each_peso_once(rows: Sequence[Stake], total: int) -> None:
    """Whatever the order of the rows, and every exception is covered."""
    assert add_up_risks(rows) == {"CLP": Total(total, len(rows))}
    assert add_up_risks([*reversed(rows)]) == {"CLP": Total(total, len(rows))}


def test_currencies_are_never_added() -> None:
    """A payment in pesos takes nothing off a document in dollars."""
    rows = [_payment("pi_1", 100, doc_key="A"), Stake("INVOICE_NO_PAYMENT", "document:A", "USD", 100, doc_key="A")]
    assert add_up_risks(rows) == {"CLP": Total(100, 1), "USD": Total(100, 1)}


def test_a_document_whose_key_holds_a_sign_of_items_stays_itself() -> None:
    """Keys are the merchant's: two documents that differ behind an @ are two."""
    assert add_up_risks([_document("A@1", 10), _document("A@2", 10)]) == {"CLP": Total(20, 2)}


def test_a_month_by_hand() -> None:
    """Twelve exceptions of 5,130 on their rows are worth 3,780: what stands twice is 1,350."""
    rows = [
        _payout("po_1", 1_000),  # 1,000: the whole payout
        _payment("pi_1", 400, payout_id="po_1"),  # inside it
        _payment("pi_2", 300, "AMOUNT_DIFF", payout_id="po_1"),  # inside it
        _payment("pi_3", 250, doc_key="A", payout_id="po_2"),  # 250
        _document("A", 250),  # the same 250
        _payment("re_1", 100, "REFUND_NO_CREDIT_NOTE", doc_key="B", payout_id="po_2"),  # 100
        _document("B", 130),  # 30 more than the refund
        _payment("pi_4", 700, "AMBIGUOUS", payout_id="po_2"),  # 700
        _document("C", 700),  # 700, as nothing says that it is the one
        _payment("pi_5", 300, "DUPLICATE_PAYMENT", payout_id="po_2"),  # 300
        _payment("pi_5", 300, "ITEM_IN_NO_PAYOUT"),  # the same 300
        _document("D", 700),  # 700
    ]
    assert sum(row.amount_at_risk for row in rows) == 5_130
    assert add_up_risks(rows) == {"CLP": Total(3_780, 12)}
