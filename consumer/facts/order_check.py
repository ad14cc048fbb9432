"""The settings of the order check: where the merchant's own system is asked, what, and within which limits."""

import re
from typing import Literal, Self
from urllib.parse import urlsplit

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from consumer.facts.addresses import is_on_this_machine

_QUESTION = re.compile(r"\s*(SELECT|WITH)\b", re.IGNORECASE)
_IN_SQL = {"order": (":orders",), "delivered": (":since", ":until")}
_IN_ADDRESS = {"order": ("{order}",), "delivered": ("{since}", "{until}")}


class OrderCheck(BaseModel):
    """`[order_check]`: two questions, in SQL where a database is given, else as addresses with places to fill."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    connection: str = "main"
    database: SecretStr | None = None
    token: SecretStr | None = None
    order: str = Field(repr=False)
    delivered: str = Field(repr=False)
    days: int = Field(default=30, ge=1, le=366)
    seconds: int = Field(default=120, ge=1, le=3600)
    rows: int = Field(default=50_000, ge=1, le=1_000_000)
    per_second: float = Field(default=5, gt=0, le=1000, allow_inf_nan=False)

    @model_validator(mode="after")
    def _check_questions(self) -> Self:
        if self.database is not None:
            _check_database(self.database.get_secret_value())
        for name in ("order", "delivered"):
            self._check_question(name)
        return self

    def _check_question(self, name: Literal["order", "delivered"]) -> None:
        text: str = getattr(self, name)
        places = (_IN_ADDRESS if self.database is None else _IN_SQL)[name]
        missing = next((place for place in places if place not in text), None)
        if missing is not None:
            raise ValueError(f"{name} has no {missing}")
        if self.database is not None and not _QUESTION.match(text):
            raise ValueError(f"{name} must be one SELECT: the check only reads")
        if self.database is None and not _is_address(text):
            raise ValueError(f"{name} must be an https address, or give a database for a question in SQL")


def _check_database(address: str) -> None:
    try:
        driver = sa.make_url(address).drivername
    except sa.exc.ArgumentError:
        driver = ""
    if driver != "postgresql+psycopg":
        raise ValueError("database must begin with postgresql+psycopg://; other systems are asked over https")


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    is_here = parts.scheme == "http" and is_on_this_machine(text)
    return bool(parts.hostname) and "{" not in parts.netloc and (parts.scheme == "https" or is_here)
