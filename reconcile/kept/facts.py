"""What is known of a row, one fact after the other, before it is written out."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from consumer.facts.columns import Column, Kind, kind_of


class Fact(NamedTuple):
    """One thing known about something; a whole number of kind money is minor units of the currency."""

    about: str
    name: str
    value: object
    currency: str | None = None
    kind: Kind = Kind.TEXT


def facts_of(about: str, row: Mapping[str, object], columns: Iterable[Column]) -> Iterator[Fact]:
    """Return what is known of a row; what is not known is left out."""
    currency = row.get("currency")
    kinds = {column.name: column.kind for column in columns}
    for name, value in row.items():
        if value is not None:
            yield Fact(about, name, value, None if currency is None else str(currency), kinds.get(name, Kind.TEXT))


def evidence_of(about: str, currency: str, text: str) -> Iterator[Fact]:
    found: dict[str, object] = json.loads(text or "{}")
    return (Fact(about, name, value, currency, kind_of_evidence(name)) for name, value in found.items())


def kind_of_evidence(name: str) -> Kind:
    """Return the kind of a whole number of evidence: an amount, unless its name is declared as something else."""
    return kind_of(name, Kind.MONEY)
