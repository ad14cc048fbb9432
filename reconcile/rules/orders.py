"""What the shop's answers about orders say otherwise than the payments; pure."""

import json
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

import pandas as pd

from reconcile.rules.columns import to_local_times
from reconcile.rules.findings import About, count_bank_days, to_finding
from reconcile.rules.inputs import PAYMENT_TYPES, REFUND, Finding, Inputs, rows_of
from reconcile.rules.names import normalize
from reconcile.rules.outcomes import Code

_KEYS = ("order_ref", "order_id")


class _Paid(NamedTuple):
    """A payment that names an order."""

    resource_id: str
    payout_id: str | None
    amount: int
    currency: str
    on: date


def find_order_differences(inputs: Inputs) -> Iterator[Finding]:
    """Yield what the kept answers say otherwise than the payments, once `order_days` bank days have passed.

    An answer counts as of the day it was asked for. A payment that was given back whole waits for no delivery.
    """
    if inputs.orders.empty:
        return
    paid = _list_paid(inputs)
    given_back = _sum_refunds(inputs)
    for order in rows_of(inputs.orders.sort_values("order_ref")):
        payments = paid.get(normalize(order.order_ref), [])
        if pd.isna(order.delivered_on):
            for payment in payments:
                if given_back.get(payment.resource_id, 0) < payment.amount:
                    yield from _find_undelivered(order, payment, inputs)
        elif not payments:
            yield from _find_unpaid(order, inputs)


def _find_undelivered(order: pd.Series, payment: _Paid, inputs: Inputs) -> Iterator[Finding]:
    asked_on = order.asked_on.date()
    if count_bank_days(payment.on, asked_on, inputs.calendar) > inputs.rules.order_days:
        about = About(
            f"resource:{payment.resource_id}", payment.currency, payment.payout_id, payment.resource_id,
            evidence={"order_ref": order.order_ref, "asked_on": asked_on.isoformat()}, fact_on=payment.on,
        )  # fmt: skip
        yield to_finding(Code.ORDER_NOT_DELIVERED, about, at_risk=payment.amount)


def _find_unpaid(order: pd.Series, inputs: Inputs) -> Iterator[Finding]:
    on, asked_on = order.delivered_on.date(), order.asked_on.date()
    if count_bank_days(on, inputs.as_of, inputs.calendar) > inputs.rules.order_days:
        currency = inputs.calendar.country.currency if pd.isna(order.currency) else order.currency
        evidence = {"order_ref": order.order_ref, "delivered_on": on.isoformat(), "asked_on": asked_on.isoformat()}
        about = About(f"order:{order.order_ref}", currency, evidence=evidence, fact_on=on)
        yield to_finding(Code.ORDER_NOT_PAID, about, at_risk=0 if pd.isna(order.amount) else int(order.amount))


def _list_paid(inputs: Inputs) -> dict[str, list[_Paid]]:
    """Return the payments that succeeded by the orders they name."""
    items = inputs.items
    chosen = items[
        items["resource_type"].isin(PAYMENT_TYPES) & (items["status"] == "succeeded") & items["metadata"].notna()
    ].drop_duplicates(["resource_type", "resource_id"])
    chosen = chosen.assign(on=to_local_times(chosen["occurred_at"], inputs.calendar))
    found: dict[str, list[_Paid]] = {}
    for row in rows_of(chosen):
        named = json.loads(row.metadata)
        payout = None if pd.isna(row.payout_id) else row.payout_id
        for order in {normalize(str(named[key])) for key in _KEYS if named.get(key)}:
            payment = _Paid(row.resource_id, payout, int(row.amount), row.currency, row.on.date())
            found.setdefault(order, []).append(payment)
    return found


def _sum_refunds(inputs: Inputs) -> dict[str, int]:
    refunds = inputs.items[(inputs.items["resource_type"] == REFUND) & (inputs.items["status"] == "succeeded")]
    once = refunds.drop_duplicates("resource_id")
    return {str(payment): int(amount) for payment, amount in once.groupby("parent_id")["amount"].sum().abs().items()}
