"""What is written into the search, and how a reader's text is read. Pure.

Every word is folded to plain letters and digits, so that no writing of accents, capitals, dots or dashes hides
anything, and no sign of a query language is left of a text. An amount is the word `m15000p5`, a day `d20261102`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from consumer.facts.money import digits_of, format_decimal, is_currency

# So short a word is looked for as it stands; a longer one is the beginning of words too.
SHORTEST_BEGINNING = 3
_MOST_TERMS = 12
_LONGEST_TEXT = 200
_LONGEST_WORD = 64
_WORD = re.compile(r"[^\W_]+")
_MONTHS = ("jan ene", "feb", "mar", "apr abr", "may", "jun", "jul", "aug ago", "sep set", "oct", "nov", "dec dic")
_MONTH = {name: number for number, names in enumerate(_MONTHS, start=1) for name in names.split()}
_NAMED_DAY = re.compile(rf"\b(\d{{1,2}})(?: de)? ({'|'.join(_MONTH)})[a-z]*\.?(?: (?:de |del )?(\d{{4}}))?\b")
_ISO_DAY = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_LOCAL_DAY = re.compile(r"(?<![\w.,-])(\d{1,2})([-/.])(\d{1,2})(?:\2(\d{4}|\d{2}))?(?![\w-]|[.,]\d)")
_POINT = r"-?\d{1,3}(?:,\d{3})+(?:\.\d{1,2})?|-?\d+(?:\.\d{1,2})?"
_COMMA = r"-?\d{1,3}(?:\.\d{3})+(?:,\d{1,2})?|-?\d+(?:,\d{1,2})?"
_CENTURY = 2000
_YEARS_BACK = 2


@dataclass(frozen=True, slots=True)
class Term:
    """One part of what is searched: any of its words, each group of them all together, or any whole word."""

    groups: tuple[tuple[str, ...], ...] = ()
    whole: tuple[str, ...] = ()


def fold(text: str) -> str:
    """Return text in small plain letters, its accents gone; half a character that UTF-8 cannot hold goes too."""
    return text.lower() if text.isascii() else _fold_signs(text)


# Names are made of the same words again and again, and taking their accents off is half of filling.
@lru_cache(maxsize=4_096)
def _fold_signs(text: str) -> str:
    kept = unicodedata.normalize("NFKD", text.encode("utf-8", "ignore").decode())
    return "".join(sign for sign in kept.casefold() if not unicodedata.combining(sign))


def split(text: str) -> list[str]:
    if text.isascii() and text.isalnum():
        return [text.lower()[:_LONGEST_WORD]]
    plain = fold(text)
    return [plain[:_LONGEST_WORD]] if plain.isalnum() else [word[:_LONGEST_WORD] for word in _WORD.findall(plain)]


def join(text: str) -> str:
    """Return the letters and digits of a text as one word."""
    words = split(text.replace("-", "").replace("_", ""))
    return words[0] if len(words) == 1 else "".join(words)[:_LONGEST_WORD]


def index_key(text: str) -> list[str]:
    """Return the words of an identifier: all of it, each part, and a number without its leading zeros."""
    parts = split(text)
    zeros = [part.lstrip("0") for part in parts if part[0] == "0" and part.isdigit()]
    return ["".join(parts)[:_LONGEST_WORD], *parts, *zeros]


def index_text(text: str) -> list[str]:
    """Return the words of a name or a sentence, and what stands between blanks as one: `Coca-Cola`, `ORD-17`."""
    found: list[str] = []
    for part in text.split():
        words = split(part)
        found += words if len(words) == 1 else ["".join(words)[:_LONGEST_WORD], *words]
    return found


def index_amount(amount: int | None, currency: str | None) -> str:
    digits = _digits_of(currency)
    if amount is None or digits is None:
        return ""
    return f"m{abs(amount)}" if not digits else to_amount_word(format_decimal(abs(amount), currency or ""))


@lru_cache(maxsize=64)
def _digits_of(currency: str | None) -> int | None:
    return digits_of(currency) if currency and is_currency(currency) else None


def to_amount_word(plain: str) -> str:
    whole, _, rest = plain.lstrip("-").partition(".")
    rest = rest.rstrip("0")
    return f"m{int(whole)}" + (f"p{rest}" if rest else "")


# Rows that are written together share few days.
@lru_cache(maxsize=1_024)
def index_day(on: date | None) -> str:
    return "" if on is None else "d" + on.isoformat().replace("-", "")


def to_line(words: Iterable[str]) -> str:
    return " ".join(filter(None, dict.fromkeys(words)))


def read_terms(text: str, today: date | None) -> list[Term]:
    """Return what a reader's text asks for; empty where nothing of it can be searched."""
    rest, terms = f" {fold(text[:_LONGEST_TEXT])} ", []
    for pattern, to_days in ((_ISO_DAY, _of_iso), (_NAMED_DAY, _of_named), (_LOCAL_DAY, _of_local)):
        for found in pattern.finditer(rest):
            if days := to_days(found, today):
                terms.append(Term(_groups_of(found.group()), tuple(f"d{on:%Y%m%d}" for on in days)))
                rest = rest.replace(found.group(), " ")
    terms += [term for part in rest.split() if (term := _to_term(part)) is not None]
    return list(dict.fromkeys(terms))[:_MOST_TERMS]


def _to_term(part: str) -> Term | None:
    groups, amounts = _groups_of(part), tuple(dict.fromkeys(read_amounts(part)))
    return Term(groups, amounts) if groups or amounts else None


def _groups_of(part: str) -> tuple[tuple[str, ...], ...]:
    words = tuple(split(part))
    # Parts of a number, such as those between its dots, would be found in any row.
    are_names = len(words) > 1 and not any(word.isdigit() or len(word) < SHORTEST_BEGINNING for word in words)
    return tuple(group for group in [(join(part),), words if are_names else ()] if any(group))


def read_amounts(part: str) -> Iterator[str]:
    """Yield the words of each amount a text may be: `1.234.567` is read with either mark of thousands."""
    bare = part.strip("$").removeprefix("clp").removeprefix("mxn")
    for pattern, group, point in ((_POINT, ",", "."), (_COMMA, ".", ",")):
        if re.fullmatch(pattern, bare, re.ASCII):
            yield to_amount_word(bare.replace(group, "").replace(point, "."))


def _of_iso(found: re.Match[str], _today: date | None) -> list[date]:
    return _to_days(int(found[3]), int(found[2]), [int(found[1])])


def _of_local(found: re.Match[str], today: date | None) -> list[date]:
    year = found[4]
    if year is None:
        # Without a year `2.11` is a number more often than a day.
        return [] if found[2] == "." else _to_days(int(found[1]), int(found[3]), _years_before(today))
    return _to_days(int(found[1]), int(found[3]), [int(year) + (_CENTURY if len(year) == len("26") else 0)])


def _of_named(found: re.Match[str], today: date | None) -> list[date]:
    years = [int(found[3])] if found[3] else _years_before(today)
    return _to_days(int(found[1]), _MONTH[found[2]], years)


def _years_before(today: date | None) -> list[int]:
    return [today.year - back for back in range(_YEARS_BACK)] if today else []


def _to_days(day: int, month: int, years: Iterable[int]) -> list[date]:
    days = []
    for year in years:
        try:
            days.append(date(year, month, day))
        except ValueError:
            continue
    return days


def drop_kinds(terms: list[Term], kinds: Iterable[str]) -> list[Term]:
    """Return the terms without the names of kinds of documents: of `factura 10346` the folio is what finds it."""
    names = {word for kind in kinds for word in split(kind)}
    kept = [term for term in terms if not (len(term.groups) == 1 and set(term.groups[0]) <= names)]
    return kept or terms


def to_codes(text: str, titles: Iterable[tuple[str, str]]) -> list[str]:
    """Return the codes of which the title holds every word of a text, each word as one of its words begins."""
    asked = split(text)
    return [code for code, title in titles if asked and _holds(split(title), asked)]


def _holds(title: list[str], asked: list[str]) -> bool:
    return all(any(word.startswith(part) for word in title) for part in asked)


def to_branches(terms: Sequence[Term], beginnings: int) -> list[list[list[tuple[str, bool]]]]:
    """Return what a row must hold: of each term one of its groups, each word of it, as it stands or as a beginning.

    The words of the last `beginnings` terms may be beginnings of longer ones.
    """

    def read(term: Term, *, may_begin: bool) -> list[list[tuple[str, bool]]]:
        groups = [[(word, may_begin and len(word) >= SHORTEST_BEGINNING) for word in group] for group in term.groups]
        return [*groups, *([(word, False)] for word in term.whole)]

    return [read(term, may_begin=place >= len(terms) - beginnings) for place, term in enumerate(terms)]


def to_expression(terms: Sequence[Term], *, is_sqlite: bool, beginnings: int) -> str:
    """Write terms in the query language of the database; words are letters and digits, so none can be an operator."""
    quote, star, either, both = ('"', "*", " OR ", " AND ") if is_sqlite else ("'", ":*", " | ", " & ")

    def say(group: list[tuple[str, bool]]) -> str:
        return both.join(f"{quote}{word}{quote}{star if may_begin else ''}" for word, may_begin in group)

    branches = to_branches(terms, beginnings)
    return both.join(f"({either.join(f'({say(group)})' for group in groups)})" for groups in branches)
