"""The routes under `/_sandbox/` that drive the sandbox from outside; no provider has them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

import msgspec
from flask import Blueprint, Response, request

from sandbox import report
from sandbox.api.fields import read_choice, read_list, read_moment, require_text
from sandbox.api.openapi import describe
from sandbox.api.paying import pay
from sandbox.engine.world import ENDPOINTS, MODES, World
from sandbox.faults.registry import UnusableFaultError, check_name, to_fault
from sandbox.state.bodies import read_body
from sandbox.state.clock import to_iso
from sandbox.state.happening import Scenario
from sandbox.state.jws import UnreadableKeyError, read_public_key
from sandbox.state.keys import KEYS, Key, read_networks
from sandbox.state.refusal import RefusalError, invalid, missing_parameter
from sandbox.truth import tell_truth

Build = Callable[[object, object, object, datetime, object], Scenario]


LAST_YEAR = 2200
PIECE = 200  # rows of truth that are sent at once


class UnknownScenarioError(ValueError):
    """No scenario has that name, or it cannot be built like that."""


def steering(world: World, build: Build) -> Blueprint:
    """The blueprint that steers this world."""
    blueprint = Blueprint("sandbox", __name__, url_prefix="/_sandbox")
    _add_keys(blueprint, world)
    _add_clock(blueprint, world)
    _add_customer(blueprint, world)
    _add_faults(blueprint, world)
    _add_scenario(blueprint, world, build)
    _add_files(blueprint, world)
    _add_views(blueprint, world)
    return blueprint


def _add_keys(blueprint: Blueprint, world: World) -> None:
    @blueprint.put("/jws_key")
    def jws_key() -> Response:
        pem = read_body(request).get("public_key")
        try:
            world.signatures.key = read_public_key(pem if isinstance(pem, str) else "")
        except UnreadableKeyError as error:
            raise RefusalError(400, "invalid_params", str(error), param="public_key") from None
        return _json({"status": "active"})

    @blueprint.post("/keys")
    def add_key() -> Response:
        body = read_body(request)
        name, mode = require_text(body, "name"), read_choice(body, "mode", MODES, default="test")
        ends_at = read_moment(body, "expires_at")
        with world.lock:
            key = Key(world.new_secret(f"sk_{mode}"), mode, name, ends_at)
            world.keys.add(key)
        shown = {"key": key.secret, "mode": mode, "name": name, "expires_at": to_iso(ends_at) if ends_at else None}
        return _json(shown, 201)

    @blueprint.delete("/keys")
    def revoke_key() -> Response:
        with world.lock:
            world.keys.revoke(require_text(read_body(request), "key"))
        return Response(status=204)

    @blueprint.put("/allowed_networks")
    def allow() -> Response:
        texts = [str(text) for text in read_list(read_body(request), "cidr_blocks")]
        try:
            world.keys.networks = read_networks(texts)
        except ValueError as error:
            raise RefusalError(400, "invalid_params", str(error), param="cidr_blocks") from None
        return _json({"cidr_blocks": texts})


def _add_clock(blueprint: Blueprint, world: World) -> None:
    @blueprint.get("/clock")
    def clock() -> Response:
        return _json({"now": to_iso(world.now())})

    @blueprint.post("/clock/advance")
    def advance() -> Response:
        seconds = read_body(request).get("seconds")
        if not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds < 0:
            raise invalid("positive_integer", "seconds", "a number of seconds, 0 or more")
        try:
            delta = timedelta(seconds=seconds)
            is_possible = (world.now() + delta).year < LAST_YEAR
        except OverflowError:
            is_possible = False
        if not is_possible:
            raise invalid("positive_integer", "seconds", f"a stretch of time that ends before the year {LAST_YEAR}")
        world.advance(delta)
        return _json({"now": to_iso(world.now())})


def _add_customer(blueprint: Blueprint, world: World) -> None:
    @blueprint.post("/pay")
    def pay_for() -> Response:
        body = read_body(request)
        with world.lock:
            intent = pay(world, require_text(body, "id"), body.get("outcome", "succeeded"))
        world.postman.wake()
        return _json(intent)


def _add_faults(blueprint: Blueprint, world: World) -> None:
    @blueprint.get("/faults")
    def faults() -> Response:
        with world.lock:
            return _json([fault.to_json() for fault in world.faults.active()])

    @blueprint.post("/faults")
    def switch_on() -> Response:
        try:
            fault = to_fault(read_body(request))
        except UnusableFaultError as error:
            raise RefusalError(400, "invalid_fault", str(error), param="name") from None
        with world.lock:
            world.faults.switch_on(fault, world.now())
        return _json(fault.to_json(), 201)

    @blueprint.delete("/faults")
    def switch_off() -> Response:
        name = request.args.get("name", read_body(request).get("name"))
        try:
            name = None if name is None else check_name(name)
        except UnusableFaultError as error:
            raise RefusalError(400, "invalid_fault", str(error), param="name") from None
        with world.lock:
            world.faults.switch_off(name)
            return _json([fault.to_json() for fault in world.faults.active()])


def _add_scenario(blueprint: Blueprint, world: World, build: Build) -> None:
    @blueprint.post("/scenario")
    def begin() -> Response:
        body = read_body(request)
        if "name" not in body:
            raise missing_parameter("name")
        seed = body.get("seed", world.seed)
        try:
            scenario = build(body["name"], seed, body.get("scale", 1.0), world.start_at, body.get("damages"))
        except UnknownScenarioError as error:
            raise RefusalError(400, "invalid_scenario", str(error), param="name") from None
        world.restart(scenario, seed=seed)
        return _json({"name": scenario.name, "seed": seed, "country": scenario.country, "now": to_iso(world.now())})

    @blueprint.get("/scenario")
    def scenario() -> Response:
        return _json({"name": world.scenario.name, "seed": world.seed, "country": world.scenario.country})

    @blueprint.get("/tariff")
    def tariff() -> Response:
        return _json(world.scenario.tariff)

    @blueprint.get("/truth")
    def truth() -> Response:
        with world.lock:
            rows = tell_truth(world)
        pieces = iter(lambda: b"".join(msgspec.json.encode(row) + b"\n" for row in islice(rows, PIECE)), b"")
        return Response(pieces, content_type="application/x-ndjson")


def _add_files(blueprint: Blueprint, world: World) -> None:
    @blueprint.get("/invoices.csv")
    def invoices() -> Response:
        try:
            lines = report.invoices(world, request.args.get("variant", "plain"))
        except ValueError as error:
            raise RefusalError(400, "invalid_enum", str(error), param="variant") from None
        return Response(lines, content_type="text/csv")

    @blueprint.get("/bank.csv")
    def bank() -> Response:
        return _csv(report.bank(world))

    @blueprint.get("/payouts/<payout_id>.csv")
    def payout(payout_id: str) -> Response:
        with world.lock:
            return _csv(report.payout_report(world, payout_id))


def _add_views(blueprint: Blueprint, world: World) -> None:
    @blueprint.get("/credentials")
    def credentials() -> Response:
        with world.lock:
            return _json(_credentials(world))

    @blueprint.get("/deliveries")
    def deliveries() -> Response:
        with world.lock:
            return _json([attempt.to_json() for attempt in world.outbox.history()])

    @blueprint.get("/openapi.json")
    def openapi() -> Response:
        return _json(describe())

    @blueprint.get("/summary")
    def summary() -> Response:
        with world.lock:
            return _json(world.summary())


def _credentials(world: World) -> dict[str, Any]:
    links = [link for mode in MODES for link in world.collection(mode, "links").newest_first()]
    endpoints = [found for mode in MODES for found in world.collection(mode, ENDPOINTS).newest_first()]
    return {
        "keys": {mode: key for key, mode in KEYS.items()},
        "link_tokens": [link["link_token"] for link in links],
        "webhook_secrets": [
            {
                "endpoint_id": found["id"],
                "mode": found["mode"],
                "url": found["url"],
                "secret": world.secrets[found["id"]],
            }
            for found in endpoints
        ],
    }


def _json(body: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(body), status, content_type="application/json")


def _csv(text: str) -> Response:
    return Response(text, content_type="text/csv; charset=utf-8")
