"""Liveness, readiness of the database that takes rows, and metrics for Prometheus."""

import time
from collections.abc import Callable, Sequence

import sqlalchemy as sa
from flask import Blueprint, Response, abort, jsonify, request
from flask.typing import ResponseReturnValue
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from consumer.facts import schema
from consumer.facts.addresses import is_forwarded
from consumer.facts.clock import utc_now
from consumer.facts.installation import Installation
from consumer.facts.patience import NoAnswerError, Patience
from consumer.facts.store import SchemaError
from consumer.health.capacity import write_check

_FRESH_SECONDS = 5.0
LOOPBACK = {"127.0.0.1", "::1"}


def health(
    installation: Installation,
    *,
    is_allowed: Callable[[], bool],
    gauges: Sequence[Collector] = (),
    is_shared: bool = False,
) -> Blueprint:
    """Make the routes.

    `is_allowed` says whether the request carries a token that may read metrics; `gauges` are read when asked;
    `is_shared` says that this is one of several processes, whose counters are added up.
    """
    blueprint = Blueprint("health", __name__)
    patience = Patience[tuple[dict[str, str], int]]()
    probe = Probe(installation)
    registries = _registries(gauges, is_shared=is_shared)

    @blueprint.get("/healthz")
    def healthz() -> ResponseReturnValue:
        return jsonify(status="alive")

    @blueprint.get("/readyz")
    def readyz() -> ResponseReturnValue:
        try:
            found, status = patience.ask(probe.look)
        except NoAnswerError:
            found, status = {"status": "no database", "reason": "it does not answer"}, 503
        return jsonify(found), status

    @blueprint.get("/metrics")
    def metrics() -> ResponseReturnValue:
        # A proxy on the same machine makes everybody look like loopback, so a forwarded request needs a token.
        is_local = request.remote_addr in LOOPBACK and not is_forwarded(request.environ)
        if not (is_local or is_allowed()):
            abort(403)
        return Response(map(generate_latest, registries), content_type=CONTENT_TYPE_LATEST)

    return blueprint


def _registries(gauges: Sequence[Collector], *, is_shared: bool) -> list[CollectorRegistry]:
    """Return the registry of counters, of this process or of all, and the registry of gauges read on request."""
    counters, read = CollectorRegistry() if is_shared else REGISTRY, CollectorRegistry()
    if is_shared:
        MultiProcessCollector(counters)  # type: ignore[no-untyped-call]
    for gauge in gauges:
        read.register(gauge)
    return [counters, read]


class Probe:
    """Whether the database is reachable, migrated and takes rows; a row written a moment ago is enough."""

    def __init__(self, installation: Installation) -> None:
        self._store = installation.store
        self._written_at = float("-inf")

    def look(self) -> tuple[dict[str, str], int]:
        """Return what was found, with the HTTP status."""
        try:
            schema.check_migrated(self._store)
        except SchemaError as error:
            return {"status": "not migrated", "reason": str(error)}, 503
        except sa.exc.SQLAlchemyError as error:
            return {"status": "no database", "reason": type(error).__name__}, 503
        if time.monotonic() - self._written_at >= _FRESH_SECONDS:
            try:
                write_check(self._store, now=utc_now())
            except sa.exc.SQLAlchemyError as error:
                # A connection opened while the file was read-only stays so for ever.
                self._store.close()
                return {"status": "cannot write", "reason": type(error).__name__}, 503
            self._written_at = time.monotonic()
        return {"status": "ready"}, 200
