"""Saved payment methods and the mandates of Mexican direct debit; setup intents and products beside them."""

from datetime import timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_choice, read_metadata, read_whole, require_mapping, require_text
from sandbox.api.listing import cursor_list, exactly, get_one
from sandbox.api.uploads import MEGABYTE, check_files
from sandbox.engine.world import World
from sandbox.state.collection import Object
from sandbox.state.outcomes import outcome
from sandbox.state.refusal import RefusalError, missing_parameter

METHODS = "payment_methods"
DOCUMENTS = "mx_direct_debit[consent_documents]"
DOCUMENT_COUNT = 4
SMALLEST_DOCUMENT, LARGEST_DOCUMENT = 100, 10 * MEGABYTE
CLABE_LENGTH = 18
CONFIRMED_AFTER = timedelta(days=1)
EXPIRES_AFTER = timedelta(days=7)


def create_method(call: Call) -> Answer:
    """Enrol a mandate: pending until the bank confirms it, expired when it does not within seven days."""
    world, body = call.world, call.body
    customer = world.get(call.mode, "customers", require_text(body, "customer"))
    read_choice(body, "type", ("mx_direct_debit",), default="mx_direct_debit")
    details = require_mapping(body, "mx_direct_debit")
    number = require_text(details, "account_number")
    if len(number) != CLABE_LENGTH or not number.isdigit():
        raise RefusalError(400, "invalid_clabe", "account_number must be a CLABE of 18 digits", param="account_number")
    mandate = {
        "status": "pending",
        "institution": {"id": f"mx_{number[:3]}", "country": "mx", "name": None},
        "account_number_last4": number[-4:],
        "max_amount": read_whole(details, "max_amount", least=1),
        "account_holder_id": require_text(details, "account_holder_id"),
    }
    _check_documents(call)
    method = call.draft(
        "pm",
        "payment_method",
        customer=customer["id"],
        type="mx_direct_debit",
        mx_direct_debit=mandate,
        metadata=read_metadata(body),
    )
    world.keep(METHODS, method)
    if outcome(method["metadata"]) == "succeeded":
        world.put_off(CONFIRMED_AFTER, lambda: _settle(world, method, "active", "activated"))
    world.put_off(EXPIRES_AFTER, lambda: _settle(world, method, "expired", "canceled"))
    return Answer(method, 201)


def _check_documents(call: Call) -> None:
    files = [file for name in (DOCUMENTS, f"{DOCUMENTS}[]") for file in call.files.getlist(name)]
    files += [
        file for name, file in call.files.items(multi=True) if name.startswith(f"{DOCUMENTS}[") and name[-2:] != "[]"
    ]
    if not files:
        raise missing_parameter(DOCUMENTS)
    if len(files) != DOCUMENT_COUNT:
        raise RefusalError(422, "invalid_document", f"A mandate needs {DOCUMENT_COUNT} documents", param=DOCUMENTS)
    check_files(files, smallest=SMALLEST_DOCUMENT, largest=LARGEST_DOCUMENT)


def _settle(world: World, method: Object, status: str, change: str) -> None:
    current = world.get(method["mode"], METHODS, method["id"])
    if current["mx_direct_debit"]["status"] != "pending":
        return
    settled = {**current, "mx_direct_debit": {**current["mx_direct_debit"], "status": status}}
    world.keep(METHODS, settled, event=f"payment_method.{change}")


ROUTES = (
    Route("POST", "/v2/payment_methods", "create payment method", create_method),
    Route("GET", "/v2/payment_methods", "list payment methods", cursor_list(METHODS, exactly("customer"))),
    Route("GET", "/v2/payment_methods/{id}", "get payment method", get_one(METHODS)),
    Route("GET", "/v2/setup_intents/{id}", "get setup intent", get_one("setup_intents")),
    Route("GET", "/v1/setup_intents/{id}", "get setup intent (v1)", get_one("setup_intents")),
    Route("GET", "/v2/products", "list products", cursor_list("products")),
    Route("GET", "/v2/products/{id}", "get product", get_one("products")),
)
