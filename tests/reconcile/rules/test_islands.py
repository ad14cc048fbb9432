"""Trade of customers who share nothing: what happens to one of them does not concern another."""

from copy import deepcopy
from dataclasses import replace
from datetime import date, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconcile.rules.inputs import Inputs, Result
from reconcile.rules.pipeline import reconcile
from tests.thoroughness import for_run

if TYPE_CHECKING:
    from tests.reconcile.rules.conftest import Case

ISLANDS, DOCUMENTS, PAYMENTS = 8, 4, 5
START = datetime(2026, 9, 1, 15)  # noqa: DTZ001 - written as UTC below


def _inhabit(case: "Case", seed: int) -> Inputs:
    """Fill islands of one customer each, with amounts and folios that no other island has; inside, all is ties."""
    random = Random(seed)  # noqa: S311 - repeatable trade
    case = deepcopy(case)
    case.as_of = date(2026, 11, 10)
    for island in range(ISLANDS):
        customer, base = f"1000000{island}-{island}", 1_000_000 * (island + 1)
        for number in range(DOCUMENTS):
            total = base + 10_000 * random.randrange(3)
            case.invoice(f"{island}0{number}", total, issue_date=date(2026, 9, 1 + number), customer_tax_id=customer)
        if random.random() < 0.5:
            case.note(f"9{island}", f"{island}00", base // 2, issue_date=date(2026, 9, 9), customer_tax_id=customer)
        for number in range(PAYMENTS):
            _pay(case, random, f"pi_{island}{number}", base=base, customer=customer, island=island)
    return case.inputs()


def _pay(case: "Case", random: Random, payment: str, *, base: int, customer: str, island: int) -> None:
    at = START + timedelta(days=random.randrange(40))
    amount = base + 10_000 * random.randrange(3) + random.choice([0, 0, 0, 0, 1, -500, 500_000])
    named = f"{island}0{random.randrange(DOCUMENTS)}"
    case.payment(
        payment,
        amount,
        occurred_at=f"{at.isoformat()}Z",
        sender_tax_id=random.choice([customer, customer, None]),
        metadata=random.choice([f'{{"order_ref": "PED-{named}"}}', f'{{"folio": "{named}"}}', None, None]),
        texts=random.choice([f"factura {named}", None]),
    )
    if random.random() < 0.2:
        later = at + timedelta(days=1)
        case.refund(f"re_{payment}", payment, amount, occurred_at=f"{later.isoformat()}Z")


def _elsewhere(result: Result, island: int) -> list[tuple[str, ...]]:
    """Tell everything about the payments, refunds and documents of all islands but one."""
    names = ["resource_id", "outcome", "match_rule", "doc_key", "applied_amount", "doc_balance_after", "rivals"]
    lines = result.lines[~result.lines["resource_id"].str.contains(f"pi_{island}")]
    stands = result.documents[["doc_key", "outcome", "paid", "credited", "balance"]]
    own = stands["doc_key"].str.contains(f"::{island}0") | stands["doc_key"].str.endswith(f"::9{island}")
    rows: list[Any] = [
        *lines[names].astype("string").fillna("-").itertuples(index=False),
        *stands[~own].astype("string").itertuples(index=False),
    ]
    return sorted(tuple(map(str, row)) for row in rows)


@settings(max_examples=for_run(short=3, full=40))
@given(seed=st.integers(0, 10_000), island=st.integers(0, ISLANDS - 1), number=st.integers(0, PAYMENTS - 1))
def test_without_one_payment_only_its_component_changes(case: "Case", seed: int, island: int, number: int) -> None:
    """Every other customer's payments, refunds and documents end as they did."""
    inputs, gone = _inhabit(case, seed), f"pi_{island}{number}"
    items = inputs.items[(inputs.items["resource_id"] != gone) & (inputs.items["parent_id"].fillna("") != gone)]
    before = _elsewhere(reconcile(inputs), island)
    after = _elsewhere(reconcile(replace(inputs, items=items.reset_index(drop=True))), island)
    assert after == before
    assert len(before) >= (ISLANDS - 1) * (PAYMENTS + DOCUMENTS)


@pytest.mark.parametrize("taken", ["a payment", "a document"])
def test_what_changes_elsewhere_would_be_seen(case: "Case", taken: str) -> None:
    """The comparison above is unlike for a change on any island that it looks at, and alike for its own."""
    inputs = _inhabit(case, 1)
    if taken == "a payment":
        fewer = replace(inputs, items=inputs.items[inputs.items["resource_id"] != "pi_30"].reset_index(drop=True))
    else:
        kept = inputs.documents["doc_key"] != "cl:33::301"
        fewer = replace(inputs, documents=inputs.documents[kept].reset_index(drop=True))
    whole, less = reconcile(inputs), reconcile(fewer)
    alike = [_elsewhere(whole, island) == _elsewhere(less, island) for island in range(ISLANDS)]
    assert alike == [False, False, False, True, False, False, False, False]
