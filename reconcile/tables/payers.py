"""Rules about payers that were proposed from people's decisions, and what people made of them."""

from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import moment


class PayerRule(SQLModel, table=True):
    """Who pays for whom, or which words are order numbers: as it stands, with the evidence of the last year."""

    __tablename__ = "payer_rule"
    __table_args__ = (sa.UniqueConstraint("connection", "kind", "subject", "object"),)

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    kind: str
    subject: str
    object: str
    state: str
    right_count: int = 0
    wrong_count: int = 0
    open_count: int = 0
    # The share of errors that the last year's evidence does not exceed, in hundredths of a percent.
    bound_bps: int = Field(default=10_000, sa_column_kwargs={"server_default": "10000"})
    # What spoke for and against it since a person accepted it.
    right_since: int = 0
    wrong_since: int = 0
    weighed_at: datetime = moment(optional=False)
    version: int = 1


class PayerRuleChange(SQLModel, table=True):
    """The append-only history of a rule; `closed_until` is where the closed days ended then."""

    __tablename__ = "payer_rule_change"

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    rule_id: int = Field(index=True)
    at: datetime = moment(optional=False)
    author: str
    reason: str
    before: str
    after: str
    closed_until: datetime | None = moment()
