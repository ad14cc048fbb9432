"""What is known of a row, one fact after the other, before it is written out for anybody."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple


class Fact(NamedTuple):
    """One thing known about something; its whole numbers are minor units of the currency, or how many."""

    about: str
    name: str
    value: Any
    currency: str | None = None


def facts_of(about: str, columns: Mapping[str, Any]) -> Iterator[Fact]:
    """Give what is known of a row; what is not known is left out."""
    currency = columns.get("currency")
    return (Fact(about, name, value, currency) for name, value in columns.items() if value is not None)


def evidence_of(about: str, currency: str, text: str) -> Iterator[Fact]:
    return (Fact(about, name, value, currency) for name, value in json.loads(text or "{}").items())
