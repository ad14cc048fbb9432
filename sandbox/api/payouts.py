"""Payouts and the resources each one is made of."""

from collections.abc import Callable
from dataclasses import dataclass

from sandbox.api.call import Answer, Call, Route
from sandbox.api.listing import between, get_one, offset_list, one_of
from sandbox.api.paging import offset_page
from sandbox.state.collection import Object
from sandbox.state.refusal import invalid_enum, missing_parameter

STATUSES = ("in_progress", "succeeded", "canceled", "returned")
# Both refund types are refund objects: one taken off, the other given back after it failed.
RESOURCES = {
    "payment_intent": "payment_intents",
    "charge": "charges",
    "refund": "refunds",
    "refund_adjustment": "refunds",
}


def list_resources(call: Call) -> Answer:
    """The current objects of one type in one payout."""
    call.world.get(call.mode, "payouts", call.params["id"])
    type_ = call.query.get("resource_type")
    if not type_:
        raise missing_parameter("resource_type")
    if type_ not in RESOURCES:
        raise invalid_enum("resource_type", type_, tuple(RESOURCES))
    ids = call.world.payout_items.newest_first(call.params["id"], type_)
    return offset_page(call, Resources(ids, lambda id_: call.world.get(call.mode, RESOURCES[type_], id_)))


@dataclass(frozen=True, slots=True)
class Resources:
    """The objects of these ids, looked up when a page shows them."""

    ids: list[str]
    get: Callable[[str], Object]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, part: slice) -> list[Object]:
        return [self.get(id_) for id_ in self.ids[part]]


ROUTES = (
    Route("GET", "/v1/payouts", "list payouts", offset_list("payouts", one_of("status", STATUSES), between())),
    Route("GET", "/v1/payouts/{id}", "get payout", get_one("payouts")),
    Route("GET", "/v1/payouts/{id}/resources", "list payout resources", list_resources),
)
