"""Whether the process lives, whether its database is there and migrated, and its numbers for Prometheus."""

from collections.abc import Callable

import sqlalchemy as sa
from flask import Blueprint, Response, abort, jsonify, request
from flask.typing import ResponseReturnValue
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from consumer.facts import schema
from consumer.facts.house import House

LOOPBACK = {"127.0.0.1", "::1"}


def health(house: House, *, is_allowed: Callable[[], bool]) -> Blueprint:
    """Make the routes; `is_allowed` says whether the request carries a token that may read metrics."""
    blueprint = Blueprint("health", __name__)

    @blueprint.get("/healthz")
    def healthz() -> ResponseReturnValue:
        return jsonify(status="alive")

    @blueprint.get("/readyz")
    def readyz() -> ResponseReturnValue:
        try:
            schema.check_migrated(house.store)
        except schema.SchemaError as error:
            return jsonify(status="not migrated", reason=str(error)), 503
        except sa.exc.SQLAlchemyError as error:
            return jsonify(status="no database", reason=type(error).__name__), 503
        return jsonify(status="ready")

    @blueprint.get("/metrics")
    def metrics() -> ResponseReturnValue:
        # A proxy on the same machine makes everybody look like loopback, so a forwarded request needs a token.
        is_local = request.remote_addr in LOOPBACK and "X-Forwarded-For" not in request.headers
        if not (is_local or is_allowed()):
            abort(403)
        return Response(generate_latest(), content_type=CONTENT_TYPE_LATEST)

    return blueprint
