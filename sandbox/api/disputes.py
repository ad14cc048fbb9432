"""Disputes: a payer's bank asks for the money back, and the merchant may send documents."""

from sandbox.call import Route
from sandbox.listing import between, exactly, get_one, offset_list, one_of

STATUSES = ("waiting_documentation", "in_review", "won", "lost", "expired")
DISPUTES = "disputes"

ROUTES = (
    Route(
        "GET",
        "/v1/disputes",
        "list disputes",
        offset_list(DISPUTES, one_of("status", STATUSES), exactly("resource_id"), between()),
    ),
    Route("GET", "/v1/disputes/{id}", "get dispute", get_one(DISPUTES)),
)
