"""Where requests come in: the key, the version, the faults, the idempotency key, then the operation."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus

import msgspec
from flask import Flask, Response, g, request
from werkzeug.exceptions import HTTPException
from werkzeug.http import http_date
from werkzeug.routing import Map, Rule

from sandbox.api.call import Answer, Call, Route
from sandbox.api.payouts import open_voucher
from sandbox.api.routes import ROUTES
from sandbox.engine.faults import TO_COMMIT, TooManyError
from sandbox.engine.world import World
from sandbox.state.bodies import Asked, read_body
from sandbox.state.clock import to_iso
from sandbox.state.ids import digest
from sandbox.state.refusal import BrokenError, RefusalError, invalid
from sandbox.state.versions import VERSIONS, present
from sandbox.steering import find_step

JSON = "application/json"
METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")
# A status in which the new row means no money.
HARMLESS = {
    "payment_intents": "expired",
    "charges": "canceled",
    "refunds": "canceled",
    "payouts": "canceled",
    "checkout_sessions": "expired",
    "payment_links": "canceled",
    "customers": None,
}
# Built once: a sandbox is made for every test, and matching rules take longer to prepare than all the rest.
TABLE = Map(
    [
        Rule(route.path.replace("{", "<").replace("}", ">"), methods=[route.method], endpoint=number)
        for number, route in enumerate(ROUTES)
    ],
    strict_slashes=True,
    merge_slashes=False,
    redirect_defaults=False,
)


def open_gate(app: Flask, world: World) -> None:
    """Register every operation, the errors and the headers of every answer."""

    @app.route("/<path:path>", methods=METHODS, provide_automatic_options=False)
    def operation(path: str) -> Response:
        return _respond(world, f"/{path}")

    @app.get("/vouchers/<token>")
    def voucher(token: str) -> Response:
        return Response(open_voucher(world, token), content_type="text/plain")

    @app.errorhandler(RefusalError)
    def answer_refusal(error: RefusalError) -> Response:
        return _refusal(error)

    @app.errorhandler(HTTPException)
    def answer_unknown(error: HTTPException) -> Response:
        response = _refusal(_to_refusal(error))
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            response.headers["Allow"] = ", ".join(sorted(_methods_at(request.path)))
        return response

    @app.errorhandler(Exception)
    def broken(error: Exception) -> Response:
        app.logger.error("an operation failed", exc_info=error)
        return _refusal(BrokenError(500, "internal_server_error", "Something went wrong in the sandbox itself"))

    @app.before_request
    def count() -> None:
        with world.lock:
            world.requests[_address()] += 1
            g.turn = world.requests[_address()]
        _read_all()

    @app.after_request
    def sign_off(response: Response) -> Response:
        response.headers["Date"] = http_date(world.now())
        with world.lock:
            response.headers["X-Request-Id"] = digest(world.seed, _address(), g.turn).hex()[:32]
            is_due = world.outbox.is_due(world.now())
        if is_due and not request.path.startswith("/_sandbox/"):
            world.postman.wake()
        return response


def _respond(world: World, path: str) -> Response:
    step = find_step(path, request.method)
    if step:
        return step(world)
    route, params = TABLE.bind("").match(path, request.method)
    return _answer(world, ROUTES[route], params)


def _read_all() -> None:
    """Take the whole body in: the connection is kept open for the next request."""
    try:
        request.get_data()
    except OSError:
        raise invalid("json", "body", "sent to its end") from None


def _methods_at(path: str) -> set[str]:
    """Return what may be asked at an address; a word the API itself uses is no id of an object."""
    own = {route.method for route in ROUTES if route.path == path}
    if "GET" in own:
        own.add("HEAD")
    return own or set(TABLE.bind("").allowed_methods(path))


def _address() -> str:
    return f"{request.method} {request.full_path}"


def _answer(world: World, route: Route, params: Mapping[str, str]) -> Response:
    with world.lock:
        mode = world.keys.authenticate(request.headers.get("Authorization"), world.now())
        world.keys.check_address(request.remote_addr)
        call = _read_call(world, mode, params)
        TO_COMMIT.get().extend(world.faults.breakage(call.key, call.path))
        world.faults.check_key(call.key, call.path)
        world.faults.check_rate(call.key, call.path, world.now())
        asked = Asked.read(request, mode)
        known = world.answers.recall(asked, world.now())
        if known:
            return Response(known.body, known.status, content_type=JSON)
        try:
            answer = _operate(route, call)
        except RefusalError as error:
            world.answers.remember(asked, world.now(), error.status, msgspec.json.encode(error.body()))
            raise
        body = msgspec.json.encode(answer.body)
        world.answers.remember(asked, world.now(), answer.status, body)
    return Response(body, answer.status, answer.headers, content_type=JSON)


def _read_call(world: World, mode: str, params: Mapping[str, str]) -> Call:
    return Call(
        world=world,
        mode=mode,
        method=request.method,
        address=request.base_url,
        path=request.path,
        version=request.headers.get(f"{world.header_prefix}-Version", ""),
        params=params,
        query=request.args,
        headers=request.headers,
        turn=g.turn,
    )


def _operate(route: Route, call: Call) -> Answer:
    """Everything that can still turn a known caller away, then the operation."""
    world = call.world
    world.faults.check_server(call.key, call.path)
    world.version = world.faults.choose_version(call.key, call.path) or world.version
    call = replace(call, version=_version(call), body=read_body(request), files=request.files)
    name = f"{world.header_prefix}-JWS-Signature"
    is_wanted = world.scenario.signed_transfers or name in request.headers
    if route.needs_jws or (route.takes_jws and is_wanted):
        world.signatures.check(request.headers.get(name), request.get_data(), name)
    if route.since_version and call.version < route.since_version:
        raise RefusalError(403, "invalid_api_version", f"{route.name} needs API version {route.since_version} or later")
    if call.is_later_page:
        insert_while_paging(world, mode=call.mode, key=call.key, path=call.path)
    answer = route.operation(call)
    return replace(answer, body=present(answer.body, call.version))


def _version(call: Call) -> str:
    version = call.version or call.world.version
    if version not in VERSIONS:
        raise RefusalError(403, "invalid_api_version", f"No such API version; known: {', '.join(VERSIONS)}")
    return version


def _refusal(error: RefusalError) -> Response:
    headers = error.advice if isinstance(error, TooManyError) else {}
    return Response(msgspec.json.encode(error.body()), error.status, headers, content_type=JSON)


def _to_refusal(error: HTTPException) -> RefusalError:
    """Return the provider's word for what the web framework turns away; it knows fewer statuses."""
    if error.code not in {404, 405}:
        return RefusalError(400, "invalid_params", f"{error.name}: the request cannot be read")
    message = f"No operation answers {request.method} at this address"
    allowed = _methods_at(request.path)
    if allowed and request.method not in allowed:
        return RefusalError(405, "operation_not_allowed", message)
    return RefusalError(404, "invalid_url", message)


def insert_while_paging(world: World, *, mode: str, key: str, path: str) -> None:
    """Put a copy of the newest row, under a new id, in front of the list that is being read."""
    name = path.rsplit("/", 1)[-1]
    source = "payment_intents" if name == "events" else name
    if source not in HARMLESS or not world.faults.strikes("insert-while-paging", key, path=path):
        return
    newest = next(world.collection(mode, source).newest_first(), None)
    if newest is None:
        return
    status = {} if HARMLESS[source] is None else {"status": HARMLESS[source]}
    id_ = world.new_id(newest["id"].partition("_")[0])
    copy = {**newest, **status, "id": id_, "created_at": to_iso(world.now())}
    world.keep(source, copy, event="payment_intent.expired" if name == "events" else None)
