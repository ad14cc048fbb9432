"""MT940 and MT942 files through the mt-940 reader: every line given must come out, with all its words; pure."""

import io
import logging
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

import mt940

from consumer.facts.messages import Message
from consumer.facts.money import MoneyError, digits_of, to_minor
from reconcile.books.bank_statements import Balance, BankFileError, BankReading, BankRow, Statement

NAME, INTERIM = "MT940", "MT942"
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
_FLOOR = re.compile(r"^:34F:([A-Z]{3})", re.MULTILINE)
# What an interim report sums up itself: how many lines of each direction, and how much.
_SUM = re.compile(r"^:90([CD]):(\d+)([A-Z]{3})(\d+(?:,\d*)?)", re.MULTILINE)
_FIELD = re.compile(r"^:(\d\d[A-Z]?):", re.MULTILINE)
# A field :86: in numbered pieces of up to 27 characters; those of one run go on from each other.
_STRUCTURED = re.compile(r"\d{3}(\?\d\d)")
_PIECE = re.compile(r"(\?\d\d)")
_FULL_PIECE = 27
_RUNS = ({f"?{number}" for number in (*range(20, 30), *range(60, 64))}, {"?32", "?33"})
# Of a purpose in marked parts, those that name the payment; what it says itself stays text.
_MARK = re.compile(r"(?<![A-Z0-9])(EREF|KREF|MREF|CRED|DEBT|SVWZ|ABWA|ABWE|IBAN|BIC|PURP|MDAT|COAM|OAMT)\+")
_NAMING = frozenset({"EREF", "KREF", "MREF"})


def is_mt940(text: str) -> bool:
    return bool(_BLOCK.search(text)) and (":60" in text or bool(_LINE.search(text)) or bool(_FLOOR.search(text)))


def read_mt940(text: str) -> BankReading:
    """Read each statement of a file, or each interim report; amounts of the reader are exact decimals."""
    _check_amounts(text)
    try:
        blocks = mt940.parse_statements(io.StringIO(text), options=mt940.Options.all())
    except (ValueError, RuntimeError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        raise BankFileError("books.mt940_unreadable", reason=_odd_field(text, error)) from None
    places = iter(_line_fields(text))
    is_interim = ":60" not in text and bool(_FLOOR.search(text) or _SUM.search(text))
    statements = tuple((_interim if is_interim else _statement)(block, places) for block in blocks)
    written, read = len(_LINE.findall(text)), sum(len(statement.rows) for statement in statements)
    if written != read:
        raise BankFileError("books.mt940_lines_lost", written=written, read=read)
    if not is_interim:
        return BankReading(NAME, statements)
    _check_sums(text, [row.amount for statement in statements for row in statement.rows])
    return BankReading(INTERIM, tuple(statement for statement in statements if statement.rows))


class _LineField(NamedTuple):
    """Where a field :61: stands in its file, and the words of the fields :86: after it."""

    line: int
    words: str


def _line_fields(text: str) -> Iterator[_LineField]:
    """Yield each field :61: of a file with what is said about it."""
    fields = [*_FIELD.finditer(text)]
    ends = [*(field.start() for field in fields[1:]), len(text)]
    line, place = 1, 0
    found: list[tuple[int, list[str]]] = []
    is_about_line = False
    for field, end in zip(fields, ends, strict=True):
        line, place = line + text.count("\n", place, field.start()), field.start()
        if field[1] == "61":
            found.append((line, []))
        elif field[1] == "86" and is_about_line:
            found[-1][1].append(_end_of_block(text[field.end() : end]))
        is_about_line = field[1] == "61" or (field[1] == "86" and is_about_line)
    yield from (_LineField(at, " ".join(words)) for at, words in found)


def _end_of_block(words: str) -> str:
    """Cut off the mark with which a message ends."""
    return re.split(r"^-", words, maxsplit=1, flags=re.MULTILINE)[0]


def _part_words(words: str) -> tuple[str, str]:
    """Return text and references of a field :86:; every word of it is in one of the two."""
    joined = "".join(words.splitlines())
    text = _join_pieces(joined) if _STRUCTURED.match(joined) else " ".join(words.split())
    marks = [*_MARK.finditer(text)]
    if not marks:
        return " ".join(text.split()), ""
    kept, references = [text[: marks[0].start()]], []
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=True):
        said = text[mark.end() : end].strip()
        if mark[1] in _NAMING:
            references.append(said)
        else:
            kept.append(said)
    return " ".join(" ".join(kept).split()), " ".join(part for part in references if part not in _NO_REFERENCE)


def _join_pieces(words: str) -> str:
    """Keep words apart that stand in pieces of their own: only a full piece goes on in the next one."""
    pieces = _PIECE.split(words)
    joined = ""
    for place in range(1, len(pieces) - 1, 2):
        code, piece = pieces[place], pieces[place + 1]
        after = pieces[place + 2] if place + 2 < len(pieces) else ""
        goes_on = any(code in run and after in run for run in _RUNS) and len(piece) >= _FULL_PIECE
        joined += piece if goes_on else piece.rstrip() + " "
    return joined


def _check_sums(text: str, amounts: list[int]) -> None:
    """Raise BankFileError if an interim report lists other lines than it counts and sums up itself."""
    for side, sign in (("C", 1), ("D", -1)):
        sums = [found for found in _SUM.findall(text) if found[0] == side]
        listed = [amount * sign for amount in amounts if amount * sign > 0]
        stated = sum(_minor(Decimal(found[3].replace(",", ".")), found[2]) for found in sums)
        if sums and (sum(int(found[1]) for found in sums), stated) != (len(listed), sum(listed)):
            raise BankFileError("books.interim_sums_differ", field=f":90{side}:", lines=len(listed))


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


def _statement(block: Any, places: Iterator[_LineField]) -> Statement:
    opening, closing = (_balance(block.data, names) for names in _BALANCES)
    currency = str(opening.amount.currency)
    if str(closing.amount.currency) != currency:
        raise BankFileError("books.currency_changes", opening=currency, closing=closing.amount.currency)
    return Statement(
        account=_account(block.data),
        currency=currency,
        rows=_rows(block, places, currency),
        opening=Balance(_minor(opening.amount.amount, currency), _day(opening.date)),
        closing=Balance(_minor(closing.amount.amount, currency), _day(closing.date)),
    )


def _interim(block: Any, places: Iterator[_LineField]) -> Statement:
    """Read lines of the running day: a report that states no balance shows what arrived, not that it is all."""
    currency = next((str(line.data["amount"].currency) for line in block), "")
    return Statement(_account(block.data), currency, _rows(block, places, currency))


def _account(data: Fields) -> str:
    return str(data.get("account_identification", "")).rpartition("/")[2]


def _rows(block: Any, places: Iterator[_LineField], currency: str) -> tuple[BankRow, ...]:
    # Lines of the reader and fields of the text are counted against each other afterwards.
    return tuple(_row(next(places, _LineField(0, "")), line.data, currency) for line in block)


def _balance(data: Fields, names: tuple[str, ...]) -> Any:
    for name in names:
        if data.get(name) is not None:
            return data[name]
    raise BankFileError("books.no_opening_60f" if "opening" in names[0] else "books.no_closing_62f")


def _row(field: _LineField, data: Fields, currency: str) -> BankRow:
    text, references = _part_words(field.words)
    # The reader adds marked references of the field :86: on lines of their own.
    named = [str(data.get(name) or "").partition("\n")[0].strip() for name in ("customer_reference", "bank_reference")]
    said = [part for part in named if part not in _NO_REFERENCE]
    details = [str(data.get("extra_details") or ""), text]
    return BankRow(
        line=field.line,
        booked_on=_day(data.get("entry_date") or data["date"]),
        amount=_minor(data["amount"].amount, currency),
        text=" ".join(" ".join(part.split()) for part in details if part),
        reference=" ".join(dict.fromkeys(filter(None, [*said, references]))),
    )


def _minor(amount: Decimal, currency: str) -> int:
    try:
        digits_of(currency)
        return to_minor(f"{amount:f}", currency)
    except MoneyError as error:
        raise BankFileError("books.amount_unreadable", reason=error.message) from None


def _day(value: date) -> date:
    return date(value.year, value.month, value.day)
