"""Customers, found by tax id in any writing."""

from sandbox.call import Call, Route
from sandbox.collection import Object
from sandbox.listing import cursor_list, get_one
from sandbox.paging import Keep
from sandbox.refusal import invalid_enum

CUSTOMERS = "customers"
TAX_ID_TYPES = ("cl_rut", "mx_rfc")


def normalize(tax_id: str) -> str:
    """A tax id without dots, hyphens, spaces and leading zeros, in capitals."""
    return "".join(letter for letter in tax_id.upper() if letter.isalnum()).lstrip("0")


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
    Route("GET", "/v2/customers", "list customers", cursor_list(CUSTOMERS, _by_tax_id)),
    Route("GET", "/v2/customers/{id}", "get customer", get_one(CUSTOMERS)),
)
