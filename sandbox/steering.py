"""The routes under `/_sandbox/` that drive the sandbox from outside; no provider has them."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import islice

import msgspec
from flask import Response, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, Rule

from sandbox import report
from sandbox.amendments import tell_truth
from sandbox.api.checkout import pay
from sandbox.api.fields import read_choice, read_list, read_moment, require_text
from sandbox.api.routes import describe
from sandbox.engine.faults import UnusableFaultError, check_name, to_fault
from sandbox.engine.world import ENDPOINTS, MODES, World
from sandbox.scenarios import UnknownScenarioError, build_scenario
from sandbox.state.bodies import read_body
from sandbox.state.clock import to_iso
from sandbox.state.credentials import KEYS, Key, UnreadableKeyError, read_networks, read_public_key
from sandbox.state.refusal import RefusalError, invalid, missing_parameter
from sandbox.tax import archive

LAST_YEAR = 2200
PIECE = 200  # rows of truth that are sent at once


def find_step(path: str, method: str) -> Callable[[World], Response] | None:
    """Return what a request under `/_sandbox/` asks for, None if it asks for none of the steps."""
    try:
        step, params = TABLE.bind("").match(path, method)
    except HTTPException:
        return None
    return lambda world: step(world, **params)


# -- keys


def register_jws_key(world: World) -> Response:
    pem = read_body(request).get("public_key")
    try:
        world.signatures.key = read_public_key(pem if isinstance(pem, str) else "")
    except UnreadableKeyError as error:
        raise RefusalError(400, "invalid_params", str(error), param="public_key") from None
    return _json({"status": "active"})


def add_key(world: World) -> Response:
    body = read_body(request)
    name, mode = require_text(body, "name"), read_choice(body, "mode", MODES, default="test")
    ends_at = read_moment(body, "expires_at")
    with world.lock:
        key = Key(world.new_secret(f"sk_{mode}"), mode, name, ends_at)
        world.keys.add(key)
    shown = {"key": key.secret, "mode": mode, "name": name, "expires_at": to_iso(ends_at) if ends_at else None}
    return _json(shown, 201)


def revoke_key(world: World) -> Response:
    with world.lock:
        world.keys.revoke(require_text(read_body(request), "key"))
    return Response(status=204)


def allow_networks(world: World) -> Response:
    texts = [str(text) for text in read_list(read_body(request), "cidr_blocks")]
    try:
        world.keys.networks = read_networks(texts)
    except ValueError as error:
        raise RefusalError(400, "invalid_params", str(error), param="cidr_blocks") from None
    return _json({"cidr_blocks": texts})


# -- time and customers


def show_clock(world: World) -> Response:
    return _json({"now": to_iso(world.now())})


def advance_clock(world: World) -> Response:
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
    return show_clock(world)


def pay_as_customer(world: World) -> Response:
    body = read_body(request)
    with world.lock:
        intent = pay(world, require_text(body, "id"), body.get("outcome", "succeeded"))
    world.postman.wake()
    return _json(intent)


# -- faults


def list_faults(world: World) -> Response:
    with world.lock:
        return _json([fault.to_json() for fault in world.faults.active()])


def switch_on(world: World) -> Response:
    try:
        fault = to_fault(read_body(request))
    except UnusableFaultError as error:
        raise RefusalError(400, "invalid_fault", str(error), param="name") from None
    with world.lock:
        world.faults.switch_on(fault, world.now())
    return _json(fault.to_json(), 201)


def switch_off(world: World) -> Response:
    name = request.args.get("name", read_body(request).get("name"))
    try:
        name = None if name is None else check_name(name)
    except UnusableFaultError as error:
        raise RefusalError(400, "invalid_fault", str(error), param="name") from None
    with world.lock:
        world.faults.switch_off(name)
    return list_faults(world)


# -- the scenario


def begin_scenario(world: World) -> Response:
    body = read_body(request)
    if "name" not in body:
        raise missing_parameter("name")
    seed = body.get("seed", world.seed)
    wishes = {name: body.get(name) for name in ("damages", "signed_transfers")}
    try:
        scenario = build_scenario(body["name"], seed, body.get("scale", 1.0), world.start_at, **wishes)
    except UnknownScenarioError as error:
        raise RefusalError(400, "invalid_scenario", str(error), param="name") from None
    world.restart(scenario, seed=seed)
    return _json({"name": scenario.name, "seed": seed, "country": scenario.country, "now": to_iso(world.now())})


def show_scenario(world: World) -> Response:
    return _json({"name": world.scenario.name, "seed": world.seed, "country": world.scenario.country})


def show_tariff(world: World) -> Response:
    return _json(world.scenario.tariff)


def show_truth(world: World) -> Response:
    with world.lock:
        rows = tell_truth(world)
    pieces = iter(lambda: b"".join(msgspec.json.encode(row) + b"\n" for row in islice(rows, PIECE)), b"")
    return Response(pieces, content_type="application/x-ndjson")


# -- files


def download_invoices(world: World) -> Response:
    try:
        lines = report.invoices(world, request.args.get("variant", "plain"))
    except ValueError as error:
        raise RefusalError(400, "invalid_enum", str(error), param="variant") from None
    return Response(lines, content_type="text/csv")


def download_bank(world: World) -> Response:
    return _csv(report.bank(world))


def download_papers(world: World) -> Response:
    with world.lock:
        return _zip(archive.write_papers(world))


def download_register(world: World) -> Response:
    with world.lock:
        return _zip(archive.write_registers(world))


def download_declared(world: World) -> Response:
    with world.lock:
        return _csv(archive.write_declared(world))


def download_payout(world: World, payout_id: str) -> Response:
    with world.lock:
        return _csv(report.payout_report(world, payout_id))


# -- views


def show_credentials(world: World) -> Response:
    with world.lock:
        links = [link for mode in MODES for link in world.collection(mode, "links").newest_first()]
        endpoints = [found for mode in MODES for found in world.collection(mode, ENDPOINTS).newest_first()]
        secrets = [
            {
                "endpoint_id": found["id"],
                "mode": found["mode"],
                "url": found["url"],
                "secret": world.secrets[found["id"]],
            }
            for found in endpoints
        ]
    keys = {mode: key for key, mode in KEYS.items()}
    return _json({"keys": keys, "link_tokens": [link["link_token"] for link in links], "webhook_secrets": secrets})


def list_deliveries(world: World) -> Response:
    with world.lock:
        return _json([attempt.to_json() for attempt in world.outbox.history()])


def show_openapi(_: World) -> Response:
    return _json(describe())


def show_summary(world: World) -> Response:
    with world.lock:
        return _json(world.summary())


def _json(body: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(body), status, content_type="application/json")


def _zip(pieces: Iterator[bytes]) -> Response:
    return Response(pieces, content_type="application/zip")


def _csv(text: str) -> Response:
    return Response(text, content_type="text/csv; charset=utf-8")


STEPS: tuple[tuple[str, str, Callable[..., Response]], ...] = (
    ("PUT", "jws_key", register_jws_key),
    ("POST", "keys", add_key),
    ("DELETE", "keys", revoke_key),
    ("PUT", "allowed_networks", allow_networks),
    ("GET", "clock", show_clock),
    ("POST", "clock/advance", advance_clock),
    ("POST", "pay", pay_as_customer),
    ("GET", "faults", list_faults),
    ("POST", "faults", switch_on),
    ("DELETE", "faults", switch_off),
    ("POST", "scenario", begin_scenario),
    ("GET", "scenario", show_scenario),
    ("GET", "tariff", show_tariff),
    ("GET", "truth", show_truth),
    ("GET", "invoices.csv", download_invoices),
    ("GET", "invoices.xml.zip", download_papers),
    ("GET", "register.zip", download_register),
    ("GET", "declared.csv", download_declared),
    ("GET", "bank.csv", download_bank),
    ("GET", "payouts/<payout_id>.csv", download_payout),
    ("GET", "credentials", show_credentials),
    ("GET", "deliveries", list_deliveries),
    ("GET", "openapi.json", show_openapi),
    ("GET", "summary", show_summary),
)
# Built once: a sandbox is made for every test, and matching rules take longer to prepare than all the rest.
TABLE = Map([Rule(f"/_sandbox/{path}", methods=[method], endpoint=step) for method, path, step in STEPS])
