"""Subscriptions and their items, and what they bill by themselves: first invoice, renewals, end of a trial."""

from datetime import datetime, timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import (
    read_business_profile,
    read_choice,
    read_mapping,
    read_metadata,
    read_moment,
    read_text,
    read_whole,
    require_amount,
    require_currency,
    require_mapping,
    require_mappings,
    require_text,
)
from sandbox.api.invoices import INVOICES, METHODS, MOST_PIECES, draft_invoice, draft_line, finalize, total_of
from sandbox.api.lists import cursor_list, exactly, one_of, read_routes
from sandbox.api.payment_intents import is_active
from sandbox.engine.world import World
from sandbox.scenarios.billing import DRAFT_FOR
from sandbox.state.clock import to_iso
from sandbox.state.refusal import RefusalError, invalid, missing_parameter, missing_resource
from sandbox.state.store import Object

SUBSCRIPTIONS = "subscriptions"
ANNOUNCED_BEFORE = timedelta(days=3)
CLF_IN_PESOS = 39_000  # what one unit of account is billed at; the real rate changes daily
CLF_UNITS = 10_000  # CLF amounts have four decimals
LENGTHS = {"day": timedelta(days=1), "week": timedelta(weeks=1)}
MONTHS = {"month": 1, "year": 12}
LAST_SAFE_DAY = 28
STATUSES = ("incomplete", "active", "trialing", "canceled")
TERMS = ("collection_method", "payment_method", "trial_end", "billing_cycle_anchor", "business_profile")
INTERVALS = ("day", "week", "month", "year")
PRICE_CURRENCIES = ("CLP", "MXN", "CLF")
MOST_INTERVALS = 36
SHORTEST_TRIAL = timedelta(days=1)
PRODUCTS = "products"


def start(world: World, mode: str, items: list[Object], terms: Object) -> Object:
    """Store a new subscription, bill its first period where one is due, and return it."""
    subscription: Object = {
        **world.draft(mode, "sub", "subscription"),
        "status": _first_status(terms["collection_method"], is_trial=terms.get("trial_end") is not None),
        "customer": terms["customer"],
        "currency": billed_currency(items),
        "items": items,
        **{name: terms.get(name) for name in TERMS},
        "metadata": terms["metadata"],
    }
    world.keep(SUBSCRIPTIONS, subscription)
    _begin(world, subscription)
    return world.get(mode, SUBSCRIPTIONS, subscription["id"])


def _first_status(method: str, *, is_trial: bool) -> str:
    if is_trial:
        return "trialing"
    return "active" if method == "send_invoice" else "incomplete"


def billed_currency(items: list[Object]) -> str:
    """Return the one currency of all items; a CLF price lives inside a CLP subscription."""
    currencies = {"CLP" if item["price"]["currency"] == "CLF" else item["price"]["currency"] for item in items}
    if len(currencies) != 1:
        message = "The items of a subscription need compatible currencies"
        raise RefusalError(400, "currency_mismatch", message, param="items")
    return str(currencies.pop())


def _begin(world: World, subscription: Object) -> None:
    """Bill the first period now, or when the trial ends."""
    id_, mode = subscription["id"], subscription["mode"]
    if subscription["status"] == "trialing":
        plan_trial_end(world, subscription)
    else:
        _bill_first(world, mode, id_)


def plan_trial_end(world: World, subscription: Object) -> None:
    """Bill the first period when the trial ends, unless its end is moved again."""
    id_, mode, trial_end = subscription["id"], subscription["mode"], subscription["trial_end"]

    def end() -> None:
        current = world.get(mode, SUBSCRIPTIONS, id_)
        if current["status"] == "trialing" and current["trial_end"] == trial_end:
            _bill_first(world, mode, id_)

    world.put_off(datetime.fromisoformat(trial_end) - world.now(), end)


def _bill_first(world: World, mode: str, id_: str) -> None:
    subscription = world.get(mode, SUBSCRIPTIONS, id_)
    if subscription["status"] == "canceled":
        return
    if subscription["status"] == "trialing" and subscription["collection_method"] == "send_invoice":
        subscription = world.keep(SUBSCRIPTIONS, {**subscription, "status": "active"})
    if subscription["collection_method"] == "send_invoice" or subscription["payment_method"]:
        invoice = _draft(world, subscription)
        finalize(world, invoice, on_paid=lambda _: _activate(world, mode, id_))
    _plan_renewal(world, subscription)


def _activate(world: World, mode: str, id_: str) -> None:
    subscription = world.get(mode, SUBSCRIPTIONS, id_)
    if subscription["status"] in {"incomplete", "trialing"}:
        world.keep(SUBSCRIPTIONS, {**subscription, "status": "active"})


def _plan_renewal(world: World, subscription: Object) -> None:
    id_, mode = subscription["id"], subscription["mode"]
    period = next_period(world.now(), subscription["items"][0]["price"]["recurring"]) - world.now()
    if period > ANNOUNCED_BEFORE:
        world.put_off(period - ANNOUNCED_BEFORE, lambda: _announce(world, mode, id_))
    world.put_off(period, lambda: _renew(world, mode, id_))


def next_period(now: datetime, recurring: Object) -> datetime:
    """Return when the period that begins now ends."""
    count: int = recurring["interval_count"]
    if recurring["interval"] in LENGTHS:
        return now + LENGTHS[recurring["interval"]] * count
    months = now.month - 1 + MONTHS[recurring["interval"]] * count
    return now.replace(year=now.year + months // 12, month=months % 12 + 1, day=min(now.day, LAST_SAFE_DAY))


def _announce(world: World, mode: str, id_: str) -> None:
    """A preview of the next invoice: it has no id yet."""
    subscription = world.get(mode, SUBSCRIPTIONS, id_)
    if subscription["status"] != "active":
        return
    lines = _lines(world, subscription)
    preview = {
        "id": None,
        "object": "invoice",
        "mode": mode,
        "status": "draft",
        "customer": subscription["customer"],
        "subscription": id_,
        "currency": subscription["currency"],
        "total": total_of(lines),
        "lines": lines,
    }
    world.announce("invoice.upcoming", preview, mode=mode)


def _renew(world: World, mode: str, id_: str) -> None:
    subscription = world.get(mode, SUBSCRIPTIONS, id_)
    if subscription["status"] != "active":
        return
    invoice = _draft(world, subscription)
    world.put_off(DRAFT_FOR, lambda: _finalize_if_draft(world, mode, invoice["id"]))
    _plan_renewal(world, subscription)


def _finalize_if_draft(world: World, mode: str, id_: str) -> None:
    invoice = world.get(mode, INVOICES, id_)
    if invoice["status"] == "draft":
        finalize(world, invoice)


def _draft(world: World, subscription: Object) -> Object:
    terms = {"subscription": subscription["id"], "default_payment_method": subscription["payment_method"]}
    return draft_invoice(world, subscription["mode"], _lines(world, subscription), {**subscription, **terms})


def _lines(world: World, subscription: Object) -> list[Object]:
    lines = []
    for item in subscription["items"]:
        price = item["price"]
        amount = to_billed(price["unit_amount"], price["currency"])
        made = draft_line(world, amount, subscription["currency"], item["quantity"], product=price["product"])
        ends_at = next_period(world.now(), price["recurring"])
        lines.append({**made, "description": item["description"], "period_end": to_iso(ends_at)})
    return lines


def to_billed(amount: int, currency: str) -> int:
    """Return a price in the subscription's currency: units of account become pesos, half up."""
    if currency != "CLF":
        return amount
    return (2 * amount * CLF_IN_PESOS + CLF_UNITS) // (2 * CLF_UNITS)


def create_subscription(call: Call) -> Answer:
    """Begin billing a customer: at once, or when a trial ends."""
    body, world = call.body, call.world
    customer = world.get(call.mode, "customers", require_text(body, "customer"))
    items = [read_item(call, entry) for entry in require_mappings(body, "items")]
    terms = {
        "customer": customer["id"],
        "collection_method": read_choice(body, "collection_method", METHODS, default="charge_automatically"),
        "payment_method": _read_method(call, customer["id"]),
        "trial_end": _read_trial_end(call),
        "billing_cycle_anchor": read_text(body, "billing_cycle_anchor"),
        "business_profile": read_business_profile(body),
        "metadata": read_metadata(body),
    }
    return Answer(start(world, call.mode, items, terms), 201)


def _read_trial_end(call: Call) -> str | None:
    ends_at = read_moment(call.body, "trial_end")
    if ends_at is None:
        return None
    if ends_at < call.world.now() + SHORTEST_TRIAL:
        raise invalid("date", "trial_end", "at least one day in the future")
    return to_iso(ends_at)


def _read_method(call: Call, customer: str) -> str | None:
    wanted = read_text(call.body, "payment_method")
    if wanted is None:
        return None
    method = call.world.get(call.mode, "payment_methods", wanted)
    if method["customer"] != customer:
        raise RefusalError(
            400, "invalid_params", "The payment method belongs to another customer", param="payment_method"
        )
    return wanted


def read_item(call: Call, entry: Object) -> Object:
    return {
        "id": call.world.new_id("si"),
        "object": "subscription_item",
        "price": _read_price(call, require_mapping(entry, "price_data")),
        "quantity": read_whole(entry, "quantity", least=1, most=MOST_PIECES) or 1,
        "name": read_text(entry, "name"),
        "description": read_text(entry, "description"),
    }


def _read_price(call: Call, data: Object) -> Object:
    cycle = read_mapping(data, "recurring")
    return {
        "currency": require_currency(data, PRICE_CURRENCIES),
        "unit_amount": require_amount(data, "unit_amount"),
        "recurring": {
            "interval": read_choice(cycle, "interval", INTERVALS, default="month"),
            "interval_count": read_whole(cycle, "interval_count", least=1, most=MOST_INTERVALS) or 1,
        },
        "product": _read_product(call, data),
    }


def _read_product(call: Call, data: Object) -> Object:
    """Return an existing product, or a new one given inline."""
    wanted = read_text(data, "product")
    if wanted:
        return call.world.get(call.mode, PRODUCTS, wanted)
    return keep_product(call, require_mapping(data, "product_data"))


def _get_editable(call: Call) -> Object:
    subscription = call.get(SUBSCRIPTIONS)
    if subscription["status"] == "canceled":
        raise RefusalError(409, "subscription_not_editable", "The subscription is canceled", param="id")
    return subscription


def update_subscription(call: Call) -> Answer:
    """Change the trial's end, the payment method or how it collects, without a charge."""
    subscription, body = _get_editable(call), call.body
    if not any(body.get(name) is not None for name in ("trial_end", "payment_method", "collection_method")):
        raise missing_parameter("trial_end, payment_method or collection_method")
    changes: Object = {}
    if body.get("trial_end") is not None:
        changes["trial_end"] = _read_trial_end(call)
    if body.get("collection_method") is not None:
        changes["collection_method"] = read_choice(body, "collection_method", METHODS)
    method = _read_method(call, subscription["customer"])
    changed = {**subscription, **changes}
    changed = call.world.keep(SUBSCRIPTIONS, changed) if method is None else _replace_method(call, changed, method)
    if changed["status"] == "trialing" and changed["trial_end"] != subscription["trial_end"]:
        plan_trial_end(call.world, changed)
    return Answer(changed)


def _replace_method(call: Call, subscription: Object, method: str) -> Object:
    if not is_active(call.world.get(call.mode, "payment_methods", method)):
        call.world.announce("subscription.payment_method_update_failed", subscription, mode=call.mode)
        raise RefusalError(400, "payment_method_inactive", "The payment method is not active", param="payment_method")
    changed = {**subscription, "payment_method": method}
    return call.world.keep(SUBSCRIPTIONS, changed, event="subscription.payment_method_updated")


def detach_method(call: Call) -> Answer:
    """Only where invoices are sent: the unpaid ones forget the method, paid and void ones keep it."""
    subscription, world = call.get(SUBSCRIPTIONS), call.world
    if subscription["status"] == "canceled" or subscription["collection_method"] == "charge_automatically":
        raise RefusalError(
            409, "payment_method_required", "Only send_invoice subscriptions can lose their method", param="id"
        )
    if subscription["payment_method"] is None:
        return Answer(subscription)
    for invoice in list(world.collection(call.mode, "invoices").newest_first()):
        if invoice["subscription"] == subscription["id"] and invoice["status"] in {"draft", "open"}:
            world.keep("invoices", {**invoice, "default_payment_method": None})
    detached = {**subscription, "payment_method": None}
    return Answer(world.keep(SUBSCRIPTIONS, detached, event="subscription.payment_method_updated"))


def cancel_subscription(call: Call) -> Answer:
    changed = {**_get_editable(call), "status": "canceled", "canceled_at": to_iso(call.world.now())}
    return Answer(call.world.keep(SUBSCRIPTIONS, changed))


def create_item(call: Call) -> Answer:
    subscription = _get_editable(call)
    item = read_item(call, call.body)
    _keep_items(call, subscription, [*subscription["items"], item])
    return Answer(item, 201)


def list_items(call: Call) -> Answer:
    return Answer(call.get(SUBSCRIPTIONS)["items"])


def _find_item(call: Call, subscription: Object) -> Object:
    for item in subscription["items"]:
        if item["id"] == call.params["item"]:
            return dict(item)
    raise missing_resource("subscription item", call.params["item"])


def update_item(call: Call) -> Answer:
    """Change quantity, price, name and description; fields that are not named stay."""
    subscription, body = _get_editable(call), call.body
    item = _find_item(call, subscription)
    changes: Object = {name: read_text(body, name) for name in ("name", "description") if name in body}
    if body.get("quantity") is not None:
        changes["quantity"] = read_whole(body, "quantity", least=1, most=MOST_PIECES)
    if body.get("price_data") is not None:
        changes["price"] = _read_price(call, read_mapping(body, "price_data"))
    changed = {**item, **changes}
    _keep_items(call, subscription, [changed if row["id"] == item["id"] else row for row in subscription["items"]])
    return Answer(changed)


def delete_item(call: Call) -> Answer:
    """Billing of it stops with the next invoice; the last item cannot go."""
    subscription = _get_editable(call)
    item = _find_item(call, subscription)
    if len(subscription["items"]) == 1:
        raise RefusalError(
            409, "last_subscription_item", "The last item of a subscription cannot be deleted", param="id"
        )
    _keep_items(call, subscription, [row for row in subscription["items"] if row["id"] != item["id"]])
    return Answer(item)


def _keep_items(call: Call, subscription: Object, items: list[Object]) -> None:
    call.world.keep(SUBSCRIPTIONS, {**subscription, "items": items, "currency": billed_currency(items)})


ONE = "/v2/subscriptions/{id}"

LISTED = cursor_list(SUBSCRIPTIONS, exactly("customer"), one_of("status", STATUSES))
ROUTES = (
    Route("POST", "/v2/subscriptions", "create subscription", create_subscription),
    *read_routes("/v2/subscriptions", "subscription", LISTED),
    Route("PATCH", ONE, "update subscription", update_subscription),
    Route("DELETE", f"{ONE}/payment_method", "detach payment method", detach_method),
    Route("POST", f"{ONE}/cancel", "cancel subscription", cancel_subscription),
    Route("POST", f"{ONE}/items", "create subscription item", create_item),
    Route("GET", f"{ONE}/items", "list subscription items", list_items),
    Route("POST", f"{ONE}/items/{{item}}", "update subscription item", update_item),
    Route("PATCH", f"{ONE}/items/{{item}}", "update subscription item", update_item),
    Route("DELETE", f"{ONE}/items/{{item}}", "delete subscription item", delete_item),
)


def keep_product(call: Call, given: Object) -> Object:
    """Store a new product and return it."""
    product = call.draft(
        "prod",
        "product",
        name=require_text(given, "name"),
        description=read_text(given, "description"),
        image_url=read_text(given, "image_url"),
        metadata=read_metadata(given),
    )
    return call.world.keep(PRODUCTS, product)


def create_product(call: Call) -> Answer:
    return Answer(keep_product(call, call.body), 201)


PRODUCT_ROUTES = (
    Route("POST", "/v2/products", "create product", create_product),
    *read_routes("/v2/products", "product", cursor_list(PRODUCTS)),
)
