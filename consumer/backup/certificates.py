"""What a drill certifies, and the newest backups and drills on record."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from sqlmodel import Session, col, select

from consumer.facts.tables.backup import Backup, BackupCertificate
from consumer.facts.work import Proof


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """What a drill proved of one backup.

    `rpo_seconds` is the longest stretch of facts that would have been lost: from the backup before this one to it, or
    from it to the drill. `rto_seconds` is what it took from the file to an installation that could be started.
    """

    state: str
    drilled_at: datetime
    file: str
    sha256: str
    made_at: datetime | None
    database: str | None
    version: str | None
    newest_fact_at: datetime | None
    rpo_seconds: int | None
    rto_seconds: float | None
    proofs: Sequence[Proof]

    @property
    def is_proven(self) -> bool:
        return self.state == "proven"


class Standing(msgspec.Struct, frozen=True):
    """The newest backup, the newest drill and the newest one that proved its backup."""

    backup: Backup | None
    drill: BackupCertificate | None
    proven: BackupCertificate | None


def read_standing(session: Session) -> Standing:
    newest = select(BackupCertificate).order_by(col(BackupCertificate.drilled_at).desc()).limit(1)
    return Standing(
        session.exec(select(Backup).order_by(col(Backup.made_at).desc()).limit(1)).first(),
        session.exec(newest).first(),
        session.exec(newest.where(col(BackupCertificate.is_proven))).first(),
    )
