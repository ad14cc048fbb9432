"""Evidence of disputes: what a person chose, what was sent to the provider, and what the provider answered."""

from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import moment


class Evidence(SQLModel, table=True):
    """One document of a dispute, or with an empty digest the request to review it; each exists once."""

    __tablename__ = "dispute_evidence"
    __table_args__ = (sa.UniqueConstraint("connection", "dispute_id", "sha256"),)

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    dispute_id: str
    name: str
    size: int
    sha256: str
    state: str
    who: str
    at: datetime = moment(optional=False)
    sent_by: str = ""
    sent_at: datetime | None = moment()
    key: str = ""
    refusal: str = ""
