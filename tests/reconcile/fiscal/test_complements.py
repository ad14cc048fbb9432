"""Payment complements: the row to stamp of each payment, what was issued for it, and every cause that is wrong."""

from collections import Counter
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from reconcile.fiscal.complements import (
    FORMS,
    Collected,
    Invoice,
    Issued,
    Listing,
    State,
    due_day,
    find_causes,
    join_sales,
    plan_complements,
)
from sandbox.scenarios import build

START = datetime(2026, 10, 1, 3, tzinfo=UTC)
ZONE = ZoneInfo("America/Mexico_City")
TODAY = date(2026, 9, 29)
LISTED = Listing({f"2026-{month:02}": TODAY for month in range(1, 13)})
SALE = Invoice("mx:uuid:a", "a", "A", "1", "XAX010101AAA", "MXN", 116_00, 16_00, "PPD", "99", date(2026, 8, 3))
COMPLEMENT_CAUSES = {"rep_missing", "rep_late", "rep_on_pue", "rep_duplicate", "rep_chain_broken", "ppd_form_not_99",
                     "payment_form_wrong"}  # fmt: skip


def paid(name: str, day: int, amount: int, operation: str = "", form: str = "03") -> Collected:
    at = datetime(2026, 8, day, 12, tzinfo=ZONE)
    return Collected(name, SALE.key, at, form, "", operation, amount, amount)


def said(name: str, day: int, amount: int, *, on: date | None = None, before: int = 116_00, instalment: int = 1,
         operation: str = "", form: str = "03") -> Issued:  # fmt: skip
    at = datetime(2026, 8, day, 9, tzinfo=ZONE)
    return Issued(name, name, on or at.date(), SALE.key, at, form, operation, instalment, before, amount,
                  before - amount, amount * 16 // 116, "MXN")  # fmt: skip


def test_rows_to_stamp_continue_the_chain_that_was_issued() -> None:
    """Each payment without a complement gets the next instalment and the balance the payments before it left."""
    payments = [paid("pi_1", 5, 50_00), paid("pi_2", 12, 30_00), paid("pi_3", 20, 36_00)]
    sales = join_sales([SALE], payments, [said("p1", 5, 50_00)])
    rows = list(plan_complements(sales, today=date(2026, 9, 5), listing=LISTED))
    assert [(row.payment.payment_id, row.instalment, row.before, row.after, row.state) for row in rows] == [
        ("pi_1", 1, 116_00, 66_00, State.ISSUED),
        ("pi_2", 2, 66_00, 36_00, State.TO_ISSUE),
        ("pi_3", 3, 36_00, 0, State.TO_ISSUE),
    ]
    assert {row.due_on for row in rows} == {date(2026, 9, 5)}


@pytest.mark.parametrize(
    ("today", "asked", "unread", "state"),
    [
        (5, {"2026-08": 9, "2026-09": 9}, "", State.TO_ISSUE),
        (9, {"2026-08": 1, "2026-09": 6}, "", State.MISSING),
        (9, {"2026-08": 1, "2026-09": 5}, "", State.UNKNOWN),
        (9, {"2026-09": 9}, "", State.UNKNOWN),
        (9, {"2026-08": 9}, "", State.UNKNOWN),
        (9, {}, "", State.UNKNOWN),
        (9, {"2026-08": 9, "2026-09": 9}, "its own", State.UNKNOWN),
        (9, {"2026-08": 9, "2026-09": 9}, "another", State.MISSING),
    ],
)
def test_absence_is_said_only_where_the_list_proves_it(
    today: int, asked: dict[str, int], unread: str, state: State
) -> None:
    """A complement is missing where the lists of its months came after its due day and hold none that may be it."""
    sales, on = join_sales([SALE], [paid("pi_1", 5, 116_00)], []), date(2026, 9, today)
    unread = SALE.tax_id if unread == "its own" else unread
    listing = Listing({month: date(2026, 9, day) for month, day in asked.items()}, frozenset({unread}))
    assert [row.state for row in plan_complements(sales, today=on, listing=listing)] == [state]
    causes = [cause.code for cause in find_causes(sales, today=on, listing=listing)]
    assert causes == (["rep_missing"] if state is State.MISSING else [])


def test_a_complement_is_compared_field_by_field() -> None:
    """Day, form, sum and balances that differ are named; an operation only one of them states is not."""
    one = said("p1", 6, 40_00, operation="MX1", form="31", instalment=2)
    sales = join_sales([SALE], [paid("pi_1", 5, 50_00, operation="mx1 ")], [one])
    (row,) = plan_complements(sales, today=TODAY, listing=LISTED)
    assert row.state is State.DIFFERS
    assert row.differing == ("paid_at_local", "payment_form", "instalment_number", "paid", "balance_after")
    assert row.difference == -10_00
    (row,) = plan_complements(join_sales([SALE], [paid("pi_1", 6, 40_00)], [said("p1", 6, 40_00, operation="MX1")]),
                              today=TODAY, listing=LISTED)  # fmt: skip
    assert row.state is State.ISSUED


def test_operations_decide_before_days_and_sums() -> None:
    """Two payments of one day and sum get the complements that name their operations."""
    payments = [paid("pi_1", 5, 58_00, operation="K1"), paid("pi_2", 5, 58_00, operation="K2")]
    issued = [said("p2", 5, 58_00, operation="K2"), said("p1", 5, 58_00, operation="K1", instalment=2, before=58_00)]
    rows = plan_complements(join_sales([SALE], payments, issued), today=TODAY, listing=LISTED)
    assert {row.payment.payment_id: row.issued[0].doc_key for row in rows} == {"pi_1": "p1", "pi_2": "p2"}


def test_the_tracking_key_of_the_transfer_is_the_operation() -> None:
    """A complement may state it or the payment's reference, written as it likes; the row to stamp states the key."""
    payment = paid("pi_1", 5, 58_00, operation="REF-1")._replace(tracking_key="MBAN 0100")
    for operation in ("mban0100", "ref1"):
        sales = join_sales([SALE], [payment], [said("p1", 9, 40_00), said("p2", 9, 58_00, operation=operation)])
        (row,) = plan_complements(sales, today=TODAY, listing=LISTED)
        assert (row.issued[0].doc_key, row.payment.operation) == ("p2", "MBAN 0100")
        assert "operation_number" not in row.differing
    (row,) = plan_complements(join_sales([SALE], [payment], [said("p1", 5, 58_00, operation="OTHER")]),
                              today=TODAY, listing=LISTED)  # fmt: skip
    assert "operation_number" in row.differing


def test_a_complement_of_money_paid_elsewhere_is_no_trouble() -> None:
    """A complement without a payment here keeps its place in the chain and is no cause."""
    sales = join_sales([SALE], [paid("pi_2", 20, 66_00)], [said("p1", 5, 50_00)])
    (row,) = plan_complements(sales, today=date(2026, 9, 1), listing=LISTED)
    assert (row.instalment, row.before, row.after) == (2, 66_00, 0)
    assert list(find_causes(sales, today=date(2026, 9, 1), listing=LISTED)) == []


def test_due_days_are_the_fifth_of_the_next_month() -> None:
    """Also over the end of a year."""
    assert [due_day(date(2026, 8, 31)), due_day(date(2026, 12, 1))] == [date(2026, 9, 5), date(2027, 1, 5)]


@pytest.mark.parametrize("seed", [1, 7, 23])
def test_no_planted_cause_is_missed_and_none_is_false(seed: int) -> None:
    """Over the papers and payments of the sandbox's tax world every cause of complements is found, and no other."""
    world = build("tax-mx", seed=seed, scale=1.0, start=START)
    assert world.tax is not None
    invoices = [
        Invoice(one.key, one.uuid, one.series, one.folio, one.receiver.tax_id, one.currency, one.total, one.vat,
                one.method, one.form, one.issued_at.date())
        for one in world.tax.papers if one.kind == "I" and not one.is_received and one.cancelled_at is None
    ]  # fmt: skip
    issued = [
        Issued(one.key, one.uuid, one.issued_at.date(), f"mx:uuid:{line.uuid}", payment.paid_at, payment.form,
               payment.operation, line.instalment, line.before, line.paid, line.after, line.vat,
               "MXN")
        for one in world.tax.papers for payment in one.settlements for line in payment.settled
    ]  # fmt: skip
    intents = {h.object["id"]: h.object for h in world.happenings if h.collection == "payment_intents"}
    keys = {row.id: row.links for row in world.truth(START) if row.kind == "payment" and row.outcome != "no_document"}
    moments = {h.object["id"]: h.at for h in world.happenings if h.event == "payment_intent.succeeded"}
    payments = [
        Collected(name, keys[name][0], moments[name].astimezone(ZONE), FORMS["bank_transfer"], "",
                  one.get("reference_id") or "", one["amount"], one["amount"])
        for name, one in intents.items() if name in keys
    ]  # fmt: skip
    found = find_causes(join_sales(invoices, payments, issued), today=TODAY, listing=LISTED)
    planted = [row for row in world.truth(START) if row.kind == "tax_cause" and row.outcome in COMPLEMENT_CAUSES]
    assert Counter((one.code, one.doc_key, one.amount) for one in found) == Counter(
        (row.outcome, row.id, row.amount_at_risk) for row in planted
    )
