"""What changed between two runs, from their kept results; and what the last comparison with the provider left."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import sqlalchemy as sa
from sqlmodel import Session, col

from consumer.facts.tables.sync import Drift
from reconcile.tables import DocumentResult, PayoutResult, Run, RunFinding
from reports import frames
from reports.query import Source
from reports.spans import Row, Span

Words = dict[tuple[str, str], str]


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
            causes = _causes(before, after)
            for row in compare(published(source.session, before), published(source.session, after)):
                yield {**row, "cause": causes, "connection": after.connection}


def run_before(session: Session, after: Run, span: Span) -> Run | None:
    """Find the run of the whole books to compare with: older, and of a day before the range where one begins."""
    older = sa.select(Run).where(
        col(Run.connection) == after.connection,
        col(Run.number) < after.number,
        col(Run.scope_from).is_(None),
        col(Run.scope_to).is_(None),
        col(Run.scope_payout).is_(None),
    )
    if span.since is not None:
        older = older.where(col(Run.as_of) < span.since)
    return session.scalar(older.order_by(col(Run.number).desc()).limit(1))


def compare(before: Mapping[tuple[str, str], str], after: Mapping[tuple[str, str], str]) -> Iterator[Row]:
    """Pair what two runs said of each subject, and keep what differs."""
    for kind, subject in sorted(before.keys() | after.keys()):
        was, is_now = before.get((kind, subject)), after.get((kind, subject))
        if was != is_now:
            yield {"kind": kind, "subject": subject, "before": was, "after": is_now}


def published(session: Session, run: Run) -> Words:
    """Say in a few words what a run found of each payout, item, document and exception."""
    said: Words = {}
    payouts = sa.select(PayoutResult.__table__).where(frames.of_runs(PayoutResult, [run]))  # type: ignore[attr-defined]
    for row in session.execute(payouts):
        said["payout", row.payout_id] = f"{row.status_recon}, difference {row.difference}"
    documents = sa.select(DocumentResult.__table__).where(frames.of_runs(DocumentResult, [run]))  # type: ignore[attr-defined]
    for row in session.execute(documents):
        said["document", row.doc_key] = f"{row.outcome}, balance {row.balance}"
    said |= items(frames.line_rows(session, [run], Span(), paid_out=None))
    findings = sa.select(RunFinding.__table__).where(frames.of_runs(RunFinding, [run]))  # type: ignore[attr-defined]
    for row in session.execute(findings):
        said["exception", f"{row.code} {row.subject}"] = f"{row.severity} {row.amount_at_risk}"
    return said


def items(lines: Iterable[Row]) -> Words:
    """Join the lines of an item: its outcome and each document it was applied to, with the amount."""
    said: dict[str, list[str]] = {}
    for line in lines:
        subject = f"{line['resource_id']}@{line['payout_id']}" if line["payout_id"] else line["resource_id"]
        applied = [] if line["applied_amount"] is None else [str(line["applied_amount"])]
        words: Sequence[str] = [line["outcome"], *([line["doc_key"]] if line["doc_key"] else []), *applied]
        said.setdefault(subject, []).append(" ".join(words))
    return {("item", subject): "; ".join(words) for subject, words in said.items()}


def _causes(before: Run, after: Run) -> str:
    """Name what differs between the runs as a whole; cuadre runs diff looks into their kept inputs."""
    known = (("as of", before.as_of, after.as_of), ("calendar", before.calendar, after.calendar))
    found = [f"{name} {was} → {is_now}" for name, was, is_now in known if was != is_now]
    return "; ".join(found) or "data, rules or decisions"
