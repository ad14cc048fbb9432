"""Every event type of the provider, and the object it carries."""

from pathlib import Path

import httpx
import pytest

from sandbox.state.events import TYPES
from tests.sandbox.conftest import Receiver, advance, make, refusal, subscribe

_SPECIFICATION = Path(__file__).parents[2] / "data" / "event_types.txt"
OBJECTS = {line.split()[0]: line.split()[1] for line in _SPECIFICATION.read_text(encoding="utf-8").splitlines()}


def test_the_types_are_the_providers() -> None:
    """None is missing and none is made up."""
    assert set(TYPES) == set(OBJECTS)


@pytest.mark.parametrize("type_", OBJECTS)
def test_each_type_reaches_an_endpoint_with_its_object(client: httpx.Client, receiver: Receiver, type_: str) -> None:
    """A triggered event of the type is delivered to who asked for it."""
    subscribe(client, type_)

    make(client, "/v1/events/trigger", type=type_)
    advance(client, 0)

    (event,) = receiver.events()
    assert (event["type"], event["data"]["object"]) == (type_, OBJECTS[type_])


def test_link_created_is_never_delivered(client: httpx.Client) -> None:
    """It is no type an endpoint can ask for."""
    body = {"url": "https://shop.example/", "enabled_events": ["link.created"]}

    assert refusal(client.post("/v1/webhook_endpoints", json=body)) == (400, "invalid_enum", "enabled_events")
