"""All that is known of one provider object, and the join of two observations: pure, and the same in any order.

An observation's version is (version_at, version_rank, version_event). Every top-level field of the body is decided
on its own: the newest observation that carries it wins, and equal versions are decided by the larger text. Fields
that the newest observation lacks stay, and the body's `cuadre:kept` says from which version each of those is.
Columns are read again from the joined body; columns that say when a state was first reached take the earliest.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from consumer.facts.clock import format_instant, to_instant
from consumer.facts.tables.columns import core_of
from consumer.facts.tables.provider import ProviderObject

KEPT = "cuadre:kept"
# Stands in a text for each character that no text column holds.
REPLACED = "\N{REPLACEMENT CHARACTER}"

Version = tuple[datetime, int, str]
Reread = Callable[[Mapping[str, Any]], dict[str, Any]]
Table = type[ProviderObject]
Key = tuple[str, str, str]


class MixedModes(Exception):  # noqa: N818 - says what was found
    """The same id was seen in live and in test mode of one connection, which must never happen."""


@dataclass(frozen=True, slots=True)
class _Reading:
    reread: Reread
    earliest: tuple[str, ...]
    empty: dict[str, None]


_READINGS: dict[Table, _Reading] = {}


def register(table: Table, reread: Reread, earliest: tuple[str, ...]) -> None:
    """Tell how a table's columns are read from a body, and which of its columns keep the earliest time seen."""
    empty = dict.fromkeys(column.name for column in core_of(table).columns)
    _READINGS[table] = _Reading(reread, earliest, empty)


class Known(msgspec.Struct):
    """An object's body, whose fields come from `version` but for those that `kept` names with another.

    `ready` spares reading the columns and writing the body of one lone observation twice; `stored` is the row this
    was read from, if any.
    """

    table: Table
    connection: str
    id: str
    mode: str
    version: Version
    body: dict[str, Any]
    kept: dict[str, Version]
    reached: dict[str, datetime | None]
    gone_at: datetime | None
    ready: tuple[dict[str, Any], str] | None = None
    stored: dict[str, Any] | None = None

    @property
    def key(self) -> Key:
        return (str(self.table.__tablename__), self.connection, self.id)

    def candidate(self, name: str) -> tuple[Version, Any]:
        return (self.kept.get(name, self.version), self.body[name])


def from_row(row: ProviderObject) -> Known:
    return from_values(type(row), {column.name: getattr(row, column.name) for column in core_of(type(row)).columns})


def from_values(table: Table, values: dict[str, Any]) -> Known:
    version = (values["version_at"], values["version_rank"], values["version_event"])
    body = read_json(values["body"])
    kept = {name: _to_version(mark) for name, mark in body.pop(KEPT, {}).items()}
    return Known(
        table=table,
        connection=values["connection"],
        id=values["id"],
        mode=values["mode"],
        version=version,
        body=body,
        kept=kept,
        reached={name: values[name] for name in _READINGS[table].earliest},
        gone_at=values["gone_at"],
    )


def to_values(known: Known) -> dict[str, Any]:
    """Every column of the row that holds what is known."""
    reading = _READINGS[known.table]
    columns, text = known.ready or _reread(known, reading)
    at, rank, event = known.version
    own = {
        "connection": known.connection,
        "id": known.id,
        "mode": known.mode,
        "version_at": at,
        "version_rank": rank,
        "version_event": event,
        "gone_at": known.gone_at,
        "body": text,
    }
    return reading.empty | columns | known.reached | own


def _reread(known: Known, reading: _Reading) -> tuple[dict[str, Any], str]:
    kept = {name: _to_mark(version) for name, version in known.kept.items()}
    return reading.reread(known.body), to_json(known.body | {KEPT: kept} if kept else known.body)


def to_row(known: Known) -> ProviderObject:
    """The row as an object, for whoever wants to look at one."""
    return known.table(**to_values(known))


def join(ours: Known, theirs: Known) -> Known:
    if ours.mode != theirs.mode:
        raise MixedModes(f"{ours.table.__tablename__} {ours.id} is {ours.mode} here and {theirs.mode} there")
    version = max(ours.version, theirs.version)
    body: dict[str, Any] = {}
    kept: dict[str, Version] = {}
    for name in ours.body | theirs.body:
        candidates = [one.candidate(name) for one in (ours, theirs) if name in one.body]
        decided, body[name] = _newer(*candidates) if len(candidates) > 1 else candidates[0]
        if decided != version:
            kept[name] = decided
    reached = {name: _earliest(at, theirs.reached[name]) for name, at in ours.reached.items()}
    gone_at = ours.gone_at if ours.gone_at is not None and version[0] <= ours.gone_at else None
    return Known(
        table=ours.table,
        connection=ours.connection,
        id=ours.id,
        mode=ours.mode,
        version=version,
        body=body,
        kept=kept,
        reached=reached,
        gone_at=gone_at,
        stored=ours.stored,
    )


def _newer(ours: tuple[Version, Any], theirs: tuple[Version, Any]) -> tuple[Version, Any]:
    if ours[0] != theirs[0]:
        return ours if ours[0] > theirs[0] else theirs
    return max(ours, theirs, key=lambda candidate: json.dumps(candidate[1], sort_keys=True))


def _earliest(ours: datetime | None, theirs: datetime | None) -> datetime | None:
    return min((at for at in (ours, theirs) if at is not None), default=None)


def _to_mark(version: Version) -> list[Any]:
    return [format_instant(version[0]), version[1], version[2]]


def _to_version(mark: list[Any]) -> Version:
    return (to_instant(mark[0]), mark[1], mark[2])


def read_json(text: str | bytes) -> Any:
    """Read JSON whose numbers a machine can hold; what no double holds is a ValueError, as broken text is."""
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeError):
        # Half a surrogate pair, as a cut emoji leaves it, is legal JSON, and the quick reader refuses it.
        return json.loads(text, parse_float=_finite, parse_constant=_finite)


def to_json(body: Mapping[str, Any]) -> str:
    """Write what `read_json` read as JSON text any database stores."""
    try:
        return msgspec.json.format(_encode(body), indent=0).decode()
    except UnicodeEncodeError:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, sort_keys=True)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def to_storable(text: str) -> str:
    """Replace what no text column holds by U+FFFD: NUL, and half a surrogate pair, as `to_json` does in a body."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", REPLACED)


def replaced_columns(row: Mapping[str, Any]) -> list[str]:
    """Name the columns of a row in which a character was replaced; the body still has a NUL as it was sent."""
    if "\\u0000" not in row["body"] and REPLACED not in row["body"]:
        return []
    return [name for name, value in row.items() if isinstance(value, str) and name != "body" and REPLACED in value]


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is larger than any number")
    return number


_decode: Callable[[str | bytes], Any] = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="sorted").encode
