"""The sandbox keeps to its own description: every operation, asked anything, answers with a declared status."""

import json
import random  # seeded: the same objects every time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from sandbox.api.routes import describe
from sandbox.serve import SandboxApp, create_sandbox
from sandbox.state.versions import VERSIONS
from tests.sandbox.conftest import PDF, Receiver
from tests.thoroughness import for_run

EXAMPLES = for_run(short=4, full=100)
PATHS: dict[str, dict[str, Any]] = describe()["paths"]
OPERATIONS = [(method.upper(), path) for path, methods in PATHS.items() for method in methods]
ERROR_FIELDS = {"type", "code", "param", "message", "doc_url"}
ITEM = {"price_data": {"currency": "CLF", "unit_amount": 5, "product_data": {"name": "Plan"}}, "quantity": 2}
SHARE = {"entity_id": "ent_1", "percentage": 10_000, "charge_processing_fee": True}
# One body for each operation that needs a particular one; a dollar asks for the id of an object of that collection.
BODIES: dict[str, dict[str, Any]] = {
    "/webhook_endpoints": {"url": "https://shop.example/hooks", "enabled_events": ["payout.created"]},
    "/webhook_endpoints/{id}": {"disabled": True, "url": "https://shop.example/other", "name": "Shop"},
    "/webhook_endpoints/{id}/test": {"type": "refund.failed"},
    "/events/trigger": {"type": "invoice.upcoming", "overrides": {"amount": 5}},
    "/payment_intents": {"amount": 1500, "currency": "clp", "payment_method": "$payment_methods"},
    "/payment_intents/check_eligibility": {"amount": 5, "currency": "CLP", "sender_account": {"institution_id": "x"}},
    "/refunds": {"resource_id": "$payment_intents", "amount": 1},
    "/charges": {"subscription_id": "$legacy_subscriptions", "amount": 900, "currency": "CLP"},
    "/charges/{id}": {"amount": 7, "currency": "CLP"},
    "/customers": {"email": "Ana@Example.com", "tax_id": {"type": "cl_rut", "value": "12.345.678-5"}},
    "/checkout_sessions": {
        "flow": "payment",
        "amount": 99,
        "currency": "CLP",
        "customer": "$customers",
        "line_items": [ITEM],
        "split": [SHARE],
    },
    "/payment_links": {"amount": 10, "currency": "MXN", "expires_after_seconds": 60},
    "/subscriptions": {
        "customer": "$customers",
        "items": [ITEM],
        "collection_method": "send_invoice",
        "trial_end": "2026-12-01",
    },
    "/subscriptions/{id}": {"trial_end": "2027-01-01", "payment_method": "$payment_methods"},
    "/subscriptions/{id}/items": ITEM,
    "/invoices": {
        "customer": "$customers",
        "currency": "CLP",
        "collection_method": "send_invoice",
        "lines": [{"amount": 5}],
    },
    "/invoices/{id}/add_lines": {"lines": [{"amount": 9, "quantity": 2}]},
    "/invoices/{id}/remove_lines": {"lines": ["il_1", {"id": "il_2"}]},
    "/invoices/{id}/pay": {"external_payment": True},
    "/entities": {"holder_id": "76.543.210-3", "holder_name": "Tres Puentes", "country_code": "cl"},
    "/entities/{entity}/onboardings": {
        "type": "account_holder",
        "data": {"company_information": {"a": 1}, "legal_representatives": [{}], "business_activity": "retail"},
    },
    "/accounts": {"entity_id": "$entities", "description": "Main"},
    "/accounts/{id}": {"description": "Other"},
    "/account_numbers": {"account_id": "$accounts", "options": {"min_amount": 1, "max_amount": 9}},
    "/account_numbers/{id}": {"status": "disabled", "metadata": {"a": True}},
    "/transfers": {
        "account_id": "$accounts",
        "amount": 1,
        "currency": "CLP",
        "counterparty": {
            "holder_id": "1-9",
            "holder_name": "Ana",
            "account_number": "12",
            "account_type": "sight",
            "institution_id": "cl_x",
        },
    },
    "/transfers/return": {"transfer_id": "$transfers"},
    "/simulate/receive_transfer": {"account_number_id": "$account_numbers", "amount": 5},
    "/account_verifications": {"account_number": "646180157000000004"},
    "/links/{link_token}": {"active": False},
    "/refresh_intents": {"link_token": "$link_token", "refresh_type": "historical"},
}
FIELDS = sorted({name for body in BODIES.values() for name in body})
# The whole of Unicode takes seconds to prepare; a short run draws from letters of every kind.
LETTERS = st.sampled_from("aZ09 .,:;-_/%&=?#\\\"'{}[]<>\t\n\0ñÑéß½漢字🙂\u202e\ufeff")
TEXT = for_run(short=LETTERS, full=st.characters(exclude_categories=["Cs"]))
NAMES = st.text(TEXT)
ASCII = st.sampled_from([chr(number) for number in range(128)])
SIMPLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(TEXT, max_size=12),
    st.sampled_from(
        ["", "0", "CLP", "2026-10-01", "9999-12-31", "0001-01-01", "true", "succeeded", "9" * 5000, "\x00"]
    ),
)
ANYTHING = st.recursive(
    SIMPLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | NAMES, inner, max_size=3),
    max_leaves=6,
)


class Shop:
    """A sandbox with a month of trade, and the ids of what is in it."""

    def __init__(self, app: SandboxApp) -> None:
        self.app = app
        self.client = httpx.Client(
            transport=httpx.WSGITransport(app=app),
            base_url="http://sandbox.test",
            headers={"Authorization": "sk_test_sandbox"},
        )
        chance = random.Random(1)  # noqa: S311 - repeatable
        self.ids: dict[str, list[str]] = {}
        for (mode, name), rows in sorted(app.world.collections.items()):
            found = [str(row["id"]) for row in rows.newest_first()]
            if mode == "test" and found:
                self.ids[name] = chance.sample(found, min(len(found), 8))
        links = app.world.collection("test", "links").newest_first()
        self.ids["link_token"] = [row["link_token"] for row in links]

    def any_id(self, kind: str) -> st.SearchStrategy[str]:
        """Ids of that kind mostly, else of another kind or of nothing."""
        others = [ids[0] for ids in self.ids.values()]
        odd = st.text(ASCII, min_size=1, max_size=8)
        return st.sampled_from([*self.ids.get(kind, [])] * 4 + others) | odd

    def filled(self, wanted: Any, draw: Any) -> Any:
        """The body with ids where it asks for them."""
        if isinstance(wanted, dict):
            return {name: self.filled(value, draw) for name, value in wanted.items()}
        if isinstance(wanted, str) and wanted.startswith("$"):
            return draw(st.sampled_from(self.ids.get(wanted[1:], ["none"])))
        return wanted


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    app = create_sandbox("busy-month", seed=8, scale=0.2, transport=httpx.MockTransport(Receiver()))
    yield Shop(app)
    app.world.close()


def draw_path(shop: Shop, path: str, draw: Any) -> str:
    """The path with an id in each of its places, percent-encoded where it must be."""
    parts = path.split("/")
    for place, part in enumerate(parts):
        if part.startswith("{"):
            kind = "link_token" if part == "{link_token}" else parts[place - 1]
            parts[place] = httpx.QueryParams({"": draw(shop.any_id(kind))}).__str__()[1:].replace("+", "%20")
    return "/".join(parts)


def draw_query(shop: Shop, operation: dict[str, Any], draw: Any) -> list[tuple[str, Any]]:
    query: list[tuple[str, Any]] = []
    for parameter in (row for row in operation["parameters"] if row["in"] == "query"):
        name, schema = parameter["name"], parameter["schema"]
        allowed = schema.get("enum") or {"integer": ["1", "2", "300"], "boolean": ["true", "false"]}.get(schema["type"])
        usual = st.sampled_from(allowed) if allowed else shop.any_id(name)
        if parameter["required"] or draw(st.booleans()):
            query.append((name, str(draw(usual if draw(st.integers(0, 3)) else SIMPLE))))
    return query


def draw_content(shop: Shop, path: str, draw: Any) -> bytes:
    """A body that fits with a few fields spoiled, or any JSON, or any bytes."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.binary(max_size=20))  # type: ignore[no-any-return]
    if kind == 1:
        return json.dumps(draw(ANYTHING)).encode()
    body = shop.filled(BODIES.get(path[3:], {}), draw)
    names = draw(st.lists(st.sampled_from([*body, *FIELDS]), max_size=3)) if kind > 3 else []
    return json.dumps({**body, **{name: draw(ANYTHING) for name in names}}).encode()


def private_names(value: Any) -> Iterator[str]:
    """Names that begin with an underscore, at any depth of what the sandbox itself writes."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.startswith("_"):
                yield name
            if name not in {"metadata", "data", "address", "overrides", "recipient_account", "line_items"}:
                yield from private_names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from private_names(inner)


def check(answer: httpx.Response, operation: dict[str, Any], asked: str) -> None:
    """A declared status, never a server error, and a body of the declared shape."""
    where = f"{asked} answered {answer.status_code} {answer.text[:200]}"
    assert answer.status_code < 500, where
    assert str(answer.status_code) in operation["responses"], where
    assert answer.headers["Content-Type"] == "application/json", where
    body = answer.json()
    if answer.status_code >= 400:
        assert set(body) == {"error"}, where
        assert {"type", "code", "message"} <= set(body["error"]) <= ERROR_FIELDS, where
    else:
        assert list(private_names(body)) == [], where


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_an_operation_keeps_to_its_description(shop: Shop, method: str, path: str) -> None:
    """Generated ids, filters, headers and bodies meet no server error and no undeclared status."""
    operation = PATHS[path][method.lower()]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        draw = data.draw
        address, query = draw_path(shop, path, draw), httpx.QueryParams(draw_query(shop, operation, draw))
        headers = {"Fintoc-Version": draw(st.sampled_from(VERSIONS))} if draw(st.booleans()) else {}
        if draw(st.integers(0, 3)) == 0:
            headers["Idempotency-Key"] = draw(st.text("abc", max_size=3))
        has_body = method in {"POST", "PUT", "PATCH"}
        content = draw_content(shop, path, draw) if has_body else None
        answer = shop.client.request(method, address, params=query, content=content, headers=headers)
        check(answer, operation, f"{method} {address} {query} {content!r}")

    ask()


@pytest.mark.parametrize(("method", "path"), [each for each in OPERATIONS if each[0] in {"POST", "PUT"}])
def test_a_form_keeps_to_the_description_too(shop: Shop, method: str, path: str) -> None:
    """A file and odd fields under every POST and PUT."""
    chance = random.Random(path)  # noqa: S311 - repeatable
    address = "/".join(
        chance.choice(shop.ids.get(before, ["none"])) if part.startswith("{") else part
        for before, part in zip(["", *path.split("/")], path.split("/"), strict=False)
    )
    fields = {"slot_key": "statute", "a[b][c]": "1", "a[b]": "2", "[": "3", "x" + "[y]" * 300: "4", "type": "\x00"}

    answer = shop.client.request(method, address, data=fields, files={"file": ("a.pdf", PDF)})

    check(answer, PATHS[path][method.lower()], f"{method} {address}")


def test_what_was_set_going_comes_to_its_end(shop: Shop) -> None:
    """Whatever those requests began, forty days of the clock play it out without an error."""
    answer = shop.client.post("/_sandbox/clock/advance", json={"seconds": 40 * 86_400})

    assert answer.status_code == 200, answer.text
    assert shop.client.get("/v2/events?limit=300").status_code == 200
