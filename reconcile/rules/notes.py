"""Notes on items: what a person should know that is no exception."""

from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from reconcile.rules.disputes import LOST
from reconcile.rules.inputs import Inputs
from reconcile.rules.ledger import Ledger
from reconcile.rules.payouts import PAYMENT_TYPES

_CLOSED_DISPUTES = ("won", "canceled", *LOST)


def notes_of(rows: DataFrame, payment_at: Any, ledger: Ledger, inputs: Inputs) -> Any:
    """Write one short text per item, its parts separated by semicolons."""
    notes: list[list[str]] = [[] for _ in range(len(rows))]
    _mark(notes, rows["place"] == "dead", "its payout was canceled or returned; the item waits again")
    _mark(notes, rows["freed_at"].notna() & rows["payout_id"].isna(), "freed by a payout that was canceled or returned")
    is_payment = rows["resource_type"].isin(PAYMENT_TYPES)
    other = rows["customer_tax_id"].notna() & rows["sender_tax_id"].notna()
    _mark(notes, is_payment & other & (rows["customer_tax_id"] != rows["sender_tax_id"]), "paid from another's account")
    is_open = ~inputs.disputes["status"].isin(_CLOSED_DISPUTES)
    disputed = inputs.disputes[is_open]["resource_id"]
    _mark(notes, is_payment & rows["resource_id"].isin(disputed), "open dispute")
    refunded = np.zeros(len(ledger.payments) + 1, dtype=bool)
    refunded[list(ledger.payments.refunds)] = True
    _mark(notes, pd.Series(refunded[payment_at], index=rows.index), "refunded")
    return pd.Series(["; ".join(parts) or None for parts in notes], index=rows.index, dtype="str")


def _mark(notes: list[list[str]], mask: Any, text: str) -> None:
    for place in np.flatnonzero(mask.to_numpy(dtype=bool)).tolist():
        notes[place].append(text)
