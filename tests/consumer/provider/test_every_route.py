"""The route table against the sandbox: every list the specification names is read, and an object of each by its id."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from consumer.config import load
from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.provider import routes
from consumer.provider.client import Provider, open_provider
from consumer.provider.errors import MissingError
from consumer.provider.routes import Collection
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
COLLECTIONS = [thing for thing in vars(routes).values() if isinstance(thing, Collection)]
# What is only read by id, so that there is no list to take one from.
BY_ID_ALONE = {"refund_vouchers", "setup_intents"}
# Lists that are read inside another, with the list their ids come from.
INSIDE = {
    "payout_resources": ("payout", routes.PAYOUTS),
    "subscription_items": ("subscription", routes.SUBSCRIPTIONS),
    "account_movements": ("account", routes.ACCOUNTS),
    "account_statements": ("account", routes.ACCOUNTS),
    "onboardings": ("entity", routes.ENTITIES),
    "link_movements": ("account", routes.LINK_ACCOUNTS),
}
# Lists whose rows are objects of other lists, without an address of their own below this one.
ROWS_OF_OTHERS = {"payout_resources", "account_statements", "subscription_items", "link_movements"}


@pytest.fixture
def running() -> Iterator[RunningSandbox]:
    with RunningSandbox("busy-month", scale=0.5) as running:
        yield running


@pytest.fixture
def provider(running: RunningSandbox, store: Store, tmp_path: Path) -> Iterator[Provider]:
    with Steer(running.url) as steer:
        tokens = steer.credentials()["link_tokens"]
    environ = {
        "CUADRE_PROVIDER_URL": running.url,
        "CUADRE_API_KEY": "sk_test_sandbox",
        "CUADRE_COUNTRY": "cl",
        "CUADRE_LINK_TOKENS": ",".join(tokens),
        "CUADRE_DATA_DIR": str(tmp_path / "instance"),
        "CUADRE_RATE_LIMIT": "100000",
    }
    settings = load(environ, folder=tmp_path)
    with open_provider(Installation(settings=settings, store=store), settings.connection("main")) as provider:
        yield provider


def first_id(provider: Provider, collection: Collection, link: SecretStr | None) -> str:
    page = provider.page(collection, size=1, link=link)
    found: str = json.loads(page.items[0])["id"]
    return found


def test_every_list_is_read_and_an_object_of_it(provider: Provider) -> None:
    """With the key, or with key and link token where the table says so; an object read alone is the one listed."""
    read, empty = [], []
    for collection in COLLECTIONS:
        if collection.name in BY_ID_ALONE:
            continue
        link = provider.connection.link_tokens[0] if collection.by_link else None
        ids = {}
        if collection.name in INSIDE:
            name, outer = INSIDE[collection.name]
            ids = {name: first_id(provider, outer, link)}
        query = {"resource_type": "payment_intent"} if collection.name == "payout_resources" else None
        page = provider.page(collection, ids=ids, query=query, size=1, link=link)
        read.append(collection.name)
        if not page.items:
            empty.append(collection.name)
        elif collection.name not in ROWS_OF_OTHERS | {"links"}:
            listed = json.loads(page.items[0])["id"]
            assert provider.get(collection, listed, ids=ids, link=link).value["id"] == listed, collection.name
    assert len(read) == len(COLLECTIONS) - len(BY_ID_ALONE)
    # No scenario has any of these.
    assert empty == ["webhook_endpoints", "products"]


def test_what_is_read_by_id_alone_is_asked_under_every_generation(provider: Provider) -> None:
    """A setup intent that is not there is missing under both paths, and says so once."""
    with pytest.raises(MissingError, match="GET /v2/setup_intents/seti_made_up: the provider answered 404"):
        provider.get(routes.SETUP_INTENTS, "seti_made_up")
    with pytest.raises(MissingError, match="GET /v1/refunds/re_made_up/voucher"):
        provider.get(routes.REFUND_VOUCHERS, "voucher", ids={"refund": "re_made_up"})
