"""The paths of the streams against the sandbox: every list is read, and an object of each by its id."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from consumer.facts.installation import Installation
from consumer.facts.store import Store
from consumer.provider.client import Provider, open_provider
from consumer.provider.errors import MissingError
from consumer.provider.paging import REFUNDS
from consumer.sync.streams import STREAMS
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from tests.merchant import settings_of

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
# Lists whose rows are objects of other lists, without an address of their own below this one.
ROWS_OF_OTHERS = {"account-statements", "link-movements", "links"}


@pytest.fixture
def running() -> Iterator[RunningSandbox]:
    with RunningSandbox("busy-month", scale=0.5) as running:
        yield running


@pytest.fixture
def provider(running: RunningSandbox, store: Store, tmp_path: Path) -> Iterator[Provider]:
    with Steer(running.url) as steer:
        tokens = steer.credentials()["link_tokens"]
    settings = settings_of(running.url, tmp_path, link_tokens=",".join(tokens))
    with open_provider(Installation(settings=settings, store=store), settings.connection("main")) as provider:
        yield provider


def test_every_list_is_read_and_an_object_of_it(provider: Provider) -> None:
    """With the key, or with key and link token where the stream says so; an object read alone is the one listed."""
    empty = []
    for name, stream in STREAMS.items():
        part = stream.parts(provider)[0]
        page = provider.page(part.collection, ids=part.ids, query=stream.query, size=1, link=part.link)
        if not page.items:
            empty.append(name)
        elif name not in ROWS_OF_OTHERS:
            listed = json.loads(page.items[0])["id"]
            assert provider.get(part.collection, listed, ids=part.ids, link=part.link).value["id"] == listed, name
    assert len(STREAMS) - len(empty) > 24


def test_what_is_missing_is_asked_for_under_every_generation(provider: Provider) -> None:
    """A refund that is not there is missing under both paths, and the message names the first."""
    with pytest.raises(MissingError, match="GET /v1/refunds/re_made_up: the provider answered 404"):
        provider.get(REFUNDS, "re_made_up")
