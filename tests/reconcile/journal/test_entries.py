"""What each fact posts, with the amounts of the accountants' own examples."""

from datetime import date
from typing import Any

import pytest

from reconcile.fiscal.fees import FeeDocument
from reconcile.journal.accepted import Accepted
from reconcile.journal.accounts import AccountMap, read_accounts
from reconcile.journal.booking import BookedEntry
from reconcile.journal.entries import JournalError
from reconcile.journal.exporting import Planned
from tests.reconcile.journal.histories import History, Ledger, Paid, Sale, accounts

DAY, NEXT, LAST = date(2026, 10, 5), date(2026, 10, 6), date(2026, 10, 31)
SALE = Sale("pi_1", DAY, 119_000, "po_1", "cl:33::7")
LOOSE = Sale("pi_1", DAY, 119_000)
LATER = date(2026, 11, 30)
NOVEMBER = date(2026, 11, 1)


def shown(entries: list[BookedEntry]) -> list[tuple[str, ...]]:
    """Show each line as its entry, date, kind, debit key, credit key and amount."""
    return [
        (entry.key.split("/")[0], entry.on.isoformat(), line.kind, line.debit.key, line.credit.key, str(line.amount))
        for entry in entries
        for line in entry.lines
    ]


def test_a_sale_of_chile_from_payment_to_tax_document() -> None:
    """Collected, paid out less its fee, in the bank, and the fee cleared by the provider's document."""
    document = FeeDocument("inv_1", LAST, "2026-10", "CLP", 1_912, 305, "76543210-3", "33", "901")
    history = History((SALE,), (Paid("po_1", NEXT, fee=1_912, bank_on=date(2026, 10, 7)),), (document,))
    assert shown(Ledger().export(history, LAST)) == [
        ("day", "2026-10-05", "payment", "clearing", "customers", "119000"),
        ("payout", "2026-10-06", "payout", "in_transit", "clearing", "117088"),
        ("payout", "2026-10-06", "fee", "fee_pending", "clearing", "1606"),
        ("payout", "2026-10-06", "fee_vat", "fee_pending", "clearing", "306"),
        ("arrival", "2026-10-07", "arrival", "bank", "in_transit", "117088"),
        ("fees", "2026-10-31", "fee_document", "fee_expense", "fee_pending", "1607"),
        ("fees", "2026-10-31", "fee_document_vat", "vat_credit", "fee_pending", "305"),
    ]


@pytest.mark.parametrize(
    ("total", "line"),
    [
        (1_910, [("rounding", "fee_pending", "2")]),
        (1_914, [("fee_pending", "rounding", "2")]),
        (1_902, []),
    ],
)
def test_what_rounding_leaves_of_a_month_of_fees(total: int, line: list[tuple[str, ...]]) -> None:
    """A rest within the limit goes to rounding, on the side that clears it; a larger one stays where it is seen."""
    document = FeeDocument("inv_1", LAST, "2026-10", "CLP", total, 300, "76543210-3", "33", "901")
    history = History((SALE,), (Paid("po_1", NEXT, fee=1_912),), (document,))
    assert [row[3:] for row in shown(Ledger().export(history, LAST)) if row[2] == "fee_rounding"] == line


def test_vat_of_mexico_is_collected_with_the_payment() -> None:
    """Parts of one invoice move its VAT to the centavo; what is paid beyond the total has none."""
    history = History(
        (
            Sale("pi_1", DAY, 58_000, doc="mx:uuid:a", vat=16_000, total=116_000, balance_after=58_000, currency="MXN"),
            Sale("pi_2", NEXT, 58_001, doc="mx:uuid:a", vat=16_000, total=116_000, balance_after=-1, currency="MXN"),
        ),
        country="mx", currency="MXN",
    )  # fmt: skip
    assert shown(Ledger(accounts("mx")).export(history, LAST)) == [
        ("day", "2026-10-05", "payment", "clearing", "customers", "58000"),
        ("day", "2026-10-05", "vat_collected", "vat_pending_mx", "vat_collected_mx", "8000"),
        ("day", "2026-10-06", "payment", "clearing", "customers", "58001"),
        ("day", "2026-10-06", "vat_collected", "vat_pending_mx", "vat_collected_mx", "8000"),
    ]


@pytest.mark.parametrize(
    ("sale", "lines"),
    [
        ({"doc": None}, [("payment_open", "clearing", "suspense", "119000")]),
        ({"rule": "second_payout"}, [("paid_twice", "clearing", "suspense", "119000")]),
        ({"applied": 100_000}, [("payment", "clearing", "customers", "100000"),
                                ("payment_open", "clearing", "suspense", "19000")]),
        ({"applied": 118_999}, [("payment", "clearing", "customers", "118999"),
                                ("payment_open", "clearing", "suspense", "1")]),
        ({"applied": 119_001, "outcome": "matched_with_difference"},
         [("payment", "clearing", "customers", "119001"), ("payment_rounding", "rounding", "clearing", "1")]),
        ({"applied": 140_000}, [("payment", "clearing", "customers", "140000"),
                                ("share", "shares", "clearing", "21000")]),
        ({"kind": "refund", "amount": -500, "doc": None}, [("refund", "refunds", "clearing", "500")]),
        ({"kind": "refund_adjustment", "amount": 500, "doc": None}, [("refund_failed", "clearing", "refunds", "500")]),
        ({"kind": "dispute", "amount": -500, "doc": None}, [("dispute", "disputes", "clearing", "500")]),
        ({"amount": 0, "doc": None}, []),
        ({"doc": None, "outcome": "duplicate"}, [("paid_again", "clearing", "suspense", "119000")]),
        ({"applied": 100_000, "outcome": "matched_with_difference"},
         [("payment", "clearing", "customers", "100000"), ("overpaid", "clearing", "suspense", "19000")]),
    ],
)  # fmt: skip
def test_what_an_item_posts(sale: dict[str, Any], lines: list[tuple[str, ...]]) -> None:
    """Every kind of item moves the clearing account by its own amount; what has no amount has no line."""
    values: dict[str, Any] = {"id": "pi_1", "on": DAY, "amount": 119_000, "doc": "cl:33::7"} | sale
    item = Sale(**values)
    assert [row[2:] for row in shown(Ledger().export(History((item,)), LAST))] == lines


@pytest.mark.parametrize(
    ("payout", "lines"),
    [
        (Paid("po_1", NEXT, fee=-30), [("payout", "in_transit", "clearing", "119030"),
                                       ("fee", "clearing", "fee_pending", "26"),
                                       ("fee_vat", "clearing", "fee_pending", "4")]),
        (Paid("po_1", NEXT, difference=-700), [("payout", "in_transit", "clearing", "118300"),
                                               ("difference", "differences", "clearing", "700")]),
        (Paid("po_1", NEXT, bank_on=NEXT, bank_short=90), [("payout", "in_transit", "clearing", "119000"),
                                                           ("arrival", "bank", "in_transit", "118910"),
                                                           ("bank_difference", "differences", "in_transit", "90")]),
        (Paid("po_1", NEXT, status="in_progress"), []),
    ],
)  # fmt: skip
def test_what_a_payout_posts(payout: Paid, lines: list[tuple[str, ...]]) -> None:
    """A payout posts once it succeeded; what is missing of it has a line of its own."""
    assert [row[2:] for row in shown(Ledger().export(History((SALE,), (payout,)), LAST))][1:] == lines


def test_vat_of_mexico_goes_back_with_the_money() -> None:
    """A refund takes the VAT of what it gave back, on its own day, and names the document whose money it was."""
    paid = Sale("pi_1", DAY, 116_000, doc="mx:uuid:a-1", vat=16_000, total=116_000, currency="MXN", vat_moved=16_000)
    back = Sale("re_1", NEXT, -58_000, kind="refund", currency="MXN", vat_moved=-8_000, of_document="mx:uuid:a-1")
    lost = Sale("dp_1", NEXT, -58_000, kind="dispute", currency="MXN", vat_moved=-8_000, of_document="mx:uuid:a-1")
    entries = Ledger(accounts("mx")).export(History((paid, back, lost), country="mx", currency="MXN"), LAST)
    assert [row[1:] for row in shown(entries)][1:] == [
        ("2026-10-05", "vat_collected", "vat_pending_mx", "vat_collected_mx", "16000"),
        ("2026-10-06", "refund", "refunds", "clearing", "58000"),
        ("2026-10-06", "vat_returned", "vat_collected_mx", "vat_pending_mx", "8000"),
        ("2026-10-06", "dispute", "disputes", "clearing", "58000"),
        ("2026-10-06", "vat_returned", "vat_collected_mx", "vat_pending_mx", "8000"),
    ]
    assert {line.posting.doc_uuid for entry in entries[1:] for line in entry.lines} == {"a-1"}


def test_money_that_went_back_names_its_document_in_chile() -> None:
    """Type and folio are those of the document, and no VAT moves."""
    sale = Sale("re_1", DAY, -500, kind="refund", vat_moved=-80, of_document="cl:33::7")
    (entry,) = Ledger().export(History((sale,)), LAST)
    ((posting, kind),) = [(line.posting, line.kind) for line in entry.lines]
    assert (kind, posting.doc_type, posting.doc_folio) == ("refund", "33", "7")


def test_an_item_of_two_payouts_has_two_lines_of_its_own() -> None:
    """A refund that a second payout takes again has another id there, and the ledger tells both apart."""
    history = History(
        (Sale("re_1", DAY, -500, "po_1", kind="refund"),
         Sale("re_1", DAY, -500, "po_2", kind="refund", rule="second_payout")),
        (Paid("po_1", NEXT), Paid("po_2", NEXT)),
    )  # fmt: skip
    entries = Ledger().export(history, LAST)
    assert [line.posting.subject for line in entries[0].lines] == ["refund/re_1", "refund/re_1@po_2"]
    assert len({line.external_id for entry in entries for line in entry.lines}) == 4


INVOICE = {"doc_key": "cl:33::7", "doc_type": "33", "folio": "7", "uuid": None, "customer_tax_id": "11111111-1",
           "currency": "CLP", "total": 119_000, "adjusted_amount": 3_000}  # fmt: skip


def test_what_people_accepted_is_posted_by_its_reason() -> None:
    """An amount of a document, what was left after it, and a payment that needs no document, each on its account."""
    decisions = (
        Accepted(1, DAY, "discount", doc_key="cl:33::7", amount=2_000),
        Accepted(2, NEXT, "rounding", doc_key="cl:33::7"),
        Accepted(3, NEXT, "bank_fee", resource_id="pi_9"),
    )
    history = History((Sale("pi_9", DAY, 700, outcome="adjustment"),), accepted=decisions, documents=(INVOICE,))
    ledger = Ledger(accounts("cl", '[differences]\ndiscount = "4.1.09"\nbank_fee = "4.2.07"\n'))
    entries = ledger.export(history, LAST)
    assert shown(entries) == [
        ("day", "2026-10-05", "payment_accepted", "clearing", "differences", "700"),
        ("accepted", "2026-10-05", "accepted", "differences", "customers", "2000"),
        ("accepted", "2026-10-06", "accepted_rounding", "rounding", "customers", "1000"),
    ]
    assert [line.debit.code for line in entries[1].lines] == ["4.1.09"]
    assert [line.credit.code for line in entries[0].lines] == ["4.2.07"]
    withdrawn = ledger.export(history.but(accepted=(decisions[2],)), LATER, NOVEMBER)
    assert [row[2:] for row in shown(withdrawn)] == [
        ("reversal", "customers", "differences", "2000"),
        ("reversal", "customers", "rounding", "1000"),
    ]


def test_a_document_found_later_moves_the_payment() -> None:
    """The payment that was exported without a document goes from suspense to the customer, in the open days."""
    ledger = Ledger()
    before = History((Sale("pi_1", DAY, 119_000), Sale("pi_2", DAY, 50)))
    ledger.export(before, LAST)
    after = before.but(sales=(SALE, before.sales[1]))
    corrected = ledger.export(after.but(payouts=(Paid("po_1", date(2026, 12, 1)),)), LATER, NOVEMBER)
    assert shown(corrected) == [("day", "2026-11-01", "reclassified", "suspense", "customers", "119000")]
    back = ledger.export(before, date(2026, 12, 31), date(2026, 12, 1))
    assert [row[1:] for row in shown(back)] == [
        ("2026-12-01", "reversal", "customers", "clearing", "119000"),
        ("2026-12-01", "payment_open", "clearing", "suspense", "119000"),
    ]


def test_a_part_found_later_is_posted_anew() -> None:
    """Where the document takes less than the payment, the old line is reversed: nothing of that amount moved."""
    ledger = Ledger()
    ledger.export(History((Sale("pi_1", DAY, 500),)), LAST)
    later = ledger.export(History((Sale("pi_1", DAY, 500, doc="cl:33::7", applied=400),)), LATER, NOVEMBER)
    assert [row[2:] for row in shown(later)] == [
        ("reversal", "suspense", "clearing", "500"),
        ("payment", "clearing", "customers", "400"),
        ("payment_open", "clearing", "suspense", "100"),
    ]


def test_what_only_a_returned_payout_held_is_posted_once() -> None:
    """The item stands in the payout that came back and waits again; it was collected once and is still owed."""
    history = History(
        (Sale("pi_1", DAY, 500, "po_1"), Sale("pi_1", DAY, 500)), (Paid("po_1", NEXT, status="returned"),)
    )
    assert [row[1:] for row in shown(Ledger().export(history, LAST))] == [
        ("2026-10-05", "payment_open", "clearing", "suspense", "500")
    ]


def test_days_may_be_left_out_of_an_export() -> None:
    """What is booked before the first day asked for counts in the opening balance, once, and the rest still ties."""
    ledger = Ledger()
    before = History((SALE,), (Paid("po_1", LAST),))
    ledger.export(before, LAST)
    moved = before.but(payouts=(Paid("po_1", date(2026, 11, 9)),))
    assert ledger.export(moved, LATER, date(2026, 11, 10)) == []


def test_vat_is_rounded_half_up() -> None:
    """Half a centavo of the first part is a centavo, and the second part has what is left of the VAT."""
    first = Sale("pi_1", DAY, 50, doc="mx:uuid:a", vat=15, total=100, balance_after=50, currency="MXN")
    second = Sale("pi_2", NEXT, 50, doc="mx:uuid:a", vat=15, total=100, currency="MXN")
    history = History((first, second), country="mx", currency="MXN")
    rows = shown(Ledger(accounts("mx")).export(history, LAST))
    assert [row[5] for row in rows if row[2] == "vat_collected"] == ["8", "7"]


def test_a_changed_payout_is_reversed_and_posted_anew_alone() -> None:
    """Of two payouts only the touched one has a correction; a payout that came back is taken back whole."""
    ledger = Ledger()
    other = Sale("pi_2", DAY, 500, "po_2", "cl:33::8")
    before = History((SALE, other), (Paid("po_1", NEXT, fee=1_190), Paid("po_2", NEXT)))
    ledger.export(before, LAST)
    changed = before.but(payouts=(Paid("po_1", NEXT, fee=1_190, difference=-100), Paid("po_2", NEXT)))
    assert shown(ledger.export(changed, LATER, NOVEMBER)) == [
        ("payout", "2026-11-01", "reversal", "clearing", "in_transit", "117810"),
        ("payout", "2026-11-01", "payout", "in_transit", "clearing", "117710"),
        ("payout", "2026-11-01", "difference", "differences", "clearing", "100"),
    ]
    returned = before.but(payouts=(Paid("po_1", NEXT, status="returned"), Paid("po_2", NEXT)),
                          sales=(Sale("pi_1", DAY, 119_000, None, "cl:33::7"), other))  # fmt: skip
    taken = ledger.export(returned, date(2026, 12, 31), date(2026, 12, 1))
    assert {row[2] for row in shown(taken)} == {"reversal"}
    assert sum(entry.clearing for entry in taken) == 119_000


def test_a_payout_of_another_day_leaves_the_old_one() -> None:
    """A payout that was exported and turns out to be of an open day is reversed, and posted on its own day."""
    ledger = Ledger()
    before = History((SALE,), (Paid("po_1", LAST),))
    ledger.export(before, LAST)
    moved = ledger.export(before.but(payouts=(Paid("po_1", date(2026, 11, 9)),)), LATER, NOVEMBER)
    assert shown(moved) == [
        ("payout", "2026-11-01", "reversal", "clearing", "in_transit", "119000"),
        ("payout", "2026-11-09", "payout", "in_transit", "clearing", "119000"),
    ]


def test_reversals_use_the_accounts_that_were_posted() -> None:
    """A new account map holds for new lines; what is taken back goes to where it was."""
    ledger = Ledger()
    before = History((Sale("pi_1", DAY, 500), Sale("pi_2", DAY, 900)))
    ledger.export(before, LAST)
    ledger.map = accounts("cl", '[accounts]\nsuspense = "2.9.99"\n')
    later = ledger.export(before.but(sales=(Sale("pi_2", DAY, 800),)), LATER, NOVEMBER)
    assert [(line.kind, line.debit.code, line.credit.code, line.amount) for one in later for line in one.lines] == [
        ("reversal", "2.1.08.10", "1.1.03.10", 500),
        ("reversal", "2.1.08.10", "1.1.03.10", 900),
        ("payment_open", "1.1.03.10", "2.9.99", 800),
    ]


def test_an_export_that_does_not_tie_stops() -> None:
    """One unit between the clearing account and what the provider owed, on any day, and there is no export."""
    history = History((LOOSE, Sale("pi_2", NEXT, 500)))
    plan = Ledger().plan(history, LAST)
    wrong = [row._replace(closing=row.closing - 1) if row.on == NEXT else row for row in plan.balances]
    broken = type(plan)(
        plan.entries, plan.bookkeeper, plan.remembered, wrong, plan.since, plan.until, plan.closed_until
    )
    with pytest.raises(
        JournalError, match=r"at the end of 2026-10-06 .* has 119500 CLP and the provider owed 119499 CLP"
    ):
        list(broken.plan())


def test_an_account_that_is_missing_is_named() -> None:
    """An export refuses and does not guess, and names every key it lacks."""
    bare = Ledger()
    bare.map = accounts_without_chart()
    with pytest.raises(JournalError, match="no account for customers, in_transit of connection main"):
        bare.export(History((SALE,), (Paid("po_1", NEXT),)), LAST)


def accounts_without_chart() -> AccountMap:
    return read_accounts('[accounts]\nclearing = "1"\n', "main", "cl", ("main",))


def test_entries_after_the_last_closed_day_are_drafts() -> None:
    """A day that is not closed may still change."""
    plan = Ledger().plan(History((LOOSE, Sale("pi_2", NEXT, 500))), LAST, closed=DAY)
    drafts = [(one.entry.on, one.entry.is_draft) for one in plan.plan() if isinstance(one, Planned)]
    assert drafts == [(DAY, False), (NEXT, True)]


def test_an_item_without_a_day_or_an_amount_is_named() -> None:
    """What cannot be posted is said, and nothing is left out silently."""
    lost: Any = Sale("pi_1", DAY, 5)
    for change, words in (({"on": None}, "pi_1 has no day"), ({"amount": None}, "pi_1 has no amount")):
        broken = Sale(**{**{name: getattr(lost, name) for name in Sale.__dataclass_fields__}, **change})
        with pytest.raises(JournalError, match=words):
            list(History((broken,)).book().entries())
