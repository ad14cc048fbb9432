"""A person's own page: password, second factor, recovery codes, and where they are logged in."""

from collections.abc import Sequence

import segno
from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup
from sqlmodel import Session

from consumer.facts.messages import Message, translate
from reports.access import people, second_factor, sessions
from reports.access.people import LoginRefusedError, PeopleError, SlowedError, Visitor
from reports.access.second_factor import FactorError
from reports.pages import desk, login
from reports.pages.words import refusal
from reports.tables import User

blueprint = Blueprint("account", __name__, url_prefix="/account")


@blueprint.get("")
def show() -> ResponseReturnValue:
    return _show()


@blueprint.post("/password")
def change_password() -> ResponseReturnValue:
    """Take the password there was and the new one, end every session, and begin another here."""
    proven = _prove()
    password_hash = people.hash_password(request.form.get("new_password", ""))
    with desk.installation().store.transaction() as session:
        user = people.hold(session, proven)
        people.set_password(session, user, password_hash, now=desk.now())
    login.open_session(user)
    return _done("change password", "done.own_password")


@blueprint.post("/second-factor")
def begin() -> ResponseReturnValue:
    """Make a secret for the device, which counts once a code of it was given."""
    proven = _prove()
    with desk.installation().store.transaction() as session:
        user = people.hold(session, proven)
        second_factor.begin(session, desk.installation().settings, people.id_of(user), now=desk.now())
    return redirect(url_for("account.show", _anchor="second-factor"))


@blueprint.post("/second-factor/confirm")
def confirm() -> ResponseReturnValue:
    """Turn the second factor on with the first code, end other sessions, and show the recovery codes."""
    code = request.form.get("code", "")
    with desk.installation().store.transaction() as session:
        user = _own(session)
        codes = second_factor.confirm(session, desk.installation().settings, people.id_of(user), code, now=desk.now())
        sessions.end_sessions(session, user, now=desk.now(), spare=desk.reader().id)
    desk.note("second factor on", "login")
    return _show(codes=codes)


@blueprint.post("/second-factor/off")
def turn_off() -> ResponseReturnValue:
    proven = _prove()
    with desk.installation().store.transaction() as session:
        second_factor.turn_off(session, people.id_of(people.hold(session, proven)))
    return _done("second factor off", "done.factor_off")


@blueprint.post("/recovery-codes")
def renew_codes() -> ResponseReturnValue:
    """Show ten new recovery codes; those there were end."""
    proven = _prove()
    with desk.installation().store.transaction() as session:
        codes = second_factor.renew_recovery_codes(session, people.id_of(people.hold(session, proven)))
    desk.note("recovery codes", "login")
    return _show(codes=codes)


@blueprint.post("/sessions")
def end_sessions() -> ResponseReturnValue:
    """End one session of this person, or all but this one."""
    handle = request.form.get("session", "")
    with desk.installation().store.transaction() as session:
        sessions.end_sessions(session, _own(session), now=desk.now(), handle=handle, spare=desk.reader().id)
    return _done("end sessions", "done.sessions")


@blueprint.errorhandler(PeopleError)
@blueprint.errorhandler(FactorError)
def _refuse(error: PeopleError | FactorError) -> ResponseReturnValue:
    return _show(refused=error.message), 400


@blueprint.errorhandler(LoginRefusedError)
def _refuse_password(error: LoginRefusedError) -> ResponseReturnValue:
    if isinstance(error, SlowedError):
        return login.say_slowed(error, "account.html", **_content())
    return _show(refused=Message("people.own_password_wrong")), 400


def _prove() -> User:
    """Return the reader if the form holds their password; a wrong one counts as a failed login."""
    name, password = desk.reader().name, request.form.get("password", "")
    origin = Visitor(desk.address())
    return people.login(desk.installation().store, name, password, now=desk.now(), visitor=origin, purpose="password")


def _own(session: Session) -> User:
    return people.require_user(session, desk.reader().name)


def _done(action: str, sentence: str) -> ResponseReturnValue:
    desk.note(action, "login")
    flash(translate(sentence, desk.language()), "done")
    return redirect(url_for("account.show"))


def _show(*, codes: Sequence[str] = (), refused: Message | None = None) -> str:
    said = refusal(refused, desk.language()) if refused else None
    return render_template("account.html", refused=said, codes=codes, **_content())


def _content() -> dict[str, object]:
    settings = desk.installation().settings
    with desk.installation().store.reading() as session:
        user = _own(session)
        user_id = people.id_of(user)
        secret = second_factor.find_begun(session, settings, user_id)
        return {
            "secret": secret,
            "picture": _draw(second_factor.address_of(secret, user.email)) if secret else None,
            "has_factor": second_factor.is_on(session, user_id),
            "codes_left": second_factor.count_recovery_codes(session, user_id),
            "open_sessions": [row for row, _ in sessions.open_sessions(session, user, now=desk.now())],
            "here": sessions.digest(desk.reader().id),
            "handle_of": sessions.handle_of,
        }


def _draw(text: str) -> Markup:
    """Draw text as a picture that a phone reads; its colours stand in the style sheet."""
    drawn = segno.make(text, error="m").svg_inline(svgclass="qr", lineclass="ink", omitsize=True, border=4)
    return Markup(drawn)  # noqa: S704 - made here of modules alone
