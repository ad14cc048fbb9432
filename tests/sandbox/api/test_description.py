"""The sandbox's OpenAPI description, asked by a tool that knows nothing else, with ids of real lists."""

import re
from pathlib import Path

import httpx

from sandbox.serve import RunningSandbox
from tests.describing import check_description

PLACE = re.compile(r"{(\w+)}")
# With the one link there is, all that is read through it would be gone.
DELETED_LINK = "DELETE /v1/links/{link_token}"


class Ids:
    """Finds an object of its own for each operation, by the lists above it in its path."""

    def __init__(self, running: RunningSandbox, client: httpx.Client) -> None:
        self._running, self._client = running, client
        self._taken: dict[str, int] = {}
        self.token = client.get("/_sandbox/credentials").json()["link_tokens"][0]

    def of(self, path: str) -> dict[str, str]:
        """Return what stands for each name of a path."""
        found: dict[str, str] = {}
        names = PLACE.findall(path)
        for name in names:
            above = path.partition("/{" + name + "}")[0]
            for known, value in found.items():
                above = above.replace("{" + known + "}", value)
            found[name] = self._choose(name, above, is_last=name == names[-1])
        return found

    def _choose(self, name: str, above: str, *, is_last: bool) -> str:
        if name == "link_token":
            return str(self.token)
        if name == "slot_key":
            return "bylaws"
        ids = self._ids(above)
        self._taken[above] = self._taken.get(above, 0) + is_last
        return ids[self._taken[above] % len(ids) if is_last else 0]

    def _ids(self, above: str) -> list[str]:
        owner, _, part = above.rpartition("/")
        if part == "setup_intents":
            return [str(row["id"]) for row in self._running.world.collection("test", part).newest_first()]
        if part in {"lines", "legal_representatives", "shareholders"}:
            return [str(row["id"]) for row in self._client.get(owner).json()[part]]
        rows = self._client.get(above, params={"link_token": self.token, "limit": 300, "per_page": 300}).json()
        return [str(row["id"]) for row in rows]


def test_every_operation_answers_as_described(tmp_path: Path) -> None:
    """No server error, no undeclared status or type; an undeclared method is 405; real objects are met."""
    with RunningSandbox("busy-month", scale=0.3) as running, httpx.Client(base_url=running.url, timeout=60) as client:
        client.headers["Authorization"] = "sk_test_sandbox"
        make_objects(client)
        ids = Ids(running, client)
        paths = client.get("/_sandbox/openapi.json").json()["paths"]
        parameters = {}
        for path, methods in paths.items():
            for method, described in methods.items():
                own = {f"path.{name}": value for name, value in ids.of(path).items()}
                if any(each["name"] == "link_token" and each["in"] == "query" for each in described["parameters"]):
                    own["query.link_token"] = ids.token
                parameters[f"{method.upper()} {path}"] = own

        parameters[DELETED_LINK] = {"path.link_token": "link_none"}

        check_description(
            f"{running.url}/_sandbox/openapi.json",
            running.url,
            "sk_test_sandbox",
            tmp_path,
            parameters=parameters,
            without_objects=[DELETED_LINK],
            phases="coverage",  # bodies are made up in test_contract_fuzz.py, which knows what they hold
        )


def make_objects(client: httpx.Client) -> None:
    """Make of what the scenario does not hold at its start as many as operations will take."""
    endpoint = {"url": "https://shop.example/webhooks", "enabled_events": ["payout.created"]}
    product = {"name": "Gym"}
    customer = client.get("/v2/customers").json()[0]["id"]
    price = {"product_data": product, "currency": "CLP", "unit_amount": 9_900}
    asked = {"customer": customer, "collection_method": "send_invoice", "items": [{"price_data": price}] * 9}
    invoice = {**asked, "currency": "CLP", "lines": [{"amount": 5, "currency": "CLP"}] * 9}
    entity = client.get("/v2/entities").json()[0]["id"]
    people: dict[str, object] = {"legal_representatives": [{}] * 3, "shareholders": [{}] * 3, "company_information": {}}
    onboarding = {"type": "account_holder", "data": people}
    for path, body in (
        ("/v1/webhook_endpoints", endpoint),
        ("/v2/products", product),
        ("/v2/subscriptions", asked),
        ("/v2/invoices", invoice),
        (f"/v2/entities/{entity}/onboardings", onboarding),
        (f"/v1/refresh_intents?link_token={client.get('/_sandbox/credentials').json()['link_tokens'][0]}", {}),
    ):
        for _ in range(1 if "refresh" in path else 9):
            assert client.post(path, json=body).status_code == 201, path
