"""What the merchant's own system says of its orders."""

from datetime import date, datetime

from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import minor_units, moment


class OrderAnswer(SQLModel, table=True):
    """The newest answer about one order: not delivered where it has no day, as also if the system has no such order."""

    __tablename__ = "order_answer"

    connection: str = Field(primary_key=True)
    order_ref: str = Field(primary_key=True)
    delivered_on: date | None = None
    amount: int | None = minor_units()
    currency: str | None = None
    # The business day it was asked for: the same night asked again is the same answer.
    asked_on: date
    asked_at: datetime = moment(optional=False)
