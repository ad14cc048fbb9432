"""Signatures between us and the provider's client libraries: theirs at our receiver, the sandbox's at them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from consumer.webhooks.signature import SignatureError, verify
from sandbox.remote import Steer
from sandbox.serve import create_sandbox
from sandbox.state.events import TYPES
from tests.clients.conftest import NEWEST, NODE, Install, Library

SECRET = "whsec_test_secret"
BODY = '{"id":"evt_1","object":"event","type":"payout.created","data":{"amount":49632342}}'


@dataclass(frozen=True)
class Case:
    """A delivery a library signed, perhaps changed on its way, and whether it is taken."""

    name: str
    verdict: str
    body: str = BODY
    secret: str = SECRET
    age: int = 0
    header: str = "t={t},v1={v1}"
    arrives: str | None = None  # another body than was signed
    known: str | None = None  # another secret than signed


CASES = (
    Case("compact JSON", "taken"),
    Case("letters beyond ASCII", "taken", body='{"name":"Viña Ñuñoa 🏦"}'),
    Case("escapes, spaces and line ends", "taken", body='{\r\n  "name": "Vi\\u00f1a"\n}\n'),
    Case("no body", "taken", body=""),
    Case("a long body", "taken", body='{"data":"' + "x" * 200_000 + '"}'),
    Case("a secret of live mode", "taken", secret="whsec_live_kY8cxHAHSD9WvzUf7Z7Ky-yx"),
    Case("unknown schemes", "taken", header="t={t},v0=1,v1={v1},v2=abc"),
    Case("another order", "taken", header="v1={v1},t={t}"),
    Case("almost too old", "taken", age=280),
    Case("too old", "refused", age=320),
    Case("another secret", "refused", known="whsec_other"),
    Case("another body", "refused", arrives=BODY.replace("4963", "4964")),
    Case("no time", "refused", header="v1={v1}"),
    Case("a time that is no number", "refused", header="t=now,v1={v1}"),
    Case("no signature", "refused", header="t={t},v1="),
)


def received(delivery: dict[str, Any]) -> str:
    """What our receiver makes of it."""
    try:
        body, header, secret = delivery["body"].encode(), delivery["header"].encode(), delivery["secret"].encode()
        verify(body, header, [secret], now=datetime.now(UTC), tolerance=300)
    except SignatureError:
        return "refused"
    return "taken"


@pytest.fixture(params=[NEWEST, NODE], ids=lambda library: library.name)
def run(request: pytest.FixtureRequest, install: Install) -> Callable[..., Any]:
    """Ask a library to sign and to verify; 1.1 knows neither."""
    library: Library = request.param
    folder = install(library)
    return lambda **asked: library.run(folder, "signatures", given={"sign": [], "verify": [], **asked})


def test_the_receiver_takes_what_the_library_signs(run: Callable[..., Any]) -> None:
    """Fifteen deliveries: ours and theirs say the same of each, and it is the right thing."""
    now = int(time.time())
    signed = run(sign=[{"body": case.body, "secret": case.secret, "t": now - case.age} for case in CASES])["sign"]
    deliveries = [
        {
            "body": case.body if case.arrives is None else case.arrives,
            "secret": case.known or case.secret,
            "header": case.header.format(t=now - case.age, v1=digest),
        }
        for case, digest in zip(CASES, signed, strict=True)
    ]

    theirs = run(verify=deliveries)["verify"]

    names = [case.name for case in CASES]
    expected = {case.name: case.verdict for case in CASES}
    assert dict(zip(names, theirs, strict=True)) == expected
    assert dict(zip(names, map(received, deliveries), strict=True)) == expected


def test_the_library_takes_what_the_sandbox_sends(run: Callable[..., Any]) -> None:
    """First deliveries and repeated ones, whatever they hold."""
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(500 if len(sent) == 1 else 200)

    app = create_sandbox("quiet", transport=httpx.MockTransport(answer))
    with Steer("http://sandbox.test", transport=httpx.WSGITransport(app=app)) as steer:
        secret = steer.create_endpoint("https://shop.example/webhooks", list(TYPES))["secret"]
        steer.advance(2 * 86_400)
    app.world.close()
    deliveries = [
        {"body": request.content.decode(), "header": request.headers["Fintoc-Signature"], "secret": secret}
        for request in sent
    ]

    verdicts = run(verify=[*deliveries, {**deliveries[0], "secret": "whsec_other"}])["verify"]

    assert len(deliveries) > 5
    assert sent[0].content in [request.content for request in sent[1:]]
    assert verdicts == ["taken"] * len(deliveries) + ["refused"]
