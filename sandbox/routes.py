"""Every operation the sandbox answers, gathered from the families."""

from sandbox.api import (
    charges,
    checkout_sessions,
    customers,
    disputes,
    events,
    payment_intents,
    payment_links,
    payouts,
    refunds,
    webhook_endpoints,
)
from sandbox.call import Route

FAMILIES = (
    webhook_endpoints,
    events,
    payouts,
    payment_intents,
    refunds,
    charges,
    disputes,
    customers,
    checkout_sessions,
    payment_links,
)
ROUTES: tuple[Route, ...] = tuple(route for family in FAMILIES for route in family.ROUTES)
