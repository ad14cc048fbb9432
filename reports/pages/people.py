"""Who may look and who did what: people, tokens and the trail, for admins."""

import sqlalchemy as sa
from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue
from sqlmodel import col

from reports.pages import desk
from reports.pages.protection import need
from reports.people import Role
from reports.tables import AuditEntry, Token, User

blueprint = Blueprint("people", __name__, url_prefix="/people")

_NEWEST = 200


@blueprint.get("")
def show() -> ResponseReturnValue:
    need(Role.ADMIN)
    with desk.house().store.reading() as session:
        users = session.scalars(sa.select(User).order_by(col(User.email))).all()
        tokens = session.scalars(sa.select(Token).order_by(col(Token.name))).all()
        trail = session.scalars(sa.select(AuditEntry).order_by(col(AuditEntry.id).desc()).limit(_NEWEST)).all()
    return render_template("people.html", users=users, tokens=tokens, trail=trail)
