"""A receiver on a migrated database, and a sender that signs as the provider does."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from consumer.facts.installation import Installation
from consumer.webhooks.blueprint import webhooks
from consumer.webhooks.group_commit import Writer

SECRET = "whsec_test_secret"
NOW = datetime(2026, 10, 5, 12, 0, 0, tzinfo=UTC)


def signed(body: bytes, *, secret: str = SECRET, at: int = 1791201600) -> str:
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


@pytest.fixture
def sign() -> Callable[..., str]:
    """Write a signature header for a body, at 2026-10-05T12:00:00Z unless told otherwise."""
    return signed


@pytest.fixture
def receiver(installation: Installation) -> Iterator[Flask]:
    """An app with nothing but the receiving route, at 2026-10-05T12:00:00Z for ever."""
    writer = Writer(installation.store)
    app = Flask("receiver")
    app.register_blueprint(webhooks(installation, now=lambda: NOW, writer=writer))
    yield app
    writer.close()


@pytest.fixture
def send(receiver: Flask) -> Callable[..., TestResponse]:
    """Post a body, signed unless a header is given, and return the answer."""

    def post(body: bytes | dict[str, Any], *, path: str = "/webhooks", **options: Any) -> TestResponse:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        header = options.pop("header", signed(raw))
        headers = [("Fintoc-Signature", one) for one in ([header] if isinstance(header, str) else header)]
        return receiver.test_client().post(path, data=raw, headers=headers, **options)

    return post
