"""Billing invoices through their states: drafted, finalized, charged, paid, voided."""

from collections.abc import Callable
from typing import Any

from sandbox.api.charging import charge, is_active
from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.collection import Object
from sandbox.state.ids import draw

INVOICES = "invoices"
Paid = Callable[[Object], object]


def draft_invoice(  # noqa: PLR0913 - an invoice has these parties and terms
    world: World,
    *,
    mode: str,
    customer: str,
    currency: str,
    collection_method: str,
    lines: list[Object],
    default_payment_method: str | None = None,
    subscription: str | None = None,
    business_profile: Object | None = None,
    metadata: dict[str, Any] | None = None,
) -> Object:
    """A new draft, announced."""
    invoice = {
        "id": world.new_id("inv"),
        "object": "invoice",
        "mode": mode,
        "created_at": to_iso(world.now()),
        "status": "draft",
        "customer": customer,
        "subscription": subscription,
        "currency": currency,
        "collection_method": collection_method,
        "default_payment_method": default_payment_method,
        "external_payment": False,
        "total": total(lines),
        "lines": lines,
        "payments": [],
        "hosted_invoice_url": None,
        "business_profile": business_profile,
        "metadata": metadata or {},
    }
    return world.keep(INVOICES, invoice, event="invoice.created")


def total(lines: list[Object]) -> int:
    return sum(line["amount"] * line["quantity"] for line in lines)


def line(world: World, amount: int, currency: str, quantity: int, *, product: Object | None = None) -> Object:
    """A line item; `amount` is the price of one."""
    return {
        "id": world.new_id("il"),
        "object": "line_item",
        "amount": amount,
        "currency": currency,
        "quantity": quantity,
        "period_start": to_iso(world.now()),
        "period_end": None,
        "description": None,
        "product": product,
    }


def finalize(world: World, invoice: Object, *, on_paid: Paid | None = None) -> Object:
    """Open the invoice; one that is charged automatically is charged right after."""
    page = hosted_url(invoice) if invoice["collection_method"] == "send_invoice" else None
    opened = {**invoice, "status": "open", "hosted_invoice_url": page}
    world.keep(INVOICES, opened, event="invoice.finalized")
    if invoice["collection_method"] == "charge_automatically" and invoice["default_payment_method"]:
        method = world.get(invoice["mode"], "payment_methods", invoice["default_payment_method"])
        if not is_active(method):
            return fail(world, opened)
        return collect(world, opened, method, on_paid=on_paid)
    return opened


def hosted_url(invoice: Object) -> str:
    return f"https://invoices.example/{draw('page', invoice['id'])}"


def collect(world: World, invoice: Object, method: Object, *, on_paid: Paid | None = None) -> Object:
    """Start a payment of an open invoice; its end is announced seconds later."""
    intent = charge(
        world,
        method,
        invoice["total"],
        invoice["currency"],
        metadata=invoice["metadata"],
        subscription=invoice["subscription"],
        then=lambda ended: _settle(world, invoice, ended, on_paid),
    )
    paying = {**invoice, "payments": [*invoice["payments"], _payment(intent)]}
    return world.keep(INVOICES, paying, event="invoice.payment_created")


def _payment(intent: Object) -> Object:
    return {
        "amount": intent["amount"],
        "currency": intent["currency"],
        "payment_intent": intent["id"],
        "status": intent["status"],
    }


def _settle(world: World, invoice: Object, intent: Object, on_paid: Paid | None) -> None:
    current = world.get(invoice["mode"], INVOICES, invoice["id"])
    payments = [_payment(intent) if row["payment_intent"] == intent["id"] else row for row in current["payments"]]
    current = {**current, "payments": payments}
    if current["status"] != "open":
        world.keep(INVOICES, current)  # recorded as paid outside the service in the meantime
        return
    if intent["status"] != "succeeded":
        fail(world, current)
        return
    world.keep(INVOICES, current, event="invoice.payment_succeeded")
    paid = mark_paid(world, current)
    if on_paid:
        on_paid(paid)


def fail(world: World, invoice: Object) -> Object:
    """An automatic charge failed: the customer may pay on the hosted page now."""
    failed = {**invoice, "hosted_invoice_url": hosted_url(invoice)}
    return world.keep(INVOICES, failed, event="invoice.payment_failed")


def mark_paid(world: World, invoice: Object, *, is_external: bool = False) -> Object:
    paid = {**invoice, "status": "paid", "external_payment": is_external}
    return world.keep(INVOICES, paid, event="invoice.paid")


def is_being_paid(invoice: Object) -> bool:
    """Whether a payment of it is on its way."""
    return any(row["status"] in {"in_progress", "pending"} for row in invoice["payments"])
