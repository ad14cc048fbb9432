"""The row of each document: what was paid and credited, what is left, and how it stands."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from reconcile.rules.columns import in_total_order, texts_of, worded
from reconcile.rules.inputs import DOCUMENT_RESULTS, MONEY, Finding, typed
from reconcile.rules.ledger import Ledger

_SAME = ("doc_key", "doc_type", "series", "folio", "uuid", "issue_date", "due_date", "customer_tax_id", "customer_name")


def build_documents(ledger: Ledger, outcomes: Any, applied: DataFrame, findings: tuple[Finding, ...]) -> DataFrame:
    """Give one row per document, in the order of the keys."""
    books, claims = ledger.books, ledger.books.is_claim
    paid = np.where(claims, ledger.paid - ledger.reopened, 0)
    credited = np.where(claims, books.credited + ledger.adjusted, 0)
    asked = np.where(claims & ~books.is_void, books.total, 0)
    balance = asked - paid - np.where(books.is_void, 0, credited)
    payers = applied[["payment", "doc"]].drop_duplicates()["doc"].to_numpy(dtype=np.int64)
    figures = {"paid": paid, "credited": credited, "balance": balance,
               "payments": np.bincount(payers, minlength=len(books))}  # fmt: skip
    outcome, words = pd.factorize(outcomes)
    same = in_total_order(books.rows[[*_SAME, "currency", "total"]].assign(doc=_inverse(books.place)), ["doc_key"])
    order = same.pop("doc").to_numpy()
    columns = {name: same[name].array for name in same.columns}
    columns |= {name: pd.array(values[order], dtype=MONEY) for name, values in figures.items()}
    columns["outcome"] = worded(outcome[order], words.tolist())
    columns["exception_code"] = _codes(columns["doc_key"], findings)
    return typed(DataFrame({name: columns[name] for name in DOCUMENT_RESULTS}), DOCUMENT_RESULTS)


def _inverse(places: Any) -> Any:
    """Give where in an order each place stands."""
    order = np.empty(len(places), dtype=np.int64)
    order[places] = np.arange(len(places))
    return order


def _codes(doc_keys: Any, findings: tuple[Finding, ...]) -> Any:
    codes: dict[str, str] = {}
    for finding in findings:
        if finding.doc_key is not None and finding.subject.startswith("document:"):
            before = codes.get(finding.doc_key)
            codes[finding.doc_key] = f"{before} {finding.code}" if before else finding.code
    named = pc.index_in(texts_of(doc_keys), value_set=pa.array(list(codes), type=pa.large_string()))
    return worded(named.fill_null(len(codes)), [*codes.values(), None])
