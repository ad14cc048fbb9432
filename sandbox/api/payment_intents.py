"""Payment intents in both generations: v1 with the customer present, v2 charging a saved payment method."""

from sandbox.call import Call, Route
from sandbox.collection import Object
from sandbox.listing import between, cursor_list, exactly, get_one, offset_list, one_of
from sandbox.paging import Keep
from sandbox.versions import LATEST

STATUSES = ("created", "in_progress", "pending", "requires_action", "succeeded", "failed", "rejected", "expired")
INTENTS = "payment_intents"


def is_charged(intent: Object) -> bool:
    """Whether the intent is of the second generation: it charges a saved payment method."""
    return intent["payment_method"] is not None


def _charged_only(_: Call) -> Keep:
    return is_charged


def _present_only(_: Call) -> Keep:
    return lambda intent: not is_charged(intent)


FILTERS = (one_of("status", STATUSES), exactly("customer"), between())
ROUTES = (
    Route("GET", "/v1/payment_intents", "list payment intents", offset_list(INTENTS, _present_only, *FILTERS)),
    Route("GET", "/v1/payment_intents/{id}", "get payment intent", get_one(INTENTS)),
    Route(
        "GET",
        "/v2/payment_intents",
        "list payment intents (v2)",
        cursor_list(INTENTS, _charged_only, *FILTERS),
        since_version=LATEST,
    ),
    Route("GET", "/v2/payment_intents/{id}", "get payment intent (v2)", get_one(INTENTS), since_version=LATEST),
)
