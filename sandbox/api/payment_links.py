"""Payment links: an address that asks for one payment."""

from sandbox.call import Route
from sandbox.listing import between, get_one, offset_list, one_of

STATUSES = ("active", "expired", "canceled")
LINKS = "payment_links"

ROUTES = (
    Route(
        "GET",
        "/v1/payment_links",
        "list payment links",
        offset_list(LINKS, one_of("status", STATUSES), between()),
    ),
    Route("GET", "/v1/payment_links/{id}", "get payment link", get_one(LINKS)),
)
