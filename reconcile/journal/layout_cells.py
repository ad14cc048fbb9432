"""Pure: cells of a layout: dates, amounts and texts as it wants them, and a note of every text that had to change."""

import re
import unicodedata
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from operator import itemgetter

from consumer.facts.messages import RefusalError
from consumer.facts.money import format_decimal
from reconcile.journal.profiles import AMOUNTS, COUNTS, DATES, Column, Profile

_NAMESPACE = uuid.UUID("5f1c1f0e-8f2b-4a53-9d2f-0c6a3b1f7d10")
# Fields that are made of another one where a layout asks for them.
_UUIDS = {"entry_uuid": "entry_id", "line_uuid": "line_id"}
# The fields of a line by name: text, a whole number, or a date.
Fields = Mapping[str, str | int | date]
Cell = Callable[[Fields], str]


class LayoutError(RefusalError):
    """What a layout cannot hold; the message names the profile, the entry and the value."""


def amount_of(fields: Fields, name: str) -> int:
    """Return a field that is an amount, in minor units."""
    amount = fields[name]
    if not isinstance(amount, int):
        raise TypeError(f"{name} is no amount")
    return amount


@dataclass(slots=True)
class Notes:
    """How many texts of each column were changed to fit, and the first of them.

    `undone` are payments that were taken off their document, which a layout of payments cannot say, and `unnamed` those
    that it has no place for, since a field that it requires is empty.
    """

    changed: dict[str, int] = field(default_factory=dict)
    first: dict[str, tuple[str, str]] = field(default_factory=dict)
    undone: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)

    def add(self, column: str, before: str, after: str) -> None:
        self.changed[column] = self.changed.get(column, 0) + 1
        self.first.setdefault(column, (before, after))


def to_cell(column: Column, profile: Profile, options: Mapping[str, str], notes: Notes) -> Cell:
    """Return what writes one column of a layout."""
    write = _to_writer(column, profile, options, notes)
    if column.first:
        write = _only(write, lambda fields: fields["line"] == 1)
    if column.keys:
        write = _only(write, lambda fields: fields["account_key"] in column.keys)
    return _to_padded(column, profile, write) if column.width else write


def _only(write: Cell, is_wanted: Callable[[Fields], bool]) -> Cell:
    return lambda fields: write(fields) if is_wanted(fields) else ""


def _to_writer(column: Column, profile: Profile, options: Mapping[str, str], notes: Notes) -> Cell:
    source = column.source
    if not source:
        return lambda _: column.const
    if source.startswith("option:"):
        given = options[source.removeprefix("option:")]
        return lambda _: given
    if source in AMOUNTS:
        return _to_amount(column, profile)
    if source in DATES:
        format_date = lru_cache(1_000)(lambda on: on.strftime(column.date))
        return lambda fields: format_date(fields[source])
    if source in _UUIDS:
        return lambda fields: str(uuid.uuid5(_NAMESPACE, str(fields[_UUIDS[source]]))).upper()
    if column.map:
        return lambda fields: column.map.get(str(fields[source]), str(fields[source]))
    if column == Column(title=column.title, source=source) and not profile.text.allow:
        return itemgetter(source) if source not in COUNTS else lambda fields: str(fields[source])
    return _to_text(column, profile, notes)


def _to_amount(column: Column, profile: Profile) -> Cell:
    source, zero, mark = column.source, column.zero, "." if profile.file.kind == "xlsx" else profile.file.decimal
    most, whole = column.width or column.max, column.whole

    def write(fields: Fields) -> str:
        amount = amount_of(fields, source)
        if amount == 0 and zero is not None:
            return zero
        text = format_decimal(amount, str(fields["currency"]))
        if 0 < most < len(text) or 0 < whole < len(text.partition(".")[0].lstrip("-")):
            raise LayoutError(
                "journal.amount_too_wide", profile=profile.name, entry=str(fields["entry_id"]), amount=text,
                most=whole or most,
            )  # fmt: skip
        return text if mark == "." else text.replace(".", mark)

    return write


def _to_text(column: Column, profile: Profile, notes: Notes) -> Cell:
    source, most = column.source, column.width or column.max
    title = column.title or source
    clean = _to_cleaner(profile)
    kept = re.compile(f"[^{column.keep}]") if column.keep else None
    forbidden = re.compile(f"[^{profile.text.allow}]") if profile.text.allow and not column.cut else None

    def write(fields: Fields) -> str:
        raw = str(fields[source])
        if kept is not None:
            raw = kept.sub("", raw)
        if forbidden is not None and (found := forbidden.search(raw)):
            raise LayoutError(
                "journal.text_forbidden", profile=profile.name, column=title, entry=str(fields["entry_id"]), text=raw,
                letter=found[0],
            )  # fmt: skip
        text = clean(raw) if column.cut else raw
        if most and len(text) > most:
            if not column.cut:
                raise LayoutError(
                    "journal.text_too_long", profile=profile.name, column=title, entry=str(fields["entry_id"]),
                    text=text, most=most,
                )  # fmt: skip
            text = text[:most].rstrip()
        if text != raw:
            notes.add(title, raw, text)
        if text and column.prefix:
            text = column.prefix + text
        if column.required and not text and source == "owner_tax_id":
            raise LayoutError("journal.no_owner", profile=profile.name)
        if column.required and not text:
            raise LayoutError("journal.text_missing", profile=profile.name, column=title, entry=str(fields["entry_id"]))
        return text

    return write


def _to_cleaner(profile: Profile) -> Callable[[str], str]:
    """Return what takes from a text the characters that the layout forbids or its encoding lacks."""
    rule, encoding = profile.text, profile.file.encoding
    forbidden = re.compile(f"[^{rule.allow}]+") if rule.allow else None
    escape = str.maketrans(rule.escape)

    def clean(text: str) -> str:
        text = " ".join(text.split())
        if rule.plain:
            text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
        if rule.upper:
            text = text.upper()
        if forbidden is not None:
            text = " ".join(forbidden.sub(" ", text).split())
        if encoding not in {"utf-8", "utf-8-sig"}:
            text = text.encode(encoding, "ignore").decode(encoding)
        return text.translate(escape)

    return clean


def _to_padded(column: Column, profile: Profile, write: Cell) -> Cell:
    width, pad, title = column.width, column.pad, column.title or column.source

    def pad_cell(fields: Fields) -> str:
        text = write(fields)
        if len(text) > width:
            raise LayoutError(
                "journal.text_too_long", profile=profile.name, column=title, entry=str(fields.get("entry_id", "")),
                text=text, most=width,
            )  # fmt: skip
        return text.rjust(width, pad) if column.align == "right" else text.ljust(width, pad)

    return pad_cell
