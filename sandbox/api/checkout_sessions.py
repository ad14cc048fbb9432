"""Checkout sessions: the page a customer pays on."""

from sandbox.call import Route
from sandbox.listing import between, cursor_list, get_one, one_of

STATUSES = ("created", "in_progress", "finished", "expired")
SESSIONS = "checkout_sessions"

ROUTES = (
    Route(
        "GET",
        "/v2/checkout_sessions",
        "list checkout sessions",
        cursor_list(SESSIONS, one_of("status", STATUSES), between()),
    ),
    Route("GET", "/v2/checkout_sessions/{id}", "get checkout session", get_one(SESSIONS)),
)
