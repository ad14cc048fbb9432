"""Payouts and their resources; refunds, money on its way back; disputes, money a payer's bank asks back."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import MEGABYTE, check_file, check_status, read_choice, read_metadata, read_whole, require_text
from sandbox.api.lists import OFFSETS, between, exactly, offset_list, offset_page, one_of, read_routes
from sandbox.engine.contests import REVIEW
from sandbox.engine.payday import RESOURCES
from sandbox.engine.settlement import outcome
from sandbox.engine.world import World
from sandbox.scenarios.calendar import SATURDAY
from sandbox.state.clock import to_iso, to_moment
from sandbox.state.refusal import RefusalError, invalid_enum, missing_parameter, missing_resource
from sandbox.state.store import Object

PAYOUT_STATUSES = ("in_progress", "succeeded", "canceled", "returned")
REFUND_STATUSES = ("created", "pending", "in_progress", "succeeded", "failed", "canceled")
UNTOUCHED = ("created", "pending")  # two names of one state
REFUNDS = "refunds"
SANTIAGO = ZoneInfo("America/Santiago")
CUT, PROCESSED_AT = time(14), time(15)
DISBURSED_AFTER = timedelta(hours=1)
PATIENCE_DAYS = 5  # business days the balance may be short
VOUCHER_LIFE = timedelta(minutes=5)
DISPUTE_STATUSES = ("waiting_documentation", "in_review", "won", "lost", "expired")
DISPUTES = "disputes"
LARGEST_DOCUMENT = 10 * MEGABYTE - 1


def list_resources(call: Call) -> Answer:
    """Return the current objects of one type in one payout."""
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


PAYOUT_ROUTES = (
    *read_routes("/v1/payouts", "payout", offset_list("payouts", one_of("status", PAYOUT_STATUSES), between())),
    Route("GET", "/v1/payouts/{id}/resources", "list payout resources", list_resources,
          query=("resource_type", *OFFSETS)),
)  # fmt: skip


def create_refund(call: Call) -> Answer:
    """Give back a payment, whole or in part."""
    world, body = call.world, call.body
    read_choice(body, "resource_type", ("payment_intent",), default="payment_intent")
    paid = world.get(call.mode, "payment_intents", require_text(body, "resource_id"))
    check_status("payment intent", paid, "succeeded")
    left = paid["amount"] - sum(refund["amount"] for refund in _refunds_of(call, paid["id"]))
    amount = read_whole(body, "amount", least=1) or left
    if amount > left or left <= 0:
        raise RefusalError(400, "invalid_amount", f"No more than {left} can be refunded", param="amount")
    refund = call.draft(
        "re",
        "refund",
        amount=amount,
        currency=paid["currency"],
        status="created",
        resource_id=paid["id"],
        resource_type="payment_intent",
        failure_code=None,
        recipient_account=paid.get("sender_account"),
        metadata=read_metadata(body),
        updated_at=to_iso(world.now()),
    )
    world.keep(REFUNDS, refund)
    world.put_off(processed_at(world.now()) - world.now(), lambda: _process(world, call.mode, refund["id"]))
    return Answer(refund, 201)


def _refunds_of(call: Call, payment: str) -> list[Object]:
    found = call.world.collection(call.mode, REFUNDS).newest_first()
    return [row for row in found if row["resource_id"] == payment and row["status"] not in {"failed", "canceled"}]


def processed_at(created_at: datetime) -> datetime:
    """Created before 14:00 local, processed at 15:00 of that business day, else of the next one."""
    local = created_at.astimezone(SANTIAGO)
    day = local.date() if local.time() < CUT else local.date() + timedelta(days=1)
    while day.weekday() >= SATURDAY:
        day += timedelta(days=1)
    return datetime.combine(day, PROCESSED_AT, SANTIAGO)


def _process(world: World, mode: str, id_: str) -> None:
    """Send the money out, or wait some business days for a balance that stays short."""
    refund = world.get(mode, REFUNDS, id_)
    if refund["status"] not in UNTOUCHED:
        return
    if outcome(refund["metadata"]) == "failed":
        world.put_off(_business_days(world.now(), PATIENCE_DAYS), lambda: _fail(world, mode, id_))
        return
    _move(world, refund, "in_progress")
    world.put_off(DISBURSED_AFTER, lambda: _move(world, world.get(mode, REFUNDS, id_), "succeeded"))


def _fail(world: World, mode: str, id_: str) -> None:
    refund = world.get(mode, REFUNDS, id_)
    if refund["status"] in UNTOUCHED:
        _move(world, {**refund, "failure_code": "insufficient_funds"}, "failed")


def _move(world: World, refund: Object, status: str) -> Object:
    changed = {**refund, "status": status, "updated_at": to_iso(world.now())}
    return world.keep(REFUNDS, changed, event=f"refund.{status}")


def _business_days(now: datetime, count: int) -> timedelta:
    day = now
    while count:
        day += timedelta(days=1)
        count -= day.astimezone(SANTIAGO).weekday() < SATURDAY
    return day - now


def cancel_refund(call: Call) -> Answer:
    refund = call.get(REFUNDS)
    check_status("refund", refund, *UNTOUCHED, named="created")
    changed = {**refund, "status": "canceled", "updated_at": to_iso(call.world.now())}
    return Answer(call.world.keep(REFUNDS, changed))


def create_voucher(call: Call) -> Answer:
    """An address of the voucher that is good for five minutes; live mode only."""
    refund, world = call.get(REFUNDS), call.world
    if call.mode != "live":
        raise RefusalError(400, "invalid_mode", "Vouchers exist in live mode only", param="id")
    check_status("refund", refund, "succeeded")
    token = world.new_secret("voucher")
    world.vouchers[token] = (refund["id"], world.now() + VOUCHER_LIFE)
    base = call.address.removesuffix(call.path)
    return Answer({"url": f"{base}/vouchers/{token}", "expires_at": to_iso(world.now() + VOUCHER_LIFE)})


def open_voucher(world: World, token: str) -> str:
    """Return the voucher's text, while its address is good."""
    found = world.vouchers.get(token)
    if found is None or found[1] <= world.now():
        raise missing_resource("voucher", token)
    return f"Voucher of refund {found[0]}\n"


LISTED_REFUNDS = offset_list(REFUNDS, one_of("status", REFUND_STATUSES), exactly("resource_id"), between())
REFUND_ROUTES = (
    Route("POST", "/v1/refunds", "create refund", create_refund),
    *read_routes("/v1/refunds", "refund", LISTED_REFUNDS),
    Route("POST", "/v1/refunds/{id}/cancel", "cancel refund", cancel_refund),
    Route("GET", "/v1/refunds/{id}/voucher", "get refund voucher", create_voucher),
)


def upload_document(call: Call) -> Answer:
    """Add one document while the dispute waits for them."""
    dispute = _get_open(call)
    file = call.files.get("file")
    if file is None:
        raise missing_parameter("file")
    check_file(file, largest=LARGEST_DOCUMENT)
    document = call.draft("doc", "dispute_document", filename=file.filename)
    changed = {**dispute, "documents": [*dispute["documents"], document], "updated_at": to_iso(call.world.now())}
    return Answer(call.world.keep(DISPUTES, changed), 201)


def submit_for_review(call: Call) -> Answer:
    """Hand the documents to the reviewers."""
    dispute = _get_open(call)
    if not dispute["documents"]:
        raise RefusalError(409, "missing_documents", "Upload at least one document first", param="id")
    changed = {**dispute, "status": "in_review", "updated_at": to_iso(call.world.now())}
    world, mode = call.world, call.mode
    if changed.get("_ending") is None:
        world.put_off(REVIEW, lambda: _end_review(world, mode, changed["id"]))
    return Answer(world.keep(DISPUTES, changed, event="dispute.in_review"))


def _end_review(world: World, mode: str, dispute_id: str) -> None:
    """Let the merchant win a dispute whose end no scenario wrote: its payouts take nothing back."""
    dispute = world.get(mode, DISPUTES, dispute_id)
    won = {**dispute, "status": "won", "updated_at": to_iso(world.now())}
    world.keep(DISPUTES, won, event="dispute.won")


def _get_open(call: Call) -> Object:
    dispute = call.get(DISPUTES)
    check_status("dispute", dispute, "waiting_documentation")
    if to_moment(dispute["documentation_upload_deadline"]) <= call.world.now():
        raise RefusalError(409, "deadline_passed", "The documentation upload deadline has passed", param="id")
    return dispute


LISTED_DISPUTES = offset_list(DISPUTES, one_of("status", DISPUTE_STATUSES), exactly("resource_id"), between())
DISPUTE_ROUTES = (
    *read_routes("/v1/disputes", "dispute", LISTED_DISPUTES),
    Route("POST", "/v1/disputes/{id}/documents", "upload dispute document", upload_document),
    Route("POST", "/v1/disputes/{id}/submit_for_review", "submit dispute for review", submit_for_review),
)
