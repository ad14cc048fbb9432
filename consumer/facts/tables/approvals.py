"""Requests for a second person's approval, and what became of them."""

from datetime import datetime

from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import moment


class ApprovalRequest(SQLModel, table=True):
    """One deed that waits for a second person; `asked_by` and `decided_by` are people's ids, none for a terminal."""

    __tablename__ = "approval_request"

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    deed: str
    subject: str
    words: str
    terms: str
    sha256: str = Field(index=True)
    basis: str
    reason: str
    state: str
    who: str
    asked_by: int | None = None
    at: datetime = moment(optional=False)
    expires_at: datetime = moment(optional=False)
    second: str = ""
    decided_by: int | None = None
    decided_at: datetime | None = moment()
    used_key: str = ""
