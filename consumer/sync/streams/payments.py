"""Payments and what becomes of them: intents of both generations, charges, refunds, disputes, sessions, links."""

from consumer.provider import routes
from consumer.sync.streams.stream import Again, Part, Stream, lists

# The second generation is offered from API version 2026-02-01 on, and a provider may have left the first behind.
_INTENTS = [
    Part("v1", routes.PAYMENT_INTENTS_V1, is_optional=True),
    Part("v2", routes.PAYMENT_INTENTS_V2, is_optional=True),
]

STREAMS = (
    Stream("payment-intents", "payment_intent", lambda _provider: _INTENTS, Again.NEWEST),
    Stream("charges", "charge", lists(routes.CHARGES), Again.NEWEST),
    Stream("refunds", "refund", lists(routes.REFUNDS), Again.DAYS),
    Stream("disputes", "dispute", lists(routes.DISPUTES), Again.DAYS),
    Stream("checkout-sessions", "checkout_session", lists(routes.CHECKOUT_SESSIONS), Again.NEWEST),
    Stream("payment-links", "payment_link", lists(routes.PAYMENT_LINKS), Again.NEWEST),
)
