"""Time and memory of one whole reconciliation on made-up trade: python tests/benchmarks/bench_rules.py [payments]."""

import resource
import sys
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from consumer.facts.bankdays import calendar_of
from reconcile.rules.inputs import (
    BANK,
    CONFLICTS,
    DECISIONS,
    DISPUTES,
    DOCUMENTS,
    FEES,
    GAPS,
    ITEMS,
    PAYOUTS,
    Inputs,
    empty,
    typed,
)
from reconcile.rules.pipeline import reconcile
from reconcile.rules.settings import RuleSet
from reconcile.rules.tariff import to_tariff

START = datetime(2026, 9, 1, 13, tzinfo=UTC)
PRICES = [4_990, 9_990, 14_990, 19_990, 29_990, 39_990, 49_990, 59_990, 79_990, 99_990, 129_990, 149_990]
DAYS = 28


def make_inputs(count: int, seed: int = 1) -> Inputs:
    """Invoices and payments: 85 % with a key, 5 % with a text, the rest by customer, anonymous or orphans."""
    random = Random(seed)  # noqa: S311 - repeatable trade
    documents, items = [], []
    for number in range(count):
        customer = f"{10_000_000 + random.randrange(count // 3 + 1)}-1"
        total = random.choice(PRICES) if random.random() < 0.6 else random.randrange(1_000, 2_000_000)
        issued = START + timedelta(days=random.randrange(DAYS))
        documents.append(_document(number, customer, total, issued.date()))
        if random.random() < 0.95:
            items.append(_payment(random, documents[-1], number, issued))
    random.shuffle(documents)
    random.shuffle(items)
    payouts = [_payout(day) for day in range(DAYS + 20)]
    return Inputs(
        connection="main",
        country="cl",
        mode="test",
        as_of=date(2026, 10, 20),
        payouts=typed(pd.DataFrame(payouts, columns=list(PAYOUTS)), PAYOUTS),
        items=typed(pd.DataFrame(items, columns=list(ITEMS)), ITEMS),
        documents=typed(pd.DataFrame(documents, columns=list(DOCUMENTS)), DOCUMENTS),
        disputes=empty(DISPUTES),
        fees=empty(FEES),
        gaps=empty(GAPS),
        conflicts=empty(CONFLICTS),
        decisions=empty(DECISIONS),
        bank=empty(BANK),
        tariff=to_tariff({"vat_bps": 1900, "bank_transfer": {"bps": 135}}),
        rules=RuleSet(),
        calendar=calendar_of("cl"),
    )


def _document(number: int, customer: str, total: int, issued: date) -> dict[str, Any]:
    return {
        "doc_key": f"cl:33::{number}",
        "doc_type": "33",
        "folio": str(number),
        "issue_date": issued,
        "due_date": issued + timedelta(days=30),
        "customer_tax_id": customer,
        "total": total,
        "currency": "CLP",
        "status": "valid",
        "order_ref": f"PED-{7_000_000 + number}",
    }


def _payment(random: Random, document: dict[str, Any], number: int, issued: datetime) -> dict[str, Any]:
    at = issued + timedelta(days=random.randrange(12), seconds=random.randrange(30_000))
    luck = random.random()
    row = {
        "payout_id": f"po_{(at - START).days:04}",
        "resource_type": "payment_intent",
        "resource_id": f"pi_{random.getrandbits(64):016x}",
        "resource_subtype": "bank_transfer",
        "status": "succeeded",
        "currency": "CLP",
        "amount": document["total"] - (7_000 if luck > 0.99 and document["total"] > 70_000 else 0),
        "occurred_at": at,
        "sender_tax_id": document["customer_tax_id"] if random.random() < 0.7 else None,
    }
    if luck < 0.85 or luck > 0.99:
        row["metadata"] = f'{{"order_ref": "{document["order_ref"]}"}}'
    elif luck < 0.90:
        row["texts"] = f"Pago factura {number}\ngracias"
    return row


def _payout(day: int) -> dict[str, Any]:
    at = START + timedelta(days=day, hours=5)
    return {
        "payout_id": f"po_{day:04}",
        "currency": "CLP",
        "status": "succeeded",
        "amount": 1_000_000,
        "created_at": at,
        "succeeded_at": at + timedelta(minutes=30),
        "recipient_last4": "0001",
    }


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    inputs = make_inputs(count)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    started = time.perf_counter()
    result = reconcile(inputs)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    size = f"{count} documents, {len(inputs.items)} items"
    sys.stdout.write(f"{size}: {seconds:.2f} s, peak {peak} MB ({before} MB with the inputs)\n")
    sys.stdout.write(result.lines["outcome"].value_counts().to_string() + "\n")


if __name__ == "__main__":
    main()
