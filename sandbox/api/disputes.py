"""Disputes: a payer's bank asks for the money back, and the merchant may send documents."""

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import refuse_status
from sandbox.api.listing import between, exactly, get_one, offset_list, one_of
from sandbox.api.uploads import MEGABYTE, check_file
from sandbox.state.clock import to_iso, to_moment
from sandbox.state.collection import Object
from sandbox.state.refusal import RefusalError, missing_parameter

STATUSES = ("waiting_documentation", "in_review", "won", "lost", "expired")
DISPUTES = "disputes"
LARGEST_DOCUMENT = 10 * MEGABYTE - 1


def upload_document(call: Call) -> Answer:
    """Add one document while the dispute waits for them."""
    dispute = _open_for_documents(call)
    file = call.files.get("file")
    if file is None:
        raise missing_parameter("file")
    check_file(file, largest=LARGEST_DOCUMENT)
    document = call.draft("doc", "dispute_document", filename=file.filename)
    changed = {**dispute, "documents": [*dispute["documents"], document], "updated_at": to_iso(call.world.now())}
    return Answer(call.world.keep(DISPUTES, changed), 201)


def submit_for_review(call: Call) -> Answer:
    """Hand the documents to the reviewers."""
    dispute = _open_for_documents(call)
    if not dispute["documents"]:
        raise RefusalError(409, "missing_documents", "Upload at least one document first", param="id")
    changed = {**dispute, "status": "in_review", "updated_at": to_iso(call.world.now())}
    return Answer(call.world.keep(DISPUTES, changed, event="dispute.in_review"))


def _open_for_documents(call: Call) -> Object:
    dispute = call.get(DISPUTES)
    if dispute["status"] != "waiting_documentation":
        raise refuse_status("dispute", dispute["status"], "waiting_documentation")
    if to_moment(dispute["documentation_upload_deadline"]) <= call.world.now():
        raise RefusalError(409, "deadline_passed", "The documentation upload deadline has passed", param="id")
    return dispute


ROUTES = (
    Route(
        "GET",
        "/v1/disputes",
        "list disputes",
        offset_list(DISPUTES, one_of("status", STATUSES), exactly("resource_id"), between()),
    ),
    Route("GET", "/v1/disputes/{id}", "get dispute", get_one(DISPUTES)),
    Route("POST", "/v1/disputes/{id}/documents", "upload dispute document", upload_document),
    Route("POST", "/v1/disputes/{id}/submit_for_review", "submit dispute for review", submit_for_review),
)
