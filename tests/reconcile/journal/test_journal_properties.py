"""Properties of the journal over random histories: it balances, says all once, corrects by reversal, and ties."""

from collections import Counter
from datetime import date, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from reconcile.journal.accepted import Accepted
from reconcile.journal.booking import BookedEntry, stand
from reconcile.journal.postings import REVERSAL
from tests.reconcile.journal.histories import History, Ledger, Paid, Sale, accounts
from tests.thoroughness import for_run

FIRST = date(2026, 10, 1)
MIDDLE, LAST = FIRST + timedelta(days=14), FIRST + timedelta(days=29)
EXAMPLES = for_run(short=30, full=2_000)
DAYS = st.integers(0, 29).map(lambda count: FIRST + timedelta(days=count))
AMOUNTS = st.integers(1, 1_000_000)
KINDS = {"payment_intent": 1, "charge": 1, "refund": -1, "refund_adjustment": 1, "dispute": -1}


@st.composite
def sales(draw: st.DrawFn, identity: str) -> Sale:
    """One item: a payment with or without its document, a refund, a dispute."""
    kind = draw(st.sampled_from([*KINDS, "payment_intent", "payment_intent"]))
    amount = draw(AMOUNTS) * KINDS[kind]
    doc = f"cl:33::{identity}" if amount > 0 and kind != "refund_adjustment" and draw(st.booleans()) else None
    short = draw(st.sampled_from([0, 0, 1, -1, 500]))
    applied = amount - short if doc and amount > 500 else None
    outcome = "matched_with_difference" if applied is not None and short else "matched"
    vat = amount * 19 // 119 if doc else 0
    payout = draw(st.sampled_from([None, "po_0", "po_1", "po_2"]))
    back = f"cl:33::{identity}" if kind in {"refund", "dispute"} and draw(st.booleans()) else None
    moved = amount * 19 // 119 if doc or back else None
    return Sale(
        identity, draw(DAYS), amount, payout, doc, kind, applied, vat, outcome=outcome, vat_moved=moved,
        of_document=back,
    )  # fmt: skip


@st.composite
def histories(draw: st.DrawFn) -> History:
    """A month of up to a dozen items in three payouts, some of them returned or not in the bank."""
    found = [draw(sales(f"pi_{number}")) for number in range(draw(st.integers(0, 12)))]
    payouts = [
        Paid(
            f"po_{number}", draw(DAYS), draw(st.integers(-5, 5_000)), draw(st.sampled_from([0, 0, 700, -700])),
            draw(st.sampled_from(["succeeded", "succeeded", "in_progress"])), draw(st.none() | DAYS),
            draw(st.sampled_from([0, 0, 90])),
        )
        for number in range(3)
    ]  # fmt: skip
    country = draw(st.sampled_from(["cl", "mx"]))
    invoice = {"doc_key": "cl:33::7", "doc_type": "33", "folio": "7", "uuid": None, "customer_tax_id": None,
               "currency": "CLP", "total": 9_000, "adjusted_amount": draw(st.integers(-9_000, 9_000))}  # fmt: skip
    reasons = st.sampled_from(["rounding", "discount", ""])
    accepted = tuple(
        Accepted(number, draw(DAYS), draw(reasons), doc_key="cl:33::7", amount=draw(st.none() | st.integers(-900, 900)))
        for number in range(1, draw(st.integers(1, 4)))
    )
    return History(
        tuple(sorted(found, key=lambda one: one.payout or "z")), tuple(payouts), country=country, accepted=accepted,
        documents=(invoice,),
    )  # fmt: skip


def moved(entries: list[BookedEntry]) -> Counter[tuple[str, str]]:
    """Return what a ledger has on every account after some entries."""
    sums: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        for line in entry.lines:
            sums[line.debit.code, entry.currency] += line.amount
            sums[line.credit.code, entry.currency] -= line.amount
    return Counter({key: value for key, value in sums.items() if value})


@given(histories())
@settings(max_examples=EXAMPLES)
def test_entries_balance(history: History) -> None:
    """Every line has an amount above zero on two different accounts, and no id occurs twice."""
    entries = Ledger(accounts(history.country)).export(history, LAST)
    lines = [line for entry in entries for line in entry.lines]
    assert all(line.amount > 0 for line in lines)
    assert all(line.debit.code != line.credit.code for line in lines)
    assert len({line.external_id for line in lines}) == len(lines)
    assert len({entry.external_id for entry in entries}) == len(entries)
    assert [entry.on for entry in entries] == sorted(entry.on for entry in entries)


@given(histories(), DAYS)
@settings(max_examples=EXAMPLES)
def test_the_clearing_account_is_what_is_open(history: History, until: date) -> None:
    """On any day the clearing account holds the items of that day or before that no payout has paid yet."""
    ledger = Ledger(accounts(history.country))
    paid = {payout.id: payout.on for payout in history.payouts if payout.status == "succeeded"}
    owed = sum(sale.amount for sale in history.sales if sale.on <= until)
    owed -= sum(sale.amount for sale in history.sales if paid.get(sale.payout or "", date.max) <= until)
    assert sum(entry.clearing for entry in ledger.export(history, until)) == owed


@given(histories())
@settings(max_examples=EXAMPLES)
def test_the_same_run_exported_again_is_the_same(history: History) -> None:
    """Exported in two parts or at once, and again whole, the entries are the same and none is new."""
    at_once = Ledger(accounts(history.country))
    whole = at_once.export(history, LAST)
    parts = Ledger(accounts(history.country))
    first = parts.export(history, MIDDLE)
    second = parts.export(history, LAST, MIDDLE + timedelta(days=1))
    assert first + second == whole
    kept = len(parts.kept)
    assert parts.export(history, LAST) == whole
    assert len(parts.kept) == kept


@given(histories(), histories())
@settings(max_examples=EXAMPLES)
def test_later_facts_are_corrected_and_nothing_is_rewritten(before: History, after: History) -> None:
    """Whatever changed, the ledger comes to what the later run says; what was exported stays as it was."""
    after = after.but(country=before.country)
    ledger, afresh = Ledger(accounts(before.country)), Ledger(accounts(before.country))
    exported = ledger.export(before, MIDDLE)
    later = ledger.export(after, LAST, MIDDLE + timedelta(days=1))
    assert moved(exported + later) == moved(afresh.export(after, LAST))
    assert all(entry.on > MIDDLE for entry in later)
    assert ledger.export(after, MIDDLE) == exported
    again = ledger.export(before, LAST + timedelta(days=30), LAST + timedelta(days=1))
    assert moved(exported + later + again) == moved(Ledger(accounts(before.country)).export(before, LAST))


@given(histories())
@settings(max_examples=EXAMPLES)
def test_a_reversal_takes_back_one_line_whole(history: History) -> None:
    """Where every fact is gone, each line that stood is reversed once, with its sides swapped."""
    ledger = Ledger(accounts(history.country))
    exported = {line.external_id: line for entry in ledger.export(history, LAST) for line in entry.lines}
    later = ledger.export(
        history.but(sales=(), payouts=(), accepted=()), LAST + timedelta(days=9), LAST + timedelta(days=1)
    )
    reversals = [line for entry in later for line in entry.lines]
    assert {line.reverses for line in reversals} == exported.keys()
    for line in reversals:
        old = exported[line.reverses]
        assert (line.kind, line.amount, line.debit, line.credit) == (REVERSAL, old.amount, old.credit, old.debit)
    keys = {entry.key for entry in later}
    assert all(not stand([one.entry for one in ledger.kept if one.entry.key == key]) for key in keys)
