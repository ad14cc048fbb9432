"""The work list, what people decided, and the rules about payers that were proposed from it."""

from datetime import date, datetime

import sqlalchemy as sa
from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import minor_units, moment


class ExceptionRow(SQLModel, table=True):
    """Something a person must look at; its identity survives runs."""

    __tablename__ = "exception"

    connection: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    code: str
    severity: str
    subject: str
    title: str
    opened_on: date
    last_seen_on: date
    amount_at_risk: int = minor_units(optional=False)
    currency: str
    payout_id: str | None = None
    resource_id: str | None = None
    doc_key: str | None = None
    evidence: str = ""
    suggested_action: str = ""
    owner: str = ""
    note: str = ""
    state: str
    resolved_on: date | None = None
    resolution: str = ""
    run_first: str
    run_last: str
    version: int = 1
    # None where no run has seen the exception since these columns exist, or its fact has no day of its own.
    fact_on: date | None = None
    due_on: date | None = None
    customer_name: str | None = None
    # The day on which a person wants it done.
    follow_up_on: date | None = None

    @property
    def aged_from(self) -> date:
        """The day its age counts from."""
        return self.fact_on or self.opened_on


class ExceptionChange(SQLModel, table=True):
    """The append-only history of an exception."""

    __tablename__ = "exception_change"

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    exception_id: str = Field(index=True)
    at: datetime = moment(optional=False)
    author: str
    change: str
    before: str = ""
    after: str = ""


class ExceptionComment(SQLModel, table=True):
    """What a person said about an exception; never rewritten."""

    __tablename__ = "exception_comment"

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    exception_id: str = Field(index=True)
    at: datetime = moment(optional=False)
    author: str
    text: str


class Attachment(SQLModel, table=True):
    """A file that a person added to an exception; its bytes lie in the archive under their digest."""

    __tablename__ = "exception_attachment"
    __table_args__ = (UniqueConstraint("connection", "exception_id", "sha256"),)

    id: int | None = Field(default=None, primary_key=True)
    connection: str
    exception_id: str
    name: str
    size: int
    sha256: str
    who: str
    at: datetime = moment(optional=False)


class Mention(SQLModel, table=True):
    """A person named in a comment, by their login; `seen_at` is when they opened the exception after it."""

    __tablename__ = "mention"
    __table_args__ = (Index("ix_mention_connection_login", "connection", "login"),)

    comment_id: int = Field(primary_key=True)
    login: str = Field(primary_key=True)
    connection: str
    exception_id: str = Field(index=True)
    at: datetime = moment(optional=False)
    author: str
    seen_at: datetime | None = moment()


class Decision(SQLModel, table=True):
    """What a person decided about a pair or an exception: a constraint on every later run."""

    __tablename__ = "decision"

    id: int | None = Field(default=None, primary_key=True)
    connection: str = Field(index=True)
    kind: str
    resource_id: str = ""
    doc_key: str = ""
    amount: int | None = minor_units()
    reason_type: str = Field(default="", sa_column_kwargs={"server_default": ""})
    reason: str
    author: str
    at: datetime = moment(optional=False)
    undone_by: int | None = None


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
