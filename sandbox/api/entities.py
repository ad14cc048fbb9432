"""Entities, the legal holders of accounts, and the onboardings that let them hold one."""

from datetime import timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.customers import normalize
from sandbox.api.fields import (
    MEGABYTE,
    check_file,
    check_status,
    read_choice,
    read_list,
    require,
    require_mapping,
    require_text,
)
from sandbox.api.lists import CURSORS, Filter, cursor_list, cursor_page, get_one, is_true, offset_list, one_of
from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.refusal import RefusalError, missing_parameter, missing_resource
from sandbox.state.store import Keep, Object

ENTITIES = "entities"
ENTITY_STATUSES = (
    "draft",
    "under_review",
    "pending_signature",
    "canceled",
    "waiting_initialization",
    "operational",
    "rejected",
    "paused",
)
ONBOARDINGS = "onboardings"
LARGEST_DOCUMENT = 30 * MEGABYTE
REVIEWED_AFTER = timedelta(minutes=1)
# What a submission must hold; the provider's own list is not published.
REQUIRED_DATA = ("company_information", "legal_representatives")
PEOPLE = {"legal_representatives": "onblr", "shareholders": "onbsh"}  # and how their ids begin


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


ENTITY_FILTERS = (Filter(("holder_id",), _by_holder), one_of("status", ENTITY_STATUSES), is_true("is_root"))

ENTITY_ROUTES = (
    Route("POST", "/v2/entities", "create entity", create_entity),
    Route("GET", "/v1/entities", "list entities", offset_list(ENTITIES, *ENTITY_FILTERS)),
    Route("GET", "/v2/entities", "list entities (v2)", cursor_list(ENTITIES, *ENTITY_FILTERS)),
    Route("GET", "/v1/entities/{id}", "get entity (v1)", get_one(ENTITIES)),
    Route("GET", "/v2/entities/{id}", "get entity", get_one(ENTITIES)),
)


def create_onboarding(call: Call) -> Answer:
    entity = call.world.get(call.mode, "entities", call.params["entity"])
    require(call.body, "type")
    kind = read_choice(call.body, "type", ("account_holder",))
    data = require_mapping(call.body, "data")
    onboarding = call.draft(
        "onb",
        "onboarding",
        entity_id=entity["id"],
        type=kind,
        status="in_progress",
        data=data,
        documents=[],
        **{name: _with_ids(call, prefix, read_list(data, name)) for name, prefix in PEOPLE.items()},
        updated_at=to_iso(call.world.now()),
    )
    return Answer(call.world.keep(ONBOARDINGS, onboarding), 201)


def _with_ids(call: Call, prefix: str, given: list[object]) -> list[Object]:
    """Return the people as documents are uploaded for them: each with an id of its own."""
    people = [person if isinstance(person, dict) else {} for person in given]
    return [{**person, "id": call.world.new_id(prefix), "documents": []} for person in people]


def list_onboardings(call: Call) -> Answer:
    entity = call.world.get(call.mode, "entities", call.params["entity"])
    rows = call.world.collection(call.mode, ONBOARDINGS)
    return cursor_page(call, rows, lambda row: row["entity_id"] == entity["id"])


def get_onboarding(call: Call) -> Answer:
    return Answer(_find(call))


def _find(call: Call) -> Object:
    """Return the onboarding, of this entity only."""
    found = call.get(ONBOARDINGS)
    if found["entity_id"] != call.params["entity"]:
        raise missing_resource("onboarding", found["id"])
    return found


def _get_editable(call: Call) -> Object:
    found = _find(call)
    check_status("onboarding", found, "in_progress")
    return found


def upload_step_document(call: Call) -> Answer:
    """Fill a slot; what was in it is replaced."""
    onboarding = _get_editable(call)
    document = _read_document(call, call.params["slot_key"])
    return _keep_onboarding(call, {**onboarding, "documents": _replace_document(onboarding["documents"], document)})


def upload_representative_document(call: Call) -> Answer:
    return _upload_for(call, "legal_representatives", call.params["slot_key"])


def upload_shareholder_document(call: Call) -> Answer:
    """A shareholder has one slot."""
    return _upload_for(call, "shareholders", "identification")


def _upload_for(call: Call, people: str, slot: str) -> Answer:
    onboarding, id_ = _get_editable(call), call.params["person"]
    if all(person["id"] != id_ for person in onboarding[people]):
        raise missing_resource(people.removesuffix("s").replace("_", " "), id_)
    document = _read_document(call, slot)
    changed = [
        {**person, "documents": _replace_document(person["documents"], document)} if person["id"] == id_ else person
        for person in onboarding[people]
    ]
    return _keep_onboarding(call, {**onboarding, people: changed})


def _read_document(call: Call, slot: str) -> Object:
    file = call.files.get("file")
    if file is None:
        raise missing_parameter("file")
    check_file(file, largest=LARGEST_DOCUMENT)
    return call.draft("doc", "onboarding_document", slot_key=slot, filename=file.filename, status="uploaded")


def _replace_document(documents: list[Object], document: Object) -> list[Object]:
    return [*(row for row in documents if row["slot_key"] != document["slot_key"]), document]


def _keep_onboarding(call: Call, changed: Object) -> Answer:
    return Answer(call.world.keep(ONBOARDINGS, {**changed, "updated_at": to_iso(call.world.now())}))


def submit_onboarding(call: Call) -> Answer:
    """Hand it to the reviewers; with a test key the review is simulated a minute later."""
    onboarding, world = _get_editable(call), call.world
    for name in REQUIRED_DATA:
        if not onboarding["data"].get(name):
            raise missing_parameter(f"data.{name}")
    if not _activity(onboarding):
        raise missing_parameter("data.business_activity")
    if not onboarding.get("documents"):
        raise RefusalError(400, "missing_parameter", "Upload the documents first", param="documents")
    submitted = {**onboarding, "status": "submitted", "updated_at": to_iso(world.now())}
    world.keep(ONBOARDINGS, submitted)
    if call.mode == "test":
        world.put_off(REVIEWED_AFTER, lambda: _review(world, submitted))
    return Answer(submitted)


def _activity(onboarding: Object) -> object:
    """Return the business activity: the specification has it among the data, the client libraries in the company's."""
    data = onboarding["data"]
    company = data["company_information"]
    return data.get("business_activity") or (company.get("business_activity") if isinstance(company, dict) else None)


def _review(world: World, onboarding: Object) -> None:
    activity = _activity(onboarding)
    if activity == "suspicious":
        return
    status = "rejected" if activity == "illegal" else "approved"
    reviewed = {**onboarding, "status": status, "updated_at": to_iso(world.now())}
    world.keep(ONBOARDINGS, reviewed, event=f"entity.onboarding.{status}")
    entity = world.get(onboarding["mode"], "entities", onboarding["entity_id"])
    world.keep("entities", {**entity, "status": "operational" if status == "approved" else "rejected"})


ALL = "/v2/entities/{entity}/onboardings"

ONE = f"{ALL}/{{id}}"

ONBOARDING_ROUTES = (
    Route("POST", ALL, "create onboarding", create_onboarding),
    Route("GET", ALL, "list onboardings", list_onboardings, query=CURSORS),
    Route("GET", ONE, "get onboarding", get_onboarding),
    Route("POST", f"{ONE}/submit", "submit onboarding", submit_onboarding),
    Route("PUT", f"{ONE}/documents/{{slot_key}}", "upload step document", upload_step_document),
    Route(
        "PUT",
        f"{ONE}/legal_representatives/{{person}}/documents/{{slot_key}}",
        "upload legal representative document",
        upload_representative_document,
    ),
    Route("PUT", f"{ONE}/shareholders/{{person}}/document", "upload shareholder document", upload_shareholder_document),
)
