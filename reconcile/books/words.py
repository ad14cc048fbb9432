"""The words of invoice files made one: kinds of documents, states, currencies, folios, fiscal ids, tax ids."""

import re
import uuid as uuids
from functools import lru_cache

from consumer.facts.messages import RefusalError
from consumer.facts.money import DIGITS
from consumer.facts.taxids import TaxIdError, to_tax_id
from reconcile.books.headers import normalise
from reconcile.rules.kinds import KINDS, VALID_STATES, VOID_STATES


class WordError(RefusalError):
    """A word that no rule knows; guessing it would put money on the wrong side."""


_YES, _NO = frozenset({"si", "s", "1", "x", "true", "yes"}), frozenset({"", "no", "n", "0", "false"})

_CURRENCY_NAMES = {
    "cl": {"peso": "CLP", "pesos": "CLP", "peso chileno": "CLP", "pesos chilenos": "CLP", "uf": "CLF"},
    "mx": {"peso": "MXN", "pesos": "MXN", "peso mexicano": "MXN", "pesos mexicanos": "MXN", "mn": "MXN", "m n": "MXN"},
}
_DOLLARS = {"dolar", "dolares", "dolar americano", "dolar estadounidense", "us"}

_LONGEST_FOLIO = 255
# Behind a point one zero or two are decimals; three may be thousands.
_FOLIO = re.compile(
    r"(?:(?P<series>[A-Z0-9/]*[A-Z](?:/?[A-Z0-9])*)[-/ ]+|(?P<letters>[A-Z]+))?0*(?P<digits>\d+?)(?:\.00?)?",
    re.ASCII,
)


@lru_cache(maxsize=1024)
def to_kind(text: str, country: str) -> str:
    """Read a code, a name, or both in one cell (`33 - Factura electrónica`)."""
    kinds, plain = KINDS[country], normalise(text)
    for code, (_, names) in kinds.items():
        if plain in names or plain.lstrip("0") == code.lower():
            return code
    named = [code for code, (_, names) in kinds.items() if _has_code_and_name(plain, code.lower(), names)]
    if len(named) == 1:
        return named[0]
    known = ", ".join(code if country == "cl" else f"{code} {names[0]}" for code, (_, names) in kinds.items())
    raise WordError("books.unknown_kind", country="Chile" if country == "cl" else "Mexico", kinds=known)


def _has_code_and_name(plain: str, code: str, names: tuple[str, ...]) -> bool:
    return any(plain in {f"{code} {name}", f"{name} {code}"} for name in names)


def is_void(status: str, voided: str) -> bool | None:
    """Read the state of a document from its status word or its yes/no column; None where neither says."""
    word, mark = normalise(status), normalise(voided)
    if mark not in _YES | _NO:
        raise WordError("books.yes_or_no")
    if mark in _YES or word in VOID_STATES:
        return True
    if word in VALID_STATES or (not word and voided.strip()):
        return False
    if not word:
        return None
    raise WordError("books.unknown_state")


def to_currency(text: str, country: str, default: str) -> str:
    plain = normalise(text)
    if not plain:
        return default
    code = _CURRENCY_NAMES[country].get(plain) or ("USD" if plain in _DOLLARS else plain.upper())
    if code not in DIGITS:
        raise WordError("books.unknown_currency", known=", ".join(sorted(DIGITS)))
    return code


def to_folio(folio: str, series: str) -> tuple[str, str]:
    """Digits of the folio without leading zeros, and the series that stood before them or in its own column."""
    own = series.strip().upper()
    if len(folio) > _LONGEST_FOLIO:
        raise WordError("books.too_long", longest=_LONGEST_FOLIO)
    match = _FOLIO.fullmatch(folio.strip().upper())
    if match is None:
        raise WordError("books.no_folio_number")
    found = match["series"] or match["letters"] or ""
    if found and own and found != own:
        raise WordError("books.other_series", found=found, series=own)
    return match["digits"], own or found


def to_uuid(text: str) -> str:
    try:
        return str(uuids.UUID(text.strip()))
    except ValueError:
        raise WordError("books.not_a_uuid") from None


def to_customer(text: str, check_digit: str, country: str) -> str:
    """Canonical tax id of a customer; empty stays empty, since receipts name no customer."""
    written = f"{text}-{check_digit}" if text and check_digit else text
    if not written:
        return ""
    try:
        return to_tax_id(written, country)
    except TaxIdError as error:
        raise WordError(error.problem) from None


def to_key(country: str, kind: str, *, series: str, folio: str, uuid: str) -> str:
    """Name a document as every run and report names it."""
    return f"mx:uuid:{uuid}" if country == "mx" and uuid else f"{country}:{kind}:{series}:{folio}"
