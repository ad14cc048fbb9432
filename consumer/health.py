"""Whether the process lives, whether its database is there and migrated, and its numbers for Prometheus."""

from collections.abc import Callable

import sqlalchemy as sa
from flask import Blueprint, Response, abort, jsonify, request
from flask.typing import ResponseReturnValue
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from consumer.facts import schema
from consumer.facts.house import House
from consumer.patience import NoAnswer, Patience

ANSWER_SECONDS = 3.0
LOOPBACK = {"127.0.0.1", "::1"}


def health(house: House, *, is_allowed: Callable[[], bool]) -> Blueprint:
    """Make the routes; `is_allowed` says whether the request carries a token that may read metrics."""
    blueprint = Blueprint("health", __name__)
    patience = Patience[tuple[dict[str, str], int]](ANSWER_SECONDS)

    @blueprint.get("/healthz")
    def healthz() -> ResponseReturnValue:
        return jsonify(status="alive")

    @blueprint.get("/readyz")
    def readyz() -> ResponseReturnValue:
        try:
            found, status = patience.ask(lambda: readiness(house))
        except NoAnswer:
            found, status = {"status": "no database", "reason": "it does not answer"}, 503
        return jsonify(found), status

    @blueprint.get("/metrics")
    def metrics() -> ResponseReturnValue:
        # A proxy on the same machine makes everybody look like loopback, so a forwarded request needs a token.
        is_local = request.remote_addr in LOOPBACK and "X-Forwarded-For" not in request.headers
        if not (is_local or is_allowed()):
            abort(403)
        return Response(generate_latest(), content_type=CONTENT_TYPE_LATEST)

    return blueprint


def readiness(house: House) -> tuple[dict[str, str], int]:
    """Say whether the database is reachable and migrated, and the status that says so."""
    try:
        schema.check_migrated(house.store)
    except schema.SchemaError as error:
        return {"status": "not migrated", "reason": str(error)}, 503
    except sa.exc.SQLAlchemyError as error:
        return {"status": "no database", "reason": type(error).__name__}, 503
    return {"status": "ready"}, 200
