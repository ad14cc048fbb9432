"""MT940 files through the mt-940 reader: every line given must come out, and the balances must be there; pure."""

import io
import logging
import re
from datetime import date
from decimal import Decimal
from typing import Any, TypeAlias

import mt940

from consumer.facts.messages import Message
from consumer.facts.money import MoneyError, digits_of, to_minor
from reconcile.books.bank_statements import Balance, BankFileError, BankReading, BankRow, Statement

NAME = "MT940"
# The fields of a statement or a line, as the reader gives them.
Fields: TypeAlias = dict[str, Any]
_LINE = re.compile(r"^:61:", re.MULTILINE)
_BLOCK = re.compile(r"^:20:", re.MULTILINE)
_BALANCES = (("final_opening_balance", "intermediate_opening_balance"),
             ("final_closing_balance", "intermediate_closing_balance"))  # fmt: skip
# The reader logs every field it cannot read, with names and account numbers in it.
logging.getLogger("mt940").setLevel(logging.CRITICAL)
# The format allows an amount fifteen characters; of a longer one the reader would take the first fifteen.
_LONGEST_AMOUNT = 15
_AMOUNT = re.compile(r"^:(?:61:\d{6}(?:\d{4})?R?[CD][A-Z]?|6[0245][FM]?:[CD]\d{6}[A-Z]{3})(?P<amount>[\d,.]+)")
_NO_REFERENCE = {"NONREF", "NOTPROVIDED"}
# A field :86: in numbered pieces of up to 27 characters; those of one run go on from each other.
_STRUCTURED = re.compile(r"^(:86:)(\d{3}\?.*?)(?=^:\d\d|^-|\Z)", re.MULTILINE | re.DOTALL)
_PIECE = re.compile(r"(\?\d\d)")
_FULL_PIECE = 27
_RUNS = ({f"?{number}" for number in (*range(20, 30), *range(60, 64))}, {"?32", "?33"})


def is_mt940(text: str) -> bool:
    return bool(_BLOCK.search(text)) and (":60" in text or bool(_LINE.search(text)))


def read_mt940(text: str) -> BankReading:
    """Read each statement of a file; amounts of the reader are exact decimals."""
    _check_amounts(text)
    try:
        blocks = mt940.parse_statements(io.StringIO(_part_words(text)), options=mt940.Options.all())
    except (ValueError, RuntimeError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        raise BankFileError("books.mt940_unreadable", reason=_odd_field(text, error)) from None
    statements = tuple(_statement(block) for block in blocks)
    written, read = len(_LINE.findall(text)), sum(len(statement.rows) for statement in statements)
    if written != read:
        raise BankFileError("books.mt940_lines_lost", written=written, read=read)
    return BankReading(NAME, statements)


def _part_words(text: str) -> str:
    """Keep words apart that stand in pieces of their own: only a full piece goes on in the next one."""
    return _STRUCTURED.sub(lambda found: found[1] + _part_pieces(found[2]), text)


def _part_pieces(words: str) -> str:
    pieces = _PIECE.split("".join(words.splitlines()))
    for place in range(1, len(pieces) - 2, 2):
        code, piece, after = pieces[place], pieces[place + 1], pieces[place + 2]
        goes_on = any(code in run and after in run for run in _RUNS)
        if goes_on and len(piece) < _FULL_PIECE:
            pieces[place + 1] = piece.rstrip() + " "
    return "".join(pieces) + "\n"


def _check_amounts(text: str) -> None:
    for number, line in enumerate(text.splitlines(), start=1):
        found = _AMOUNT.match(line)
        if found and len(found["amount"]) > _LONGEST_AMOUNT:
            field = line[: line.index(":", 1) + 1]
            length = len(found["amount"])
            raise BankFileError("books.amount_too_long", field=field, line=number, length=length, most=_LONGEST_AMOUNT)
        if found and "." in found["amount"]:
            # The reader would end the amount there, and balances cut alike would still agree.
            field = line[: line.index(":", 1) + 1]
            raise BankFileError("books.point_in_field", field=field, line=number)


def _odd_field(text: str, error: Exception) -> Message | str:
    """Name the field and its line, never its words: they hold names and account numbers."""
    try:
        _, tag, value = error.args
        start = str(value).splitlines()[0]
    except (ValueError, IndexError):
        return type(error).__name__
    marks = (number for number, line in enumerate(text.splitlines(), start=1) if line.startswith(":") and start in line)
    field, place = f":{tag.id}:", next(marks, None)
    if place is None:
        return Message("books.odd_field", {"field": field})
    return Message("books.odd_field_on_line", {"field": field, "line": place})


def _statement(block: Any) -> Statement:
    opening, closing = (_balance(block.data, names) for names in _BALANCES)
    currency = str(opening.amount.currency)
    if str(closing.amount.currency) != currency:
        raise BankFileError("books.currency_changes", opening=currency, closing=closing.amount.currency)
    rows = tuple(_row(place, line.data, currency) for place, line in enumerate(block, start=1))
    return Statement(
        account=str(block.data.get("account_identification", "")).rpartition("/")[2],
        currency=currency,
        rows=rows,
        opening=Balance(_minor(opening.amount.amount, currency), _day(opening.date)),
        closing=Balance(_minor(closing.amount.amount, currency), _day(closing.date)),
    )


def _balance(data: Fields, names: tuple[str, ...]) -> Any:
    for name in names:
        if data.get(name) is not None:
            return data[name]
    raise BankFileError("books.no_opening_60f" if "opening" in names[0] else "books.no_closing_62f")


def _row(place: int, data: Fields, currency: str) -> BankRow:
    references = [data.get(name) for name in ("customer_reference", "bank_reference")]
    said = [text for text in references if text and text.strip() not in _NO_REFERENCE]
    details = [data.get(name) for name in ("transaction_details", "purpose", "extra_details", "applicant_name")]
    return BankRow(
        line=place,
        booked_on=_day(data.get("entry_date") or data["date"]),
        amount=_minor(data["amount"].amount, currency),
        text=" ".join(" ".join(str(part).split()) for part in details if part),
        reference=" ".join(said),
    )


def _minor(amount: Decimal, currency: str) -> int:
    try:
        digits_of(currency)
        return to_minor(f"{amount:f}", currency)
    except MoneyError as error:
        raise BankFileError("books.amount_unreadable", reason=error.message) from None


def _day(value: date) -> date:
    return date(value.year, value.month, value.day)
