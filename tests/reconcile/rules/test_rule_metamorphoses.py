"""What must not change a result: order, names, strangers, scale, weeks, a second run."""

from copy import deepcopy
from dataclasses import replace
from datetime import date, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumer.facts.bankdays import BankCalendar, calendar_of
from consumer.facts.countries import COUNTRIES
from reconcile.rules.inputs import Inputs, Result, rows_of
from reconcile.rules.pipeline import reconcile
from reconcile.rules.terms import RuleSet, to_tariff
from tests.thoroughness import for_run

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

CUSTOMERS = ["10000001-1", "10000002-2", "10000003-3", "10000004-4"]
AMOUNTS = [10_000, 20_000, 30_000, 50_000, 80_000]
START = datetime(2026, 9, 1, 15)  # noqa: DTZ001 - written as UTC below
QUICK = settings(max_examples=for_run(short=2, full=40))
SEEDS = st.integers(min_value=0, max_value=10_000)
ITEM = ["payout_id", "resource_type", "resource_id", "line"]


def _fill(case: "Case", seed: int, *, size: int = 24) -> "Case":
    """Trade full of ties: few amounts and customers, keys right and wrong, parts, doubles, refunds and notes."""
    random = Random(seed)  # noqa: S311 - repeatable trade
    case.tariff = {"vat_bps": 1900, "bank_transfer": {"bps": 135}, "refund": {"flat": 514}}
    case.as_of = date(2026, 11, 10)
    case.payout("po_1", 400_000, created_at="2026-09-10T17:20:00Z", succeeded_at="2026-09-10T18:00:00Z")
    case.payout("po_2", 300_000, created_at="2026-09-20T17:20:00Z", status="returned", ended_at="2026-09-21T13:00:00Z")
    for number in range(size):
        due = date(2026, 9, 15) + timedelta(days=number)
        issued = date(2026, 9, 1) + timedelta(days=number // 2)
        total, customer = random.choice(AMOUNTS), random.choice(CUSTOMERS)
        folio = f"{100 + number}"
        case.invoice(
            folio,
            total,
            issue_date=issued,
            due_date=due,
            customer_tax_id=customer,
            status=random.choice(["valid"] * 9 + ["void"]),
        )
        if random.random() < 0.1:
            case.note(f"9{folio}", folio, total // 2, issue_date=issued, customer_tax_id=customer)
    for number in range(size):
        _pay(case, random, number, size)
    return case


def _pay(case: "Case", random: Random, number: int, size: int) -> None:
    at = START + timedelta(days=random.randrange(size), minutes=7 * number)
    named = 100 + random.randrange(size)
    amount = random.choice(AMOUNTS) + random.choice([0, 0, 0, 0, 1, -500, 60_000])
    case.payment(
        f"pi_{number:03}",
        amount,
        occurred_at=f"{at.isoformat()}Z",
        sender_tax_id=random.choice([*CUSTOMERS, None]),
        payout_id=random.choice(["po_1", "po_2", None]),
        metadata=random.choice([f'{{"order_ref": "PED-{named}"}}', f'{{"folio": "{named}"}}', None, None]),
        texts=random.choice([f"factura {named}", None, None]),
    )
    if random.random() < 0.15:
        later = at + timedelta(days=1)
        case.refund(f"re_{number:03}", f"pi_{number:03}", amount, occurred_at=f"{later.isoformat()}Z")


def _shown(result: Result) -> list[tuple[Any, ...]]:
    """Give every outcome as a sorted list of rows that is compared whole."""
    names = [*ITEM, "outcome", "match_rule", "doc_key", "applied_amount", "doc_balance_after"]
    rows = result.lines[names].astype("string").fillna("-").itertuples(index=False)
    documents = result.documents[["doc_key", "outcome", "paid", "credited", "balance"]].itertuples(index=False)
    found = [(finding.code, finding.subject, finding.amount_at_risk) for finding in result.findings]
    return sorted([tuple(map(str, row)) for row in (*rows, *documents, *found)])


def _same(left: Result, right: Result) -> None:
    pd.testing.assert_frame_equal(left.payouts, right.payouts)
    pd.testing.assert_frame_equal(left.lines, right.lines)
    pd.testing.assert_frame_equal(left.documents, right.documents)
    assert left.findings == right.findings


def _shuffled(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    return frame.sample(frac=1, random_state=seed, ignore_index=True)


@QUICK
@given(seed=SEEDS)
def test_the_order_of_rows_changes_nothing(case: "Case", seed: int) -> None:
    """Every frame shuffled gives every byte the same."""
    inputs = _inputs(case, seed)
    names = ("payouts", "items", "documents", "disputes", "decisions", "bank")
    shuffled: dict[str, Any] = {name: _shuffled(getattr(inputs, name), seed) for name in names}
    other = replace(inputs, **shuffled)
    _same(reconcile(inputs), reconcile(other))


@QUICK
@given(seed=SEEDS)
def test_a_second_run_gives_the_same(case: "Case", seed: int) -> None:
    """Nothing is carried from one run to the next."""
    inputs = _inputs(case, seed)
    _same(reconcile(inputs), reconcile(inputs))


@QUICK
@given(seed=SEEDS)
def test_other_names_for_the_ids_change_no_match(case: "Case", seed: int) -> None:
    """Ids are opaque: renamed back, the result is the same."""
    inputs = _inputs(case, seed)
    flipped = {f"pi_{number:03}": f"pi_{999 - number}" for number in range(24)}
    items = inputs.items.replace({"resource_id": flipped, "parent_id": flipped})
    documents = inputs.documents.copy()
    keys = {key: f"cl:33::x{9_999_999 - place}" for place, key in enumerate(documents["doc_key"])}
    documents["doc_key"] = documents["doc_key"].map(keys)
    back = {new: old for old, new in {**flipped, **keys}.items()}
    renamed = reconcile(replace(inputs, items=items, documents=documents))
    shown = sorted(tuple(_restored(cell, back) for cell in row) for row in _shown(renamed))
    assert shown == _shown(reconcile(inputs))


def _restored(cell: str, back: dict[str, str]) -> str:
    head, _, tail = cell.partition(":")
    if head in {"resource", "document"}:
        name, mark, payout = tail.partition("@")
        return f"{head}:{back.get(name, name)}{mark}{payout}"
    return back.get(cell, cell)


@QUICK
@given(seed=SEEDS)
def test_an_unrelated_customer_changes_nothing_for_the_others(case: "Case", seed: int) -> None:
    """A stranger's document and payment of an amount of their own are two more rows."""
    alone = _shown(reconcile(_inputs(case, seed)))
    case = _fill(deepcopy(case), seed)
    case.invoice("777", 123_457, customer_tax_id="33333333-3")
    case.payment("pi_777", 123_457, sender_tax_id="33333333-3", occurred_at="2026-10-02T15:00:00Z")
    together = _shown(reconcile(case.inputs()))
    assert [row for row in together if not any("pi_777" in cell or "::777" in cell for cell in row)] == alone


@QUICK
@given(seed=SEEDS)
def test_a_hundred_times_the_money_gives_the_same_matches(case: "Case", seed: int) -> None:
    """Amounts and absolute tolerances times a hundred: same outcomes, without the fees' rounding."""
    inputs = replace(
        _inputs(case, seed), tariff=to_tariff({"vat_bps": 0, "bank_transfer": {"bps": 100}, "refund": {"bps": 0}})
    )
    grown: dict[str, Any] = {
        "payouts": inputs.payouts.assign(amount=inputs.payouts["amount"] * 100),
        "items": inputs.items.assign(amount=inputs.items["amount"] * 100),
        "documents": inputs.documents.assign(total=inputs.documents["total"] * 100),
        "rules": RuleSet(amount_tolerance=100, fee_tolerance=100),
    }
    names = [*ITEM, "outcome", "match_rule", "doc_key"]
    small, large = reconcile(inputs), reconcile(replace(inputs, **grown))
    pd.testing.assert_frame_equal(small.lines[names], large.lines[names])


@QUICK
@given(seed=SEEDS, weeks=st.integers(min_value=1, max_value=9))
def test_whole_weeks_later_without_holidays_is_the_same(case: "Case", seed: int, weeks: int) -> None:
    """Only the calendar makes one week differ from another."""
    inputs = replace(_inputs(case, seed), country="mx", calendar=_without_holidays())
    later = timedelta(weeks=weeks)
    moved: dict[str, Any] = {
        "as_of": inputs.as_of + later,
        "payouts": _later(inputs.payouts, later, "created_at", "succeeded_at", "ended_at"),
        "items": _later(inputs.items, later, "occurred_at"),
        "documents": _later(inputs.documents, later, "issue_date", "due_date"),
    }
    assert _shown(reconcile(replace(inputs, **moved))) == _shown(reconcile(inputs))


def test_confirming_a_suggestion_keeps_it_and_turns_nothing_else(case: "Case") -> None:
    """What a person confirmed stays matched, and the other payments keep their outcomes."""
    case.invoice("1", 50_000)
    case.invoice("2", 60_000)
    case.payment("pi_1", 50_000)
    case.payment("pi_2", 60_000)
    assert case.match().line("pi_1", "outcome", "doc_key") == ("suggested", "cl:33::1")
    case.add("decisions", kind="match", resource_id="pi_1", doc_key="cl:33::1", decision_id=1)
    matched = case.match()
    assert matched.line("pi_1", "outcome", "match_stage", "doc_key") == ("matched", "manual", "cl:33::1")
    assert matched.line("pi_2", "outcome", "doc_key") == ("suggested", "cl:33::2")


def _inputs(case: "Case", seed: int) -> Inputs:
    """Fill a fresh copy of the empty case, since one test tries several seeds."""
    return _fill(deepcopy(case), seed).inputs()


def _later(frame: pd.DataFrame, by: timedelta, *names: str) -> pd.DataFrame:
    return frame.assign(**{name: frame[name] + by for name in names})


def _without_holidays() -> BankCalendar:
    days = {date(2026, 1, 1) + timedelta(days=number) for number in range(730)}
    closed = {day for day in days if day.weekday() < 5 and not calendar_of("mx").is_bank_day(day)}
    return BankCalendar(COUNTRIES["mx"], remove=frozenset(closed))


@QUICK
@given(seed=SEEDS)
def test_nothing_is_lost_and_nothing_is_used_twice(case: "Case", seed: int) -> None:
    """What went in comes out per currency, each item once, no payment beyond its amount, no document beyond its own."""
    inputs = _two_currencies(case, seed)
    assert _misused(inputs, reconcile(inputs)) == []


@pytest.mark.parametrize(
    ("column", "factor", "misused"),
    [("applied_amount", 2, ["payment pi_888", "document cl:33::888"]), ("amount_signed", 0, ["sum in USD"])],
)
def test_what_is_used_twice_or_lost_would_be_seen(case: "Case", column: str, factor: int, misused: list[str]) -> None:
    """The check above fails on a result whose payment is applied twice over, or is gone."""
    result = reconcile(inputs := _two_currencies(case, 1))
    result.lines.loc[result.lines["resource_id"] == "pi_888", column] *= factor
    assert _misused(inputs, result) == misused


def _two_currencies(case: "Case", seed: int) -> Inputs:
    filled = _fill(deepcopy(case), seed)
    filled.invoice("888", 700, currency="USD")
    filled.payment("pi_888", 700, currency="USD", metadata='{"order_ref": "PED-888"}')
    return filled.inputs()


def _misused(inputs: Inputs, result: Result) -> list[str]:
    """Name what is not what the inputs say; only what a line itself states as a difference is beyond an amount."""
    items, lines = inputs.items.drop_duplicates("resource_id").set_index("resource_id"), result.lines
    signs = items["resource_type"].map({"payment_intent": 1, "refund": -1})
    # What a returned payout held stands there and waits for another one; it is the same money.
    first = lines[lines["line"] == 1].drop_duplicates("resource_id")
    repeated = lines[lines.duplicated(["resource_id", "line", "doc_key"], keep=False)]["payout_id"]
    assert (sorted(first["resource_id"]), set(repeated.dropna()) - {"po_2"}) == (sorted(items.index), set())
    out = first.groupby("currency")["amount_signed"].sum()
    sums = (items["amount"] * signs).groupby(items["currency"]).sum()
    found = [f"sum in {currency}" for currency, amount in sums.items() if out[str(currency)] != amount]
    used = lines[lines["applied_amount"].notna()].drop_duplicates(["resource_id", "doc_key"])
    back = items[items["resource_type"] == "refund"].groupby("parent_id")["amount"].sum()
    paid: dict[str, int] = {}
    for payment, rows in used.groupby("resource_id"):
        applied, amount = int(rows["applied_amount"].sum()), int(items["amount"][payment])
        rounded = -int(rows["difference"].sum()) if rows["match_rule"].str.endswith(":rounding").all() else 0
        if applied > amount + max(rounded, 0):
            found.append(f"payment {payment}")
        given = min(applied, int(back.get(payment, 0)))
        for row in rows_of(rows):
            kept = int(row.applied_amount) - (int(row.difference) if row.match_rule.endswith(":above") else 0)
            paid[row.doc_key] = paid.get(row.doc_key, 0) + kept - min(kept, given)
    totals = dict(zip(inputs.documents["doc_key"], inputs.documents["total"], strict=True))
    return found + [f"document {key}" for key, amount in paid.items() if amount > totals[key]]
