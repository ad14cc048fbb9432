"""The payments to be matched, oldest first: amounts, customers, days, what their metadata says, and their refunds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from consumer.facts.taxids import GENERIC_RFCS, GENERIC_RUTS
from reconcile.rules.columns import Texts, shared_texts, total_order
from reconcile.rules.inputs import records
from reconcile.rules.metadata import Said
from reconcile.rules.payouts import PAYMENT_TYPES, REFUND, SAID
from reconcile.rules.settings import RuleSet
from reconcile.rules.timing import day_numbers

UNKNOWN = -1
_READ = [
    "payout_id",
    "resource_type",
    "resource_id",
    "currency",
    "amount",
    "occurred_at",
    "customer_tax_id",
    "sender_tax_id",
    "split",
    "local_date",
    "source",
]
_KEPT = ("resource_id", "currency", "amount", "split", "row", *SAID)


@dataclass(frozen=True, slots=True)
class Refund:
    """A succeeded refund of a payment."""

    resource_id: str
    at: int
    amount: int
    payout_id: str | None


@dataclass(frozen=True, slots=True)
class Payments:
    """Columns of one length; a payment is its position in them. Customers and currencies are shared codes.

    `amount` is what the customer paid, also where it was split; `money` is the currency's name, `payout` the payout
    that carries the payment.
    """

    frame: DataFrame
    ids: Any
    amount: Any
    currency: Any
    customer: Any
    tax_id: Texts
    payout: Any
    money: Any
    day: Any
    moment: Any
    order_ref: Any
    in_parts: Any
    refunds: dict[int, list[Refund]]

    def __len__(self) -> int:
        return len(self.ids)


def payment_rows(rows: DataFrame, items: DataFrame) -> DataFrame:
    """Choose one row per payment, where it is at home, in total order, with what it says."""
    is_payment = (rows["place"] == "home") & rows["resource_type"].isin(PAYMENT_TYPES)
    order = total_order(rows, ["occurred_at", "resource_id", "resource_type"])
    order = order[is_payment.to_numpy()[order]]
    frame = rows[_READ].assign(row=np.arange(len(rows))).take(order).reset_index(drop=True)
    return frame.assign(**{name: items[name].array.take(frame["source"].to_numpy()) for name in SAID})


def customers_of(frame: DataFrame, rules: RuleSet) -> Any:
    """Give each payment's customer: its customer's tax id, else the sender's; a generic one is nobody's."""
    generic = GENERIC_RUTS | GENERIC_RFCS | set(rules.generic_tax_ids)
    own, sender = frame["customer_tax_id"], frame["sender_tax_id"]
    return own.mask(own.isin(generic)).fillna(sender.mask(sender.isin(generic)))


def to_payments(frame: DataFrame, tax_ids: Any, codes: tuple[Any, Any], *, rows: DataFrame, said: Said) -> Payments:
    currency, customer = codes
    ids = frame["resource_id"].to_numpy(dtype=object)
    return Payments(
        frame=frame[list(_KEPT)],
        ids=ids,
        amount=frame["amount"].to_numpy(dtype=np.int64),
        currency=currency,
        customer=customer,
        tax_id=Texts(tax_ids),
        payout=shared_texts(frame["payout_id"]),
        money=shared_texts(frame["currency"]),
        day=day_numbers(frame["local_date"]),
        moment=instants(frame["occurred_at"]),
        order_ref=said.order_refs(),
        in_parts=said.in_parts(),
        refunds=_refunds(rows, frame["resource_id"]),
    )


def instants(moments: Any) -> Any:
    """Turn moments into whole microseconds."""
    return moments.dt.tz_localize(None).to_numpy().astype("datetime64[us]").astype(np.int64)


def shared_codes(left: Any, right: Any) -> tuple[Any, Any]:
    """Number the distinct values of two columns together; a missing value is unknown and equals nothing."""
    codes, _ = pd.factorize(pd.concat([left, right], ignore_index=True))
    return codes[: len(left)], codes[len(left) :]


def _refunds(rows: DataFrame, ids: Any) -> dict[int, list[Refund]]:
    """Group succeeded refunds by the payment they give back, oldest first."""
    is_refund = (rows["place"] == "home") & (rows["resource_type"] == REFUND) & (rows["status"] == "succeeded")
    chosen = rows[is_refund].sort_values(["occurred_at", "resource_id"])
    known = ids[ids.isin(chosen["parent_id"].dropna())]
    places = dict(zip(known.tolist(), known.index.tolist(), strict=True))
    grouped: dict[int, list[Refund]] = {}
    for row, at in zip(records(chosen), instants(chosen["occurred_at"]), strict=True):
        if row.parent_id in places:
            refund = Refund(
                row.resource_id, int(at), int(row.amount), None if pd.isna(row.payout_id) else row.payout_id
            )
            grouped.setdefault(places[row.parent_id], []).append(refund)
    return grouped
