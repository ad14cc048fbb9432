"""Facts as a person reads them on a terminal: amounts with their currency, moments, words; pure."""

import json
from collections.abc import Mapping
from typing import Any

from consumer.facts.money import format_decimal
from reconcile.exceptions.life import DATA_GAP
from reconcile.kept.facts import Fact
from reconcile.rules.outcomes import COUNTED

# Whole numbers that are no amounts: those of evidence, and of the rows themselves.
_COUNTS = COUNTED | {
    "line", "payments_count", "charges_count", "refunds_count", "matched_count", "unmatched_count", "exceptions",
}  # fmt: skip


def to_plain(fact: Fact) -> Any:
    """Write amounts as decimal text in major units, as every JSON answer does."""
    if isinstance(fact.value, dict):
        return {name: to_plain(fact._replace(name=name, value=value)) for name, value in fact.value.items()}
    if isinstance(fact.value, list):
        return [to_plain(fact._replace(value=value)) for value in fact.value]
    return format_decimal(fact.value, str(fact.currency)) if _is_amount(fact) else fact.value


def to_words(fact: Fact) -> str:
    """Write a fact out; parts of it stand after each other with their names."""
    value = fact.value
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        parts = (fact._replace(name=name, value=part) for name, part in value.items() if part is not None)
        return ", ".join(f"{part.name.replace('_', ' ')} {to_words(part)}" for part in parts)
    if isinstance(value, list):
        return _listed(
            [to_words(fact._replace(value=part)) for part in value], are_sets=isinstance(next(iter(value), None), list)
        )
    if _is_amount(fact):
        return f"{format_decimal(value, str(fact.currency))} {fact.currency}"
    return str(value)


def about(row: Mapping[str, Any]) -> str:
    """Name what an exception is about in one line: its resource, document or payout, else its subject."""
    named = row["resource_id"] or row["doc_key"] or row["payout_id"]
    if named:
        return str(named)
    kind, _, name = row["subject"].partition(":")
    if row["code"] != DATA_GAP:
        return f"{kind} {name}"
    starts = [gap["since"] for gap in json.loads(row["evidence"])["gaps"]]
    return f"{name}, since {'its beginning' if None in starts else min(starts)}"


def _is_amount(fact: Fact) -> bool:
    if not isinstance(fact.value, int) or isinstance(fact.value, bool) or fact.currency is None:
        return False
    # Of a document the word means how many, of a payout how much.
    is_counted = fact.name == "payments" and fact.about.startswith("document ")
    return fact.name not in _COUNTS and not is_counted


def _listed(parts: list[str], *, are_sets: bool) -> str:
    return "; ".join(part.replace(", ", " + ") for part in parts) if are_sets else ", ".join(parts)
