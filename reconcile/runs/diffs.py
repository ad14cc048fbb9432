"""What changed between two runs, and which change of the inputs caused it; pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pandas import DataFrame

from reconcile.rules.columns import BETWEEN, to_one_array

KEYS = ("kind", "subject", "before", "after", "cause")
_NOTHING = ""
_NONE = "\x1e"
# What a cell of a table shows of a long value.
_LONGEST = 40


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
    "unknown_customers": ("resource_id",),
}
_WORDS = {
    "payouts": "payout",
    "items": "item",
    "documents": "document",
    "disputes": "dispute",
    "fees": "fee",
    "conflicts": "event conflict",
    "decisions": "decision",
    "unknown_customers": "unknown customer",
}
_EVERYWHERE = ("as_of", "calendar", "tariff", "rules", "rules_code", "scope")


def find_causes(
    old: Mapping[str, object], new: Mapping[str, object], frames: Iterable[tuple[str, DataFrame, DataFrame]]
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
            # Two versions may give different digests of the same cells.
            everywhere += [] if before.equals(after) else [f"{name} changed"]
            continue
        for word, row in _changed_rows(name, before, after):
            for column in _IDS[name]:
                if isinstance(identity := row[column], str):
                    by_id.setdefault(identity, []).append(word)
    return Causes({key: tuple(dict.fromkeys(words)) for key, words in by_id.items()}, tuple(everywhere))


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}…"


def _changed_rows(name: str, before: DataFrame, after: DataFrame) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield rows that one frame has alone; if both have its identity it was changed, else it is new or gone."""
    identity = list(_IDS[name])
    both = _narrowed(before, after, identity)
    differing = both[0].merge(both[1], how="outer", indicator=True).query("_merge != 'both'")
    repeated = differing.duplicated(identity, keep=False)
    rows = differing[identity].to_dict("records")
    for row, side, is_repeated in zip(rows, differing["_merge"], repeated, strict=True):
        is_old = side == "left_only"
        if is_repeated and is_old:
            continue
        how = "changed" if is_repeated else ("gone" if is_old else "new")
        yield f"{_WORDS[name]} {how}", {column: row[column] for column in identity}


def _narrowed(before: DataFrame, after: DataFrame, identity: list[str]) -> tuple[DataFrame, DataFrame]:
    """Keep rows whose identity has another first row on the other side; all others are the same in both frames."""
    old, new = (pa.Table.from_pandas(frame, preserve_index=False) for frame in (before, after))
    old_ids, new_ids = (_joined(table, identity) for table in (old, new))
    gone = _unlike(old, old_ids, new, new_ids)
    # If no identity repeats, a row that has a first row on the other side was compared with it already.
    is_plain = pc.count_distinct(new_ids).as_py() == len(new_ids)
    come = pc.index_in(new_ids, value_set=old_ids).is_null() if is_plain else _unlike(new, new_ids, old, old_ids)
    ids = pa.concat_arrays([old_ids.filter(gone), new_ids.filter(come)])
    masks = (pc.is_in(own, value_set=ids).to_numpy(zero_copy_only=False) for own in (old_ids, new_ids))
    kept = (frame[mask] for frame, mask in zip((before, after), masks, strict=True))
    return next(kept), next(kept)


def _joined(table: pa.Table, names: list[str]) -> pa.Array:
    columns = [table[name].cast(pa.large_string()) for name in names]
    return to_one_array(pc.binary_join_element_wise(*columns, BETWEEN, null_handling="replace", null_replacement=_NONE))


def _unlike(table: pa.Table, ids: pa.Array, other: pa.Table, others: pa.Array) -> pa.Array:
    """Return which rows differ from the first row of their identity on the other side, or have none there."""
    places = pc.index_in(ids, value_set=others)
    unlike = places.is_null()
    for name in table.column_names:
        mine, theirs = to_one_array(table[name]), to_one_array(other[name]).take(places)
        same = pc.or_kleene(pc.equal(mine, theirs), pc.and_(mine.is_null(), theirs.is_null()))
        unlike = pc.or_(unlike, pc.invert(same.fill_null(False)))
    return unlike


def explain(changes: Iterable[Change], causes: Causes, related: Mapping[str, Iterable[str]]) -> Iterator[Change]:
    """Yield each change with its cause: its own input row, one it was matched with, else what changed for all."""
    for change in changes:
        ids = [change.subject, *related.get(change.subject, ())]
        words = [f"{word} ({identity})" for identity in ids for word in causes.by_id.get(identity, ())]
        named = list(dict.fromkeys(words)) or list(causes.everywhere) or ["another row of the same block changed"]
        yield Change(change.kind, change.subject, change.before, change.after, "; ".join(named))
