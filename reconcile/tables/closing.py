"""What closing a period keeps: who closed it, the figures as they stood, and what later facts changed of them."""

from datetime import date, datetime

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from consumer.facts.tables.columns import moment

# What lists show of a period, in their order.
PERIOD_KEYS = (
    "connection", "period", "since", "until", "state", "closed_by", "closed_at", "reason", "adjustments", "reopened_by",
    "reopened_at", "reopened_for", "run_id",
)  # fmt: skip


class Period(SQLModel, table=True):
    """Days whose books a person closed; `ends_at` is the first instant after its last day. Reopening keeps the row."""

    __tablename__ = "period"

    id: int | None = Field(default=None, primary_key=True)
    connection: str = Field(index=True)
    since: date | None = None
    until: date
    ends_at: datetime = moment(optional=False)
    run_id: str
    reason: str
    closed_by: str
    closed_at: datetime = moment(optional=False)
    reopened_by: str = ""
    reopened_at: datetime | None = moment()
    reopened_for: str = ""

    @property
    def state(self) -> str:
        return "closed" if self.reopened_at is None else "reopened"


class ClosedFigure(SQLModel, table=True):
    """One payout, item or document of a closed period as it stood."""

    __tablename__ = "closed_figure"

    period_id: int = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    subject: str = Field(primary_key=True)
    words: str


class PeriodAdjustment(SQLModel, table=True):
    """What a later run found otherwise in a closed period: the closed figure stays as it was."""

    __tablename__ = "adjustment"
    __table_args__ = (Index("adjustment_subject", "period_id", "kind", "subject"),)

    id: int | None = Field(default=None, primary_key=True)
    period_id: int
    run_id: str
    kind: str
    subject: str
    before: str
    after: str
    found_at: datetime = moment(optional=False)
