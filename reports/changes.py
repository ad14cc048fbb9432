"""What changed between two runs, and what the last comparison with the provider left."""

from collections.abc import Iterator

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.tables.sync import Drift
from reconcile import comparison
from reconcile.tables import Run
from reports.query import Source
from reports.spans import Row, Span


def drift(source: Source) -> Iterator[Row]:
    """List what still differs; what was mended is gone from the list."""
    query = sa.select(Drift).where(col(Drift.connection).in_(source.names), col(Drift.repaired_at).is_(None))
    for found in source.session.scalars(query):
        yield {name: getattr(found, name) for name in ("connection", "stream", "id", "kind", "field", "ours", "theirs")}


def run_diff(source: Source) -> Iterator[Row]:
    """Compare each connection's run with the one before it, or with the last one before the range."""
    for after in source.runs:
        before = run_before(source.session, after, source.query.span)
        if before is not None:
            for change in comparison.diff(source.session, source.house.settings.data_dir, before, after):
                yield {
                    "kind": change.kind,
                    "subject": change.subject,
                    "before": change.before or None,
                    "after": change.after or None,
                    "cause": change.cause,
                    "connection": after.connection,
                }


def run_before(session: Session, after: Run, span: Span) -> Run | None:
    """Find the run of the whole books to compare with: older, and of a day before the range where one begins."""
    older = sa.select(Run).where(
        col(Run.connection) == after.connection,
        col(Run.number) < after.number,
        col(Run.pruned_at).is_(None),
        col(Run.scope_from).is_(None),
        col(Run.scope_to).is_(None),
        col(Run.scope_payout).is_(None),
    )
    if span.since is not None:
        older = older.where(col(Run.as_of) < span.since)
    return session.scalar(older.order_by(col(Run.number).desc()).limit(1))
