"""Who may look: people and tokens, for admins."""

import sqlalchemy as sa
from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue
from sqlmodel import col

from reports.pages import desk
from reports.pages.protection import need
from reports.people import Role
from reports.tables import Token, User

blueprint = Blueprint("people", __name__, url_prefix="/people")


@blueprint.get("")
def show() -> ResponseReturnValue:
    need(Role.ADMIN)
    with desk.installation().store.reading() as session:
        users = session.scalars(sa.select(User).order_by(col(User.email))).all()
        tokens = session.scalars(sa.select(Token).order_by(col(Token.name))).all()
    return render_template("people.html", users=users, tokens=tokens)
