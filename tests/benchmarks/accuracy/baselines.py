"""The two files that every matcher gets, what plain joins make of them, and how any list of pairs is scored."""

import json
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pandas import DataFrame

from consumer.facts.money import format_decimal
from reconcile.rules.inputs import Inputs
from sandbox.state.happening import Truth
from tests.benchmarks.accuracy.scoring import AUTOMATIC, PAYMENTS, WRONG_COSTS

Pairs = list[tuple[str, str]]
PATIENCE = 60


def payments_of(inputs: Inputs) -> DataFrame:
    """Write every payment once, with the first word in its metadata that could name a document."""
    items = inputs.items[inputs.items["resource_type"].isin(["payment_intent", "charge"])]
    items = items.drop_duplicates("resource_id").sort_values("resource_id", ignore_index=True)
    said = [json.loads(text) if isinstance(text, str) else {} for text in items["metadata"]]
    names = ("order_ref", "order_id", "invoice")
    return DataFrame({
        "id": items["resource_id"],
        "amount": [format_decimal(int(a), c) for a, c in zip(items["amount"], items["currency"], strict=True)],
        "minor": items["amount"].astype(int),
        "currency": items["currency"],
        "date": items["occurred_at"].dt.strftime("%Y-%m-%d"),
        "tax_id": items["customer_tax_id"].fillna(items["sender_tax_id"]),
        "order_ref": [next((str(words[name]) for name in names if name in words), None) for words in said],
        "texts": items["texts"].str.replace("\n", " "),
    })  # fmt: skip


def invoices_of(inputs: Inputs) -> DataFrame:
    """Write the invoices that claim money: no notes, none that are void."""
    books = inputs.documents
    books = books[~books["doc_type"].isin(["61", "E"]) & ~books["status"].str.lower().isin(["void", "anulada"])]
    books = books.sort_values("doc_key", ignore_index=True)
    return books.assign(
        minor=books["total"].astype(int),
        total=[format_decimal(int(a), c) for a, c in zip(books["total"], books["currency"], strict=True)],
        issue_date=books["issue_date"].dt.strftime("%Y-%m-%d"),
    )[["doc_key", "order_ref", "folio", "uuid", "total", "minor", "currency", "issue_date", "customer_tax_id"]]


def by_order(payments: DataFrame, invoices: DataFrame) -> Pairs:
    found = payments.dropna(subset=["order_ref"]).merge(invoices.dropna(subset=["order_ref"]), on="order_ref")
    return list(zip(found["id"], found["doc_key"], strict=True))


def by_order_and_amount(payments: DataFrame, invoices: DataFrame) -> Pairs:
    named = [frame.dropna(subset=["order_ref"]) for frame in (payments, invoices)]
    found = named[0].merge(named[1], on=["order_ref", "minor", "currency"])
    return list(zip(found["id"], found["doc_key"], strict=True))


def then_by_customer(payments: DataFrame, invoices: DataFrame) -> Pairs:
    """Join by order and amount, then by tax id and amount what is left, first come first served."""
    pairs = by_order_and_amount(payments, invoices)
    left = payments[~payments["id"].isin([pair[0] for pair in pairs])].dropna(subset=["tax_id"])
    right = invoices[~invoices["doc_key"].isin([pair[1] for pair in pairs])]
    found = left.merge(
        right, left_on=["tax_id", "minor", "currency"], right_on=["customer_tax_id", "minor", "currency"]
    )
    found = found.sort_values(["date", "id", "issue_date", "doc_key"]).drop_duplicates("id").drop_duplicates("doc_key")
    return pairs + list(zip(found["id"], found["doc_key"], strict=True))


def by_amount_and_days(payments: DataFrame, invoices: DataFrame) -> Pairs:
    found = payments.merge(invoices, on=["minor", "currency"])
    days = (pd.to_datetime(found["date"]) - pd.to_datetime(found["issue_date"])).dt.days
    found = found[(days >= 0) & (days <= 40)]
    return list(zip(found["id"], found["doc_key"], strict=True))


JOINS: dict[str, Callable[[DataFrame, DataFrame], Pairs]] = {
    "pandas: order": by_order,
    "pandas: order + amount": by_order_and_amount,
    "pandas: order + amount, then tax id + amount": then_by_customer,
    "pandas: amount within 40 days": by_amount_and_days,
}


@dataclass
class Graded:
    """Pairs held against the truth; seconds without reading where it runs in this process."""

    found: int = 0
    right: int = 0
    true: int = 0
    utility: int = 0
    seconds: float = 0
    failure: str = ""


def grade(pairs: Iterable[tuple[str, str]], truth: Iterable[Truth], seconds: float) -> Graded:
    linked: dict[str, set[str]] = {}
    for payment, doc in pairs:
        linked.setdefault(payment, set()).add(doc)
    total = Graded(seconds=seconds)
    for row in truth:
        if row.kind not in PAYMENTS:
            continue
        automatic = row.outcome in AUTOMATIC and row.decidable
        true = {link for link in row.links if ":" in link} if automatic else set()
        found = linked.get(row.id, set())
        total.found, total.true = total.found + len(found), total.true + len(true)
        total.right += len(found & true)
        total.utility += 1 if found and found == true else (-WRONG_COSTS if found - true else 0)
    return total


def run_join(join: Callable[[DataFrame, DataFrame], Pairs], folder: Path, truth: list[Truth]) -> Graded:
    text = {"id": "str", "order_ref": "str", "tax_id": "str", "doc_key": "str", "customer_tax_id": "str"}
    started = time.perf_counter()
    payments, invoices = (pd.read_csv(folder / f"{name}.csv", dtype=text) for name in ("payments", "invoices"))
    pairs = join(payments, invoices)
    return grade(pairs, truth, time.perf_counter() - started)


def run_peer(python: Path, name: str, folder: Path, truth: list[Truth], *, patience: int = PATIENCE) -> Graded:
    """Run one peer in its own environment; what it does not finish in time is a failure, printed as one."""
    script = Path(__file__).with_name("peer_matchers.py")
    command = [str(python), str(script), name, str(folder / "payments.csv"), str(folder / "invoices.csv")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=patience)
    except subprocess.TimeoutExpired:
        return Graded(failure=f"no result in {patience} s")
    except subprocess.CalledProcessError as error:
        return Graded(failure=str(error.stderr).strip().splitlines()[-1][:120])
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return grade([(pair[0], pair[1]) for pair in answer["pairs"]], truth, answer["seconds"])
