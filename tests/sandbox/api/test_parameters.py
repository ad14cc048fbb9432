"""The description's query parameters are those the operations read."""

from contextlib import suppress
from typing import Any

from werkzeug.datastructures import Headers, MultiDict

from sandbox.api.call import Call
from sandbox.api.routes import ROUTES, query_of
from sandbox.serve import create_sandbox
from sandbox.state.refusal import RefusalError
from sandbox.state.versions import LATEST


class Recording(MultiDict[str, str]):
    """A query that remembers which of its parameters were asked for."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__(given)
        self.names: set[str] = set()

    def get(self, key: str, *rest: Any, **named: Any) -> Any:
        self.names.add(key)
        return super().get(key, *rest, **named)

    def getlist(self, key: str, *rest: Any, **named: Any) -> Any:
        self.names.add(key.removesuffix("[]"))
        return super().getlist(key, *rest, **named)


def test_the_description_names_the_parameters_that_are_read() -> None:
    """No list reads a parameter it does not declare, and none declares what it does not read."""
    world = create_sandbox("busy-month", seed=8, scale=0.1).world
    link = next(world.collection("test", "links").newest_first())
    token = link["link_token"]

    def first(kind: str) -> str:
        return str(next(world.collection("test", kind).newest_first())["id"])

    of_link = {
        f"/v1/{kind}/{{id}}": next(row["id"] for row in world.collection("test", name).newest_first())
        for kind, name in (("refresh_intents", "refresh_intents"), ("invoices", "tax_invoices"),
                           ("tax_returns", "tax_returns"), ("tax_statements", "tax_statements"))
    }  # fmt: skip
    account = next(
        r["id"] for r in world.collection("test", "link_accounts").newest_first() if r["_link"] == link["id"]
    )
    for route in (route for route in ROUTES if route.method == "GET"):
        query = Recording({"link_token": token, "resource_type": "charge"})
        is_v1 = route.path.startswith("/v1")
        params = {
            "id": of_link.get(route.path, first("payouts")),
            "account": account if is_v1 else first("accounts"),
            "entity": first("entities"),
            "link_token": token,
        }
        call = Call(
            world, "test", "GET", f"http://sandbox.test{route.path}", route.path, LATEST, params, query, Headers(), 1
        )
        with suppress(RefusalError):  # some of the ids are of nothing
            route.operation(call)

        assert query.names == set(query_of(route)), route.path
    world.close()
