"""Who sees which connections, for admins: one form for each person."""

import sqlalchemy as sa
from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import col

from consumer.facts.messages import translate
from reports.access.people import PeopleError, Role, require_user
from reports.access.visibility import limit, to_limit
from reports.pages import desk
from reports.pages.desk import BadQueryError
from reports.pages.protection import need
from reports.tables import User

blueprint = Blueprint("visibility", __name__, url_prefix="/people/connections")


@blueprint.get("")
def show() -> ResponseReturnValue:
    need(Role.ADMIN)
    with desk.installation().store.reading() as session:
        users = session.scalars(sa.select(User).where(col(User.disabled_at).is_(None)).order_by(col(User.email))).all()
    return render_template("visibility.html", seen=[(user, to_limit(user)) for user in users])


@blueprint.post("")
def change() -> ResponseReturnValue:
    """Let a person see the connections that are ticked, or all of them and those to come."""
    need(Role.ADMIN)
    known = [own.name for own in desk.visible_connections()]
    names = None if request.form.get("every") == "yes" else request.form.getlist("name")[: len(known)]
    try:
        with desk.installation().store.transaction() as session:
            user = require_user(session, request.form.get("email", ""))
            limit(session, user, names, known=known)
    except PeopleError as error:
        raise BadQueryError(error.message) from None
    desk.note("connections", f"{user.email}: {'all' if names is None else user.connections or 'none'}")
    flash(translate("done.visibility", desk.language(), email=user.email), "done")
    return redirect(url_for("visibility.show"))
