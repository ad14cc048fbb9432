"""Who may see a page: login on every route that is not named as open, roles, and security headers on every answer."""

from collections.abc import Collection, Sequence
from typing import TypeVar

from flask import Flask, Request, Response, abort, redirect, request, url_for
from flask.sessions import SecureCookieSessionInterface
from flask.typing import ResponseReturnValue
from flask_login import LoginManager, current_user
from flask_wtf import CSRFProtect

from consumer.facts.addresses import Network, is_secure
from consumer.facts.messages import Message
from consumer.facts.store import Store
from reports.access.keys import Scope, find_token
from reports.access.people import Role
from reports.access.sessions import SESSION_LASTS, user_of_session
from reports.access.visibility import to_limit
from reports.pages import desk
from reports.pages.desk import BadQueryError, Person, check_run

OPEN = frozenset({
    "login.form", "login.enter", "login.ask_code", "login.give_code", "login.speak", "login.welcome", "login.accept",
    "oidc.begin", "oidc.finish", "static", "pages.static",
})  # fmt: skip
Offered = TypeVar("Offered")
# What a machine's token may open, by blueprint, and the scope it needs there.
_FOR_MACHINES = {"downloads": Scope.REPORTS, "lists": Scope.REPORTS, "api": Scope.API, "deliveries": Scope.BOOKS}
# Pages on which all connections stand together, for who sees them all.
_OF_THE_WHOLE = {"alarms"}
_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
}

_csrf = CSRFProtect()


def protect(app: Flask, public: Collection[str]) -> None:
    """Shut every route but those named open here and the endpoints or blueprints the caller answers for."""
    app.config.update(
        WTF_CSRF_CHECK_DEFAULT=False,  # the receiver's POST carries a signature instead
        WTF_CSRF_TIME_LIMIT=None,  # as long as the session
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=SESSION_LASTS,
    )
    _csrf.init_app(app)
    _login_manager().init_app(app)

    @app.before_request
    def _guard() -> ResponseReturnValue | None:
        if request.endpoint and is_public(request.endpoint, public):
            return None
        _check_address()
        return _refuse_strangers() if request.endpoint else None

    @app.before_request
    def _check() -> None:
        if request.endpoint and not is_public(request.endpoint, public):
            _check_request()

    @app.before_request
    def _check_form() -> None:
        # A token is sent by a program that chose to; a cookie goes along with any form.
        is_person = request.endpoint and not is_public(request.endpoint, public) and not _is_machine()
        if request.method == "POST" and is_person:
            _csrf.protect()

    @app.after_request
    def _headers(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if request.endpoint and request.endpoint.endswith("static"):
            response.headers["Cache-Control"] = "public, max-age=3600"
        else:
            response.headers.setdefault("Cache-Control", "no-store")
        return response


class Sessions(SecureCookieSessionInterface):
    """Cookies for encrypted connections alone, if the reader's own is one."""

    def __init__(self, trusted: Sequence[Network]) -> None:
        self._trusted = trusted

    def get_cookie_secure(self, app: Flask) -> bool:
        return super().get_cookie_secure(app) or is_secure(request.environ, self._trusted)


def is_public(endpoint: str, public: Collection[str]) -> bool:
    return endpoint in public or endpoint.partition(".")[0] in public


def _refuse_strangers() -> ResponseReturnValue | None:
    if request.endpoint in OPEN:
        return None
    if not current_user.is_authenticated:
        if request.url_rule is None:
            # No such page, or none that takes this method: a login would lead nowhere.
            return None
        is_program = "Authorization" in request.headers or "session" not in request.cookies
        if request.blueprint in _FOR_MACHINES and is_program:
            return Response("a login or a valid token is needed\n", 401, {"WWW-Authenticate": "Bearer"}, "text/plain")
        wanted = request.full_path.rstrip("?") if request.method == "GET" else None
        return redirect(url_for("login.form", next=wanted if wanted != "/" else None))
    if current_user.is_machine:
        _check_scope(desk.reader())
    if request.blueprint in _OF_THE_WHOLE and desk.reader().limit is not None:
        abort(403)
    if request.blueprint not in {"login", "account"} and not desk.visible_connections():
        abort(403, Message("pages.sees_nothing"))
    return None


def _is_machine() -> bool:
    return bool(current_user.is_authenticated and current_user.is_machine)


def _check_scope(machine: Person) -> None:
    scope = _FOR_MACHINES.get(request.blueprint or "")
    if scope is None:
        abort(403)
    if scope not in machine.scopes:
        abort(403, f"{machine.name} has no scope {scope}")


def _check_request() -> None:
    if _has_nul(request):
        raise BadQueryError("pages.nul_character")
    if "run" in request.args:
        check_run()


def _has_nul(asked: Request) -> bool:
    """Say whether any text of the request holds the one character that PostgreSQL cannot compare or store."""
    texts = [text for values in (asked.args, asked.form) for pair in values.items(multi=True) for text in pair]
    return any("\0" in str(text) for text in (*texts, *(asked.view_args or {}).values()))


def _check_address() -> None:
    """Refuse bytes that are no text; the framework fails on them each time it reads the address."""
    try:
        request.query_string.decode()
    except UnicodeDecodeError:
        request.query_string = b""
        raise BadQueryError("pages.not_text") from None


def need(role: Role) -> None:
    """Refuse a reader whose role does not reach this far."""
    if not desk.reader().role.may(role):
        abort(403)


def available(found: Offered | None) -> Offered:
    """Return what only a worker beside the pages offers; refuse where they stand alone."""
    return abort(404, Message("pages.no_worker_here")) if found is None else found


def _login_manager() -> LoginManager:
    manager = LoginManager()
    manager.session_protection = None  # a proxy changes addresses; the session is signed and short
    manager.user_loader(_person)
    manager.request_loader(_machine)
    return manager


def _person(key: str) -> Person | None:
    user = user_of_session(desk.installation().store, key, now=desk.now())
    if user is None:
        return None
    return Person(id=key, name=user.email, role=Role(user.role), limit=to_limit(user), person_id=user.id)


def _machine(incoming: Request) -> Person | None:
    return find_machine(desk.installation().store, incoming.headers.get("Authorization", ""))


def find_machine(store: Store, authorization: str) -> Person | None:
    """Find whom a bearer token belongs to."""
    scheme, _, token = authorization.partition(" ")
    row = find_token(store, token.strip(), now=desk.now()) if scheme.lower() == "bearer" and token.strip() else None
    if row is None:
        return None
    scopes = frozenset(Scope(word) for word in row.scopes.split())
    role, limit = Role(row.role), to_limit(row)
    return Person(id=row.name, name=f"token {row.name}", role=role, is_machine=True, scopes=scopes, limit=limit)
