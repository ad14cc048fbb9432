"""Notes on items: what a person should know that is no exception."""

from typing import Any

import numpy as np
from pandas import DataFrame

from reconcile.rules.columns import worded
from reconcile.rules.disputes import CLOSED, LOST
from reconcile.rules.inputs import Inputs
from reconcile.rules.ledger import Ledger
from reconcile.rules.payouts import PAYMENT_TYPES


def notes_of(rows: DataFrame, payment_at: Any, ledger: Ledger, inputs: Inputs) -> Any:
    """Write one short text per item, its parts separated by semicolons."""
    is_payment = rows["resource_type"].isin(PAYMENT_TYPES)
    other = rows["customer_tax_id"].notna() & rows["sender_tax_id"].notna()
    is_open = ~inputs.disputes["status"].isin(CLOSED)
    disputed = inputs.disputes[is_open]["resource_id"]
    refunded = np.zeros(len(ledger.payments) + 1, dtype=bool)
    refunded[[at for at, made in ledger.payments.reversals.items() if not all(one.is_dispute for one in made)]] = True
    lost = inputs.disputes[inputs.disputes["status"].isin(LOST)]["resource_id"]
    marks = {
        "its payout was canceled or returned; the item waits again": rows["place"] == "dead",
        "freed by a payout that was canceled or returned": rows["freed_at"].notna() & rows["payout_id"].isna(),
        "paid from another's account": is_payment & other & (rows["customer_tax_id"] != rows["sender_tax_id"]),
        "open dispute": is_payment & rows["resource_id"].isin(disputed),
        "lost dispute": is_payment & rows["resource_id"].isin(lost),
        "refunded": refunded[payment_at],
    }
    # Each set of marks is a number, and few of the numbers occur.
    sets = sum((np.asarray(mask, dtype=np.int64) << bit for bit, mask in enumerate(marks.values())), start=0)
    distinct, codes = np.unique(sets, return_inverse=True)
    texts = ["; ".join(text for bit, text in enumerate(marks) if chosen >> bit & 1) for chosen in distinct.tolist()]
    return worded(codes, [text or None for text in texts])
