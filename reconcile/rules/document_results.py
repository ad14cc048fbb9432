"""The row of each document: what was paid and credited, what is left, and how it stands."""

from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from reconcile.rules.columns import in_total_order, looked_up
from reconcile.rules.inputs import DOCUMENT_RESULTS, MONEY, TEXT, Finding, typed
from reconcile.rules.ledger import Ledger

_SAME = ("doc_key", "doc_type", "series", "folio", "uuid", "issue_date", "due_date", "customer_tax_id", "customer_name")


def build_documents(ledger: Ledger, outcomes: Any, applied: DataFrame, findings: tuple[Finding, ...]) -> DataFrame:
    books = ledger.books
    frame = books.frame[[*_SAME, "currency", "total"]].copy()
    claims = books.is_claim
    frame["outcome"] = outcomes
    frame["paid"] = np.where(claims, ledger.paid - ledger.reopened, 0)
    frame["credited"] = np.where(claims, books.credited + ledger.adjusted, 0)
    asked = np.where(claims & ~books.is_void, books.total, 0)
    frame["balance"] = asked - frame["paid"] - np.where(books.is_void, 0, frame["credited"])
    frame[["paid", "credited", "balance"]] = frame[["paid", "credited", "balance"]].astype(MONEY)
    counts = applied.drop_duplicates(["payment", "doc"])["doc"].value_counts()
    frame["payments"] = looked_up(pd.Series(np.arange(len(frame))), counts).fillna(0)
    codes: dict[str, str] = {}
    for finding in findings:
        if finding.subject.startswith("document:") and finding.doc_key is not None:
            before = codes.get(finding.doc_key)
            codes[finding.doc_key] = f"{before} {finding.code}" if before else finding.code
    frame["exception_code"] = looked_up(frame["doc_key"], pd.Series(codes, dtype=TEXT))
    return in_total_order(typed(frame, DOCUMENT_RESULTS), ["doc_key"])
