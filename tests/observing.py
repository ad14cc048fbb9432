"""A provider object as the row it becomes, for tests that look at columns."""

from collections.abc import Mapping
from typing import Any

from consumer.facts.tables.provider import ProviderObject
from consumer.facts.versions import to_values
from consumer.provider.rows import Observation, observe


def to_row(kind: str, data: Mapping[str, object], seen: Observation) -> ProviderObject:
    known = observe(kind, data, seen)
    return known.table(**to_values(known))


def columns(row: ProviderObject) -> dict[str, Any]:
    return row.model_dump(exclude={"body", "written_at"})
