"""The tables of the tax control, read once from data: figures, formulas, what may be declared, and causes."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """A sum over documents of a register: the side, the sign of each kind, and the column that is added up."""

    code: str
    side: str
    signs: Mapping[str, int]
    column: str


@dataclass(frozen=True, slots=True)
class Measure:
    """Base or tax of documents, of one rate in percent or of all."""

    code: str
    column: str
    rate: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why two witnesses differ: the side that acts, and the exception it is on the work list, if any.

    It is one in `country` alone, or in both.
    """

    code: str
    side: str
    exception: str = ""
    severity: str = ""
    country: str = ""
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Duty:
    """What is due by a day of the month after a period; with `bank` on the next bank day where that day is none."""

    code: str
    day: int
    bank: bool = False
    alarm: bool = False
    # Due only where invoices of this method of payment were issued.
    method: str = ""


@dataclass(frozen=True, slots=True)
class Law:
    """Numbers and codes of the law: days, months, and how means of payment are called."""

    register_day: int
    fee_months: int
    forms: Mapping[str, str] = field(default_factory=dict)
    vague: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Country:
    """What holds in one country."""

    figures: Mapping[str, Figure]
    office: Mapping[str, Measure]
    formulas: Mapping[str, Mapping[str, int]]
    monthly: frozenset[str]
    counts: frozenset[str]
    yearly: frozenset[str]
    carried: frozenset[str]
    link: Mapping[str, str]
    link_year: Mapping[str, str]
    annual: Mapping[str, str]
    accumulated: Mapping[str, str]
    duties: tuple[Duty, ...]
    law: Law


@cache
def _read() -> dict[str, Any]:
    return tomllib.loads(files("reconcile.fiscal").joinpath("tables.toml").read_text(encoding="utf-8"))


def _to_signs(names: list[str]) -> dict[str, int]:
    return {name.removeprefix("-"): -1 if name.startswith("-") else 1 for name in names}


@cache
def facts_of(country: str) -> Country:
    """Return the tables of a country."""
    own = _read()[country]
    figures = {
        code: Figure(code, row["side"], _to_signs(row["kinds"]), row["column"]) for code, row in own["figures"].items()
    }
    formulas = {code: _to_signs(parts) for code, parts in own["formulas"].items()}
    declared = own["declared"]
    parts = (part for formula in formulas.values() for part in formula)
    office = {code: Measure(code, **row) for code, row in own["office"].items()}
    return Country(
        figures,
        office,
        formulas,
        frozenset({*figures, *office, *formulas, *parts, *declared["month"], *declared["counts"]}),
        frozenset(declared["counts"]),
        frozenset(declared["year"]),
        frozenset(own["carried"]["lines"]),
        declared["link"],
        declared["link_year"],
        declared["annual"],
        declared["accumulated"],
        tuple(Duty(code, **row) for code, row in own["duties"].items()),
        Law(**own["law"]),
    )


@cache
def causes() -> Mapping[str, Cause]:
    """Return every cause by its code."""
    return {code: Cause(code, **row) for code, row in _read()["causes"].items()}
