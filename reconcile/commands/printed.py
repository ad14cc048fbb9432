"""Facts as a person reads them on a terminal: amounts with their currency, moments, words; pure."""

import json
from collections.abc import Iterator, Mapping

from consumer.facts.columns import Kind
from consumer.facts.messages import say_all_stored, say_stored
from consumer.facts.money import format_decimal
from consumer.facts.store import Row
from reconcile.kept.records import Fact, kind_of_evidence
from reconcile.rules.outcomes import Code


def to_plain(fact: Fact) -> object:
    """Write amounts as decimal text in major units, as every JSON answer does."""
    if isinstance(fact.value, dict):
        return {part.name: to_plain(part) for part in _parts(fact, fact.value)}
    if isinstance(fact.value, list):
        return [to_plain(fact._replace(value=value)) for value in fact.value]
    amount = _amount_of(fact)
    return say_all_stored(fact.value) if amount is None else amount


def to_words(fact: Fact) -> str:
    """Write a fact out; parts of it stand after each other with their names."""
    value = fact.value
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        parts = (part for part in _parts(fact, value) if part.value is not None)
        return ", ".join(f"{part.name.replace('_', ' ')} {to_words(part)}" for part in parts)
    if isinstance(value, list):
        words = [to_words(fact._replace(value=part)) for part in value]
        return _join(words, are_sets=isinstance(next(iter(value), None), list))
    amount = _amount_of(fact)
    return say_stored(str(value)) if amount is None else f"{amount} {fact.currency}"


def _parts(fact: Fact, values: Mapping[str, object]) -> Iterator[Fact]:
    return (fact._replace(name=name, value=value, kind=kind_of_evidence(name)) for name, value in values.items())


def about(row: Row) -> str:
    """Name what an exception is about in one line: its resource, document or payout, else its subject."""
    named = row["resource_id"] or row["doc_key"] or row["payout_id"]
    if named:
        return str(named)
    kind, _, name = row["subject"].partition(":")
    if row["code"] != Code.DATA_GAP:
        return f"{kind} {name}"
    starts = [gap["since"] for gap in json.loads(row["evidence"])["gaps"]]
    return f"{name}, since {'its beginning' if None in starts else min(starts)}"


def in_english(row: Mapping[str, object]) -> Row:
    """Return a row with its stored messages as sentences."""
    return {name: say_all_stored(value) for name, value in row.items()}


def _amount_of(fact: Fact) -> str | None:
    """Return an amount as decimal text; None where the fact is none."""
    if fact.kind is not Kind.MONEY or not isinstance(fact.value, int) or isinstance(fact.value, bool):
        return None
    return None if fact.currency is None else format_decimal(fact.value, fact.currency)


def _join(parts: list[str], *, are_sets: bool) -> str:
    return "; ".join(part.replace(", ", " + ") for part in parts) if are_sets else ", ".join(parts)
