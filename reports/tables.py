"""What the report room keeps: people, machine tokens, archived files and the trail of who did what."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from consumer.facts.tables.provider import moment


class User(SQLModel, table=True):
    __tablename__ = "person"

    id: int | None = Field(default=None, primary_key=True)
    email: str = Field(unique=True)
    password_hash: str
    role: str
    created_at: datetime = moment(optional=False)
    disabled_at: datetime | None = moment()
    failed_logins: int = 0
    locked_until: datetime | None = moment()


class Token(SQLModel, table=True):
    """A machine's key to downloads; only its digest is kept."""

    __tablename__ = "token"

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True)
    sha256: str = Field(unique=True)
    role: str
    created_at: datetime = moment(optional=False)
    revoked_at: datetime | None = moment()
    last_used_at: datetime | None = moment()


class ReportFile(SQLModel, table=True):
    """A finished report file in the archive, with what it was made from."""

    __tablename__ = "report_file"

    id: int | None = Field(default=None, primary_key=True)
    name: str
    format: str
    profile: str
    language: str
    path: str = Field(unique=True)
    run_ids: str
    row_count: int
    sha256: str
    made_at: datetime = moment(optional=False)


class AuditEntry(SQLModel, table=True):
    __tablename__ = "audit_entry"

    id: int | None = Field(default=None, primary_key=True)
    at: datetime = moment(optional=False)
    who: str
    action: str
    subject: str
