"""What changed between two runs, and which change of the inputs caused it; pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pandas import DataFrame

KEYS = ("kind", "subject", "before", "after", "cause")
_NOTHING = ""


@dataclass(frozen=True, slots=True)
class Change:
    kind: str
    subject: str
    before: str
    after: str
    cause: str = _NOTHING


@dataclass(frozen=True, slots=True)
class Published:
    """One run's published words by subject: payouts, lines, documents, exceptions."""

    payouts: Mapping[str, str]
    lines: Mapping[str, str]
    documents: Mapping[str, str]
    exceptions: Mapping[str, str]


def compare(before: Published, after: Published) -> Iterator[Change]:
    for kind, old, new in (
        ("payout", before.payouts, after.payouts),
        ("item", before.lines, after.lines),
        ("document", before.documents, after.documents),
        ("exception", before.exceptions, after.exceptions),
    ):
        for subject in sorted(old.keys() | new.keys()):
            was, is_now = old.get(subject, _NOTHING), new.get(subject, _NOTHING)
            if was != is_now:
                yield Change(kind, subject, was, is_now)


@dataclass(frozen=True, slots=True)
class Causes:
    """Which rows of the inputs differ between two runs, by the ids that results are known by."""

    by_id: Mapping[str, tuple[str, ...]]
    everywhere: tuple[str, ...]


# Which columns of an input row name things that results are about.
_IDS = {
    "payouts": ("payout_id",),
    "items": ("resource_id", "payout_id", "parent_id"),
    "documents": ("doc_key",),
    "disputes": ("resource_id", "dispute_id"),
    "fees": ("payout_id", "resource_id"),
    "conflicts": ("resource_id", "event_id"),
    "decisions": ("resource_id", "doc_key"),
}
_WORDS = {
    "payouts": "payout",
    "items": "item",
    "documents": "document",
    "disputes": "dispute",
    "fees": "fee",
    "conflicts": "event conflict",
    "decisions": "decision",
}
_EVERYWHERE = ("as_of", "calendar", "tariff", "rules", "rules_code", "scope")


def find_causes(
    old: Mapping[str, Any], new: Mapping[str, Any], frames: Iterable[tuple[str, DataFrame, DataFrame]]
) -> Causes:
    """Compare two manifests and those input frames whose digests differ."""
    everywhere = [
        f"{name.replace('_', ' ')} {_short(old[name])} → {_short(new[name])}"
        for name in _EVERYWHERE
        if old[name] != new[name]
    ]
    by_id: dict[str, list[str]] = {}
    for name, before, after in frames:
        if name not in _IDS:
            everywhere.append(f"{name} changed")
            continue
        for word, row in _changed_rows(name, before, after):
            for column in _IDS[name]:
                if isinstance(row[column], str):
                    by_id.setdefault(row[column], []).append(word)
    return Causes({key: tuple(dict.fromkeys(words)) for key, words in by_id.items()}, tuple(everywhere))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= 40 else f"{text[:37]}…"  # noqa: PLR2004 - fits a cell


def _changed_rows(name: str, before: DataFrame, after: DataFrame) -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows in one frame only; a row whose identity is in both was changed, else it is new or gone."""
    both = before.merge(after, how="outer", indicator=True)
    differing = both[both["_merge"] != "both"]
    identity = list(_IDS[name])
    repeated = differing.duplicated(identity, keep=False)
    for (_, row), is_repeated in zip(differing.iterrows(), repeated, strict=True):
        is_old = row["_merge"] == "left_only"
        if is_repeated and is_old:
            continue
        how = "changed" if is_repeated else ("gone" if is_old else "new")
        yield f"{_WORDS[name]} {how}", {column: row[column] for column in identity}


def explain(changes: Iterable[Change], causes: Causes, related: Mapping[str, Iterable[str]]) -> Iterator[Change]:
    """Name the cause of each change: its own input row, one it was matched with, else what changed for all."""
    for change in changes:
        ids = [change.subject, *related.get(change.subject, ())]
        words = [f"{word} ({identity})" for identity in ids for word in causes.by_id.get(identity, ())]
        named = list(dict.fromkeys(words)) or list(causes.everywhere) or ["another row of the same block changed"]
        yield Change(change.kind, change.subject, change.before, change.after, "; ".join(named))
