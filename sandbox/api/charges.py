"""Charges of legacy direct debit subscriptions."""

from sandbox.call import Route
from sandbox.listing import between, exactly, get_one, offset_list, one_of

STATUSES = ("pending", "in_progress", "succeeded", "failed", "canceled")
CHARGES = "charges"

ROUTES = (
    Route(
        "GET",
        "/v1/charges",
        "list charges",
        offset_list(CHARGES, one_of("status", STATUSES), exactly("subscription_id"), between()),
    ),
    Route("GET", "/v1/charges/{id}", "get charge", get_one(CHARGES)),
)
