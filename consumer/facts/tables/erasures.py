"""People whose data was erased, known by keyed digests alone, and what their erasing touched."""

from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Field, SQLModel

from consumer.facts.tables.types import moment

# Kinds of marks: a digest by which later facts are known, a run, a closed period, a file of the archive.
SUBJECT, RUN, PERIOD, FILE = "subject", "run", "period", "file"


class Erasure(SQLModel, table=True):
    """One call of `cuadre erase`; without `finished_at` it was cut off."""

    __tablename__ = "erasure"

    id: int | None = Field(default=None, primary_key=True)
    at: datetime = moment(optional=False)
    who: str
    finished_at: datetime | None = moment()
    replaced: int = 0


class ErasureMark(SQLModel, table=True):
    __tablename__ = "erasure_mark"

    kind: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    erasure_id: int


class ErasingKey(SQLModel, table=True):
    """The key that tokens and digests are made with, under the secret key; one row, from the first erasing on."""

    __tablename__ = "erasing_key"

    label: str = Field(primary_key=True)
    encrypted: bytes = Field(sa_type=sa.LargeBinary)
