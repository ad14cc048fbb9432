"""What the value of a setting may be: lists, addresses, secrets, times of day, tax ids."""

import re
from datetime import time
from typing import Annotated, Any
from urllib.parse import urlsplit

import sqlalchemy as sa
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from consumer.facts.taxids import TaxIdError, to_tax_id

_VISIBLE = re.compile(r"[!-~]+")


def _to_list(value: Any) -> Any:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _check_url(value: str) -> str:
    parts = urlsplit(value)
    try:
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise ValueError("must be an http or https address")
    return value.rstrip("/")


def _check_secrets(values: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
    if any(not value.get_secret_value().strip() for value in values):
        raise ValueError("holds an empty secret")
    return tuple(map(_check_key, values))


def _check_key(value: SecretStr) -> SecretStr:
    if not _VISIBLE.fullmatch(value.get_secret_value()):
        raise ValueError("holds a blank, a control character or a letter outside ASCII")
    return value


def _check_database(value: str) -> str:
    try:
        url = sa.make_url(value)
    except sa.exc.ArgumentError:
        raise ValueError("must look like sqlite:///file or postgresql+psycopg://user@host/name") from None
    if url.drivername not in {"sqlite", "postgresql+psycopg"}:
        raise ValueError("must begin with sqlite:/// or postgresql+psycopg://")
    if url.drivername == "sqlite" and url.database in {None, "", ":memory:"}:
        raise ValueError("must name a file: what lies in memory alone is lost")
    return value


def _check_engine(value: str) -> str:
    if value != "local":
        raise ValueError("only local is there; runs on an existing cluster are not built yet")
    return value


def _to_time(value: Any) -> Any:
    if isinstance(value, str):
        if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?", value):
            raise ValueError("must be a local time such as 03:15")
        return time.fromisoformat(value)
    return value


def check_tax_id(value: str | None, country: str, *, name: str = "tax_id") -> None:
    """Raise ValueError, without the id itself, if it is none of the country."""
    try:
        if value is not None:
            to_tax_id(value, country)
    except TaxIdError:
        form = "an RFC of 12 or 13 characters" if country == "mx" else "a RUT with its check digit"
        raise ValueError(f"{name} is not {form}") from None


Url = Annotated[str, AfterValidator(_check_url)]
Texts = Annotated[tuple[str, ...], BeforeValidator(_to_list)]
Secrets = Annotated[tuple[SecretStr, ...], BeforeValidator(_to_list), AfterValidator(_check_secrets)]
Key = Annotated[SecretStr, Field(min_length=1), AfterValidator(_check_key)]
# A year at most, so that no sum of times leaves the calendar.
Seconds = Annotated[int, Field(ge=0, le=31_536_000)]
Database = Annotated[str, AfterValidator(_check_database)]
Engine = Annotated[str, AfterValidator(_check_engine)]
TimeOfDay = Annotated[time, BeforeValidator(_to_time)]
