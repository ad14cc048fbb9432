"""The page of alarms: what stands, who has it in hand, the last messages and a button that sends one."""

from flask import Blueprint, flash, redirect, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session, col, select

from consumer.facts.alarms import AlarmDesk
from consumer.facts.messages import translate
from consumer.facts.tables.alarms import AlarmMessage
from consumer.facts.work import WorkError
from reports.access.people import Role
from reports.pages import desk, operations
from reports.pages.desk import BadQueryError
from reports.pages.protection import available, need

blueprint = Blueprint("alarms", __name__, url_prefix="/alarms")
_MESSAGES = 20


@blueprint.get("")
def show() -> ResponseReturnValue:
    need(Role.FINANCE)
    own, tabs = _find_desk(), operations.list_tabs()
    with desk.installation().store.reading() as session:
        shown, messages = own.list_standing(session, desk.language()) if own else (), _messages(session)
    channels = own.channels if own else ()
    return render_template("alarms.html", shown=shown, messages=messages, channels=channels, listings=tabs)


def _messages(session: Session) -> list[AlarmMessage]:
    return list(session.exec(select(AlarmMessage).order_by(col(AlarmMessage.id).desc()).limit(_MESSAGES)))


@blueprint.post("/acknowledge")
def acknowledge() -> ResponseReturnValue:
    """Keep an alarm from being sent again until it is over."""
    need(Role.FINANCE)
    connection, cause = desk.form_text("connection"), desk.form_text("cause")
    try:
        available(_find_desk()).acknowledge(connection, cause, desk.reader().name)
    except WorkError:
        raise BadQueryError("pages.alarm_over") from None
    desk.note("acknowledge", f"alarm {connection} {cause}")
    return redirect(url_for("alarms.show"))


@blueprint.post("/test")
def test() -> ResponseReturnValue:
    """Store a message for each channel; a worker sends it within a minute."""
    need(Role.FINANCE)
    own = available(_find_desk())
    own.send_test()
    desk.note("test alarms", ", ".join(own.channels))
    flash(translate("done.alarms_tested", desk.language(), n=len(own.channels)))
    return redirect(url_for("alarms.show"))


def _find_desk() -> AlarmDesk | None:
    """Return what may be asked of alarms; None where the pages stand alone."""
    errands = desk.errands()
    return None if errands is None else errands.alarms
