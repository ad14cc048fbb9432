"""Which rows of the large tables changed, as triggers of the database note it, and what was remembered up to where."""

import sqlalchemy as sa
from sqlmodel import Field, SQLModel


class FactChange(SQLModel, table=True):
    """A row of a large table came, went, or altered in a column that a run reads; without a key, any row may have.

    Migration 0004 makes the triggers. Rows go when the tables are remembered anew, together with a new token.
    """

    __tablename__ = "fact_change"
    # The number of a row that went is never given again: what was seen is told by numbers.
    __table_args__ = {"sqlite_autoincrement": True}

    id: int | None = Field(
        default=None, sa_column=sa.Column(sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True)
    )
    of_table: str
    connection: str
    key: str | None = None
    # On PostgreSQL, where numbers are not in the order of commits: the transaction that made the change.
    transaction_id: int | None = Field(default=None, sa_type=sa.BigInteger)


class RememberedTables(SQLModel, table=True):
    """The one set of remembered tables of a connection that may be believed: the digest of its manifest."""

    __tablename__ = "remembered_tables"

    connection: str = Field(primary_key=True)
    token: str
