"""One seed, the same bytes: two starts answer alike over every list, the truth and the files."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache

import httpx
import pytest

from sandbox.api.routes import ROUTES
from sandbox.engine.faults import Fault
from sandbox.scenarios import NAMES, build
from sandbox.serve import create_sandbox
from tests.sandbox.conftest import START, Receiver

LISTS = [route.path for route in ROUTES if route.method == "GET" and "{" not in route.path]
FILES = [f"/_sandbox/{name}" for name in ("truth", "invoices.csv", "bank.csv", "tariff", "credentials", "deliveries",
                                           "invoices.xml.zip", "register.zip", "declared.csv")]  # fmt: skip
FAULTS = [Fault("duplicate", 0.2), Fault("drop", 0.2), Fault("tie", 0.3), Fault("unknown-type", 0.1),
          Fault("duplicate-page", 0.3), Fault("empty-page", 0.3)]  # fmt: skip


def pages(client: httpx.Client, url: str) -> Iterator[bytes]:
    """Every page of a list with the headers that belong to it."""
    while url:
        answer = client.get(url)
        shown = [answer.headers.get(name, "") for name in ("Link", "X-Total-Count", "X-Request-Id", "Date")]
        yield "\n".join([str(answer.status_code), *shown]).encode() + answer.content
        url = answer.links.get("next", {}).get("url", "")


@cache
def everything(name: str, seed: int, steps: int) -> dict[str, list[bytes]]:
    """What a start with that seed answers two weeks later, whatever the steps of its clock."""
    app = create_sandbox(name, seed=seed, scale=0.3, faults=FAULTS, transport=httpx.MockTransport(Receiver()))
    world = app.world
    with httpx.Client(
        transport=httpx.WSGITransport(app=app),
        base_url="http://sandbox.test",
        headers={"Authorization": "sk_test_sandbox"},
    ) as client:
        wanted = {"url": "https://shop.example/hooks", "enabled_events": ["payment_intent.succeeded"]}
        assert client.post("/v1/webhook_endpoints", json=wanted).status_code == 201
        sold = client.post("/v1/payment_intents", json={"amount": 4_321, "currency": "CLP"}).json()
        assert client.post("/_sandbox/pay", json={"id": sold["id"]}).status_code == 200
        for _ in range(steps):
            client.post("/_sandbox/clock/advance", json={"seconds": 14 * 86_400 / steps})
        token = next(iter(client.get("/_sandbox/credentials").json()["link_tokens"]), "none")
        lists = {path: list(pages(client, f"{path}?link_token={token}&limit=200&per_page=200")) for path in LISTS}
        reports = [f"/_sandbox/payouts/{row['id']}.csv" for row in client.get("/v1/payouts?per_page=300").json()]
        files = {path: [client.get(path).content] for path in (*FILES, *reports)}
    world.close()
    return {**lists, **files}


def digest_of(name: str, seed: int) -> str:
    """One number for all of it."""
    shown = repr(sorted(everything(name, seed, 1).items()))
    return hashlib.sha256(shown.encode()).hexdigest()


def plans() -> str:
    """One number for what happens in a small scenario of every name."""
    built = [tuple(build(name, seed=5, scale=0.1, start=START).happenings) for name in NAMES]
    return hashlib.sha256(repr(built).encode()).hexdigest()


def test_two_processes_with_one_seed_answer_alike() -> None:
    """Neither a plan nor an answer depends on how a process happens to scatter its sets and dictionaries."""
    names = "from tests.sandbox.test_determinism import digest_of, plans"
    start = f"{names}; print(plans() + digest_of('busy-month', 5))"
    shown = [
        subprocess.run(
            [sys.executable, "-c", start],
            env={**os.environ, "PYTHONHASHSEED": scatter},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for scatter in ("1", "77")
    ]

    assert shown[0] == shown[1]
    assert len(shown[0].strip()) == 128


@pytest.mark.parametrize("name", ["busy-month", "mexico"])
def test_two_starts_with_one_seed_answer_byte_for_byte_alike(name: str) -> None:
    """Lists with their headers, truth, books, bank lines, secrets and deliveries are equal, in one step or in two."""
    first, second = everything(name, 5, 1), everything(name, 5, 2)

    assert first.keys() == second.keys()
    for path, answers in first.items():
        assert answers == second[path], path
    assert first["/_sandbox/truth"][0].count(b"\n") > 100


def test_another_seed_is_another_trade() -> None:
    """What makes two starts alike is the seed."""
    first, other = everything("busy-month", 5, 1), everything("busy-month", 6, 1)

    assert first["/v1/payment_intents"] != other["/v1/payment_intents"]
    assert first["/_sandbox/truth"] != other["/_sandbox/truth"]
