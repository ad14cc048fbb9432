"""Which runs keep their rows and inputs: those of the last weeks, then each month's last run.

Of all others only the summary stays. The run a closed period rests on keeps its rows until the period is reopened,
and what a run settled of closed days stays as long as a kept run or the horizon rests on it.
Decisions and exceptions are not part of any run and are never touched here.
"""

import shutil
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp

import sqlalchemy as sa
from sqlmodel import Session, col, select

from reconcile.kept.records import read_closed_periods
from reconcile.kept.settled import find_dead_layers, is_layer, run_of
from reconcile.kept.snapshots import DRAFT
from reconcile.kept.stored import HIDDEN
from reconcile.tables.closing import Horizon
from reconcile.tables.runs import PayoutResult, ResultChunk, Run, RunFinding

WHOLE_DAYS = 35
# Drafts and inputs that were touched within this time may be in use.
_HELD = timedelta(days=1)
_RESULTS = (ResultChunk, PayoutResult, RunFinding)


def prune(session: Session, connection: str, *, today: date, months_until: timedelta, at: datetime) -> list[str]:
    """Drop the rows of runs that need not be kept, and name those runs; delete what killed runs left too."""
    runs = session.exec(select(Run).where(Run.connection == connection, col(Run.pruned_at).is_(None))).all()
    standing = {period.run_id for period in read_closed_periods(session, connection)}
    droppable = find_droppable(runs, today=today, months_until=months_until)
    dropped = [run for run in droppable if run.id not in standing]
    for run in dropped:
        run.pruned_at = at
        session.add(run)
    session.flush()
    dead = find_dead_layers(session, connection)
    for run_id in (*(run.id for run in dropped), *_find_unpublished(session, connection), *dead):
        for table in _RESULTS:
            mine = (col(table.connection) == connection, col(table.run_id) == run_id)
            # A run that comes back still has to know what it hides.
            stays = () if table is not ResultChunk or is_layer(run_id) else (col(ResultChunk.kind) != HIDDEN,)
            session.execute(sa.delete(table).where(*mine, *stays))
    return [run.id for run in dropped]


def _find_unpublished(session: Session, connection: str) -> Sequence[str]:
    """Name the runs that were killed before they had a row; one that is being written now writes its rows again."""
    published = select(Run.id).where(Run.connection == connection)
    mine = select(ResultChunk.run_id).where(ResultChunk.connection == connection)
    found = session.exec(mine.where(col(ResultChunk.run_id).not_in(published)).distinct()).all()
    return [owner for owner in found if not is_layer(owner)]


def find_droppable(runs: Iterable[Run], *, today: date, months_until: timedelta) -> list[Run]:
    """Choose by the day a run is about: the newest whole run always stays, of each older month the last whole one."""
    ordered = sorted(runs, key=lambda run: (run.as_of, run.number), reverse=True)
    months: set[tuple[int, int]] = set()
    dropped = []
    for run in ordered:
        is_whole = all(scope is None for scope in (run.scope_from, run.scope_to, run.scope_payout))
        month = (run.as_of.year, run.as_of.month)
        is_first = is_whole and month not in months
        if is_first:
            months.add(month)
        is_young = run.as_of >= today - timedelta(days=WHOLE_DAYS)
        is_month_end = is_first and (len(months) == 1 or run.as_of >= today - months_until)
        if not (is_young or is_month_end):
            dropped.append(run)
    return dropped


def drop_inputs(session: Session, data_dir: Path, connection: str, *, at: datetime) -> None:
    """Remove the kept inputs of pruned runs from this machine, and drafts that a killed process left behind.

    Inputs that were used within a day stay for another night: their run may be coming back.
    """
    folder, until = data_dir / "runs" / connection, (at - _HELD).timestamp()
    here = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    for draft in folder.glob(f"*{DRAFT}"):
        if draft.stat().st_mtime < until:
            shutil.rmtree(draft)
    pruned = session.exec(select(Run.id).where(Run.connection == connection, col(Run.pruned_at).is_not(None))).all()
    kept = session.exec(select(Run.layers).where(Run.connection == connection, col(Run.pruned_at).is_(None))).all()
    horizon = session.get(Horizon, connection)
    used = {run_of(layer) for layers in (*kept, horizon.layers if horizon else "") for layer in layers.split()}
    for run_id in sorted((set(here) & set(pruned)) - used):
        _drop(folder / run_id, until)


def _drop(kept: Path, until: float) -> None:
    """Remove a folder that was not used since; a process that looks for it meanwhile writes its own."""
    if kept.stat().st_mtime >= until:
        return
    aside = Path(mkdtemp(prefix=f"{kept.name}.", suffix=DRAFT, dir=kept.parent))
    kept.rename(aside)
    if aside.stat().st_mtime < until:
        shutil.rmtree(aside)
    elif not kept.exists():
        aside.rename(kept)
