"""What does not add up in a stream that was read whole: kept until its next pull, for the outcome and the doctor."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session, col, select

from consumer.facts.tables.sync import StreamFinding


@dataclass(frozen=True, slots=True)
class Finding:
    """`subject` is the id of what it is about; `told` is one sentence without secret."""

    subject: str
    told: str


def record_findings(
    session: Session, connection: str, stream: str, findings: Iterable[Finding], *, now: datetime
) -> None:
    """Put a stream's findings in place of those of its pull before."""
    mine = (col(StreamFinding.connection) == connection) & (col(StreamFinding.stream) == stream)
    session.execute(sa.delete(StreamFinding).where(mine))
    told = {finding.subject: finding.told for finding in findings}
    session.add_all(
        StreamFinding(connection=connection, stream=stream, subject=subject, told=text, found_at=now)
        for subject, text in told.items()
    )


def findings_of(session: Session, connection: str) -> list[StreamFinding]:
    asked = select(StreamFinding).where(StreamFinding.connection == connection)
    return list(session.exec(asked.order_by(StreamFinding.stream, StreamFinding.subject)))
