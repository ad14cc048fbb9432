"""What a restored installation can prove of reconciliation: closed periods as they were, their run made again."""

import hashlib
from collections.abc import Iterator

from pandas import DataFrame
from sqlmodel import Session, col, select

from consumer.facts.erasures import is_touched
from consumer.facts.installation import Installation
from consumer.facts.tables.erasures import PERIOD, RUN
from consumer.facts.work import Proof
from reconcile.closing.figures import KEYS, figures_of, find_moved
from reconcile.kept.records import read_closed_periods, runs
from reconcile.kept.snapshots import SnapshotError
from reconcile.rules.pipeline import UnbalancedError
from reconcile.runs import comparison, reruns
from reconcile.tables.closing import EXCEPTION, ClosedFigure, Period
from reconcile.tables.runs import Run


def prove(restored: Installation, live: Installation) -> Iterator[Proof]:
    """Yield what holds for each connection of a restored installation next to the live one."""
    for connection in live.settings.all_connections:
        with restored.store.reading() as session:
            periods = read_closed_periods(session, connection.name)
            made = runs(session, connection.name)
        if periods:
            yield _prove_periods(restored, live, connection.name, [period.id or 0 for period in periods])
        wanted = next((run for run in made if periods and run.id == periods[-1].run_id), made[0] if made else None)
        if wanted is None:
            yield Proof(f"{connection.name} run", "none was made yet", is_good=True)
        else:
            yield _prove_run(restored, wanted, next((one for one in periods if one.run_id == wanted.id), None))


def _prove_periods(restored: Installation, live: Installation, name: str, ids: list[int]) -> Proof:
    """Compare the figures of closed periods, which never change, with those of the live database."""
    with restored.store.reading() as here, live.store.reading() as there:
        erased = {one for one in ids if is_touched(there.connection(), PERIOD, one)}
        digests = {one: _digest_of(here, one, figures_alone=one in erased) for one in ids}
        others = {one: _digest_of(there, one, figures_alone=one in erased) for one in ids}
        differing = [one for one in ids if digests[one] != others[one]]
    if differing:
        return Proof(f"{name} closed periods", f"period {differing[0]} differs from the live database", is_good=False)
    whole = hashlib.sha256("".join(digests.values()).encode()).hexdigest()
    said = f"{len(ids)} as in the live database, digest {whole[:16]}"
    said += f"; of {len(erased)} only amounts and outcomes are compared, as a person was erased" if erased else ""
    return Proof(f"{name} closed periods", said, is_good=True)


def _digest_of(session: Session, period_id: int, *, figures_alone: bool) -> str:
    digest = hashlib.sha256()
    wanted = select(ClosedFigure.kind, ClosedFigure.subject, ClosedFigure.words)
    # The order of texts is the database's own.
    wanted = wanted.where(col(ClosedFigure.period_id) == period_id)
    # The work list is the part that has words.
    rows = session.exec(wanted.where(ClosedFigure.kind != EXCEPTION) if figures_alone else wanted).all()
    for row in sorted(rows):
        digest.update("\0".join(row).encode() + b"\n")
    return digest.hexdigest()


def _prove_run(restored: Installation, run: Run, period: Period | None) -> Proof:
    """Make a run again from its kept inputs: the same id, the same rows and, if it closed a period, its figures."""
    name, words = f"{run.connection} run {run.number}", "of the last closed period" if period else "the newest"
    try:
        comparison.bring_inputs(restored, run)
        made = reruns.rerun(restored.settings.files_dir, run)
    except (SnapshotError, UnbalancedError) as problem:
        return Proof(name, str(problem), is_good=False)
    with restored.store.reading() as session:
        differing = sum(held.differing for held in reruns.compare(session, run, made, most=1))
        same = (
            "every amount and outcome" if is_touched(session.connection(), RUN, run.connection, run.id) else "every row"
        )
        if period is not None and made.result is not None:
            mine = select(ClosedFigure.kind, ClosedFigure.subject, ClosedFigure.words)
            # The work list of that moment is closed too, and no part of the run.
            of_run = ClosedFigure.period_id == period.id, ClosedFigure.kind != EXCEPTION
            kept = session.exec(mine.where(*of_run)).all()
            again = figures_of(made.result, period.since, period.until)
            differing += sum(1 for _ in find_moved(DataFrame([tuple(row) for row in kept], columns=KEYS), again))
    if made.changed_since:
        found = f"{words}: its inputs are whole; {differing} rows differ under the rules of this version"
        return Proof(name, found, is_good=True)
    if differing:
        return Proof(name, f"{words}: made again, {differing} rows differ", is_good=False)
    return Proof(name, f"{words}: made again under the same id {run.id}, {same} the same", is_good=True)
