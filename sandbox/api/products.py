"""Products: what a subscription item or a checkout session sells, made by themselves or with what names them."""

from sandbox.api.call import Answer, Call, Route
from sandbox.api.fields import read_metadata, read_text, require_text
from sandbox.api.lists import cursor_list, read_routes
from sandbox.state.store import Object

PRODUCTS = "products"


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


ROUTES = (
    Route("POST", "/v2/products", "create product", create_product),
    *read_routes("/v2/products", "product", cursor_list(PRODUCTS)),
)
