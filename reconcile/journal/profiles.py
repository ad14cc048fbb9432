"""Layouts of ledgers as data: one TOML each says what a file looks like, where that was learned and its limits."""

import csv
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from consumer.facts.messages import RefusalError

FOLDER = Path(__file__).parent / "profiles"
OPTION = "option:"
# The layout of this program, where none is named.
OWN = "journal"
# What the name of a file may hold of what it is of, besides since, until, profile and part.
PLACEHOLDERS = ("connection", "owner_tax_id", "period", "year", "month", "date")
_NAMED = dict.fromkeys((*PLACEHOLDERS, "since", "until", "days", "profile", "part"), date(2000, 1, 1))


class ProfileError(RefusalError):
    """Why a layout cannot be used; the message names the profile and the field."""


class Of(StrEnum):
    """What a record is written for, in the order of a file."""

    FILE = "file"
    OPENING = "opening"
    OTHER = "other"
    ENTRY = "entry"
    LINE = "line"
    UUID = "uuid"
    END = "end"
    BALANCE = "balance"
    ACCOUNT = "account"
    CURRENCY = "currency"


# Amounts are minor units, of which `signed` is negative on the credit side.
AMOUNTS = frozenset({"debit", "credit", "signed", "amount", "total", "balance", "doc_total"})
DATES = frozenset({"date", "next_date"})
COUNTS = frozenset({"number", "lines", "line", "place"})
_OF_FILE = frozenset({"connection", "run_id", "owner_tax_id", "period", "year", "month"})
_OF_ENTRY = _OF_FILE | {
    "entry_id", "entry_uuid", "number", "lines", "date", "next_date", "entry_type", "state", "description", "narration",
    "currency", "decimals", "total",
}  # fmt: skip
_OF_ACCOUNT = frozenset({"account", "account_name", "account_key", "account_path", "cost_centre"})
_OF_LINE = _OF_ENTRY | _OF_ACCOUNT | {
    "external_id", "line_id", "line_uuid", "line", "text", "side", "debit", "credit", "signed", "amount", "tax_id",
    "tax_id_body", "doc_type", "doc_folio", "doc_uuid", "doc_total", "doc_issuer", "doc_receiver", "operation", "means",
    "other_account", "other_account_name", "place", "reverses",
}  # fmt: skip
_OF_BALANCE = _OF_ACCOUNT | {"date", "next_date", "balance", "currency", "decimals", "entry_id"}
# What a column of each record may be of.
FIELDS: Mapping[Of, frozenset[str]] = {
    Of.FILE: _OF_FILE,
    Of.OPENING: _OF_BALANCE,
    Of.OTHER: _OF_BALANCE,
    Of.ENTRY: _OF_ENTRY,
    Of.LINE: _OF_LINE,
    Of.UUID: _OF_LINE,
    Of.END: _OF_ENTRY,
    Of.BALANCE: _OF_BALANCE,
    Of.ACCOUNT: _OF_ACCOUNT,
    Of.CURRENCY: frozenset({"currency", "decimals"}),
}


class Column(Struct, frozen=True, forbid_unknown_fields=True):
    """One cell: a field or a constant, as the layout wants it. Only text may be `cut` to its `max`.

    `first` fills it in the first line of an entry alone, `keys` in lines of these keys of the account map alone.
    `whole` is how many digits an amount may have before its decimals; `number` makes a number of a sheet's cell.
    """

    title: str = ""
    source: str = msgspec.field(name="from", default="")
    const: str = ""
    map: dict[str, str] = msgspec.field(default_factory=dict)
    date: str = "%Y-%m-%d"
    zero: str | None = None
    max: int = 0
    whole: int = 0
    width: int = 0
    align: Literal["left", "right"] = "left"
    pad: str = " "
    cut: bool = False
    keep: str = ""
    prefix: str = ""
    required: bool = False
    number: bool = False
    first: bool = False
    keys: tuple[str, ...] = ()


class Record(Struct, frozen=True, forbid_unknown_fields=True):
    """A row, an element or a piece of text. `has` writes it only where these fields have a value."""

    of: Of
    columns: tuple[Column, ...] = ()
    element: str = ""
    template: str = ""
    has: tuple[str, ...] = ()


class File(Struct, frozen=True, forbid_unknown_fields=True):
    """How a file is written. `most_lines` starts another file, between entries and never inside one.

    `summed` makes one line of all that an entry moves on one side of one account.
    """

    kind: Literal["csv", "fixed", "xlsx", "xml", "text"]
    extension: str
    encoding: Literal["utf-8", "utf-8-sig", "latin-1", "cp1252", "ascii"] = "utf-8"
    line_end: Literal["\n", "\r\n"] = "\r\n"
    separator: str = ","
    decimal: Literal[".", ","] = "."
    header: bool = True
    sheet: str = "Sheet1"
    per: Literal["export", "month", "entry"] = "export"
    most_lines: int = 0
    most_lines_an_entry: int = 0
    summed: bool = False
    name: str = "{days}_{connection}_{profile}{part}"


class Text(Struct, frozen=True, forbid_unknown_fields=True):
    """What texts may hold: `allow` is a set of characters as a regular expression writes it, without brackets."""

    allow: str = ""
    plain: bool = False
    upper: bool = False
    escape: dict[str, str] = msgspec.field(default_factory=dict)


class Option(Struct, frozen=True, forbid_unknown_fields=True):
    """A value that an export needs from its user, and what it must look like."""

    pattern: str
    example: str
    default: str | None = None


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """One layout: `source` says where it was learned, `tested` whether the product itself took a file of it.

    `also` are layouts whose files belong with these. A layout of payments names in `payments_of` the layout of the
    journal that leaves its lines out where both are asked for, and in `kinds` which lines those are; those without a
    field that it requires stay in the journal.
    """

    title: str
    source: str
    tested: str
    file: File
    record: tuple[Record, ...]
    limits: tuple[str, ...] = ()
    countries: tuple[Literal["cl", "mx"], ...] = ()
    text: Text = Text()
    options: dict[str, Option] = msgspec.field(default_factory=dict)
    also: tuple[str, ...] = ()
    payments_of: str = ""
    kinds: frozenset[str] = frozenset({"payment", "reclassified"})
    name: str = ""

    @property
    def needs(self) -> frozenset[str]:
        """Return the fields without which a line has no place in the layout."""
        return frozenset(column.source for record in self.record for column in record.columns if column.required)

    def records(self, of: Of) -> Iterator[Record]:
        return (record for record in self.record if record.of is of)


def profile_names() -> list[str]:
    """Return the names of the layouts that come with the program."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find_profiles(names: Iterable[str]) -> list[Profile]:
    """Return layouts and those whose files belong with theirs, each once. Raise ProfileError if one cannot be used."""
    found: dict[str, Profile] = {}
    for name in names:
        profile = find_profile(name)
        found |= {each.name: each for each in (profile, *map(find_profile, profile.also))}
    return list(found.values())


def find_profile(name: str) -> Profile:
    """Return a layout by its name, or by the path of a file of one's own. Raise ProfileError if it cannot be used."""
    own = Path(name)
    path = own if own.suffix == ".toml" else FOLDER / f"{name}.toml"
    if own.suffix != ".toml" and name not in profile_names():
        raise ProfileError("journal.unknown_profile", name=name, known=", ".join(profile_names()))
    try:
        return read_profile(path.read_text(encoding="utf-8-sig"), path.stem)
    except (OSError, UnicodeDecodeError) as problem:
        raise ProfileError("journal.profile_unreadable", name=name, problem=str(problem)) from None


def read_profile(text: str, name: str) -> Profile:
    """Read a layout. Raise ProfileError, naming the field, if something in it is unknown or missing."""
    try:
        tables = tomllib.loads(text)
        if "header" in tables:
            tables = _from_header(tables, name)
        profile = msgspec.convert({"name": name, **tables}, Profile)
        _try_patterns(profile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, re.error, LookupError) as problem:
        raise ProfileError("journal.profile_unreadable", name=name, problem=str(problem)) from None
    for record in profile.record:
        known = FIELDS[record.of] | {f"{OPTION}{option}" for option in profile.options}
        for source in (*(column.source for column in record.columns), *record.has):
            if source and source not in known:
                raise ProfileError("journal.unknown_field", name=name, field=source, known=", ".join(sorted(known)))
    return profile


def _from_header(tables: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the layout that a header row and a mapping of its titles mean; a title without one stays empty."""
    rest = dict(tables)
    header, mapping = str(rest.pop("header")), rest.pop("columns", {})
    titles = next(csv.reader([header], delimiter=str(rest.get("file", {}).get("separator", ","))), [])
    wrong = [title for title in mapping if title not in titles] + [one for one in titles if titles.count(one) > 1]
    if wrong:
        raise ProfileError("journal.not_in_header", name=name, title=wrong[0], known=", ".join(titles))
    given = {title: field if isinstance(field, dict) else {"from": field} for title, field in mapping.items()}
    columns = [{"title": title, **given.get(title, {})} for title in titles]
    own = {"title": name, "source": "a header row and a mapping of one's own", "tested": "not by Cuadre"}
    return {**own, **rest, "record": [{"of": Of.LINE.value, "columns": columns}]}


def _try_patterns(profile: Profile) -> None:
    """Raise LookupError or re.error if a pattern or a template of the layout is none."""
    keeps = [column.keep for record in profile.record for column in record.columns]
    for allowed in filter(None, (profile.text.allow, *keeps)):
        re.compile(f"[^{allowed}]")
    for option in profile.options.values():
        re.compile(option.pattern)
    for record in profile.record:
        record.template.format(*record.columns)
    profile.file.name.format(**_NAMED)
