"""One reconciliation run: a pure function of a snapshot, narrowed to its scope, published by one commit, once."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Self, TypeAlias, TypeGuard

import sqlalchemy as sa
from pandas import DataFrame
from sqlalchemy.orm import configure_mappers
from sqlmodel import Session, col, select

from consumer.facts import shared_files
from consumer.facts.clock import utc_now
from consumer.facts.installation import Connection, Installation
from consumer.facts.messages import Message
from consumer.facts.store import Turn, take_turn
from consumer.facts.work import Completion
from reconcile.closing.freezing import keep_horizon
from reconcile.closing.horizon import View, drop_horizon, find_moved_deposits, read_view
from reconcile.closing.periods import Subject, adjust
from reconcile.exceptions.life import ExceptionState, Merge, Seen, by_identity, list_open, merge
from reconcile.kept import snapshots
from reconcile.kept.records import Summary, read_summary
from reconcile.kept.settled import write_hidden
from reconcile.kept.snapshots import Scope, Snapshot, SnapshotError
from reconcile.reading.frames import read_inputs, read_transfers
from reconcile.reading.gaps import is_ahead_of_data
from reconcile.reading.process import ahead, background_thread, release_arrow_memory
from reconcile.reading.transfers import find_returned
from reconcile.rules.at_risk import AtRisk, add_up_risks
from reconcile.rules.inputs import Finding, Inputs, Result
from reconcile.rules.outcomes import OF_TAX, Code, Recon
from reconcile.rules.pipeline import reconcile
from reconcile.rules.streams import withheld_by
from reconcile.runs.narrowing import Touched, add_settled, count_outcomes, narrow
from reconcile.runs.publication import (
    Values,
    Written,
    chunk_rows,
    insert_results,
    last_complete,
    log_events,
    read_exceptions,
    read_mark,
    stage_results,
    write_merge,
)
from reconcile.runs.tax_list import list_tax
from reconcile.tables.runs import Run

Rules: TypeAlias = Callable[[Inputs], Result]
# Called with each step of a run before it begins.
Watch: TypeAlias = Callable[[Message], None]
Seal: TypeAlias = Callable[[Session], None]

TOTALS = (
    "payments_gross", "charges_gross", "refunds_gross", "refund_adjustments", "disputes", "fee_total",
    "computed_amount", "payout_amount", "difference",
)  # fmt: skip


def ignore_step(_step: object) -> None:
    pass


def matching_step(snapshot: Snapshot) -> Message:
    sizes = {"items": len(snapshot.inputs.items), "documents": len(snapshot.inputs.documents)}
    return Message("run.matching", sizes)


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What a run found; `is_new` is False if the same content had been reconciled before, or the run was a dry one."""

    connection: str
    run_id: str
    as_of: date
    complete: bool
    summary: Summary
    number: int | None = None
    is_new: bool = False
    result: Result | None = None
    # A whole run found other rows to judge than a bounded one would have.
    differs: bool = False
    # Why closed days were judged too, where something was frozen.
    doubt: Message | None = None

    @property
    def status(self) -> Completion:
        return Completion.DONE if self.complete and not self.differs else Completion.PARTLY_DONE

    @classmethod
    def of(cls, kept: Run) -> Self:
        """Return a published run as it was."""
        return cls(kept.connection, kept.id, kept.as_of, kept.complete, read_summary(kept), kept.number)


def run(  # noqa: PLR0913 - the scope of a run is four keyword arguments
    installation: Installation,
    connection: Connection,
    *,
    as_of: date,
    since: date | None = None,
    until: date | None = None,
    payout_id: str | None = None,
    dry_run: bool = False,
    whole: bool = False,
    rules: Rules = reconcile,
    rules_of: Callable[[str], Rules] | None = None,
    watch: Watch = ignore_step,
    seal: Seal = ignore_step,
) -> RunOutcome:
    """Reconcile one connection; `whole` reads closed days too, and compares what it finds with the horizon.

    `rules_of`, where given, returns the rules by the id of the run; `seal` may refuse the transaction that publishes.

    Where the bank says something else of a payout that the horizon leaves out, this begins anew with that payout.
    """
    reopened: frozenset[str] = frozenset()
    while True:
        wish = Wish(
            as_of, Scope(since, until, payout_id), rules_of or (lambda _: rules), watch, utc_now(), dry_run=dry_run,
            whole=whole, reopened=reopened, seal=seal,
        )  # fmt: skip
        try:
            outcome = _run(installation, connection, wish)
        except ReopenedError as moved:
            reopened |= moved.payouts
            continue
        if outcome.complete and not dry_run and wish.scope.is_everything:
            list_tax(installation, connection, run_id=outcome.run_id, as_of=as_of)
        return outcome


@dataclass(frozen=True, slots=True)
class Wish:
    """Which day and payouts a run is about, and how much it reads."""

    as_of: date
    scope: Scope
    rules_of: Callable[[str], Rules]
    watch: Watch
    started_at: datetime
    dry_run: bool = False
    whole: bool = False
    reopened: frozenset[str] = frozenset()
    seal: Seal = ignore_step


class ReopenedError(Exception):
    """Payouts that were left out and must be judged."""

    def __init__(self, payouts: frozenset[str]) -> None:
        super().__init__(f"{len(payouts)} settled payouts stand otherwise at the bank")
        self.payouts = payouts


def _run(installation: Installation, connection: Connection, wish: Wish) -> RunOutcome:
    """Reconcile one connection once.

    `watch` is called with each step before it begins, and may stop the run by raising: before the last step only a
    draft is written, which is removed again, and a single transaction ends the last one.

    1. Read everything in one view of the database and name it by its content.
    2. If the newest run has that content, return it as it was, once a freezing that died has gone on; with that of an
       older one this run follows the newest.
    3. Reconcile (the rules refuse a result that does not balance), narrow to the scope asked for; write the inputs to
       files meanwhile.
    4. Give the files their place and write the results, which no reader finds yet.
    5. Publish in one transaction: the row of the run, and what becomes of the exceptions.
    """
    watch, started_at = wish.watch, wish.started_at
    with background_thread() as worker:
        watch(Message("run.reading"))
        # Rows as objects are not needed until everything is read.
        worker.submit(configure_mappers)
        view, snapshot = installation.store.read_apart(lambda session: _look(session, installation, connection, wish))
        with installation.store.reading() as session:
            snapshot, earlier = _find_made(session, installation, snapshot)
        release_arrow_memory()
        if view.differs and not wish.dry_run:
            with installation.store.transaction() as session:
                drop_horizon(session, connection.name)
        if view.doubt is not None:
            watch(view.doubt)
        if is_published(earlier) and not wish.dry_run:
            if view.is_unfinished:
                result = _explain_view(view, snapshot, wish.rules_of(snapshot.run_id)).result
                assert result is not None
                keep_horizon(installation.store, view, result, run_id=earlier.id, seen_at=started_at, watch=watch)
            log_events(installation.store, connection.name, earlier.id, started_at=started_at)
            return replace(RunOutcome.of(earlier), differs=view.differs, doubt=view.doubt)
        watch(matching_step(snapshot))
        if wish.dry_run:
            return _explain_view(view, snapshot, wish.rules_of(snapshot.run_id))
        with snapshots.write_draft(snapshot, installation.settings.files_dir, worker) as keep:
            outcome = _explain_view(view, snapshot, wish.rules_of(snapshot.run_id))
            snapshot = snapshot.without_rows()
            if view.freezes is None:
                view = replace(view, inputs=snapshot.inputs)
            return _keep_and_publish(installation, snapshot, outcome, keep, view=view, wish=wish)


def _look(session: Session, installation: Installation, connection: Connection, wish: Wish) -> tuple[View, Snapshot]:
    """Return what is judged, and its name; a whole run also finds whether a bounded one would judge other rows."""
    view = _read_view(session, installation, connection, wish)
    snapshot = _name(session, installation, connection, view, wish.scope)
    if not wish.whole or view.horizon is None:
        return view, snapshot
    bounded = _read_view(session, installation, connection, replace(wish, whole=False))
    other = _name(session, installation, connection, bounded, wish.scope)
    return replace(view, differs=other.run_id != snapshot.run_id), snapshot


def _read_view(session: Session, installation: Installation, connection: Connection, wish: Wish) -> View:
    now, is_narrow = utc_now(), not wish.scope.is_everything
    if is_narrow:
        inputs = read_inputs(session, connection, installation.settings, as_of=wish.as_of, now=now)
        return View(inputs)
    return read_view(
        session, installation, connection, as_of=wish.as_of, now=now, whole=wish.whole, reopened=wish.reopened
    )


def _explain_view(view: View, snapshot: Snapshot, rules: Rules) -> RunOutcome:
    result = _judge(snapshot, rules)
    if moved := find_moved_deposits(view, result):
        raise ReopenedError(moved)
    outcome = to_outcome(snapshot, narrow(add_settled(result, snapshot.settled), snapshot.scope))
    return replace(outcome, differs=view.differs, doubt=view.doubt)


def _name(session: Session, installation: Installation, connection: Connection, view: View, scope: Scope) -> Snapshot:
    settings, transfers = installation.settings, read_transfers(session, connection)
    return snapshots.take(
        view.inputs, transfers, scope, tariff=settings.tariff, chosen_rules=settings.rules, settled=view.settled
    )


def _keep_and_publish(
    installation: Installation, snapshot: Snapshot, outcome: RunOutcome, keep: Callable[[], Path], *, view: View,
    wish: Wish,
) -> RunOutcome:  # fmt: skip
    """Put the inputs in their place, then publish; another thread packs the results meanwhile."""
    assert outcome.result is not None
    watch, started_at = wish.watch, wish.started_at
    watch(Message("run.keeping"))
    release_arrow_memory()
    store, at = installation.store, utc_now()
    with ahead(chunk_rows(outcome.result)) as packed:
        shared_files.publish_folder(installation, keep(), now=at)
        watch(Message("run.publishing"))
        found = by_identity(outcome.connection, outcome.result.findings)
        with store.reading() as session:
            listed = merge_exceptions(session, snapshot.scope, outcome, found, at=at)
        staged = stage_results(
            store, outcome.result, found, packed, connection=outcome.connection, run_id=outcome.run_id
        )
    with store.transaction() as session:
        wish.seal(session)
        listed = replace(listed, gone=view.gone)
        published = publish(session, snapshot, outcome, listed, staged, started_at=started_at)
    if published.is_new:
        keep_horizon(store, view, outcome.result, run_id=published.run_id, seen_at=started_at, watch=watch)
    log_events(store, outcome.connection, published.run_id, started_at=started_at)
    return published


def _find_made(session: Session, installation: Installation, snapshot: Snapshot) -> tuple[Snapshot, Run | None]:
    """Return the newest run of a snapshot's day and scope if it has its content.

    Content of an older run comes back when a decision or a file is taken back. Readers then need a newest run again.
    """
    earlier = session.get(Run, (snapshot.inputs.connection, snapshot.run_id))
    if not is_published(earlier):
        return snapshot, earlier
    alike = ("connection", "as_of", "scope_from", "scope_to", "scope_payout")
    own = [col(getattr(Run, name)).is_not_distinct_from(getattr(earlier, name)) for name in alike]
    order = (col(Run.finished_at).desc(), col(Run.number).desc())
    newest = session.exec(select(Run).where(*own, col(Run.pruned_at).is_(None)).order_by(*order)).first()
    if newest is None or newest.id == earlier.id or _has_content(installation, newest, snapshot):
        return snapshot, newest
    following = snapshots.follow(snapshot, newest.id)
    return following, session.get(Run, (newest.connection, following.run_id))


def _has_content(installation: Installation, run: Run, snapshot: Snapshot) -> bool:
    try:
        snapshots.bring(installation, run.connection, run.id)
        manifest = snapshots.read_manifest(installation.settings.files_dir, run.connection, run.id)
    except SnapshotError:
        return False
    return snapshots.name_of_content(manifest) == snapshot.run_id


def judge(snapshot: Snapshot, rules: Rules = reconcile) -> Result:
    """Apply the rules to everything a snapshot holds, and add what stays as it was settled; pure."""
    return add_settled(_judge(snapshot, rules), snapshot.settled)


def _judge(snapshot: Snapshot, rules: Rules) -> Result:
    result = rules(snapshot.inputs)
    withheld, zone = withheld_by(snapshot.inputs.gaps["stream"]), snapshot.inputs.calendar.country.zone
    returned = (found for found in find_returned(snapshot.transfers, zone) if found.code not in withheld)
    return replace(result, findings=(*result.findings, *returned))


def to_outcome(snapshot: Snapshot, result: Result) -> RunOutcome:
    connection, as_of, summary = snapshot.inputs.connection, snapshot.inputs.as_of, _summarise(snapshot, result)
    return RunOutcome(connection, snapshot.run_id, as_of, result.complete, summary, result=result)


def _summarise(snapshot: Snapshot, result: Result) -> Summary:
    items, documents = count_outcomes(result)
    return {
        "complete": result.complete,
        "payouts": len(result.payouts),
        "payouts_closed": _count_closed(result),
        "payouts_no_bank": int((result.payouts["status_recon"] == Recon.NO_BANK).sum()),
        "items": sum(items.values()),
        "items_by_outcome": items,
        "documents": sum(documents.values()),
        "documents_by_outcome": documents,
        "exceptions": dict(sorted(Counter(found.code for found in result.findings).items())),
        "severities": dict(sorted(Counter(found.severity for found in result.findings).items())),
        "totals": _control_totals(result.payouts),
        "ahead_of_data": is_ahead_of_data(snapshot.inputs.gaps),
        "inputs": snapshot.manifest["frames"],
        "tolerances": {name: value for name, value in snapshot.manifest["rules"].items() if isinstance(value, int)},
    }


def _count_closed(result: Result) -> int:
    """Count the payouts whose difference is zero or an exception of exactly that size."""
    named = {found.payout_id: found.amount_at_risk for found in result.findings if found.code == Code.PAYOUT_IDENTITY}
    pairs = zip(result.payouts["payout_id"], result.payouts["difference"], strict=True)
    return sum(int(difference) == 0 or named.get(payout_id) == abs(int(difference)) for payout_id, difference in pairs)


def _control_totals(payouts: DataFrame) -> dict[str, dict[str, int]]:
    """Add up the lines of all payouts, per currency, in minor units."""
    sums = payouts.groupby("currency")[list(TOTALS)].sum()
    return {str(currency): {name: int(row[name]) for name in TOTALS} for currency, row in sums.iterrows()}


def explain(snapshot: Snapshot, rules: Rules = reconcile) -> RunOutcome:
    """Return what a run of this snapshot says within its scope; pure."""
    return to_outcome(snapshot, narrow(judge(snapshot, rules), snapshot.scope))


@dataclass(frozen=True, slots=True)
class Listed:
    """What becomes of the exceptions, which holds while their mark is the same; a run of an earlier day merges none."""

    mark: Values
    seen: Seen
    merged: Merge | None
    at_risk: dict[str, dict[str, int]]
    # What closed days had and nothing has any more; None if everything was read.
    gone: frozenset[Subject] | None = None


def publish(
    session: Session, snapshot: Snapshot, outcome: RunOutcome, listed: Listed, staged: Written | None, *,
    started_at: datetime,
) -> RunOutcome:  # fmt: skip
    """Publish one run whole; where another process published the same content meanwhile, its run is returned."""
    # Runs number themselves and merge one list of exceptions.
    take_turn(session, Turn.RUNS)
    kept = session.get(Run, (outcome.connection, outcome.run_id))
    if is_published(kept):
        return RunOutcome.of(kept)
    seen, gone = listed.seen, listed.gone
    if read_mark(session, outcome.connection) != listed.mark:
        listed = merge_exceptions(session, snapshot.scope, outcome, seen.found, at=seen.at)
    outcome = replace(outcome, summary={**outcome.summary, "value_at_risk": listed.at_risk})
    row = _run_row(session, snapshot, outcome, started_at=started_at, at=seen.at)
    # Content that was pruned and comes again takes its old place.
    session.merge(row)
    session.flush()
    assert outcome.result is not None
    insert_results(
        session, outcome.result, seen.found, connection=outcome.connection, run_id=outcome.run_id, staged=staged
    )
    write_hidden(session, outcome.connection, outcome.run_id, snapshot.settled)
    if snapshot.scope.is_everything:
        adjust(
            session, outcome.connection, outcome.result, run_id=outcome.run_id, as_of=outcome.as_of, at=seen.at,
            gone=gone,
        )  # fmt: skip
    if listed.merged is not None:
        write_merge(session, listed.merged, seen)
    return replace(outcome, number=row.number, is_new=True)


def merge_exceptions(
    session: Session, scope: Scope, outcome: RunOutcome, found: Mapping[str, Finding], *, at: datetime
) -> Listed:
    """Build what becomes of the work list, and what is at risk then; a run of an earlier day leaves the list alone."""
    assert outcome.result is not None
    mark = read_mark(session, outcome.connection)
    seen = Seen(
        outcome.connection, outcome.run_id, outcome.as_of, at, outcome.complete, found,
        is_ahead=outcome.summary["ahead_of_data"],
    )  # fmt: skip
    merged, open_now = None, list[AtRisk](outcome.result.findings)
    if outcome.as_of >= last_complete(session, outcome.connection):
        known = read_exceptions(session, outcome.connection, found)
        merged = merge(known, seen, could_find=_could_find(scope, outcome.result))
        open_now = list(list_open(known, merged))
    at_risk = {currency: total._asdict() for currency, total in add_up_risks(open_now).items()}
    return Listed(mark, seen, merged, at_risk)


def _could_find(scope: Scope, result: Result) -> Callable[[ExceptionState], bool]:
    holds = (lambda _: True) if scope.is_everything else Touched.by(result).holds
    return lambda row: row.code not in OF_TAX and holds(row)


def is_published(run: Run | None) -> TypeGuard[Run]:
    return run is not None and run.pruned_at is None


def _run_row(session: Session, snapshot: Snapshot, outcome: RunOutcome, *, started_at: datetime, at: datetime) -> Run:
    counted = session.exec(select(sa.func.max(Run.number)).where(Run.connection == outcome.connection)).one()
    return Run(
        connection=outcome.connection,
        id=outcome.run_id,
        as_of=outcome.as_of,
        scope_from=snapshot.scope.since,
        scope_to=snapshot.scope.until,
        scope_payout=snapshot.scope.payout_id,
        complete=outcome.complete,
        calendar=snapshot.inputs.calendar.edition,
        summary=json.dumps(outcome.summary, sort_keys=True),
        started_at=started_at,
        finished_at=at,
        number=(counted or 0) + 1,
        layers=" ".join(snapshot.settled.layers),
    )
