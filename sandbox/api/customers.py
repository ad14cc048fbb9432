"""Customers, found by tax id in any writing."""

from typing import Any

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_choice, read_mapping, read_metadata, read_text, require_text
from sandbox.api.listing import cursor_list, get_one
from sandbox.state.collection import Keep, Object
from sandbox.state.refusal import invalid_enum, missing_parameter

CUSTOMERS = "customers"
TAX_ID_TYPES = ("cl_rut", "mx_rfc")


def normalize(tax_id: str) -> str:
    """A tax id without dots, hyphens, spaces and leading zeros, in capitals; an RFC may hold an ampersand."""
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


def _read_tax_id(body: dict[str, Any]) -> Object | None:
    if body.get("tax_id") is None:
        return None
    given = read_mapping(body, "tax_id")
    return {"type": read_choice(given, "type", TAX_ID_TYPES), "value": normalize(require_text(given, "value"))}


def _read_address(body: dict[str, Any]) -> Object | None:
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


ROUTES = (
    Route("POST", "/v2/customers", "create customer", create_customer),
    Route("GET", "/v2/customers", "list customers", cursor_list(CUSTOMERS, _by_tax_id)),
    Route("GET", "/v2/customers/{id}", "get customer", get_one(CUSTOMERS)),
)
