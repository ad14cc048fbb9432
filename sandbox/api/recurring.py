"""What subscriptions do by themselves: the first invoice, the renewals, the end of a trial."""

from datetime import datetime, timedelta
from typing import Any

from sandbox.api import billing
from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.collection import Object
from sandbox.state.refusal import RefusalError

SUBSCRIPTIONS = "subscriptions"
DRAFT_FOR = timedelta(hours=1)  # how long a renewal stays in draft
ANNOUNCED_BEFORE = timedelta(days=3)
CLF_IN_PESOS = 39_000  # what one unit of account is billed at; the real rate changes daily
CLF_UNITS = 10_000  # CLF amounts have four decimals
LENGTHS = {"day": timedelta(days=1), "week": timedelta(weeks=1)}
MONTHS = {"month": 1, "year": 12}
LAST_SAFE_DAY = 28


def start(  # noqa: PLR0913 - a subscription has these terms
    world: World,
    *,
    mode: str,
    customer: str,
    items: list[Object],
    collection_method: str,
    payment_method: str | None,
    trial_end: str | None = None,
    billing_cycle_anchor: str | None = None,
    business_profile: Object | None = None,
    metadata: dict[str, Any] | None = None,
) -> Object:
    """A new subscription, its first invoice made where one is due."""
    subscription: Object = {
        "id": world.new_id("sub"),
        "object": "subscription",
        "mode": mode,
        "created_at": to_iso(world.now()),
        "status": _first_status(collection_method, is_trial=trial_end is not None),
        "customer": customer,
        "currency": billed_currency(items),
        "items": items,
        "collection_method": collection_method,
        "payment_method": payment_method,
        "trial_end": trial_end,
        "billing_cycle_anchor": billing_cycle_anchor,
        "business_profile": business_profile,
        "metadata": metadata or {},
    }
    world.keep(SUBSCRIPTIONS, subscription)
    _begin(world, subscription)
    return world.get(mode, SUBSCRIPTIONS, subscription["id"])


def _first_status(method: str, *, is_trial: bool) -> str:
    if is_trial:
        return "trialing"
    return "active" if method == "send_invoice" else "incomplete"


def billed_currency(items: list[Object]) -> str:
    """The one currency of all items; a CLF price lives inside a CLP subscription."""
    currencies = {"CLP" if item["price"]["currency"] == "CLF" else item["price"]["currency"] for item in items}
    if len(currencies) != 1:
        message = "The items of a subscription need compatible currencies"
        raise RefusalError(400, "currency_mismatch", message, param="items")
    return str(currencies.pop())


def _begin(world: World, subscription: Object) -> None:
    """Bill the first period now, or when the trial ends."""
    id_, mode = subscription["id"], subscription["mode"]
    if subscription["status"] == "trialing":
        plan_trial_end(world, subscription)
    else:
        _bill_first(world, mode, id_)


def plan_trial_end(world: World, subscription: Object) -> None:
    """Bill the first period when the trial ends, unless its end is moved again."""
    id_, mode, trial_end = subscription["id"], subscription["mode"], subscription["trial_end"]

    def end() -> None:
        current = world.get(mode, SUBSCRIPTIONS, id_)
        if current["status"] == "trialing" and current["trial_end"] == trial_end:
            _bill_first(world, mode, id_)

    world.put_off(datetime.fromisoformat(trial_end) - world.now(), end)


def _bill_first(world: World, mode: str, id_: str) -> None:
    subscription = world.get(mode, SUBSCRIPTIONS, id_)
    if subscription["status"] == "canceled":
        return
    if subscription["status"] == "trialing" and subscription["collection_method"] == "send_invoice":
        subscription = world.keep(SUBSCRIPTIONS, {**subscription, "status": "active"})
    if subscription["collection_method"] == "send_invoice" or subscription["payment_method"]:
        invoice = _draft(world, subscription)
        billing.finalize(world, invoice, on_paid=lambda _: _activate(world, mode, id_))
    _plan_renewal(world, subscription)


def _activate(world: World, mode: str, id_: str) -> None:
    subscription = world.get(mode, SUBSCRIPTIONS, id_)
    if subscription["status"] in {"incomplete", "trialing"}:
        world.keep(SUBSCRIPTIONS, {**subscription, "status": "active"})


def _plan_renewal(world: World, subscription: Object) -> None:
    id_, mode = subscription["id"], subscription["mode"]
    period = next_period(world.now(), subscription["items"][0]["price"]["recurring"]) - world.now()
    if period > ANNOUNCED_BEFORE:
        world.put_off(period - ANNOUNCED_BEFORE, lambda: _announce(world, mode, id_))
    world.put_off(period, lambda: _renew(world, mode, id_))


def next_period(now: datetime, recurring: Object) -> datetime:
    """When the period that begins now ends."""
    count: int = recurring["interval_count"]
    if recurring["interval"] in LENGTHS:
        return now + LENGTHS[recurring["interval"]] * count
    months = now.month - 1 + MONTHS[recurring["interval"]] * count
    return now.replace(year=now.year + months // 12, month=months % 12 + 1, day=min(now.day, LAST_SAFE_DAY))


def _announce(world: World, mode: str, id_: str) -> None:
    """A preview of the next invoice: it has no id yet."""
    subscription = world.get(mode, SUBSCRIPTIONS, id_)
    if subscription["status"] != "active":
        return
    lines = _lines(world, subscription)
    preview = {
        "id": None,
        "object": "invoice",
        "mode": mode,
        "status": "draft",
        "customer": subscription["customer"],
        "subscription": id_,
        "currency": subscription["currency"],
        "total": billing.total(lines),
        "lines": lines,
    }
    world.announce("invoice.upcoming", preview, mode=mode)


def _renew(world: World, mode: str, id_: str) -> None:
    subscription = world.get(mode, SUBSCRIPTIONS, id_)
    if subscription["status"] != "active":
        return
    invoice = _draft(world, subscription)
    world.put_off(DRAFT_FOR, lambda: _finalize_if_draft(world, mode, invoice["id"]))
    _plan_renewal(world, subscription)


def _finalize_if_draft(world: World, mode: str, id_: str) -> None:
    invoice = world.get(mode, billing.INVOICES, id_)
    if invoice["status"] == "draft":
        billing.finalize(world, invoice)


def _draft(world: World, subscription: Object) -> Object:
    return billing.draft_invoice(
        world,
        mode=subscription["mode"],
        customer=subscription["customer"],
        currency=subscription["currency"],
        collection_method=subscription["collection_method"],
        default_payment_method=subscription["payment_method"],
        subscription=subscription["id"],
        business_profile=subscription["business_profile"],
        metadata=subscription["metadata"],
        lines=_lines(world, subscription),
    )


def _lines(world: World, subscription: Object) -> list[Object]:
    lines = []
    for item in subscription["items"]:
        price = item["price"]
        amount = to_billed(price["unit_amount"], price["currency"])
        made = billing.line(world, amount, subscription["currency"], item["quantity"], product=price["product"])
        ends_at = next_period(world.now(), price["recurring"])
        lines.append({**made, "description": item["description"], "period_end": to_iso(ends_at)})
    return lines


def to_billed(amount: int, currency: str) -> int:
    """A price in the subscription's currency: units of account become pesos, half up."""
    if currency != "CLF":
        return amount
    return (2 * amount * CLF_IN_PESOS + CLF_UNITS) // (2 * CLF_UNITS)
