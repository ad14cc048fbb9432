"""When the event cannot be put on disk: 503 with when to retry, never a 200 and never a 500."""

import json
import time
from collections.abc import Callable
from typing import NoReturn

import pytest
from flask import Flask

from consumer.facts.installation import Installation
from consumer.facts.settings import Settings
from consumer.facts.store import Store
from consumer.webhooks.blueprint import webhooks
from consumer.webhooks.group_commit import NotStoredError, Writer

Sign = Callable[..., str]
EVENT = {
    "id": "evt_1",
    "type": "refund.succeeded",
    "mode": "test",
    "created_at": "2026-10-05T11:00:00Z",
    "data": {"id": "re_1"},
}


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@pytest.mark.parametrize("reason", ["queue_full", "store_down", "no_commit_in_time"])
def test_what_is_not_stored_asks_to_come_back(installation: Installation, sign: Sign, reason: str) -> None:
    """Without a commit there is no 200: the sender gets 503 and when to retry."""

    class Unable(Writer):
        def store(self, *_: object, **__: object) -> NoReturn:
            raise NotStoredError(reason)

    app = Flask("receiver")
    app.register_blueprint(webhooks(installation, writer=Unable(installation.store)))
    body = json.dumps(EVENT).encode()
    answer = app.test_client().post(
        "/webhooks", data=body, headers={"Fintoc-Signature": sign(body, at=int(time.time()))}
    )

    assert (answer.status_code, answer.json, answer.headers["Retry-After"]) == (503, {"error": reason}, "5")


@pytest.mark.parametrize(
    ("secrets", "secret", "status"),
    [(["whsec_test_secret"], "whsec_test_secret", 503), (["whsec_test_secret"], "forged", 401), ([], "any", 503)],
)
def test_with_the_database_down(settings: Settings, sign: Sign, secrets: list[str], secret: str, status: int) -> None:
    """An authentic event is asked to come back, a forged one is still refused, and none gets a 200 or a 500."""
    down = Store("postgresql+psycopg://nobody@127.0.0.1:1/none?connect_timeout=1")
    configured = Settings.model_validate(dict(settings) | {"webhook_secrets": secrets})
    app = Flask("receiver")
    app.register_blueprint(webhooks(Installation(configured, down)))
    body = json.dumps(EVENT).encode()
    header = sign(body, secret=secret, at=int(time.time()))

    answer = app.test_client().post("/webhooks", data=body, headers={"Fintoc-Signature": header})

    assert answer.status_code == status
    assert answer.is_json
    down.close()
