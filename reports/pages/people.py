"""Who may look, for admins: people with their roles, sessions and second factors, and the tokens of programs."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import sqlalchemy as sa
from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session, col

from consumer.facts.clock import day_start
from consumer.facts.messages import translate
from reports.access import attempts, keys, people, second_factor, sessions
from reports.access.keys import Scope
from reports.access.people import PeopleError, Role
from reports.pages import desk
from reports.pages.desk import BadQueryError
from reports.pages.protection import need
from reports.pages.words import refusal
from reports.tables import Token, User

blueprint = Blueprint("people", __name__, url_prefix="/people")


@blueprint.before_request
def _admins_alone() -> None:
    need(Role.ADMIN)


@blueprint.get("")
def show() -> ResponseReturnValue:
    return _show()


def _show(**values: object) -> str:
    now = desk.now()
    with desk.installation().store.reading() as session:
        users = session.scalars(sa.select(User).order_by(col(User.email))).all()
        tokens = session.scalars(sa.select(Token).order_by(col(Token.name))).all()
        waits = attempts.waits_of_accounts(session, now=now)
        with_factor = second_factor.people_with_one(session)
    slowed = {user.email: waits[key] for user in users if (key := attempts.account_of(user.email)) in waits}
    return render_template(
        "people.html",
        users=users,
        state_of=people.state_of_user,
        slowed=slowed,
        with_factor=with_factor,
        tokens=[(token, keys.state_of_token(token, now=now)) for token in tokens],
        roles=list(Role),
        scopes=list(Scope),
        **values,
    )


@blueprint.get("/<int(max=2147483647):number>")
def person(number: int) -> ResponseReturnValue:
    return _show_person(number)


def _show_person(number: int, **values: object) -> str:
    now = desk.now()
    with desk.installation().store.reading() as session:
        user = session.get(User, number) or abort(404)
        return render_template(
            "person.html",
            user=user,
            state=people.state_of_user(user),
            roles=list(Role),
            slowed=attempts.waits_of_accounts(session, now=now).get(attempts.account_of(user.email)),
            has_factor=second_factor.is_on(session, number),
            open_sessions=[row for row, _ in sessions.open_sessions(session, user, now=now)],
            here=sessions.digest(desk.reader().id),
            handle_of=sessions.handle_of,
            **values,
        )


@blueprint.post("")
def invite() -> ResponseReturnValue:
    """Add a person and show the link by which they choose a password."""
    email, role = desk.form_text("email"), _role()
    try:
        with desk.installation().store.transaction() as session:
            user = people.invite_user(session, email, role, now=desk.now())
            key = keys.make_link(session, user, now=desk.now())
    except PeopleError as error:
        return _show(refused=refusal(error.message, desk.language()), email=email, role=role), 400
    desk.note("invite", f"{user.email} {user.role}")
    return _show_person(people.id_of(user), link=_address_of(key))


def _address_of(key: str) -> str:
    own = desk.installation().settings.public_url
    path = url_for("login.welcome", key=key)
    return own + path if own else request.url_root.rstrip("/") + path


def _role() -> Role:
    given = request.form.get("role", "")
    if given not in set(Role):
        raise BadQueryError("pages.not_one_of", name="role", value=given[:20], known=", ".join(Role))
    return Role(given)


def _change_role(session: Session, user: User, now: datetime) -> None:
    people.change_role(session, user, _role(), now=now)


def _end_sessions(session: Session, user: User, now: datetime) -> None:
    handle = request.form.get("session", "")
    sessions.end_sessions(session, user, now=now, handle=handle)


def _reset_password(session: Session, user: User, now: datetime) -> str:
    return _address_of(keys.make_link(session, user, now=now))


Change = Callable[[Session, User, datetime], str | None]
CHANGES: Mapping[str, Change] = {
    **people.CHANGES,
    "role": _change_role,
    "end-sessions": _end_sessions,
    "link": _reset_password,
}


@blueprint.post("/<int(max=2147483647):number>/<change>")
def change(number: int, change: str) -> ResponseReturnValue:
    """Change one thing of a person, or say why it is refused; a link is shown, once."""
    if change not in CHANGES:
        abort(404)
    try:
        with desk.installation().store.transaction() as session:
            user = session.get(User, number) or abort(404)
            link = CHANGES[change](session, user, desk.now())
    except PeopleError as error:
        return _show_person(number, refused=refusal(error.message, desk.language())), 400
    desk.note(change, f"{user.email} {user.role}" if change == "role" else user.email)
    if link is not None:
        return _show_person(number, link=link)
    flash(translate(f"done.{change}", desk.language()), "done")
    # Who ended their own session or role sees the login, or that this page is not for them.
    return redirect(url_for("people.person", number=number))


@blueprint.post("/tokens")
def create_token() -> ResponseReturnValue:
    """Make a token and show it, once."""
    name, role, scopes = desk.form_text("name"), _role(), request.form.getlist("scope")
    until = request.form.get("expires", "")
    try:
        with desk.installation().store.transaction() as session:
            token = keys.create_token(
                session, name, role, now=desk.now(), scopes=[scope for scope in Scope if scope in scopes],
                expires_at=_end_of(until),
            )  # fmt: skip
    except PeopleError as error:
        given = {"token_name": name, "token_role": role, "token_scopes": scopes, "token_expires": until}
        return _show(token_refused=refusal(error.message, desk.language()), **given), 400
    desk.note("token", name)
    return _show(token=token, token_name=name)


def _end_of(text: str) -> datetime | None:
    """Return the end of the day that a form names, in the zone of the first connection."""
    try:
        on = desk.to_day("expires", text)
    except BadQueryError as error:
        raise PeopleError(error.message) from None
    return None if on is None else day_start(on + timedelta(days=1), desk.home_connection().country.zone)


@blueprint.post("/tokens/<int(max=2147483647):number>")
def revoke_token(number: int) -> ResponseReturnValue:
    """End a token at once."""
    with desk.installation().store.transaction() as session:
        token = session.get(Token, number) or abort(404)
        keys.revoke_token(session, token.name, now=desk.now())
    desk.note("revoke token", token.name)
    return redirect(url_for("people.show"))
