"""Customers, found by tax id in any writing, and the payment methods and mandates they save."""

from datetime import timedelta

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import (
    MEGABYTE,
    check_file,
    read_choice,
    read_mapping,
    read_metadata,
    read_text,
    read_whole,
    require_mapping,
    require_text,
)
from sandbox.api.lists import Filter, cursor_list, exactly, get_one, read_routes
from sandbox.engine.settlement import outcome
from sandbox.engine.world import World
from sandbox.scenarios.institutions import institution_of, is_clabe
from sandbox.state.refusal import RefusalError, invalid_enum, missing_parameter
from sandbox.state.store import Keep, Object

CUSTOMERS = "customers"
TAX_ID_TYPES = ("cl_rut", "mx_rfc")
METHODS = "payment_methods"
DOCUMENTS = "mx_direct_debit[consent_documents]"
DOCUMENT_COUNT = 4
SMALLEST_DOCUMENT, LARGEST_DOCUMENT = 100, 10 * MEGABYTE
CONFIRMED_AFTER = timedelta(days=1)
EXPIRES_AFTER = timedelta(days=7)


def normalize(tax_id: str) -> str:
    """Return a tax id without dots, hyphens, spaces and leading zeros, in capitals; an RFC may hold an ampersand."""
    return "".join(letter for letter in tax_id.upper() if letter.isalnum() or letter == "&").lstrip("0")


def create_customer(call: Call) -> Answer:
    """An e-mail or a tax id is enough."""
    body = call.body
    email, tax_id = read_text(body, "email"), _read_tax_id(body)
    if not email and tax_id is None:
        raise missing_parameter("email")
    customer = call.draft(
        "cus",
        "customer",
        name=read_text(body, "name"),
        email=email.lower() if email else None,
        phone=read_text(body, "phone"),
        address=_read_address(body),
        tax_id=tax_id,
        metadata=read_metadata(body),
    )
    return Answer(call.world.keep(CUSTOMERS, customer), 201)


def _read_tax_id(body: Object) -> Object | None:
    if body.get("tax_id") is None:
        return None
    given = read_mapping(body, "tax_id")
    return {"type": read_choice(given, "type", TAX_ID_TYPES), "value": normalize(require_text(given, "value"))}


def _read_address(body: Object) -> Object | None:
    if body.get("address") is None:
        return None
    address = read_mapping(body, "address")
    country = read_text(address, "country")
    return {**address, "country": country.strip().lower() if country else None}


def _by_tax_id(call: Call) -> Keep | None:
    wanted, type_ = call.query.get("tax_id"), call.query.get("tax_id_type")
    if type_ is not None and type_ not in TAX_ID_TYPES:
        raise invalid_enum("tax_id_type", type_, TAX_ID_TYPES)
    if wanted is None and type_ is None:
        return None

    def keep(customer: Object) -> bool:
        tax_id = customer["tax_id"]
        if tax_id is None or (type_ is not None and tax_id["type"] != type_):
            return False
        return wanted is None or normalize(tax_id["value"]) == normalize(wanted)

    return keep


CUSTOMER_ROUTES = (
    Route("POST", "/v2/customers", "create customer", create_customer),
    *read_routes("/v2/customers", "customer", cursor_list(CUSTOMERS, Filter(("tax_id", "tax_id_type"), _by_tax_id))),
)


def create_method(call: Call) -> Answer:
    """Enrol a mandate: pending until the bank confirms it, expired when it does not within seven days."""
    world, body = call.world, call.body
    customer = world.get(call.mode, "customers", require_text(body, "customer"))
    read_choice(body, "type", ("mx_direct_debit",), default="mx_direct_debit")
    details = require_mapping(body, "mx_direct_debit")
    number = require_text(details, "account_number")
    if not is_clabe(number):
        raise RefusalError(400, "invalid_clabe", "account_number must be a CLABE of 18 digits", param="account_number")
    mandate = {
        "status": "pending",
        "institution": institution_of("mx", number),
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
    for file in files:
        check_file(file, smallest=SMALLEST_DOCUMENT, largest=LARGEST_DOCUMENT)


def _settle(world: World, method: Object, status: str, change: str) -> None:
    current = world.get(method["mode"], METHODS, method["id"])
    if current["mx_direct_debit"]["status"] != "pending":
        return
    settled = {**current, "mx_direct_debit": {**current["mx_direct_debit"], "status": status}}
    world.keep(METHODS, settled, event=f"payment_method.{change}")


METHOD_ROUTES = (
    Route("POST", "/v2/payment_methods", "create payment method", create_method),
    *read_routes("/v2/payment_methods", "payment method", cursor_list(METHODS, exactly("customer"))),
    Route("GET", "/v2/setup_intents/{id}", "get setup intent", get_one("setup_intents")),
    Route("GET", "/v1/setup_intents/{id}", "get setup intent (v1)", get_one("setup_intents")),
)
