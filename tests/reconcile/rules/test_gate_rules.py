"""What each incomplete stream withholds, which payouts it touches, and that it withholds nothing else."""

import json
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from reconcile.rules.streams import STREAMS

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case, Run

ANA, BRUNO = "11111111-1", "22222222-2"
MISSING = {"CREDIT_NOTE_NO_REFUND", "INVOICE_NO_PAYMENT", "ITEM_IN_NO_PAYOUT", "PAYOUT_NOT_IN_BANK"}
BANK = {"BANK_AMOUNT_DIFF", "PAYOUT_NOT_IN_BANK"}
# In the trade below; the one payment with a customer keeps its PAYMENT_NO_INVOICE.
PAYERS = {"CUSTOMER_DIFF", "INVOICE_NO_PAYMENT", "PAYMENT_NO_INVOICE of pi_nobody", "SPLIT_MISMATCH"}
EVERYTHING = {*MISSING, *BANK, *PAYERS, "PAYMENT_NO_INVOICE of pi_known", "PAYOUT_IDENTITY", "PAYOUT_LATE"}


@pytest.fixture
def trade(case: "Case") -> "Case":
    """One finding of each code that some stream could disprove, late in October."""
    case.as_of = date(2026, 10, 30)
    case.add("bank", movement_id="mv_0", account_last4="0001", amount=1, currency="CLP", booked_on=date(2026, 10, 5))
    case.payout("po_absent", 0)
    case.payout("po_late", 0, status="in_progress", succeeded_at=None)
    case.payout("po_short", 0, recipient_last4="0002")
    case.payment("pi_short", 100_000, payout_id="po_short", customer_tax_id=ANA, metadata=_key("6"))
    case.invoice("6", 100_000)
    case.rows["payouts"][-1]["amount"] = 120_000
    case.payout("po_other", 98_000, recipient_last4="0003")
    case.payment("pi_other", 100_000, payout_id="po_other", customer_tax_id=BRUNO, metadata=_key("7"))
    case.add(
        "bank", movement_id="mv_1", account_last4="0003", amount=97_000, currency="CLP", booked_on=date(2026, 10, 5),
        text="po_other",
    )  # fmt: skip
    case.invoice("7", 100_000)
    shares = [{"entity_id": "ent_1", "amount": 1, "charge_processing_fee": True}]
    case.payment("pi_split", 30_000, customer_tax_id=ANA, metadata=_key("8"), split=json.dumps(shares))
    case.invoice("8", 30_000)
    case.note("9", "8", 30_000, issue_date=date(2026, 10, 10))
    case.payment("pi_known", 333, customer_tax_id=ANA, occurred_at="2026-10-29T15:00:00Z")
    case.payment("pi_nobody", 444, occurred_at="2026-10-29T15:00:00Z")
    case.invoice("10", 55_000, due_date=date(2026, 10, 5))
    return case


def _key(folio: str) -> str:
    return json.dumps({"order_ref": f"PED-{folio}"})


def _found(run: "Run") -> set[str]:
    found = {finding.code for finding in run.result.findings} - {"DATA_GAP", "PAYMENT_NO_INVOICE"}
    unplaced = {str(one.resource_id) for one in run.result.findings if one.code == "PAYMENT_NO_INVOICE"}
    return found | {f"PAYMENT_NO_INVOICE of {name}" for name in unplaced}


def _gap(case: "Case", stream: str, **given: Any) -> None:
    case.add("gaps", stream=stream, reason="503 three times", **given)


def test_the_trade_has_everything_that_may_be_withheld(trade: "Case") -> None:
    """On complete data each of the codes is there once or more."""
    assert _found(trade.run()) == EVERYTHING


@pytest.mark.parametrize(
    ("stream", "withheld"),
    [
        ("events", MISSING),
        ("payouts", MISSING | {"PAYOUT_LATE"}),
        ("payout-items", MISSING | {"PAYOUT_LATE", "PAYOUT_IDENTITY"}),
        ("payment-intents", MISSING),
        ("charges", MISSING),
        ("refunds", MISSING),
        ("disputes", MISSING | {"PAYOUT_IDENTITY"}),
        ("customers", PAYERS),
        ("entities", PAYERS | {"PAYOUT_IDENTITY"}),
        ("transfers", set()),
        ("accounts", BANK),
        ("account-numbers", BANK),
        ("account-movements", BANK),
        ("link-accounts", BANK),
        ("link-movements", BANK),
    ],
)
def test_each_incomplete_stream_withholds_what_it_could_disprove(
    trade: "Case", stream: str, withheld: set[str]
) -> None:
    """Nothing it could disprove is said, all else is, and the run is not complete."""
    _gap(trade, stream, payout_id="po_short" if stream == "payout-items" else None)
    run = trade.run()
    assert _found(run) == EVERYTHING - withheld
    assert run.finding("DATA_GAP").subject == f"stream:{stream}"
    assert run.result.complete is False


def test_every_stream_of_the_table_is_tried() -> None:
    """The rows above are the streams of the gate's table, no more and no fewer."""
    (marks,) = (
        mark for mark in test_each_incomplete_stream_withholds_what_it_could_disprove.pytestmark  # type: ignore[attr-defined]  # pytest sets it
    )  # fmt: skip
    assert [row[0] for row in marks.args[1]] == list(STREAMS)


def test_the_gap_says_which_codes_it_withholds(case: "Case") -> None:
    """Whoever reads the exception needs no table beside it."""
    _gap(case, "account-movements")
    said = case.run().finding("DATA_GAP").evidence["withheld"]
    assert said == ["BANK_AMOUNT_DIFF", "BANK_SOURCES_DIFFER", "PAYOUT_NOT_IN_BANK"]


def _standing(case: "Case", payout_id: str) -> str:
    return str(case.run().payout(payout_id, "status_recon")[0])


def test_a_gap_of_the_bank_touches_payouts_that_the_bank_does_not_show(case: "Case") -> None:
    """What has arrived has arrived, whatever other movements are still to be read."""
    case.as_of = date(2026, 10, 7)
    case.payout("po_shown", 0)
    case.payout("po_absent", 5_000)
    case.payment("pi_1", 5_000, payout_id="po_absent", customer_tax_id=ANA, metadata=_key("1"))
    case.invoice("1", 5_000)
    case.add("bank", movement_id="mv_1", account_last4="0001", amount=7, currency="CLP", booked_on=date(2026, 10, 5))
    case.rows["payouts"][0]["amount"] = 7
    case.payment("pi_2", 7, payout_id="po_shown", customer_tax_id=ANA, metadata=_key("2"))
    case.invoice("2", 7)
    _gap(case, "account-movements")
    assert (_standing(case, "po_shown"), _standing(case, "po_absent")) == ("closed", "incomplete")


def test_a_gap_of_the_bank_that_began_later_leaves_old_payouts_alone(case: "Case") -> None:
    """A payout whose life ended before the gap began is not touched by it."""
    case.payment("pi_1", 5_000, payout_id="po_1", customer_tax_id=ANA, metadata=_key("1"))
    case.invoice("1", 5_000)
    case.payout("po_1", 5_000)
    _gap(case, "account-movements", since="2026-10-06T12:00:00Z")
    assert _standing(case, "po_1") != "incomplete"


def test_customers_touch_the_payouts_of_payments_nobody_can_name(case: "Case") -> None:
    """A payment whose customer is to come keeps its payout incomplete; sums and bank of the others are whole."""
    for number, payer in ((1, ANA), (2, None)):
        case.payment(f"pi_{number}", 5_000, payout_id=f"po_{number}", customer_tax_id=payer)
        case.payout(f"po_{number}", 5_000, recipient_last4=f"000{number}")
    _gap(case, "customers")
    assert case.run().found() == {("DATA_GAP", "stream:customers", 0), ("PAYMENT_NO_INVOICE", "resource:pi_1", 5_000)}
    assert _standing(case, "po_1") != "incomplete"
    assert _standing(case, "po_2") == "incomplete"


def test_a_sender_is_not_the_customer_a_payment_names(case: "Case") -> None:
    """Where a payment names a customer who is not here, the sender known is no payer known."""
    case.payment("pi_1", 5_000, payout_id="po_1", customer_tax_id=ANA, sender_tax_id=ANA)
    case.payout("po_1", 5_000)
    case.add("unknown_customers", resource_id="pi_1")
    assert case.run().found() == {("PAYMENT_NO_INVOICE", "resource:pi_1", 5_000)}
    _gap(case, "customers")
    assert case.run().found() == {("DATA_GAP", "stream:customers", 0)}


def test_a_difference_before_the_gap_of_disputes_is_said(case: "Case") -> None:
    """A dispute lost in the gap cannot explain a payout that was whole before it began."""
    case.payment("pi_1", 5_000, payout_id="po_1", customer_tax_id=ANA, metadata=_key("1"))
    case.invoice("1", 5_000)
    case.payout("po_1", 6_000)
    _gap(case, "disputes", since="2026-10-06T12:00:00Z")
    assert ("PAYOUT_IDENTITY", "payout:po_1", 1_000) in case.run().found()


@pytest.mark.parametrize(
    ("stream", "said"), [("payouts", {"DISPUTE_LOST", "DISPUTE_OPEN"}), ("disputes", set())]
)  # fmt: skip
def test_disputes_alone_withhold_what_is_said_of_them(case: "Case", stream: str, said: set[str]) -> None:
    """A dispute lost or waiting may have been won meanwhile; no other stream tells."""
    case.payment("pi_1", 5_000, payout_id="po_1", customer_tax_id=ANA, metadata=_key("1"))
    case.invoice("1", 5_000)
    case.payout("po_1", 5_000)
    fixed = {"resource_id": "pi_1", "amount": 5_000, "currency": "CLP"}
    case.add("disputes", dispute_id="d_1", status="lost", ended_at="2026-10-06T12:00:00Z", **fixed)
    case.add("disputes", dispute_id="d_2", status="waiting_documentation", due_at="2026-10-08T12:00:00Z", **fixed)
    case.as_of = date(2026, 10, 7)
    _gap(case, stream)
    assert {finding.code for finding in case.run().result.findings} == said | {"DATA_GAP"}
