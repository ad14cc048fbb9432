"""Entities: the legal holders of accounts."""

from sandbox.api.call import Answer, Call, Route
from sandbox.api.customers import normalize
from sandbox.api.fields import read_choice, require_text
from sandbox.api.listing import cursor_list, get_one, is_true, offset_list, one_of
from sandbox.state.collection import Keep
from sandbox.state.refusal import RefusalError

ENTITIES = "entities"
STATUSES = (
    "draft",
    "under_review",
    "pending_signature",
    "canceled",
    "waiting_initialization",
    "operational",
    "rejected",
    "paused",
)


def create_entity(call: Call) -> Answer:
    """A new holder, in draft until it is onboarded."""
    body = call.body
    holder_id = normalize(require_text(body, "holder_id"))
    holder_name = require_text(body, "holder_name")
    country = read_choice(body, "country_code", ("cl", "mx"), default=call.world.scenario.country)
    if any(
        normalize(row["holder_id"]) == holder_id for row in call.world.collection(call.mode, ENTITIES).newest_first()
    ):
        raise RefusalError(
            409,
            "entity_holder_id_already_exists_for_organization",
            "An entity with this holder_id exists",
            param="holder_id",
        )
    entity = call.draft(
        "ent",
        "entity",
        country_code=country,
        holder_id=holder_id,
        holder_name=holder_name,
        status="draft",
        is_root=False,
    )
    return Answer(call.world.keep(ENTITIES, entity), 201)


def _by_holder(call: Call) -> Keep | None:
    wanted = call.query.get("holder_id")
    return None if wanted is None else lambda row: normalize(row["holder_id"]) == normalize(wanted)


FILTERS = (_by_holder, one_of("status", STATUSES), is_true("is_root"))
ROUTES = (
    Route("POST", "/v2/entities", "create entity", create_entity),
    Route("GET", "/v1/entities", "list entities", offset_list(ENTITIES, *FILTERS)),
    Route("GET", "/v2/entities", "list entities (v2)", cursor_list(ENTITIES, *FILTERS)),
    Route("GET", "/v1/entities/{id}", "get entity (v1)", get_one(ENTITIES)),
    Route("GET", "/v2/entities/{id}", "get entity", get_one(ENTITIES)),
)
