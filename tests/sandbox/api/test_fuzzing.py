"""Whatever is asked of whichever operation, the sandbox answers like a provider and never breaks."""

import json
import random  # seeded: the same questions every time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from sandbox.api.call import Route
from sandbox.api.routes import ROUTES
from sandbox.engine.faults import Fault
from sandbox.serve import SandboxApp, create_sandbox
from tests.sandbox.conftest import PDF

DECLARED = {200, 201, 400, 401, 402, 403, 404, 405, 406, 409, 422, 429}
NAMES = (
    "account_id", "account_number", "account_number_id", "address", "amount", "business_profile",
    "collection_method", "counterparty", "currency", "customer", "data", "default_payment_method", "description",
    "disabled", "email", "enabled_events", "entity_id", "expires_after_seconds", "external_payment", "flow",
    "holder_id", "holder_name", "items", "line_items", "lines", "link_token", "metadata", "name", "options",
    "payment_method", "price_data", "quantity", "resource_id", "sender_account", "slot_key", "split", "status",
    "subscription", "subscription_id", "tax_id", "transfer_id", "trial_end", "type", "url",
)  # fmt: skip
FILTERS = (
    "since", "until", "status", "resource_type", "limit", "per_page", "page", "starting_after", "ending_before",
    "tax_id", "tax_id_type", "holder_id", "is_root", "direction", "no_transfers_since", "updated_since",
    "confirmed_only", "issue_type", "invoice_status", "resource_id", "link_token", "type",
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None, "", "x", "\u0000", "\u00bd", "2026-10-01", "2026-99-99", "0001-01-01", "9999-12-31",
    "2026-10-01T00:00:00+23:59", "0001-01-01T00:00:00+23:59",
    "9" * 400, -1, 0, 1, 7, 10**30, 1.5, True, False, [], [None], [[]], {}, [{}], {"type": "cl_rut"}, {"a": {"b": []}},
    "CLP", "MXN", "true", "succeeded", "active", "payment_intent",
)  # fmt: skip


@pytest.fixture
def busy() -> Iterator[SandboxApp]:
    """A month of trade, half of it gone by."""
    app = create_sandbox("busy-month", seed=11, scale=0.2)
    app.world.advance(timedelta(days=15))
    yield app
    app.world.close()


def ids_of(app: SandboxApp) -> list[str]:
    world = app.world
    found = [str(row["id"]) for (mode, _), rows in world.collections.items() for row in rows.newest_first()]
    tokens = [row["link_token"] for row in world.collection("test", "links").newest_first()]
    return [*tokens, *random.Random(3).sample(found, 400)]  # noqa: S311 - repeatable


def fill(route: Route, app: SandboxApp, chance: random.Random, ids: list[str]) -> str:
    """The route's path with ids of objects of its kind, or of any."""
    path = route.path
    while "{" in path:
        before, _, rest = path.partition("{")
        name, _, after = rest.partition("}")
        kind = before.rstrip("/").rsplit("/", 1)[-1]
        own = [str(row["id"]) for row in app.world.collection("test", kind).newest_first()]
        links = [row["link_token"] for row in app.world.collection("test", "links").newest_first()]
        likely = (links if name == "link_token" else own) or ids
        path = f"{before}{chance.choice(likely if chance.random() < 0.8 else ids)}{after}"
    return path


def body(chance: random.Random, ids: list[str]) -> dict[str, Any]:
    return {name: chance.choice([*ODD, chance.choice(ids)]) for name in chance.sample(NAMES, 12)}


def client_of(app: SandboxApp) -> httpx.Client:
    return httpx.Client(
        transport=httpx.WSGITransport(app=app),
        base_url="http://sandbox.test",
        headers={"Authorization": "sk_test_sandbox"},
    )


def test_no_operation_breaks(busy: SandboxApp) -> None:
    """Odd bodies, odd filters and wrong ids are answered with a declared status and an error object."""
    chance, ids = random.Random(20261001), ids_of(busy)  # noqa: S311 - repeatable
    token = ids[0]
    with client_of(busy) as client:
        declared = client.get("/_sandbox/openapi.json").json()["paths"]
        for route in ROUTES:
            for attempt in range(10):
                query = {name: str(chance.choice(ODD)) for name in chance.sample(FILTERS, attempt % 4)}
                if attempt % 2:
                    query["link_token"] = token
                content = json.dumps(body(chance, ids)) if route.method != "GET" else None
                answer = client.request(route.method, fill(route, busy, chance, ids), params=query, content=content)

                where = f"{route.method} {answer.request.url} {content}"
                assert str(answer.status_code) in declared[route.path][route.method.lower()]["responses"], where
                if answer.status_code >= 400:
                    assert set(answer.json()["error"]) <= {"type", "code", "param", "message", "doc_url"}, where
        assert client.post("/_sandbox/clock/advance", json={"seconds": 10 * 86_400}).status_code == 200


def test_no_upload_breaks(busy: SandboxApp) -> None:
    """Forms with odd fields and files are answered too."""
    chance, ids = random.Random(5), ids_of(busy)  # noqa: S311 - repeatable
    with client_of(busy) as client:
        for route in (route for route in ROUTES if route.method in {"POST", "PUT"}):
            data = {name: str(value) for name, value in body(chance, ids).items()}
            data |= {"a[b][c]": "1", "a[b]": "2", "a": "3", "[": "4", "]": "5", "": "6"}
            address = fill(route, busy, chance, ids)
            answer = client.request(route.method, address, data=data, files={"file": ("a", PDF)})

            assert answer.status_code in DECLARED, f"{route.path} {answer.text[:300]}"


def test_every_list_of_the_busy_month_can_be_read_to_its_end(busy: SandboxApp) -> None:
    """Pages follow each other until the last, without a row twice and without the sandbox's own fields."""
    token = next(busy.world.collection("test", "links").newest_first())["link_token"]
    lengths = {}
    with client_of(busy) as client:
        for route in (route for route in ROUTES if route.method == "GET" and "{" not in route.path):
            url, seen = f"{route.path}?link_token={token}&limit=300&per_page=300", []
            while url:
                page = client.get(url)
                assert page.status_code == 200, f"{route.path} {page.text[:200]}"
                assert not any(name.startswith("_") for row in page.json() for name in [*row, *row.get("data", {})])
                seen += [row["id"] for row in page.json()]
                url = page.links.get("next", {}).get("url", "")

            assert len(seen) == len(set(seen)), route.path
            lengths[route.path] = len(seen)
    assert sum(1 for length in lengths.values() if length) >= 33


@pytest.mark.parametrize(("name", "kinds", "scale"), [("quiet", 3, 1.0), ("busy-month", 30, 0.3), ("mexico", 19, 1.0)])
def test_every_object_of_a_scenario_can_be_read_by_its_id(name: str, kinds: int, scale: float) -> None:
    """Whatever a scenario puts into a collection has a route that answers it."""
    app = create_sandbox(name, seed=2, scale=scale)
    paths = {
        "account_movements": "/v2/accounts/{account_id}/movements/{id}",
        "account_statements": None,
        "legacy_subscriptions": "/v1/subscriptions/{id}",
        "link_accounts": "/v1/accounts/{id}",
        "link_movements": "/v1/accounts/{_account}/movements/{id}",
        "links": "/v1/links/{link_token}",
        "onboardings": "/v2/entities/{entity_id}/onboardings/{id}",
        "previews": None,
        "tax_invoices": "/v1/invoices/{id}",
    }
    first = ("v1", "v2")
    world = app.world
    tokens = {row["id"]: row["link_token"] for row in world.collection("test", "links").newest_first()}
    found = set[str]()
    with client_of(app) as client:
        for (mode, kind), rows in list(world.collections.items()):
            if mode == "live" or not len(rows):
                continue
            row = next(rows.newest_first())
            path = paths.get(kind, f"/{{v}}/{kind}/{{id}}")
            if path is None:
                continue
            query = {"link_token": tokens[row["_link"]]} if "_link" in row else {}
            answers = [client.get(path.format(v=v, **row), params=query).status_code for v in first]
            assert 200 in answers, f"{kind} {answers}"
            found.add(kind)
    assert len(found) == kinds
    world.close()


def test_faults_all_at_once_break_nothing() -> None:
    """With every fault now and then, answers are still answers and the month still ends."""
    faults = [
        Fault(name, 0.05)
        for name in ("tie", "conflict", "unknown-type", "null-field", "late-visible", "server-error", "version-switch",
                     "duplicate-page", "empty-page", "pruned-cursor", "insert-while-paging", "truncated", "wrong-type")
    ]  # fmt: skip
    app = create_sandbox("busy-month", seed=3, scale=0.2, faults=faults)
    app.world.advance(timedelta(days=20))
    with client_of(app) as client:
        for number in range(200):
            path = ROUTES[number % len(ROUTES)].path
            answer = client.get(path if "{" not in path else "/v2/events", params={"limit": number + 1})
            assert answer.status_code in {*DECLARED, 500}
    app.world.close()


def test_payouts_of_the_busy_month_are_told_once_each(busy: SandboxApp) -> None:
    """Every payout has one `payout.created`; those that succeeded have one `payout.succeeded`."""
    world = busy.world
    shown = [
        (event.type, event.data["id"]) for event in world.logs["test"].newest_first(None, None, after=None)
        if event.type in {"payout.created", "payout.succeeded"}
    ]  # fmt: skip

    payouts = list(world.collection("test", "payouts").newest_first())
    expected = {("payout.created", row["id"]) for row in payouts}
    expected |= {("payout.succeeded", row["id"]) for row in payouts if row["succeeded_at"]}
    assert len(shown) == len(set(shown))
    assert set(shown) == expected
