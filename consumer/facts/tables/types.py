"""Types of columns that tables share, times that are always aware UTC and money; and the table of a model."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlmodel import Field, SQLModel


def core_of(table: type[SQLModel]) -> sa.Table:
    """Return the table of a model, for statements; SQLModel does not declare it."""
    return table.metadata.tables[str(table.__tablename__)]


class UtcDateTime(sa.TypeDecorator[datetime]):
    """Refuses naive times on the way in and returns aware UTC on the way out, on both databases."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Any:
        # One C call a value: the library's own way through three layers costs more than the statement.
        return _to_text if dialect.name == "sqlite" else super().bind_processor(dialect)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return _from_text if dialect.name == "sqlite" else super().result_processor(dialect, coltype)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _to_text(value: datetime | None) -> str | None:
    if value is None:
        return None
    if value.tzinfo is None:
        raise ValueError("a time without a zone cannot be stored")
    moment = value if value.tzinfo is UTC else value.astimezone(UTC)
    return moment.isoformat(" ", "microseconds").removesuffix("+00:00")


def _from_text(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)


def moment(*, optional: bool = True, index: bool = False) -> Any:
    """Declare a column of aware UTC time."""
    return Field(default=None if optional else ..., sa_type=UtcDateTime, nullable=optional, index=index)


def minor_units(*, optional: bool = True) -> Any:
    """Declare a column of money; 32 bits would end at 21 million pesos of centavos."""
    return Field(default=None if optional else ..., sa_type=sa.BigInteger, nullable=optional)
