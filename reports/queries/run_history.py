"""One run as a page shows it: its figures, what it found, and the runs before it.

Which run answers for a day is one rule, `reconcile.kept.records.last_run`. Two other questions are asked here: on which
day's data a period may be closed (`newest_complete`), and what a run is compared with (`find_run_before`).
"""

from collections.abc import Iterator, Sequence
from datetime import date

import sqlalchemy as sa
from sqlmodel import Session, col

from reconcile.kept.records import Summary, read_summary
from reconcile.rules.at_risk import Total
from reconcile.rules.outcomes import Code
from reconcile.runs import comparison
from reconcile.tables.runs import Run, RunFinding
from reports.queries.query import Source
from reports.queries.standing import CodeTotal, totals_by_code
from reports.shapes.spans import Row, Span

_MOST_EARLIER = 60
_WHOLE = (col(Run.scope_from).is_(None), col(Run.scope_to).is_(None), col(Run.scope_payout).is_(None))


def find_run(session: Session, connection: str, number: int) -> Run | None:
    mine = (col(Run.connection) == connection, col(Run.number) == number)
    return session.scalar(sa.select(Run).where(*mine).limit(1))


def newest_complete(session: Session, connection: str, today: date) -> Run | None:
    """Find the newest run of the whole books on complete data, of no day to come."""
    mine = (col(Run.connection) == connection, col(Run.complete), col(Run.as_of) <= today)
    order = (col(Run.as_of).desc(), col(Run.number).desc())
    return session.scalar(sa.select(Run).where(*mine, *_WHOLE).order_by(*order).limit(1))


def find_run_before(session: Session, after: Run, span: Span) -> Run | None:
    """Find the run of the whole books to compare with: older, and of a day before the range where one begins."""
    older = sa.select(Run).where(
        col(Run.connection) == after.connection,
        col(Run.number) < after.number,
        col(Run.pruned_at).is_(None),
        *_WHOLE,
    )
    if span.since is not None:
        older = older.where(col(Run.as_of) < span.since)
    return session.scalar(older.order_by(col(Run.number).desc()).limit(1))


def at_risk(summary: Summary) -> dict[str, Total]:
    """Return what a run left open by currency, each peso once."""
    return {currency: Total(**total) for currency, total in summary["value_at_risk"].items()}


def missing_streams(run: Run) -> int:
    """Count the streams that a run lacked something of."""
    return int(read_summary(run)["exceptions"].get(Code.DATA_GAP, 0))


def count_findings(session: Session, run: Run) -> list[CodeTotal]:
    mine = (col(RunFinding.connection) == run.connection, col(RunFinding.run_id) == run.id)
    return totals_by_code(session, RunFinding, mine, sa.null())


def earlier(session: Session, run: Run) -> Sequence[Run]:
    """List runs of the same connection to compare with, newest first; those whose rows were dropped are left out."""
    mine = (col(Run.connection) == run.connection, col(Run.number) < run.number, col(Run.pruned_at).is_(None))
    return session.scalars(sa.select(Run).where(*mine).order_by(col(Run.number).desc()).limit(_MOST_EARLIER)).all()


def run_diff(source: Source) -> Iterator[Row]:
    """Compare each connection's run with the one before it, or with the last one before the range."""
    for after in source.runs:
        before = find_run_before(source.session, after, source.query.span)
        if before is not None:
            comparison.bring_inputs(source.installation, before, after)
            for change in comparison.diff(source.session, source.installation.settings.files_dir, before, after):
                yield {
                    "kind": change.kind,
                    "subject": change.subject,
                    "before": change.before or None,
                    "after": change.after or None,
                    "cause": change.cause,
                    "connection": after.connection,
                }
