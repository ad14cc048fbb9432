"""Refunds: money on its way back to a payer."""

from sandbox.call import Route
from sandbox.listing import between, exactly, get_one, offset_list, one_of

STATUSES = ("created", "pending", "in_progress", "succeeded", "failed", "canceled")
REFUNDS = "refunds"

ROUTES = (
    Route(
        "GET",
        "/v1/refunds",
        "list refunds",
        offset_list(REFUNDS, one_of("status", STATUSES), exactly("resource_id"), between()),
    ),
    Route("GET", "/v1/refunds/{id}", "get refund", get_one(REFUNDS)),
)
