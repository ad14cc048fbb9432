"""Billing invoices over HTTP: lines while in draft, then finalize, pay and void."""

from typing import Any

from sandbox.api import billing
from sandbox.api.call import Answer, Call, Route
from sandbox.api.charging import check_active
from sandbox.api.fields import (
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
from sandbox.api.listing import between, cursor_list, exactly, get_one, one_of
from sandbox.state.collection import Object
from sandbox.state.refusal import RefusalError, missing_parameter, missing_resource

STATUSES = ("draft", "open", "paid", "void")
METHODS = ("charge_automatically", "send_invoice")
INVOICES = billing.INVOICES
MOST_PIECES = 9_999


def create_invoice(call: Call) -> Answer:
    """A one-off invoice, in draft until somebody finalizes it."""
    body, world = call.body, call.world
    customer = world.get(call.mode, "customers", require_text(body, "customer"))
    method = read_choice(body, "collection_method", METHODS, default="charge_automatically")
    default = read_text(body, "default_payment_method")
    if default:
        _check_owner(world.get(call.mode, "payment_methods", default), customer["id"], param="default_payment_method")
    elif method == "charge_automatically":
        raise missing_parameter("default_payment_method")
    currency = require_currency(body, ("CLP",))
    invoice = billing.draft_invoice(
        world,
        mode=call.mode,
        customer=customer["id"],
        currency=currency,
        collection_method=method,
        default_payment_method=default,
        lines=[_read_line(call, entry, currency) for entry in _entries(body)],
        business_profile=read_business_profile(body),
        metadata=read_metadata(body),
    )
    return Answer(invoice, 201)


def _check_owner(method: Object, customer: str, *, param: str) -> None:
    if method["customer"] != customer:
        raise RefusalError(400, "invalid_params", "The payment method belongs to another customer", param=param)


def _entries(body: dict[str, Any]) -> list[dict[str, Any]]:
    return require_mappings(body, "lines") if read_list(body, "lines") else []


def _read_line(call: Call, entry: dict[str, Any], currency: str) -> Object:
    given = require_currency(entry, ("CLP", "MXN", "CLF")) if entry.get("currency") else currency
    if given != currency:
        raise RefusalError(400, "currency_mismatch", f"Lines of this invoice are in {currency}", param="currency")
    made = billing.line(
        call.world, require_amount(entry), currency, read_whole(entry, "quantity", least=1, most=MOST_PIECES) or 1
    )
    return {**made, "description": read_text(entry, "description")}


def _draft(call: Call) -> Object:
    invoice = call.get(INVOICES)
    if invoice["status"] != "draft":
        raise refuse_status("invoice", invoice["status"], "draft")
    return invoice


def _with_lines(call: Call, invoice: Object, lines: list[Object]) -> Answer:
    return Answer(call.world.keep(INVOICES, {**invoice, "lines": lines, "total": billing.total(lines)}))


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
    return Answer(billing.finalize(call.world, _draft(call)))


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
    if invoice["status"] != "open" or (billing.is_being_paid(invoice) and not is_external):
        raise refuse_status("invoice", invoice["status"], "open and not being paid")
    if is_external:
        return Answer(billing.mark_paid(world, invoice, is_external=True))
    method = world.get(call.mode, "payment_methods", wanted or invoice["default_payment_method"] or _no_method())
    _check_owner(method, invoice["customer"], param="payment_method")
    check_active(method)
    return Answer(billing.collect(world, invoice, method))


def _no_method() -> str:
    raise missing_parameter("payment_method")


def void_invoice(call: Call) -> Answer:
    """A void invoice stays as it is; a paid one, or one being paid, cannot be voided."""
    invoice = call.get(INVOICES)
    if invoice["status"] == "void":
        return Answer(invoice)
    if invoice["status"] == "paid" or billing.is_being_paid(invoice):
        raise refuse_status("invoice", invoice["status"], "draft or open and not being paid")
    return Answer(call.world.keep(INVOICES, {**invoice, "status": "void"}, event="invoice.voided"))


ONE = "/v2/invoices/{id}"
ROUTES = (
    Route("POST", "/v2/invoices", "create invoice", create_invoice),
    Route(
        "GET",
        "/v2/invoices",
        "list invoices",
        cursor_list(INVOICES, exactly("subscription"), exactly("customer"), one_of("status", STATUSES), between()),
    ),
    Route("GET", ONE, "get invoice", get_one(INVOICES)),
    Route("POST", f"{ONE}/add_lines", "add invoice lines", add_lines),
    Route("POST", f"{ONE}/remove_lines", "remove invoice lines", remove_lines),
    Route("POST", f"{ONE}/lines/{{line}}", "update invoice line", update_line),
    Route("PATCH", f"{ONE}/lines/{{line}}", "update invoice line", update_line),
    Route("POST", f"{ONE}/finalize", "finalize invoice", finalize_invoice),
    Route("POST", f"{ONE}/pay", "pay invoice", pay_invoice),
    Route("POST", f"{ONE}/void", "void invoice", void_invoice),
)
