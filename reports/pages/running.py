"""Reconcile now: a run that a person starts, how far it is, how to cancel it, and what it changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice

from flask import Blueprint, flash, redirect, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlmodel import Session

from consumer.facts.clock import local_date
from consumer.facts.messages import Message, parse_message, translate
from consumer.facts.tables.jobs import TickState, find_newest, to_shown
from consumer.facts.work import ErrandRefusedError, run_job
from reconcile.runs import comparison
from reconcile.runs.comparison import Change
from reconcile.tables.runs import Run
from reports.access.people import Role
from reports.pages import desk, pending
from reports.pages.protection import available, need
from reports.queries import run_history

blueprint = Blueprint("running", __name__, url_prefix="/reconcile")

_MOST_CHANGES = 200


@dataclass(frozen=True, slots=True)
class Progress:
    """The last run that a person asked for; `step` is where it stands, or how it ended."""

    state: str
    step: str
    run: Run | None = None
    before: Run | None = None
    changes: Sequence[Change] | None = None

    @property
    def is_running(self) -> bool:
        return self.state == TickState.RUNNING


@blueprint.get("/<connection>")
def show(connection: str) -> ResponseReturnValue:
    """Show how far the run is, and once it has ended what it changed."""
    own = desk.find_connection(connection)
    desk.end_dead_work()
    with desk.installation().store.reading() as session:
        progress = find_progress(session, own.name)
    return render_template("running.html", own=own.name, progress=progress, most=_MOST_CHANGES, may_run=may_run(),
                           waiting=pending.pending_now().get(own.name))  # fmt: skip


def find_progress(session: Session, connection: str) -> Progress | None:
    tick = find_newest(session, run_job(connection))
    if tick is None:
        return None
    shown = to_shown(tick, now=desk.now())
    state, step = str(shown["state"]), str(shown["outcome"] or "run.starting")
    ended = parse_message(step)
    if state == TickState.RUNNING or ended is None or "number" not in ended.values:
        return Progress(state, step)
    run, before = (_find_run(session, connection, ended, name) for name in ("number", "before"))
    return Progress(state, step, run, before, _list_changes(session, before, run))


def _find_run(session: Session, connection: str, ended: Message, name: str) -> Run | None:
    return run_history.find_run(session, connection, int(str(ended.values.get(name) or 0)))


def _list_changes(session: Session, before: Run | None, run: Run | None) -> Sequence[Change] | None:
    if before is None or run is None or before.pruned_at or run.pruned_at:
        return None
    comparison.bring_inputs(desk.installation(), before, run)
    files_dir = desk.installation().settings.files_dir
    return list(islice(comparison.diff(session, files_dir, before, run), _MOST_CHANGES + 1))


@blueprint.post("/<connection>")
def start(connection: str) -> ResponseReturnValue:
    """Start a run; who comes second sees the one that runs."""
    need(Role.FINANCE)
    own, reconcile = desk.find_connection(connection), available(available(desk.errands()).reconcile)
    try:
        reconcile(own, _day_of_run(own.name), desk.reader().name)
    except ErrandRefusedError:
        flash(translate("run.runs_already", desk.language()), "done")
    else:
        desk.note("reconcile", own.name)
    return redirect(url_for("running.show", connection=own.name))


def _day_of_run(connection: str) -> date:
    """Return the day of the newest run: a later one has no complete data yet, and would say so."""
    yesterday = local_date(desk.now(), desk.zone_of(connection)) - timedelta(days=1)
    with desk.installation().store.reading() as session:
        return max((run.as_of for run in desk.runs_now(session, [connection])), default=yesterday)


@blueprint.post("/<connection>/cancel")
def cancel(connection: str) -> ResponseReturnValue:
    need(Role.FINANCE)
    own, cancel_run = desk.find_connection(connection), available(available(desk.errands()).cancel)
    if cancel_run(own, desk.reader().name):
        desk.note("cancel", f"reconcile {own.name}")
    else:
        flash(translate("run.over_already", desk.language()), "alert")
    return redirect(url_for("running.show", connection=own.name))


def may_run() -> bool:
    found = desk.errands()
    return found is not None and found.reconcile is not None and desk.reader().role.may(Role.FINANCE)
