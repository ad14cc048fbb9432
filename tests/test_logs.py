"""Logs of the real program: one id follows an event, and no secret or personal data is in anything it writes."""

import hmac
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from consumer.alarms.sending import sign
from consumer.facts import schema
from consumer.facts.clock import utc_now
from consumer.facts.store import Store
from reports.access.people import note
from tests.consumer.conftest import event, refund
from tests.merchant import ROOT, environ_of
from tests.ports import free_port

SECRETS = {
    "api_key": "sk_test_planted_key",
    "webhook_secrets": "whsec_planted_secret",
    "smtp_url": "smtps://ops:planted-mail-password@127.0.0.1:9",
    "alert_urls": "http://127.0.0.1:9/planted-path#planted-alert-secret,mailto:ops@tienda.test",
    "ping_url_alarms": "http://127.0.0.1:9/planted-ping",
    "secret_key": "planted-secret-key-0123456789-abcdef",
}
PLANTED = [
    *("sk_test_planted_key", "whsec_planted_secret", "planted-mail-password", "planted-path", "planted-alert-secret"),
    *("planted-ping", "planted-secret-key", "planted-typed-password", "planted-query", "planted-link-key"),
    *("76.543.210-3", "76543210-3", "Planted Customer", "planted@customer.test", "000123456789", "v1="),
]


@contextmanager
def serving(environ: dict[str, str], log: Path) -> Iterator[int]:
    """Run `cuadre serve` until the block ends; give its port."""
    port = free_port()
    command = [sys.executable, "-P", "-m", "cuadre", "serve", "--port", str(port)]
    with log.open("wb") as file, subprocess.Popen(command, cwd=ROOT, env=environ, stderr=file) as process:
        try:
            wait_for(lambda: ask(port, "GET", "/healthz") == 200)
            yield port
        finally:
            process.send_signal(signal.SIGTERM)


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def ask(port: int, method: str, path: str, body: bytes = b"", **headers: str) -> int:
    line = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        line.request(method, path, body, headers)
        return line.getresponse().status
    except ConnectionError:
        return 0
    finally:
        line.close()


def send(port: int, secret: str) -> int:
    customer = {"name": "Planted Customer", "email": "planted@customer.test", "tax_id": "76.543.210-3"}
    own = refund(customer=customer, sender_account={"holder_id": "76543210-3", "number": "000123456789"})
    body = json.dumps(event("evt_planted", data=own)).encode()
    signature = sign(body, secret.encode(), now=utc_now())
    return ask(port, "POST", "/webhooks?x=planted-query", body, **{"Fintoc-Signature": signature})


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    own = {**SECRETS, "log_level": "debug", "access_log": "true", "trail_url": f"file://{tmp_path}/trail.jsonl"}
    own |= {"provider_url": "http://127.0.0.1:9", "alert_digest_at": "08:00"}
    return {**os.environ, **environ_of(own.pop("provider_url"), tmp_path, **own)}


def lines_of(log: Path) -> list[dict[str, Any]]:
    found = [line for line in log.read_text(encoding="utf-8").splitlines() if line.startswith("{")]
    return [json.loads(line) for line in found]


def test_one_id_follows_an_event_and_nothing_private_is_written(tmp_path: Path, environ: dict[str, str]) -> None:
    """Receipt, application, run and request of an event bear its id; logs and trail hold nothing that was planted."""
    log, run_log = tmp_path / "serve.log", tmp_path / "run.log"
    store = Store(f"sqlite:///{tmp_path / 'instance' / 'cuadre.db'}")
    schema.upgrade(store)
    note(store, "ana@tienda.test", "login", "login", now=utc_now() - timedelta(minutes=2), address="10.1.2.3")
    store.close()
    form = urlencode({"email": "planted@customer.test", "password": "planted-typed-password"}).encode()
    with serving(environ, log) as port:
        assert send(port, "whsec_planted_secret") == 200
        assert send(port, "another-secret-planted-query") == 401
        assert ask(port, "GET", "/exceptions?q=planted-query") == 302
        assert ask(port, "GET", "/welcome/planted-link-key?x=planted-query") == 404
        assert ask(port, "GET", "/nowhere/planted-link-key") == 404
        ask(port, "POST", "/login?next=planted-query", form, **{"Content-Type": "application/x-www-form-urlencoded"})
        wait_for(lambda: "event applied" in log.read_text(encoding="utf-8"))
        wait_for((tmp_path / "trail.jsonl").exists)
    command = [sys.executable, "-P", "-m", "cuadre", "reconcile", "--as-of", "2026-10-06"]
    with run_log.open("wb") as file:
        subprocess.run(command, cwd=ROOT, env=environ, stdout=file, stderr=file, check=False)

    lines = [*lines_of(log), *lines_of(run_log)]
    followed = [line["event"] for line in lines if line.get("event_id") == "evt_planted"]
    assert sorted(followed) == ["event applied", "event in run", "event received", "request"]
    requests = {(line["method"], line["route"], line["status"]) for line in lines if line["event"] == "request"}
    assert requests >= {
        ("POST", "/webhooks/<connection>", 200),
        ("POST", "/webhooks/<connection>", 401),
        ("GET", "/exceptions", 302),
        ("GET", "/welcome/<key>", 404),
        ("GET", "none", 404),
    }
    trail = [json.loads(line) for line in (tmp_path / "trail.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(one["id"], one["who"], one["action"], one["address"]) for one in trail] == [
        ("entry-1", "ana@tienda.test", "login", "10.1.2.3")
    ]
    written = "".join(path.read_text(encoding="utf-8") for path in (log, run_log, tmp_path / "trail.jsonl"))
    assert [secret for secret in PLANTED if secret in written] == []


def test_the_signature_of_alarms_is_the_one_tests_send(environ: dict[str, str]) -> None:
    """The test above signs by the program's own function, so that is held to the documented form."""
    now = utc_now()
    stamp = str(int(now.timestamp()))
    expected = hmac.new(b"s", f"{stamp}.x".encode(), "sha256").hexdigest()
    assert sign(b"x", b"s", now=now) == f"t={stamp},v1={expected}"
    assert environ["CUADRE_LOG_LEVEL"] == "debug"
