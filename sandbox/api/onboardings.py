"""Onboardings: the review that lets an entity hold accounts."""

from datetime import timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_choice, refuse_status, require, require_mapping, require_text
from sandbox.api.paging import cursor_page
from sandbox.api.uploads import MEGABYTE, check_file
from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.collection import Object
from sandbox.state.refusal import RefusalError, missing_parameter, missing_resource

ONBOARDINGS = "onboardings"
LARGEST_DOCUMENT = 30 * MEGABYTE
REVIEWED_AFTER = timedelta(minutes=1)
# What a submission must hold; the provider's own list is not published.
REQUIRED_DATA = ("company_information", "legal_representatives", "business_activity")


def create_onboarding(call: Call) -> Answer:
    entity = call.world.get(call.mode, "entities", call.params["entity"])
    require(call.body, "type")
    kind = read_choice(call.body, "type", ("account_holder",))
    onboarding = call.draft(
        "onb",
        "onboarding",
        entity_id=entity["id"],
        type=kind,
        status="in_progress",
        data=require_mapping(call.body, "data"),
        documents=[],
        updated_at=to_iso(call.world.now()),
    )
    return Answer(call.world.keep(ONBOARDINGS, onboarding), 201)


def list_onboardings(call: Call) -> Answer:
    entity = call.world.get(call.mode, "entities", call.params["entity"])
    rows = call.world.collection(call.mode, ONBOARDINGS)
    return cursor_page(call, rows, lambda row: row["entity_id"] == entity["id"])


def get_onboarding(call: Call) -> Answer:
    return Answer(_find(call))


def _find(call: Call) -> Object:
    """The onboarding, of this entity only."""
    found = call.get(ONBOARDINGS)
    if found["entity_id"] != call.params["entity"]:
        raise missing_resource("onboarding", found["id"])
    return found


def _editable(call: Call) -> Object:
    found = _find(call)
    if found["status"] != "in_progress":
        raise refuse_status("onboarding", found["status"], "in_progress")
    return found


def upload_step_document(call: Call) -> Answer:
    """Fill a slot; what was in it is replaced."""
    return _upload(call, require_text(call.body, "slot_key"))


def upload_representative_document(call: Call) -> Answer:
    return _upload(call, f"legal_representatives.{call.params['person']}")


def upload_shareholder_document(call: Call) -> Answer:
    return _upload(call, f"shareholders.{call.params['person']}")


def _upload(call: Call, slot: str) -> Answer:
    onboarding, file = _editable(call), call.files.get("file")
    if file is None:
        raise missing_parameter("file")
    check_file(file, largest=LARGEST_DOCUMENT)
    document = call.draft("doc", "onboarding_document", slot_key=slot, filename=file.filename)
    others = [row for row in onboarding.get("documents", []) if row["slot_key"] != slot]
    changed = {**onboarding, "documents": [*others, document], "updated_at": to_iso(call.world.now())}
    call.world.keep(ONBOARDINGS, changed)
    return Answer(document, 201)


def submit_onboarding(call: Call) -> Answer:
    """Hand it to the reviewers; with a test key the review is simulated a minute later."""
    onboarding, world = _editable(call), call.world
    for name in REQUIRED_DATA:
        if not onboarding["data"].get(name):
            raise missing_parameter(f"data.{name}")
    if not onboarding.get("documents"):
        raise RefusalError(400, "missing_parameter", "Upload the documents first", param="documents")
    submitted = {**onboarding, "status": "submitted", "updated_at": to_iso(world.now())}
    world.keep(ONBOARDINGS, submitted)
    if call.mode == "test":
        world.put_off(REVIEWED_AFTER, lambda: _review(world, submitted))
    return Answer(submitted)


def _review(world: World, onboarding: Object) -> None:
    activity = onboarding["data"]["business_activity"]
    if activity == "suspicious":
        return
    status = "rejected" if activity == "illegal" else "approved"
    reviewed = {**onboarding, "status": status, "updated_at": to_iso(world.now())}
    world.keep(ONBOARDINGS, reviewed, event=f"entity.onboarding.{status}")
    entity = world.get(onboarding["mode"], "entities", onboarding["entity_id"])
    world.keep("entities", {**entity, "status": "operational" if status == "approved" else "rejected"})


ALL = "/v2/entities/{entity}/onboardings"
ONE = f"{ALL}/{{id}}"
ROUTES = (
    Route("POST", ALL, "create onboarding", create_onboarding),
    Route("GET", ALL, "list onboardings", list_onboardings),
    Route("GET", ONE, "get onboarding", get_onboarding),
    Route("POST", f"{ONE}/submit", "submit onboarding", submit_onboarding),
    Route("POST", f"{ONE}/documents", "upload step document", upload_step_document),
    Route(
        "POST",
        f"{ONE}/legal_representatives/{{person}}/documents",
        "upload legal representative document",
        upload_representative_document,
    ),
    Route(
        "POST", f"{ONE}/shareholders/{{person}}/documents", "upload shareholder document", upload_shareholder_document
    ),
)
