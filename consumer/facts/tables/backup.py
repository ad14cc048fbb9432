"""Backups that were made, and what drills proved of them."""

from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import moment


class Backup(SQLModel, table=True):
    """One backup that was written and read back whole."""

    __tablename__ = "backup"

    sha256: str = Field(primary_key=True)
    file: str
    made_at: datetime = moment(optional=False, index=True)
    size: int = Field(sa_type=sa.BigInteger)


class BackupCertificate(SQLModel, table=True):
    """What one drill found; `content` is the certificate as JSON."""

    __tablename__ = "backup_certificate"

    id: int | None = Field(default=None, primary_key=True)
    sha256: str
    drilled_at: datetime = moment(optional=False, index=True)
    is_proven: bool
    content: str
