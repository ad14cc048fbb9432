"""Recurring billing: customers, subscriptions with their items, invoices with their lines, payment methods."""

from consumer.provider import routes
from consumer.sync.streams.stream import Stream, lists

STREAMS = (
    Stream("customers", "customer", lists(routes.CUSTOMERS)),
    Stream(
        "subscriptions",
        "subscription",
        lists(routes.SUBSCRIPTIONS),
        elsewhere=(routes.LEGACY_SUBSCRIPTIONS,),  # their events carry the same word
    ),
    Stream("invoices", "billing_invoice", lists(routes.BILLING_INVOICES)),
    Stream("payment-methods", "payment_method", lists(routes.PAYMENT_METHODS)),
)
