"""Amounts as people write them: one decimal mark for the whole file, decided by all its cells together."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from consumer.facts.messages import Message, RefusalError
from consumer.facts.money import MoneyError, digits_of, to_minor

THOUSAND_DIGITS = 3


class DecimalMark(StrEnum):
    POINT = "."
    COMMA = ","


# Names of currencies before or after an amount; the currency itself has a column of its own, and both must agree.
_NAMES = {
    "CLP": "CLP", "MXN": "MXN", "MN": "MXN", "M.N.": "MXN", "M.N": "MXN", "USD": "USD", "US": "USD", "EUR": "EUR",
    "CLF": "CLF", "UF": "CLF",
}  # fmt: skip
_WORD = re.compile(r"[A-Z](?:[A-Z.]*[A-Z.])?", re.IGNORECASE)
_SPACES = re.compile(r"[\s\u00a0\u202f\u2007]+")
_SPACED_GROUPS = re.compile(r"[0-9]{1,3}(?: [0-9]{3})+(?:[.,][0-9]+)?")
_SHAPES = {
    DecimalMark.POINT: re.compile(r"(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?"),
    DecimalMark.COMMA: re.compile(r"(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+)(?:,[0-9]+)?"),
}
_EITHER = re.compile(r"[0-9]{1,3}([.,])[0-9]{3}")
# No currency has a rate of so many digits; a run computes with all of them.
_LONGEST_RATE = 30


class FigureError(RefusalError):
    """Text that is not an amount under the file's convention."""


@dataclass(frozen=True, slots=True)
class Written:
    """An amount as it stands in the file; `plain` ones come from a workbook's number cells and have no convention."""

    text: str
    currency: str
    plain: bool = False


def to_amount(written: Written, mark: DecimalMark) -> int:
    """Minor units of one amount under the file's decimal mark."""
    negative, digits = _to_bare(_without_name(written))
    shape = _SHAPES[DecimalMark.POINT if written.plain else mark]
    if not shape.fullmatch(digits):
        raise FigureError("books.not_an_amount", mark=_name(mark))
    plain = digits if written.plain else _to_plain(digits, mark)
    try:
        amount = to_minor(plain, written.currency)
    except MoneyError as error:
        if error.message.code == "facts.amount_too_large":
            raise FigureError("books.amount_too_large") from None
        raise FigureError("books.too_many_decimals", currency=written.currency) from None
    return -amount if negative else amount


def decide_mark(amounts: Iterable[Written], *, preferred: DecimalMark) -> DecimalMark:
    """Choose the mark under which the whole file reads; where both do, the cells that differ must agree."""
    written = [amount for amount in amounts if not amount.plain]
    fits = {mark: sum(_fits(amount, mark) for amount in written) for mark in DecimalMark}
    best = max(fits.values(), default=0)
    candidates = [mark for mark in DecimalMark if fits[mark] == best]
    if len(candidates) == 1:
        return candidates[0]
    if best < len(written):
        return preferred
    return _break_tie(written, preferred)


def decide_rate_mark(rates: Iterable[Written]) -> DecimalMark:
    """Choose the mark of values with any number of decimals: only the whole file can distinguish thousands."""
    texts = [_to_bare(rate.text)[1] for rate in rates if not rate.plain]
    fits = {mark: sum(_is_rate(text, mark) for text in texts) for mark in DecimalMark}
    tied = fits[DecimalMark.POINT] == fits[DecimalMark.COMMA] == len(texts)
    if tied and any(_EITHER.fullmatch(text) for text in texts):
        raise FigureError("books.thousands_or_decimals")
    return max(DecimalMark, key=lambda mark: fits[mark])


def to_rate(written: Written, mark: DecimalMark) -> str | None:
    """Plain decimal text of a rate above zero; None where it is none under the file's mark, or is longer than any."""
    negative, digits = _to_bare(written.text)
    if negative or len(digits) > _LONGEST_RATE or not _is_rate(digits, DecimalMark.POINT if written.plain else mark):
        return None
    plain = digits if written.plain else _to_plain(digits, mark)
    return plain if plain.strip("0.") else None


def _is_rate(digits: str, mark: DecimalMark) -> bool:
    """Return True if text reads as a rate; thousands never begin with a zero, so 0.912 is a decimal."""
    whole = digits.split("." if mark is DecimalMark.POINT else ",", maxsplit=1)[0]
    return bool(_SHAPES[mark].fullmatch(digits)) and not (whole.startswith("0") and whole.strip("0123456789") != "")


def _break_tie(written: Sequence[Written], preferred: DecimalMark) -> DecimalMark:
    """`1.234` reads under both marks: three digits after a mark are thousands unless the currency has as many."""
    wanted: set[DecimalMark] = set()
    for amount in written:
        match = _EITHER.fullmatch(_to_bare(_without_name(amount))[1])
        if match is None:
            continue
        if digits_of(amount.currency) >= THOUSAND_DIGITS:
            raise FigureError("books.thousands_or_decimals_of", currency=amount.currency)
        wanted.add(DecimalMark.COMMA if match[1] == "." else DecimalMark.POINT)
    if len(wanted) > 1:
        raise FigureError("books.both_marks")
    return wanted.pop() if wanted else preferred


def _fits(written: Written, mark: DecimalMark) -> bool:
    try:
        to_amount(written, mark)
    except FigureError:
        return False
    return True


def _without_name(written: Written) -> str:
    """Take the currency's name off either end; another currency's name is not decoration but a contradiction."""
    text = written.text
    for word in list(_WORD.finditer(text))[::-1]:
        name = _NAMES.get(word[0].upper())
        before, after = text[: word.start()], text[word.end() :]
        if name is None or (_has_digit(before) and _has_digit(after)):
            continue
        if name != written.currency:
            raise FigureError("books.other_currency", written=name, currency=written.currency)
        text = before + after
    return text


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)


def _to_bare(text: str) -> tuple[bool, str]:
    """Part the sign, in any of its four forms, from the digits; what is no decoration stays and is refused later."""
    bare = _SPACES.sub(" ", text.replace("−", "-")).replace("$", "").strip()
    negative = False
    if bare.startswith("(") and bare.endswith(")"):
        negative, bare = True, bare[1:-1].strip()
    elif bare.endswith("-"):
        negative, bare = True, bare[:-1].strip()
    elif bare.startswith(("-", "+")):
        negative, bare = bare[0] == "-", bare[1:].strip()
    if _SPACED_GROUPS.fullmatch(bare):
        bare = bare.replace(" ", "")
    return negative, bare


def _to_plain(digits: str, mark: DecimalMark) -> str:
    if mark is DecimalMark.COMMA:
        return digits.replace(".", "").replace(",", ".")
    return digits.replace(",", "")


def _name(mark: DecimalMark) -> Message:
    return Message("books.point" if mark is DecimalMark.POINT else "books.comma")
