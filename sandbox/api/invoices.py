"""Billing invoices: drafted, finalized, charged, paid and voided."""

from collections.abc import Callable

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import (
    check_status,
    read_business_profile,
    read_choice,
    read_flag,
    read_list,
    read_metadata,
    read_text,
    read_whole,
    refuse_status,
    require_amount,
    require_currency,
    require_mappings,
    require_text,
)
from sandbox.api.lists import between, cursor_list, exactly, one_of, read_routes
from sandbox.api.payment_intents import charge, check_active, is_active
from sandbox.engine.world import World
from sandbox.state.clock import to_iso
from sandbox.state.ids import draw
from sandbox.state.refusal import RefusalError, missing_parameter, missing_resource
from sandbox.state.store import Object

INVOICES = "invoices"
Paid = Callable[[Object], object]
STATUSES = ("draft", "open", "paid", "void")
METHODS = ("charge_automatically", "send_invoice")
TERMS = ("customer", "subscription", "currency", "collection_method", "default_payment_method")
MOST_PIECES = 9_999


def draft_invoice(world: World, mode: str, lines: list[Object], terms: Object) -> Object:
    """Store, announce and return a new draft."""
    invoice = {
        **world.draft(mode, "inv", "invoice"),
        "status": "draft",
        **{name: terms.get(name) for name in TERMS},
        "external_payment": False,
        "total": total_of(lines),
        "lines": lines,
        "payments": [],
        "hosted_invoice_url": None,
        "business_profile": terms["business_profile"],
        "metadata": terms["metadata"],
    }
    return world.keep(INVOICES, invoice, event="invoice.created")


def total_of(lines: list[Object]) -> int:
    return sum(line["amount"] * line["quantity"] for line in lines)


def draft_line(world: World, amount: int, currency: str, quantity: int, *, product: Object | None = None) -> Object:
    """Return a draft_line item; `amount` is the price of one."""
    return {
        "id": world.new_id("il"),
        "object": "line_item",
        "amount": amount,
        "currency": currency,
        "quantity": quantity,
        "period_start": to_iso(world.now()),
        "period_end": None,
        "description": None,
        "product": product,
    }


def finalize(world: World, invoice: Object, *, on_paid: Paid | None = None) -> Object:
    """Open the invoice; one that is charged automatically is charged right after."""
    page = hosted_url(invoice) if invoice["collection_method"] == "send_invoice" else None
    opened = {**invoice, "status": "open", "hosted_invoice_url": page}
    world.keep(INVOICES, opened, event="invoice.finalized")
    if invoice["collection_method"] == "charge_automatically" and invoice["default_payment_method"]:
        method = world.get(invoice["mode"], "payment_methods", invoice["default_payment_method"])
        if not is_active(method):
            return fail(world, opened)
        return collect(world, opened, method, on_paid=on_paid)
    return opened


def hosted_url(invoice: Object) -> str:
    return f"https://invoices.example/{draw('page', invoice['id'])}"


def collect(world: World, invoice: Object, method: Object, *, on_paid: Paid | None = None) -> Object:
    """Start a payment of an open invoice; its end is announced seconds later."""
    intent = charge(
        world,
        method,
        invoice["total"],
        invoice["currency"],
        metadata=invoice["metadata"],
        subscription=invoice["subscription"],
        then=lambda ended: _settle(world, invoice, ended, on_paid),
    )
    paying = {**invoice, "payments": [*invoice["payments"], _payment(intent)]}
    return world.keep(INVOICES, paying, event="invoice.payment_created")


def _payment(intent: Object) -> Object:
    return {
        "amount": intent["amount"],
        "currency": intent["currency"],
        "payment_intent": intent["id"],
        "status": intent["status"],
    }


def _settle(world: World, invoice: Object, intent: Object, on_paid: Paid | None) -> None:
    current = world.get(invoice["mode"], INVOICES, invoice["id"])
    payments = [_payment(intent) if row["payment_intent"] == intent["id"] else row for row in current["payments"]]
    current = {**current, "payments": payments}
    if current["status"] != "open":
        world.keep(INVOICES, current)  # recorded as paid outside the service in the meantime
        return
    if intent["status"] != "succeeded":
        fail(world, current)
        return
    world.keep(INVOICES, current, event="invoice.payment_succeeded")
    paid = mark_paid(world, current)
    if on_paid:
        on_paid(paid)


def fail(world: World, invoice: Object) -> Object:
    """Return an automatic charge failed: the customer may pay on the hosted page now."""
    failed = {**invoice, "hosted_invoice_url": hosted_url(invoice)}
    return world.keep(INVOICES, failed, event="invoice.payment_failed")


def mark_paid(world: World, invoice: Object, *, is_external: bool = False) -> Object:
    paid = {**invoice, "status": "paid", "external_payment": is_external}
    return world.keep(INVOICES, paid, event="invoice.paid")


def is_being_paid(invoice: Object) -> bool:
    """Return whether a payment of it is on its way."""
    return any(row["status"] in {"in_progress", "pending"} for row in invoice["payments"])


def create_invoice(call: Call) -> Answer:
    """Create a one-off invoice, in draft until it is finalized."""
    body, world = call.body, call.world
    customer = world.get(call.mode, "customers", require_text(body, "customer"))
    method = read_choice(body, "collection_method", METHODS, default="charge_automatically")
    default = read_text(body, "default_payment_method")
    if default:
        _check_owner(world.get(call.mode, "payment_methods", default), customer["id"], param="default_payment_method")
    elif method == "charge_automatically":
        raise missing_parameter("default_payment_method")
    currency = require_currency(body, ("CLP",))
    lines = [_read_line(call, entry, currency) for entry in _entries(body)]
    terms = {
        "customer": customer["id"],
        "currency": currency,
        "collection_method": method,
        "default_payment_method": default,
        "business_profile": read_business_profile(body),
        "metadata": read_metadata(body),
    }
    return Answer(draft_invoice(world, call.mode, lines, terms), 201)


def _check_owner(method: Object, customer: str, *, param: str) -> None:
    if method["customer"] != customer:
        raise RefusalError(400, "invalid_params", "The payment method belongs to another customer", param=param)


def _entries(body: Object) -> list[Object]:
    return require_mappings(body, "lines") if read_list(body, "lines") else []


def _read_line(call: Call, entry: Object, currency: str) -> Object:
    given = require_currency(entry, ("CLP", "MXN", "CLF")) if entry.get("currency") else currency
    if given != currency:
        raise RefusalError(400, "currency_mismatch", f"Lines of this invoice are in {currency}", param="currency")
    made = draft_line(
        call.world, require_amount(entry), currency, read_whole(entry, "quantity", least=1, most=MOST_PIECES) or 1
    )
    return {**made, "description": read_text(entry, "description")}


def _draft(call: Call) -> Object:
    invoice = call.get(INVOICES)
    check_status("invoice", invoice, "draft")
    return invoice


def _with_lines(call: Call, invoice: Object, lines: list[Object]) -> Answer:
    return Answer(call.world.keep(INVOICES, {**invoice, "lines": lines, "total": total_of(lines)}))


def add_lines(call: Call) -> Answer:
    """All of the lines, or none of them."""
    invoice = _draft(call)
    added = [_read_line(call, entry, invoice["currency"]) for entry in require_mappings(call.body, "lines")]
    return _with_lines(call, invoice, [*invoice["lines"], *added])


def remove_lines(call: Call) -> Answer:
    """All of the lines, or none of them."""
    invoice = _draft(call)
    wanted = read_list(call.body, "lines")
    if not wanted:
        raise missing_parameter("lines")
    gone = {str(entry["id"] if isinstance(entry, dict) and "id" in entry else entry) for entry in wanted}
    unknown = gone - {line["id"] for line in invoice["lines"]}
    if unknown:
        raise missing_resource("line item", min(unknown), param="lines")
    return _with_lines(call, invoice, [line for line in invoice["lines"] if line["id"] not in gone])


def update_line(call: Call) -> Answer:
    invoice, body = _draft(call), call.body
    found = next((line for line in invoice["lines"] if line["id"] == call.params["line"]), None)
    if found is None:
        raise missing_resource("line item", call.params["line"])
    entry = {"amount": found["amount"], "quantity": found["quantity"], "description": found.get("description"), **body}
    changed = {**_read_line(call, entry, invoice["currency"]), "id": found["id"]}
    return _with_lines(call, invoice, [changed if line is found else line for line in invoice["lines"]])


def finalize_invoice(call: Call) -> Answer:
    return Answer(finalize(call.world, _draft(call)))


def pay_invoice(call: Call) -> Answer:
    """Charge a method of the customer, or note that the money came another way."""
    invoice, body, world = call.get(INVOICES), call.body, call.world
    is_external, wanted = read_flag(body, "external_payment"), read_text(body, "payment_method")
    if wanted and "external_payment" in body:
        raise RefusalError(
            400,
            "mutually_exclusive_params",
            "Give payment_method or external_payment, not both",
            param="external_payment",
        )
    if invoice["status"] != "open" or (is_being_paid(invoice) and not is_external):
        raise refuse_status("invoice", invoice, "open and not being paid")
    if is_external:
        return Answer(mark_paid(world, invoice, is_external=True))
    method = world.get(call.mode, "payment_methods", wanted or invoice["default_payment_method"] or _no_method())
    _check_owner(method, invoice["customer"], param="payment_method")
    check_active(method)
    return Answer(collect(world, invoice, method))


def _no_method() -> str:
    raise missing_parameter("payment_method")


def void_invoice(call: Call) -> Answer:
    """A void invoice stays as it is; a paid one, or one being paid, cannot be voided."""
    invoice = call.get(INVOICES)
    if invoice["status"] == "void":
        return Answer(invoice)
    if invoice["status"] == "paid" or is_being_paid(invoice):
        raise refuse_status("invoice", invoice, "draft or open and not being paid")
    return Answer(call.world.keep(INVOICES, {**invoice, "status": "void"}, event="invoice.voided"))


ONE = "/v2/invoices/{id}"

LISTED = cursor_list(INVOICES, exactly("subscription"), exactly("customer"), one_of("status", STATUSES), between())
ROUTES = (
    Route("POST", "/v2/invoices", "create invoice", create_invoice),
    *read_routes("/v2/invoices", "invoice", LISTED),
    Route("POST", f"{ONE}/add_lines", "add invoice lines", add_lines),
    Route("POST", f"{ONE}/remove_lines", "remove invoice lines", remove_lines),
    Route("POST", f"{ONE}/lines/{{line}}", "update invoice line", update_line),
    Route("PATCH", f"{ONE}/lines/{{line}}", "update invoice line", update_line),
    Route("POST", f"{ONE}/finalize", "finalize invoice", finalize_invoice),
    Route("POST", f"{ONE}/pay", "pay invoice", pay_invoice),
    Route("POST", f"{ONE}/void", "void invoice", void_invoice),
)
