"""The payments to be matched, oldest first: amounts, customers, days, what their metadata says, and what went back."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas import DataFrame, Series

from consumer.facts.taxids import GENERIC_RFCS, GENERIC_RUTS
from reconcile.rules.columns import ArrowTexts, Ints, Mask, Texts, Words, share_texts, sort_places
from reconcile.rules.inputs import rows_of
from reconcile.rules.keys import Said
from reconcile.rules.outcomes import LOST
from reconcile.rules.payouts import PAYMENT_TYPES, REFUND, SAID
from reconcile.rules.terms import RuleSet
from reconcile.rules.timing import to_day_numbers

UNKNOWN = -1
LATEST = np.iinfo(np.int64).max
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
class Reversal:
    """Money of a payment that went back: a succeeded refund, or a dispute that was lost."""

    resource_id: str
    at: int
    amount: int
    payout_id: str | None
    is_dispute: bool = False


@dataclass(frozen=True, slots=True)
class Payments:
    """Columns of one length; a payment is its position in them. Customers and currencies are shared codes.

    `amount` is what the customer paid, also where it was split; `money` is the currency's name, `payout` the payout
    that carries the payment.
    """

    frame: DataFrame
    ids: Words
    amount: Ints
    currency: Ints
    customer: Ints
    tax_id: Texts
    payout: Words
    money: Words
    day: Ints
    moment: Ints
    order_ref: ArrowTexts
    in_parts: Mask
    reversals: dict[int, list[Reversal]]

    def __len__(self) -> int:
        return len(self.ids)


def choose_payments(rows: DataFrame, items: DataFrame) -> DataFrame:
    """Choose one row per payment, where it is at home, in total order, with what it says."""
    is_payment = (rows["place"] == "home") & rows["resource_type"].isin(PAYMENT_TYPES)
    order = sort_places(rows, ["occurred_at", "resource_id", "resource_type"])
    order = order[is_payment.to_numpy()[order]]
    frame = rows[_READ].assign(row=np.arange(len(rows))).take(order).reset_index(drop=True)
    return frame.assign(**{name: items[name].array.take(frame["source"].to_numpy()) for name in SAID})


def find_payers(frame: DataFrame, rules: RuleSet) -> Series:
    """Return each payment's customer: its customer's tax id, else the sender's; generic ones are left out."""
    generic = GENERIC_RUTS | GENERIC_RFCS | set(rules.generic_tax_ids)
    own, sender = frame["customer_tax_id"], frame["sender_tax_id"]
    return own.mask(own.isin(generic)).fillna(sender.mask(sender.isin(generic)))


def to_payments(
    frame: DataFrame, tax_ids: Series, codes: tuple[Ints, Ints], *, reversals: dict[int, list[Reversal]], said: Said
) -> Payments:
    currency, customer = codes
    ids = frame["resource_id"].to_numpy(dtype=object)
    return Payments(
        frame=frame[list(_KEPT)],
        ids=ids,
        amount=frame["amount"].to_numpy(dtype=np.int64),
        currency=currency,
        customer=customer,
        tax_id=Texts(tax_ids),
        payout=share_texts(frame["payout_id"]),
        money=share_texts(frame["currency"]),
        day=to_day_numbers(frame["local_date"]),
        moment=to_instants(frame["occurred_at"]),
        order_ref=said.order_refs(),
        in_parts=said.in_parts(),
        reversals=reversals,
    )


def to_instants(moments: Series) -> Ints:
    """Turn moments into whole microseconds."""
    numbers: Ints = moments.dt.tz_localize(None).to_numpy().astype("datetime64[us]").astype(np.int64)
    return numbers


def to_instant(moment: pd.Timestamp) -> int:
    """Turn one moment into whole microseconds."""
    return int(moment.tz_localize(None).to_datetime64().astype("datetime64[us]").astype(np.int64))


def number_together(left: Series, right: Series) -> tuple[Ints, Ints]:
    """Number the distinct values of two columns together; a missing value is unknown and equals no other."""
    codes, _ = pd.factorize(pd.concat([left, right], ignore_index=True))
    return codes[: len(left)], codes[len(left) :]


def group_reversals(frame: DataFrame, rows: DataFrame, disputes: DataFrame) -> dict[int, list[Reversal]]:
    """Group what went back by the payment it is of, oldest first: succeeded refunds, and lost disputes of its currency.

    A dispute in another currency takes an unknown amount, so it opens no document.
    """
    found = [*_list_refunds(rows), *_list_lost(disputes)]
    named = frame["resource_id"][frame["resource_id"].isin([parent for parent, _, _ in found])]
    places = dict(zip(named.tolist(), named.index.tolist(), strict=True))
    currencies = frame["currency"].to_numpy(dtype=object)
    grouped: dict[int, list[Reversal]] = {}
    for parent, currency, reversal in found:
        place = places.get(parent)
        if place is not None and (currency is None or currencies[place] == currency):
            grouped.setdefault(place, []).append(reversal)
    return {place: sorted(own, key=lambda one: (one.at, one.resource_id)) for place, own in grouped.items()}


def _list_refunds(rows: DataFrame) -> list[tuple[str, str | None, Reversal]]:
    is_refund = (rows["place"] == "home") & (rows["resource_type"] == REFUND) & (rows["status"] == "succeeded")
    chosen = rows[is_refund & rows["parent_id"].notna()]
    return [
        (row.parent_id, None, Reversal(row.resource_id, int(at), int(row.amount), _to_known(row.payout_id)))
        for row, at in zip(rows_of(chosen), to_instants(chosen["occurred_at"]), strict=True)
    ]


def _list_lost(disputes: DataFrame) -> list[tuple[str, str | None, Reversal]]:
    chosen = disputes[disputes["status"].isin(LOST) & disputes["resource_id"].notna() & (disputes["amount"] > 0)]
    # Where no end is stated, no payment is known to have come after it.
    ended = np.where(chosen["ended_at"].isna(), LATEST, to_instants(chosen["ended_at"]))
    return [
        (row.resource_id, row.currency, Reversal(row.dispute_id, int(at), int(row.amount), None, is_dispute=True))
        for row, at in zip(rows_of(chosen), ended, strict=True)
    ]


def _to_known(text: str | None) -> str | None:
    return None if pd.isna(text) else text
