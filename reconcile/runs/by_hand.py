"""A run that a person asked for: of what is here, for the day of the last one."""

from datetime import date

from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.facts.work import WorkError
from reconcile.kept import records
from reconcile.rules.pipeline import UnbalancedError
from reconcile.runs.run import Seal, Watch, run


def run_by_hand(installation: Installation, connection: Connection, on: date, watch: Watch, seal: Seal) -> Message:
    """Reconcile everything, and return which run says so and which it follows."""
    with installation.store.reading() as session:
        before = records.last_run(session, connection.name, today=on)
    try:
        outcome = run(installation, connection, as_of=on, watch=watch, seal=seal)
    except UnbalancedError as problem:
        raise WorkError(str(problem)) from None
    if before is None:
        return Message("run.first", {"number": outcome.number})
    if not outcome.is_new and before.number == outcome.number:
        return Message("run.unchanged", {"number": outcome.number})
    return Message("run.finished", {"number": outcome.number, "before": before.number})
