"""Alarms that stand or stood, and the messages about them: one row for each channel."""

from datetime import datetime

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import moment


class Alarm(SQLModel, table=True):
    """One cause in its latest state; `notified_at` is empty where its last change has still to be sent, or never was.

    Of an alarm that is over, `notified_at` is emptied when its end is sent.
    """

    __tablename__ = "alarm"

    connection: str = Field(primary_key=True)
    cause: str = Field(primary_key=True)
    severity: str
    since: datetime = moment(optional=False)
    seen_at: datetime = moment(optional=False)
    ended_at: datetime | None = moment()
    count: int
    amounts: str
    found: str
    mark: str = ""
    acknowledged_by: str = ""
    acknowledged_at: datetime | None = moment()
    notified_at: datetime | None = moment()
    notified_mark: str = ""


ALARM_KEYS = (
    "connection", "cause", "severity", "since", "ended_at", "count", "amounts", "found", "acknowledged_by",
    "acknowledged_at", "notified_at",
)  # fmt: skip


class AlarmMessage(SQLModel, table=True):
    """A message to one channel, kept with what it says until it is sent and shown afterwards."""

    __tablename__ = "alarm_message"
    __table_args__ = (Index("alarm_message_due", "next_try_at"),)

    id: int | None = Field(default=None, primary_key=True)
    channel: str
    kind: str
    content: str
    made_at: datetime = moment(optional=False)
    # Empty once it is sent or given up.
    next_try_at: datetime | None = moment()
    attempts: int = 0
    claimed_until: datetime | None = moment()
    sent_at: datetime | None = moment()
    error: str = ""


class SignatureCount(SQLModel, table=True):
    """How many signatures one receiver judged in a minute and how many proved nothing; kept for ten minutes."""

    __tablename__ = "signature_count"

    id: int | None = Field(default=None, primary_key=True)
    at: datetime = moment(optional=False)
    forged: int
    judged: int
