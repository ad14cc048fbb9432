"""The door: log in, log out, choose a language."""

from flask import Blueprint, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue
from flask_login import login_user, logout_user

from reports.columns import LANGUAGES
from reports.pages import desk
from reports.pages.desk import BadQueryError, Person
from reports.people import LoginRefusedError, Role, fingerprint, login, note

blueprint = Blueprint("login", __name__)


@blueprint.get("/login")
def form() -> ResponseReturnValue:
    return render_template("login.html", failed=False, next=request.args.get("next", ""))


@blueprint.post("/login")
def enter() -> ResponseReturnValue:
    email, password = request.form.get("email", ""), request.form.get("password", "")
    target = request.form.get("next", "")
    try:
        user = login(desk.house().store, email, password, now=desk.now())
    except LoginRefusedError:
        return render_template("login.html", failed=True, next=target, email=email), 401
    language = session.get("language")
    session.clear()
    session.permanent = True
    if language:
        session["language"] = language
    login_user(Person(id=fingerprint(user), name=user.email, role=Role(user.role)))
    return redirect(_own_address(target) or url_for("today.show"))


def _own_address(target: str) -> str | None:
    """Go back only to an address of this site; two slashes of either kind at the front lead elsewhere."""
    is_own = target.startswith("/") and not target.startswith(("//", "/\\")) and not any(c < " " for c in target)
    return target if is_own else None


@blueprint.post("/logout")
def leave() -> ResponseReturnValue:
    note(desk.house().store, desk.reader().name, "logout", "login", now=desk.now())
    logout_user()
    session.clear()
    return redirect(url_for("login.form"))


@blueprint.post("/language")
def speak() -> ResponseReturnValue:
    language = request.form.get("language", "")
    if language not in LANGUAGES:
        raise BadQueryError(f"language: {language!r} is not one of {', '.join(LANGUAGES)}")
    session["language"] = language
    return redirect(_own_address(request.form.get("next", "")) or url_for("today.show"))
