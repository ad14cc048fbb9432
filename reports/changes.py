"""What changed between two runs, and what the last comparison with the provider left."""

from collections.abc import Iterator

import sqlalchemy as sa
from sqlmodel import col

from consumer.facts.tables.sync import Drift
from reconcile.runs import comparison
from reports import run_history
from reports.query import Source
from reports.shapes.spans import Row


def drift(source: Source) -> Iterator[Row]:
    """List what still differs; what was mended is gone from the list."""
    query = sa.select(Drift).where(col(Drift.connection).in_(source.names), col(Drift.repaired_at).is_(None))
    for found in source.session.scalars(query):
        yield {name: getattr(found, name) for name in ("connection", "stream", "id", "kind", "field", "ours", "theirs")}


def run_diff(source: Source) -> Iterator[Row]:
    """Compare each connection's run with the one before it, or with the last one before the range."""
    for after in source.runs:
        before = run_history.before(source.session, after, source.query.span)
        if before is not None:
            for change in comparison.diff(source.session, source.installation.settings.data_dir, before, after):
                yield {
                    "kind": change.kind,
                    "subject": change.subject,
                    "before": change.before or None,
                    "after": change.after or None,
                    "cause": change.cause,
                    "connection": after.connection,
                }
