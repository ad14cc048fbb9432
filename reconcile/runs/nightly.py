"""The night's work on one connection, step by step; the steps themselves come from `app.py`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from typing import Protocol

import sqlalchemy as sa

from consumer.facts import shared_files
from consumer.facts.clock import day_start, utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.tables.sync import Checkpoint
from consumer.facts.tables.types import core_of
from consumer.facts.work import Completion, WorkError
from reconcile.desk import payers
from reconcile.kept import snapshots
from reconcile.kept.records import find_run
from reconcile.kept.retention import drop_inputs, prune
from reconcile.reading.gaps import clock_of_provider
from reconcile.rules.pipeline import UnbalancedError
from reconcile.runs.cluster import ClusterRules
from reconcile.runs.run import RunOutcome, run


class StepOutcome(Protocol):
    """What a step of another room answers: its lines for people and its exit status."""

    @property
    def status(self) -> Completion: ...

    @property
    def lines(self) -> list[str]: ...


Step = Callable[[Connection], StepOutcome]
DatedStep = Callable[[Connection, date], StepOutcome]

# What a failed step means for the night, best first.
_ORDER = (Completion.DONE, Completion.PARTLY_DONE, Completion.NOTHING_DONE, Completion.MISUSED)


@dataclass(frozen=True, slots=True)
class Steps:
    """The rooms nightly may not import, as callables."""

    disk: DatedStep
    backfill: Step
    pull: Step
    drift: Step
    report: DatedStep
    orders: DatedStep | None = None
    # Returns a line for people where it failed; the night goes on without it.
    search: Callable[[Connection], str] | None = None


@dataclass(slots=True)
class NightlyOutcome:
    """One night of one connection."""

    connection: str
    on: date
    lines: list[str] = field(default_factory=list)
    statuses: dict[str, Completion] = field(default_factory=dict)
    run: RunOutcome | None = None

    @property
    def complete(self) -> bool:
        return all(status is Completion.DONE for status in self.statuses.values())

    @property
    def status(self) -> Completion:
        """Return the worst of all steps; if some worked and some did not, a part was done."""
        return join(self.statuses.values())


def join(statuses: Iterable[Completion]) -> Completion:
    """Join several statuses into one: NOTHING_DONE only if every step was."""
    found = list(statuses)
    if not found:
        return Completion.DONE
    worst = max(found, key=_ORDER.index)
    return Completion.PARTLY_DONE if len(set(found)) > 1 else worst


def nightly(
    installation: Installation, connection: Connection, *, on: date, steps: Steps, is_cut: bool = False
) -> NightlyOutcome:
    """Bring everything in, reconcile the day and hand out its reports.

    1. Check the database's file. On a damaged one the night ends here, without a result.
    2. Backfill the event log: what webhooks lost comes in.
    3. Pull every stream, so that objects changed without an event are fresh.
    4. Compare our mirror with the provider's objects and mend what differs.
    5. Ask the merchant's own system for its orders, where that is set.
    6. Reconcile as of the day. On incomplete data the run says so and reports no item as missing.
    7. Propose rules about payers from what people decided, and send back those that turned out wrong.
    8. Drop the rows of runs that need not be kept any longer.
    9. Build the day's reports, of an incomplete run too: they carry its state.
    10. Bring what is new into the search of the pages.
    11. Say whether the day is over at the provider. The night of a day that still runs is incomplete; a cut's is not.

    No other step that fails stops the night: the next one works on what is there, and the outcome says which failed.
    The same night again reads less, finds the same run and the same files.
    """
    outcome = NightlyOutcome(connection.name, on)
    _take(outcome, "disk", lambda: steps.disk(connection, on), is_named=False)
    if outcome.statuses["disk"] is not Completion.DONE:
        outcome.lines.append(f"{connection.name}: the night of {on} was not run: its database is damaged")
        return outcome
    before: Mapping[str, Step] = {"backfill": steps.backfill, "pull": steps.pull, "drift": steps.drift}
    for name, step in before.items():
        _take(outcome, name, partial(step, connection), is_named=False)
    if steps.orders is not None:
        _take(outcome, "orders", partial(steps.orders, connection, on))
    _reconcile(installation, connection, outcome)
    _learn(installation, connection, outcome)
    _prune(installation, connection, outcome)
    _take(outcome, "report", lambda: steps.report(connection, on))
    if steps.search is not None and (line := steps.search(connection)):
        outcome.lines.append(line)
    if not is_cut and not _is_over(installation, connection, on):
        outcome.statuses["day"] = Completion.PARTLY_DONE
        outcome.lines.append(f"{connection.name}: {on} is not over at the provider: repeat its night once it is")
    if not outcome.complete:
        failed = ", ".join(name for name, status in outcome.statuses.items() if status is not Completion.DONE)
        outcome.lines.append(f"{connection.name}: the night of {on} is incomplete: {failed}")
    return outcome


def _is_over(installation: Installation, connection: Connection, on: date) -> bool:
    """Return True if the provider's clock has passed the end of a day."""
    read = core_of(Checkpoint).c
    asked = sa.select(read.complete_until, read.pulled_at).where(read.connection == connection.name)
    with installation.store.reading() as session:
        reached = [(row.complete_until, row.pulled_at) for row in session.execute(asked)]
    clock = clock_of_provider(reached, now=utc_now())
    ends = day_start(on + timedelta(days=1), connection.country.zone)
    return clock is not None and clock + timedelta(seconds=installation.settings.settle_seconds) >= ends


def _take(outcome: NightlyOutcome, name: str, step: Callable[[], StepOutcome], *, is_named: bool = True) -> None:
    try:
        answer = step()
    except WorkError as refusal:
        outcome.statuses[name] = refusal.completion
        outcome.lines.append(f"{outcome.connection}: {name}: {refusal.message}")
        return
    outcome.statuses[name] = answer.status
    if is_named:
        outcome.lines += answer.lines
    else:
        # Two steps read the same streams, so a line of each says whose it is.
        whose = f"{outcome.connection}: "
        outcome.lines += [f"{whose}{name}: {line.removeprefix(whose)}" for line in answer.lines]


def _reconcile(installation: Installation, connection: Connection, outcome: NightlyOutcome) -> None:
    cluster = ClusterRules(installation) if installation.settings.engine.cluster else None
    try:
        outcome.run = run(installation, connection, as_of=outcome.on, rules_of=cluster.of if cluster else None)
    except UnbalancedError as problem:
        outcome.statuses["reconcile"] = Completion.PARTLY_DONE
        outcome.lines.append(f"{connection.name}: reconcile: {problem}")
        return
    if cluster is not None:
        cluster.forget()
        outcome.lines += [f"{connection.name}: reconcile: {line}" for line in cluster.lines]
    outcome.statuses["reconcile"] = outcome.run.status
    found = outcome.run
    state = "complete" if found.complete else "INCOMPLETE: see DATA_GAP"
    payouts, no_bank = found.summary["payouts"], found.summary["payouts_no_bank"]
    closed = f"{found.summary['payouts_closed']} of {payouts} payouts explained to the peso"
    closed += f", {no_bank} of them shown by no bank data" if no_bank else ""
    outcome.lines.append(f"{connection.name}: reconcile: run {found.number}, {closed}, {state}")


def _learn(installation: Installation, connection: Connection, outcome: NightlyOutcome) -> None:
    if outcome.run is None:
        return
    with installation.store.reading() as session:
        row = find_run(session, connection.name, outcome.run.run_id)
    allowed = payers.allowed_bps(installation.settings.rules)
    found = payers.learn(installation, connection.name, row, error_bps=allowed, now=utc_now())
    for rule in found.proposed:
        outcome.lines.append(f"{connection.name}: payers: proposed rule {rule.id}: cuadre payers list")
    for rule in found.sent_back:
        outcome.lines.append(f"{connection.name}: payers: rule {rule.id} was wrong too often and went back")


def _prune(installation: Installation, connection: Connection, outcome: NightlyOutcome) -> None:
    months_until = timedelta(days=installation.settings.retention_days)
    with installation.store.transaction() as session:
        dropped = prune(session, connection.name, today=outcome.on, months_until=months_until, at=utc_now())
    with installation.store.reading() as session:
        drop_inputs(session, installation.settings.files_dir, connection.name, at=utc_now())
    for run_id in dropped:
        kept = snapshots.folder_of(installation.settings.files_dir, connection.name, run_id)
        shared_files.withdraw(installation, kept)
    if dropped:
        outcome.lines.append(f"{connection.name}: the rows of {len(dropped)} earlier runs were dropped")
