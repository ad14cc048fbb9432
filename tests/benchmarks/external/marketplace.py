"""Olist's public orders and payments, read from the files a person downloaded, as documents and payments with truth.

An order is a document: its items and freight, or what was paid where it lists none, due in thirty days; a canceled or
unavailable one is void. A payment says nothing of its order but what the level of evidence lets it say.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
from pandas import DataFrame

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
    empty_frame,
    to_types,
)
from reconcile.rules.terms import RuleSet

FILES = {
    "orders": ("order_id", "customer_id", "order_status", "order_purchase_timestamp", "order_approved_at"),
    "order_items": ("order_id", "price", "freight_value"),
    "order_payments": ("order_id", "payment_sequential", "payment_value"),
    "customers": ("customer_id", "customer_unique_id"),
}
LEVELS = {
    "L0": "key",
    "L1": "customer and amount",
    "L1 crowded": "one customer of fifty, and amount",
    "L2": "amount and day",
    "L3": "amount only",
}
_CROWDS = 50
_VOID = ("canceled", "unavailable")
_ONE_DAY = date(2018, 6, 4)  # where days say nothing, all orders and payments are of this one
_NOON = " 15:00:00+00:00"


class FolderError(ValueError):
    """A folder that does not hold the files, or files of another shape."""


@dataclass(frozen=True, slots=True)
class Sales:
    """Documents and payments side by side; `order_id` of a payment is the truth."""

    documents: DataFrame
    payments: DataFrame


def read_folder(folder: Path) -> Sales:
    """Read the four files of a folder."""
    tables = {name: _read(folder / f"olist_{name}_dataset.csv", columns) for name, columns in FILES.items()}
    orders = tables["orders"].merge(tables["customers"], on="customer_id").drop_duplicates("order_id")
    moment = orders["order_approved_at"].fillna(orders["order_purchase_timestamp"])
    orders = orders.assign(day=moment.str.slice(0, 10))
    items, paid = tables["order_items"], tables["order_payments"]
    items = items.assign(amount=_cents(items["price"]) + _cents(items["freight_value"]))
    paid = paid.assign(amount=_cents(paid["payment_value"]))
    paid = paid[paid["order_id"].isin(orders["order_id"]) & (paid["amount"] > 0)]
    listed, given = (table.groupby("order_id")["amount"].sum() for table in (items, paid))
    total = orders["order_id"].map(listed).fillna(orders["order_id"].map(given)).fillna(0).astype("int64")
    documents = orders.assign(total=total)[total > 0].sort_values("order_id", ignore_index=True)
    payments = paid.merge(orders[["order_id", "customer_unique_id", "day"]], on="order_id")
    return Sales(documents, payments.sort_values(["order_id", "payment_sequential"], ignore_index=True))


def _read(path: Path, columns: tuple[str, ...]) -> DataFrame:
    if not path.is_file():
        raise FolderError(f"{path} is missing: put Olist's four files there as they were downloaded")
    table = pd.read_csv(path, dtype="str")
    missing = [name for name in columns if name not in table.columns]
    if missing:
        raise FolderError(f"{path} has no column {', '.join(missing)}: it is not Olist's file")
    return table[list(columns)]


def _cents(values: Any) -> Any:
    return pd.Series([int(Decimal(value) * 100) for value in values], index=values.index, dtype="int64")


def inputs_at(sales: Sales, level: str) -> Inputs:
    """Give the inputs of a run at one level of evidence."""
    return Inputs(
        connection="main",
        country="mx",
        mode="test",
        as_of=date(2019, 1, 31),
        payouts=empty_frame(PAYOUTS),
        items=_items(sales.payments, level),
        documents=_documents(sales.documents, level),
        disputes=empty_frame(DISPUTES),
        fees=empty_frame(FEES),
        gaps=empty_frame(GAPS),
        conflicts=empty_frame(CONFLICTS),
        decisions=empty_frame(DECISIONS),
        bank=empty_frame(BANK),
        tariff=None,
        rules=RuleSet(),
        calendar=calendar_of("mx"),
    )


def _documents(orders: DataFrame, level: str) -> DataFrame:
    days = pd.to_datetime(_days(orders, level))
    columns = {
        "doc_key": _doc_keys(orders["order_id"]),
        "doc_type": "I",
        "folio": orders["order_id"],
        "issue_date": days,
        "due_date": days + pd.Timedelta(days=30),
        "customer_tax_id": _customers(orders, level),
        "total": orders["total"],
        "currency": "MXN",
        "status": orders["order_status"].isin(_VOID).map({True: "void", False: "valid"}),
        "order_ref": orders["order_id"],
    }
    return to_types(DataFrame(columns).reindex(columns=list(DOCUMENTS)), DOCUMENTS)


def _items(payments: DataFrame, level: str) -> DataFrame:
    days = _days(payments, level)
    said = '{"order_ref":"' + payments["order_id"] + '"}' if level == "L0" else None
    known = None if level in ("L2", "L3") else _customers(payments, level)
    columns = {
        "resource_type": "payment_intent",
        "resource_id": payment_ids(payments),
        "status": "succeeded",
        "currency": "MXN",
        "amount": payments["amount"],
        "occurred_at": pd.to_datetime(days + _NOON, utc=True),
        "customer_tax_id": known,
        "metadata": said,
    }
    return to_types(DataFrame(columns).reindex(columns=list(ITEMS)), ITEMS)


def _days(rows: DataFrame, level: str) -> Any:
    return pd.Series(str(_ONE_DAY), index=rows.index) if level == "L3" else rows["day"]


def payment_ids(payments: DataFrame) -> Any:
    return "pi_" + payments["order_id"] + "_" + payments["payment_sequential"]


def _doc_keys(orders: Any) -> Any:
    return "mx:I::" + orders


def _customers(rows: DataFrame, level: str) -> Any:
    names = rows["customer_unique_id"]
    if level != "L1 crowded":
        return names
    return names.map({name: f"crowd{_number(name) % _CROWDS}" for name in names.unique()})


def _number(name: str) -> int:
    return int.from_bytes(sha256(name.encode()).digest()[:4])


def truth_of(sales: Sales) -> Iterator[tuple[str, str | None]]:
    """Give each payment and the key of the document it is for; none where that is void or lists nothing."""
    orders = sales.documents
    valid = set(orders["order_id"][~orders["order_status"].isin(_VOID)])
    for name, order in zip(payment_ids(sales.payments), sales.payments["order_id"], strict=True):
        yield name, f"mx:I::{order}" if order in valid else None
