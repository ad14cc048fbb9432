"""What is kept of people, as personal.toml declares it."""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import sqlalchemy as sa
from sqlmodel import SQLModel

from consumer.facts import tables as provider_tables
from consumer.facts.tables.provider import ProviderObject, SaleObject
from reconcile import tables as own_tables

BODY, NAME, VALUE, TEXT, RAW, DOCUMENT, PACKED = "body", "name", "value", "text", "raw", "document", "packed"
# What an erasing rewrites; what staff leave goes by its age.
REWRITTEN = {BODY, NAME, VALUE, TEXT, RAW, DOCUMENT, PACKED}
_PACKAGES = (provider_tables, own_tables)
KEPT_KEYS = ("place", "column", "kind", "what")


@cache
def list_tables() -> list[sa.Table]:
    """Return every table there is, also those that this process has not needed yet."""
    kept = [f"{package.__name__}.{one.name}" for package in _PACKAGES for one in iter_modules(package.__path__)]
    for place in (*kept, "reports.tables"):
        import_module(place)
    return SQLModel.metadata.sorted_tables


@cache
def read_declared() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("personal.toml").read_text(encoding="utf-8"))


def objects_of_provider() -> list[sa.Table]:
    classes = {*ProviderObject.__subclasses__(), *SaleObject.__subclasses__()} - {SaleObject}
    names = {str(one.__tablename__) for one in classes}
    return [table for table in list_tables() if table.name in names]


def columns_of(table: sa.Table) -> Mapping[str, str]:
    """Return the kind of each personal column of a table."""
    found = read_declared()
    own: dict[str, str] = dict(found["tables"].get(table.name, {}))
    if table in objects_of_provider():
        own |= found["provider"]
    return {name: text.partition(":")[0] for name, text in own.items()}


def list_kept() -> Iterator[dict[str, str]]:
    """Yield what is kept of people: columns, files, and how long each class stays."""
    found = read_declared()
    places = {"every object of the provider": found["provider"], **found["tables"]}
    for place, columns in places.items():
        for column, text in columns.items():
            kind, _, what = text.partition(": ")
            yield {"place": place, "column": column, "kind": kind, "what": what}
    for place, what in found["files"].items():
        yield {"place": place, "column": "", "kind": "file", "what": what}
    for place, what in found["retention"].items():
        yield {"place": place, "column": "", "kind": "kept for", "what": what}
