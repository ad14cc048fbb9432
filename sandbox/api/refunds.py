"""Refunds: money on its way back to a payer."""

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_choice, read_metadata, read_whole, refuse_status, require_text
from sandbox.api.listing import between, exactly, get_one, offset_list, one_of
from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.collection import Object
from sandbox.state.outcomes import outcome
from sandbox.state.refusal import RefusalError, missing_resource

STATUSES = ("created", "pending", "in_progress", "succeeded", "failed", "canceled")
UNTOUCHED = ("created", "pending")  # two names of one state
REFUNDS = "refunds"
SANTIAGO = ZoneInfo("America/Santiago")
CUT, PROCESSED_AT = time(14), time(15)
DISBURSED_AFTER = timedelta(hours=1)
PATIENCE_DAYS = 5  # business days the balance may be short
VOUCHER_LIFE = timedelta(minutes=5)
SATURDAY = 5


def create_refund(call: Call) -> Answer:
    """Give back a payment, whole or in part."""
    world, body = call.world, call.body
    read_choice(body, "resource_type", ("payment_intent",), default="payment_intent")
    paid = world.get(call.mode, "payment_intents", require_text(body, "resource_id"))
    if paid["status"] != "succeeded":
        raise refuse_status("payment intent", paid["status"], "succeeded")
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
    if refund["status"] not in UNTOUCHED:
        raise refuse_status("refund", refund["status"], "created")
    changed = {**refund, "status": "canceled", "updated_at": to_iso(call.world.now())}
    return Answer(call.world.keep(REFUNDS, changed))


def create_voucher(call: Call) -> Answer:
    """An address of the voucher that is good for five minutes; live mode only."""
    refund, world = call.get(REFUNDS), call.world
    if call.mode != "live":
        raise RefusalError(400, "invalid_mode", "Vouchers exist in live mode only", param="id")
    if refund["status"] != "succeeded":
        raise refuse_status("refund", refund["status"], "succeeded")
    token = world.new_secret("voucher")
    world.vouchers[token] = (refund["id"], world.now() + VOUCHER_LIFE)
    base = call.address.removesuffix(call.path)
    return Answer({"url": f"{base}/vouchers/{token}", "expires_at": to_iso(world.now() + VOUCHER_LIFE)})


def open_voucher(world: World, token: str) -> str:
    """The voucher's text, while its address is good."""
    found = world.vouchers.get(token)
    if found is None or found[1] <= world.now():
        raise missing_resource("voucher", token)
    return f"Voucher of refund {found[0]}\n"


ROUTES = (
    Route("POST", "/v1/refunds", "create refund", create_refund),
    Route(
        "GET",
        "/v1/refunds",
        "list refunds",
        offset_list(REFUNDS, one_of("status", STATUSES), exactly("resource_id"), between()),
    ),
    Route("GET", "/v1/refunds/{id}", "get refund", get_one(REFUNDS)),
    Route("POST", "/v1/refunds/{id}/cancel", "cancel refund", cancel_refund),
    Route("GET", "/v1/refunds/{id}/voucher", "get refund voucher", create_voucher),
)
