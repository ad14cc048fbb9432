"""What ours is measured against, on the same server: a route that stores nothing, and one that inserts naively.

`serve.py` serves them; the address of the naive one's database is in BENCH_DATABASE_URL.
"""

import hashlib
import hmac
import json
import os
import time
from typing import Any

from flask import Flask, Response, abort, jsonify, request
from sqlmodel import Field, Session, SQLModel

from consumer.facts.store import Store
from tests.benchmarks.ingest.trade import SECRET

_TOLERANCE = 300


class NaiveEvent(SQLModel, table=True):
    """An event as the quickest sketch of a receiver keeps it."""

    id: str = Field(primary_key=True)
    type: str
    created_at: str
    body: str


def read_event() -> tuple[bytes, dict[str, Any]]:
    """Verify the signature and parse the body, as any receiver must."""
    body = request.get_data()
    parts = dict(part.split("=", 1) for part in request.headers["Fintoc-Signature"].split(","))
    if abs(time.time() - int(parts["t"])) > _TOLERANCE:
        abort(400)
    expected = hmac.new(SECRET.encode(), parts["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, parts["v1"]):
        abort(401)
    return body, json.loads(body)


def bare() -> Flask:
    """Verify, parse, answer: what no receiver can be faster than."""
    app = Flask("bare")

    @app.post("/webhooks")
    def receive() -> Response:
        read_event()
        return jsonify(status="read")

    return app


def naive() -> Flask:
    """One insert and one commit a request, through the session."""
    app = Flask("naive")
    store = Store(os.environ["BENCH_DATABASE_URL"], pool_size=32)

    @app.post("/webhooks")
    def receive() -> Response:
        body, event = read_event()
        with Session(store.engine) as session:
            kept = NaiveEvent(id=event["id"], type=event["type"], created_at=event["created_at"], body=body.decode())
            session.add(kept)
            session.commit()
        return jsonify(status="stored")

    return app
