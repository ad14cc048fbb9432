"""Customers, subscriptions, billing invoices and payment methods as rows."""

from typing import Any

from consumer.facts.tables.provider import BillingInvoice, Customer, PaymentMethod, Subscription
from consumer.provider.rows import fields
from consumer.provider.rows.fields import Data
from consumer.provider.rows.kind import Kind
from consumer.provider.rows.payments import customer_tax_id


def _customer(data: Data) -> dict[str, Any]:
    return {"tax_id": customer_tax_id(data), "name": fields.text(data, "name")}


def _subscription(data: Data) -> dict[str, Any]:
    return {"status": fields.text(data, "status"), "currency": fields.currency(data)}


def _billing_invoice(data: Data) -> dict[str, Any]:
    return {
        "status": fields.required_text(data, "status"),
        "amount": fields.amount(data, "total"),
        "currency": fields.currency(data),
    }


def _payment_method(data: Data) -> dict[str, Any]:
    """The status sits under a field named after the type."""
    details = fields.part(data, fields.text(data, "type") or "")
    return {"status": fields.text(data, "status") or fields.text(details, "status")}


KINDS = {
    "customer": Kind(Customer, _customer, ("customer",)),
    "subscription": Kind(
        Subscription, _subscription, ("subscription",), (("incomplete",), ("trialing",), ("active",), ("canceled",))
    ),
    "billing_invoice": Kind(
        BillingInvoice, _billing_invoice, ("invoice",), (("draft",), ("open",), ("paid",), ("void",))
    ),
    "payment_method": Kind(
        PaymentMethod, _payment_method, ("payment_method",), (("pending",), ("active",), ("canceled", "expired"))
    ),
}
