"""Every fault over real sockets, switched on at the start and at run time: it does what its name says."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from sandbox.engine.faults import NAMES, to_fault
from sandbox.remote import Steer
from sandbox.serve import RunningSandbox
from tests.sandbox.conftest import one_payout
from tests.thoroughness import for_run

KEY = {"Authorization": "sk_test_sandbox"}
OPTIONS: dict[str, dict[str, Any]] = {
    "rate-limit": {"retry_after": "seconds", "seconds": 7},
    "slow": {"seconds": 0.2, "path": "/v1/payouts"},
    "truncated": {"path": "/v1/payouts"},
    "wrong-type": {"path": "/v1/payouts"},
    "reset": {"path": "/v1/payouts"},
    "null-field": {"field": "status"},
}


@dataclass(slots=True)
class Shop:
    """A merchant's server on a port: keeps what comes, and refuses as often as asked."""

    got: list[tuple[str, dict[str, Any], int]] = field(default_factory=list)  # id, body, moment it was signed at
    refusals: int = 0

    def __call__(self, request: Request) -> Response:
        signed_at = int(request.headers["Fintoc-Signature"].partition(",")[0].removeprefix("t="))
        body = json.loads(request.get_data())
        self.got.append((body["id"], body, signed_at))
        self.refusals -= 1
        return Response(status=503 if self.refusals >= 0 else 200)


@dataclass(frozen=True, slots=True)
class Scene:
    """A sandbox with one fault, who talks to it, and the merchant who listens."""

    client: httpx.Client
    steer: Steer
    shop: Shop

    def announce(self, count: int = 1, *, apart: int = 1) -> list[str]:
        """The ids of so many events, some seconds apart, each tried once."""
        made = []
        for _ in range(count):
            if apart:
                self.steer.advance(apart)
            made.append(str(self.client.post("/v1/events/trigger", json={"type": "refund.failed"}).json()["id"]))
        self.steer.advance(0)
        return made

    def received(self) -> list[str]:
        return [id_ for id_, _, _ in self.shop.got]

    def logged(self) -> list[dict[str, Any]]:
        return list(self.client.get("/v2/events?type=refund.failed,refund.reassessed&limit=10").json())


@pytest.fixture
def shop() -> Iterator[tuple[Shop, str]]:
    """The merchant's server and its address."""
    kept = Shop()
    server = make_server("127.0.0.1", 0, Request.application(kept), threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield kept, f"http://127.0.0.1:{server.server_port}/webhooks"
    server.shutdown()
    thread.join()
    server.server_close()


def is_duplicate(scene: Scene) -> bool:
    (made,) = scene.announce()
    return scene.received() == [made, made] and scene.shop.got[0][1] == scene.shop.got[1][1]


def is_dropped(scene: Scene) -> bool:
    return [scene.announce()[0]] == [event["id"] for event in scene.logged()] and scene.received() == []


def is_reordered(scene: Scene) -> bool:
    scene.steer.switch_on("reorder", 0.5, seed=3)
    made = scene.announce(8, apart=0)
    scene.steer.advance(60)
    return sorted(scene.received()) == sorted(made) and scene.received() != made


def is_delayed(scene: Scene) -> bool:
    (made,) = scene.announce()
    scene.steer.advance(3_598)
    early = scene.received()
    scene.steer.advance(2)
    return early == [] and scene.received() == [made]


def is_late_visible(scene: Scene) -> bool:
    (made,) = scene.announce()
    before = scene.logged()
    scene.steer.advance(300)
    return scene.received() == [made] and before == [] and [event["id"] for event in scene.logged()] == [made]


def is_tied(scene: Scene) -> bool:
    scene.announce(2)
    return len({event["created_at"] for event in scene.logged()}) == 1


def is_conflicting(scene: Scene) -> bool:
    (made,) = scene.announce()
    return scene.received() == [made, made] and scene.shop.got[0][1] != scene.shop.got[1][1]


def is_stale(scene: Scene) -> bool:
    scene.shop.refusals = 1
    scene.announce()
    scene.steer.advance(3)
    (_, _, first), (_, _, second) = scene.shop.got
    most = for_run(short=600, full=60)
    return abs(first - time.time()) < most and abs(first - 3_600 - second) < most


def answers(scene: Scene, status: int, code: str, **headers: str) -> bool:
    answer = scene.client.get("/v1/payouts")
    shown = {name: answer.headers.get(name.replace("_", "-")) for name in headers}
    return answer.status_code == status and answer.json()["error"]["code"] == code and shown == headers


def is_slow(scene: Scene) -> bool:
    before = time.monotonic()
    return len(scene.client.get("/v1/payouts").json()) == 1 and time.monotonic() - before > 0.15


def is_truncated(scene: Scene) -> bool:
    try:
        scene.client.get("/v1/payouts").json()
    except json.JSONDecodeError:
        return True
    return False


def is_wrong_type(scene: Scene) -> bool:
    answer = scene.client.get("/v1/payouts")
    return answer.status_code == 200 and answer.headers["Content-Type"] == "text/html; charset=utf-8"


def is_reset(scene: Scene) -> bool:
    try:
        scene.client.get("/v1/payouts")
    except httpx.ReadError:
        return True
    return False


def is_the_same_page_again(scene: Scene) -> bool:
    first = scene.client.get("/v2/events?limit=1")
    again = scene.client.get(first.links["next"]["url"])
    return first.json() == again.json() and first.links["next"]["url"] != again.links["next"]["url"]


def is_an_empty_page(scene: Scene) -> bool:
    first = scene.client.get("/v2/events?limit=1")
    return first.json() == [] and len(scene.client.get(first.links["next"]["url"]).json()) == 1


def is_pruned(scene: Scene) -> bool:
    following = scene.client.get("/v2/events?limit=1").links["next"]["url"]
    answer = scene.client.get(following)
    return (answer.status_code, answer.json()["error"]["code"]) == (400, "missing_cursor")


def is_inserted(scene: Scene) -> bool:
    first, second = (scene.client.get(f"/v1/payment_intents?per_page=1&page={page}") for page in (1, 2))
    return first.json() == second.json() and second.headers["X-Total-Count"] == "3"


def is_switched(scene: Scene) -> bool:
    answer = scene.client.get("/v2/payment_intents")
    return (answer.status_code, answer.json()["error"]["code"]) == (403, "invalid_api_version")


def is_of_unknown_type(scene: Scene) -> bool:
    scene.announce()
    types = {event["type"] for event in scene.client.get("/v2/events?limit=2").json()}
    return types == {"refund.failed", "refund.reassessed"} and len(scene.received()) == 2


def has_unknown_field(scene: Scene) -> bool:
    scene.announce()
    return set(scene.logged()[0]["data"]) - {"id", "object", "mode"} == {"settlement_hint"}


def has_null(scene: Scene) -> bool:
    scene.announce()
    return bool(scene.logged()[0]["data"] == {"id": "re_00000000", "object": "refund", "mode": "test", "status": None})


SIGNS: dict[str, Callable[[Scene], bool]] = {
    "duplicate": is_duplicate,
    "drop": is_dropped,
    "reorder": is_reordered,
    "delay": is_delayed,
    "late-visible": is_late_visible,
    "tie": is_tied,
    "conflict": is_conflicting,
    "stale-retry": is_stale,
    "server-error": lambda scene: answers(scene, 500, "internal_server_error"),
    "rate-limit": lambda scene: answers(scene, 429, "rate_limit_exceeded", Retry_After="7"),
    "slow": is_slow,
    "truncated": is_truncated,
    "wrong-type": is_wrong_type,
    "reset": is_reset,
    "duplicate-page": is_the_same_page_again,
    "empty-page": is_an_empty_page,
    "pruned-cursor": is_pruned,
    "insert-while-paging": is_inserted,
    "key-refused": lambda scene: answers(scene, 401, "invalid_api_key"),
    "version-switch": is_switched,
    "unknown-type": is_of_unknown_type,
    "unknown-field": has_unknown_field,
    "null-field": has_null,
}


@pytest.mark.parametrize("is_at_start", [True, False], ids=["at start", "at run time"])
@pytest.mark.parametrize("name", NAMES)
def test_a_fault_does_what_its_name_says(shop: tuple[Shop, str], name: str, is_at_start: bool) -> None:  # noqa: FBT001
    """Switched on it strikes; with probability 0, or switched off, it never does."""
    kept, address = shop
    wish = {"name": name, **OPTIONS.get(name, {})}
    faults = [
        to_fault(wish | {"path": "/v1/payouts"} if name in {"server-error", "rate-limit", "key-refused"} else wish)
    ]
    with (
        RunningSandbox(one_payout(), faults=faults if is_at_start else ()) as running,
        httpx.Client(base_url=running.url, headers=KEY, trust_env=False, timeout=120) as client,
        Steer(running.url) as steer,
    ):
        scene = Scene(client, steer, kept)
        steer.create_endpoint(address, ["refund.failed"])
        if not is_at_start:
            steer.switch_on(**faults[0].to_json() | {"probability": 0})
            scene.announce()
            assert (len(kept.got), client.get("/v1/payouts").status_code) == (1, 200)
            kept.got.clear()
            running.world.restart(one_payout(), seed=1)
            steer.switch_on(**faults[0].to_json())

        assert SIGNS[name](scene)

        steer.switch_off(name)
        assert client.get("/_sandbox/faults").json() == []
        assert len(client.get("/v1/payouts").json()) == 1
