"""Logging in and out, with a second factor where a person has one, links to a first login, and the language."""

import math
from contextlib import suppress
from datetime import datetime, timedelta

import sqlalchemy as sa
from flask import Blueprint, abort, current_app, flash, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue
from flask_login import login_user, logout_user
from werkzeug.wrappers import Response

from consumer.facts.messages import LANGUAGES, translate
from reports.access import attempts, keys, second_factor, sessions
from reports.access.keys import Link, LinkOverError
from reports.access.people import LoginRefusedError, PeopleError, Role, SlowedError, Visitor, finish_login, login, note
from reports.alarms import BREAK_GLASS
from reports.pages import desk
from reports.pages.desk import BadQueryError, Person
from reports.pages.words import refusal
from reports.tables import User

blueprint = Blueprint("login", __name__)
_DEVICE = "device"
_LONGEST_KEY = 100
# Who gave the right password has this long to give a code.
_HALF, _HALF_LASTS = "half", timedelta(minutes=5)


@blueprint.get("/login")
def form() -> ResponseReturnValue:
    return render_template("login.html", failed=None, next=request.args.get("next", ""))


@blueprint.post("/login")
def enter() -> ResponseReturnValue:
    email, password = request.form.get("email", ""), request.form.get("password", "")
    target = request.form.get("next", "")
    try:
        user = login(desk.installation().store, email, password, now=desk.now(), visitor=visitor())
    except SlowedError as error:
        return say_slowed(error, "login.html", next=target, email=email)
    except LoginRefusedError:
        return render_template("login.html", failed="login.failed", next=target, email=email), 401
    assert user.id is not None
    with desk.installation().store.reading() as opened:
        is_half = second_factor.is_on(opened, user.id)
    if not is_half:
        return _come_in(user, target)
    session[_HALF] = [user.id, sessions.digest(user.password_hash), (desk.now() + _HALF_LASTS).isoformat(), target]
    return redirect(url_for("login.ask_code"))


@blueprint.get("/login/code")
def ask_code() -> ResponseReturnValue:
    """Ask who gave the right password for the code of their device."""
    return redirect(url_for("login.form")) if _half() is None else render_template("code.html", failed=None)


@blueprint.post("/login/code")
def give_code() -> ResponseReturnValue:
    half = _half()
    if half is None:
        return render_template("login.html", failed="login.too_late", next=""), 401
    user, target = half
    try:
        code = request.form.get("code", "")
        finish_login(desk.installation(), user, code, now=desk.now(), visitor=visitor())
    except SlowedError as error:
        return say_slowed(error, "code.html")
    except LoginRefusedError:
        return render_template("code.html", failed="login.code_failed"), 401
    return _come_in(user, target)


def _half() -> tuple[User, str] | None:
    """Return who gave the right password a moment ago, and where they want to go."""
    person_id, password_sha256, until, target = session.get(_HALF) or (0, "", "", "")
    if not until or datetime.fromisoformat(until) <= desk.now():
        return None
    with desk.installation().store.reading() as opened:
        user = opened.get(User, person_id)
    is_same = user is not None and user.disabled_at is None and sessions.digest(user.password_hash) == password_sha256
    return (user, target) if user is not None and is_same else None


def visitor() -> Visitor:
    return Visitor(desk.address(), request.cookies.get(_DEVICE, "")[:_LONGEST_KEY])


def say_slowed(error: SlowedError, template: str, **values: object) -> ResponseReturnValue:
    """Answer who has to wait with how long."""
    seconds = max(1, math.ceil((error.until - desk.now()).total_seconds()))
    page = render_template(template, failed="login.slowed", wait=seconds, **values)
    return page, 429, {"Retry-After": str(seconds)}


def _come_in(user: User, target: str) -> ResponseReturnValue:
    open_session(user)
    if desk.installation().settings.oidc_issuer:
        # Whoever the provider shut out may still know a password: it is the way in of an emergency.
        desk.log.warning("a password was used past the identity provider", who=user.email, address=desk.address())
        note(desk.installation().store, user.email, BREAK_GLASS, "login", now=desk.now(), address=desk.address())
    return _remember(user, redirect(own_address(target) or url_for("today.show")))


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


def open_session(user: User) -> None:
    """Begin a session under a new key; the browser's own is never taken over."""
    language = session.get("language")
    session.clear()
    session.permanent = True
    if language:
        session["language"] = language
    key = sessions.open_session(desk.installation().store, user, now=desk.now(), address=desk.address())
    login_user(Person(id=key, name=user.email, role=Role(user.role), person_id=user.id))


@blueprint.get("/welcome/<key>")
def welcome(key: str) -> ResponseReturnValue:
    """Ask for a password, and the first admin for an address too; a link that is over leads nowhere."""
    return _show_welcome(key, _open_link(key))


@blueprint.post("/welcome/<key>")
def accept(key: str) -> ResponseReturnValue:
    link = _open_link(key)
    email, password = request.form.get("email", ""), request.form.get("password", "")
    store = desk.installation().store
    try:
        if link.user is None:
            user = keys.accept_first_link(store, key, email, password, now=desk.now())
        else:
            user = keys.accept_link(store, key, password, now=desk.now())
    except LinkOverError:
        abort(404)
    except PeopleError as error:
        return _show_welcome(key, link, refusal=refusal(error.message, desk.language()), email=email), 400
    action = "first admin" if link.user is None else "password by link"
    note(store, user.email, action, "login", now=desk.now(), address=desk.address())
    if link.user is None:
        open_session(user)
        return redirect(url_for("today.show"))
    # Not straight in: who has a second factor gives a code.
    flash(translate("done.password", desk.language()), "done")
    return redirect(url_for("login.form"))


def _open_link(key: str) -> Link:
    link = keys.find_link(desk.installation().store, key, now=desk.now())
    return abort(404) if link is None else link


def _show_welcome(key: str, link: Link, **values: object) -> str:
    return render_template("welcome.html", key=key, user=link.user, **values)


def own_address(target: str) -> str | None:
    """Go back only to an address of this site; two slashes of either kind at the front lead elsewhere."""
    is_own = target.startswith("/") and not target.startswith(("//", "/\\")) and not any(c < " " for c in target)
    return target if is_own else None


@blueprint.post("/logout")
def leave() -> ResponseReturnValue:
    """End the session on the server: a copy of the cookie is refused from here on, even if that cannot be written."""
    with suppress(sa.exc.OperationalError, sa.exc.InternalError):
        sessions.end_session(desk.installation().store, desk.reader().id, now=desk.now())
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
    return redirect(own_address(request.form.get("next", "")) or url_for("today.show"))
