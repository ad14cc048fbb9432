"""Logging in and out, the language of the pages, and the first admin's one-time link."""

import math
from contextlib import suppress

import sqlalchemy as sa
from flask import Blueprint, abort, current_app, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue
from flask_login import login_user, logout_user
from werkzeug.wrappers import Response

from consumer.facts.messages import LANGUAGES
from reports import attempts, keys
from reports.keys import InvitationOverError
from reports.pages import desk
from reports.pages.desk import BadQueryError, Person
from reports.pages.words import refusal
from reports.people import LoginRefusedError, PeopleError, Role, SlowedError, Visitor, login, note
from reports.tables import User

blueprint = Blueprint("login", __name__)
_DEVICE = "device"
_LONGEST_KEY = 100


@blueprint.get("/login")
def form() -> ResponseReturnValue:
    return render_template("login.html", failed=None, next=request.args.get("next", ""))


@blueprint.post("/login")
def enter() -> ResponseReturnValue:
    email, password = request.form.get("email", ""), request.form.get("password", "")
    target = request.form.get("next", "")
    visitor = Visitor(desk.address(), request.cookies.get(_DEVICE, "")[:_LONGEST_KEY])
    try:
        user = login(desk.installation().store, email, password, now=desk.now(), visitor=visitor)
    except SlowedError as error:
        wait = error.until - desk.now()
        seconds = max(1, math.ceil(wait.total_seconds()))
        page = render_template("login.html", failed="login.slowed", wait=seconds, next=target, email=email)
        return page, 429, {"Retry-After": str(seconds)}
    except LoginRefusedError:
        return render_template("login.html", failed="login.failed", next=target, email=email), 401
    _open(user)
    return _remember(user, redirect(_own_address(target) or url_for("today.show")))


def _remember(user: User, answer: Response) -> Response:
    """Let this browser be known to its person from here on, for half a year after its last login."""
    assert user.id is not None
    key = request.cookies.get(_DEVICE, "")[:_LONGEST_KEY] or attempts.new_device()
    with desk.installation().store.transaction() as opened:
        attempts.remember_device(opened, key, user.id, now=desk.now())
    is_secure = current_app.session_interface.get_cookie_secure(current_app)
    lasts = int(attempts.DEVICE_LASTS.total_seconds())
    answer.set_cookie(_DEVICE, key, max_age=lasts, secure=is_secure, httponly=True, samesite="Lax", path="/login")
    return answer


def _open(user: User) -> None:
    """Begin a session under a new key; the browser's own is never taken over."""
    language = session.get("language")
    session.clear()
    session.permanent = True
    if language:
        session["language"] = language
    key = keys.open_session(desk.installation().store, user, now=desk.now())
    login_user(Person(id=key, name=user.email, role=Role(user.role)))


@blueprint.get("/welcome/<key>")
def welcome(key: str) -> ResponseReturnValue:
    """Ask for the first admin's address and password; a link that is over leads nowhere."""
    if not keys.is_invitation_open(desk.installation().store, key, now=desk.now()):
        abort(404)
    return render_template("welcome.html", key=key, refusal=None)


@blueprint.post("/welcome/<key>")
def accept(key: str) -> ResponseReturnValue:
    email, password = request.form.get("email", ""), request.form.get("password", "")
    try:
        user = keys.accept_invitation(desk.installation().store, key, email, password, now=desk.now())
    except InvitationOverError:
        abort(404)
    except PeopleError as error:
        return render_template(
            "welcome.html", key=key, refusal=refusal(error.message, desk.language()), email=email
        ), 400
    note(desk.installation().store, user.email, "first admin", "login", now=desk.now(), address=desk.address())
    _open(user)
    return redirect(url_for("today.show"))


def _own_address(target: str) -> str | None:
    """Go back only to an address of this site; two slashes of either kind at the front lead elsewhere."""
    is_own = target.startswith("/") and not target.startswith(("//", "/\\")) and not any(c < " " for c in target)
    return target if is_own else None


@blueprint.post("/logout")
def leave() -> ResponseReturnValue:
    """End the session on the server: a copy of the cookie is refused from here on, even if that cannot be written."""
    with suppress(sa.exc.OperationalError, sa.exc.InternalError):
        keys.end_session(desk.installation().store, desk.reader().id, now=desk.now())
    desk.note("logout", "login")
    logout_user()
    session.clear()
    return redirect(url_for("login.form"))


@blueprint.post("/language")
def speak() -> ResponseReturnValue:
    language = request.form.get("language", "")
    if language not in LANGUAGES:
        raise BadQueryError("pages.not_one_of", name="language", value=language, known=", ".join(LANGUAGES))
    session["language"] = language
    return redirect(_own_address(request.form.get("next", "")) or url_for("today.show"))
