"""Damages that no generator of the sandbox plants, done to what the merchant received, to see what they cost."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from typing import Any

import pandas as pd
from pandas import DataFrame

from reconcile.rules.inputs import DOCUMENTS, ITEMS, Inputs, Result, to_types
from sandbox.state.happening import Truth
from tests.benchmarks.accuracy.scoring import PAYMENTS, WRONG_COSTS, Row, linked_documents, plain_rows

Noise = Callable[["Trade"], None]
KINDS = ("payment_intent", "charge")


@dataclass
class Trade:
    """One merchant's payments and documents as rows that a damage may change, and what each payment was really for.

    What a payment was for is known from the undamaged trade; where even that is not (`unknown`) nothing is judged.
    `equals` says which documents differed in nothing but their dates before anything was damaged.
    """

    payments: dict[str, Row]
    documents: dict[str, Row]
    meant: dict[str, set[str]]
    unknown: set[str]
    equals: dict[str, tuple[Any, ...]]
    random: Random
    orders: int = 0

    def some(self, share: float) -> list[Row]:
        """Choose payments by chance."""
        return [row for row in self.payments.values() if self.random.random() < share]

    def some_paid(self, share: float) -> list[tuple[Row, Row]]:
        """Choose payments of exactly one document and its amount, beside it."""
        pairs = [(row, self.documents[next(iter(self.meant[key]))]) for key, row in self.payments.items()
                 if len(self.meant[key]) == 1 and self.meant[key] <= set(self.documents)]  # fmt: skip
        return [pair for pair in pairs if pair[0]["amount"] == pair[1]["total"] and self.random.random() < share]

    def claims(self) -> list[Row]:
        """List the documents that ask for money."""
        return [row for row in self.documents.values() if row["doc_type"] not in {"61", "E"}]

    def add_document(self, like: Row, **changed: Any) -> Row:
        self.orders += 1
        kind = like["doc_type"]
        folio = f"7{self.orders:05}"
        fresh = {"doc_key": f"cl:{kind}::{folio}", "folio": folio, "series": None, "uuid": None,
                 "order_ref": None, "ref_type": None, "ref_number": None}  # fmt: skip
        row = like | fresh | changed
        self.documents[row["doc_key"]] = row
        self.equals[row["doc_key"]] = _alike(row)
        return row

    def add_payment(self, like: Row, meant: set[str], **changed: Any) -> Row:
        self.orders += 1
        key = f"pi_noise{self.orders:06}"
        row = like | {"payout_id": None, "resource_id": key, "metadata": None, "texts": None, "split": None} | changed
        self.payments[key], self.meant[key] = row, meant
        return row


@dataclass
class Judged:
    """Pairs held against what payments were really for."""

    automatic: int = 0
    right: int = 0
    true: int = 0
    utility: int = 0
    payments: int = 0
    misses: list[str] = field(default_factory=list)

    def add(self, other: "Judged") -> None:
        for name in ("automatic", "right", "true", "utility", "payments"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.misses += other.misses


def said_by(row: Row) -> Row:
    """Read what a payment says about itself; most damages concern only those that say something."""
    found: Row = json.loads(row["metadata"]) if isinstance(row["metadata"], str) else {}
    return found


def trade_of(inputs: Inputs, truth: list[Truth], seed: int) -> Trade:
    items = inputs.items[inputs.items["resource_type"].isin(KINDS)]
    items = items.sort_values(["resource_id", "payout_id"]).drop_duplicates("resource_id")
    payments = {row["resource_id"]: row for row in plain_rows(items)}
    documents = {row["doc_key"]: row for row in plain_rows(inputs.documents.sort_values("doc_key"))}
    of = {row.id: row for row in truth if row.kind in PAYMENTS}
    meant = {key: {link for link in of[key].links if ":" in link} for key in payments}
    unknown = {key for key in payments if not meant[key] and not of[key].decidable}
    equals = {key: _alike(row) for key, row in documents.items()}
    return Trade(payments, documents, meant, unknown, equals, Random(seed))  # noqa: S311 - repeatable damage


def _alike(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("customer_tax_id", "currency", "total"))


def spoiled(inputs: Inputs, trade: Trade) -> Inputs:
    """Write the damaged rows back; a payment that is listed in several payouts is damaged alike in each."""
    changed = DataFrame(list(trade.payments.values()), columns=list(ITEMS)).set_index("resource_id")
    items = inputs.items.copy()
    known = items["resource_id"].isin(changed.index) & items["resource_type"].isin(KINDS)
    for name in ("metadata", "customer_tax_id", "sender_tax_id", "texts", "amount", "currency", "occurred_at"):
        items[name] = items[name].mask(known, items["resource_id"].map(changed[name]))
    fresh = changed[~changed.index.isin(inputs.items["resource_id"])].reset_index()
    items = pd.concat([items, to_types(fresh, ITEMS)], ignore_index=True)
    documents = to_types(DataFrame(list(trade.documents.values()), columns=list(DOCUMENTS)), DOCUMENTS)
    return replace(inputs, items=to_types(items, ITEMS), documents=documents)


def judge(result: Result, trade: Trade, label: str) -> Judged:
    """Count pairs that are what was meant; where nothing names a document, any equal one of the customer's is."""
    total, linked = Judged(), linked_documents(result)
    rules = dict(zip(result.lines["resource_id"], result.lines["match_rule"], strict=True))
    for key, meant in trade.meant.items():
        if key in trade.unknown:
            continue
        found, true = linked.get(key, set()), meant & set(trade.documents)
        is_open = str(rules[key]).startswith("customer:") or str(rules[key]).endswith(":equal")
        alike = {trade.equals[doc] for doc in meant} if is_open else set()
        right = {doc for doc in found if doc in true or trade.equals[doc] in alike}
        total.payments += 1
        total.automatic, total.right = total.automatic + len(found), total.right + len(right)
        total.true += len(true)
        total.utility += -WRONG_COSTS if found - right else int(bool(found))
        if found - right:
            total.misses.append(f"{label} {key}: {sorted(meant)} but {sorted(found)} by {rules[key]}")
    return total


def later(row: Row, days: int) -> Any:
    return row["occurred_at"] + timedelta(days=days)
